//! `advise --since-change`: verdicts and dollars by hand, and against a second implementation over the rows of real
//! sessions.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::common::{cachesim, ledger, shared, text, utf8};

/// The change is made on this day, at noon where it is on record.
const DAY: &str = "2026-10-10";
const NOON: &str = "2026-10-10T12:00:00Z";

/// A home with sessions, and perhaps a record of a change.
struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        let home = Self(tempfile::tempdir().expect("a folder"));
        for folder in ["sessions", ".claude", ".local/state/cachesim/applied"] {
            fs::create_dir_all(home.path(folder)).expect("a folder");
        }
        home
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn session(&self, begin: &str, model: &str, requests: u64, tokens: u64) {
        write_session(&self.path("sessions"), begin, model, requests, tokens);
    }

    /// Three sessions of four requests before the change, each request at $0.10.
    fn before(self) -> Self {
        for day in ["01", "02", "03"] {
            self.session(&format!("2026-10-{day}T10:00:00Z"), HAIKU, 4, 100_000);
        }
        self
    }

    /// Four sessions of five requests after it.
    fn after(self, tokens: [u64; 4]) -> Self {
        for (day, tokens) in ["11", "12", "13", "14"].into_iter().zip(tokens) {
            self.session(&format!("2026-10-{day}T10:00:00Z"), HAIKU, 5, tokens);
        }
        self
    }

    /// A change on record that would have saved so many of a hundred dollars.
    fn promised(&self, dollars: &str) {
        let settings = self.path(".claude/settings.json");
        fs::write(&settings, "{\"promptCacheTtl\": \"1h\"}").expect("written");
        let record = json!({
            "schema": "cachesim.applied/v1",
            "file": fs::canonicalize(&settings).expect("there"),
            "at": NOON,
            "change": "1h",
            "set": [{"key": ["promptCacheTtl"], "value": "1h"}],
            "before": null,
            "after": "{\"promptCacheTtl\": \"1h\"}",
            "promise": {"saving_usd": dollars, "spent_usd": "100"},
        });
        let path = self.path(".local/state/cachesim/applied/000001.json");
        fs::write(path, record.to_string()).expect("written");
    }

    fn run(&self, arguments: &[&str]) -> (String, String, i32) {
        let mut command = cachesim();
        command.env("HOME", self.0.path()).env("COLUMNS", "300");
        let sessions = self.path("sessions");
        let all = [&["advise", utf8(&sessions), "-q"], arguments].concat();
        let output = command.args(all).output().expect("the program runs");
        (text(&output.stdout), text(&output.stderr), output.status.code().expect("it ends"))
    }

    fn json(&self, arguments: &[&str]) -> Value {
        let (out, told, code) = self.run(&[arguments, &["--json"]].concat());
        assert_eq!((told.as_str(), code), ("", 0));
        serde_json::from_str(&out).expect("JSON")
    }
}

/// A session that begins at a moment, with as many requests of so many tokens each, sent in full.
fn write_session(folder: &Path, begin: &str, model: &str, requests: u64, tokens: u64) {
    let number = fs::read_dir(folder).expect("a folder").count();
    let begin: jiff::Timestamp = begin.parse().expect("a moment");
    let line = |at: u64| {
        let at_minute = |more: i64| {
            let minutes = i64::try_from(at).expect("small") * 60 + more;
            (begin + jiff::SignedDuration::from_secs(minutes)).to_string()
        };
        let entry = |kind: &str, id: String, parent: Value, second, message: Value| {
            let entry = json!({
                "type": kind, "uuid": id, "parentUuid": parent, "sessionId": format!("s{number}"),
                "timestamp": at_minute(second), "message": message, "requestId": format!("req_{number}_{at}"),
            });
            format!("{entry}\n")
        };
        let parent = if at == 0 { Value::Null } else { format!("{number}-a{}", at - 1).into() };
        let (user, answer) = (format!("{number}-u{at}"), format!("{number}-a{at}"));
        let asked = json!({ "role": "user", "content": "x" });
        let usage = json!({
            "input_tokens": tokens, "output_tokens": 0,
            "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0,
        });
        let answered = json!({
            "id": format!("msg_{number}_{at}"), "role": "assistant", "model": model, "content": [],
            "stop_reason": "end_turn", "usage": usage,
        });
        entry("user", user.clone(), parent, 0, asked)
            + &entry("assistant", answer, user.into(), 1, answered)
    };
    let lines: String = (0..requests).map(line).collect();
    fs::write(folder.join(format!("s{number}.jsonl")), lines).expect("written");
}

