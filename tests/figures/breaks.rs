//! `breaks`: what is found, why, and what it costs. Expected causes come from the rules and the
//! contract, expected dollars from the price page.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::common::{
    count, json as report, known_picodollars, project, shared, stdout, transcripts,
};

mod series;
mod session;

use session::Session;

/// Writes files into a folder and returns the rows of their breaks.
fn rows_of(files: &[(&str, String)], arguments: &[&str]) -> Vec<Value> {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        fs::write(folder.path().join(name), text).expect("written");
    }
    rows(folder.path(), arguments)
}

fn rows(path: &Path, arguments: &[&str]) -> Vec<Value> {
    let path = path.to_str().expect("a plain path");
    let all = [&["breaks", path, "--format", "jsonl", "-q"], arguments].concat();
    stdout(&all).lines().map(|line| serde_json::from_str(line).expect("a row")).collect()
}

fn rows_of_session(session: &Session) -> Vec<Value> {
    rows_of(&[("session.jsonl", session.text())], &[])
}

/// The only break of a session.
fn only(session: &Session) -> Value {
    let mut rows = rows_of_session(session);
    assert_eq!(rows.len(), 1, "{rows:#?}");
    rows.remove(0)
}

/// A conversation of 12,000 shared tokens, 30,000 of its own, and 500 more; then a turn has ended.
fn begun() -> Session {
    let mut session = Session::new();
    session.prompt("begin").call("A", 12_000, 30_000);
    session.result().end("B", 42_000, 500);
    session.system("turn_duration").wait(60);
    session
}

/// The same in the middle of a turn.
fn in_a_turn() -> Session {
    let mut session = Session::new();
    session.prompt("begin").call("A", 12_000, 30_000);
    session.result().call("B", 42_000, 500);
    session
}

/// The first evidence for a row's cause: its confidence, line and field.
fn first_evidence(row: &Value) -> (&str, u64, &str) {
    let evidence = &row["evidence"][0];
    assert_eq!(evidence["cause"], row["cause"], "{row:#}");
    (
        evidence["confidence"].as_str().expect("a word"),
        evidence["line"].as_u64().expect("a line"),
        evidence["field"].as_str().expect("a field"),
    )
}

fn assert_cause(session: &Session, class: &str, cause: &str, evidence: (&str, u64, &str)) {
    let row = only(session);
    assert_eq!((&row["class"], &row["cause"]), (&json!(class), &json!(cause)), "{row:#}");
    assert_eq!(first_evidence(&row), evidence, "{row:#}");
}

const READ: &str = "message.usage.cache_read_input_tokens";

#[test]
fn what_was_lost_is_priced_as_written_instead_of_read() {
    let mut session = begun();
    session.prompt("go on").end("C", 12_000, 31_000);
    let row = only(&session);
    assert_eq!(row["expected_read_tokens"], 42_500);
    assert_eq!(row["cache_read_input_tokens"], 12_000);
    assert_eq!(row["rewritten_tokens"], 30_500);
    // Opus 5: an hour is written for $10 a million, and read for $0.50.
    assert_eq!(row["excess_usd"], "0.28975");
    assert_eq!((&row["request_id"], &row["message_id"]), (&json!("req_C"), &json!("msg_C")));
    assert_eq!(row["gap_s"], 62.0);
}

#[test]
fn the_length_that_was_readable_names_the_level() {
    let mut nothing = begun();
    nothing.prompt("go on").end("C", 0, 43_000);
    assert_cause(&nothing, "fell_to_zero", "tools_changed", ("medium", 7, READ));

    let mut shared = begun();
    shared.prompt("go on").end("C", 12_000, 31_000);
    assert_cause(&shared, "fell_to_shared_prefix", "system_prompt_changed", ("medium", 7, READ));

    let mut behind = in_a_turn();
    behind.result().call("C", 42_000, 1_000);
    let evidence = ("medium", 6, READ);
    assert_cause(&behind, "one_step_behind", "write_not_visible", evidence);

    // At a turn's beginning the client may have rendered the last messages anew.
    let mut last = begun();
    last.prompt("more").end("C", 42_500, 3_000);
    last.wait(60).prompt("go on").end("D", 42_500, 3_500);
    assert_cause(&last, "one_step_behind", "messages_rewritten", ("medium", 9, READ));

    let mut rewritten = begun();
    rewritten.prompt("more").end("C", 42_500, 3_000);
    rewritten.prompt("more").end("D", 45_500, 3_000);
    rewritten.wait(60).prompt("go on").end("E", 45_500, 3_500);
    let row = only(&rewritten);
    assert_eq!(row["class"], "one_step_behind");
    rewritten.prompt("again").end("F", 42_500, 7_000);
    let rows = rows_of_session(&rewritten);
    assert_eq!(rows[1]["cause"], "messages_rewritten", "{:#}", rows[1]);
    assert_eq!(rows[1]["class"], "partial");
}

