//! Drilling down: filters, groups and the story of one request, with figures by hand.
//!
//! Two sessions of two projects on Claude Opus 5 ($5 for a million input tokens, $0.50 read, $6.25
//! written for five minutes, $10 for an hour, $25 of output); each request sends 2 tokens in full:
//!
//! | request | read | written | output | dollars |
//! | --- | --- | --- | --- | --- |
//! | A, 2026-10-31T23:30Z | 0 | 10,000 for an hour | 100 | 0.10251 |
//! | B, ten minutes later | 10,000 | 500 for an hour | 100 | 0.01251 |
//! | C, 2026-11-01T12:00Z | 0 | 20,000 for an hour | 100 | 0.20251 |
//! | D, an agent of C's | 0 | 4,000 for five minutes | 10 | 0.02526 |

use std::fs;
use std::path::Path;
use std::process::Output;

use cachesim::base::units::Picodollars;
use serde_json::{Value, json};

use crate::common::{cachesim, json, project, run, stdout, text};

const GROUPINGS: [&str; 9] =
    ["day", "week", "month", "project", "model", "agent-type", "branch", "session", "client"];

struct Sent {
    session: &'static str,
    folder: &'static str,
    branch: &'static str,
    version: &'static str,
}

const API: Sent =
    Sent { session: "alpha-1111", folder: "/w/api", branch: "main", version: "2.1.219" };
const API_LATER: Sent = Sent { branch: "feat/x", ..API };
const WEB: Sent =
    Sent { session: "alpha-2222", folder: "/w/web", branch: "main", version: "2.1.220" };

impl Sent {
    /// A line of the session, which goes on from another.
    fn line(&self, uuid: &str, parent: Option<&str>, at: &str, fields: &Value) -> String {
        let mut line = json!({
            "uuid": uuid, "parentUuid": parent, "sessionId": self.session, "cwd": self.folder,
            "gitBranch": self.branch, "version": self.version, "timestamp": at,
            "isSidechain": false,
        });
        let object = line.as_object_mut().expect("an object");
        object.extend(fields.as_object().expect("fields").clone());
        line.to_string()
    }

    fn prompt(&self, uuid: &str, parent: Option<&str>, at: &str, fields: &Value) -> String {
        let mut own = json!({"type": "user", "message": {"role": "user", "content": "go on"}});
        own.as_object_mut().expect("an object").extend(fields.as_object().expect("fields").clone());
        self.line(uuid, parent, at, &own)
    }
}

/// An answer: what was read, and written for five minutes and an hour.
fn answer(id: &str, tokens: [u64; 4], content: &Value) -> Value {
    let [read, short, long, output] = tokens;
    json!({
        "type": "assistant", "requestId": format!("req_{id}"),
        "message": {
            "id": format!("msg_{id}"), "role": "assistant", "model": "claude-opus-5",
            "content": [content], "stop_reason": "end_turn",
            "usage": {
                "input_tokens": 2, "cache_read_input_tokens": read,
                "cache_creation_input_tokens": short + long, "output_tokens": output,
                "cache_creation": {
                    "ephemeral_5m_input_tokens": short, "ephemeral_1h_input_tokens": long,
                },
            },
        },
    })
}

