//! `hook`: each event by hand, what is told once, what stops nothing, and the skill's commands.

use std::fs;

use serde_json::{Value, json};

use crate::common::{cachesim, project, text, utf8};
use crate::live::statusline::{AFTER, Home, first_look};

/// The last request's entries live until then: 11:46:40 and an hour.
const COLD: &str = "2026-08-03T12:46:40Z";
const WARM: &str = "2026-08-03T12:46:39Z";

impl Home {
    /// What `hook` prints of an event, where it ends well.
    fn hook(&self, moment: &str, arguments: &[&str], event: &Value) -> String {
        let (out, told, code) = self.run_command("hook", moment, arguments, &event.to_string());
        assert_eq!((told.as_str(), code), ("", 0), "{event}");
        out
    }
}

fn event(home: &Home, name: &str) -> Value {
    let path = home.path(".claude/projects/-w-demo/a.jsonl");
    json!({ "hook_event_name": name, "transcript_path": utf8(&path), "session_id": "s", "cwd": "/w/demo" })
}

/// The message of a hook's answer.
fn message(answer: &str) -> String {
    let answer: Value = serde_json::from_str(answer).expect("JSON");
    assert_eq!(answer["suppressOutput"], true);
    // Nothing that would enter a prompt, or stop anything.
    assert_eq!(answer.as_object().expect("an object").len(), 2, "{answer}");
    answer["systemMessage"].as_str().expect("a message").to_owned()
}

/// Cold, 32,100 tokens are written at $10 a million and 2 sent at $5: $0.321. Warm, 31,300 are read at $0.50, 800 written at
/// $10 and 2 sent: $0.0237.
#[test]
fn a_message_that_is_cold_is_told_by_hand() {
    let home = Home::new();
    home.session("a.jsonl", &first_look());
    let resumed = json!({ "source": "resume", "model": "claude-opus-5" });
    let with = |mut event: Value, more: &Value| {
        event.as_object_mut().expect("an object").extend(more.as_object().expect("one").clone());
        event
    };
    for (event, words) in [
        (
            with(event(&home, "SessionStart"), &resumed),
            "cachesim: the next message finds nothing of this conversation in the cache: 32,102 tokens cost $0.3210 instead of \
             $0.0237. /clear or a new session starts small.",
        ),
        (
            event(&home, "UserPromptSubmit"),
            "cachesim: this message finds nothing of this conversation in the cache: 32,102 tokens cost $0.3210 instead of \
             $0.0237. Next time, /clear or a new session starts small.",
        ),
        (
            event(&home, "PreCompact"),
            "cachesim: the summary finds nothing of this conversation in the cache: 32,102 tokens cost $0.3210 instead of \
             $0.0237. /clear or a new session needs no summary.",
        ),
    ] {
        let told = message(&home.hook(COLD, &[], &event));
        assert_eq!(told, words);
        assert_eq!(home.hook(WARM, &[], &event), "", "warm");
        assert_eq!(home.hook(COLD, &["--at-least", "0.2974"], &event), "", "{event}");
        assert!(!home.hook(COLD, &["--at-least", "0.2973"], &event).is_empty(), "{event}");
    }
    // A session that begins has nothing to lose, and other events say nothing.
    for (name, source) in
        [("SessionStart", "startup"), ("SessionStart", "clear"), ("SessionEnd", "x")]
    {
        let event = with(event(&home, name), &json!({ "source": source }));
        assert_eq!(home.hook(COLD, &[], &event), "", "{event}");
    }
    // To another model the prompt is new, however short the pause.
    let other = json!({ "source": "resume", "model": "claude-sonnet-4-6" });
    let told = home.hook(WARM, &["--at-least", "0"], &with(event(&home, "SessionStart"), &other));
    assert!(message(&told).contains("the next message finds nothing"), "{told}");
}