#[test]
fn an_expiry_is_expected_and_outranks_the_rest() {
    let mut hour = begun();
    hour.wait(3_600).prompt("<command-name>/mcp</command-name>").end("C", 0, 43_000);
    let row = only(&hour);
    assert_eq!((&row["cause"], &row["expected"]), (&json!("ttl_expired_1h"), &json!(true)));

    let mut short = Session::new();
    short.is_short = true;
    short.prompt("begin").end("A", 12_000, 30_000);
    short.wait(300).prompt("go on").end("B", 12_000, 31_000);
    let row = only(&short);
    assert_eq!(row["cause"], "ttl_expired_5m");
    // Written for five minutes at $6.25 a million, instead of read for $0.50.
    assert_eq!(row["excess_usd"], "0.1725");

    let mut alive = Session::new();
    alive.is_short = true;
    alive.prompt("begin").end("A", 12_000, 30_000);
    alive.wait(200).prompt("go on").end("B", 12_000, 31_000);
    assert_eq!(only(&alive)["cause"], "system_prompt_changed");
}

#[test]
fn what_was_seen_between_two_requests_outranks_the_length() {
    let hook = |name: &str| json!({"type": "hook_success", "hookName": name});
    let mut resumed = begun();
    resumed.attachment(&hook("SessionStart:resume")).prompt("go on").end("C", 12_000, 31_000);
    let evidence = ("high", 6, "attachment.hookName");
    assert_cause(&resumed, "fell_to_shared_prefix", "resumed", evidence);

    let mut left = begun();
    left.prompt("<command-name>/exit</command-name>").prompt("go on").end("C", 12_000, 31_000);
    assert_cause(&left, "fell_to_shared_prefix", "resumed", ("high", 6, "message.content"));

    let mut loaded = in_a_turn();
    loaded
        .result_of(&json!([{"type": "tool_reference", "tool_name": "X"}]))
        .call("C", 12_090, 31_000);
    let evidence = ("high", 5, "message.content[].content[].type");
    assert_cause(&loaded, "fell_to_shared_prefix", "tools_changed", evidence);

    let mut connected = begun();
    connected.prompt("<command-name>/mcp</command-name>").prompt("go on").end("C", 12_000, 31_000);
    let evidence = ("medium", 6, "message.content");
    assert_cause(&connected, "fell_to_shared_prefix", "tools_changed", evidence);

    let mut removed = begun();
    let delta = json!({"type": "deferred_tools_delta", "addedNames": [], "removedNames": ["x"]});
    removed.prompt("go on").attachment(&delta).end("C", 0, 43_000);
    let evidence = ("medium", 7, "attachment.removedNames");
    assert_cause(&removed, "fell_to_zero", "tools_changed", evidence);

    let mut abandoned = in_a_turn();
    abandoned.wait(60).prompt("continue").end("C", 12_000, 31_000);
    let evidence = ("medium", 4, "message.content[].type");
    assert_cause(&abandoned, "fell_to_shared_prefix", "resumed", evidence);

    let mut interrupted = in_a_turn();
    interrupted
        .prompt("[Request interrupted by user]")
        .wait(60)
        .prompt("no")
        .end("C", 12_000, 31_000);
    assert_eq!(only(&interrupted)["cause"], "system_prompt_changed");
}

