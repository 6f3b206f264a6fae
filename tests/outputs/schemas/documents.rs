//! Machine outputs of every command, over the fixtures and over what no fixture has.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::common::{cachesim, fixtures, lines, project, recorded, run, text};
use crate::figures::since_change::write_sessions;
use crate::live::watch::every_event;

/// What a run prints, as one document or one a line; none where there is nothing to report.
pub(super) fn documents(arguments: &[&str]) -> Vec<Value> {
    let output = run(arguments);
    match output.status.code() {
        // A gate that fails says why in the same format.
        Some(0 | 1) => {}
        Some(3) => return Vec::new(),
        code => panic!("{arguments:?}: {code:?}, {}", text(&output.stderr)),
    }
    let text = text(&output.stdout);
    match serde_json::from_str(&text) {
        Ok(document) => vec![document],
        Err(_) => text.lines().map(|line| serde_json::from_str(line).expect("a line")).collect(),
    }
}

/// Commands that print documents of a format, of any input.
pub(super) fn commands() -> Vec<(&'static str, Vec<&'static str>)> {
    const STRATEGIES: &str = "billed,replay,none,mixed,5m-pinged,compact-100k,clear-results-180k,\
        session-memory-100k,cached-microcompact,microcompact-60m";
    const COMPARED: &str = "billed,5m,1h-pinged,cheapest-pings,four-even,compact-100k,optimal";
    vec![
        ("report", vec!["analyze", "--format", "json"]),
        ("report", vec!["analyze", "--format", "json", "--ttl-grace", "5"]),
        ("report", vec!["analyze", "--format", "json", "--strategy", STRATEGIES]),
        ("groups", vec!["analyze", "--by", "model", "--json", "--strategy", STRATEGIES]),
        ("ledger", vec!["analyze", "--format", "jsonl", "--strategy", STRATEGIES]),
        ("ledger", vec!["analyze", "--format", "jsonl", "--domains", "depth:1"]),
        ("advice", vec!["advise", "--format", "json"]),
        ("change", vec!["advise", "--format", "json", "--since-change=2026-07-01"]),
        ("breaks", vec!["breaks", "--format", "json"]),
        ("breaks", vec!["breaks", "--format", "json", "--rule", "client"]),
        ("break", vec!["breaks", "--format", "jsonl"]),
        ("break", vec!["breaks", "--format", "jsonl", "--show-text"]),
        ("break", vec!["breaks", "--format", "jsonl", "--domains", "depth:1"]),
        ("domain-result", vec!["context", "--format", "json", "--domains", "depth:1"]),
        ("compare", vec!["compare", "--format", "json", "--strategy", COMPARED]),
        ("compare", vec!["compare", "--format", "json", "--provider", "openai,openai-5.6,gemini"]),
        ("compare-line", vec!["compare", "--format", "jsonl", "--strategy", COMPARED]),
        ("context", vec!["context", "--format", "json"]),
        ("blocks", vec!["blocks", "--format", "json"]),
        ("verify", vec!["verify", "--format", "json"]),
        ("verify", vec!["verify", "--format", "json", "--counts"]),
        ("check", vec!["check", "--format", "json"]),
        ("report", vec!["check", "--format", "report"]),
        ("lint", vec!["lint", "--format", "json"]),
        ("lint", vec!["lint", "--format", "json", "--hide-text", "--tokens", "bytes:4"]),
    ]
}

const README: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/README.md");
const CAPTURE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/captured-clock/session.jsonl");

/// Another program's prices.
const PRICES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/figures/prices/litellm.json");

/// Commands without an input.
pub(super) const WITHOUT_INPUT: [(&str, &[&str]); 15] = [
    ("tokens", &["tokens", README, "--json"]),
    ("tokens", &["tokens", CAPTURE, "--by", "block", "--json"]),
    ("prices", &["prices", "show", "deepseek-v4-pro", "--format", "json"]),
    ("prices", &["prices", "show", "gemini-2.5-pro", "--format", "json"]),
    (
        "prices-update",
        &["prices", "update", "--from", PRICES, "--at", "2026-11-25", "--dry-run", "--json"],
    ),
    ("redact-explain", &["redact", "--explain", "--json"]),
    ("config-show", &["config", "show", "--format", "json"]),
    ("sources", &["sources", "--format", "json"]),
    ("fork", &["fork", "--format", "json"]),
    ("fork", &["fork", "--format", "json", "--model", "claude-opus-5", "--ttl", "1h", "--cold"]),
    ("fork", &["fork", "--format", "json", "--parent", "7", "--directives", "1,2"]),
    ("prices", &["prices", "list", "--format", "json"]),
    ("prices", &["prices", "show", "claude-sonnet-5-5", "--format", "json"]),
    ("prices", &["prices", "show", "claude-opus-5", "--format", "json"]),
    ("prices", &["prices", "list", "--at", "2026-01-01", "--format", "json"]),
];