/// Sessions before and after [`DAY`], in a folder of their own.
#[cfg(feature = "validate")] // of which alone documents are made
pub(crate) fn write_sessions(folder: &Path) {
    for day in ["01", "02", "03", "11", "12", "13"] {
        write_session(folder, &format!("2026-10-{day}T10:00:00Z"), HAIKU, 4, 100_000);
    }
}

/// A million tokens that are sent in full cost $1.
const HAIKU: &str = "claude-haiku-4-5";

/// Twelve requests before cost $1.20. Twenty after it would have cost $2.00, and cost $1.60: a fifth is saved, in every
/// draw, as all sessions of a side are alike.
#[test]
fn the_verdict_is_as_worked_out_by_hand() {
    let home = Home::new().before().after([80_000; 4]);
    let found = home.json(&[&format!("--since-change={DAY}")]);
    assert_eq!(found["verdict"], "cheaper");
    assert_eq!(found["expected_usd"], "2");
    assert_eq!(found["before"], json!({"sessions": 3, "requests": 12, "cost_usd": "1.2"}));
    assert_eq!(found["after"], json!({"sessions": 4, "requests": 20, "cost_usd": "1.6"}));
    assert_eq!(
        (&found["saved_share"], &found["saved_share_interval"]),
        (&json!(0.2), &json!([0.2, 0.2]))
    );
    for (promised, verdict, words) in [
        ("20", "kept", "it saves what was promised"),
        ("15", "more", "it saves more than was promised"),
        ("25", "less", "it saves less than was promised"),
    ] {
        home.promised(promised);
        let found = home.json(&["--since-change"]);
        assert_eq!((&found["verdict"], &found["change"]), (&json!(verdict), &json!("1h")));
        assert_eq!(found["from"], "2026-10-10T12:00:00.000Z");
        let (out, _, _) = home.run(&["--since-change"]);
        let answer = "20 requests cost $1.60, 20.0 % less than the $2.00 that they would have cost before; in 95 of 100 \
                      cases between 20.0 % less and 20.0 % less; ";
        assert!(out.starts_with(&format!("`1h`, set 2026-10-10 12:00: {words}.")), "{out}");
        assert!(
            out.contains(answer) && out.contains(&format!("; {promised}.0 % were promised.")),
            "{out}"
        );
        assert!(out.contains("claude-haiku-4-5      4–15"), "{out}");
    }
    // More than before: $2.40.
    let home = Home::new().before().after([120_000; 4]);
    let found = home.json(&[&format!("--since-change={DAY}")]);
    assert_eq!(
        (&found["verdict"], &found["saved_share"]),
        (&json!("more_expensive"), &json!(-0.2))
    );
    let (out, _, _) = home.run(&[&format!("--since-change={DAY}")]);
    assert!(out.contains("20 requests cost $2.40, 20.0 % more than the $2.00"), "{out}");
    home.promised("20");
    let found = home.json(&["--since-change"]);
    assert_eq!((&found["verdict"], &found["in_force"]), (&json!("more_expensive"), &json!(true)));
    fs::write(home.path(".claude/settings.json"), "{}").expect("written");
    assert_eq!(home.json(&["--since-change"])["in_force"], false);
    let (out, _, _) = home.run(&["--since-change"]);
    assert!(out.contains("it is not in force any more"), "{out}");
}

/// Three sessions on a side leave two degrees of freedom: as a factor, an end is 4.303 / 1.96 times as far away.
#[test]
fn few_sessions_are_less_sure() {
    let home = Home::new().before();
    for (day, tokens) in [("11", 50_000), ("12", 80_000), ("13", 110_000)] {
        home.session(&format!("2026-10-{day}T10:00:00Z"), HAIKU, 4, tokens);
    }
    let found = home.json(&[&format!("--since-change={DAY}")]);
    // Of two that are drawn from 50, 80 and 110 the lowest and the highest are in more than a fortieth of the draws.
    let ends: Vec<f64> =
        serde_json::from_value(found["saved_share_interval"].clone()).expect("two");
    let wider = |cost: f64| 1.0 - 0.8 * (cost / 0.8_f64).powf(4.303 / 1.96);
    assert!((ends[0] - wider(1.1)).abs() < 1e-5 && (ends[1] - wider(0.5)).abs() < 1e-5, "{ends:?}");
    assert_eq!(found["verdict"], "cannot_tell");
}

