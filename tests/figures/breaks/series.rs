//! Causes that several requests together show, and those of clients' modes and models.

use serde_json::{Value, json};

use super::session::Session;
use super::{in_a_turn, only, rows_of, rows_of_session};
use crate::common::{json as report, stdout};

/// Causes of a session's breaks, in order.
fn causes(session: &Session) -> Vec<String> {
    let cause = |row: &Value| row["cause"].as_str().expect("a word").to_owned();
    rows_of_session(session).iter().map(cause).collect()
}

/// Turns of one request each, half a minute apart, that read so many tokens and write the rest.
fn turns(reads: &[u64]) -> Session {
    let mut session = Session::new();
    (session.version, session.is_short) = ("2.1.70", true);
    session.prompt("begin").end("A", 0, 16_500);
    for (number, read) in (1_u64..).zip(reads) {
        let id = format!("B{number}");
        session.wait(35).prompt("go on").end(&id, *read, 16_500 + 1_500 * number - read);
    }
    session
}

#[test]
fn a_series_of_turns_ends_where_the_cache_ended_for_another_reason() {
    let series = |second: &dyn Fn(&mut Session)| {
        let mut session = Session::new();
        session.version = "2.1.70";
        session.prompt("begin").end("A", 0, 16_500);
        for (number, id) in (1_u64..).zip(["B", "C", "D"]) {
            session.wait(35);
            if number == 2 {
                second(&mut session);
            }
            session.prompt("go on").end(id, 14_500, 2_000 + 1_500 * number);
        }
        causes(&session)
    };
    assert_eq!(series(&|_| ()), ["resumed"; 3]);
    let others: [&dyn Fn(&mut Session); 3] = [
        &|session| _ = session.wait(3_700),
        &|session| _ = session.system("compact_boundary"),
        &|session| session.model = "claude-opus-4-8",
    ];
    for other in others {
        let causes = series(other);
        assert!(!causes.contains(&"resumed".to_owned()), "{causes:?}");
    }
}

#[test]
fn a_fork_is_no_resume() {
    let mut session = Session::new();
    let parent = session.prompt("begin").call("A", 12_000, 30_000);
    let mut fork = Session::new();
    fork.agent = Some("a");
    fork.raw(
        &json!({"type": "fork-context-ref", "forkedSessionId": "s", "upToMessageId": parent,
            "agentId": "a"})
        .to_string(),
    );
    fork.wait(10).prompt("task").end("B", 12_000, 31_000);
    let rows = rows_of(&[("session.jsonl", session.text()), ("agent-a.jsonl", fork.text())], &[]);
    assert_eq!((rows.len(), &rows[0]["fork"]), (1, &json!(true)), "{rows:#?}");
    let says = |one: &Value| one["cause"] == "resumed";
    assert!(!rows[0]["evidence"].as_array().expect("a list").iter().any(says), "{rows:#?}");
}

#[test]
fn turns_that_read_one_length_are_resumes() {
    assert_eq!(causes(&turns(&[14_500, 14_500, 14_500])), ["resumed"; 3]);
    // Two changes may leave the same.
    assert!(!causes(&turns(&[14_500, 14_500])).contains(&"resumed".to_owned()));
}

/// A session whose answers report no write.
fn without_writes(reads: &[u64]) -> String {
    let mut session = Session::new();
    for (number, read) in reads.iter().enumerate() {
        session.prompt("go on");
        session.wait(2).line(&json!({
            "type": "assistant", "requestId": format!("req_{number}"),
            "message": {
                "id": format!("msg_{number}"), "role": "assistant", "model": "claude-opus-5",
                "content": [{"type": "text", "text": "done"}], "stop_reason": "end_turn",
                "usage": {
                    "input_tokens": 60_000 - read, "output_tokens": 10,
                    "cache_read_input_tokens": read, "cache_creation_input_tokens": 0,
                },
            },
        }));
    }
    session.text()
}