/// The two sessions.
fn sessions(folder: &Path) {
    let done = json!({"type": "text", "text": "done"});
    let call = json!({"type": "tool_use", "id": "toolu_9", "name": "Agent",
        "input": {"subagent_type": "Explore"}});
    let none = json!({});
    let api = [
        API.prompt("a1", None, "2026-10-31T23:30:00.000Z", &none),
        API.line(
            "a2",
            Some("a1"),
            "2026-10-31T23:30:02.000Z",
            &answer("A", [0, 0, 10_000, 100], &done),
        ),
        API_LATER.prompt("a3", Some("a2"), "2026-10-31T23:40:00.000Z", &none),
        API_LATER.line(
            "a4",
            Some("a3"),
            "2026-10-31T23:40:02.000Z",
            &answer("B", [10_000, 0, 500, 100], &done),
        ),
    ];
    let result = json!({
        "message": {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "toolu_9", "content": "started"}]},
        "toolUseResult": {"status": "async_launched", "agentId": "abc123"},
    });
    let agent = json!({"isSidechain": true, "agentId": "abc123"});
    let mut answer_of_agent = answer("D", [0, 4_000, 0, 10], &done);
    let fields = answer_of_agent.as_object_mut().expect("an object");
    fields.extend(agent.as_object().expect("fields").clone());
    let web = [
        WEB.prompt("w1", None, "2026-11-01T12:00:00.000Z", &none),
        WEB.line(
            "w2",
            Some("w1"),
            "2026-11-01T12:00:02.000Z",
            &answer("C", [0, 0, 20_000, 100], &call),
        ),
        WEB.prompt("w3", Some("w2"), "2026-11-01T12:00:03.000Z", &result),
        WEB.prompt("w4", None, "2026-11-01T12:00:30.000Z", &agent),
        WEB.line("w5", Some("w4"), "2026-11-01T12:00:32.000Z", &answer_of_agent),
    ];
    fs::write(folder.join("api.jsonl"), api.join("\n")).expect("a file");
    fs::write(folder.join("web.jsonl"), web.join("\n")).expect("a file");
}

/// Runs a command on the two sessions, at midnight after the second.
fn run_on_sessions(arguments: &[&str]) -> Output {
    let folder = tempfile::tempdir().expect("a folder");
    sessions(folder.path());
    // 2026-11-02T00:00:00Z
    let mut command = cachesim();
    command.env("SOURCE_DATE_EPOCH", "1793577600");
    command.args(arguments).arg("-q").arg(folder.path()).output().expect("the program runs")
}

