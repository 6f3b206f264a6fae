//! Generated trees with exact truth: totals, and what the same requests cost with every chain on
//! one TTL.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::common::{count, ledger, shared, skip};

struct Tree {
    folder: tempfile::TempDir,
    truth: Value,
}

fn generate(seed: u32, more: &[&str]) -> Option<Tree> {
    let script = shared("tools/gen_transcripts.py")?;
    let folder = tempfile::tempdir().expect("a folder");
    let arguments = ["--mb", "4", "--sessions", "16", "--seed"].map(str::to_owned);
    let status = Command::new("python3")
        .arg(script)
        .arg("--out")
        .arg(folder.path())
        .args(arguments)
        .arg(seed.to_string())
        .args(more)
        .stdout(std::process::Stdio::null())
        .status();
    let Ok(status) = status else {
        skip("python3");
        return None;
    };
    assert!(status.success());
    let text = std::fs::read_to_string(folder.path().join("truth.json")).expect("the truth");
    Some(Tree { truth: serde_json::from_str(&text).expect("JSON"), folder })
}

/// Dollars of the rows of one strategy, on the main chains or on the others.
fn dollars(rows: &[Value], strategy: &str, is_side: bool) -> f64 {
    rows.iter()
        .filter(|row| row["strategy"] == strategy && row["agent_id"].is_null() != is_side)
        .map(|row| row["cost_usd"].as_str().expect("a price").parse::<f64>().expect("a number"))
        .sum()
}

fn tokens(rows: &[Value], strategy: &str, columns: &[&str]) -> u64 {
    rows.iter()
        .filter(|row| row["strategy"] == strategy)
        .flat_map(|row| columns.iter().map(|column| count(row, column)))
        .sum()
}

/// Whether some request fell to the shared prefix after a gap that the recorded TTL outlived and
/// the five minutes did not. In the generator most of these are "changes" to the model that was in
/// use already, which read the shared prefix under every policy; some are breaks, and read nothing
/// where the policy has let the chain expire. The transcript does not tell which.
fn is_ambiguous(kept: &[Value], dropped: &[Value]) -> bool {
    let read = |row: &Value| count(row, "cache_read_input_tokens");
    kept.chunks(4).zip(dropped.chunks(4)).any(|(kept, dropped)| {
        let fell = read(&kept[0]) != read(&kept[1]);
        fell && dropped[2..].iter().any(|row| read(row) < read(&kept[0]))
    })
}

/// Whether the tree's counterfactuals equal the truth; they have to, unless it is ambiguous.
fn check(seed: u32, more: &[&str]) -> bool {
    let Some(tree) = generate(seed, more) else { return true };
    let path: &Path = tree.folder.path();
    let arguments = ["--strategy", "billed,replay,5m,1h", "--shared-prefix", "cold"];
    let rows = ledger(path, &arguments);
    let total = &tree.truth["total"];
    assert_eq!(tokens(&rows, "billed", &["input_tokens"]), total["input"]);
    assert_eq!(tokens(&rows, "billed", &["output_tokens"]), total["output"]);
    assert_eq!(tokens(&rows, "billed", &["cache_read_input_tokens"]), total["cache_read"]);
    assert_eq!(tokens(&rows, "billed", &["ephemeral_5m_input_tokens"]), total["write_5m"]);
    assert_eq!(tokens(&rows, "billed", &["ephemeral_1h_input_tokens"]), total["write_1h"]);
    let differences = differences(&rows, total);
    if !differences.is_empty() {
        let dropped = ledger(path, &[&arguments[..], &["--breaks", "drop"]].concat());
        assert!(is_ambiguous(&rows, &dropped), "seed {seed}: {}", differences.join("; "));
    }
    differences.is_empty()
}

fn differences(rows: &[Value], total: &Value) -> Vec<String> {
    let mut differences = Vec::new();
    for (policy, strategy) in [("as_run", "billed"), ("5m", "5m"), ("1h", "1h")] {
        for (chains, is_side) in [("main", false), ("sidechain", true)] {
            let truth = total["what_if"][policy][chains].as_f64().expect("dollars");
            let ours = dollars(rows, strategy, is_side);
            if (truth - ours).abs() >= 0.005 {
                differences.push(format!("{policy} of {chains} is {truth}, found {ours}"));
            }
        }
    }
    for strategy in ["5m", "1h"] {
        let truth = total["what_if"][strategy]["cache_read"].as_u64().expect("tokens");
        let ours = tokens(rows, strategy, &["cache_read_input_tokens"]);
        if truth != ours {
            differences.push(format!("{strategy} reads {truth}, found {ours}"));
        }
    }
    differences
}

#[test]
fn totals_and_counterfactuals_equal_the_truth_to_the_cent() {
    let exact = (1..=12).filter(|seed| check(*seed, &[])).count();
    assert!(exact >= 11, "{exact} of 12 trees equal the truth");
}

#[test]
fn in_file_side_conversations_are_chains_of_their_own() {
    let exact = (21..=26).filter(|seed| check(*seed, &["--inline-sidechains"])).count();
    assert!(exact >= 5, "{exact} of 6 trees equal the truth");
}