#[test]
fn settings_between_two_requests_are_compared() {
    let mut updated = begun();
    updated.version = "2.1.220";
    updated.prompt("go on").end("C", 0, 43_000);
    let evidence = ("high", 7, "version");
    assert_cause(&updated, "fell_to_zero", "client_version_changed", evidence);

    let mut effort = Session::new();
    effort.effort = Some("high");
    effort.prompt("begin").end("A", 12_000, 30_000);
    effort.effort = Some("low");
    effort.wait(60).prompt("go on").end("B", 12_000, 31_000);
    assert_cause(&effort, "fell_to_shared_prefix", "effort_changed", ("high", 4, "effort"));

    let mut fast = begun();
    fast.is_fast = true;
    fast.prompt("go on").end("C", 0, 43_000);
    let evidence = ("high", 7, "message.usage.speed");
    assert_cause(&fast, "fell_to_zero", "fast_mode_changed", evidence);

    let mut model = begun();
    model.model = "claude-haiku-4-5-20251001";
    model.prompt("go on").end("C", 0, 43_000);
    let evidence = ("high", 7, "message.model");
    assert_cause(&model, "fell_to_zero", "model_changed", evidence);
}

#[test]
fn rewritten_conversations_are_told_apart() {
    let mut summarised = begun();
    summarised.system("compact_boundary").prompt("summary").end("C", 12_000, 8_000);
    assert_cause(&summarised, "fell_to_shared_prefix", "compaction", ("high", 6, "subtype"));
    assert_eq!(only(&summarised)["rewritten_tokens"], 8_002);

    let mut cleared = in_a_turn();
    cleared.result().system("microcompact_boundary").call("C", 12_000, 20_000);
    let evidence = ("high", 6, "subtype");
    assert_cause(&cleared, "fell_to_shared_prefix", "microcompaction", evidence);

    let mut rewound = begun();
    let before = rewound.prompt("more").end("C", 42_500, 3_000);
    rewound.prompt("more").end("D", 45_500, 3_000);
    rewound.go_back_to(&before).wait(60).prompt("otherwise").end("E", 42_500, 4_000);
    let row = only(&rewound);
    assert!(
        row["evidence"].as_array().expect("evidence").iter().any(|one| one["cause"] == "rewound")
    );
}

#[test]
fn a_rewound_conversation_that_finds_its_prefix_is_no_break() {
    let mut session = begun();
    let before = session.prompt("more").end("C", 42_500, 3_000);
    session.prompt("more").end("D", 45_500, 3_000);
    session.go_back_to(&before).prompt("otherwise").end("E", 45_500, 900);
    assert_eq!(rows_of_session(&session), Vec::<Value>::new());
}

#[test]
fn agents_started_together_cannot_see_each_other() {
    let agent = |name: &'static str, at: i64, read: u64, written: u64| {
        let mut session = Session::new();
        session.agent = Some(name);
        session.is_short = true;
        session.at(at).prompt("look").end(name, read, written);
        (format!("agent-{name}.jsonl"), session.text())
    };
    let files = [
        agent("one", 0, 0, 20_000),
        agent("two", 1, 0, 20_100),
        agent("three", 100, 16_000, 4_000),
    ];
    let files: Vec<(&str, String)> =
        files.iter().map(|(name, text)| (name.as_str(), text.clone())).collect();
    let rows = rows_of(&files, &[]);
    assert_eq!(rows.len(), 1, "{rows:#?}");
    assert_eq!(
        (&rows[0]["agent_id"], &rows[0]["cause"]),
        (&json!("two"), &json!("write_not_visible"))
    );
    assert_eq!(rows[0]["rewritten_tokens"], 16_000);
    // Nobody came later: nothing shows that they share a prefix.
    assert_eq!(rows_of(&files[..2], &[]).len(), 0);
}

