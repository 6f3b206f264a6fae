//! Settings that are set and taken back: files in every form, to the byte; what keeps a key from acting; and copies.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use cachesim::settings::SettingsText;
use proptest::prelude::*;
use serde_json::Value;

use crate::common::{cachesim, names, project, skip, text, utf8};

/// A home with settings of Claude Code, and a project.
struct Home(tempfile::TempDir);

/// A file with comments, keys that nobody knows, odd indentation and a secret.
const ODD: &str = "\u{feff}{\r\n      // mine\r\n   \"model\" : \"opus\",\r\n\t\"env\": { \"TOKEN\": \"sk-secret\" , }, /* , */\r\n  \"x-unknown\": [ 1,2 ]   // end\r\n}\r\n\r\n";

impl Home {
    fn new() -> Self {
        let home = Self(tempfile::tempdir().expect("a folder"));
        for folder in [".claude", "work/.claude"] {
            fs::create_dir_all(home.path(folder)).expect("a folder");
        }
        home
    }

    fn with(settings: &str) -> Self {
        let home = Self::new();
        home.write(".claude/settings.json", settings);
        home
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, content: &str) {
        fs::write(self.path(name), content).expect("written");
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).expect("a file")
    }

    fn settings(&self) -> String {
        self.read(".claude/settings.json")
    }

    fn command(&self, arguments: &[&str]) -> assert_cmd::Command {
        let mut command = cachesim();
        command.env("HOME", self.0.path()).env("COLUMNS", "400").current_dir(self.path("work"));
        command.args(arguments);
        command
    }

    fn done(&self, arguments: &[&str]) -> String {
        let output = self.command(arguments).output().expect("the program runs");
        assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
        let shown = text(&output.stdout);
        assert!(!shown.contains("sk-secret"), "{shown}");
        shown
    }

    /// What is said where nothing is changed: no file of the home differs, and none is new.
    fn refused(&self, arguments: &[&str]) -> String {
        self.refused_by(&mut self.command(arguments))
    }

    fn refused_by(&self, command: &mut assert_cmd::Command) -> String {
        let before = self.files();
        let output = command.output().expect("the program runs");
        assert!(!output.status.success() && output.stdout.is_empty(), "{}", text(&output.stdout));
        assert_eq!(self.files(), before);
        text(&output.stderr)
    }

    /// All files, and what is in them.
    fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let entries =
            walkdir::WalkDir::new(self.0.path()).sort_by_file_name().into_iter().flatten();
        let is_content = |name: &std::ffi::OsStr| name != "lock";
        let files =
            entries.filter(|entry| entry.file_type().is_file() && is_content(entry.file_name()));
        files
            .map(|entry| (entry.path().to_owned(), fs::read(entry.path()).expect("read")))
            .collect()
    }

    fn copies(&self) -> Vec<String> {
        let mut names = names(&self.path(".local/state/cachesim/applied"));
        names.retain(|name| name != "lock");
        names
    }
}

/// Advice whose first change is five minutes for everything.
fn advised() -> String {
    utf8(&project("fixtures/advised")).to_owned()
}

/// A person is asked, and nobody is where no person is.
#[test]
#[cfg(unix)]
fn what_is_written_was_agreed_to() {
    let answers = [("y\n", true), ("yes\n", true), ("n\n", false), ("\n", false), ("", false)];
    for (answer, is_given) in answers {
        let home = Home::with(ODD);
        let program = cachesim().get_program().to_owned();
        let line = format!("'{}' statusline --install", utf8(Path::new(&program)));
        let terminal = Command::new("script")
            .args(["-qec", &line, "/dev/null"])
            .env_clear()
            .envs([("HOME", home.0.path().as_os_str()), ("CACHESIM_NO_CONFIG", "1".as_ref())])
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let Ok(mut terminal) = terminal else { return skip("`script` of util-linux") };
        let mut typed = terminal.stdin.take().expect("piped");
        std::io::Write::write_all(&mut typed, answer.as_bytes()).expect("written");
        drop(typed);
        let shown = text(&terminal.wait_with_output().expect("it ends").stdout);
        let asked = shown.find("Write it? [y/N]").expect(&shown);
        let change = shown.find("statusLine: not set").expect(&shown);
        assert!(change < asked, "{shown}");
        assert_eq!(shown.contains("Nothing is written."), !is_given, "{answer:?}: {shown}");
        assert_eq!(home.settings() != ODD, is_given, "{answer:?}: {shown}");
    }
}