fn json_of(arguments: &[&str]) -> Value {
    let output = run_on_sessions(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
    serde_json::from_str(&text(&output.stdout)).expect("JSON")
}

/// What the selected requests cost as billed.
fn billed(filter: &[&str]) -> String {
    let report = json_of(&[&["analyze", "--json"], filter].concat());
    report["totals"]["billed"]["cost_usd"].as_str().expect("dollars").to_owned()
}

#[test]
fn filters_leave_what_they_name() {
    for (filter, dollars) in [
        (&[][..], "0.34279"),
        (&["--session", "alpha-1111"], "0.11502"),
        (&["--session", "alpha-2"], "0.22777"),
        (&["--session", "…2222"], "0.22777"),
        (&["--session", "alpha-1", "--session", "alpha-2"], "0.34279"),
        (&["--project", "api"], "0.11502"),
        (&["--project", "/w/web"], "0.22777"),
        (&["--branch", "feat"], "0.01251"),
        (&["--branch", "main"], "0.33028"),
        (&["--branch", "main", "--project", "api"], "0.10251"),
        (&["--model", "opus"], "0.34279"),
        (&["--agent", "main"], "0.31753"),
        (&["--agent", "Explore"], "0.02526"),
        (&["--agent", "abc"], "0.02526"),
    ] {
        assert_eq!(billed(filter), dollars, "{filter:?}");
    }
}

/// The second request of the first session reads what the first wrote, which is not selected.
#[test]
fn what_is_not_selected_is_simulated() {
    let report = json_of(&["analyze", "--json", "--branch", "feat/x"]);
    let cost = |strategy: &str| report["totals"][strategy]["cost_usd"].as_str().map(str::to_owned);
    assert_eq!(cost("1h").as_deref(), Some("0.01251"));
    // Ten minutes are more than five: 10,500 tokens are written again.
    assert_eq!(cost("5m").as_deref(), Some("0.068135"));
}

#[test]
fn days_are_those_of_the_time_zone() {
    for (filter, dollars) in [
        (&["--until", "2026-10-31"][..], "0.11502"),
        (&["--until", "2026-10-31T23:35:00Z"], "0.10251"),
        (&["--since", "2026-11-01"], "0.22777"),
        (&["--since", "2026-11-01", "--timezone", "Europe/Berlin"], "0.34279"),
        (&["--since", "24h"], "0.22777"),
        (&["--since", "2d"], "0.34279"),
        (&["--since", "1w", "--until", "24h"], "0.11502"),
        (&["--since", "yesterday"], "0.22777"),
        (&["--until", "yesterday", "--timezone", "America/New_York"], "0.11502"),
    ] {
        assert_eq!(billed(filter), dollars, "{filter:?}");
    }
}

#[test]
fn names_that_stand_for_nothing_are_told_what_there_is() {
    for (filter, code, message) in [
        (&["--session", "alpha"][..], 2, "2 sessions: alpha-1111, alpha-2222; give more of it"),
        (
            &["--session", "alpah-1111"],
            3,
            "`alpah-1111` is not in the input, which has 2 sessions (did you mean `alpha-1111` or `alpha-2222`?)",
        ),
        (
            &["--project", "wbe"],
            3,
            "`wbe` is not in the input, which has 2 projects (did you mean `web`",
        ),
        (
            &["--branch", "mian"],
            3,
            "`mian` is not in the input, which has 2 branches (did you mean `main`",
        ),
        (
            &["--model", "sonet"],
            3,
            "`sonet` is not in the input, which has 1 model (did you mean `claude-opus-5`?)",
        ),
        (&["--agent", "Explorer"], 3, "did you mean `Explore`"),
        (
            &["--since", "2027-01-01"],
            3,
            "no request since --since; the input has 4 requests, answered from 2026-10-31 23:30:02 to 2026-11-01 12:00:32 (UTC)",
        ),
        (
            &["--project", "api", "--since", "2026-11-01"],
            3,
            "what is selected has 2 requests, answered from 2026-10-31 23:30:02",
        ),
        (
            &["--project", "api", "--agent", "Explore"],
            3,
            "no request of --project and of --agent; the input has 4 requests",
        ),
        (&["--timezone", "Europe/Berlim"], 2, "did you mean `Europe/Berlin`"),
    ] {
        let output = run_on_sessions(&[&["analyze"], filter].concat());
        let error = text(&output.stderr);
        assert!(error.contains(message), "{filter:?}: {error}");
        assert_eq!(output.status.code(), Some(code), "{filter:?}: {error}");
    }
}

#[test]
fn json_is_short_for_its_format() {
    for command in ["analyze", "breaks", "compare", "context", "verify", "check"] {
        let long = run_on_sessions(&[command, "--format", "json"]);
        assert_eq!(run_on_sessions(&[command, "--json"]).stdout, long.stdout, "{command}");
        let both = run_on_sessions(&[command, "--json", "--format", "json"]);
        assert_eq!(both.status.code(), Some(2), "{command}");
    }
}

fn groups(arguments: &[&str]) -> Vec<(String, String)> {
    let document = json_of(&[&["analyze", "--json"], arguments].concat());
    let groups = document["groups"].as_array().expect("groups").iter();
    let figure = |group: &Value| {
        let cost = group["totals"]["billed"]["cost_usd"].as_str().expect("dollars");
        (group["name"].as_str().unwrap_or("?").to_owned(), cost.to_owned())
    };
    groups.map(figure).collect()
}

#[test]
fn groups_are_made_by_what_requests_have_in_common() {
    let expected = |rows: &[(&str, &str)]| -> Vec<(String, String)> {
        rows.iter().map(|(name, cost)| ((*name).to_owned(), (*cost).to_owned())).collect()
    };
    for (by, rows) in [
        ("day", &[("2026-10-31", "0.11502"), ("2026-11-01", "0.22777")][..]),
        // Both days are in the week that begins on Monday, 2026-10-26.
        ("week", &[("2026-W44", "0.34279")]),
        ("month", &[("2026-10", "0.11502"), ("2026-11", "0.22777")]),
        ("project", &[("web", "0.22777"), ("api", "0.11502")]),
        ("model", &[("claude-opus-5", "0.34279")]),
        ("agent-type", &[("main", "0.31753"), ("Explore", "0.02526")]),
        ("branch", &[("main", "0.33028"), ("feat/x", "0.01251")]),
        ("session", &[("alpha-2222", "0.22777"), ("alpha-1111", "0.11502")]),
        ("client", &[("2.1.220", "0.22777"), ("2.1.219", "0.11502")]),
    ] {
        assert_eq!(groups(&["--by", by]), expected(rows), "{by}");
    }
    let berlin = groups(&["--by", "day", "--timezone", "Europe/Berlin"]);
    assert_eq!(berlin, expected(&[("2026-11-01", "0.34279")]));
}

#[test]
fn groups_are_a_table_and_csv() {
    let csv = text(&run_on_sessions(&["analyze", "--by", "project", "--format", "csv"]).stdout);
    let lines: Vec<&str> = csv.lines().collect();
    let columns =
        "project,requests,billed_usd,5m_usd,1h_usd,hit_rate,breaks,lost_usd,unpriced_requests";
    assert_eq!(lines[0], columns);
    assert!(lines[1].starts_with("web,2,0.22777,"), "{csv}");
    assert!(lines[2].starts_with("api,2,0.11502,0.133145,0.11502,"), "{csv}");
    let table = text(&run_on_sessions(&["analyze", "--by", "project", "--top", "1"]).stdout);
    let rows: Vec<Vec<&str>> =
        table.lines().map(|line| line.split_whitespace().collect()).collect();
    assert!(rows.iter().any(|row| row.starts_with(&["web", "2", "$0.2278"])), "{table}");
    assert!(rows.iter().any(|row| row.starts_with(&["1", "other", "2", "$0.1150"])), "{table}");
    assert!(rows.iter().any(|row| row.starts_with(&["total", "4", "$0.3428"])), "{table}");
    let lines = run_on_sessions(&["analyze", "--by", "day", "--format", "jsonl"]);
    assert_eq!(lines.status.code(), Some(2), "{}", text(&lines.stderr));
}

/// The sums of one row of groups: requests, breaks, what they cost, and dollars and tokens by strategy.
fn sums(group: &Value) -> Vec<i128> {
    let dollars = |value: &Value| {
        let amount = value.as_str().map(|text| text.parse::<Picodollars>().expect("dollars"));
        amount.unwrap_or_default().0
    };
    let count = |value: &Value| i128::from(value.as_u64().unwrap_or_default());
    let mut sums =
        vec![count(&group["requests"]), count(&group["breaks"]), dollars(&group["lost_usd"])];
    let by_strategy = group["totals"].as_object().expect("strategies");
    for (strategy, totals) in by_strategy {
        // What means nothing to a group has no figure there, and leaves it as recorded in the total.
        let is_idle = matches!(strategy.as_str(), "5m" | "1h") && totals["requests"] == 0;
        let totals = if is_idle { &by_strategy["billed"] } else { totals };
        sums.push(dollars(&totals["cost_usd"]));
        for (name, value) in totals.as_object().expect("totals") {
            if name.ends_with("tokens") || name == "requests" {
                sums.push(count(value));
            }
        }
    }
    sums
}

/// The dollars of the first, and half of the last digit that a cell shows of them.
fn shown(cell: &str) -> (Picodollars, i128) {
    let digits = cell.trim_start_matches('$').trim_end_matches('+').replace(',', "");
    let decimals = digits.rsplit_once('.').map_or(0, |(_, decimals)| decimals.len());
    let half = 10_i128.pow(12 - u32::try_from(decimals).expect("few digits")) / 2;
    (digits.parse().unwrap_or_else(|_| panic!("{cell}")), half)
}

/// What is listed and the others are the total in every column, of which each has the same requests: those that a
/// strategy can do nothing to are in it as recorded.
#[test]
fn listed_groups_and_the_others_are_the_total() {
    let fixtures = project("fixtures");
    let fixtures = fixtures.to_str().expect("plain");
    for by in GROUPINGS.into_iter().chain(["source"]) {
        let document = json(&["analyze", "--by", by, "-q", "--json", fixtures]);
        let page =
            stdout(&["analyze", "--by", by, "-q", "--top", "1", "--format", "markdown", fixtures]);
        let rows = page.lines().filter(|line| line.starts_with('|'));
        let rows: Vec<Vec<&str>> =
            rows.map(|row| row.trim_matches('|').split('|').map(str::trim).collect()).collect();
        let [header, _, first, others, total] = rows.as_slice() else { panic!("{by}: {page}") };
        let groups = document["groups"].as_array().expect("groups");
        let requests = |row: &[&str]| row[1].replace(',', "").parse::<u64>().expect("a count");
        let exact = |group: &Value, strategy: &str| -> i128 {
            let by_strategy = &group["totals"];
            let is_idle = by_strategy[strategy]["requests"] == 0;
            let totals = &by_strategy[if is_idle { "billed" } else { strategy }];
            let cost = totals["cost_usd"].as_str();
            cost.map_or(0, |cost| cost.parse::<Picodollars>().expect("dollars").0)
        };
        // The record orders them, unless it is not known of all.
        let is_whole = document["total"]["totals"]["billed"]["unrecorded_requests"].is_null();
        let order = if is_whole { "billed" } else { "5m" };
        let listed = groups.iter().max_by_key(|group| exact(group, order)).expect("a group");
        assert_eq!(requests(first) + requests(others), requests(total), "{by}");
        for strategy in ["billed", "5m", "1h"] {
            let at = header.iter().position(|name| *name == strategy).expect("a column");
            let left = exact(&document["total"], strategy) - exact(listed, strategy);
            let (told, half) = shown(others[at]);
            assert!((told.0 - left).abs() <= half, "{by}: {strategy}: {left} {others:?}");
        }
    }
}

/// What a grouping takes apart is there in full, to the last digit.
#[test]
fn groups_add_up_to_the_total() {
    let fixtures = project("fixtures");
    let fixtures = fixtures.to_str().expect("plain");
    let read = |arguments: &[&str]| -> Value {
        let output = run(&[arguments, &["-q", "--json", fixtures]].concat());
        serde_json::from_str(&text(&output.stdout)).expect("JSON")
    };
    let report = read(&["analyze", "--strategy", "billed,5m,1h"]);
    let breaks = read(&["breaks"]);
    for by in GROUPINGS {
        let document = read(&["analyze", "--by", by]);
        let total = sums(&document["total"]);
        let mut added = vec![0; total.len()];
        for group in document["groups"].as_array().expect("groups") {
            added.iter_mut().zip(sums(group)).for_each(|(sum, one)| *sum += one);
        }
        assert_eq!(added, total, "{by}");
        assert_eq!(document["total"]["totals"], report["totals"], "{by}");
        assert_eq!(document["total"]["breaks"], breaks["totals"]["breaks"], "{by}");
        assert_eq!(document["total"]["lost_usd"], breaks["totals"]["excess_usd"], "{by}");
    }
}

#[test]
fn sessions_have_their_projects_and_the_most_expensive_come_first() {
    let table = text(&run_on_sessions(&["analyze", "--top", "1"]).stdout);
    assert!(table.contains("\nThe most expensive 1 of 2 sessions, begun in 2026\n"), "{table}");
    let row = table.lines().find(|line| line.starts_with("alpha-2222")).expect("a row");
    assert!(row.contains(" web ") && row.contains("11-01 12:00"), "{row}");
    assert!(!table.contains("alpha-1111"), "{table}");
}

fn explain(arguments: &[&str]) -> Output {
    let fixture = project("fixtures/expiry-5m/session.jsonl");
    run(&[&["explain"], arguments, &["-q", fixture.to_str().expect("plain")]].concat())
}

/// The third request of the fixture comes exactly five minutes after the second.
#[test]
fn the_story_of_an_expiry() {
    for name in ["req_C", "msg_C", "session.jsonl:6", "session.jsonl:5", "5e1f0000:3"] {
        let output = explain(&[name, "--json"]);
        let story: Value = serde_json::from_str(&text(&output.stdout)).expect("JSON");
        assert_eq!(story["request"]["request_id"], "req_C", "{name}");
        assert_eq!((&story["turn"], &story["turns"]), (&json!(3), &json!(3)), "{name}");
        assert_eq!(story["gap_s"], json!(300.0));
        assert_eq!(story["prompt_tokens"], 15_902);
        // 15,902 less the 15,502 before and the 60 of its answer.
        assert_eq!(story["added_tokens"], 340);
        assert_eq!(story["new_content"][0]["kind"], "user_text");
        assert_eq!(story["new_content"][0]["lines"], json!([5]));
        assert_eq!(story["cached"]["tokens"], 15_500);
        assert_eq!(story["cached"]["until"], "2026-08-03T10:09:59.900Z");
        // 15,500 tokens written for $6.25 instead of read for $0.50 a million.
        assert_eq!(story["lost"]["excess_usd"], "0.089125");
        let strategies = story["strategies"].as_array().expect("strategies").iter();
        let rows: Vec<_> = strategies
            .map(|one| {
                let text = |value: &Value| value.as_str().expect("text").to_owned();
                let cost = text(&one["totals"]["cost_usd"]);
                (text(&one["strategy"]), cost, one["expired"] == json!(true))
            })
            .collect();
        let row = |name: &str, cost: &str, expired| (name.to_owned(), cost.to_owned(), expired);
        assert_eq!(
            rows,
            [
                row("billed", "0.101385", true),
                row("replay", "0.032385", true),
                row("5m", "0.032385", true),
                row("1h", "0.01376", false),
            ]
        );
    }
}

#[test]
fn a_story_is_told_in_sentences() {
    let story = text(&explain(&["req_C"]).stdout);
    let story = story.split_whitespace().collect::<Vec<_>>().join(" ");
    for sentence in [
        "Request req_C: turn 3 of 3 in session 5e1f0000",
        "Sent 2026-08-03 10:09:59 (UTC) by the main conversation to claude-opus-5",
        "the client added 340 tokens (derived): what the user wrote (1 piece, 24 B; line 5).",
        "Cached before: 15,500 tokens, left by session.jsonl:4, the newest of them for 5 minutes and so until 2026-08-03 \
         10:09:59; this request came at that very moment, which is too late.",
        "Billed: 0 tokens read from cache, 15,900 written for 5 minutes, 2 sent in full, 80 of output: \
         $0.1014.",
        "5m: Expired: entries lived for 5 minutes",
        "1h: It read all that the request before had left.",
        "15,500 were sent again, which cost $0.0891 more than reading them.",
        "Cause: an entry for five minutes expired, high confidence.",
    ] {
        assert!(story.contains(sentence), "{sentence}: {story}");
    }
}

/// Where a fixture's session is called: by its path from here, by its whole path, and through a link of another name.
#[test]
fn a_line_is_found_in_its_file_wherever_that_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    fs::create_dir_all(at("a/-home-ann-work")).expect("folders");
    fs::create_dir(at("b")).expect("a folder");
    let session = at("a/-home-ann-work/session.jsonl");
    fs::copy(project("fixtures/expiry-5m/session.jsonl"), &session).expect("a file");
    // Another session, with ids of its own.
    let other = fs::read_to_string(project("fixtures/hook-context-moves/session.jsonl"));
    let other = other.expect("a session").replace("\"req_", "\"req_b").replace("\"msg_", "\"msg_b");
    let other = other.replace("5e1f0000", "5e1f000b").replace("\"00000000", "\"0000000b");
    fs::write(at("b/session.jsonl"), other).expect("a file");
    let told = |request: &str, paths: &[&str]| {
        let arguments = [&["explain", request][..], paths, &["-q", "--json"]].concat();
        let output = cachesim().args(arguments).current_dir(folder.path()).output();
        let output = output.expect("the program runs");
        assert!(output.status.success(), "{request} {paths:?}: {}", text(&output.stderr));
        let story: Value = serde_json::from_str(&text(&output.stdout)).expect("JSON");
        story["request"]["request_id"].as_str().expect("an id").to_owned()
    };
    let whole = format!("{}:6", session.display());
    let mut names =
        vec!["a/-home-ann-work/session.jsonl:6", "a/../a/-home-ann-work/session.jsonl:6", &whole];
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(&session, at("other.jsonl")).expect("a link");
        names.push("other.jsonl:6");
    }
    for name in names {
        // Without a PATH, in it, beside it, and beside another file of its name.
        for paths in [&[][..], &["a"], &["a/-home-ann-work"], &["b"], &["a", "b"], &["."]] {
            assert_eq!(told(name, paths), "req_C", "{name} {paths:?}");
        }
    }
    // A name as outputs have it means what is read, whatever else is called so.
    for name in [
        "~-work/session.jsonl:6",
        "/home/bob/a/-home-ann-work/session.jsonl:6",
        "…work/session.jsonl:6",
    ] {
        assert_eq!(told(name, &["a"]), "req_C", "{name}");
        // What is left of a name with … is no end of a digest.
        if !name.starts_with('…') {
            assert_eq!(told(name, &["a", "--project-names", "hash"]), "req_C", "{name}");
        }
    }
    // `hashlib.blake2b(b"~-work", key=b"cachesim project name v1", digest_size=6)`
    let hashed = "project-7e10fd14eb35/session.jsonl:6";
    assert_eq!(told(hashed, &["a"]), "req_C");
    assert_eq!(told(hashed, &["a", "--project-names", "hash"]), "req_C");
    fs::copy(&session, at("session.jsonl")).expect("a file");
    assert_eq!(told("session.jsonl:7", &["b"]), "req_bC", "of b");
    assert_eq!(told("session.jsonl:6", &[]), "req_C", "from here");
    assert_eq!(told(&whole, &["a", "--domains", "depth:1"]), "req_C");
    let asked = ["explain", &whole, "b", "--domains", "depth:1", "-q"];
    let output =
        cachesim().args(asked).current_dir(folder.path()).output().expect("the program runs");
    assert_eq!(output.status.code(), Some(2));
    let error = text(&output.stderr);
    assert!(error.contains(" is in no domain; give a PATH that has it"), "{error}");
}

#[test]
fn requests_that_are_none_are_told_what_there_is() {
    for (name, code, message) in [
        ("req_X", 3, "no request is called `req_X`"),
        ("req_X", 3, "did you mean `req_A`, `req_B` or `req_C`?"),
        ("req_", 2, "`req_` is the beginning of 3 requests: req_A, req_B, req_C; give more of it"),
        ("5e1f:9", 3, "has 3 turns; give the number of one"),
        ("other.jsonl:1", 3, "give the whole path of a file, or as PATH where it is"),
        ("session.jsonl:7", 3, "the last request of this file begins on line 6; give this line"),
    ] {
        let output = explain(&[name]);
        let error = text(&output.stderr);
        assert!(error.contains(message), "{name}: {error}");
        assert_eq!(output.status.code(), Some(code), "{name}");
    }
}