/// A window of five hours each day until the tests' now and one later, of which per cents follow the input alone.
fn windows_with_limits() -> Vec<String> {
    let line = |at: jiff::Timestamp, kind: &str, payload: Value| {
        json!({"timestamp": format!("{at:.3}"), "type": kind, "payload": payload}).to_string()
    };
    let first: jiff::Timestamp = "2026-11-21T23:00:00Z".parse().expect("a moment");
    let mut lines = vec![
        line(first, "session_meta", json!({"id": "w"})),
        line(first, "turn_context", json!({"model": "gpt-5.5"})),
    ];
    let mut total = 0;
    for day in [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 14] {
        let begins = first + jiff::SignedDuration::from_hours(24 * day);
        let mut used = 0;
        for request in 0..3 {
            let at = begins + jiff::SignedDuration::from_secs(30 * request);
            let input = 10_000 * (1 + (day + request) % 4);
            let output = [10, 20_000, 500, 7_000, 90]
                [usize::try_from((day * 3 + request) % 5).expect("small")];
            total += input;
            used += input / 10_000;
            let info = json!({
                "total_token_usage": {"input_tokens": total, "output_tokens": 0},
                "last_token_usage": {"input_tokens": input, "cached_input_tokens": 0, "output_tokens": output}});
            let ends = begins.as_second() + 5 * 3_600;
            let primary = json!({"used_percent": used, "window_minutes": 300, "resets_at": ends});
            lines.push(line(at, "event_msg", json!({"type": "user_message"})));
            lines.push(line(
                at,
                "event_msg",
                json!({
                "type": "token_count", "info": info, "rate_limits": {"primary": primary}}),
            ));
        }
    }
    lines
}

/// Inputs that no fixture has: a request that the service refuses, one without usage, a model
/// without a price, a tool that changes, verdicts of the service, and a Codex rollout.
pub(super) fn more_inputs(folder: &Path) -> Vec<PathBuf> {
    let text = "word ".repeat(2_000);
    let block = |mark: Value| json!({"type": "text", "text": text, "cache_control": mark});
    let marker = || json!({"type": "ephemeral"});
    let request = |model: &str, tool: &str, blocks: Vec<Value>| {
        json!({"model": model, "tools": [{"name": tool, "input_schema": {}}],
            "system": [block(marker())], "messages": [{"role": "user", "content": blocks}]})
    };
    let line = |second: u32, request: Value, usage: Value| {
        json!({"timestamp": format!("2026-09-01T10:00:{second:02}Z"), "session_id": "s",
            "request_id": format!("r{second}"), "request": request, "usage": usage})
        .to_string()
    };
    let usage = || {
        json!({"input_tokens": 3, "cache_read_input_tokens": 0, "output_tokens": 5,
            "cache_creation_input_tokens": 4_000})
    };
    let opus = "claude-opus-5";
    let lines = [
        line(0, request(opus, "read", vec![block(marker())]), usage()),
        line(9, request(opus, "red", vec![block(marker())]), usage()),
        line(20, request(opus, "read", vec![block(marker()); 5]), Value::Null),
        line(30, request("unheard-of", "read", vec![block(marker())]), usage()),
        line(40, request(opus, "read", vec![block(marker())]), Value::Null),
    ];
    let capture = folder.join("capture.jsonl");
    fs::write(&capture, lines.join("\n")).expect("a file");
    let rollout = folder.join("rollout.jsonl");
    let event = |second: u32, kind: &str, payload: Value| {
        json!({"timestamp": format!("2026-10-01T00:00:{second:02}.000Z"), "type": kind,
            "payload": payload})
        .to_string()
    };
    let report = |second: u32, input: u32, cached: u32| {
        let info = json!({
            "total_token_usage": {"input_tokens": input * second, "output_tokens": second},
            "last_token_usage": {"input_tokens": input, "cached_input_tokens": cached,
                "output_tokens": 1, "reasoning_output_tokens": 0}});
        event(second, "event_msg", json!({"type": "token_count", "info": info}))
    };
    let lines = [
        event(0, "session_meta", json!({"id": "c"})),
        event(0, "turn_context", json!({"model": "gpt-5.5"})),
        event(0, "event_msg", json!({"type": "user_message"})),
        report(1, 10_000, 0),
        report(2, 10_100, 9_728),
    ];
    fs::write(&rollout, lines.join("\n")).expect("a file");
    let windows = folder.join("windows.jsonl");
    fs::write(&windows, windows_with_limits().join("\n")).expect("a file");
    let verdicts = folder.join("verdicts.jsonl");
    let session = project("fixtures/break-inside-ttl/session.jsonl");
    let session = fs::read_to_string(session).expect("a fixture");
    let judged = session.lines().map(|line| {
        let mut line: Value = serde_json::from_str(line).expect("a line");
        if line["type"] == "assistant" {
            let reason = json!({"type": "tools_changed", "cache_missed_input_tokens": 9});
            line["message"]["diagnostics"] = json!({"cache_miss_reason": reason});
        }
        line.to_string() + "\n"
    });
    fs::write(&verdicts, judged.collect::<String>()).expect("a file");
    // A folder of all: a rollout alone is another program's log.
    vec![capture, verdicts, folder.to_owned()]
}