const INSTALL: [&str; 3] = ["statusline", "--install", "--yes"];

#[test]
fn the_status_line_is_installed_and_taken_back_to_the_byte() {
    let forms = [
        ODD,
        "{}",
        "",
        "{\n}\n",
        "{\"statusLine\": {\"type\": \"command\", \"command\": \"x\", \"padding\": 0}}",
    ];
    for before in forms {
        let home = Home::with(before);
        let shown = home.done(&["statusline", "--install"]);
        assert!(shown.contains("Nothing is written. --yes writes it."), "{shown}");
        assert_eq!(home.settings(), before);
        let shown = home.done(&INSTALL);
        assert!(shown.contains("Written; all else in the file is as it was."), "{shown}");
        let now = home.settings();
        let mut words = before.split(|one: char| one.is_whitespace() || "{}".contains(one));
        let is_kept = words.all(|word| now.contains(word));
        assert!(is_kept || before.contains("statusLine"), "{now}");
        let again = home.done(&INSTALL);
        assert!(again.contains("already says so: there is nothing to write"), "{again}");
        assert_eq!((home.settings(), home.copies().len()), (now, 1));
        let shown = home.done(&["statusline", "--undo"]);
        assert!(shown.contains("the file is what it was, to the byte"), "{shown}");
        assert_eq!((home.settings().as_str(), home.copies().len()), (before, 0));
        let none = home.refused(&["statusline", "--undo"]);
        assert!(
            none.contains("nothing is on record that `statusline --undo` could take back"),
            "{none}"
        );
    }
}

#[test]
fn a_file_that_was_not_there_is_removed_again() {
    let home = Home::new();
    home.done(&INSTALL);
    assert!(home.settings().starts_with("{\n  \"statusLine\": {"), "{}", home.settings());
    let shown = home.done(&["statusline", "--undo"]);
    assert!(shown.contains("The file was not there before, and is removed."), "{shown}");
    assert_eq!(names(&home.path(".claude")), [""; 0]);
}

/// The command that is installed is run by a shell as Claude Code does.
#[test]
#[cfg(unix)]
fn what_is_installed_is_the_line_that_was_asked_for() {
    let home = Home::new();
    home.write("it's prices.toml", "");
    let prices =
        fs::read_to_string(project("fixtures/first-look/session.jsonl")).expect("a session");
    home.write("session.jsonl", &prices);
    let options = ["--template", "it's $HOME {hit}", "--timezone", "Pacific/Chatham"];
    home.done(&[&INSTALL, &options[..]].concat());
    let settings: Value = serde_json::from_str(&home.settings()).expect("JSON");
    assert_eq!(settings["statusLine"]["type"], "command");
    let command = settings["statusLine"]["command"].as_str().expect("a command");
    let input = format!("{{\"transcript_path\": {:?}}}", utf8(&home.path("session.jsonl")));
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).env("HOME", home.0.path()).env("CACHESIM_NO_CONFIG", "1");
    let mut shell = shell.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a shell");
    std::io::Write::write_all(&mut shell.stdin.take().expect("piped"), input.as_bytes())
        .expect("written");
    let output = shell.wait_with_output().expect("it ends");
    assert_eq!(text(&output.stdout), "it's $HOME 74 %\n");
    // Where its name leads here, the name is enough.
    let program = PathBuf::from(cachesim().get_program());
    let folder = program.parent().expect("a folder");
    home.command(&[&INSTALL[..], &["--settings", "../.claude/settings.json"]].concat())
        .env("PATH", folder)
        .assert()
        .success();
    assert!(
        home.settings().contains("\"command\": \"cachesim statusline\""),
        "{}",
        home.settings()
    );
}