/// Filters choose sessions. What was sent before the period is theirs, too.
#[test]
fn sessions_are_compared_whole() {
    let home = Home::new().before().after([80_000; 4]);
    // It begins before the change and ends after it.
    home.session("2026-10-09T23:00:00Z", HAIKU, 4, 100_000);
    let day = format!("--since-change={DAY}");
    let all = home.json(&[&day]);
    assert_eq!(all["before"], json!({"sessions": 4, "requests": 16, "cost_usd": "1.6"}));
    let since = home.json(&[&day, "--since", "2026-10-02"]);
    assert_eq!(since["before"], json!({"sessions": 3, "requests": 12, "cost_usd": "1.2"}));
}

#[test]
fn what_differs_as_much_by_itself_tells_nothing() {
    let home = Home::new().before().after([10_000, 160_000, 20_000, 130_000]);
    home.promised("20");
    let found = home.json(&["--since-change"]);
    // 5 times 320,000 tokens.
    assert_eq!((&found["saved_share"], &found["verdict"]), (&json!(0.2), &json!("cannot_tell")));
    let ends = found["saved_share_interval"].as_array().expect("two");
    assert!(ends[0].as_f64() < Some(0.0) && ends[1].as_f64() > Some(0.2), "{ends:?}");
}

#[test]
fn sessions_of_other_kinds_are_in_no_figure() {
    let home = Home::new().before().after([80_000; 4]);
    let alone = home.json(&[&format!("--since-change={DAY}")]);
    // Another model, another size, the day itself, and a model without a price.
    home.session("2026-10-02T10:00:00Z", "claude-opus-4-6", 4, 100_000);
    for day in ["12", "13", "14"] {
        home.session(&format!("2026-10-{day}T10:00:00Z"), HAIKU, 16, 100_000);
    }
    home.session("2026-10-10T00:00:00Z", HAIKU, 4, 1_000);
    home.session("2026-10-10T23:59:59Z", HAIKU, 4, 1_000);
    home.session("2026-10-12T10:00:00Z", "claude-of-mine", 4, 1_000);
    let mut all = home.json(&[&format!("--since-change={DAY}")]);
    assert_eq!(all["left_out_sessions"], json!([1, 3]));
    assert_eq!((&all["sessions_during"], &all["sessions_of_unknown_cost"]), (&json!(2), &json!(1)));
    for other in ["inputs", "left_out_sessions", "sessions_during", "sessions_of_unknown_cost"] {
        all[other] = alone[other].clone();
    }
    assert_eq!(all, alone);
    // With the time of the change, the day's sessions are on its sides, and the figures are others.
    home.promised("20");
    assert_eq!(home.json(&["--since-change"])["before"]["sessions"], 4);
    let (out, _, _) = home.run(&["--since-change=2026-10-10T12:00:00Z"]);
    assert!(
        out.contains("1 session before and 3 after it are of kinds with fewer than 3 on a side"),
        "{out}"
    );
    let early = home.json(&["--since-change=2026-09-01"]);
    assert_eq!((&early["verdict"], &early["saved_share"]), (&json!("cannot_tell"), &Value::Null));
}

#[test]
fn what_cannot_be_compared_is_said() {
    let home = Home::new().before();
    let refused = |arguments: &[&str]| {
        let (out, told, code) = home.run(arguments);
        assert!(out.is_empty() && code != 0, "{out}");
        told
    };
    assert!(
        refused(&["--since-change"]).contains(
            "no change is on record that `advise --apply` made in ~/.claude/settings.json"
        )
    );
    assert!(refused(&["--since-change=soon"]).contains("--since-change: `soon` is no time"));
    assert!(refused(&["--since-change="]).contains("--since-change: `` is no time"));
    assert!(refused(&["--since-change=2026-10-10T12:00"]).contains("is no time"));
    let as_path = refused(&["--since-change", "2026-10-10"]);
    assert!(
        as_path.contains("2026-10-10 is no path; a day is written --since-change=2026-10-10"),
        "{as_path}"
    );
    let both = refused(&["--since-change=2026-10-10", "--settings", "x.json"]);
    assert!(both.contains("leave it out where --since-change has a day"), "{both}");
    for wrong in ["--undo", "--top=3", "--domains=depth:1", "--dry-run", "--yes"] {
        assert!(refused(&["--since-change", wrong]).contains("cannot be used with"), "{wrong}");
    }
}

