//! Sessions of other agents: every request that an independent count found in real ones, once, with the
//! same figures; chains, copies and what is expected of them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use cachesim::read::input::{Discovered, Kind, Location, Source, discover};
use cachesim::requests::conversation::{History, ReadOptions, RequestIndex, read};
use cachesim::{Strategy, Study, StudyOptions, Ttl};
use serde_json::Value;
use tempfile::TempDir;

use crate::common::{
    cachesim, fixtures as fixture_folders, is_thorough, json, project, shared, text, utf8,
};
use crate::figures::fixtures;

/// Input, read, written and output tokens, and how many requests they are the sum of.
type Figures = [u64; 5];

/// What the independent count says of each file.
fn truth(root: &Path) -> BTreeMap<String, BTreeMap<Figures, u64>> {
    let text = fs::read_to_string(root.join("truth.jsonl")).expect("the truth");
    let mut files: BTreeMap<String, BTreeMap<Figures, u64>> = BTreeMap::new();
    for line in text.lines() {
        let line: Value = serde_json::from_str(line).expect("JSON");
        let count = |name: &str| line[name].as_u64().unwrap_or_default();
        let figures = ["input_uncached", "cache_read", "cache_write", "output", "n"].map(count);
        let file = line["file"].as_str().expect("a file").to_owned();
        *files.entry(file).or_default().entry(figures).or_default() += 1;
    }
    files
}

fn load(paths: &[PathBuf]) -> History {
    read(discover(paths), ReadOptions::default(), |_| {})
}

fn figures(history: &History) -> BTreeMap<Figures, u64> {
    let mut all: BTreeMap<Figures, u64> = BTreeMap::new();
    for request in &history.requests {
        let (usage, prompt) = (request.recorded(), request.recorded().prompt);
        let tokens = [prompt.input, prompt.read, prompt.written(), usage.output];
        let [input, read, written, output] = tokens.map(|tokens| tokens.0);
        *all.entry([input, read, written, output, request.sum_of.into()]).or_default() += 1;
    }
    all
}

#[test]
fn every_request_of_an_independent_count_is_found_once() {
    let Some(root) = shared("agents") else { return };
    let truth = truth(&root);
    let mut requests = 0;
    for (file, expected) in &truth {
        let history = load(&[root.join(file)]);
        let mut expected = expected.clone();
        requests += expected.values().sum::<u64>();
        if file.ends_with("pi-mono/compact.jsonl") {
            // Two entries stand on one line, which the count skipped.
            *expected.entry([1, 130_604, 512, 23, 1]).or_default() += 1;
        }
        if file.ends_with("gemini-parity/single.json") {
            // An answer without the size of its prompt, which the count took for nothing.
            assert_eq!(expected.remove(&[0, 0, 0, 10, 1]), Some(1));
            assert_eq!(history.diagnostics.count(Kind::MissingUsage), 1);
        }
        assert_eq!(figures(&history), expected, "{file}");
    }
    assert_eq!(requests, 2_058);
}

/// The shares that the independent count measured on more sessions: Claude within 1 % outside breaks, the
/// others within a step, of requests less than five minutes apart.
#[test]
fn reads_are_expected_as_they_were_recorded() {
    let Some(root) = shared("agents") else { return };
    let verified = json(&["verify", utf8(&root), "-q", "--format", "json"]);
    let claude = &verified["without_large_misses"];
    assert!(claude["requests"].as_u64() > Some(400), "{claude}");
    assert!(claude["within_1_percent_share"].as_f64() >= Some(0.97), "{claude}");
    for (service, bar) in [
        ("codex: gpt-5.6-sol", 0.98),
        ("codex: gpt-5.4", 0.93),
        ("codex: gpt-5.5", 0.84),
        ("pi: gpt-5.5", 0.98),
        ("opencode: gpt-5.4", 0.98),
    ] {
        let agreement = &verified["by_service"][service];
        let count = |name: &str| agreement[name].as_f64().expect("a count");
        let share = count("within_a_step") / count("under_5_minutes");
        assert!(count("under_5_minutes") > 50.0 && share >= bar, "{service}: {share}");
    }
    let reasons = verified["not_simulated"].as_array().expect("a list");
    for (model, reason) in [("claude-fable-5", "sum"), ("gemini-2.5-flash", "no_rule")] {
        let is_told = |one: &&Value| one["model"] == model && one["reason"] == reason;
        assert!(reasons.iter().any(|one| is_told(&one)), "{model}: {reason}");
    }
    // What nothing is expected of is in no agreement.
    let services = verified["by_service"].as_object().expect("an object");
    assert!(!services.keys().any(|name| name.contains("gemini")));
}

