//! Configuration: which level holds, where files are found, what their errors say, what `config
//! show` shows, and that nothing changes where nothing is configured.

use std::fs;
use std::path::PathBuf;
use std::process::Output;

use serde_json::Value;
use tempfile::TempDir;

use crate::common::{cachesim, fixture, project, run, text, utf8};

/// A folder with a project in it, and a home beside that.
struct Place {
    root: TempDir,
}

impl Place {
    fn new() -> Self {
        let root = tempfile::tempdir().expect("a folder");
        for folder in ["project/deep/below", "home/.config/cachesim"] {
            fs::create_dir_all(root.path().join(folder)).expect("a folder");
        }
        Self { root }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path(name), content).expect("a file");
    }

    fn project_file(&self, content: &str) {
        self.write("project/cachesim.toml", content);
    }

    fn user_file(&self, content: &str) {
        self.write("home/.config/cachesim/config.toml", content);
    }

    /// Runs the program in the project, or in a folder of it.
    fn run_in(&self, folder: &str, environment: &[(&str, &str)], arguments: &[&str]) -> Output {
        let mut command = cachesim();
        command.env_remove("CACHESIM_NO_CONFIG").env("HOME", self.path("home"));
        command.current_dir(self.path("project").join(folder));
        command.envs(environment.iter().copied()).args(arguments);
        command.output().expect("the program runs")
    }

    fn run(&self, environment: &[(&str, &str)], arguments: &[&str]) -> Output {
        self.run_in("", environment, arguments)
    }

    fn shown(&self, folder: &str, environment: &[(&str, &str)], arguments: &[&str]) -> Value {
        let all = [&["config", "show", "--format", "json"], arguments].concat();
        let output = self.run_in(folder, environment, &all);
        assert!(output.status.success(), "{}", text(&output.stderr));
        serde_json::from_slice(&output.stdout).expect("JSON")
    }

    /// The error of a run that a configuration stops.
    fn error(&self, environment: &[(&str, &str)], arguments: &[&str]) -> String {
        let output = self.run(environment, arguments);
        assert_eq!(output.status.code(), Some(2), "{}", text(&output.stdout));
        assert_eq!(text(&output.stdout), "");
        text(&output.stderr)
    }
}

/// What is shown of an option in a command.
fn option<'a>(shown: &'a Value, key: &str, command: &str) -> &'a Value {
    let options = shown["options"].as_array().expect("options");
    let is_it = |option: &&Value| {
        let commands = option["commands"].as_array().expect("commands");
        option["option"] == key && commands.iter().any(|name| name == command)
    };
    options.iter().find(is_it).unwrap_or_else(|| panic!("{key} of {command}"))
}

#[test]
fn a_value_of_each_level_holds_over_those_below() {
    let capture = fixture("captured-clock");
    let totals = |output: Output| {
        assert!(output.status.success(), "{}", text(&output.stderr));
        let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        report["totals"]["none"]["input_tokens"].as_u64().expect("a count")
    };
    let place = Place::new();
    let typed = ["analyze", &capture, "--format", "json", "--strategy", "none"];
    let with = |tokens: &str| totals(run(&[&typed[..], &["--tokens", tokens]].concat()));
    let expected = ["auto", "bytes:1", "bytes:2", "bytes:4", "bytes:8"].map(with);
    assert_eq!(expected[3], 5_696, "the fixture's own figure");

    let mut found = vec![totals(place.run(&[], &typed))];
    place.user_file("[defaults]\ntokens = 'bytes:1'\n");
    found.push(totals(place.run(&[], &typed)));
    place.project_file("[defaults]\ntokens = 'bytes:2'\n");
    found.push(totals(place.run(&[], &typed)));
    let environment = [("CACHESIM_TOKENS", "bytes:4")];
    found.push(totals(place.run(&environment, &typed)));
    let flag = [&typed[..], &["--tokens", "bytes:8"]].concat();
    found.push(totals(place.run(&environment, &flag)));
    assert_eq!(found, expected);
    assert!(expected.windows(2).all(|pair| pair[0] != pair[1]), "else nothing was tested");
}