#[test]
fn advice_is_applied_and_taken_back_to_the_byte() {
    let home = Home::with(ODD);
    let input = advised();
    let shown = home.done(&["advise", &input, "-q", "--apply", "1", "--dry-run"]);
    assert!(shown.contains("Nothing is written. --yes writes it."), "{shown}");
    assert_eq!(home.settings(), ODD);
    for wanted in ["1", "5m"] {
        let shown = home.done(&["advise", &input, "-q", "--apply", wanted, "--yes"]);
        assert!(
            shown.starts_with("Cache everything for five minutes: alone it would have saved $"),
            "{shown}"
        );
        let keys = ",   // end\r\n  \"promptCacheTtl\": \"5m\",\r\n  \"subagentPromptCacheTtl\": \"5m\"\r\n}";
        assert_eq!(home.settings(), ODD.replace("   // end\r\n}", keys));
        let shown = home.done(&["advise", "--undo", "--dry-run"]);
        assert!(shown.contains("Nothing is written"), "{shown}");
        home.done(&["advise", "--undo"]);
        assert_eq!(home.settings(), ODD);
    }
    // The project's, by its name; the user's stays.
    let named = ["--settings", ".claude/settings.local.json"];
    let shown = home.done(&[&["advise", &input, "-q", "--apply", "1", "-y"], &named[..]].concat());
    assert!(shown.contains("/work/.claude/settings.local.json` takes it back"), "{shown}");
    assert!(home.read("work/.claude/settings.local.json").contains("\"promptCacheTtl\": \"5m\""));
    assert_eq!(home.settings(), ODD);
    let other = home.refused(&["advise", "--undo"]);
    assert!(other.contains("nothing is on record"), "{other}");
    home.done(&[&["advise", "--undo"], &named[..]].concat());
    assert_eq!(names(&home.path("work/.claude")), [""; 0]);
}

#[test]
fn what_no_setting_does_is_refused() {
    let home = Home::with("{}");
    let refused = |fixture: &str, wanted: &str| {
        let input = project("fixtures").join(fixture);
        home.refused(&["advise", utf8(&input), "-q", "--apply", wanted])
    };
    let pauses = refused("agents-with-ttls-of-their-own", "1");
    assert!(
        pauses.contains("no setting alone does it") && pauses.contains("`/compact`"),
        "{pauses}"
    );
    let prompt = refused("break-inside-ttl", "system_prompt_changed");
    assert!(prompt.contains("who builds the agent does it in the request"), "{prompt}");
    for wanted in ["0", "9", "1h", "-x"] {
        let missing = refused("advised", wanted);
        let is_told = missing.contains("those that settings make: 1 (5m)");
        assert!(is_told || wanted == "-x", "{missing}");
    }
    let with = |more: &[&str]| home.refused(&[&["advise", &advised()], more].concat());
    for wrong in [
        &["--dry-run"][..],
        &["--yes"],
        &["--apply", "1", "--yes", "--dry-run"],
        &["--settings", "x.json"],
        &["--apply", "1", "--undo"],
        &["--apply", "1", "--json"],
        &["--undo"],
    ] {
        let told = with(wrong);
        assert!(told.contains("Usage: ") || told.contains("error: "), "{told}");
    }
}

