//! `statusline`: the line by hand, sums over files against `analyze`, states that are damaged or of something else,
//! programs side by side, and what it is told.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::thread;

use crate::common::{cachesim, json, project, text, utf8};

/// A home with a cache of its own, and sessions in Claude Code's folder.
pub(crate) struct Home(tempfile::TempDir);

impl Home {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        let path = self.0.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        path
    }

    /// A session among Claude Code's.
    pub(crate) fn session(&self, name: &str, content: &str) -> PathBuf {
        let path = self.path(".claude/projects/-w-demo").join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(&path, content).expect("written");
        path
    }

    fn states(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.path(".cache/cachesim/followed")).expect("a folder");
        let mut states: Vec<PathBuf> = entries.map(|one| one.expect("an entry").path()).collect();
        states.sort();
        states
    }

    fn run(&self, moment: &str, arguments: &[&str], input: &str) -> (String, String, i32) {
        self.run_command("statusline", moment, arguments, input)
    }

    /// What the program prints at a moment, and how it ends.
    pub(crate) fn run_command(
        &self,
        command: &str,
        moment: &str,
        arguments: &[&str],
        input: &str,
    ) -> (String, String, i32) {
        let name = command;
        let at: jiff::Timestamp = moment.parse().expect("a moment");
        let mut command = cachesim();
        command.arg(name).args(arguments).write_stdin(input);
        command.env("HOME", self.0.path()).env("SOURCE_DATE_EPOCH", at.as_second().to_string());
        let output = command.output().expect("the program runs");
        let code = output.status.code().expect("it ends");
        (text(&output.stdout), text(&output.stderr), code)
    }

    fn line(&self, moment: &str, arguments: &[&str]) -> String {
        let (out, told, code) = self.run(moment, arguments, "");
        assert_eq!((told.as_str(), code), ("", 0));
        out
    }
}

pub(crate) fn first_look() -> String {
    fs::read_to_string(project("fixtures/first-look/session.jsonl")).expect("a session")
}

/// Four minutes after the last request of the first session.
pub(crate) const AFTER: &str = "2026-08-03T11:50:40Z";

/// The last prompt has 31,302 tokens, of which 31,300 can be read, and its answer 800. Warm, a million cost $0.50 for what
/// is read, $10 for the answer and $5 for the 2 of the tail; cold, 32,100 are written. It was written for an hour from
/// 11:46:40 on. Of 163,512 tokens 121,500 were read. The last request wrote 14,100 again that it could have read, at $9.50
/// more a million.
const LINE: &str = "warm 56m · next $0.02 (cold $0.32) · session $0.58 · today $0.58 · hit 74 % · last break: \
                    an entry for an hour expired $0.13\n";

#[test]
fn the_line_is_as_worked_out_by_hand() {
    let home = Home::new();
    let path = home.session("a.jsonl", &first_look());
    let arguments = ["--transcript", utf8(&path)];
    for _ in ["anew", "from what was kept"] {
        assert_eq!(home.line(AFTER, &arguments), LINE);
    }
    // The hour is over after 12:46:40, and the day after midnight.
    let later = home.line("2026-08-03T12:46:40Z", &arguments);
    assert!(later.starts_with("cold · next $0.32 · session $0.58 · today $0.58 · "), "{later}");
    assert!(home.line("2026-08-03T12:46:39Z", &arguments).starts_with("warm 1s · "));
    let tomorrow = home.line("2026-08-04T00:00:00Z", &arguments);
    assert!(tomorrow.contains("session $0.58 · today $0.00"), "{tomorrow}");
    // On the Chatham Islands a day began at 11:15, before the last request: 2 · $5, 16,000 · $0.50, 15,300 · $10 and
    // 800 · $25 a million.
    let zone = [&arguments[..], &["--timezone", "Pacific/Chatham"]].concat();
    let of_today = home.line(AFTER, &zone);
    assert!(of_today.contains("today $0.18"), "{of_today}");
}

