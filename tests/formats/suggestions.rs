//! Suggestions: requests at the end of a turn that no line tells of. Where both outcomes are possible,
//! `verify` counts apart what it could not know, and a shorter lifetime than the recorded one trusts
//! only what was seen.

use std::fmt::Write as _;
use std::fs;

use cachesim::base::units::Millis;
use serde_json::Value;
use tempfile::TempDir;

use crate::common::{count, json, ledger, utf8};

/// Lines of a session of one turn after another: when each prompt came, how long after it its answer,
/// and what that read and wrote for an hour. Every answer has 1,000 tokens.
fn turns(turns: &[(i64, i64, u64, u64)]) -> String {
    let at = |seconds: i64| Millis::new(1_785_747_600_000 + seconds * 1_000).to_string();
    let mut parent = "null".to_owned();
    let mut text = String::new();
    let mut line = |kind: &str, own: String, time: String, rest: String| {
        writeln!(
            text,
            r#"{{"type":"{kind}","uuid":"{own}","parentUuid":{parent},"sessionId":"s","version":"2.1.226","timestamp":"{time}",{rest}}}"#
        )
        .expect("text takes all");
        parent = format!("\"{own}\"");
    };
    for (number, (prompt, answer, read, written)) in turns.iter().enumerate() {
        let content = r#""message":{"role":"user","content":"go on"}"#.to_owned();
        line("user", format!("u{number}"), at(*prompt), content);
        let usage = format!(
            r#""usage":{{"input_tokens":2,"cache_read_input_tokens":{read},"cache_creation_input_tokens":{written},"cache_creation":{{"ephemeral_5m_input_tokens":0,"ephemeral_1h_input_tokens":{written}}},"output_tokens":1000}}"#
        );
        let message = format!(
            r#""requestId":"r{number}","message":{{"id":"m{number}","model":"claude-opus-5","stop_reason":"end_turn","content":[{{"type":"text","text":"Done."}}],{usage}}}"#
        );
        line("assistant", format!("a{number}"), at(prompt + answer), message);
        let end = r#""subtype":"turn_duration""#.to_owned();
        line("system", format!("e{number}"), at(prompt + answer + 1), end);
    }
    text
}

/// Writes a session, and calls `look` with its path.
fn with_session<T>(of: &[(i64, i64, u64, u64)], look: impl FnOnce(&std::path::Path) -> T) -> T {
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("session.jsonl");
    fs::write(&path, turns(of)).expect("written");
    look(&path)
}

fn verified(of: &[(i64, i64, u64, u64)]) -> (u64, u64) {
    with_session(of, |path| {
        let report = json(&["verify", "--json", utf8(path)]);
        let requests = |name: &str| -> u64 { report[name]["requests"].as_u64().expect("a count") };
        let apart = report["coverage"]["left_out"]["untold_suggestions"].as_u64();
        assert_eq!(apart, Some(requests("untold_suggestions")));
        (requests("all"), requests("untold_suggestions"))
    })
}

/// The opening leaves 15,000 tokens, and its answer has 1,000.
const OPENING: (i64, i64, u64, u64) = (0, 10, 12_000, 3_000);

#[test]
fn what_no_line_tells_is_counted_apart() {
    // As expected of the first turn of a session: no suggestion.
    assert_eq!(verified(&[OPENING, (60, 10, 15_000, 1_050)]), (1, 0));
    // The answer was read: there was one.
    assert_eq!(verified(&[OPENING, (60, 10, 16_000, 50)]), (0, 1));
    // Neither explains this read.
    assert_eq!(verified(&[OPENING, (60, 10, 15_500, 550)]), (1, 0));
}

#[test]
fn after_a_turn_with_one_the_next_is_expected_and_may_be_missing() {
    let seen = (60, 10, 16_000, 50);
    assert_eq!(verified(&[OPENING, seen, (120, 10, 17_050, 60)]), (1, 1));
    assert_eq!(verified(&[OPENING, seen, (120, 10, 16_050, 1_060)]), (0, 2));
}

#[test]
fn a_shorter_lifetime_trusts_what_was_seen() {
    // The answer takes 200 seconds, and the prompt after it comes 351 seconds after the one before: within
    // five minutes of a suggestion, but not of the request.
    let seen = (60, 200, 16_000, 50);
    let read = |last: (i64, i64, u64, u64), strategy: &str| {
        with_session(&[OPENING, seen, last], |path| {
            let rows: Vec<Value> = ledger(path, &["--strategy", strategy]);
            count(rows.last().expect("a row"), "cache_read_input_tokens")
        })
    };
    let with = (411, 10, 17_050, 60);
    let without = (411, 10, 16_050, 1_060);
    assert_eq!((read(with, "5m"), read(without, "5m")), (17_050, 12_000));
    // The recorded lifetime does not depend on what the request itself read.
    assert_eq!((read(with, "1h"), read(without, "1h")), (17_050, 17_050));
}