/// Homes with sessions of three agents.
fn homes() -> TempDir {
    let home = tempfile::tempdir().expect("a folder");
    for (fixture, file, place) in [
        ("first-look", "session.jsonl", ".claude/projects/demo/session.jsonl"),
        ("agent-pi-tree", "session.jsonl", ".pi/agent/sessions/demo/session.jsonl"),
        ("agent-codex-records", "rollout.jsonl", "codex/sessions/2026/rollout.jsonl"),
    ] {
        let to = home.path().join(place);
        fs::create_dir_all(to.parent().expect("a folder")).expect("a folder");
        fs::copy(project("fixtures").join(fixture).join(file), to).expect("a copy");
    }
    home
}

fn at_home(home: &TempDir, arguments: &[&str]) -> String {
    let mut command = cachesim();
    command.env("HOME", home.path()).env("CODEX_HOME", home.path().join("codex"));
    let output = command.env("COLUMNS", "120").args(arguments).output().expect("runs");
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

#[test]
fn without_a_path_the_sessions_of_all_agents_are_read() {
    let home = homes();
    let listed = at_home(&home, &["sources"]);
    for row in ["claude", "~/.pi/agent/sessions", "($CODEX_HOME)", "3 files of sessions"] {
        assert!(listed.contains(row), "{row} in {listed}");
    }
    let grouped = |arguments: &[&str]| -> BTreeMap<String, u64> {
        let arguments =
            [&["analyze", "-q", "--format", "json", "--by", "source"], arguments].concat();
        let object: Value = serde_json::from_str(&at_home(&home, &arguments)).expect("JSON");
        let groups = object["groups"].as_array().expect("a list").iter();
        let row = |group: &Value| {
            let name = group["name"].as_str().expect("a name").to_owned();
            (name, group["requests"].as_u64().expect("a count"))
        };
        groups.map(row).collect()
    };
    let all =
        [("claude", 6), ("codex", 2), ("pi", 4)].map(|(name, count)| (name.to_owned(), count));
    assert_eq!(grouped(&[]), BTreeMap::from(all.clone()));
    let chosen = grouped(&["--source", "codex,pi"]);
    assert_eq!(chosen, all[1..].iter().cloned().collect());
}

/// Damage costs only what it hits: nothing panics, and no request has more than was written.
/// Damages bytes in a few places, in the same way every time.
struct Damage(u64);

impl Damage {
    fn random(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % below.max(1) as u64).expect("smaller than a usize")
    }

    fn of(&mut self, whole: &[u8]) -> Vec<u8> {
        let mut bytes = whole.to_vec();
        for _ in 0..=self.random(5) {
            if bytes.is_empty() {
                break;
            }
            let place = self.random(bytes.len());
            match self.random(4) {
                0 => bytes.truncate(place.max(1)),
                1 => bytes[place] = b"\"{}[]:,\n\\u0919-\xff"[self.random(16)],
                2 => drop(bytes.remove(place)),
                _ => bytes.extend_from_within(place..),
            }
        }
        bytes
    }
}

/// Looks at whatever is read of a source, under three strategies.
fn is_survived(source: Source) {
    let found = Discovered { sources: vec![source], ..Discovered::default() };
    let options = StudyOptions::default();
    let history = read(found, options.read.clone(), |_| {});
    let Ok(study) = Study::of(history, options) else { return };
    let strategies = [Strategy::billed(), Strategy::expected(), Strategy::lifetime(Ttl::OneHour)];
    let totals = study.totals(&strategies).expect("totals");
    assert_eq!(totals.len(), 3);
    for (place, request) in study.history.requests.iter().enumerate() {
        assert!(request.predecessor.is_none_or(|before| before.get() < place));
    }
}

#[test]
fn damaged_sessions_panic_nowhere() {
    if !is_thorough() {
        return;
    }
    let mut damage = Damage(0x9e37_79b9_7f4a_7c15);
    let is_others = |path: &PathBuf| {
        let name = path.file_name().expect("a name").to_string_lossy();
        ["agent-", "litellm-", "helicone-", "har-"].iter().any(|one| name.starts_with(one))
    };
    let mut files: Vec<PathBuf> = fixture_folders()
        .into_iter()
        .filter(is_others)
        .flat_map(|folder| files_of(&folder))
        .collect();
    files.retain(|path| path.extension().is_none_or(|ending| ending != "sql" && ending != "md"));
    files.sort();
    assert!(files.len() > 20);
    for file in files {
        let whole = fs::read(&file).expect("a file");
        let name = file.file_name().expect("a name").to_string_lossy();
        for _ in 0..400 {
            is_survived(Source::in_memory(&name, &damage.of(&whole)));
        }
    }
}

