//! The command line: exit codes, errors that say what to do, and input from everywhere.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use ruzstd::encoding::{CompressionLevel, compress_to_vec};

use crate::common::{cachesim, json, project, run, shared, stdout, text};

const SESSION: &str = "fixtures/tool-loop/session.jsonl";

fn session() -> String {
    project(SESSION).to_str().expect("a plain path").to_owned()
}

fn code(arguments: &[&str]) -> i32 {
    run(arguments).status.code().expect("an exit code")
}

#[test]
fn exit_codes_are_those_of_the_contract() {
    let path = session();
    let folder = tempfile::tempdir().expect("a folder");
    let damaged = project("fixtures/damaged");
    let damaged = damaged.to_str().expect("plain");
    let unknown = project("fixtures/unknown-model");
    let unknown = unknown.to_str().expect("plain");
    assert_eq!(code(&["analyze", &path]), 0);
    assert_eq!(code(&["analyze", damaged]), 0, "damage is counted, not fatal");
    assert_eq!(code(&["analyze", &path, "--no-such-option"]), 2);
    assert_eq!(code(&["analyze", &path, "--strategy", "2h"]), 2);
    assert_eq!(code(&["analyze", &path, "--since", "tomorow"]), 2);
    assert_eq!(code(&["analyze", &path, "--jobs", "0"]), 2);
    assert_eq!(code(&["analyze", &path, "--prices", "no/such/file"]), 2);
    assert_eq!(code(&["analyze", &path, "-o", "no/such/folder/file"]), 2);
    assert_eq!(code(&["prices", "show", "no-such-model"]), 2);
    assert_eq!(code(&["analyze", folder.path().to_str().expect("plain")]), 3);
    assert_eq!(code(&["analyze", "no/such/file.jsonl"]), 3);
    assert_eq!(code(&["analyze", &path, "--since", "2030-01-01"]), 3);
    assert_eq!(code(&["analyze"]), 3, "there is no ~/.claude in the tests");
    assert_eq!(code(&["analyze", damaged, "--strict"]), 4);
    assert_eq!(code(&["analyze", &path, "--strict"]), 0);
    assert_eq!(code(&["analyze", unknown, "--strict-prices"]), 5);
    assert_eq!(code(&["analyze", unknown]), 0);
}

#[test]
fn errors_say_what_is_wrong_and_what_to_do() {
    let path = session();
    let stderr = |arguments: &[&str]| text(&run(arguments).stderr);
    insta::assert_snapshot!(
        stderr(&["analyze", &path, "--strategy", "2h"]),
        @"cachesim: --strategy: `2h` is unknown (did you mean `1h`, `5m` or `1h-main-5m-agents`?); there are billed, replay, none, 5m, 1h, mixed, as-recorded, latched-ttl, 1h-main-5m-agents, 5m-main-1h-agents, system-only, last-message, last-two, every-10, four-even, cheapest-layout, 5m-pinged, 1h-pinged, cheapest-pings, microcompact-60m, cached-microcompact, microcompact-both, result-budget-50k, clear-results-180k, compact-100k, session-memory-100k, forked-agents, fresh-decisions, staggered-agents, agents-at-once, skip-cache-write, mark-shared, sessions-apart, tools-sorted, static-first, stable-first, global-scope, no-global-scope, latched-settings, stable-attribution, deferred-tools, optimal"
    );
    insta::assert_snapshot!(
        stderr(&["analyze", "no/such/file.jsonl"]),
        @"cachesim: no/such/file.jsonl: unreadable file: No such file or directory (os error 2); give a file or folder that can be read"
    );
    let unknown = project("fixtures/unknown-model");
    insta::assert_snapshot!(
        stderr(&["analyze", unknown.to_str().expect("plain")]),
        @"cachesim: no price for glm-4.7 (1 request): its cost is unknown and in no total; --prices FILE gives one"
    );
}

#[test]
fn every_rejected_line_is_named_when_asked() {
    let damaged = project("fixtures/damaged");
    let stderr = text(&run(&["analyze", damaged.to_str().expect("plain"), "-v"]).stderr);
    insta::assert_snapshot!(stderr);
}

#[test]
fn quiet_means_silence_on_stderr() {
    let damaged = project("fixtures/damaged");
    let output = run(&["analyze", damaged.to_str().expect("plain"), "-q"]);
    assert_eq!(text(&output.stderr), "");
}