#[test]
fn a_break_is_never_reported_across_a_hole() {
    let torn = |is_torn: bool| {
        let mut session = begun();
        if is_torn {
            let lost = session.prompt("lost").call("L", 42_500, 900);
            let kept: Vec<String> = session
                .text()
                .lines()
                .filter(|line| !line.contains(&format!("\"uuid\":\"{lost}\"")))
                .map(str::to_owned)
                .collect();
            let mut rest = Session::new();
            for line in &kept {
                rest.raw(line);
            }
            // In place of the lost line, so that no name is used twice.
            rest.raw(r#"{"type":"mode"}"#);
            rest.at(200).go_back_to(&lost).result().end("C", 12_000, 31_000);
            return rest;
        }
        session.prompt("go on").end("C", 12_000, 31_000);
        session
    };
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("session.jsonl");
    for (is_torn, breaks) in [(false, 1), (true, 0)] {
        fs::write(&path, torn(is_torn).text()).expect("written");
        let path = path.to_str().expect("a plain path");
        let report = report(&["breaks", path, "--format", "json", "-q"]);
        assert_eq!(report["totals"]["breaks"], breaks);
        assert_eq!(report["not_comparable"], u64::from(is_torn));
    }
}

/// A session that goes on in another file, with or without something missing at the border.
#[test]
fn holes_reach_across_files() {
    let earlier = begun();
    let last = earlier.last().to_owned();
    let later = |is_unusable: bool| {
        let mut session = Session::new();
        session.id = "t";
        session.at(120).go_back_to(&last);
        if is_unusable {
            session.prompt("lost").line(&json!({"type": "assistant", "message": "not an object"}));
        }
        session.prompt("go on").end("C", 12_000, 31_000);
        session.text()
    };
    let files = |is_unusable| [("a.jsonl", earlier.text()), ("b.jsonl", later(is_unusable))];
    let rows = rows_of(&files(false), &[]);
    assert_eq!((rows.len(), &rows[0]["cause"]), (1, &json!("resumed")), "{rows:#?}");
    assert_eq!(rows_of(&files(true), &[]), Vec::<Value>::new());
    // Without the earlier file the beginning is missing.
    assert_eq!(rows_of(&files(false)[1..], &[]), Vec::<Value>::new());

    // What lies between in the earlier file counts, too.
    let mut summarised = begun();
    summarised.system("compact_boundary");
    let last = summarised.last().to_owned();
    let mut after = Session::new();
    after.id = "t";
    after.at(120).go_back_to(&last).prompt("summary").end("C", 12_000, 8_000);
    let rows = rows_of(&[("a.jsonl", summarised.text()), ("b.jsonl", after.text())], &[]);
    assert_eq!(rows.len(), 1);
    let causes = rows[0]["evidence"].as_array().expect("evidence");
    assert!(!causes.is_empty(), "{rows:#?}");
}

#[test]
fn several_samplings_are_no_prefix() {
    let mut session = begun();
    session.prompt("search").line(&json!({
        "type": "assistant", "requestId": "req_S", "message": {
            "id": "msg_S", "role": "assistant", "model": "claude-opus-5", "content": [],
            "stop_reason": "end_turn", "usage": {
                "input_tokens": 2, "cache_read_input_tokens": 150_000, "output_tokens": 10,
                "cache_creation_input_tokens": 3_000,
                "server_tool_use": {"web_search_requests": 3},
            },
        },
    }));
    session.prompt("go on").end("C", 53_000, 500);
    assert_eq!(rows_of_session(&session), Vec::<Value>::new());
}

#[test]
fn a_model_is_held_against_what_it_had_itself() {
    let mut session = begun();
    session.model = "claude-haiku-4-5-20251001";
    session.prompt("else").end("C", 0, 44_000);
    session.model = "claude-opus-5";
    session.prompt("back").end("D", 42_500, 1_600);
    let rows = rows_of_session(&session);
    assert_eq!(
        (&rows[0]["request_id"], &rows[0]["rewritten_tokens"]),
        (&json!("req_C"), &json!(42_500))
    );
    // What the other model had cached was never this one's to lose.
    assert_eq!(
        (&rows[1]["request_id"], &rows[1]["rewritten_tokens"]),
        (&json!("req_D"), &json!(0))
    );
    assert_eq!(
        (&rows[1]["excess_usd"], &rows[1]["expected_read_tokens"]),
        (&json!("0"), &json!(44_000))
    );
}

#[test]
fn an_entry_that_another_branch_kept_alive_has_not_expired() {
    let mut session = Session::new();
    session.is_short = true;
    session.prompt("begin");
    let first = session.end("A", 0, 50_000);
    session.at(240).prompt("more").end("B", 50_000, 1_000);
    session.go_back_to(&first).at(480).prompt("otherwise").end("C", 0, 51_000);
    let row = only(&session);
    assert_ne!(row["cause"], "ttl_expired_5m", "{row:#}");
    assert_eq!(row["expected"], false);
}

#[test]
fn changes_in_the_messages_leave_tools_and_system_prompt() {
    let mut image = begun();
    image.line(&json!({"type": "user", "message": {"role": "user", "content": [
        {"type": "image", "source": {"type": "base64", "data": ""}},
        {"type": "text", "text": "look"},
    ]}}));
    image.end("C", 0, 43_000);
    assert_eq!(only(&image)["cause"], "tools_changed");

    let mut left = begun();
    left.prompt("more").end("C", 42_500, 3_000);
    left.wait(200).prompt("<command-name>/exit</command-name>");
    left.prompt("go on").end("D", 42_500, 4_000);
    assert_eq!(only(&left)["evidence"][0]["cause"], "messages_rewritten");
}

#[test]
fn in_the_middle_of_a_turn_the_client_only_appends() {
    let mut session = in_a_turn();
    session.result().call("C", 12_000, 31_000);
    let row = only(&session);
    assert_eq!(row["cause"], "likely_server_side", "{row:#}");
}

/// Captured requests as records: the time, the id, and the texts of the messages.
fn capture(requests: &[(u32, &str, &[&str])]) -> String {
    let record = |(second, id, texts): &(u32, &str, &[&str])| {
        let last = texts.len() - 1;
        let messages: Vec<Value> = texts
            .iter()
            .enumerate()
            .map(|(place, text)| {
                let role = if place % 2 == 0 { "user" } else { "assistant" };
                let mut block = json!({"type": "text", "text": text.repeat(400)});
                if place == last {
                    block["cache_control"] = json!({"type": "ephemeral"});
                }
                json!({"role": role, "content": [block]})
            })
            .collect();
        json!({
            "timestamp": format!("2026-09-01T10:00:{second:02}.000Z"), "request_id": id,
            "session_id": "s", "request": {
                "model": "claude-opus-5", "messages": messages,
                "system": [{"type": "text", "text": "You are helpful. ".repeat(200)}],
            },
        })
        .to_string()
    };
    requests.iter().map(record).collect::<Vec<_>>().join("\n")
}

#[test]
fn branches_of_captured_conversations_are_no_breaks() {
    let bytes = ["--tokens", "bytes:1"];
    let interleaved = capture(&[
        (1, "m1", &["question"]),
        (2, "m2", &["question", "answer", "more"]),
        (3, "f1", &["question", "answer", "aside"]),
        (4, "m3", &["question", "answer", "more", "yes", "again"]),
        (5, "f2", &["question", "answer", "aside", "well", "fine"]),
        (6, "m4", &["question", "answer", "more", "yes", "again", "no", "end"]),
    ]);
    assert_eq!(rows_of(&[("c.jsonl", interleaved)], &bytes), Vec::<Value>::new());
    let another = capture(&[
        (1, "m1", &["question"]),
        (2, "n1", &["something else"]),
        (3, "m2", &["question", "answer", "more"]),
    ]);
    assert_eq!(rows_of(&[("c.jsonl", another)], &bytes), Vec::<Value>::new());
    let rewritten = capture(&[
        (1, "m1", &["question", "answer", "more"]),
        (2, "m2", &["question?", "answer", "more", "yes", "again"]),
    ]);
    let rows = rows_of(&[("c.jsonl", rewritten)], &bytes);
    assert_eq!((rows.len(), &rows[0]["cause"]), (1, &json!("messages_rewritten")), "{rows:#?}");
}

#[test]
fn captured_requests_behind_a_damaged_line_are_not_judged() {
    let bytes = ["--tokens", "bytes:1"];
    let requests = capture(&[
        (1, "m1", &["question", "answer", "more"]),
        (2, "m2", &["query", "answer", "more"]),
    ]);
    let torn = requests.replace('\n', "\n{\"timestamp\": \"2026-09\n");
    assert_eq!(rows_of(&[("c.jsonl", requests)], &bytes).len(), 1);
    assert_eq!(rows_of(&[("c.jsonl", torn)], &bytes).len(), 0);
}

#[test]
fn an_answer_without_usage_is_a_hole() {
    let mut session = begun();
    session.prompt("lost");
    session.line(&json!({"type": "assistant", "requestId": "req_L", "message": {
        "id": "msg_L", "model": "claude-opus-5", "content": [], "usage": null,
    }}));
    session.prompt("go on").end("C", 12_000, 31_000);
    assert_eq!(rows_of_session(&session), Vec::<Value>::new());
}

#[test]
fn the_verdict_of_the_service_decides_unless_it_is_kept_out() {
    let mut session = begun();
    session.verdict = Some("tools_changed");
    session.prompt("go on").end("C", 12_000, 31_000);
    let files = [("session.jsonl", session.text())];
    let with = rows_of(&files, &[]).remove(0);
    assert_eq!(
        (&with["cause"], &with["server_reason"]),
        (&json!("tools_changed"), &json!("tools_changed"))
    );
    let without = rows_of(&files, &["--ignore-server-reason"]).remove(0);
    assert_eq!(without["cause"], "system_prompt_changed");
    assert_eq!(without["server_reason"], "tools_changed");
    // The table of both holds the inferred cause against the verdict either way.
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("session.jsonl"), session.text()).expect("written");
    let path = folder.path().to_str().expect("a plain path");
    let report = report(&["breaks", path, "--format", "json", "-q"]);
    let row = &report["verdicts"]["table"][0];
    assert_eq!(row["inferred"], "system_prompt_changed");
    assert_eq!(row["agrees"], false);
    assert_eq!(report["verdicts"]["named"]["inside_ttl"], 1);
    assert_eq!(report["verdicts"]["agreeing"]["misses"], 0);
}