#[test]
fn the_client_says_more_than_the_session() {
    let home = Home::new();
    let path = home.session("a.jsonl", &first_look());
    let told = |more: &str| {
        let input = format!(r#"{{"transcript_path": {:?}{more}}}"#, utf8(&path));
        let (out, told, code) = home.run(AFTER, &["--template", "{warm} {next}[ {cold}]"], &input);
        assert_eq!((told.as_str(), code), ("", 0));
        out
    };
    assert_eq!(told(""), "warm 56m $0.02 $0.32\n");
    let expires = r#", "prompt_cache": {"warm": true, "expires_at": "2026-08-03T11:52:00Z"}"#;
    assert_eq!(told(expires), "warm 1m $0.02 $0.32\n");
    assert_eq!(told(r#", "prompt_cache": {"warm": false}"#), "cold $0.32\n");
    assert_eq!(told(r#", "model": {"id": "claude-opus-5[1m]"}"#), "warm 56m $0.02 $0.32\n");
    // Haiku 4.5 writes for an hour at $2 a million: 32,102 tokens.
    assert_eq!(told(r#", "model": {"id": "claude-haiku-4-5"}"#), "cold $0.06\n");
    // A name that no table knows may be one of the same model, and the client knows best what is warm.
    assert_eq!(told(r#", "model": {"id": "a-model-of-mine"}"#), "warm 56m $0.02 $0.32\n");
    let of_bedrock = r#", "model": {"id": "us.anthropic.claude-opus-5-v1:0"}"#;
    assert_eq!(told(of_bedrock), "warm 56m $0.02 $0.32\n");
    let is_warm = r#", "model": {"id": "claude-haiku-4-5"}, "prompt_cache": {"warm": true}"#;
    assert_eq!(told(is_warm), "warm 56m $0.02 $0.32\n");
    // Another model whose name begins alike: Opus 5.5 writes for an hour at $10 a million.
    assert_eq!(told(r#", "model": {"id": "claude-opus-5-5"}"#).split(' ').next(), Some("cold"));
    let absurd = r#", "prompt_cache": {"expires_at": 99999999999999}"#;
    assert_eq!(told(absurd), "warm 56m $0.02 $0.32\n");
}

#[test]
fn a_session_counts_its_sub_agents_and_the_day_all_sessions_once() {
    let home = Home::new();
    let path = home.session("a.jsonl", &first_look());
    // A sub-agent with requests of its own, a copy as of a fork, and a session of another day.
    let agent = first_look().replace("req_", "req_agent_").replace("msg_", "msg_agent_");
    home.session("a/subagents/agent-1.jsonl", &agent);
    home.session("fork.jsonl", &first_look());
    let other = first_look().replace("req_", "req_other_").replace("msg_", "msg_other_");
    home.session("other.jsonl", &other);
    let later = first_look().replace("req_", "req_later_").replace("msg_", "msg_later_");
    home.session("later.jsonl", &later.replace("2026-08-03", "2026-08-04"));
    let earlier = first_look().replace("req_", "req_old_").replace("msg_", "msg_old_");
    home.session("old.jsonl", &earlier.replace("2026-08-03", "2026-08-02"));
    let line = home.line(AFTER, &["--transcript", utf8(&path), "--template", "{session} {today}"]);
    // Twice 0.57531, and three times.
    assert_eq!(line, "$1.15 $1.73\n");
    let folder = home.path(".claude/projects");
    let day = json(&[
        "analyze",
        utf8(&folder),
        "--since",
        "2026-08-03",
        "--until",
        "2026-08-03",
        "--json",
        "-q",
    ]);
    assert_eq!(day["totals"]["billed"]["cost_usd"], "1.72593");
}

#[test]
fn no_state_is_believed_that_is_not_its_own() {
    let home = Home::new();
    let path = home.session("a.jsonl", &first_look());
    let arguments = ["--transcript", utf8(&path)];
    assert_eq!(home.line(AFTER, &arguments), LINE);
    let [state] = &home.states()[..] else { panic!("{:?}", home.states()) };
    let kept = fs::read(state).expect("a state");
    for word in ["demo", "/w", utf8(home.0.path()), "a.jsonl"] {
        assert!(!kept.windows(word.len()).any(|part| part == word.as_bytes()), "{word}");
    }
    let mut turned = kept.clone();
    turned[kept.len() / 2] ^= 1;
    for damaged in
        [&b""[..], b"\0\xff", &kept[..kept.len() / 2], &turned, &[&kept[..], b"x"].concat()]
    {
        fs::write(state, damaged).expect("damaged");
        assert_eq!(home.line(AFTER, &arguments), LINE);
    }
    // The state of another file, which is as long and was changed at the same time.
    let other = home.session("b.jsonl", &first_look().replace(":6200", ":9200"));
    let changed = fs::metadata(&path).and_then(|metadata| metadata.modified()).expect("a time");
    let file = fs::File::options().write(true).open(&other).expect("a file");
    file.set_modified(changed).expect("a time");
    let of_other = ["--transcript", utf8(&other), "--template", "{session}"];
    let own = home.line(AFTER, &of_other);
    // Written for an hour: 3,000 tokens more.
    assert_eq!(own, "$0.61\n");
    fs::write(state, &kept).expect("as it was");
    for one in home.states() {
        fs::write(one, &kept).expect("another's");
    }
    assert_eq!(home.line(AFTER, &of_other), own);
    // A file in its place that is as long and was changed at the same time.
    let in_its_place = home.path("c.jsonl");
    fs::write(&in_its_place, first_look().replace(":6200", ":9200")).expect("written");
    let file = fs::File::options().write(true).open(&in_its_place).expect("a file");
    file.set_modified(changed).expect("a time");
    fs::rename(&in_its_place, &path).expect("moved");
    assert_eq!(
        home.line(AFTER, &["--transcript", utf8(&path), "--template", "{session}"]),
        "$0.61\n"
    );
    fs::write(&path, first_look()).expect("as it was");
    // Prices that are others: ten times as much for what is read, 121,500 tokens.
    let prices = home.path("prices.toml");
    let other = r#"
        schema = "cachesim.prices/v1"
        id = "mine"
        as_of = "2026-08-01"
        [[model]]
        id = "claude-opus-5"
        [[model.rate]]
        from = 2026-07-24
        input = "5"
        cache_write_5m = "6.25"
        cache_write_1h = "10"
        cache_read = "5"
        output = "25"
    "#;
    fs::write(&prices, other).expect("written");
    let with = [&arguments[..], &["--prices", utf8(&prices), "--template", "{session}"]].concat();
    assert_eq!(home.line(AFTER, &with), "$1.12\n");
}

#[test]
fn programs_side_by_side_do_no_harm() {
    let home = Home::new();
    let path = home.session("a.jsonl", "");
    let content = first_look();
    let lines: Vec<&str> = content.split_inclusive('\n').collect();
    for line in lines {
        let mut file = fs::File::options().append(true).open(&path).expect("a file");
        file.write_all(line.as_bytes()).expect("written");
        let look = || home.line(AFTER, &["--transcript", utf8(&path)]);
        let shown = thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(look)).collect();
            let lines = threads.into_iter().map(|thread| thread.join().expect("a line"));
            lines.collect::<Vec<String>>()
        });
        assert!(shown.iter().all(|line| *line == shown[0]), "{shown:?}");
    }
    assert_eq!(home.line(AFTER, &["--transcript", utf8(&path)]), LINE);
    assert_eq!(home.states().len(), 1);
}

#[test]
fn what_is_not_there_is_said() {
    let home = Home::new();
    let nothing = home.run(AFTER, &[], r#"{"transcript_path": "/none.jsonl"}"#);
    assert_eq!(nothing, ("session $0.00 · today $0.00\n".to_owned(), String::new(), 0));
    for wrong in ["", "[]", "{"] {
        let (out, told, code) = home.run(AFTER, &[], wrong);
        assert_eq!((out.as_str(), code), ("", 2), "{wrong}");
        assert!(
            told.contains("standard input is no JSON object") && told.contains("--transcript FILE")
        );
    }
    let (_, told, code) = home.run(AFTER, &["--template", "{sesion}"], "{}");
    assert_eq!(code, 2);
    assert!(told.contains("there is no {sesion} (did you mean `session`"), "{told}");
    let (_, told, code) = home.run(AFTER, &["--transcript", "/none.jsonl"], "");
    assert_eq!(code, 3);
    assert!(told.contains("cannot read /none.jsonl"), "{told}");
    let (_, told, code) = home.run(AFTER, &["--transcript", utf8(home.0.path())], "");
    assert_eq!(code, 3);
    assert!(told.contains("it is no file"), "{told}");
}

#[test]
fn a_home_that_is_not_there_is_not_made() {
    let home = Home::new();
    let path = home.session("a.jsonl", &first_look());
    let missing = home.0.path().join("nobody");
    let mut command = cachesim();
    command.args(["statusline", "--transcript", utf8(&path)]).env("HOME", &missing);
    let output = command.output().expect("the program runs");
    assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(0), ""));
    assert!(!missing.exists());
}

#[cfg(unix)]
#[test]
fn a_cache_folder_that_cannot_be_written_is_said_and_the_line_is_shown() {
    let home = Home::new();
    let path = home.session("a.jsonl", &first_look());
    fs::write(home.path(".cache"), "").expect("a file in its place");
    let (out, told, code) = home.run(AFTER, &["--transcript", utf8(&path)], "");
    assert_eq!((out.as_str(), code), (LINE, 0));
    assert!(told.contains("set XDG_CACHE_HOME"), "{told}");
    let mode = |path: &Path| {
        use std::os::unix::fs::PermissionsExt as _;
        fs::metadata(path).expect("a state").permissions().mode() & 0o777
    };
    fs::remove_file(home.path(".cache")).expect("removed");
    home.line(AFTER, &["--transcript", utf8(&path)]);
    assert_eq!(mode(&home.states()[0]), 0o600);
}