#[test]
fn damaged_settings_are_left_alone() {
    for (content, place) in [
        ("{\n  \"a\": 1,,\n}", ":2:"),
        ("[]", ":1:1: it is no object"),
        (
            "{\"promptCacheTtl\": \"1h\", \"promptCacheTtl\": \"5m\"}",
            ":1:26: `promptCacheTtl` is there twice",
        ),
        ("{", ":1:"),
    ] {
        let home = Home::with(content);
        let told = home.refused(&["advise", &advised(), "-q", "--apply", "1"]);
        let is_named = told.contains(&format!(".claude/settings.json{place}"));
        assert!(is_named && told.contains("nothing was changed: mend it first"), "{told}");
    }
    let home = Home::new();
    fs::write(home.path(".claude/settings.json"), b"{\"a\": \"\xff\"}").expect("written");
    assert!(home.refused(&INSTALL).contains("settings.json: it is no UTF-8"));
    let elsewhere = |path: &str| home.refused(&[&INSTALL[..], &["--settings", path]].concat());
    assert!(elsewhere("missing/settings.json").contains("its folder is not there"));
    assert!(elsewhere(".claude").contains("it is no file"));
    assert!(elsewhere("/dev/null").contains("it is no file"));
    // Of another layer, too, as it is not known what it says.
    let home = Home::with("{}");
    home.write("work/.claude/settings.json", "{\"env\": 1}");
    let told = home.refused(&["advise", &advised(), "-q", "--apply", "1"]);
    assert!(told.contains(".claude/settings.json:1:9: `env` is no object"), "{told}");
}

#[test]
fn a_key_that_would_not_act_is_not_set() {
    let apply = advised();
    let apply = ["advise", apply.as_str(), "-q", "--apply", "1", "--yes"];
    let long = "{\"promptCacheTtl\": \"1h\"}";
    let refused = |file: &str, content: &str| {
        let home = Home::with("{}");
        home.write(file, content);
        home.refused(&apply)
    };
    for stronger in ["work/.claude/settings.json", "work/.claude/settings.local.json"] {
        let told = refused(stronger, long);
        let stronger = stronger.trim_start_matches("work/");
        let set = format!(
            "`promptCacheTtl` would not act here, as it is set in {stronger}, which is stronger"
        );
        assert!(told.contains(&set), "{told}");
    }
    let in_env = "{\"env\": {\"CLAUDE_CODE_SUBAGENT_PROMPT_CACHE_TTL\": \"1h\"}}";
    for (file, shown) in [
        (".claude/settings.json", "~/.claude/settings.json"),
        ("work/.claude/settings.local.json", ".claude/settings.local.json"),
    ] {
        let told = refused(file, in_env);
        let name = format!("CLAUDE_CODE_SUBAGENT_PROMPT_CACHE_TTL is set in {shown}");
        assert!(told.contains(&name), "{told}");
    }
    // The variable of the strongest file decides.
    let home = Home::with(&in_env.replace("SUBAGENT_", ""));
    home.write("work/.claude/settings.json", &in_env.replace("SUBAGENT_", "").replace("1h", "5m"));
    home.done(&[&apply[..], &["--settings", ".claude/settings.json"]].concat());
    let home = Home::with("{\"env\": {\"DISABLE_PROMPT_CACHING\": \"1\"}}");
    assert!(home.refused(&apply).contains("as DISABLE_PROMPT_CACHING is set in ~/.claude"));
    let home = Home::with("{}");
    let variable = "CLAUDE_CODE_PROMPT_CACHE_TTL";
    let told = home.refused_by(home.command(&apply).env(variable, "1h"));
    assert!(told.contains("CLAUDE_CODE_PROMPT_CACHE_TTL is set in the environment"), "{told}");
    // What says the same keeps nothing from acting, and what is weaker neither.
    home.command(&apply).env(variable, "5m").env("FORCE_PROMPT_CACHING_5M", "1").assert().success();
    home.done(&["advise", "--undo"]);
    home.write("work/.claude/settings.json", long);
    home.write(".claude/settings.json", long);
    let local = ["--settings", ".claude/settings.local.json"];
    home.done(&[&apply[..], &local].concat());
    // Hooks that are turned off take the status line with them.
    let home = Home::with("{\"disableAllHooks\": true}");
    let told = home.refused(&INSTALL);
    assert!(
        told.contains(
            "`statusLine` would not act, as `disableAllHooks` is true in ~/.claude/settings.json"
        ),
        "{told}"
    );
}