#[test]
fn the_clients_rule_needs_five_percent_and_two_thousand_tokens() {
    let rows = |read: u64, model: &'static str| {
        let mut session = Session::new();
        session.model = model;
        session.prompt("begin").call("A", 12_000, 30_000);
        session.result().call("B", 42_000, 500);
        session.result().call("C", read, 43_000 - read);
        rows_of(&[("session.jsonl", session.text())], &["--rule", "client"]).len()
    };
    // 5 % of 42,000 are 2,100.
    assert_eq!(rows(39_899, "claude-opus-5"), 1);
    assert_eq!(rows(39_900, "claude-opus-5"), 0);
    assert_eq!(rows(30_000, "claude-haiku-4-5-20251001"), 0);
}

#[test]
fn the_clients_rule_does_not_judge_what_it_announced() {
    let rows = |session: &Session, arguments: &[&str]| {
        rows_of(&[("session.jsonl", session.text())], arguments).len()
    };
    let mut deleted = in_a_turn();
    // 20,000 of the 42,500 cached tokens are deleted.
    deleted.deleted = 20_000;
    deleted.result().call("C", 22_500, 500);
    assert_eq!((rows(&deleted, &["--rule", "client"]), rows(&deleted, &[])), (0, 0));
    // The figure is of all deletions so far: this request has none of its own, and 5,000 are missing.
    deleted.result().call("D", 17_500, 6_000);
    assert_eq!((rows(&deleted, &["--rule", "client"]), rows(&deleted, &[])), (1, 1));
    let mut cleared = begun();
    cleared.result().system("microcompact_boundary").call("C", 12_000, 20_000);
    assert_eq!((rows(&cleared, &["--rule", "client"]), rows(&cleared, &[])), (0, 1));
}