#[test]
fn damaged_databases_panic_nowhere() {
    let mut damage = Damage(0x9e37_79b9_7f4a_7c15);
    let folder = tempfile::tempdir().expect("a folder");
    let is_database = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "db");
    let made = fixtures::folders().iter().flat_map(|folder| files_of(folder));
    let databases: Vec<PathBuf> = made.filter(is_database).collect();
    assert_eq!(databases.len(), 7);
    for database in databases {
        let whole = fs::read(&database).expect("a file");
        let path = folder.path().join(database.file_name().expect("a name"));
        for _ in 0..200 {
            fs::write(&path, damage.of(&whole)).expect("a file");
            for source in discover(std::slice::from_ref(&path)).sources {
                is_survived(source);
            }
        }
    }
}

fn files_of(folder: &Path) -> Vec<PathBuf> {
    let discovered = discover(&[folder.to_owned()]);
    let file = |source: &Source| match &source.location {
        Location::File(path) => path.clone(),
        _ => unreachable!("a folder has files"),
    };
    discovered.sources.iter().map(file).collect()
}

/// An answer: its id, its parent, its second, and its input, read and written tokens.
type Entry<'a> = (&'a str, Option<&'a str>, i64, u64, u64, u64);

/// A session of Pi with answers of one model.
fn pi(session: &str, answers: &[Entry<'_>]) -> Source {
    let mut text = format!(
        r#"{{"type":"session","version":3,"id":"{session}","timestamp":"2026-10-05T10:00:00Z","cwd":"/w"}}"#
    );
    for (id, parent, second, input, read, written) in answers {
        let usage = serde_json::json!({"input": input, "output": 10, "cacheRead": read,
            "cacheWrite": written, "totalTokens": input + 10 + read + written});
        let start = 1_791_194_400_000 + second * 1_000;
        let message = serde_json::json!({"role": "assistant", "provider": "anthropic",
            "model": "claude-opus-5", "usage": usage, "timestamp": start});
        let entry = serde_json::json!({"type": "message", "id": id, "parentId": parent,
            "timestamp": start + 500, "message": message});
        text.push('\n');
        text.push_str(&entry.to_string());
    }
    Source::in_memory(&format!("{session}.jsonl"), text.as_bytes())
}

pub(super) fn history_of(sources: Vec<Source>) -> History {
    let found = Discovered { sources, ..Discovered::default() };
    read(found, ReadOptions::default(), |_| {})
}

/// A clock that was set back in the parent's file: the fork's own request is sent after the one that it goes
/// on from, though its own time says otherwise.
#[test]
fn a_fork_goes_on_from_a_request_whose_clock_was_set_back() {
    let parent =
        pi("p", &[("a", None, 7_200, 2, 0, 9_000), ("b", Some("a"), 3_600, 2, 9_000, 100)]);
    let copied = ("b", None, 3_600, 2, 9_000, 100);
    let fork = pi("q", &[copied, ("c", Some("b"), 5_400, 2, 9_100, 50)]);
    let history = history_of(vec![parent, fork]);
    let starts: Vec<i64> = history
        .requests
        .iter()
        .map(|request| request.start.get() / 1_000 - 1_791_194_400)
        .collect();
    assert_eq!(starts, [7_200, 7_200, 7_200]);
    let before = |place: usize| history.requests[place].predecessor.map(RequestIndex::get);
    assert_eq!([before(0), before(1), before(2)], [None, Some(0), Some(1)]);
    assert_eq!(history.duplicates, 1);
}

/// Requests of one session to one model stay one chain where some of them wrote nothing, and where another
/// model answered in between.
#[test]
fn a_chain_stays_whole_beside_other_models() {
    let line = |second: i64, model: &str, written: u64| {
        let tokens = serde_json::json!({"total": 10_010, "input": 10, "output": 10, "reasoning": 0,
            "cache": {"read": 9_990 - written, "write": written}});
        let start = 1_791_194_400_000 + second * 1_000;
        serde_json::json!({"info": {"id": format!("msg_{second}"), "sessionID": "ses_1", "role": "assistant",
            "parentID": "msg_u", "modelID": model, "providerID": "openrouter",
            "time": {"created": start, "completed": start + 500}, "tokens": tokens}, "parts": []})
    };
    let messages = [
        line(0, "claude-opus-5", 9_000),
        line(10, "claude-opus-5", 0),
        line(20, "gpt-5.5", 0),
        line(30, "claude-opus-5", 100),
    ];
    let export = serde_json::json!({"info": {"id": "ses_1"}, "messages": messages});
    let exported = Source::in_memory("session.json", export.to_string().as_bytes());
    let stored = messages.iter().enumerate().map(|(number, message)| {
        let label = format!("msg_{number}.json");
        Source::in_memory(&label, message["info"].to_string().as_bytes())
    });
    for sources in [vec![exported.clone()], stored.clone().collect(), {
        stored.clone().chain([exported.clone()]).collect()
    }] {
        let history = history_of(sources);
        let chains: Vec<_> = history
            .requests
            .iter()
            .map(|one| (history.symbols.text(one.model), one.predecessor.map(RequestIndex::get)))
            .collect();
        let claude = "claude-opus-5";
        let expected = [(claude, None), (claude, Some(0)), (claude, Some(1)), ("gpt-5.5", None)];
        assert_eq!(chains, expected);
    }
}

/// A prompt of 1,000 tokens, an answer of 50, a file of 3,000 bytes that is read, and a prompt of 2,000: the
/// file has the 950 tokens that the answer does not explain.
#[test]
fn what_a_client_put_in_has_the_tokens_that_the_prompt_grew_by() {
    let entry = |id: &str, parent: &str, second: u8, message: &str| {
        format!(
            r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"2026-08-01T10:00:{second:02}.000Z","message":{message}}}"#
        )
    };
    let answer = |input: u32, read: u32, written: u32, output: u32| {
        format!(
            r#"{{"role":"assistant","provider":"anthropic","model":"claude-opus-5","content":[],"usage":{{"input":{input},"output":{output},"cacheRead":{read},"cacheWrite":{written}}}}}"#
        )
    };
    let file = "x".repeat(3_000);
    let result = format!(
        r#"{{"role":"toolResult","toolCallId":"c1","toolName":"read","content":[{{"type":"text","text":"{file}"}}]}}"#
    );
    let lines = [
        r#"{"type":"session","version":3,"id":"s1","cwd":"/w"}"#.to_owned(),
        entry("a", "null", 0, r#"{"role":"user","content":"Read the file."}"#),
        entry("b", "\"a\"", 2, &answer(0, 0, 1_000, 50)),
        entry("c", "\"b\"", 3, &result),
        entry("d", "\"c\"", 5, &answer(0, 1_000, 1_000, 10)),
    ];
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("session.jsonl");
    fs::write(&path, lines.join("\n")).expect("a file");
    let context = json(&["context", "--format", "json", utf8(&path)]);
    let of_kind = |kind: &str| {
        let kinds = context["kinds"].as_array().expect("kinds");
        let found = kinds.iter().find(|one| one["kind"] == kind).expect("the kind");
        found["tokens"].as_u64().expect("tokens")
    };
    assert_eq!([of_kind("files"), of_kind("answers")], [950, 50]);
}