/// The last request wrote 14,100 tokens again at $10 that it could have read at $0.50: $0.13395.
#[test]
fn a_break_is_told_once() {
    let home = Home::new();
    let path = home.session("a.jsonl", &first_look());
    let stop = event(&home, "Stop");
    let told = message(&home.hook(AFTER, &[], &stop));
    let cost = "(as far as the session shows, an entry for an hour expired); it cost $0.1340 more than reading.";
    assert!(told.starts_with("cachesim: the cache broke ") && told.ends_with(cost), "{told}");
    assert_eq!(home.hook(AFTER, &[], &stop), "", "told already");
    fs::remove_dir_all(home.path(".cache")).expect("removed");
    assert_eq!(home.hook(AFTER, &["--at-least", "0.14"], &stop), "", "too little");
    // After more than an hour it is no news.
    assert_eq!(home.hook("2026-08-03T13:00:00Z", &[], &stop), "");
    // Of another session it is told again.
    let other = home.session("b.jsonl", &first_look());
    assert_ne!(path, other);
    let stop = json!({ "hook_event_name": "Stop", "transcript_path": utf8(&other) });
    assert!(!home.hook(AFTER, &[], &stop).is_empty());
    // Where nothing can be kept, it would be told after each turn, and is not.
    let mut command = cachesim();
    command.env("HOME", "/nonexistent").env("XDG_CACHE_HOME", "/dev/null");
    let output = command.arg("hook").write_stdin(stop.to_string()).output().expect("it runs");
    assert_eq!(text(&output.stdout), "");
}

/// After the break of $0.13395 a request reads 28,000 of the 31,300 tokens that it could have, and writes the other
/// 3,300 again at $10 in place of $0.50: $0.03135.
#[test]
fn a_small_break_hides_no_large_one() {
    let home = Home::new();
    let content = first_look();
    let lines: Vec<&str> = content.lines().collect();
    let later = [("000e\"", "0010\""), ("000d\"", "000e\""), ("11:46", "11:47"), ("_F", "_G")];
    let answer = later
        .iter()
        .fold(lines[lines.len() - 1].to_owned(), |line, (from, to)| line.replace(from, to));
    let usage = ["\"cache_read_input_tokens\":28000", "\"ephemeral_1h_input_tokens\":4100"];
    let answer = answer
        .replace("\"cache_read_input_tokens\":16000", usage[0])
        .replace("\"ephemeral_1h_input_tokens\":15300", usage[1])
        .replace("\"cache_creation_input_tokens\":15300", "\"cache_creation_input_tokens\":4100");
    home.session("a.jsonl", &format!("{content}{answer}\n"));
    let stop = event(&home, "Stop");
    let told = message(&home.hook(AFTER, &["--at-least", "0.01"], &stop));
    assert!(told.ends_with("it cost $0.1340 more than reading."), "{told}");
    assert_eq!(home.hook(AFTER, &["--at-least", "0.01"], &stop), "", "told already");
    // Without the larger one the smaller is told.
    fs::remove_dir_all(home.path(".cache")).expect("removed");
    let told = home.hook("2026-08-03T12:47:45Z", &["--at-least", "0.01"], &stop);
    assert!(message(&told).ends_with("it cost $0.0314 more than reading."), "{told}");
}

/// Exit code 2 of a hook stops Claude Code, so there is none.
#[test]
fn a_failure_stops_nothing() {
    let home = Home::new();
    home.session("a.jsonl", &first_look());
    let run = |arguments: &[&str], input: &str| home.run_command("hook", AFTER, arguments, input);
    let stop = event(&home, "Stop").to_string();
    for (arguments, input, problem) in [
        (&["--no-such-option"][..], stop.as_str(), "unexpected argument '--no-such-option'"),
        (&["--at-least", "much"], &stop, "expected an amount of dollars such as 0.10"),
        (&["--at-least=-1"], &stop, "expected an amount of dollars such as 0.10"),
        (&[], "", "hook: standard input is no JSON object"),
        (&[], "[]", "hook: standard input is no JSON object"),
        (&["--config", "check"], &stop, "check"),
    ] {
        let (out, told, code) = run(arguments, input);
        assert_eq!((out.as_str(), code), ("", 1), "{told}");
        assert!(told.contains(problem), "{told}");
    }
    for event in [
        json!({}),
        json!({ "hook_event_name": "Stop" }),
        json!({ "hook_event_name": "Stop", "transcript_path": utf8(&home.path("missing.jsonl")) }),
        json!({ "hook_event_name": 3, "transcript_path": [1] }),
    ] {
        assert_eq!(home.hook(AFTER, &[], &event), "", "{event}");
    }
}