#[test]
fn compressed_files_and_standard_input_read_the_same() {
    let plain = fs::read(project(SESSION)).expect("a session");
    let folder = tempfile::tempdir().expect("a folder");
    let gz = folder.path().join("a.jsonl.gz");
    let mut encoder = flate2::write::GzEncoder::new(
        fs::File::create(&gz).expect("a file"),
        flate2::Compression::default(),
    );
    encoder.write_all(&plain).expect("written");
    encoder.finish().expect("finished");
    let zst = folder.path().join("b.jsonl.zst");
    fs::write(&zst, compress_to_vec(plain.as_slice(), CompressionLevel::Fastest)).expect("a file");
    let totals = |path: &Path| {
        json(&["analyze", path.to_str().expect("plain"), "--format", "json", "-q"])["totals"]
            .clone()
    };
    let expected = totals(&project(SESSION));
    assert_eq!(totals(&gz), expected);
    assert_eq!(totals(&zst), expected);
    // The same session twice in a folder counts once.
    assert_eq!(totals(folder.path()), expected);
    let piped = cachesim()
        .args(["analyze", "-", "--format", "json", "-q"])
        .write_stdin(plain)
        .output()
        .expect("the program runs");
    let piped: serde_json::Value = serde_json::from_slice(&piped.stdout).expect("JSON");
    assert_eq!(piped["totals"], expected);
}

#[test]
fn a_damaged_archive_gives_what_is_readable() {
    let plain = fs::read(project(SESSION)).expect("a session");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.jsonl.zst");
    let mut bytes = compress_to_vec(plain.as_slice(), CompressionLevel::Fastest);
    bytes.truncate(bytes.len() - 4);
    fs::write(&path, bytes).expect("a file");
    let output = run(&["analyze", path.to_str().expect("plain"), "--format", "json"]);
    assert!(text(&output.stderr).contains("unreadable file"));
}

#[test]
fn the_default_place_is_the_clients() {
    let home = tempfile::tempdir().expect("a folder");
    let projects = home.path().join(".claude/projects/p");
    fs::create_dir_all(&projects).expect("folders");
    fs::copy(project(SESSION), projects.join("a.jsonl")).expect("copied");
    let requests = |command: &mut assert_cmd::Command| {
        let output = command.args(["analyze", "--format", "json", "-q"]).output().expect("it runs");
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        report["inputs"]["requests"].clone()
    };
    assert_eq!(requests(cachesim().env("HOME", home.path())), 3);
    let configured = format!("/no/such/folder, {}", home.path().join(".claude").display());
    assert_eq!(requests(cachesim().env("CLAUDE_CONFIG_DIR", configured)), 3);
}

#[test]
fn since_and_until_choose_what_is_reported_not_what_is_simulated() {
    let path = project("fixtures/first-look/session.jsonl");
    let path = path.to_str().expect("plain");
    let all = json(&["analyze", path, "--format", "json", "-q"]);
    let late =
        json(&["analyze", path, "--format", "json", "-q", "--since", "2026-08-03T10:20:00Z"]);
    assert_eq!(all["totals"]["billed"]["requests"], 6);
    assert_eq!(late["totals"]["billed"]["requests"], 3);
    // The first of them reads what the requests before the bound had cached.
    assert_eq!(late["totals"]["replay"]["cache_read_input_tokens"], 27_200 + 28_600 + 16_000);
    let early =
        json(&["analyze", path, "--format", "json", "-q", "--until", "2026-08-03T10:20:00Z"]);
    assert_eq!(early["totals"]["billed"]["requests"], 3);
}

#[test]
fn a_price_file_replaces_rows() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("mine.toml");
    let table = r#"
        schema = "cachesim.prices/v1"
        id = "contract"
        as_of = "2026-11-01"
        [[model]]
        id = "glm-4.7"
        [[model.rate]]
        input = "1"
        cache_write_5m = "1"
        cache_write_1h = "2"
        cache_read = "0.1"
        output = "3"
    "#;
    fs::write(&file, table).expect("a file");
    let unknown = project("fixtures/unknown-model");
    let arguments =
        ["analyze", unknown.to_str().expect("plain"), "--format", "json", "-q", "--strict-prices"];
    let report = json(&[&arguments[..], &["--prices", file.to_str().expect("plain")]].concat());
    assert_eq!(report["prices"]["id"], "anthropic-2026-11-23+contract");
    // 2 × 1 + 5,000 × 2 + 60 × 3 micro-dollars, and the other model's 0.03851.
    let glm = &report["by_model"]["glm-4.7"]["billed"];
    assert_eq!(glm["cost_usd"], "0.010182");
}