#[test]
fn a_cache_that_reports_no_write_has_no_cause_of_ours_and_no_advice() {
    let file = ("session.jsonl", without_writes(&[50_001, 0, 55_003, 0, 57_007]));
    let rows = rows_of(std::slice::from_ref(&file), &[]);
    assert!(!rows.is_empty() && rows.iter().all(|row| row["cause"] == "own_cache"), "{rows:#?}");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(file.0);
    std::fs::write(&path, file.1).expect("written");
    let path = path.to_str().expect("a plain path");
    let told = report(&["advise", path, "-q", "--format", "json"]);
    assert_eq!(told["advice"]["changes"], json!([]));
    assert_eq!(told["advice"]["withheld"], "own_cache");
    let compared = report(&["compare", path, "--strategy", "billed,5m", "-q", "--format", "json"]);
    assert_eq!(compared["strategies"][1]["obstacles"][0]["code"], "own_cache", "{compared:#}");
    let printed = stdout(&["advise", path, "-q"]);
    assert!(printed.contains("No change is advised."), "{printed}");
    // The cache's entries and what wrote them are unknown: neither may be told.
    let turns = stdout(&["analyze", path, "-q"]);
    assert!(!turns.contains("background request") && !turns.contains("last marker"), "{turns}");
    let told = stdout(&["explain", "req_2", path, "-q"]).replace('\n', " ");
    assert!(!told.contains("not recorded wrote") && !told.contains("came in time"), "{told}");
}

#[test]
fn another_cache_stays_as_recorded_beside_others() {
    let mut own = Session::new();
    own.id = "t";
    own.prompt("begin").end("A", 12_000, 30_500);
    own.wait(400).prompt("go on").end("C", 42_500, 500);
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("a.jsonl"), without_writes(&[50_001, 0, 55_003, 0, 57_007]))
        .expect("written");
    std::fs::write(folder.path().join("b.jsonl"), own.text()).expect("written");
    let path = folder.path().to_str().expect("a plain path");
    let rows = stdout(&["analyze", path, "--strategy", "billed,5m", "--format", "jsonl", "-q"]);
    let rows: Vec<Value> =
        rows.lines().map(|row| serde_json::from_str(row).expect("a row")).collect();
    let reads = |session: &str, strategy: &str| -> Vec<u64> {
        let rows =
            rows.iter().filter(|row| row["session_id"] == session && row["strategy"] == strategy);
        rows.map(|row| row["cache_read_input_tokens"].as_u64().expect("a number")).collect()
    };
    assert_eq!(reads("s", "5m"), [50_001, 0, 55_003, 0, 57_007]);
    assert_eq!(reads("s", "billed"), reads("s", "5m"));
    // A pause of nearly seven minutes outlives the five minutes of the other session.
    assert_ne!(reads("t", "billed"), reads("t", "5m"));
    let verified = report(&["verify", path, "-q", "--format", "json"]);
    assert_eq!(verified["not_simulated"][0]["reason"], "own_cache", "{verified:#}");
}

