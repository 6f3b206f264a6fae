//! Captured requests, bundles and claude-trace logs: real exchanges, sizes, and bad input.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use cachesim::read::capture::{CaptureOptions, PrefixHash};
use cachesim::read::input::{Kind, discover};
use cachesim::requests::conversation::{History, read};
use serde_json::{Value, json};

use crate::common::{cachesim, captures, count, ledger, project, prompt_of, run, stdout, text};

const BYTES: [&str; 4] = ["--tokens", "bytes:1", "--strategy", "replay"];

/// The read and the end of the cached prefix of a row.
fn cached(row: &Value) -> (u64, u64) {
    let read = count(row, "cache_read_input_tokens");
    let written = count(row, "ephemeral_5m_input_tokens") + count(row, "ephemeral_1h_input_tokens");
    (read, read + written)
}

/// A recorded read of just what an earlier request of the file had cached is read in the
/// simulation, too.
#[test]
fn real_exchanges_read_what_earlier_ones_wrote() {
    let files = captures();
    let mut proofs = 0;
    for file in &files {
        let billed = ledger(file, &["--strategy", "billed"]);
        let replay = ledger(file, &["--strategy", "replay"]);
        for (number, row) in billed.iter().enumerate() {
            let (read, _) = cached(row);
            let is_from_the_file =
                read > 0 && billed[..number].iter().any(|before| cached(before).1 == read);
            if is_from_the_file {
                assert_eq!(cached(&replay[number]).0, read, "{}", file.display());
                proofs += 1;
            }
            assert_eq!(prompt_of(&replay[number]), prompt_of(row), "totals are exact");
        }
    }
    assert!(files.is_empty() || proofs >= 9, "{proofs} exchanges prove anything");
}

/// How far estimates without any usage are from the recorded prompts. Requests with server tools
/// are left out: their usage adds up several samplings.
#[test]
fn estimated_sizes_are_near_the_recorded_ones() {
    let scratch = tempfile::tempdir().expect("a folder");
    let (mut errors, mut largest) = (Vec::new(), 0.0_f64);
    for file in captures() {
        let records = fs::read_to_string(&file).expect("a file");
        if records.contains("code_execution") {
            continue;
        }
        let stripped = scratch.path().join("capture.jsonl");
        let without_usage = records.lines().map(|line| {
            let mut record: Value = serde_json::from_str(line).expect("a record");
            record.as_object_mut().expect("an object").remove("usage");
            record.to_string()
        });
        fs::write(&stripped, without_usage.collect::<Vec<_>>().join("\n")).expect("a file");
        let recorded = ledger(&file, &["--strategy", "billed"]);
        let estimated = ledger(&stripped, &["--strategy", "replay", "--tokens", "estimated"]);
        for (recorded, estimated) in recorded.iter().zip(&estimated) {
            let (recorded, estimated) = (prompt_of(recorded), prompt_of(estimated));
            #[allow(clippy::cast_precision_loss)] // a share
            let error = estimated.abs_diff(recorded) as f64 / recorded as f64;
            println!("{recorded} recorded, {estimated} estimated");
            largest = largest.max(error);
            errors.push(error);
        }
    }
    if errors.is_empty() {
        return;
    }
    #[allow(clippy::cast_precision_loss)] // a mean
    let mean = errors.iter().sum::<f64>() / errors.len() as f64;
    println!("{} requests: mean {mean:.3}, largest {largest:.3}", errors.len());
    assert!(mean < 0.10, "mean {mean}");
    assert!(largest < 0.25, "largest {largest}");
}

fn read_all(paths: &[PathBuf]) -> History {
    read(discover(paths), CaptureOptions::default(), |_| {})
}

fn hashes(history: &History) -> BTreeSet<PrefixHash> {
    history.captured.tree.nodes.iter().map(|node| node.hash).collect()
}

#[test]
fn the_tree_does_not_depend_on_the_order_of_files_and_threads() {
    let mut files: Vec<PathBuf> = ["captured-clock", "captured-mixed-ttl", "bundled-session"]
        .iter()
        .map(|name| project("fixtures").join(name).join("session.jsonl"))
        .collect();
    files.extend(captures());
    let forwards = read_all(&files);
    files.reverse();
    let backwards = read_all(&files);
    assert_eq!(hashes(&forwards), hashes(&backwards));
    assert_eq!(hashes(&forwards).len(), forwards.captured.tree.nodes.len(), "each prefix once");
    let folder = project("fixtures");
    let folder = folder.to_str().expect("plain");
    let with = |jobs: &str| {
        stdout(&[
            "analyze", folder, "-q", "--format", "jsonl", "--tokens", "bytes:3", "--jobs", jobs,
        ])
    };
    assert_eq!(with("1"), with("2"));
    assert_eq!(with("1"), with("8"));
}