#[test]
fn what_was_written_since_stays() {
    let home = Home::with("{\n  \"a\": 1\n}\n");
    let apply = advised();
    let apply = ["advise", apply.as_str(), "-q", "--apply", "1", "--yes"];
    home.done(&apply);
    home.done(&INSTALL);
    // The older change is taken back, and the newer one stays.
    let shown = home.done(&["advise", "--undo"]);
    assert!(shown.contains("Written; all else in the file is as it was."), "{shown}");
    assert!(
        home.settings().starts_with("{\n  \"a\": 1,\n  \"statusLine\": {"),
        "{}",
        home.settings()
    );
    home.done(&["statusline", "--undo"]);
    assert_eq!(home.settings(), "{\n  \"a\": 1\n}\n");
    // A key that somebody changed is theirs.
    home.done(&apply);
    home.write(".claude/settings.json", &home.settings().replace("\"5m\"", "\"1h\""));
    let told = home.refused(&["advise", "--undo"]);
    assert!(told.contains("`promptCacheTtl` was changed since it was set"), "{told}");
    let copy = told.split("is `before` in ~/").nth(1).expect("a path");
    let copy = copy.split(';').next().expect("its end");
    let copy: Value = serde_json::from_str(&home.read(copy)).expect("a record");
    assert_eq!(copy["before"], "{\n  \"a\": 1\n}\n");
    // Who puts it back by hand leaves nothing to take back, and what is on record is done with.
    home.write(".claude/settings.json", "{\"a\": 1, \"b\": 2}");
    let shown = home.done(&["advise", "--undo"]);
    assert!(shown.contains("Nothing is written: the keys are what they were before."), "{shown}");
    assert_eq!((home.settings().as_str(), home.copies().len()), ("{\"a\": 1, \"b\": 2}", 0));
    // A file that is gone is not made again.
    home.done(&apply);
    fs::remove_file(home.path(".claude/settings.json")).expect("removed");
    assert!(home.refused(&["advise", "--undo"]).contains("the file is not there any more"));
    // Neither is one that was not there before.
    let home = Home::new();
    home.done(&INSTALL);
    fs::remove_file(home.path(".claude/settings.json")).expect("removed");
    home.done(&["statusline", "--undo"]);
    assert_eq!((names(&home.path(".claude")), home.copies().len()), (vec![], 0));
}

/// What stood there is put back as it was written, not as JSON would write it.
#[test]
fn an_old_value_is_put_back_as_it_was_written() {
    let old = "{\n    // my bar\n    \"type\": \"command\",\n    \"padding\": 1.10,\n    \"command\": \"x\"\n  }";
    let before = format!("{{\n  \"statusLine\": {old}\n}}\n");
    let home = Home::with(&before);
    home.done(&INSTALL);
    let with = |text: &str| text.replace("\n}\n", ",\n  \"model\": \"opus\"\n}\n");
    home.write(".claude/settings.json", &with(&home.settings()));
    home.done(&["statusline", "--undo"]);
    assert_eq!(home.settings(), with(&before));
    // An object that came with a key stays where somebody wrote into it.
    let home = Home::with("{\"a\": 1}");
    let deferred = project("fixtures/deferred-tools");
    home.done(&["advise", utf8(&deferred), "-q", "--apply", "deferred-tools", "--yes"]);
    assert_eq!(home.settings(), "{\"a\": 1, \"env\": {\"ENABLE_TOOL_SEARCH\": \"true\"}}");
    home.write(
        ".claude/settings.json",
        "{\"a\": 1, \"env\": { // mine\n \"ENABLE_TOOL_SEARCH\": \"true\"}}",
    );
    home.done(&["advise", "--undo"]);
    assert_eq!(home.settings(), "{\"a\": 1, \"env\": { // mine\n }}");
    // A key that already has its value is not of the change, and may change.
    let home = Home::with("{\"promptCacheTtl\": \"\\u0035m\"}");
    home.done(&["advise", &advised(), "-q", "--apply", "5m", "--yes"]);
    assert!(home.settings().contains("\\u0035m\", \"subagent"), "{}", home.settings());
    home.write(".claude/settings.json", &home.settings().replace("\\u0035m", "1h"));
    home.done(&["advise", "--undo"]);
    assert_eq!(home.settings(), "{\"promptCacheTtl\": \"1h\"}");
}