#[test]
fn a_list_of_each_level_replaces_those_below() {
    let session = fixture("first-look");
    let place = Place::new();
    let strategies = |environment: &[(&str, &str)], command: &str, arguments: &[&str]| {
        let all = [&[command, session.as_str(), "--format", "csv"], arguments].concat();
        let output = place.run(environment, &all);
        assert!(output.status.success(), "{}", text(&output.stderr));
        let table = text(&output.stdout);
        let header = table.lines().next().expect("a header");
        let column = header.split(',').position(|name| name == "strategy").expect("a column");
        let mut names: Vec<String> = Vec::new();
        for row in table.lines().skip(1) {
            let name = row.split(',').nth(column).expect("a name").to_owned();
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    };
    let analyzed = |environment: &[(&str, &str)], arguments: &[&str]| {
        strategies(environment, "analyze", arguments)
    };
    assert_eq!(analyzed(&[], &[]), ["billed", "replay", "none", "5m", "1h"]);
    place.user_file("[defaults]\nstrategy = ['billed', 'mixed', '1h']\n");
    assert_eq!(analyzed(&[], &[]), ["billed", "mixed", "1h"]);
    place.write(
        "project/own.toml",
        "schema = 'cachesim.strategy/v1'\n[[strategy]]\nname = 'own'\nttl = '1h'\n",
    );
    place.project_file("[defaults]\nstrategy = ['billed,replay', 'own.toml']\n");
    assert_eq!(analyzed(&[], &[]), ["billed", "replay"], "which takes no files");
    let compared = strategies(&[], "compare", &[]);
    assert_eq!(compared, ["billed", "replay", "own"]);
    let environment = [("CACHESIM_STRATEGY", "none,5m")];
    assert_eq!(analyzed(&environment, &[]), ["none", "5m"]);
    assert_eq!(analyzed(&environment, &["--strategy", "1h"]), ["1h"]);
}

#[test]
fn a_flag_of_each_level_holds_over_those_below() {
    let damaged = fixture("damaged");
    let place = Place::new();
    let code = |environment: &[(&str, &str)], arguments: &[&str]| {
        let all = [&["analyze", damaged.as_str(), "-o", "out"], arguments].concat();
        place.run(environment, &all).status.code()
    };
    assert_eq!(code(&[], &[]), Some(0));
    place.user_file("[defaults]\nstrict = true\n");
    assert_eq!(code(&[], &[]), Some(4));
    place.project_file("[defaults]\nstrict = false\n");
    assert_eq!(code(&[], &[]), Some(0));
    assert_eq!(code(&[("CACHESIM_STRICT", "yes")], &[]), Some(4));
    assert_eq!(code(&[("CACHESIM_STRICT", "")], &[]), Some(0), "no value is no setting");
    assert_eq!(code(&[("CACHESIM_STRICT", "0")], &["--strict"]), Some(4));
}

#[test]
fn the_nearest_file_is_found_and_its_paths_begin_there() {
    let place = Place::new();
    fs::create_dir(place.path("project/sessions")).expect("a folder");
    let session = project("fixtures/tool-loop/session.jsonl");
    fs::copy(session, place.path("project/sessions/s.jsonl")).expect("a copy");
    place.project_file("[defaults]\npaths = 'sessions/'\nprices = ['prices.json']\n");
    let error = place.error(&[], &["analyze"]);
    assert!(error.starts_with("cachesim: cannot read the price file prices.json: "), "{error}");

    place.project_file("[defaults]\npaths = 'sessions/'\n");
    let here = place.run(&[], &["analyze", "--format", "json"]);
    assert!(here.status.success(), "{}", text(&here.stderr));
    let below = place.run_in("deep/below", &[], &["analyze", "--format", "json"]);
    assert_eq!(text(&here.stdout), text(&below.stdout));
    let shown = place.shown("deep/below", &[], &[]);
    assert_eq!(shown["files"]["project"], "../../cachesim.toml");
    let paths = option(&shown, "paths", "analyze");
    assert_eq!(paths["value"], serde_json::json!(["../../sessions/"]));
    assert_eq!(paths["origin"]["line"], 2);

    place.write("project/deep/cachesim.toml", "");
    let shown = place.shown("deep/below", &[], &[]);
    assert_eq!(shown["files"]["project"], "../cachesim.toml", "the nearest one alone");
    assert_eq!(option(&shown, "paths", "analyze")["origin"]["level"], "default");
}

#[test]
fn a_file_can_be_named_and_files_can_be_left_out() {
    let place = Place::new();
    place.project_file("[defaults]\njobs = 2\n");
    place.user_file("[defaults]\njobs = 3\nlookback = 'blocks'\n");
    place.write("other.toml", "[defaults]\ncolor = 'never'\n");
    let levels = |environment: &[(&str, &str)], arguments: &[&str]| {
        let shown = place.shown("", environment, arguments);
        ["jobs", "lookback", "color"].map(|key| {
            let level = &option(&shown, key, "analyze")["origin"]["level"];
            level.as_str().expect("a level").to_owned()
        })
    };
    assert_eq!(levels(&[], &[]), ["project", "user", "default"]);
    let named = ["--config", "../other.toml"];
    assert_eq!(levels(&[], &named), ["user", "user", "project"]);
    let variable = ("CACHESIM_CONFIG", "../other.toml");
    assert_eq!(levels(&[variable], &[]), ["user", "user", "project"]);
    assert_eq!(levels(&[("CACHESIM_CONFIG", "nothing")], &named), ["user", "user", "project"]);
    assert_eq!(levels(&[variable], &["--no-config"]), ["default"; 3]);
    let only_named = ["default", "default", "project"];
    assert_eq!(levels(&[], &[&named[..], &["--no-config"]].concat()), only_named);
    let nothing = ("CACHESIM_NO_CONFIG", "1");
    assert_eq!(levels(&[nothing], &[]), ["default"; 3]);
    assert_eq!(levels(&[nothing, variable], &[]), only_named);
    assert_eq!(levels(&[("CACHESIM_NO_CONFIG", "0")], &[]), ["project", "user", "default"]);
    let global = place.run(&[], &["--config", "../other.toml", "config", "show"]);
    assert!(global.status.success(), "in front of the command, too");

    let elsewhere = place.path("elsewhere");
    fs::create_dir_all(elsewhere.join("cachesim")).expect("a folder");
    place.write("elsewhere/cachesim/config.toml", "[defaults]\ncolor = 'never'\n");
    let variable = ("XDG_CONFIG_HOME", utf8(&elsewhere));
    assert_eq!(levels(&[variable], &[]), ["project", "default", "user"]);
    let relative = [("XDG_CONFIG_HOME", "../elsewhere")];
    assert_eq!(levels(&relative, &[]), ["project", "user", "default"], "as XDG says");
}

#[test]
fn errors_say_where_and_what() {
    let place = Place::new();
    let error_of = |content: &str| {
        place.project_file(content);
        place.error(&[], &["analyze"])
    };
    insta::assert_snapshot!(
        error_of("[defaults]\nshared_prefx = 'warm'\n"),
        @"cachesim: cachesim.toml:2:1: `shared_prefx` is no key of [defaults] (did you mean `shared_prefix`, `strategy` or `strict_prices`?); there are paths, strategy, tokens, shared_prefix, lookback, attribution, betas, ttl_change, ttl_grace, breaks, reading, prices, platform, project_names, jobs, max_memory, strict, strict_prices, color, assume"
    );
    insta::assert_snapshot!(
        error_of("[defaults]\n\n  shared_prefix = 'warn'\n"),
        @"cachesim: cachesim.toml:3:19: `shared_prefix`: `warn` is unknown (did you mean `warm`, `auto` or `cold`?); there are auto, cold, warm"
    );
    insta::assert_snapshot!(
        error_of("[defaults]\njobs = 0\n"),
        @"cachesim: cachesim.toml:2:8: `jobs`: `0` cannot be used: expected a whole number from 1 to 65535"
    );
    insta::assert_snapshot!(
        error_of("[defaults]\nttl_grace = -1\n"),
        @"cachesim: cachesim.toml:2:13: `ttl_grace`: `-1` cannot be used: expected a whole number from 0 to 3600"
    );
    insta::assert_snapshot!(
        error_of("[defaults]\ntokens = 'bytes:0'\n"),
        @"cachesim: cachesim.toml:2:10: `tokens`: `bytes:0` cannot be used: expected exact, estimated, or bytes:N with N from 1 on"
    );
    insta::assert_snapshot!(
        error_of("[defaults]\nstrict = 1\n"),
        @"cachesim: cachesim.toml:2:10: `strict` is true or false, not 1"
    );
    insta::assert_snapshot!(
        error_of("[defaults\n"),
        @"cachesim: cachesim.toml:1:10: unclosed table, expected `]`"
    );
    insta::assert_snapshot!(
        error_of("schema = 'cachesim.config/v9'\n"),
        @"cachesim: cachesim.toml:1:10: the schema is `cachesim.config/v9`; this version reads `cachesim.config/v1`"
    );
    let error = error_of("[defaults]\nstrategy = ['billed', '2h']\n");
    let start = "cachesim: cachesim.toml:2:23: `strategy`: `2h` is unknown (did you mean `1h`, `5m` or \
                 `1h-main-5m-agents`?); there are billed, replay, ";
    assert!(error.starts_with(start), "{error}");
    place.project_file("");
    place.user_file("defaults = 7\n");
    insta::assert_snapshot!(
        place.error(&[], &["prices", "list"]),
        @"cachesim: ~/.config/cachesim/config.toml:1:12: `defaults` is a table, [defaults], not 7"
    );
    place.user_file("");
    insta::assert_snapshot!(
        place.error(&[("CACHESIM_JOBS", "many")], &["analyze"]),
        @"cachesim: CACHESIM_JOBS: `many` cannot be used: expected a whole number from 1 to 65535"
    );
    insta::assert_snapshot!(
        place.error(&[("CACHESIM_BREAKS", "kep")], &["analyze"]),
        @"cachesim: CACHESIM_BREAKS: `kep` is unknown (did you mean `keep` or `drop`?); there are keep, drop"
    );
}

#[test]
fn files_that_are_none_are_refused() {
    let place = Place::new();
    insta::assert_snapshot!(
        place.error(&[], &["analyze", "--config", "missing.toml"]),
        @"cachesim: cannot read the configuration file missing.toml: No such file or directory (os error 2)"
    );
    insta::assert_snapshot!(
        place.error(&[("CACHESIM_CONFIG", "deep")], &["analyze"]),
        @"cachesim: cannot read the configuration file deep: it is a folder; give a file or a pipe"
    );
    place.write("project/cachesim.toml", b"[defaults]\n# caf\xe9\n");
    insta::assert_snapshot!(
        place.error(&[], &["analyze"]),
        @"cachesim: cachesim.toml:2:6: this is not UTF-8"
    );
    place.write("project/cachesim.toml", vec![b'['; 10_000_000]);
    insta::assert_snapshot!(
        place.error(&[], &["analyze"]),
        @"cachesim: cannot read the configuration file cachesim.toml: it has more than 1 MiB, the most that is read of such a file; give the right one"
    );
    let odd = format!("[defaults]\n\"\\u001b[31m{}\" = 1\n", "x".repeat(100_000));
    place.write("project/cachesim.toml", odd);
    let error = place.error(&[], &["analyze"]);
    assert!(!error.contains('\u{1b}') && error.len() < 500, "{error}");
    let long = format!("[defaults]\nprices = [{}]\n", "'a',".repeat(100_000));
    place.write("project/cachesim.toml", long);
    assert!(place.run(&[], &["config", "show"]).status.success());
}

#[test]
fn help_needs_no_configuration_and_usage_errors_come_first() {
    let place = Place::new();
    place.project_file("nonsense");
    assert!(place.run(&[], &["analyze", "--help"]).status.success());
    let error = place.error(&[], &["analyze", "--no-such-option"]);
    assert!(error.contains("--no-such-option"), "{error}");
}

#[test]
fn the_configuration_is_shown() {
    let place = Place::new();
    place.user_file("[defaults]\nttl_grace = 2\njobs = 3\n\n[check]\nbaseline = 'mine.json'\n");
    place.project_file(
        "[defaults]\nstrategy = ['billed', 'own.toml']\njobs = 2\npaths = ['a', 'b']\n\n\
         [check]\nbaseline = 'main.json'\n\n[[budget]]\nmetric = 'cost'\nmax = '$2'\n",
    );
    let arguments = ["config", "show"];
    let environment = [("CACHESIM_STRICT", "1")];
    let output = place.run_in("deep", &environment, &arguments);
    insta::assert_snapshot!(text(&output.stdout), @"
    Configuration

    Files: project file ../cachesim.toml, user file ~/.config/cachesim/config.toml; looked for cachesim.toml (in this folder
    and those above it) and ~/.config/cachesim/config.toml.

    option                                   value               from
    ───────────────────────────────────────────────────────────────────────────────────────────────────────
    paths                                    ../a ../b           ../cachesim.toml:4
    strategy (analyze, explain, fleet part)  billed              ../cachesim.toml:2
    strategy (compare, chart, report)        billed,../own.toml  ../cachesim.toml:2
    tokens                                   exact               default
    shared_prefix                            auto                default
    lookback                                 positions           default
    attribution                              auto                default
    betas                                    key                 default
    ttl_change                               keeps               default
    ttl_grace                                2                   user file ~/.config/cachesim/config.toml:2
    breaks                                   keep                default
    reading                                  conservative        default
    prices                                   none                default
    platform                                 auto                default
    project_names                            relative            default
    jobs                                     2                   ../cachesim.toml:3
    max_memory                               no bound            default
    strict                                   true                environment CACHESIM_STRICT
    strict_prices                            false               default
    color                                    auto                default
    baseline                                 ../main.json        ../cachesim.toml:7

    check

    what      value               from
    ────────────────────────────────────────────────
    baseline  ../main.json        ../cachesim.toml:7
    paths     ../a ../b           ../cachesim.toml:4
    budget    cost at most $2.00  ../cachesim.toml:9
    ");
    let again = place.run_in("deep", &environment, &arguments);
    assert_eq!(output.stdout, again.stdout);

    let shown = place.shown("deep", &environment, &[]);
    assert_eq!(shown["schema"], "cachesim.config-show/v1");
    let origin = &option(&shown, "strict", "place")["origin"];
    assert_eq!(origin["variable"], "CACHESIM_STRICT");
    assert_eq!(option(&shown, "strict", "place")["value"], true);
    assert_eq!(option(&shown, "ttl_grace", "verify")["value"], 2);
    assert_eq!(option(&shown, "color", "config show")["value"], "auto");
    assert_eq!(shown["check"]["baseline"]["value"], "../main.json");
    assert_eq!(shown["budgets"][0]["line"], 9);

    let nothing = place.run(&[], &["config", "show", "--no-config"]);
    let nothing = text(&nothing.stdout);
    assert!(nothing.contains("Files: none; none was looked for."), "{nothing}");
    let rows = nothing.lines().filter(|line| line.trim_end().ends_with(" default"));
    assert_eq!(rows.count(), 23, "20 options, of which one has four defaults");
}

#[test]
fn where_nothing_is_configured_nothing_changes() {
    let place = Place::new();
    let session = fixture("first-look");
    for arguments in [
        &["analyze", &session][..],
        &["compare", &session],
        &["breaks", &session],
        &["fork"],
        &["prices", "list"],
    ] {
        let output = place.run(&[], arguments);
        let plain = run(arguments);
        assert_eq!(text(&output.stdout), text(&plain.stdout));
        assert_eq!(text(&output.stderr), text(&plain.stderr));
    }
    place.project_file("[defaults]\nprices = []\ncolor = 'auto'\n");
    let configured = place.run(&[], &["analyze", &session]);
    assert_eq!(text(&configured.stdout), text(&run(&["analyze", &session]).stdout));
    let both = place.run(&[], &["analyze", &session, "-q", "-v"]);
    assert_eq!(both.status.code(), Some(2), "still one of the two");
}

#[test]
fn the_documentation_has_every_key_and_a_file_that_works() {
    let documentation = fs::read_to_string(project("docs/configuration.md")).expect("the page");
    for option in cachesim::explain::config::DEFAULTS {
        assert!(documentation.contains(&format!("| `{}` |", option.key)), "{}", option.key);
    }
    let example = documentation.split("```toml\n").nth(1).expect("an example");
    let example = example.split("```").next().expect("its end");
    let place = Place::new();
    place.project_file(example);
    let shown = place.shown("", &[], &[]);
    let options = shown["options"].as_array().expect("options");
    let from_file = |option: &&Value| option["origin"]["level"] == "project";
    assert!(options.iter().filter(from_file).count() > 5);
    assert_eq!(shown["check"]["baseline"]["value"], "baseline.json");
}