#[test]
fn litellm_prices_agree_with_ours_where_both_have_a_model() {
    let Some(litellm) = shared("prices/litellm-2026-08-01.json") else { return };
    let prices = |model: &str, file: &[&str]| {
        let arguments =
            [&["prices", "show", model, "--at", "2026-08-01", "--format", "json"], file].concat();
        let standard = json(&arguments)["models"][0]["rates"]
            .as_array()
            .expect("rates")
            .iter()
            .find(|rate| rate["speed"] == "standard" && rate["above_tokens"].is_null())
            .cloned()
            .expect("a standard rate");
        ["input", "cache_write_5m", "cache_write_1h", "cache_read", "output"]
            .map(|class| standard[format!("{class}_usd_per_mtok")].clone())
    };
    let file = ["--prices", litellm.to_str().expect("plain")];
    for model in [
        "claude-opus-5",
        "claude-opus-4-8",
        "claude-opus-4-5-20251101",
        "claude-sonnet-5",
        "claude-sonnet-4-6",
        "claude-sonnet-4-5-20250929",
        "claude-haiku-4-5-20251001",
        "claude-fable-5",
        "claude-opus-4-1-20250805",
    ] {
        assert_eq!(prices(model, &file), prices(model, &[]), "{model}");
    }
}

#[test]
fn hostile_names_reach_neither_terminal_nor_table() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("evil\u{1b}[31m.jsonl");
    let line = r#"{"type":"assistant","uuid":"a","sessionId":"s\u001b[2J|<script>","timestamp":"2026-08-03T10:00:00Z","requestId":"=1+1","message":{"id":"@m","model":"x\u001b]0;t\u0007","content":[],"usage":{"cache_read_input_tokens":1}}}"#;
    fs::write(&path, line).expect("a file");
    let path = path.to_str().expect("plain");
    for format in ["table", "markdown", "csv"] {
        let output = run(&["analyze", path, "--format", format, "-v"]);
        assert!(output.status.success());
        let printed = format!("{}{}", text(&output.stdout), text(&output.stderr));
        if format != "csv" {
            assert!(!printed.contains('\u{1b}') && !printed.contains('\u{7}'), "{printed:?}");
        }
        assert!(format != "markdown" || !printed.contains("<script>"), "{printed}");
        assert!(format != "csv" || printed.contains(",'=1+1,'@m,"), "{printed}");
    }
}

/// The commands with help, and those below them.
const COMMANDS: [&[&str]; 35] = [
    &[],
    &["analyze"],
    &["advise"],
    &["compare"],
    &["breaks"],
    &["explain"],
    &["context"],
    &["blocks"],
    &["statusline"],
    &["hook"],
    &["watch"],
    &["mcp"],
    &["chart"],
    &["report"],
    &["verify"],
    &["check"],
    &["init"],
    &["fleet", "domains"],
    &["fleet", "part"],
    &["fleet", "gather"],
    &["place"],
    &["lint"],
    &["tokens"],
    &["redact"],
    &["fork"],
    &["sources"],
    &["strategies"],
    &["prices", "list"],
    &["prices", "show"],
    &["prices", "update"],
    &["config"],
    &["config", "show"],
    &["schema"],
    &["completions"],
    &["man"],
];

fn stdout_at(arguments: &[&str], columns: usize) -> String {
    let output = cachesim().args(arguments).env("COLUMNS", columns.to_string()).output();
    text(&output.expect("the program runs").stdout)
}

fn help(command: &[&str], columns: usize) -> String {
    stdout_at(&[command, &["--help"]].concat(), columns)
}

/// The paragraphs and lists after the options.
fn trailing(help: &str) -> Vec<Vec<&str>> {
    let paragraphs = help.split("\n\n").map(|paragraph| paragraph.lines().collect::<Vec<_>>());
    let is_first = |paragraph: &Vec<&str>| matches!(paragraph.first(), Some(line) if ["Examples:", "Exit codes:"].contains(line));
    paragraphs.skip_while(|paragraph| !is_first(paragraph)).collect()
}

