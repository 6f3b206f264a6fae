//! `check` under attack. Each attack makes prompts more expensive, or hides that they are; the check
//! must fail, or say why it cannot judge. A pass that says nothing is a hole.
//!
//! The setup is the usual one in CI: captures with the usage that the service recorded for them, a
//! baseline saved from them, and no budgets but the default ones.

mod prompts;
mod sessions;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use rust_decimal::Decimal;
use serde_json::{Value, json};

use crate::common::{cachesim, lines, project, recorded, text};

/// What a check answers.
enum Answer {
    /// It fails by a budget with this name.
    Exceeds(&'static str),
    /// It warns with these words.
    Warns(&'static str),
    /// It ends without a verdict, with this exit code and these words.
    Refuses(i32, &'static str),
}

use Answer::{Exceeds, Refuses, Warns};

const COST: Answer = Exceeds("cost");

/// An attack: what a pull request does, and what must come of it.
struct Attack {
    name: &'static str,
    change: fn(&mut Project),
    answer: Answer,
}

/// A folder of recorded sessions with what a pull request can change in it.
struct Project {
    /// The captures, by their paths.
    files: BTreeMap<String, Vec<Value>>,
    /// Files as bytes, where they are no lines.
    raw: BTreeMap<String, Vec<u8>>,
    baseline: Option<String>,
    config: &'static str,
    arguments: Vec<&'static str>,
}

impl Project {
    /// The sessions of `fixtures/reviewed-tools` with a system prompt that is long enough for a cache.
    fn new() -> Self {
        let capture = fs::read_to_string(project("fixtures/reviewed-tools/sessions.jsonl"));
        let capture = capture.expect("the fixture").replace("Rule 1:", &rules());
        let files = BTreeMap::from([("sessions/all.jsonl".to_owned(), recorded(&capture))]);
        Self { files, raw: BTreeMap::new(), baseline: None, config: "", arguments: Vec::new() }
    }

    fn lines(&mut self) -> &mut Vec<Value> {
        self.files.get_mut("sessions/all.jsonl").expect("the capture")
    }

    /// Changes the body of every request.
    fn requests(&mut self, change: impl Fn(usize, &mut Value)) {
        for (at, line) in self.lines().iter_mut().enumerate() {
            change(at, &mut line["request"]);
        }
    }

    /// Changes the body of the requests at some places.
    fn only(&mut self, is_meant: fn(usize) -> bool, change: impl Fn(&mut Value)) {
        self.requests(|at, request| {
            if is_meant(at) {
                change(request);
            }
        });
    }

    /// Changes every line.
    fn each(&mut self, change: impl Fn(usize, &mut Value)) {
        self.lines().iter_mut().enumerate().for_each(|(at, line)| change(at, line));
    }

    /// Makes the description of a tool 3,000 bytes longer.
    fn grow(&mut self) {
        self.requests(|_, request| lengthen(&mut request["tools"][1]["description"], 3_000));
    }

    fn write(&self, folder: &Path) {
        for (path, lines_of) in &self.files {
            put(&folder.join(path), lines(lines_of).as_bytes());
        }
        for (path, bytes) in &self.raw {
            put(&folder.join(path), bytes);
        }
        put(&folder.join("cachesim.toml"), self.config.as_bytes());
    }
}

fn put(path: &Path, bytes: &[u8]) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(path, bytes).expect("a file");
}

/// Prices of a tenth.
const CHEAPER: &str = r#"
schema = "cachesim.prices/v1"
id = "cheaper"
as_of = "2026-10-24"

[[model]]
id = "claude-sonnet-4-5"

[[model.rate]]
from = 2025-09-29
input = "0.3"
cache_write_5m = "0.375"
cache_write_1h = "0.6"
cache_read = "0.03"
output = "1.5"
"#;

/// A text of about 14,000 bytes.
fn rules() -> String {
    let rule = |number| format!("Rule {number}: keep what part {number} of the ledger promises. ");
    (100..350).map(rule).collect::<String>() + "Rule 1:"
}

fn lengthen(value: &mut Value, bytes: usize) {
    let words = "and says what it did not find ".repeat(bytes / 30);
    *value = json!(format!("{} {words}", value.as_str().expect("a text")));
}

/// The first text of a request's first message.
fn first_text(request: &mut Value) -> &mut Value {
    &mut request["messages"][0]["content"][0]["text"]
}

/// The blocks of a request, in order.
fn blocks(request: &mut Value) -> Vec<&mut Value> {
    let Value::Object(fields) = request else { panic!("a request") };
    let mut found = Vec::new();
    for (name, value) in fields.iter_mut() {
        match name.as_str() {
            "tools" | "system" => found.extend(value.as_array_mut().expect("a list")),
            "messages" => {
                for message in value.as_array_mut().expect("a list") {
                    found.extend(message["content"].as_array_mut().expect("a list"));
                }
            }
            _ => {}
        }
    }
    found
}

fn unmark(request: &mut Value) {
    for block in blocks(request) {
        block.as_object_mut().expect("a block").remove("cache_control");
    }
}

fn keep_for_an_hour(request: &mut Value) {
    for block in blocks(request) {
        if let Some(marker) = block.get_mut("cache_control") {
            marker["ttl"] = json!("1h");
        }
    }
}

fn usage(input: u64, read: u64, written: u64, output: u64) -> Value {
    json!({"input_tokens": input, "cache_read_input_tokens": read,
        "cache_creation_input_tokens": written,
        "cache_creation": {"ephemeral_5m_input_tokens": written, "ephemeral_1h_input_tokens": 0},
        "output_tokens": output})
}

/// Saves a baseline, attacks, and returns exit code, verdict, and all that was said.
fn attempt(attack: &Attack) -> (Option<i32>, String, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut project = Project::new();
    project.write(folder.path());
    let check = |arguments: &[&str]| {
        let mut command = cachesim();
        command.current_dir(folder.path()).env_remove("CACHESIM_NO_CONFIG");
        command.args(["check"]).args(arguments).output().expect("the program runs")
    };
    let saved = check(&["sessions", "--export", "report=baseline.json"]);
    assert_eq!(saved.status.code(), Some(0), "{}", text(&saved.stderr));
    fs::remove_dir_all(folder.path().join("sessions")).expect("a folder");
    project.baseline = fs::read_to_string(folder.path().join("baseline.json")).ok();
    (attack.change)(&mut project);
    project.write(folder.path());
    if let Some(baseline) = &project.baseline {
        fs::write(folder.path().join("baseline.json"), baseline).expect("a file");
    }
    let mut arguments =
        vec!["sessions", "--baseline", "baseline.json", "--export", "json=out.json"];
    arguments.extend(&project.arguments);
    let output = check(&arguments);
    let verdict = fs::read_to_string(folder.path().join("out.json")).ok();
    let verdict = verdict.map(|document| {
        let document: Value = serde_json::from_str(&document).expect("JSON");
        document["verdict"].as_str().expect("a verdict").to_owned()
    });
    let said = text(&output.stdout) + &text(&output.stderr);
    (output.status.code(), verdict.unwrap_or_default(), said)
}

/// Why the check let an attack pass, if it did.
fn hole(attack: &Attack) -> Option<String> {
    let (code, verdict, said) = attempt(attack);
    let prose = said.split_whitespace().collect::<Vec<_>>().join(" ");
    let is_row = |row: &str, budget| row.starts_with(budget) && row.contains("  FAILS  ");
    let is_answered = match attack.answer {
        Exceeds(budget) => code == Some(1) && said.lines().any(|row| is_row(row, budget)),
        Warns(words) => code == Some(0) && verdict == "warn" && prose.contains(words),
        Refuses(expected, words) => code == Some(expected) && prose.contains(words),
    };
    let end = || format!("=== {}: exit {code:?}, verdict {verdict:?}\n{said}", attack.name);
    (!is_answered).then(end)
}

#[test]
fn nothing_passes_silently() {
    let attacks = || prompts::ATTACKS.iter().chain(sessions::ATTACKS);
    let all = attacks().count();
    assert!(all >= 50, "{all}");
    let holes: Vec<String> = attacks().filter_map(hole).collect();
    assert!(holes.is_empty(), "{} of {all}:\n{}", holes.len(), holes.join("\n"));
}

/// The lines of the fixture for a model that has a price for both.
fn of_opus(change: impl Fn(&mut Value)) -> String {
    let mut project = Project::new();
    project.requests(|_, request| {
        request["model"] = json!("claude-opus-5");
        change(request);
    });
    lines(project.lines())
}

/// Usage that was recorded before says nothing of what is asked for now: the price does.
#[test]
fn what_is_asked_for_is_priced_where_the_usage_is_old() {
    // By the price page: 1.1 times in the United States alone, twice in fast mode.
    for (field, value, times) in [("inference_geo", "us", 11), ("speed", "fast", 20)] {
        let asked = of_opus(|request| request[field] = json!(value));
        let (code, verdict) = compared(&of_opus(|_| {}), &asked);
        assert_eq!(code, Some(1), "{field}: {verdict}");
        let expected = cost(&verdict, "cost_before_usd") * Decimal::from(times) / Decimal::TEN;
        assert_eq!(cost(&verdict, "cost_usd"), expected, "{field}");
    }
}

/// What `check` says of a capture against another: its exit code and its JSON.
fn compared(before: &str, now: &str) -> (Option<i32>, Value) {
    let folder = tempfile::tempdir().expect("a folder");
    let check = |capture: &str, arguments: &[&str]| {
        put(&folder.path().join("sessions/all.jsonl"), capture.as_bytes());
        let mut command = cachesim();
        command.current_dir(folder.path()).args(["check", "sessions"]).args(arguments);
        command.output().expect("the program runs")
    };
    let saved = check(before, &["--save-baseline", "baseline.json"]);
    assert_eq!(saved.status.code(), Some(0), "{}", text(&saved.stderr));
    let output = check(now, &["--baseline", "baseline.json", "--format", "json"]);
    (output.status.code(), serde_json::from_slice(&output.stdout).expect("JSON"))
}

/// A cost of the comparison.
fn cost(verdict: &Value, name: &str) -> Decimal {
    let cost = verdict["difference"][name].as_str().expect("a cost");
    cost.parse().expect("a decimal")
}

/// Changes of settings that are no attack, or that new usage shows.
#[test]
fn settings_are_judged_by_what_was_recorded() {
    let answers = [
        Attack {
            name: "a server's tools, recorded again",
            change: |p| {
                p.requests(|_, request| request["mcp_servers"] = json!([{"type": "url"}]));
                p.each(|_, line| {
                    let input = line["usage"]["input_tokens"].as_u64().expect("a number");
                    line["usage"]["input_tokens"] = json!(input + 2_000);
                });
            },
            answer: COST,
        },
        Attack {
            name: "a baseline that knows no settings",
            change: |p| {
                let baseline = p.baseline.as_ref().expect("it was read");
                let mut baseline: Value = serde_json::from_str(baseline).expect("JSON");
                for session in baseline["sessions"].as_array_mut().expect("sessions") {
                    for turn in session["turns"].as_array_mut().expect("turns") {
                        turn.as_object_mut().expect("a turn").remove("settings");
                    }
                }
                p.baseline = Some(baseline.to_string());
                p.requests(|_, request| request["mcp_servers"] = json!([{"type": "url"}]));
            },
            answer: Warns("does not know the settings of 5 requests"),
        },
    ];
    let holes: Vec<String> = answers.iter().filter_map(hole).collect();
    assert!(holes.is_empty(), "{}", holes.join("\n"));
    let the_same = Attack {
        name: "values that say the same as none",
        change: |p| {
            p.requests(|_, request| {
                request["container"] = Value::Null;
                request["mcp_servers"] = json!([]);
                request["service_tier"] = json!("auto");
            });
            p.each(|_, line| line["headers"] = json!({}));
        },
        answer: Warns(""),
    };
    let (code, verdict, said) = attempt(&the_same);
    assert_eq!((code, verdict.as_str()), (Some(0), "pass"), "{said}");
}

/// Where figures are counted, what the usage tells of the price stays: by the price page batches cost half.
#[test]
fn a_batch_stays_one_where_its_prompts_are_counted() {
    let counted_cost = |tier: &str| {
        let capture = |words: &str| {
            let mut project = Project::new();
            project.each(|_, line| {
                line["usage"]["service_tier"] = json!(tier);
                let text = &mut line["request"]["system"][1]["text"];
                *text = json!(format!("{}{words}", text.as_str().expect("a text")));
            });
            lines(project.lines())
        };
        let (code, verdict) = compared(&capture(""), &capture(" Be brief."));
        assert_eq!(code, Some(0), "{verdict}");
        assert!(!verdict["difference"]["counted"].as_array().expect("sessions").is_empty());
        cost(&verdict, "cost_usd")
    };
    assert_eq!(counted_cost("standard"), counted_cost("batch") * Decimal::TWO);
}

/// That nothing was found where nothing could be compared is no pass.
#[test]
fn unstable_prefixes_are_not_judged_where_no_request_follows_another() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut project = Project::new();
    project.lines().truncate(1);
    let check = |config: &'static str| {
        let project = Project { files: project.files.clone(), config, ..Project::new() };
        project.write(folder.path());
        let mut command = cachesim();
        command.current_dir(folder.path()).env_remove("CACHESIM_NO_CONFIG");
        let output = command.args(["check", "sessions"]).output().expect("the program runs");
        (output.status.code(), text(&output.stdout) + &text(&output.stderr))
    };
    let words = "no request follows another, so none could be compared with the one before it";
    let (code, said) = check("");
    let prose = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(code, Some(0), "{said}");
    assert!(prose.contains("nothing for them: unstable prefixes"), "{said}");
    let (code, said) = check("[[budget]]\nmetric = \"lint_findings\"\nmax = 0\n");
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains(words), "{said}");
    // What shows in a single request is judged.
    let (code, said) =
        check("[[budget]]\nmetric = \"lint_findings\"\nrules = [\"too-many-markers\"]\nmax = 0\n");
    assert_eq!(code, Some(0), "{said}");
}

#[test]
fn what_did_not_change_passes() {
    let nothing = Attack { name: "nothing", change: |_| {}, answer: Warns("") };
    let (code, verdict, said) = attempt(&nothing);
    assert_eq!((code, verdict.as_str()), (Some(0), "pass"), "{said}");
    // What was recorded once more differs in times, ids and a few tokens of usage.
    let again = Attack {
        name: "recorded again",
        change: |project| {
            project.each(|at, line| {
                let day =
                    line["timestamp"].as_str().expect("a time").replace("2026-09-01", "2026-09-09");
                line["timestamp"] = json!(day);
                line["request_id"] = json!(format!("again-{at}"));
                line["usage"]["output_tokens"] = json!(50 + at % 2);
            });
        },
        answer: Warns(""),
    };
    let (code, verdict, said) = attempt(&again);
    assert_eq!((code, verdict.as_str()), (Some(0), "pass"), "{said}");
}
