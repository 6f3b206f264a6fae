//! Captures as builders of agents have them, one folder of fixtures a kind: `lint`, `breaks` and `advise` name the kind.

use serde_json::{Value, json};

use super::altered::{document, findings};
use crate::common::project;

/// A finding: rule, place, beginning of its words, tokens.
type Expected<'a> = (&'a str, &'a str, &'a str, u64);

/// The findings of a capture of a fixture are these, in the order of the requests.
fn assert_found(capture: &str, expected: &[Expected<'_>]) {
    let mut found = findings(&project(&format!("fixtures/{capture}.jsonl")));
    found.sort_by_key(|one| one["line"].as_u64());
    let text = |one: &Value, key: &str| one[key].as_str().expect("a string").to_owned();
    let told: Vec<(String, String, u64)> = found
        .iter()
        .map(|one| {
            (text(one, "rule"), text(one, "place"), one["tokens"].as_u64().expect("a number"))
        })
        .collect();
    let wanted: Vec<(String, String, u64)> = expected
        .iter()
        .map(|(rule, place, _, tokens)| ((*rule).to_owned(), (*place).to_owned(), *tokens))
        .collect();
    assert_eq!(told, wanted, "{capture}: {found:#?}");
    for (one, (_, _, words, _)) in found.iter().zip(expected) {
        assert!(text(one, "detail").starts_with(words), "{capture}: {}", one["detail"]);
    }
}

/// All that the request before had cached is lost but the first message: 863, then 1,726 bytes (with cut results 863,
/// then 863 + 419, with thinking 249 more, as the thinking of the last step was cached).
#[test]
fn altered_steps_are_named_with_their_reason() {
    let keys = "the same JSON in another key order";
    assert_found(
        "altered-steps/alk",
        &[
            ("key-order", "messages[1].content[1]", keys, 863),
            ("key-order", "messages[3].content[1]", keys, 1_726),
        ],
    );
    let cut = "cut from 600 to 156 characters";
    assert_found(
        "altered-steps/alc",
        &[
            ("history-rewritten", "messages[2].content[0]", cut, 863),
            ("history-rewritten", "messages[4].content[0]", cut, 1_282),
        ],
    );
    let removed = "thinking removed";
    assert_found(
        "altered-steps/alt",
        &[
            ("history-rewritten", "messages[1].content[0]", removed, 1_112),
            ("history-rewritten", "messages[3].content[0]", removed, 1_975),
        ],
    );
}

/// Each request loses the messages that the one before had cached, less what an earlier one with its own setting had.
#[test]
fn settings_that_toggle_are_priced_each_time() {
    let of = |tokens| [("setting-changed", "tool_choice", "tool_choice changed", tokens)];
    assert_found("settings-that-toggle/toc", &of(275 + 863 + 863));
    let effort = [("setting-changed", "effort", "effort changed", 275 + 863 + 863)];
    assert_found("settings-that-toggle/toe", &effort);
    assert_found(
        "settings-that-toggle/tot",
        &[
            ("setting-changed", "thinking", "thinking changed", 275 + 863),
            ("setting-changed", "thinking, tool_choice", "thinking, tool_choice changed", 2_001),
        ],
    );
}

#[test]
fn a_front_that_is_dropped_is_called_so() {
    let gone = "2 messages gone from the front";
    let place = "messages[0].content[0]";
    assert_found("sliding-windows/swa", &[("history-rewritten", place, gone, 6_777)]);
    let gone = "2 messages gone from the middle";
    let place = "messages[1].content[0]";
    assert_found("sliding-windows/swp", &[("history-rewritten", place, gone, 5_178)]);
    let found = findings(&project("fixtures/sliding-windows/swh.jsonl"));
    assert!(found[0]["detail"].as_str().expect("words").contains("gone from the front"));
}

#[test]
fn sessions_that_differ_in_front_of_shared_text_are_compared() {
    for (capture, place, words) in [
        ("seu", "system[0]", "between 4 sessions: the text differs"),
        ("sef", "system[0]", "between 4 sessions: the text differs"),
        ("set", "tools", "between 4 sessions: `write` stands where `read` stood"),
    ] {
        let found = findings(&project(&format!("fixtures/sessions-that-differ/{capture}.jsonl")));
        assert_eq!(found.len(), 1, "{capture}: {found:#?}");
        assert_eq!(found[0]["rule"], "differs-between-sessions");
        assert_eq!((&found[0]["place"], &found[0]["detail"]), (&json!(place), &json!(words)));
        assert_eq!(found[0]["requests"], 3);
        // Three sessions write what they share with the first: tools and system prompt without the part that differs.
        let front: u64 = if capture == "set" { 2_621 } else { 2_637 };
        let tokens = found[0]["tokens"].as_u64().expect("a number");
        assert!(tokens.abs_diff(3 * front) * 50 < 3 * front, "{capture}: {tokens}");
    }
}

#[test]
fn markers_that_the_service_refuses_are_named() {
    let inside = "markers inside messages[4].content[0]";
    for (capture, rule, words) in [
        ("rmd", "request-refused", "a marker on a deferred tool"),
        ("rme", "unmarkable-block", "markers on messages[4].content[1]"),
        ("rmi", "unmarkable-block", inside),
        ("rmm", "request-refused", "a marker on a message, not on a block of it"),
    ] {
        assert_found(&format!("refused-markers/{capture}"), &[(rule, "cache_control", words, 0)]);
    }
}

/// With the last block of each request marked, all that came before would be read: 2,796, 3,612 and 4,428 bytes, and
/// 5,244 written. That costs $0.038193.
#[test]
fn steps_that_no_marker_reaches_have_the_price_of_markers() {
    for (capture, words, tokens, saved) in [
        ("mmn", "nothing is marked", 10_836, 0.080_400 - 0.038_193),
        ("mmr", "messages that come again", 10_836 - 3 * 2_796, 0.046_149 - 0.038_193),
        ("mms", "messages that come again", 10_836 - 3 * 2_621, 0.048_292_75 - 0.038_193),
    ] {
        let name = format!("missing-markers/{capture}");
        assert_found(&name, &[("marker-missing", "markers", words, tokens)]);
        let advice = document(&["advise"], &project(&format!("fixtures/{name}.jsonl")));
        let saving = &advice["advice"]["changes"][0]["saving_usd"];
        let saving: f64 = saving.as_str().expect("dollars").parse().expect("a number");
        assert!((saving - saved).abs() < 1e-9, "{capture}: {saving}");
    }
}

/// `gls` wrote 8,856 for five minutes and read 7,224; granted, 5,244 for an hour, and read 10,836. `gld` was billed 16,080
/// in full. The fourth request of `glo` would have read a step more, and the third written it for more than that.
#[test]
fn lifetimes_that_were_not_granted_are_named() {
    let of = "asked for an hour, got five minutes in";
    let place = "cache_control.ttl";
    let all = format!("{of} 4 of 4: a gateway strips `ttl`");
    assert_found("granted-lifetimes/gls", &[("ttl-not-granted", place, &all, 3_612)]);
    assert_found("granted-lifetimes/glg", &[]);
    let dropped = "nothing written and nothing read in 4 of 4: a gateway drops `cache_control`";
    let place_of_all = "cache_control";
    assert_found(
        "granted-lifetimes/gld",
        &[("markers-without-effect", place_of_all, dropped, 10_836)],
    );
    let some = format!("{of} 2 of 4: usage beyond a plan gets five");
    let found = findings(&project("fixtures/granted-lifetimes/glo.jsonl"));
    assert!(found[0]["detail"].as_str().expect("words").starts_with(&some), "{found:#?}");
    for (capture, cost) in [("gls", 0.058_962 - 0.057_858), ("gld", 0.080_400 - 0.057_858)] {
        let path = project(&format!("fixtures/granted-lifetimes/{capture}.jsonl"));
        let found = findings(&path)[0]["cost_usd"].as_str().expect("dollars").parse::<f64>();
        assert!((found.expect("a number") - cost).abs() < 1e-9, "{capture}");
    }
}

/// Causes of the breaks of a fixture, each with its tokens.
fn causes(capture: &str) -> Value {
    let breaks = document(&["breaks"], &project(&format!("fixtures/{capture}.jsonl")));
    let causes = breaks["by_cause"].as_array().expect("causes").iter();
    causes.map(|one| json!([one["cause"], one["rewritten_tokens"]])).collect()
}

#[test]
fn changes_of_the_service_are_told_apart() {
    assert_eq!(causes("thinking-of-a-turn/scl"), json!([]));
    assert_eq!(causes("thinking-of-a-turn/sct"), json!([["thinking_stripped", 1_066]]));
    // Requests 1 to 3 had 4,428, of which the fourth read 2,796; the two results have 1,000 less.
    assert_eq!(causes("context-edited/scc"), json!([["microcompaction", 1_448]]));
    assert_eq!(causes("granted-lifetimes/gls"), json!([["ttl_expired_5m", 3_612]]));
    assert_eq!(causes("granted-lifetimes/glo"), json!([["ttl_expired_5m", 816]]));
}