/// Checks against a baseline and under budgets of every kind: of a prompt that changed, and of
/// sessions of which some have no record and some no price.
fn reviews(folder: &Path) -> Vec<(&'static str, Vec<String>)> {
    let path = |name: &str| folder.join(name).to_str().expect("a plain path").to_owned();
    let original = project("fixtures/reviewed-tools/sessions.jsonl");
    let original = fs::read_to_string(original).expect("the fixture");
    let longer = original.replace("each with its file.", &"longer ".repeat(90));
    let other = longer.lines().next().expect("a line").replace("\"mend\"", "\"other\"");
    let other = other.replace("claude-sonnet-4-5", "unheard-of");
    let mend: String = longer
        .lines()
        .filter(|line| line.contains("mend"))
        .map(|line| {
            let line = line.replace("run_tests", "run_some_tests");
            line.replace("\"request\":{", "\"request\":{\"temperature\":0.5,") + "\n"
        })
        .collect();
    fs::write(path("sessions.jsonl"), &original).expect("a file");
    fs::write(path("changed.jsonl"), mend + &other).expect("a file");
    let budgets = [
        "metric = 'cost_per_session'\nmax_increase = '1 %'\nmessage = 'dear'\nmodel = 'claude-*'",
        "metric = 'unlisted_changes'\nmax = 0",
        "metric = 'cost_per_request'\nmax = '$0.001'\nfiles = 'changed*'\nsession = '*'\nstrategy = 'replay'",
    ];
    let budgets = budgets.map(|budget| format!("[[budget]]\n{budget}\n"));
    let check = "[defaults]\njobs = 1\n[check]\nbaseline = 'base.json'\npaths = 'changed.jsonl'\n";
    fs::write(path("review.toml"), format!("{check}{}", budgets.concat())).expect("a file");
    let project_budget = "[[budget]]\nmetric = 'cost'\nmax = '$9'\nproject = 'demo'\n";
    fs::write(path("project.toml"), project_budget).expect("a file");
    let unrecorded = "[[budget]]\nmetric = 'cost'\nmax = '$9'\nstrategy = 'billed'\n";
    fs::write(path("unrecorded.toml"), unrecorded).expect("a file");
    let look = project("fixtures/first-look").to_str().expect("a plain path").to_owned();
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let saved = run(&[
        "check",
        &path("sessions.jsonl"),
        "--export",
        &format!("report={}", path("base.json")),
    ]);
    assert!(saved.status.success(), "{}", text(&saved.stderr));
    // The usage of the baseline's prompts beside others, and a request that is gone.
    let usage_of = recorded(&original);
    let stale: Vec<Value> = recorded(&longer)
        .into_iter()
        .zip(&usage_of)
        .map(|(mut line, old)| {
            line["usage"] = old["usage"].clone();
            line["request"]["temperature"] = serde_json::json!(0.5);
            line
        })
        .collect();
    fs::write(path("recorded.jsonl"), lines(&usage_of)).expect("a file");
    fs::write(path("stale.jsonl"), lines(&stale[..4])).expect("a file");
    let export = format!("report={}", path("recorded.json"));
    let saved = run(&["check", &path("recorded.jsonl"), "--export", &export]);
    assert!(saved.status.success(), "{}", text(&saved.stderr));
    let (stale, base) = (path("stale.jsonl"), path("recorded.json"));
    let pings = project("fixtures/pings").to_str().expect("a plain path").to_owned();
    let capture = path("capture.jsonl");
    let explain = |request: &str, path: &str| {
        let design = ["--strategy", "billed,replay,5m-pinged", "--show-text", "--json", "-q"];
        ("explain", words(&[&["explain", request, path], &design[..]].concat()))
    };
    vec![
        explain("s:2", &capture),
        explain("s:3", &capture),
        explain("s:4", &capture),
        explain("s:5", &capture),
        explain("req_A", &pings),
        explain("req_B", &look),
        ("check", words(&["check", "--config", &path("review.toml"), "--format", "json", "-q"])),
        ("check", words(&["check", &look, "--config", &path("project.toml"), "--format", "json"])),
        ("check", words(&["check", &stale, "--baseline", &base, "--format", "json", "-q"])),
        (
            "check",
            words(&[
                "check",
                &path("capture.jsonl"),
                "--config",
                &path("unrecorded.toml"),
                "--format",
                "json",
                "-q",
            ]),
        ),
        (
            "report",
            words(&["check", &look, "--format", "report", "--config", &path("project.toml")]),
        ),
        (
            "config-show",
            words(&["config", "show", "--config", &path("review.toml"), "--format", "json"]),
        ),
    ]
}