#[test]
fn nothing_of_anybodys_text_is_shown() {
    let mut session = begun();
    session.prompt("<command-name>/secretcommand</command-name>");
    session.prompt("secretprompt \u{1b}[31m").end("C", 12_000, 31_000);
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("session.jsonl"), session.text()).expect("written");
    let path = folder.path().to_str().expect("a plain path");
    for format in ["table", "json", "jsonl", "csv", "markdown"] {
        let printed = stdout(&["breaks", path, "--format", format, "-q"]);
        assert!(!printed.contains("secret") && !printed.contains('\u{1b}'), "{printed}");
        assert!(!printed.contains("/w/demo"), "{printed}");
    }
}

/// What each conformance case loses, by the rule that it is about.
const CASES: [(&str, &[(&str, &str)]); 22] = [
    ("automatic_on_marked_block", &[]),
    ("calls_and_results_alternate", &[("r2", "lookback_exceeded")]),
    ("clock_starts_at_request", &[("r2", "ttl_expired_5m")]),
    ("dynamic_after_static", &[]),
    ("dynamic_before_static", &[("r2", "system_prompt_changed"), ("r3", "system_prompt_changed")]),
    ("effort_change_loses_messages", &[("r2", "effort_changed")]),
    ("expiry_1h", &[("r3", "ttl_expired_1h")]),
    ("expiry_5m", &[("r3", "ttl_expired_5m")]),
    ("global_entry_is_not_found_by_a_plain_marker", &[("r2", "scope_changed")]),
    ("image_appears_loses_messages", &[("r2", "image_changed")]),
    ("lookback_19_back_hits", &[]),
    ("lookback_20_back_misses", &[("r2", "lookback_exceeded")]),
    ("lookback_tool_runs_are_one_position", &[]),
    ("model_change_loses_all", &[("r2", "model_changed")]),
    ("not_readable_before_response", &[("r2", "write_not_visible"), ("r3", "write_not_visible")]),
    ("scope_isolation", &[("r2", "scope_changed")]),
    ("speed_change_loses_system", &[("r2", "fast_mode_changed")]),
    ("thinking_change_loses_messages", &[("r2", "thinking_changed")]),
    ("tool_change_loses_all", &[("r2", "tools_changed")]),
    ("tool_choice_loses_messages", &[("r2", "tool_choice_changed")]),
    ("tool_order_loses_all", &[("r2", "tools_changed")]),
    ("ttl_is_of_the_entry", &[("r3", "ttl_expired_5m")]),
];