/// Prompts of 9,003, 10,003 and 5,003 tokens, with 100 of an answer between the first two. Of the second 900
/// are new: the 1,200 letters of a file and its heading, 390 of the user's, and the surroundings twice, in
/// bytes 1,227, 400 and 2 × 91. In place of the third one's messages stands a summary.
#[test]
fn messages_of_a_task_go_to_the_requests_that_they_were_sent_with() {
    let folder = project("fixtures/agent-roo-messages");
    let context = json(&["context", "--format", "json", utf8(&folder)]);
    let kinds = context["kinds"].as_array().expect("kinds");
    let of_kind = |kind: &str| {
        let found = kinds.iter().find(|one| one["kind"] == kind);
        found.map_or(0, |found| found["items"].as_u64().expect("items"))
    };
    // The task and the feedback; the heading and the file; each of the surroundings but the last, which
    // the summary takes the place of.
    let items = ["user_text", "files", "reminders", "summaries", "unattributed"].map(of_kind);
    assert_eq!(items, [2, 2, 3, 1, 0], "{kinds:?}");
    // The model, which only the surroundings name, has a price.
    let analysis = json(&["analyze", "--format", "json", utf8(&folder)]);
    assert_eq!(analysis["totals"]["billed"]["cost_usd"], "0.061827", "{analysis}");
}

/// The same without the file of the requests: nothing was billed, and that is said.
#[test]
fn messages_without_their_requests_are_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let messages =
        project("fixtures/agent-roo-messages/tasks/task-3/api_conversation_history.json");
    let path = folder.path().join("api_conversation_history.json");
    fs::copy(messages, &path).expect("a copy");
    let history = load(&[path]);
    assert_eq!((history.requests.len(), history.diagnostics.count(Kind::MissingUsage)), (0, 1));
}