#[test]
fn nothing_is_advised_where_the_rules_predict_few_reads() {
    let mut session = Session::new();
    session.prompt("begin").end("A", 12_000, 30_000);
    // Each reads tokens that nothing had written.
    for (id, read) in [("B", 60_000), ("C", 80_000), ("D", 100_000)] {
        session.wait(400).prompt("go on").end(id, read, 100);
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("session.jsonl");
    std::fs::write(&path, session.text()).expect("written");
    let path = path.to_str().expect("a plain path");
    let told = report(&["advise", path, "-q", "--format", "json"]);
    assert_eq!(told["advice"]["changes"], json!([]));
    assert_eq!(told["advice"]["withheld"], "reads");
    for command in ["advise", "analyze", "compare"] {
        let printed = stdout(&[command, path, "-q"]).replace('\n', " ");
        assert!(printed.contains("no saving by these rules is to be believed"), "{printed}");
    }
}

#[test]
fn reads_in_steps_of_128_are_of_another_cache() {
    let mut session = Session::new();
    session.prompt("begin").end("A", 12_800, 40_000);
    session.prompt("go on").end("B", 25_600, 30_000);
    session.prompt("go on").end("C", 38_400, 20_000);
    assert_eq!(causes(&session), ["own_cache"; 2]);
}

#[test]
fn a_write_is_late_for_fifteen_seconds_after_the_answer_alone() {
    for (seconds, is_late) in [(14, true), (15, false)] {
        let mut session = Session::new();
        session.prompt("begin").call("A", 12_000, 30_000);
        session.result().call("B", 42_000, 500);
        session.wait(seconds).result().call("C", 42_000, 1_000);
        assert_eq!(only(&session)["cause"] == "write_not_visible", is_late, "{seconds}");
    }
}

/// A turn in another permission mode that reads so much.
fn in_mode(version: &'static str, mode: &str, read: u64) -> Session {
    let mut session = Session::new();
    session.version = version;
    let prompt = |mode: &str| {
        let message = json!({"role": "user", "content": "go on"});
        json!({"type": "user", "permissionMode": mode, "message": message})
    };
    session.line(&prompt("default"));
    session.end("A", 12_000, 30_000);
    session.prompt("go on").end("B", 42_000, 500);
    session.wait(60).line(&prompt(mode));
    session.end("C", read, 43_000 - read);
    session
}

#[test]
fn another_permission_mode_is_a_cause_before_2_1_100() {
    let row = only(&in_mode("2.1.99", "plan", 12_000));
    assert_eq!(row["cause"], "permission_mode_changed", "{row:#}");
    assert_eq!(row["evidence"][0]["line"], 5);
    let others = [
        in_mode("2.1.100", "plan", 12_000),
        in_mode("2.1.99", "default", 12_000),
        // The mode is told in front of the messages, some of which were read.
        in_mode("2.1.99", "plan", 30_000),
    ];
    for session in others {
        assert_ne!(only(&session)["cause"], "permission_mode_changed");
    }
}

#[test]
fn thinking_is_cleared_after_an_hours_pause_by_some_clients() {
    let lost = |version: &'static str, pause: i64, read: u64| {
        let mut session = Session::new();
        session.version = version;
        let thinking = [json!({"type": "thinking", "thinking": "", "signature": "x"})];
        session.prompt("begin").answer("A", 12_000, 30_000, "end_turn", &thinking);
        session.wait(pause).prompt("go on").end("B", 12_000, 35_000);
        session.wait(60).prompt("go on").end("C", read, 48_000 - read);
        let rows = rows_of_session(&session);
        rows.last().expect("a break")["cause"].as_str().expect("a word").to_owned()
    };
    assert_eq!(lost("2.1.90", 3_700, 40_000), "thinking_cleared");
    assert_ne!(lost("2.1.90", 3_000, 40_000), "thinking_cleared");
    assert_ne!(lost("2.1.113", 3_700, 40_000), "thinking_cleared");
    // The thinking stands behind 42,000 tokens.
    assert_ne!(lost("2.1.90", 3_700, 43_000), "thinking_cleared");
}

#[test]
fn thinking_is_dropped_where_the_read_ends_before_it_or_all_was_read() {
    let cause = |read: u64, written: u64| {
        let mut session = Session::new();
        session.model = "claude-sonnet-4-5-20250929";
        let thinking = json!({"type": "thinking", "thinking": "", "signature": "x"});
        let call = json!({"type": "tool_use", "id": "t", "name": "Bash", "input": {}});
        session.prompt("begin").answer("A", 12_000, 30_000, "tool_use", &[thinking, call]);
        session.result().end("B", 42_000, 20_000);
        session.wait(60).prompt("go on").end("C", read, written);
        only(&session)["cause"].as_str().expect("a word").to_owned()
    };
    // Of 62,002 tokens before, the thinking among them, 61,902 are left.
    assert_eq!(cause(42_000, 19_900), "thinking_stripped");
    assert_ne!(cause(50_000, 11_900), "thinking_stripped");
    // The shorter prompt had been sent before.
    assert_eq!(cause(61_800, 100), "thinking_stripped");
}

#[test]
fn a_prompt_that_shrinks_within_a_turn_lost_old_content() {
    let mut session = in_a_turn();
    session.result().call("C", 12_000, 10_000);
    let row = only(&session);
    assert_eq!(row["cause"], "microcompaction", "{row:#}");
    assert_eq!(row["evidence"][0]["confidence"], "medium");
}