/// Each of several runs at once sets what it says.
#[test]
fn runs_at_once_lose_nothing() {
    for round in 0..8 {
        let home = Home::with("{\n  \"a\": 1\n}\n");
        std::thread::scope(|scope| {
            scope.spawn(|| home.done(&INSTALL));
            scope.spawn(|| home.done(&["advise", &advised(), "-q", "--apply", "5m", "--yes"]));
        });
        let settings: Value = serde_json::from_str(&home.settings()).expect("JSON");
        let keys = ["a", "statusLine", "promptCacheTtl", "subagentPromptCacheTtl"];
        assert!(keys.iter().all(|key| settings.get(*key).is_some()), "round {round}: {settings}");
        assert_eq!(home.copies(), ["000001.json", "000002.json"]);
    }
}

#[test]
#[cfg(unix)]
fn copies_are_the_owners_and_links_stay() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let home = Home::new();
    home.write("dotfiles.json", "{\"env\": {\"TOKEN\": \"sk-secret\"}}");
    let private = fs::Permissions::from_mode(0o600);
    fs::set_permissions(home.path("dotfiles.json"), private).expect("set");
    symlink("../dotfiles.json", home.path(".claude/settings.json")).expect("a link");
    home.done(&INSTALL);
    let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
    assert!(home.path(".claude/settings.json").is_symlink());
    assert_eq!(mode(&home.path("dotfiles.json")), 0o600);
    let folder = home.path(".local/state/cachesim/applied");
    assert_eq!((mode(&folder), mode(&folder.join(&home.copies()[0]))), (0o700, 0o600));
    // Neither damage among the copies nor a copy of another file is taken for one.
    home.write(".local/state/cachesim/applied/999999.json", "{\"schema\": 1");
    home.done(&["statusline", "--undo"]);
    assert_eq!(home.read("dotfiles.json"), "{\"env\": {\"TOKEN\": \"sk-secret\"}}");
    // Neither is what has the name of a record.
    home.write(".local/state/cachesim/applied/18446744073709551615.json", "{}");
    home.done(&INSTALL);
    home.done(&["statusline", "--undo"]);
    // Without a place for a copy nothing is written.
    let told = home.refused_by(home.command(&INSTALL).env("XDG_STATE_HOME", "/dev/null/x"));
    assert!(told.contains("cannot write to /dev/null/x/cachesim/applied"), "{told}");
}

fn parsed(text: &str) -> SettingsText {
    SettingsText::parse(text.as_bytes()).expect("settings")
}

/// Space and comments as people leave them, which end a line that a comment does not.
fn space() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "",
        "",
        " ",
        "\n",
        "\n  ",
        "\t",
        "\r\n    ",
        " /* , } { */ ",
        " // , \" }\n",
        " // \u{a0}\u{2028}x \u{a0} \n",
        "\r",
        "\n\n  // {\n  ",
    ])
}

fn json_value() -> BoxedStrategy<String> {
    let leaf = prop::sample::select(vec![
        "1",
        "-2.5e3",
        "true",
        "null",
        "\"\"",
        "\"a, b } // \\\" c\"",
        "[]",
        "{}",
    ]);
    leaf.prop_map(str::to_owned)
        .prop_recursive(3, 24, 4, |inner| {
            let list = prop::collection::vec((space(), inner.clone()), 1..4).prop_map(|all| {
                format!(
                    "[{}]",
                    all.iter()
                        .map(|(space, one)| format!("{space}{one}"))
                        .collect::<Vec<_>>()
                        .join(",")
                )
            });
            prop_oneof![list, object(inner.boxed())]
        })
        .boxed()
}