/// A capture in a folder of its own.
struct Scratch {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

fn capture(lines: &[Vec<u8>]) -> Scratch {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("capture.jsonl");
    fs::write(&path, lines.join(&b'\n')).expect("a file");
    Scratch { _folder: folder, path }
}

fn record(id: &str, seconds: u64, block: &Value) -> Value {
    json!({
        "timestamp": format!("2026-09-01T10:00:{seconds:02}.000Z"),
        "request_id": id,
        "request": {
            "model": "claude-opus-5",
            "system": [{"type": "text", "text": "s".repeat(2_000)}],
            "messages": [{"role": "user", "content": [block]}],
            "cache_control": {"type": "ephemeral"},
        },
    })
}

fn bytes(value: &Value) -> Vec<u8> {
    value.to_string().into_bytes()
}

fn skipped(path: &Path, kind: Kind) -> u64 {
    read_all(&[path.to_owned()]).diagnostics.count(kind)
}

#[test]
fn bad_records_are_counted_and_cost_only_themselves() {
    let good = bytes(&record("r1", 0, &json!({"type": "text", "text": "a"})));
    let without = |key: &str, from: &[&str]| {
        let mut record = record("r2", 1, &json!({"type": "text", "text": "b"}));
        let mut object = &mut record;
        for step in from {
            object = &mut object[*step];
        }
        object.as_object_mut().expect("an object").remove(key);
        bytes(&record)
    };
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let nested = String::from_utf8(bytes(&record("r2", 1, &json!({"type": "x", "input": 7}))));
    let nested = nested.expect("text").replace("\"input\":7", &format!("\"input\":{deep}"));
    let mut not_utf8 = good.clone();
    not_utf8[40] = 0xff;
    for (bad, kind) in [
        (without("request", &[]), Kind::NotAMessagesRequest),
        (without("model", &["request"]), Kind::NotAMessagesRequest),
        (without("messages", &["request"]), Kind::NotAMessagesRequest),
        (without("timestamp", &[]), Kind::MissingTimestamp),
        (nested.into_bytes(), Kind::TooDeep),
        (not_utf8, Kind::NotUtf8),
        (good[..good.len() - 9].to_vec(), Kind::TornLine),
        (b"[1]".to_vec(), Kind::NotAnObject),
        (b"{\"request\":7}".to_vec(), Kind::NotAMessagesRequest),
    ] {
        let scratch = capture(&[good.clone(), bad]);
        assert_eq!(skipped(&scratch.path, kind), 1, "{kind:?}");
        assert_eq!(ledger(&scratch.path, &BYTES).len(), 1, "{kind:?}");
        let strict = run(&["analyze", scratch.path.to_str().expect("plain"), "--strict", "-q"]);
        assert_eq!(strict.status.code(), Some(4), "{kind:?}");
    }
}

#[test]
fn unknown_blocks_are_kept_and_counted() {
    let block = json!({"type": "hologram", "data": "x".repeat(500)});
    let scratch = capture(&[bytes(&record("r1", 0, &block)), bytes(&record("r2", 9, &block))]);
    let rows = ledger(&scratch.path, &BYTES);
    let size = block.to_string().len() as u64
        + json!({"text": "s".repeat(2_000), "type": "text"}).to_string().len() as u64;
    assert_eq!(prompt_of(&rows[0]), size);
    assert_eq!(cached(&rows[1]).0, size, "the same bytes are the same prefix");
}

#[test]
fn copies_count_once_and_shared_ids_are_named() {
    let one = record("r1", 0, &json!({"type": "text", "text": "a"}));
    let other = record("r1", 5, &json!({"type": "text", "text": "b"}));
    let scratch = capture(&[bytes(&one), bytes(&one), bytes(&other)]);
    let history = read_all(std::slice::from_ref(&scratch.path));
    assert_eq!((history.requests.len(), history.duplicates), (2, 1));
    assert_eq!(history.diagnostics.count(Kind::DuplicateRequestId), 1);
}

#[test]
fn an_image_of_twenty_megabytes_is_one_block() {
    let data = "iVBORw0KGgo".repeat(20 * 1024 * 1024 / 11);
    let source = json!({"type": "base64", "media_type": "image/png", "data": data});
    let image = json!({"type": "image", "source": source});
    let scratch = capture(&[bytes(&record("r1", 0, &image)), bytes(&record("r2", 9, &image))]);
    let rows = ledger(&scratch.path, &["--strategy", "replay"]);
    assert!(prompt_of(&rows[0]) < 10_000, "{}", rows[0]);
    assert_eq!(cached(&rows[1]).0, cached(&rows[0]).1);
}

#[test]
fn a_bundle_is_placed_and_then_simulated() {
    let bundle = project("fixtures/bundled-session/session.jsonl");
    let bundle = bundle.to_str().expect("plain");
    let placed = stdout(&["place", bundle]);
    assert_eq!(placed.lines().count(), 3);
    let arguments = ["analyze", "-", "-q", "--format", "csv", "--tokens", "bytes:1"];
    let piped = cachesim().args(arguments).write_stdin(placed).output().expect("it runs");
    let direct = stdout(&["analyze", bundle, "-q", "--format", "csv", "--tokens", "bytes:1"]);
    assert_eq!(text(&piped.stdout), direct.replace(",session.jsonl,", ",'-,"));
}

#[test]
fn a_record_that_cannot_be_placed_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("bundle.jsonl");
    let volatile = r#"{"request_id":"r1","prompt":{"model":"m","system":[{"section":"x","text":"t","volatile":true}],"messages":[]}}"#;
    fs::write(&path, format!("{volatile}\n{{\"prompt\":7}}\n{{\"a\":1}}\n")).expect("a file");
    let output = run(&["place", path.to_str().expect("plain"), "--strict"]);
    assert_eq!(output.status.code(), Some(4));
    let error = "{\"request_id\":\"r1\",\"error\":\"volatile_without_reason\"}\n";
    assert_eq!(text(&output.stdout), error);
    let stderr = text(&output.stderr);
    assert!(stderr.contains("bundle.jsonl:1: volatile section without a reason"), "{stderr}");
    assert!(stderr.contains("bundle.jsonl:2: no bundle: `record.prompt` is a number"), "{stderr}");
}