#[test]
fn a_turn_that_ended_is_no_middle_of_it() {
    let mut session = Session::new();
    session.prompt("begin").call("A", 12_000, 30_000);
    session.result().end("B", 42_000, 20_000);
    session.system("turn_duration").wait(60).end("C", 50_000, 13_000);
    let row = only(&session);
    let says = |one: &Value| one["cause"] == "likely_server_side";
    assert!(!row["evidence"].as_array().expect("a list").iter().any(says), "{row:#}");
}

#[test]
fn a_verdict_leaves_no_dropped_entry() {
    for verdict in ["messages_changed", "previous_message_not_found", "unavailable"] {
        let mut session = Session::new();
        session.prompt("begin").call("A", 12_000, 30_000);
        session.result().call("B", 42_000, 500);
        session.verdict = Some(verdict);
        session.result().call("C", 30_000, 13_000);
        let row = only(&session);
        assert_eq!(row["cause"], "messages_rewritten");
        let says = |one: &Value| one["cause"] == "likely_server_side";
        assert!(!row["evidence"].as_array().expect("a list").iter().any(says), "{row:#}");
    }
}

/// Tokens that the rules read at each request of a session.
fn replayed(text: &str) -> Vec<u64> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("agent-a.jsonl");
    std::fs::write(&path, text).expect("written");
    let path = path.to_str().expect("a plain path");
    let arguments = ["analyze", path, "--strategy", "replay", "--format", "jsonl", "-q"];
    let read = |line: &str| -> u64 {
        let row: Value = serde_json::from_str(line).expect("a row");
        row["cache_read_input_tokens"].as_u64().expect("a number")
    };
    stdout(&arguments).lines().map(read).collect()
}

#[test]
fn what_a_compaction_leaves_is_counted_first_and_then_remembered() {
    let mut session = Session::new();
    (session.version, session.is_short, session.agent) = ("2.1.92", true, Some("a"));
    session.prompt(&"word ".repeat(80)).end("A", 0, 100_450);
    session.system("compact_boundary");
    session.prompt("summary").end("B", 100_000, 4_000);
    session.system("compact_boundary");
    session.prompt("summary").end("C", 100_000, 4_500);
    let reads = replayed(&session.text());
    // 400 bytes are some hundred tokens, and about 340 come with them.
    assert!(reads[0] == 0 && reads[1].abs_diff(100_000) < 100, "{reads:?}");
    assert_eq!(reads[2], 100_000);
}

/// A rollout of two turns, the second of which begins after a pause, in some folders, and reads so much.
fn rollout(model: &str, (before, read): (u64, u64), pause: u64, roots: &[&str]) -> String {
    let line = |second: u64, kind: &str, payload: Value| {
        let (hour, minute) = (12 + second / 3_600, second / 60 % 60);
        let at = format!("2026-07-07T{hour:02}:{minute:02}:{:02}.000Z", second % 60);
        json!({"timestamp": at, "type": kind, "payload": payload}).to_string() + "\n"
    };
    let mut total = 0;
    let mut usage = |input: u64, cached: u64, output: u64, reasoning: u64| {
        total += input + output;
        let of = |input: u64, total: u64| {
            json!({"input_tokens": input, "cached_input_tokens": cached, "output_tokens": output,
                "reasoning_output_tokens": reasoning, "total_tokens": total})
        };
        json!({"type": "token_count", "info": {
            "total_token_usage": of(total, total), "last_token_usage": of(input, input + output)}})
    };
    let turn = |roots: &[&str]| {
        json!({"model": model, "effort": "high", "collaboration_mode": {"mode": "default"},
            "workspace_roots": roots})
    };
    let answer = || json!({"type": "message", "role": "assistant", "content": []});
    [
        line(0, "session_meta", json!({"id": "r73", "cwd": "/w/demo"})),
        line(1, "event_msg", json!({"type": "task_started"})),
        line(1, "turn_context", turn(&["/w/demo"])),
        line(4, "response_item", answer()),
        line(5, "event_msg", usage(20_000, 0, 900, 800)),
        line(8, "response_item", answer()),
        line(9, "event_msg", usage(40_000, before, 900, 800)),
        line(20 + pause, "event_msg", json!({"type": "task_started"})),
        line(20 + pause, "turn_context", turn(roots)),
        line(20 + pause, "event_msg", json!({"type": "user_message"})),
        line(24 + pause, "response_item", answer()),
        line(25 + pause, "event_msg", usage(40_500, read, 100, 0)),
    ]
    .concat()
}