fn object(value: BoxedStrategy<String>) -> impl Strategy<Value = String> {
    let property = (space(), space(), space(), value, space());
    (prop::collection::vec(property, 0..4), any::<bool>(), space()).prop_map(
        |(all, is_open, end)| {
            let properties: Vec<String> = all
                .iter()
                .enumerate()
                .map(|(number, (a, b, c, value, d))| format!("{a}\"p{number}\"{b}:{c}{value}{d}"))
                .collect();
            let comma = if is_open && !all.is_empty() { "," } else { "" };
            format!("{{{}{comma}{end}}}", properties.join(","))
        },
    )
}

proptest! {
    #[test]
    fn whatever_it_looks_like_it_is_given_back(
        text in (space(), object(json_value()), space()).prop_map(|(a, object, b)| format!("{a}{object}{b}")),
        key in prop::sample::select(vec![vec!["k"], vec!["p0"], vec!["p1", "k"], vec!["k", "l"]]),
    ) {
        let before = parsed(&text);
        let mut settings = before.clone();
        let value = Value::from("new");
        if settings.set(&key, &value).is_err() {
            prop_assert!(before.get(&key[..1]).expect("one").is_some_and(|value| !value.is_object()));
            return Ok(());
        }
        prop_assert_eq!(parsed(settings.as_str()).get(&key), Ok(Some(value)));
        for other in ["p0", "p1", "p2", "p3"] {
            if key[0] != other {
                prop_assert_eq!(settings.get(&[other]), before.get(&[other]));
            }
        }
        if let Some(old) = before.get(&key).expect("a value or none") {
            settings.set(&key, &old).expect("set");
            prop_assert_eq!(settings.get(&key), Ok(Some(old)));
            return Ok(());
        }
        settings.remove(&key).expect("removed");
        if before.get(&key[..1]).expect("one").is_none() && key.len() > 1 {
            settings.remove(&key[..1]).expect("removed");
        }
        prop_assert_eq!(settings.as_str(), text);
    }

    #[test]
    fn a_list_gets_one_element_more(
        elements in prop::collection::vec((space(), json_value(), space()), 0..4),
        is_open in any::<bool>(),
        end in space(),
        text in object(json_value()),
    ) {
        let comma = if is_open && !elements.is_empty() { "," } else { "" };
        let elements: Vec<String> = elements.iter().map(|(a, one, b)| format!("{a}{one}{b}")).collect();
        let list = format!("[{}{comma}{end}]", elements.join(","));
        let before = parsed(&format!("{{\"k\": {list}, \"o\": {text}}}"));
        let added = before.appended(&["k"], &"new".into()).expect("a list").expect("one more");
        let mut settings = before.clone();
        settings.put(&["k"], added.source.as_deref().expect("as it is written")).expect("put");
        let mut all = before.get(&["k"]).expect("one").expect("a list");
        all.as_array_mut().expect("a list").push("new".into());
        prop_assert_eq!(settings.get(&["k"]), Ok(Some(all)));
        prop_assert_eq!(settings.get(&["o"]), before.get(&["o"]));
        prop_assert_eq!(settings.appended(&["k"], &"new".into()), Ok(None));
    }

    #[test]
    fn a_key_that_is_taken_out_goes_alone(
        text in (space(), object(json_value()), space()).prop_map(|(a, object, b)| format!("{a}{object}{b}")),
        key in prop::sample::select(vec!["p0", "p1", "p2", "p3"]),
    ) {
        let before = parsed(&text);
        let mut settings = before.clone();
        settings.remove(&[key]).expect("removed");
        prop_assert_eq!(settings.get(&[key]), Ok(None));
        for other in ["p0", "p1", "p2", "p3"].into_iter().filter(|other| *other != key) {
            prop_assert_eq!(settings.get(&[other]), before.get(&[other]));
        }
    }
}
