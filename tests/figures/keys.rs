//! What is part of a cache key where the documentation leaves it open: the options, the findings of `lint`
//! and the sentences that name the choice, on the fixtures whose `expected.toml` shows their figures.

use serde_json::Value;

use crate::common::{json, project, stdout};

fn on(command: &str, fixture: &str, arguments: &[&str]) -> Value {
    let path = project("fixtures").join(fixture).join("session.jsonl");
    let path = path.to_str().expect("plain");
    json(&[&[command, path, "-q", "--format", "json", "--tokens", "bytes:1"], arguments].concat())
}

/// Read and written tokens of the replay.
fn replayed(fixture: &str, arguments: &[&str]) -> [u64; 3] {
    let arguments = [&["--strategy", "replay"], arguments].concat();
    let totals = &on("analyze", fixture, &arguments)["totals"]["replay"];
    ["cache_read_input_tokens", "ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens"]
        .map(|name| totals[name].as_u64().expect("a count"))
}

/// Rule, tokens, cost and what a latch saves.
fn findings(fixture: &str, arguments: &[&str]) -> Vec<(String, u64, String, Option<String>)> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let found = on("lint", fixture, arguments);
    let finding = |one: &Value| {
        (
            text(&one["rule"]).expect("a rule"),
            one["tokens"].as_u64().expect("a count"),
            text(&one["cost_usd"]).expect("a price"),
            text(&one["latch_saves_usd"]),
        )
    };
    found["findings"].as_array().expect("findings").iter().map(finding).collect()
}

fn found(
    rule: &str,
    tokens: u64,
    cost: &str,
    saves: Option<&str>,
) -> (String, u64, String, Option<String>) {
    (rule.to_owned(), tokens, cost.to_owned(), saves.map(str::to_owned))
}

#[test]
fn the_attribution_line_is_part_of_the_key_where_the_option_says_so() {
    let fixture = "attribution-neutral";
    assert_eq!(replayed(fixture, &[]), [5_500, 3_300, 0]);
    assert_eq!(replayed(fixture, &["--attribution", "neutral"]), [5_500, 3_300, 0]);
    // Another line in each of three requests of 2,500, 3,000 and 3,300.
    assert_eq!(replayed(fixture, &["--attribution", "literal"]), [0, 8_800, 0]);
    let gateway = "attribution-behind-a-gateway";
    assert_eq!(replayed(gateway, &["--attribution", "neutral"]), [2_500, 3_000, 0]);
    let bundles = "attribution-of-bundles";
    assert_eq!(replayed(bundles, &["--attribution", "neutral"]), [5_000, 0, 6_000]);
    assert_eq!(replayed(bundles, &["--attribution", "literal"]), [0, 0, 11_000]);
}

#[test]
fn lint_and_designs_agree_with_the_attribution_option() {
    let fixture = "attribution-neutral";
    assert_eq!(findings(fixture, &[]), []);
    let literal = findings(fixture, &["--attribution", "literal"]);
    // Of what the first two had cached, all but the three letters of `cch` that differ comes back; the
    // exact share is that of the bytes: 2,500 - 37 and 3,000 - 37 tokens at $6.25 - $0.50 a million.
    assert_eq!(literal.len(), 1);
    assert_eq!(literal[0].0, "attribution-changes");
    let read = |arguments: &[&str]| {
        let arguments = [&["--strategy", "as-recorded,stable-attribution"], arguments].concat();
        let compared = on("compare", fixture, &arguments);
        [0, 1].map(|at| {
            let strategy = &compared["strategies"][at];
            let read = strategy["totals"]["cache_read_input_tokens"].as_u64();
            (strategy["applicable"] == true).then_some(read.expect("a count"))
        })
    };
    // Where the line is neutral there is nothing to keep stable.
    assert_eq!(read(&[]), [Some(5_500), None]);
    assert_eq!(read(&["--attribution", "literal"]), [Some(0), Some(5_500)]);
}

#[test]
fn beta_features_that_flip_have_a_price_and_a_latch() {
    let fixture = "beta-features-that-flip";
    // 2,500 of r1, then 3,000 - 2,500 and 3,500 - 3,000, at $6.25 - $0.50. Latched, r2 to r4 share one
    // key: 6,500 are read and as many written, $0.043875 for $0.049625.
    let expected = found("betas-changed", 3_500, "0.020125", Some("0.00575"));
    assert_eq!(findings(fixture, &[]), [expected]);
    let compared = on("compare", fixture, &["--strategy", "replay,latched-settings"]);
    assert_eq!(compared["strategies"][1]["totals"]["cost_usd"], "0.043875");
    // Beside the key nothing is lost: 2,500, 3,000 and 3,500 are read.
    assert_eq!(replayed(fixture, &["--betas", "beside"]), [9_000, 4_000, 0]);
    assert_eq!(findings(fixture, &["--betas", "beside"]), []);
}

#[test]
fn a_change_of_ttl_has_a_price_under_either_reading() {
    let fixture = "ttl-that-changes";
    // Nothing is lost, and five minutes throughout would have cost $0.042875 for $0.03125.
    let expected = found("ttl-changed", 0, "0", Some("-0.011625"));
    assert_eq!(findings(fixture, &[]), [expected]);
    // The 2,000 of r1, written for an hour: $10 - $0.50; and $0.042875 for $0.05025.
    let expected = found("ttl-changed", 2_000, "0.019", Some("0.007375"));
    assert_eq!(findings(fixture, &["--ttl-change", "loses"]), [expected]);
    let severity = |arguments: &[&str]| {
        on("lint", fixture, arguments)["findings"][0]["severity"].as_str().map(str::to_owned)
    };
    assert_eq!(severity(&[]).as_deref(), Some("note"), "the remedy costs more");
    assert_eq!(severity(&["--ttl-change", "loses"]).as_deref(), Some("warning"));
}

#[test]
fn edits_that_are_dropped_or_idle_are_named() {
    // t9 is nothing, in r5 and r6.
    assert_eq!(findings("cached-edits", &[]), [found("idle-edit", 0, "0", None)]);
    // 2,800 were cached, of which 1,000 are read; 1,800 at $6.25 - $0.50.
    let expected = found("edit-dropped", 1_800, "0.01035", None);
    assert_eq!(findings("cached-edits-beside-a-system-prompt", &[]), [expected]);
}

/// Every output names what is assumed of the key, and only where something rests on it.
#[test]
fn assumptions_are_named() {
    for (fixture, words) in [
        ("cached-edits", "cache_edits"),
        ("attribution-neutral", "is no part of the cache key"),
        ("attribution-behind-a-gateway", "is part of the cache key"),
        ("beta-features-that-flip", "--assume betas=key"),
        ("ttl-that-changes", "--assume ttl-change=keeps"),
    ] {
        let path = project("fixtures").join(fixture).join("session.jsonl");
        let path = path.to_str().expect("plain");
        for command in ["analyze", "compare", "breaks", "lint"] {
            let shown =
                stdout(&[command, path, "-q"]).split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(shown.contains(words), "{command} {fixture}: {shown}");
            if command != "breaks" {
                let assumed = on(command, fixture, &[])["assumptions"].clone();
                assert!(assumed[0].as_str().is_some_and(|text| text.contains(words)), "{assumed}");
            }
        }
    }
    assert!(on("analyze", "side-query", &[])["assumptions"].is_null());
}
