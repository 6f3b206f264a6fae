//! Large and awkward files: read by any number of threads, within fixed memory, and while they
//! change.

use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;

use flate2::{Compression, write::GzEncoder};
use serde_json::Value;

use crate::common::{cachesim, count, ledger, run, text};

/// A session of so many requests, 60 kB for each ten of them, in which the prompt of each request
/// says which one it is.
fn session(requests: usize) -> String {
    let result = r#"fn main() { println!(\"x\"); }\n"#.repeat(90);
    let mut parent = "null".to_owned();
    let mut lines = String::new();
    for number in 0..requests {
        let at = time_of(number);
        let read = 20_000 + 10 * number;
        writeln!(
            lines,
            r#"{{"type":"user","uuid":"u{number}","parentUuid":{parent},"sessionId":"s","timestamp":"{at}.000Z","message":{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t{number}","content":"{result}"}}]}},"toolUseResult":"{result}"}}
{{"type":"assistant","uuid":"a{number}","parentUuid":"u{number}","sessionId":"s","timestamp":"{at}.900Z","requestId":"r{number}","message":{{"id":"m{number}","model":"claude-opus-5","stop_reason":"tool_use","content":[],"usage":{{"input_tokens":2,"cache_read_input_tokens":{read},"cache_creation_input_tokens":10,"output_tokens":90}}}}}}"#
        )
        .expect("a string takes everything");
        parent = format!("\"a{number}\"");
    }
    lines
}

/// A moment 20 seconds after that of the request before.
fn time_of(number: usize) -> String {
    let seconds = number * 20;
    let (day, hour) = (1 + seconds / 86_400, seconds / 3_600 % 24);
    format!("2026-08-{day:02}T{hour:02}:{:02}:{:02}", seconds / 60 % 60, seconds % 60)
}

/// Three answers in two lines each, of which the first has a part of the output, and says already why
/// the answer ended.
fn answers_in_parts() -> String {
    let mut lines = String::new();
    for number in 0..3 {
        let (at, read) = (time_of(number), 20_000 + 10 * number);
        writeln!(lines, r#"{{"type":"user","uuid":"u{number}","sessionId":"s","timestamp":"{at}.000Z","message":{{"role":"user","content":"more"}}}}"#)
            .expect("a string takes everything");
        for (part, output) in [(1, 5), (2, 90)] {
            writeln!(
                lines,
                r#"{{"type":"assistant","uuid":"a{number}{part}","sessionId":"s","timestamp":"{at}.{part}00Z","requestId":"r{number}","message":{{"id":"m{number}","model":"claude-opus-5","stop_reason":"end_turn","content":[],"usage":{{"input_tokens":2,"cache_read_input_tokens":{read},"cache_creation_input_tokens":10,"output_tokens":{output}}}}}}}"#
            )
            .expect("a string takes everything");
        }
    }
    lines
}

/// Objects that span lines, lists of objects and UTF-16 hold the session that their lines hold.
#[test]
fn other_forms_of_the_lines_are_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let plain = session(12);
    let objects: Vec<Value> =
        plain.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let spanning: Vec<String> = objects.iter().map(|one| format!("{one:#}")).collect();
    let list = Value::from(objects);
    let wide = plain.encode_utf16().flat_map(u16::to_le_bytes);
    let forms: [(&str, Vec<u8>); 5] = [
        ("plain", plain.clone().into_bytes()),
        ("spanning", spanning.join("\n").into_bytes()),
        ("list", format!("{list}").into_bytes()),
        ("spanning-list", format!("{list:#}").into_bytes()),
        ("utf-16", wide.collect()),
    ];
    let rows = |(name, bytes): &(&str, Vec<u8>)| {
        let path = folder.path().join(format!("{name}.jsonl"));
        fs::write(&path, bytes).expect("a file");
        let rows = ledger(&path, &[]);
        let figures = |row: &Value| {
            let of = |key: &str| row[key].clone();
            [of("strategy"), of("request_id"), of("cache_read_input_tokens"), of("cost_usd")]
        };
        rows.iter().map(figures).collect::<Vec<_>>()
    };
    let expected = rows(&forms[0]);
    assert!(expected.len() >= 24, "{expected:?}");
    for form in &forms[1..] {
        assert_eq!(rows(form), expected, "{}", form.0);
    }
}