#[test]
fn the_reasoning_of_the_turn_before_leaves_the_prompt_with_some_models() {
    // The first prompt ends in front of the first reasoning, after 39 steps of 512 tokens; the second had read
    // 19,968 only, so that nothing is lost unless less is read.
    let cause = |model: &str, before: u64, read: u64| {
        last_cause(rollout(model, (before, read), 0, &["/w/demo"]))
    };
    assert_eq!(cause("gpt-5.5", 19_968, 18_432), "thinking_stripped");
    assert_eq!(cause("gpt-5.5", 19_968, 4_608), "unknown");
    assert_ne!(cause("gpt-5.6-sol", 19_968, 18_432), "thinking_stripped");
    // A read beyond the first reasoning found it.
    assert_ne!(cause("gpt-5.5", 39_936, 30_208), "thinking_stripped");
}

/// Cause of the last break of a rollout.
fn last_cause(rollout: String) -> String {
    let rows = rows_of(&[("rollout-2026-07-07.jsonl", rollout)], &[]);
    rows.last().expect("a break")["cause"].as_str().expect("a word").to_owned()
}

#[test]
fn a_pause_that_outlasts_the_cache_comes_before_the_reasoning_that_left() {
    // GPT-5.5's entries live for an hour. Half of what was cached, 39,936 tokens, is lost with the reasoning.
    let cause = |read: u64| last_cause(rollout("gpt-5.5", (39_936, read), 7_200, &["/w/demo"]));
    assert_eq!(cause(0), "idle_too_long");
    assert_eq!(cause(18_432), "thinking_stripped");
}

#[test]
fn other_folders_of_codex_change_its_instructions() {
    let cause =
        |read: u64, roots: &[&str]| last_cause(rollout("gpt-5.6-sol", (39_936, read), 60, roots));
    assert_eq!(cause(9_984, &["/w/demo", "/w/other"]), "system_prompt_changed");
    assert_eq!(cause(9_984, &["/w/demo"]), "unknown");
    // The first prompt, which tells the folders, has 20,000 tokens.
    assert_eq!(cause(30_208, &["/w/demo", "/w/other"]), "unknown");
}

#[test]
fn progress_lines_cut_no_conversation() {
    let mut session = Session::new();
    let first = session.prompt("begin").call("A", 12_000, 30_000);
    session.result().call("B", 42_000, 500);
    session.result().end("C", 42_500, 700);
    // The progress of the first call is written when the turn is over, and the prompt hangs off it.
    session.go_back_to(&first);
    for _ in 0..2 {
        session.line(&json!({"type": "progress", "data": {"type": "hook_progress"}}));
    }
    let mut other = session.clone();
    let rows = |session: &mut Session, read: u64| -> Vec<bool> {
        session.prompt("go on").end("D", read, 44_000 - read);
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("session.jsonl");
        std::fs::write(&path, session.text()).expect("written");
        let path = path.to_str().expect("a plain path");
        let told = stdout(&["analyze", path, "--strategy", "billed", "--format", "jsonl", "-q"]);
        let is_live = |line: &str| {
            let row: Value = serde_json::from_str(line).expect("a row");
            row["live"].as_bool().expect("a word")
        };
        told.lines().map(is_live).collect()
    };
    // It read what the turn had left, so that it goes on from there.
    assert_eq!(rows(&mut session, 43_200), [true; 4]);
    // A read of what the first request had left is a rewind, as the parents say.
    assert_eq!(rows(&mut other, 42_000), [true, false, false, true]);
}