/// The cost and the requests of each session, before and after.
type Sides = [Vec<(f64, usize)>; 2];

/// The same from the rows of `analyze`: floats, maps and no types of the program's.
fn from_rows(path: &Path, moment: &str) -> Option<(f64, f64)> {
    struct Session {
        began: String,
        cost: Option<f64>,
        requests: usize,
        models: BTreeMap<String, usize>,
    }
    let mut sessions: HashMap<String, Session> = HashMap::new();
    for row in ledger(path, &["--strategy", "billed"]) {
        let id = row["session_id"].as_str().expect("an id").to_owned();
        let start = row["start"].as_str().expect("a moment").to_owned();
        let new =
            Session { began: start.clone(), cost: Some(0.0), requests: 0, models: BTreeMap::new() };
        let session = sessions.entry(id).or_insert(new);
        session.began = start.min(session.began.clone());
        let cost = row["cost_usd"].as_str().and_then(|cost| cost.parse::<f64>().ok());
        session.cost = session.cost.zip(cost).map(|(sum, cost)| sum + cost);
        session.requests += 1;
        *session.models.entry(row["model"].as_str().expect("a model").to_owned()).or_default() += 1;
    }
    let mut kinds: HashMap<(String, u32), Sides> = HashMap::new();
    for session in sessions.into_values() {
        let Some(cost) = session.cost else { continue };
        let most = *session.models.values().max().expect("a model");
        let model = session.models.into_iter().find(|(_, count)| *count == most).expect("one").0;
        let size = (0..9).find(|power| session.requests < 4_usize.pow(power + 1)).expect("some");
        let side = usize::from(session.began.as_str() >= moment);
        kinds.entry((model, size)).or_default()[side].push((cost, session.requests));
    }
    let (mut spent, mut expected) = (0.0, 0.0);
    for [before, after] in
        kinds.values().filter(|[before, after]| before.len() >= 3 && after.len() >= 3)
    {
        let sum = |side: &[(f64, usize)]| {
            side.iter().fold((0.0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
        };
        let ((before, sent), (after, later)) = (sum(before), sum(after));
        #[allow(clippy::cast_precision_loss)] // some thousands of requests
        let price = before / sent as f64;
        #[allow(clippy::cast_precision_loss)] // some thousands of requests
        let would = price * later as f64;
        spent += after;
        expected += would;
    }
    (expected > 0.0).then_some((expected, 1.0 - spent / expected))
}

#[test]
fn real_sessions_are_compared_as_by_hand() {
    let mut compared = 0;
    for (corpus, moments) in [
        ("corpus", ["2026-02-12T04:07:11.427Z", "2026-02-12T15:38:23.219Z"]),
        ("corpus-b", ["2026-07-16T21:07:08.367Z", "2026-07-18T07:51:58.536Z"]),
    ] {
        let Some(path) = shared(corpus) else { continue };
        for moment in moments {
            let change = format!("--since-change={moment}");
            let output = cachesim()
                .args(["advise", utf8(&path), "-q", "--json", &change])
                .output()
                .expect("the program runs");
            let found: Value = serde_json::from_slice(&output.stdout).expect("JSON");
            let (expected, saved) = from_rows(&path, moment).expect("kinds that compare");
            let figure = |name: &str| match &found[name] {
                Value::String(dollars) => dollars.parse::<f64>().expect("dollars"),
                other => other.as_f64().expect("a number"),
            };
            assert!((figure("expected_usd") - expected).abs() < 1e-6, "{moment}: {expected}");
            assert!((figure("saved_share") - saved).abs() < 1e-6, "{moment}: {saved}");
            compared += 1;
        }
    }
    println!("{compared} changes compared");
}