#[test]
fn billed_is_unknown_where_no_usage_was_recorded() {
    let path = project("fixtures/captured-clock");
    let path = path.to_str().expect("plain");
    let report: Value =
        serde_json::from_str(&stdout(&["analyze", path, "-q", "--format", "json"])).expect("JSON");
    assert_eq!(report["totals"]["billed"]["requests"], 0);
    assert_eq!(report["totals"]["billed"]["cost_usd"], Value::Null);
    assert_eq!(report["totals"]["billed"]["unrecorded_requests"], 4);
    assert_eq!(report["by_model"]["claude-opus-5"]["billed"]["cost_usd"], Value::Null);
    let rows = ledger(Path::new(path), &[]);
    assert!(rows.iter().all(|row| row["strategy"] != "billed"));
    assert!(rows.iter().all(|row| row["output_tokens"].is_null()));
}

/// A request with usage: so many tokens read and written.
fn answered(id: &str, time: &str, turns: usize, read: u64, written: u64) -> Vec<u8> {
    let mut messages = vec![json!({"role": "user", "content": "Go."})];
    for turn in 0..turns {
        messages.push(json!({"role": "assistant", "content": format!("Step {turn}.")}));
        messages.push(json!({"role": "user", "content": "On."}));
    }
    bytes(&json!({
        "timestamp": format!("2026-09-01T{time}.000Z"),
        "request_id": id,
        "request": {
            "model": "claude-opus-5",
            "system": "s".repeat(40_000),
            "messages": messages,
            "cache_control": {"type": "ephemeral"},
        },
        "usage": {
            "input_tokens": 3,
            "cache_read_input_tokens": read,
            "cache_creation_input_tokens": written,
            "output_tokens": 9,
        },
    }))
}

/// The first expiry shows what other traffic keeps warm; the second one finds that.
#[test]
fn what_an_expiry_left_is_expected_of_the_next() {
    let scratch = capture(&[
        answered("r1", "10:00:00", 0, 0, 20_000),
        answered("r2", "10:00:30", 1, 20_000, 40),
        answered("r3", "10:10:00", 2, 8_000, 12_080),
        answered("r4", "10:20:00", 3, 8_000, 12_120),
    ]);
    let reads = |arguments: &[&str]| -> Vec<u64> {
        let rows = ledger(&scratch.path, &[&["--strategy", "replay"], arguments].concat());
        rows.iter().map(|row| count(row, "cache_read_input_tokens")).collect()
    };
    assert_eq!(reads(&[]), [0, 20_000, 0, 8_000]);
    assert_eq!(reads(&["--shared-prefix", "cold"]), [0, 20_000, 0, 0]);
}

/// Usage that comes later settles what requests without usage had to estimate.
#[test]
fn later_usage_corrects_earlier_estimates() {
    let mut first: Value =
        serde_json::from_slice(&answered("r1", "10:00:00", 0, 0, 0)).expect("one");
    first.as_object_mut().expect("an object").remove("usage");
    let scratch = capture(&[
        bytes(&first),
        answered("r2", "10:00:30", 0, 20_000, 0),
        answered("r3", "10:01:00", 0, 20_000, 0),
    ]);
    let rows = ledger(&scratch.path, &["--strategy", "replay"]);
    assert_eq!(cached(&rows[2]).0, 20_000, "{}", rows[2]);
    assert_eq!(rows[2]["basis"], "derived");
}

#[test]
fn bytes_are_not_compared_with_recorded_tokens() {
    let scratch = capture(&[answered("r1", "10:00:00", 0, 0, 20_000)]);
    let path = scratch.path.to_str().expect("plain");
    let table = stdout(&["analyze", path, "--tokens", "bytes:4"]);
    let header = table.lines().find(|line| line.contains("what happened")).expect("turns");
    assert!(header.contains(" 5m ") && !header.contains("billed"), "{table}");
    assert!(table.contains("`billed`, which counts recorded tokens"), "{table}");
}
