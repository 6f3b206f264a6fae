//! The simulator against the naive one, which keeps whole prefixes: capture files that the input
//! decides about are billed the same by both.

use std::collections::BTreeMap;
use std::num::NonZeroU64;

use cachesim::simulate::strategy::Strategy;
use serde_json::Value;

use super::reading::{options, rows, sources, study};
use crate::capture_file::decided_file;
use crate::naive::{Expected, simulate};

/// More requests take the naive simulator longer than they find.
const MOST_REQUESTS: usize = 12;

pub(crate) fn check(bytes: &[u8]) {
    let Some((first, rest)) = bytes.split_first() else { return };
    let bytes_per_token = NonZeroU64::new(u64::from(first % 4) + 1).expect("at least 1");
    let lines = decided_file(rest, MOST_REQUESTS);
    let file = lines.join("\n");
    let options = options(Some(bytes_per_token));
    let study = study(sources(&[file.as_bytes()]), options).expect("every file has a request");
    let rows = rows(&study, &[Strategy::expected()]);
    let rows = rows.split(|byte| *byte == b'\n').filter(|row| !row.is_empty());
    let rows = rows.map(|row| serde_json::from_slice::<Value>(row).expect("a row"));
    let told: BTreeMap<String, Expected> =
        rows.map(|row| (id_of(&row), Expected::of(&row))).collect();
    let ids = lines.iter().map(|line| id_of(&serde_json::from_str(line).expect("a record")));
    let naive = simulate(&lines, bytes_per_token.get());
    assert_eq!(told, ids.zip(naive).collect(), "{file}");
}

fn id_of(value: &Value) -> String {
    value["request_id"].as_str().expect("the id of a request").to_owned()
}
