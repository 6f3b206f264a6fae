//! What sessions of other agents cannot tell: requests that look alike to everyone who reads the record, of which one
//! found what was sent before and another did not. No rule over what is recorded can expect both.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::Value;

use crate::common::{count, ledger, prompt_of, shared};

/// A request that goes on from another one of its model, as far as a record shows it.
struct Continued {
    client: String,
    model: String,
    /// Since the request before, in milliseconds.
    pause: i64,
    /// The prompt before.
    before: u64,
    read: u64,
    expected: u64,
    prompt: u64,
}

impl Continued {
    /// Whether it read over 1 % of its prompt less than the rules expect.
    fn is_miss(&self) -> bool {
        self.expected.saturating_sub(self.read) * 100 > self.prompt
    }

    fn is_as_expected(&self) -> bool {
        self.expected.abs_diff(self.read) * 100 <= self.prompt
    }

    /// Whether it looks like another one: the same client, model, pause and size, within what a minute more of work
    /// or one more result changes.
    fn looks_like(&self, other: &Self) -> bool {
        let close = (self.pause / 5).max(5_000);
        self.client == other.client
            && self.model == other.model
            && (self.pause - other.pause).abs() <= close
            && self.before.abs_diff(other.before) <= 2_048
    }
}

/// The requests of `OpenAI`'s models in both collections.
fn continued() -> Vec<Continued> {
    let folders = ["agents", "corpus"].into_iter().filter_map(shared);
    let mut rows: Vec<Value> = Vec::new();
    for folder in folders {
        rows.extend(ledger(&folder, &["--strategy", "billed,replay"]));
    }
    let mut expected: BTreeMap<(String, u64), u64> = BTreeMap::new();
    let place = |row: &Value| (row["file"].to_string(), row["line"].as_u64().unwrap_or_default());
    let (replayed, billed): (Vec<Value>, Vec<Value>) = rows
        .into_iter()
        .filter(|row| row["model"].as_str().is_some_and(|model| model.starts_with("gpt-5")))
        .partition(|row| row["strategy"] == "replay");
    for row in &replayed {
        expected.insert(place(row), count(row, "cache_read_input_tokens"));
    }
    let files = billed.chunk_by(|row, next| row["file"] == next["file"]);
    let pairs = files.flat_map(|rows| rows.windows(2));
    let time = |row: &Value| -> i64 {
        let time: Timestamp = row["timestamp"].as_str().expect("a time").parse().expect("a time");
        time.as_millisecond()
    };
    let text = |row: &Value, field: &str| row[field].as_str().expect("text").to_owned();
    pairs
        .filter(|pair| pair[0]["model"] == pair[1]["model"])
        .filter_map(|pair| {
            Some(Continued {
                client: text(&pair[1], "source"),
                model: text(&pair[1], "model"),
                pause: time(&pair[1]) - time(&pair[0]),
                before: prompt_of(&pair[0]),
                read: count(&pair[1], "cache_read_input_tokens"),
                expected: *expected.get(&place(&pair[1]))?,
                prompt: prompt_of(&pair[1]),
            })
        })
        .collect()
}

#[test]
fn most_misses_in_codex_look_like_requests_that_found_everything() {
    let all = continued();
    if all.is_empty() {
        return;
    }
    let misses: Vec<&Continued> =
        all.iter().filter(|one| one.client == "codex" && one.is_miss()).collect();
    let has_twin = |miss: &&&Continued| {
        all.iter().any(|other| other.is_as_expected() && other.looks_like(miss))
    };
    let alike = misses.iter().filter(has_twin).count();
    assert!(misses.len() >= 30, "{} misses", misses.len());
    assert!(alike * 10 >= misses.len() * 6, "{alike} of {} misses", misses.len());
}