#[test]
fn examples_are_whole_at_every_width() {
    for command in COMMANDS {
        let pages = [80, 100].map(|columns| help(command, columns));
        let [narrow, wide] = pages.each_ref().map(|page| {
            let mut all = trailing(page).into_iter();
            all.find(|paragraph| paragraph.first() == Some(&"Examples:")).unwrap_or_default()
        });
        assert_eq!(narrow, wide, "{command:?}");
        for pair in wide.windows(2) {
            let is_continued = pair[0].ends_with(" \\");
            assert_eq!(pair[1].starts_with("      "), is_continued, "{command:?}: {pair:?}");
            assert!(pair[1].starts_with("  "), "{command:?}: {pair:?}");
        }
    }
}

#[test]
fn no_line_of_help_is_shorter_than_it_must_be() {
    for (command, columns) in COMMANDS.into_iter().flat_map(|one| [(one, 80), (one, 100)]) {
        let page = help(command, columns);
        for paragraph in trailing(&page).into_iter().filter(|one| one[0] != "Examples:") {
            for pair in paragraph.windows(2) {
                assert!(pair[0].chars().count() <= columns, "{command:?}: {pair:?}");
                let next = pair[1].trim_start();
                let word = next.split(' ').next().unwrap_or_default().chars().count();
                // An item of a list begins a line of its own.
                let is_item = next.starts_with(|c: char| c.is_ascii_digit())
                    || next.split(' ').next().is_some_and(|word| word.ends_with(':'));
                let had_room = pair[0].chars().count() + 1 + word <= columns;
                assert!(is_item || !had_room, "{command:?} at {columns}: {pair:?}");
            }
        }
    }
}

/// `-h` is a screen: an option a line, and none of them wide.
#[test]
fn brief_help_fits_a_screen() {
    for command in COMMANDS {
        let page = stdout_at(&[command, &["-h"]].concat(), 80);
        let is_option = |line: &&str| line.trim_start().starts_with('-');
        let options = page.lines().filter(is_option).count();
        assert!(options <= 24, "{command:?}: {options} options\n{page}");
        for line in page.lines() {
            assert!(line.chars().count() <= 80, "{command:?}: {line}");
            let is_continued = line.starts_with("          ") && !is_option(&line);
            assert!(!is_continued, "{command:?}: {line}");
        }
        // What is brief is not less: the long help has every option of it.
        let long = help(command, 80);
        for line in page.lines().filter(is_option) {
            let name = line.split_whitespace().find(|word| word.starts_with("--")).expect(line);
            let name = name.split(['[', '=']).next().expect(name);
            assert!(long.contains(name), "{command:?}: {name}");
        }
    }
}

/// The first page names 20 commands, a line each, and no command is missing from the long one.
#[test]
fn the_first_page_has_the_commands_of_each_reader() {
    let page = stdout_at(&["-h"], 80);
    let named = |page: &str| {
        let lines = page.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
        let names = lines.filter_map(|line| line.split_whitespace().next().map(str::to_owned));
        names.filter(|name| name.chars().all(|one| one.is_ascii_lowercase())).collect::<Vec<_>>()
    };
    let brief = named(&page);
    assert_eq!(brief.len(), 20, "{page}");
    let all = named(&help(&[], 80));
    let known: std::collections::BTreeSet<&str> =
        COMMANDS.iter().filter_map(|command| command.first().copied()).collect();
    assert_eq!(all.iter().map(String::as_str).collect::<std::collections::BTreeSet<_>>(), known);
    for name in all.iter().filter(|name| !brief.contains(name)) {
        assert!(page.contains(name.as_str()), "{name} is named: {page}");
    }
}