/// Wherever a compressed file is cut or damaged: what was read is used, the last answer's output is at
/// most what it was, and rows and standard error say so.
#[test]
fn the_last_answer_before_damage_is_a_lower_bound() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("session.jsonl.gz");
    let text_of = answers_in_parts();
    let mut packed = GzEncoder::new(Vec::new(), Compression::none());
    packed.write_all(text_of.as_bytes()).expect("bytes");
    let packed = packed.finish().expect("bytes");
    let rows = |bytes: &[u8]| {
        fs::write(&path, bytes).expect("a file");
        let name = path.to_str().expect("plain");
        let output = run(&["analyze", name, "--format", "jsonl", "--strategy", "billed"]);
        let rows = text(&output.stdout);
        let rows = rows.lines().map(|line| serde_json::from_str(line).expect("a row"));
        (rows.collect::<Vec<Value>>(), text(&output.stderr))
    };
    let (whole, said) = rows(&packed);
    assert_eq!((whole.len(), said.as_str()), (3, ""));
    let mut bounds = 0;
    for cut in (1..packed.len()).step_by(61) {
        let mut damaged = packed.clone();
        damaged.truncate(cut);
        let (found, said) = rows(&damaged);
        assert!(said.contains("unreadable file") && said.contains("is a lower bound"), "{said}");
        for (at, row) in found.iter().enumerate() {
            let is_last = at + 1 == found.len();
            assert_eq!(row["output_is_lower_bound"], is_last, "cut at {cut}: {row}");
            let class = |column| (count(row, column), count(&whole[at], column));
            let (read, written) =
                (class("cache_read_input_tokens"), class("ephemeral_5m_input_tokens"));
            assert_eq!((read.0, written.0), (read.1, written.1), "cut at {cut}");
            let (now, then) = class("output_tokens");
            assert!(now == then || (is_last && now < then), "cut at {cut}: {now} of {then}");
            bounds += usize::from(now < then);
        }
    }
    assert!(bounds > 5, "some cuts fall between two lines of an answer");
}

/// No sum may wrap: 10^12 tokens are taken for a request, and of all requests together 10^15.
#[test]
fn a_total_beyond_every_figure_names_its_request() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("session.jsonl");
    let name = path.to_str().expect("plain").to_owned();
    let huge = |requests: usize| {
        let usage = "\"cache_read_input_tokens\":1000000000000,";
        let lines = session(requests).replace("\"cache_creation_input_tokens\":10,", "");
        let lines =
            lines.lines().map(|line| match line.split_once("\"cache_read_input_tokens\":") {
                Some((front, rest)) => {
                    let rest = rest.split_once(',').expect("a number").1;
                    format!("{front}{usage}{rest}\n")
                }
                None => format!("{line}\n"),
            });
        fs::write(&path, lines.collect::<String>()).expect("a file");
    };
    let strategies = folder.path().join("pinged.toml");
    let pinged = "schema = 'cachesim.strategy/v1'\n[[strategy]]\nname = 'pinged'\nttl = '5m'\n\
                  keepalive.every = '1s'\nkeepalive.limit = '10080s'\n";
    fs::write(&strategies, pinged).expect("a file");
    let strategies = strategies.to_str().expect("plain").to_owned();
    let compare = || run(&["compare", &name, "--strategy", &format!("billed,{strategies}"), "-q"]);
    huge(990);
    let output = compare();
    assert!(output.status.success(), "{}", text(&output.stderr));
    huge(1_001);
    let output = compare();
    assert_eq!(output.status.code(), Some(3));
    // 10^12 read, 2 sent in full and 90 answered: the thousandth is beyond, at its second line.
    let said = text(&output.stderr);
    assert!(said.contains("session.jsonl:2000: with this request"), "{said}");
}