/// Hooks that are there stay, to the byte, and a shell runs what is installed.
#[test]
#[cfg(unix)]
fn hooks_are_installed_beside_others() {
    use std::process::{Command, Stdio};
    let home = Home::new();
    let settings = home.path(".claude/settings.json");
    let before = "{\n  \"hooks\": {\n    // mine\n    \"Stop\": [\n      {\"hooks\": [{\"type\": \"command\", \"command\": \"x\"}]} // x\n    ],\n    \"Other\": []\n  }\n}\n";
    fs::write(&settings, before).expect("written");
    let run = |arguments: &[&str]| home.run_command("hook", AFTER, arguments, "");
    let (shown, told, code) = run(&["--install"]);
    assert_eq!((told.as_str(), code), ("", 0));
    assert!(shown.contains("Nothing is written. --yes writes it."), "{shown}");
    assert_eq!(fs::read_to_string(&settings).expect("there"), before);
    assert_eq!(run(&["--install", "--apply", "--at-least", "0.5"]).2, 0);
    let now = fs::read_to_string(&settings).expect("there");
    let kept = before.split("\n    ],").next().expect("a beginning").replace("]} // x", "]}, // x");
    assert!(now.starts_with(&kept) && now.contains("\"Other\": [],"), "{now}");
    let again = run(&["--install", "--apply", "--at-least", "0.50"]).0;
    assert!(again.contains("already says so"), "{again}");
    let plain: String =
        now.lines().map(|line| line.split("//").next().unwrap_or_default()).collect();
    let plain: Value = serde_json::from_str(&plain).expect("JSON");
    home.session("a.jsonl", &first_look());
    for (event, hooks) in
        [("Stop", 2), ("SessionStart", 1), ("UserPromptSubmit", 1), ("PreCompact", 1)]
    {
        let list = plain["hooks"][event].as_array().expect("a list");
        assert_eq!(list.len(), hooks, "{event}");
        let command = list[hooks - 1]["hooks"][0]["command"].as_str().expect("a command");
        assert!(command.ends_with(" hook --at-least 0.5"), "{command}");
        let mut shell = Command::new("sh");
        shell.args(["-c", command]).env("HOME", home.path("").as_os_str());
        shell.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut shell = shell.spawn().expect("a shell");
        let input = self::event(&home, event).to_string();
        std::io::Write::write_all(&mut shell.stdin.take().expect("piped"), input.as_bytes())
            .expect("written");
        assert!(shell.wait().expect("it ends").success(), "{event}");
    }
    let (shown, _, _) = run(&["--undo"]);
    assert!(shown.contains("the file is what it was, to the byte"), "{shown}");
    assert_eq!(fs::read_to_string(&settings).expect("there"), before);
    // Where something else came since, the lists go back as they were.
    assert_eq!(run(&["--install", "--apply"]).2, 0);
    let now =
        fs::read_to_string(&settings).expect("there").replace("\"Other\": []", "\"Other\": [1]");
    fs::write(&settings, now).expect("written");
    assert_eq!(run(&["--undo"]).2, 0);
    let after = fs::read_to_string(&settings).expect("there");
    assert_eq!(after, before.replace("\"Other\": []", "\"Other\": [1]"));
    // A list is needed, and hooks that run.
    for (content, problem) in [
        ("{\"hooks\": {\"Stop\": {}}}", "`hooks.Stop` is no list"),
        (
            "{\"disableAllHooks\": true}",
            "`hooks.SessionStart` would not act, as `disableAllHooks` is true",
        ),
    ] {
        fs::write(&settings, content).expect("written");
        let (out, told, code) = run(&["--install", "--apply"]);
        assert_eq!((out.as_str(), code), ("", 3), "{told}");
        assert!(told.contains(problem), "{told}");
        assert_eq!(fs::read_to_string(&settings).expect("there"), content);
    }
}

/// Each command of the skill answers for a session.
#[test]
fn the_skill_names_commands_that_answer() {
    let skill = project("integrations/claude-code/skills/cachesim/SKILL.md");
    let skill = fs::read_to_string(skill).expect("the skill");
    let head = skill.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n"));
    let (head, body) = head.expect("a head");
    assert!(head.contains("name: cachesim") && head.contains("description: "), "{head}");
    let session = project("fixtures/first-look");
    let file = session.join("session.jsonl");
    let mut count = 0;
    for line in body.lines().filter_map(|line| line.trim().strip_prefix("cachesim ")) {
        let words = line.split(' ').map(|word| match word {
            "SESSION" if line.contains("--transcript") => utf8(&file),
            "SESSION" => utf8(&session),
            "REQUEST" => "session.jsonl:14",
            word => word,
        });
        let words: Vec<&str> = words.collect();
        let output = cachesim().args(&words).output().expect("it runs");
        assert!(
            output.status.success() && !output.stdout.is_empty(),
            "{words:?}: {}",
            text(&output.stderr)
        );
        count += 1;
    }
    assert_eq!(count, 6);
}