#[test]
fn captured_requests_say_themselves_what_changed() {
    let cases = project("tests/figures/conformance");
    for (name, expected) in CASES {
        let text = fs::read_to_string(cases.join(format!("{name}.json"))).expect("a case");
        let case: Value = serde_json::from_str(&text).expect("JSON");
        let records = case["requests"].as_array().expect("requests").iter().map(Value::to_string);
        let lines = records.collect::<Vec<_>>().join("\n");
        let found = rows_of(&[("case.jsonl", lines)], &["--tokens", "bytes:1"]);
        let found: Vec<(&str, &str)> = found
            .iter()
            .map(|row| {
                (
                    row["request_id"].as_str().expect("an id"),
                    row["cause"].as_str().expect("a cause"),
                )
            })
            .collect();
        assert_eq!(found, *expected, "{name}");
    }
}

#[test]
fn real_sessions_are_explained() {
    let Some(corpus) = transcripts("corpus") else { return };
    let rows = rows(&corpus, &["--ignore-server-reason"]);
    let rewritten = |rows: &mut dyn Iterator<Item = &Value>| -> u64 {
        rows.map(|row| count(row, "rewritten_tokens")).sum()
    };
    let is_named = |row: &&Value| {
        !["unknown", "likely_server_side"].contains(&row["cause"].as_str().expect("a cause"))
    };
    let (named, all) = (rewritten(&mut rows.iter().filter(is_named)), rewritten(&mut rows.iter()));
    assert!(named * 10 >= all * 9, "{named} of {all} rewritten tokens have a cause");
    let path = corpus.to_str().expect("a plain path");
    let report = report(&["breaks", path, "--format", "json", "-q", "--ignore-server-reason"]);
    let share = |name: &str| report["verdicts"][name].as_f64().expect("a share");
    assert!(share("agreement") >= 0.8, "{}", report["verdicts"]);
    assert!(share("agreement_inside_ttl") >= 0.7, "{}", report["verdicts"]);
}