/// Each assumption by `--assume`, by its own option and in both tables of a configuration, says the same.
#[test]
fn assumptions_are_said_in_four_ways() {
    let cases = [
        ("tokens", "bytes:1", "fixtures/captured-clock"),
        ("ttl-change", "loses", "fixtures/ttl-that-changes"),
        ("ttl-grace", "3600", "fixtures/first-look"),
        ("breaks", "drop", "fixtures/first-look"),
    ];
    for (key, value, fixture) in cases {
        let path = project(fixture);
        let path = path.to_str().expect("plain");
        let said = |more: &[&str]| stdout(&[&["analyze", path, "--format", "csv"], more].concat());
        let plain = said(&[]);
        let (option, assumption) = (format!("--{key}={value}"), format!("{key}={value}"));
        let assumed = said(&["--assume", &assumption]);
        assert_ne!(assumed, plain, "{key} has an effect");
        assert_eq!(said(&[&option]), assumed, "{key}");
        assert_eq!(
            said(&[&format!("--assume={}", assumption.replace('-', "_"))]),
            assumed,
            "{key}"
        );
        let value =
            if value.parse::<u32>().is_ok() { value.to_owned() } else { format!("'{value}'") };
        for table in ["defaults", "defaults.assume"] {
            let file = tempfile::NamedTempFile::with_suffix(".toml").expect("a file");
            let text = format!("[{table}]\n{} = {value}\n", key.replace('-', "_"));
            std::fs::write(file.path(), text).expect("written");
            let file = file.path().to_str().expect("plain");
            assert_eq!(said(&["--config", file]), assumed, "{key} in [{table}]");
        }
    }
    let session = session();
    for (arguments, expected) in [
        (
            ["--assume", "lokback=blocks"],
            "no assumption is called `lokback` (did you mean `lookback`?)",
        ),
        (["--assume", "lookback"], "expected KEY=VALUE, with one of tokens, lookback"),
        (["--assume", "lookback=some"], "invalid value 'some' for '--assume lookback=…'"),
        (["--assume", "breaks=drop"], "unexpected argument '--assume breaks=…' found"),
    ] {
        let told = refusal(&[&["context", &session][..], &arguments].concat());
        assert!(told.contains(expected), "{told}");
    }
}

/// Renamed commands answer to their old names, and no command at all is `analyze`.
#[test]
fn old_names_still_work() {
    let root = project("fixtures/first-look");
    let root = root.to_str().expect("plain");
    let domains = stdout(&["fleet", "domains", "--root", root, "--domains", "depth:1"]);
    assert_eq!(stdout(&["domains", "--root", root, "--domains", "depth:1"]), domains);
    for name in ["domains", "part", "gather"] {
        assert_eq!(help(&[name], 80), help(&["fleet", name], 80));
        assert_eq!(stdout(&["help", name]), stdout(&["help", "fleet", name]));
        assert_eq!(stdout(&["man", name]), stdout(&["man", "fleet", name]));
    }
    let home = tempfile::tempdir().expect("a folder");
    let sessions = home.path().join(".claude/projects/p");
    std::fs::create_dir_all(&sessions).expect("a folder");
    std::fs::copy(project("fixtures/first-look/session.jsonl"), sessions.join("s.jsonl"))
        .expect("copied");
    let at_home = |arguments: &[&str]| {
        let output = cachesim().args(arguments).env("HOME", home.path()).output();
        let output = output.expect("the program runs");
        (output.status.code(), text(&output.stdout))
    };
    let (code, shown) = at_home(&[]);
    assert!(code == Some(0) && shown.starts_with("Spent"), "{shown}");
    assert_eq!(at_home(&["analyze"]), (code, shown));
    assert_eq!(at_home(&["--by", "model"]), at_home(&["analyze", "--by", "model"]));
    let nowhere = run(&[]);
    assert_eq!((nowhere.status.code(), text(&nowhere.stderr).lines().count()), (Some(3), 3));
}

/// Claude Code's folders of projects have such names.
#[test]
fn files_that_begin_as_options_do_are_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let project_folder = folder.path().join("-home-me");
    std::fs::create_dir(&project_folder).expect("a folder");
    let session = project("fixtures/first-look/session.jsonl");
    std::fs::copy(session, project_folder.join("session.jsonl")).expect("copied");
    let told = |arguments: &[&str]| {
        let output = cachesim().args(arguments).current_dir(folder.path()).output();
        let output = output.expect("the program runs");
        assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
        text(&output.stdout)
    };
    for name in ["-home-me", "-home-me/session.jsonl"] {
        assert!(told(&["breaks", name]).starts_with("Spent          $0.5753"), "{name}");
    }
    assert_eq!(told(&["-home-me"]), told(&["analyze", "./-home-me"]));
    let line = told(&["explain", "-home-me/session.jsonl:11"]);
    assert_eq!(line, told(&["explain", "--", "-home-me/session.jsonl:11"]));
    assert!(text(&run(&["explain", "-h-me"]).stdout).contains("Usage"));
}

