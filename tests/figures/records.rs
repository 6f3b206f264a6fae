//! Client's records of tools and system prompt, on a fixture worked out by hand.

use std::fs;

use serde_json::Value;

use crate::common::{count, fixture, json, stdout};

/// Line, cause, and first evidence with its line, of each break.
fn causes() -> Vec<(u64, String, String, u64)> {
    let path = fixture("prompt-snapshots");
    let printed = stdout(&["breaks", &path, "--format", "jsonl", "-q"]);
    let rows = printed.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    rows.map(|row| {
        let evidence = &row["evidence"][0];
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let line = evidence["line"].as_u64().unwrap_or_default();
        (count(&row, "line"), word(&row["cause"]), word(&evidence["meaning"]), line)
    })
    .collect()
}

#[test]
fn records_show_changes_and_rule_them_out() {
    let length = "a length not seen before in this chain was readable";
    let expected = [
        // A server with two tools was lost.
        (9, "tools_changed", "tools gone: mcp__till__open, mcp__till__close", 7),
        (
            12,
            "system_prompt_changed",
            "block 1 of the system prompt differs from its line 2 on",
            10,
        ),
        // A tool came, but messages behind the tools were read.
        (15, "messages_rewritten", length, 15),
        // Nothing was readable, and yet tools and system prompt are the same.
        (18, "unknown", "", 0),
    ];
    let expected =
        expected.map(|(line, cause, meaning, at)| (line, cause.to_owned(), meaning.to_owned(), at));
    assert_eq!(causes(), expected);
}

#[test]
fn lost_tools_are_kept_and_not_loaded_earlier() {
    let page = json(&["advise", &fixture("prompt-snapshots"), "-q", "--format", "json"]);
    let changes = page["advice"]["changes"].as_array().expect("changes");
    let of_tools = changes.iter().find(|change| change["code"] == "tools_changed");
    let label = of_tools.map(|change| &change["label"]);
    assert_eq!(label, Some(&"Keep the tools of a session until it ends".into()), "{page}");
}

/// Tokens of these kinds, each item counted once.
fn sent(path: &str, kinds: &[&str]) -> u64 {
    let page = json(&["context", path, "-q", "--format", "json"]);
    let all = page["kinds"].as_array().expect("kinds");
    let chosen = all.iter().filter(|kind| kinds.iter().any(|name| kind["kind"] == **name));
    chosen.map(|kind| count(kind, "tokens")).sum()
}

#[test]
fn records_divide_the_hidden_prefix_and_are_no_part_of_it() {
    let path = fixture("prompt-snapshots");
    let folder = tempfile::tempdir().expect("a folder");
    let without = folder.path().join("session.jsonl");
    let lines = fs::read_to_string(format!("{path}/session.jsonl")).expect("a file");
    // Another record of the client, which is no part of the prompt either.
    fs::write(&without, lines.replace("prompt_snapshot", "credential_org")).expect("written");
    let without = without.to_str().expect("a plain path");
    let front = ["tools", "system_prompt", "hidden_prefix"];
    assert_eq!(sent(without, &["tools", "system_prompt"]), 0);
    assert!(sent(&path, &["tools"]) > 0 && sent(&path, &["system_prompt"]) > 0);
    assert_eq!(sent(&path, &front), sent(without, &front));
}