#[test]
fn a_large_file_is_the_same_to_any_number_of_threads() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("large.jsonl");
    // Beyond the size from which all threads read one file, and with a line that is torn in the
    // middle, whose number must not depend on who read it.
    let torn = "{\"type\":\"user\",\"uuid\":\n";
    let text = session(3_000);
    let middle = text[text.len() / 2..].find('\n').expect("a line") + text.len() / 2 + 1;
    fs::write(&path, format!("{}{torn}{}", &text[..middle], &text[middle..])).expect("a file");
    assert!(fs::metadata(&path).expect("a file").len() > 12_000_000);
    let torn_line = text[..middle].lines().count() + 1;

    let name = path.to_str().expect("a plain path");
    let printed = |jobs| {
        let output = run(&["analyze", name, "--format", "jsonl", "--verbose", "--jobs", jobs]);
        assert!(output.status.success());
        // How many threads run is said where fewer do than were asked for.
        let said = crate::common::text(&output.stderr);
        let damage: Vec<&str> = said.lines().filter(|line| !line.contains("threads")).collect();
        (output.stdout, damage.join("\n"))
    };
    let (rows, damage) = printed("1");
    assert!(damage.contains(&format!("large.jsonl:{torn_line}:")), "{damage}");
    for jobs in ["2", "3", "8", "64"] {
        assert_eq!((rows.clone(), damage.clone()), printed(jobs), "{jobs} threads");
    }

    let billed = ledger(&path, &["--strategy", "billed"]);
    assert_eq!(billed.len(), 3_000);
    for (number, row) in billed.iter().enumerate() {
        assert_eq!(row["request_id"], format!("r{number}"));
        assert_eq!(count(row, "cache_read_input_tokens"), 20_000 + 10 * number as u64);
    }
}

/// A line of 500 MB without an end. The file has no blocks on disk.
#[cfg(target_os = "linux")]
#[test]
fn an_endless_line_is_refused_within_fixed_memory() {
    const LENGTH: u64 = 500_000_000;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("endless.jsonl");
    File::create(&path).expect("a file").set_len(LENGTH).expect("a sparse file");
    // Address space, of which threads and the program itself take a part.
    let limited = "ulimit -v 450000; exec \"$0\" analyze \"$1\" --jobs 2";
    let output = std::process::Command::new("sh")
        .args(["-c", limited, env!("CARGO_BIN_EXE_cachesim"), path.to_str().expect("plain")])
        .env_clear()
        .env("CACHESIM_NO_CONFIG", "1")
        .output()
        .expect("a shell");
    let said = text(&output.stderr);
    assert!(said.contains(&format!("endless.jsonl:1: too long: {LENGTH} bytes")), "{said}");
    assert_eq!(output.status.code(), Some(3), "{said}");
}

/// What a file held for sure is there, and nothing is that was never in it.
fn requests_while(path: &Path, mut change: impl FnMut(&mut File)) -> u64 {
    let name = path.to_str().expect("a plain path");
    let mut program = std::process::Command::new(env!("CARGO_BIN_EXE_cachesim"));
    let mut program = program
        .args(["analyze", name, "--format", "json", "-q", "--jobs", "2"])
        .env_clear()
        .env("CACHESIM_NO_CONFIG", "1")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut file = OpenOptions::new().append(true).open(path).expect("the file");
    while program.try_wait().expect("a child").is_none() {
        change(&mut file);
    }
    let output = program.wait_with_output().expect("the program ends");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).expect("a report");
    report["inputs"]["requests"].as_u64().expect("a count")
}

#[test]
fn a_file_that_changes_while_it_is_read_gives_what_was_there() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("changing.jsonl");
    let (kept, all) = (500, 2_500);
    let text = session(all);
    let length_of_kept = session(kept).len();

    fs::write(&path, &text[..length_of_kept]).expect("a file");
    let rest = &text[length_of_kept..];
    let mut appended = 0;
    let grown = requests_while(&path, |file| {
        let end = (appended + 50_000).min(rest.len());
        file.write_all(&rest.as_bytes()[appended..end]).expect("room");
        appended = end;
    });
    assert!((kept as u64..=all as u64).contains(&grown), "{grown}");

    fs::write(&path, &text).expect("a file");
    let shrunk = requests_while(&path, |file| {
        file.set_len(length_of_kept as u64).expect("a shorter file");
    });
    assert!((kept as u64..=all as u64).contains(&shrunk), "{shrunk}");
    // What is read when nothing changes any more.
    let name = path.to_str().expect("a plain path");
    let again = cachesim().args(["analyze", name, "--format", "json", "-q"]).output();
    let again: Value = serde_json::from_slice(&again.expect("it runs").stdout).expect("a report");
    assert_eq!(again["inputs"]["requests"], kept);
}