/// The answer comes first, and what is wrong with its input after it, in plain words.
#[test]
fn warnings_follow_the_answer() {
    let damaged = project("fixtures/damaged/session.jsonl");
    let command =
        format!("'{}' analyze '{}' 2>&1", env!("CARGO_BIN_EXE_cachesim"), damaged.display());
    let output = std::process::Command::new("sh")
        .args(["-c", &command])
        .env("CACHESIM_NO_CONFIG", "1")
        .output();
    let shown = text(&output.expect("a shell").stdout);
    let lines: Vec<&str> = shown.lines().collect();
    let first = lines.iter().position(|line| line.starts_with("cachesim: ")).expect("a warning");
    assert!(lines[0].starts_with("Spent"), "{shown}");
    assert!(lines[first..].iter().all(|line| line.starts_with("cachesim: ")), "{shown}");
}

fn refusal(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert!(!output.status.success(), "{arguments:?}");
    text(&output.stderr)
}

#[test]
fn errors_name_what_was_looked_at_and_what_to_do() {
    let empty = tempfile::tempdir().expect("a folder");
    let empty = empty.path().to_str().expect("plain");
    let session = session();
    let cases: [(&[&str], &str); 12] = [
        (&["analyze"], "cachesim: ~/.claude/projects is not there, and "),
        (&["analyze", empty], empty),
        (&["analyze", "nosuch"], "cachesim: nosuch: unreadable file: No such file"),
        (&["explain", &session, "5e1f:4"], "the request stands first"),
        (&["explain", &session], "the request stands first"),
        (&["check", &session, "--max-cost", "0.5"], "[[budget]] tables of cachesim.toml"),
        (&["fork", "--parent", "abc"], "'--parent <TOKENS>': expected a whole number"),
        (&["analyze", &session, "--top", "0"], "expected a whole number of at least 1"),
        (&["compare", &session, "--fail-if", "x > 1"], "metrics are cost, read, written"),
        (&["chart", "gaps", &session, "--strategy", "5m,nonsense"], "`nonsense` is unknown"),
        (&["chart", "turns", &session, "--format", "svg", "-o", "x.png"], "the output is no .png"),
        (&["prices", "show", "gpt-5.6-sool"], "did you mean `gpt-5.6-sol`"),
    ];
    for (arguments, expected) in cases {
        let told = refusal(arguments);
        assert!(told.contains(expected), "{arguments:?}: {told}");
    }
    let unreadable = refusal(&["analyze", "nosuch"]);
    assert!(!unreadable.contains("JSON Lines") && unreadable.lines().count() == 1, "{unreadable}");
}

#[test]
fn what_has_no_effect_is_said() {
    let session = session();
    let noted = |arguments: &[&str], variable: Option<&str>| {
        let mut command = cachesim();
        command.args(arguments).arg(&session).envs(variable.map(|name| (name, "5")));
        let output = command.output().expect("the program runs");
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stderr)
    };
    let of_chart = noted(&["chart", "gaps", "--strategy", "5m"], None);
    assert!(of_chart.contains("--strategy has no effect on this chart"), "{of_chart}");
    assert_eq!(noted(&["chart", "gaps"], None), "");
    let unknown = noted(&["analyze"], Some("CACHESIM_TTLGRACE"));
    assert!(unknown.contains("CACHESIM_TTLGRACE is unknown"), "{unknown}");
    assert!(unknown.contains("did you mean `CACHESIM_TTL_GRACE`"), "{unknown}");
    assert_eq!(noted(&["analyze", "-q"], Some("CACHESIM_TTLGRACE")), "");
    assert_eq!(noted(&["analyze"], Some("CACHESIM_TTL_GRACE")), "");
}

#[test]
fn prices_are_those_of_every_provider() {
    let list = stdout(&["prices", "list"]);
    for model in ["claude-opus-5", "gpt-5.6-sol", "gpt-5.5", "deepseek-v4-pro", "qwen-explicit/"] {
        assert!(list.contains(model), "{model}: {list}");
    }
    // From the announcements in models/providers.toml.
    let shown = json(&["prices", "show", "deepseek-chat", "--format", "json"]);
    assert_eq!(shown["models"][0]["id"], "deepseek-chat");
    let all = json(&["prices", "list", "--format", "json"]);
    let ids: Vec<&str> = all["models"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|one| one["id"].as_str())
        .collect();
    let unique: std::collections::BTreeSet<&&str> = ids.iter().collect();
    assert!(unique.len() == ids.len() && ids.contains(&"gpt-5.6-sol"), "{ids:?}");
}