/// The line of a domain, that of its part, of input that is damaged, and the manifest of its run.
fn parts(folder: &Path) -> [(&'static str, String, Value); 3] {
    let (root, out) = (folder.join("sessions"), folder.join("parts"));
    fs::create_dir_all(&root).expect("a folder");
    let session =
        fs::read_to_string(project("fixtures/first-look/session.jsonl")).expect("a session");
    fs::write(root.join("a.jsonl"), session + "torn {").expect("a file");
    let [root, out] = [root, out].map(|path| path.to_str().expect("a plain path").to_owned());
    let line = run(&["part", "--domain", "ann", "--root", &root, &root, "--out", &out]).stdout;
    let lines = format!("{out}/lines");
    fs::write(&lines, &line).expect("a file");
    let gathered = run(&["gather", &lines, "--out", &out]);
    assert!(gathered.status.success(), "{}", text(&gathered.stderr));
    let manifest = fs::read(format!("{out}/manifest.json")).expect("a manifest");
    let document = |bytes: &[u8]| serde_json::from_slice(bytes).expect("JSON");
    let listed = run(&["domains", "--root", &root]).stdout;
    [
        ("domain", "domains".to_owned(), document(&listed)),
        ("part", "part".to_owned(), document(&line)),
        ("run", "gather".to_owned(), document(&manifest)),
    ]
}

/// Places of sessions, one of which has names that the program does not know.
fn unknown_sources(folder: &Path) -> Value {
    let home = folder.join("home");
    let sessions = home.join(".claude/projects/-w-bay");
    fs::create_dir_all(&sessions).expect("a folder");
    let session = project("fixtures/unknown-names/session.jsonl");
    fs::copy(session, sessions.join("session.jsonl")).expect("a copy");
    let mut command = cachesim();
    let output =
        command.env_clear().env("HOME", home).args(["sources", "--format", "json"]).output();
    serde_json::from_slice(&output.expect("the program runs").stdout).expect("a document")
}

/// Documents of every format, each with the command that printed it.
pub(super) fn all_documents() -> BTreeMap<&'static str, Vec<(String, Value)>> {
    let folder = tempfile::tempdir().expect("a folder");
    let mut all: BTreeMap<&str, Vec<(String, Value)>> = BTreeMap::new();
    let mut add = |name: &'static str, arguments: &[&str]| {
        let found = documents(arguments).into_iter();
        let found = found.map(|document| (arguments.join(" "), document));
        all.entry(name).or_default().extend(found);
    };
    for path in fixtures().into_iter().chain(more_inputs(folder.path())) {
        let path = path.to_str().expect("a plain path");
        for (name, arguments) in commands() {
            add(name, &[arguments.as_slice(), &["-q", path]].concat());
        }
    }
    for (name, arguments) in WITHOUT_INPUT {
        add(name, arguments);
    }
    for (name, arguments) in reviews(folder.path()) {
        add(name, &arguments.iter().map(String::as_str).collect::<Vec<_>>());
    }
    let sessions = folder.path().join("since-change");
    fs::create_dir(&sessions).expect("a folder");
    write_sessions(&sessions);
    let sessions = sessions.to_str().expect("a plain path");
    add("change", &["advise", sessions, "-q", "--json", "--since-change=2026-10-10"]);
    all.entry("sources").or_default().push(("sources".to_owned(), unknown_sources(folder.path())));
    let events = every_event().into_iter().map(|event| ("watch --jsonl".to_owned(), event));
    all.entry("event").or_default().extend(events);
    for (name, command, document) in parts(folder.path()) {
        all.entry(name).or_default().push((command, document));
    }
    all
}