fn own_is_sum(request: &cachesim::requests::conversation::Request) -> bool {
    request.recorded().is_sum
}

/// A second, naive reading of the chains: every shortfall over 2,000 tokens has a row, and no request
/// that read all it could has one.
#[test]
fn no_shortfall_is_missed_and_none_is_made_up() {
    use cachesim::read::input::discover;
    use cachesim::requests::conversation::{ReadOptions, read};

    let Some(corpus) = transcripts("corpus") else { return };
    let listed: BTreeMap<String, Value> = rows(&corpus, &[])
        .into_iter()
        .map(|row| (row["message_id"].as_str().expect("an id").to_owned(), row))
        .collect();
    let history = read(discover(&[corpus]), ReadOptions::default(), |_| {});
    let (mut large, mut full, mut false_alarms) = (0, 0, 0);
    for request in &history.requests {
        let Some(previous) = history.predecessor(request) else { continue };
        let (own, before) = (request.recorded().prompt, previous.recorded().prompt);
        let shortfall = (before.read.0 + before.written().0).saturating_sub(own.read.0);
        let id = history.text(request.message).expect("an id");
        let is_sum = own_is_sum(request) || own_is_sum(previous);
        if shortfall > 2_000 && !request.between.has_hole && !is_sum {
            large += 1;
            let row = listed.get(id).unwrap_or_else(|| panic!("{id} lost {shortfall}"));
            assert_eq!(count(row, "expected_read_tokens") - own.read.0, shortfall, "{id}");
        }
        if shortfall == 0 {
            full += 1;
            false_alarms += u64::from(listed.contains_key(id));
        }
    }
    assert!(large > 150, "{large}");
    assert!(false_alarms * 1_000 <= full * 3, "{false_alarms} false alarms among {full}");
}

/// Picodollars of a field that is never unknown.
fn picodollars(amount: &Value) -> i128 {
    crate::common::picodollars(amount.as_str().expect("an amount"))
}

#[test]
fn the_sums_are_those_of_the_rows_and_explain_the_bill_exactly() {
    let Some(corpus) = transcripts("corpus") else { return };
    let path = corpus.to_str().expect("a plain path");
    let report = report(&["breaks", path, "--format", "json", "-q"]);
    let rows = rows(&corpus, &[]);
    let priced = rows.iter().filter(|row| !row["excess_usd"].is_null());
    let excess: i128 = priced.map(|row| picodollars(&row["excess_usd"])).sum();
    assert_eq!(picodollars(&report["totals"]["excess_usd"]), excess);
    let sums = &report["reconciliation"];
    let amount = |name: &str| picodollars(&sums[name]);
    assert_eq!(amount("excess_usd"), excess);
    let explained = excess - amount("predicted_excess_usd") + amount("unexplained_usd");
    assert_eq!(explained, amount("billed_usd") - amount("replay_usd"));
    for group in ["by_class", "by_project", "by_client_version", "by_week"] {
        let parts = report[group].as_object().expect("sums").values();
        let sum: i128 = parts.map(|part| known_picodollars(&part["excess_usd"])).sum();
        assert_eq!(sum, excess, "{group}");
    }
    let analyze = crate::common::json(&["analyze", path, "--format", "json", "-q"]);
    let difference = picodollars(&analyze["totals"]["billed"]["cost_usd"])
        - picodollars(&analyze["totals"]["replay"]["cost_usd"]);
    // Samplings that were billed apart have no replay; there are none here.
    assert_eq!(difference, amount("difference_usd"));
}

#[test]
fn the_same_input_gives_the_same_bytes_with_any_number_of_threads() {
    let Some(corpus) = shared("corpus") else { return };
    let path = corpus.to_str().expect("a plain path");
    for format in ["table", "json", "jsonl", "csv", "markdown"] {
        let printed =
            |jobs: &str| stdout(&["breaks", path, "--format", format, "-q", "--jobs", jobs]);
        assert_eq!(printed("1"), printed("8"), "{format}");
    }
}
