//! An organisation: domains read by themselves, their rows as Parquet, parts that are made once, and runs of parts.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row};
use serde_json::{Map, Value, json};

use crate::common::{cachesim, project, run, shared, skip, stdout, text, utf8};

/// The rows of a command with these arguments, in a format.
fn rows(arguments: &[&str], format: &str) -> String {
    stdout(&[arguments, &["--format", format, "-q"]].concat())
}

/// The rows of a Parquet file as JSON Lines have them.
fn stored(bytes: Vec<u8>) -> Vec<Value> {
    let reader = SerializedFileReader::new(bytes::Bytes::from(bytes)).expect("Parquet");
    let rows = reader.get_row_iter(None).expect("rows");
    rows.map(|row| object(&row.expect("a row"))).collect()
}

fn object(row: &Row) -> Value {
    let mut object = Map::new();
    for (name, field) in row.get_column_iter() {
        // Words of prompts are left out of lines where there are none.
        if !(name == "text" && matches!(field, Field::Null)) {
            object.insert(name.clone(), value(field));
        }
    }
    Value::Object(object)
}

fn value(field: &Field) -> Value {
    match field {
        Field::Null => Value::Null,
        Field::Bool(value) => json!(value),
        Field::Long(value) => json!(value),
        Field::Double(value) => json!(value),
        Field::Str(value) => json!(value),
        Field::TimestampMicros(micros) => {
            let moment = jiff::Timestamp::from_microsecond(*micros).expect("a moment");
            json!(format!("{moment:.3}"))
        }
        Field::Decimal(decimal) => {
            assert_eq!((decimal.precision(), decimal.scale()), (18, 12));
            let digits = <[u8; 8]>::try_from(decimal.data()).expect("eight bytes");
            json!(dollars(i64::from_be_bytes(digits)))
        }
        Field::ListInternal(list) => list.elements().iter().map(value).collect(),
        Field::Group(group) => object(group),
        other => panic!("{other:?}"),
    }
}

/// Picodollars as the contract writes them.
fn dollars(amount: i64) -> String {
    let sign = if amount < 0 { "-" } else { "" };
    let digits = format!("{:013}", amount.unsigned_abs());
    let (whole, part) = digits.split_at(digits.len() - 12);
    let part = part.trim_end_matches('0');
    if part.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{part}") }
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("a row")).collect()
}

/// Fixtures, and what real sessions there are.
fn inputs() -> Vec<PathBuf> {
    let corpora = ["corpus", "corpus-b", "agents", "captures"];
    [project("fixtures")].into_iter().chain(corpora.into_iter().filter_map(shared)).collect()
}

#[test]
fn parquet_has_the_rows_of_json_lines() {
    for input in inputs() {
        for command in ["analyze", "breaks"] {
            let arguments = [command, utf8(&input)];
            let output = cachesim().args(arguments).args(["--format", "parquet", "-q"]).output();
            let bytes = output.expect("the program runs").stdout;
            let (expected, found) = (lines(&rows(&arguments, "jsonl")), stored(bytes));
            assert_eq!(expected.len(), found.len(), "{input:?}");
            for (one, other) in expected.iter().zip(&found) {
                assert_eq!(one, other, "{input:?}");
            }
            assert!(!found.is_empty(), "{input:?}");
        }
    }
}

#[test]
fn parquet_says_what_it_is_and_is_the_same_for_the_same_input() {
    let input = project("fixtures/sub-agents");
    let bytes = |arguments: &[&str]| {
        let all = [&["analyze", utf8(&input), "--format", "parquet"], arguments].concat();
        run(&all).stdout
    };
    let once = bytes(&["--jobs", "1"]);
    assert_eq!(once, bytes(&["--jobs", "8"]));
    let reader = SerializedFileReader::new(bytes::Bytes::from(once)).expect("Parquet");
    let metadata = reader.metadata().file_metadata();
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(metadata.created_by(), Some(&*format!("cachesim version {version}")));
    let pairs = metadata.key_value_metadata().expect("metadata");
    let pairs: BTreeMap<&str, &str> =
        pairs.iter().map(|pair| (&*pair.key, pair.value.as_deref().unwrap_or_default())).collect();
    assert_eq!(pairs["cachesim.schema"], "cachesim.ledger/v1");
    assert_eq!(pairs["cachesim.strategies"], "billed,replay,none,5m,1h");
    assert!(pairs["cachesim.prices"].starts_with("anthropic-"));
}

#[test]
fn an_amount_beyond_a_column_is_an_error_with_its_place() {
    let folder = tempfile::tempdir().expect("a folder");
    let usage = json!({"input_tokens": 0, "output_tokens": 60_000_000_000_u64,
        "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0});
    let message = json!({"id": "msg_1", "model": "claude-opus-4-5", "role": "assistant",
        "content": [], "usage": usage});
    let line = json!({"type": "assistant", "uuid": "u1", "sessionId": "s1", "requestId": "req_1",
        "timestamp": "2026-08-03T10:00:00Z", "message": message});
    fs::write(folder.path().join("a.jsonl"), line.to_string()).expect("a file");
    let output = run(&["analyze", utf8(folder.path()), "--format", "parquet"]);
    let error = text(&output.stderr);
    assert!(
        error.contains("a.jsonl:1: a figure is beyond what columns of Parquet hold"),
        "{error}"
    );
    assert_eq!(output.status.code(), Some(2));
}

/// The domains below an input: its folders.
fn folders(input: &Path) -> Vec<String> {
    let entries = fs::read_dir(input).expect("a folder").map(|entry| entry.expect("an entry"));
    let folders = entries.filter(|entry| entry.path().is_dir());
    let mut names: Vec<String> =
        folders.map(|entry| entry.file_name().into_string().expect("UTF-8")).collect();
    names.sort();
    names
}

/// Runs a command over each domain by itself, and puts the rows together.
fn apart(command: &str, root: &Path, format: &str) -> Vec<String> {
    let mut all = Vec::new();
    for domain in folders(root) {
        let folder = root.join(&domain);
        let arguments = [command, utf8(&folder), "--root", utf8(root), "--domains", "depth:1"];
        let output = cachesim().args(arguments).args(["--format", format, "-q"]).output();
        let output = output.expect("the program runs");
        // A folder without requests is no domain.
        if output.status.success() {
            let rows = text(&output.stdout);
            all.extend(rows.lines().skip(usize::from(format == "csv")).map(str::to_owned));
        } else {
            assert_eq!(output.status.code(), Some(3), "{domain}: {}", text(&output.stderr));
        }
    }
    all
}

#[test]
fn domains_together_are_domains_apart() {
    for root in [shared("corpus"), shared("corpus-b")].into_iter().flatten() {
        for (command, format) in [("analyze", "jsonl"), ("analyze", "csv"), ("breaks", "jsonl")] {
            let together = |more: &[&str]| {
                let domains = ["--root", utf8(&root), "--domains", "depth:1"];
                rows(&[&[command], &domains[..], more].concat(), format)
            };
            let all = together(&[utf8(&root)]);
            for jobs in ["1", "3"] {
                assert_eq!(all, together(&[utf8(&root), "--jobs", jobs]), "{command} {jobs}");
            }
            let mut parts: Vec<PathBuf> = folders(&root).iter().map(|one| root.join(one)).collect();
            parts.reverse();
            let listed: Vec<&str> = parts.iter().map(|one| utf8(one)).collect();
            assert_eq!(all, together(&listed), "{command}: another order");
            let rows = all.lines().skip(usize::from(format == "csv"));
            assert_eq!(rows.map(str::to_owned).collect::<Vec<_>>(), apart(command, &root, format));
        }
    }
}

#[test]
fn rows_of_a_domain_are_numbered_and_those_of_one_domain_are_as_without() {
    let root = project("fixtures");
    let input = root.join("sub-agents");
    let placed =
        rows(&["analyze", utf8(&input), "--root", utf8(&root), "--domains", "depth:1"], "jsonl");
    let plain = rows(&["analyze", utf8(&input), "--root", utf8(&root)], "jsonl");
    let placed = lines(&placed);
    for (number, (row, plain)) in placed.iter().zip(lines(&plain)).enumerate() {
        let mut expected = plain;
        expected["domain"] = json!("sub-agents");
        expected["row"] = json!(number);
        assert_eq!(*row, expected);
    }
    assert!(placed.len() > 10);
}

#[test]
fn a_table_of_domains_and_what_is_wrong_with_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = project("fixtures");
    let table = folder.path().join("domains.tsv");
    fs::write(&table, "ann\tagent-pi-tree\nbob\tfirst-look/\n").expect("a file");
    let paths = folder.path().join("paths");
    fs::write(&paths, "first-look\nagent-pi-tree\n").expect("a file");
    let listed = ["analyze", "--paths-from", utf8(&paths), "--root", utf8(&root)];
    let rows = rows(&[&listed[..], &["--domains", utf8(&table)]].concat(), "jsonl");
    let domain_of = |row: &Value| {
        let file =
            row["file"].as_str().expect("a file").split('/').next().expect("a folder").to_owned();
        (file, row["domain"].as_str().expect("a domain").to_owned())
    };
    let mut found: Vec<_> = lines(&rows).iter().map(domain_of).collect();
    found.dedup();
    let pair = |one: &str, other: &str| (one.to_owned(), other.to_owned());
    assert_eq!(found, [pair("agent-pi-tree", "ann"), pair("first-look", "bob")]);

    let error = |arguments: &[&str], code: i32| {
        let output = run(&[arguments, &["--format", "jsonl"]].concat());
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", text(&output.stderr));
        text(&output.stderr)
    };
    fs::write(&table, "ann\tagent-pi-tree\n").expect("a file");
    let missing = error(&[&listed[..], &["--domains", utf8(&table)]].concat(), 2);
    assert!(missing.contains("first-look/session.jsonl is in no domain"), "{missing}");
    let depth = error(&[&listed[..], &["--domains", "depth:0"]].concat(), 2);
    assert!(depth.contains("expected depth:N with N from 1 on"), "{depth}");
    let rootless = error(&["analyze", "--paths-from", utf8(&paths), "--domains", "depth:1"], 2);
    assert!(rootless.contains("--root DIR"), "{rootless}");
    // What is typed may lead there by any way.
    let typed = root.join("../fixtures/first-look");
    let rows = stdout(&["analyze", utf8(&typed), "--root", utf8(&root), "--format", "jsonl", "-q"]);
    assert_eq!(lines(&rows)[0]["file"], "first-look/session.jsonl");
    fs::write(&paths, "../README.md").expect("a file");
    let outside = error(&listed, 2);
    assert!(outside.contains("does not lead below"), "{outside}");
    fs::write(&paths, "\n").expect("a file");
    let none = error(&listed, 3);
    assert!(none.contains("no path in"), "{none}");
}

#[test]
fn lists_of_paths_are_read_as_data() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = project("fixtures");
    let session = fs::read(root.join("first-look/session.jsonl")).expect("a session");
    for name in ["-", "a b.jsonl", "c\nd.jsonl"] {
        fs::write(folder.path().join(name), &session).expect("a file");
    }
    let files = |list: &str| {
        let output = cachesim()
            .args(["analyze", "--paths-from", "-", "--root", utf8(folder.path())])
            .args(["--strategy", "billed", "--format", "jsonl", "-q"])
            .write_stdin(list)
            .output()
            .expect("the program runs");
        let rows = lines(&text(&output.stdout));
        rows.first().map(|row| row["file"].clone())
    };
    assert_eq!(files("a b.jsonl\n"), Some(json!("a b.jsonl")));
    assert_eq!(files("a b.jsonl\t\"etag\"\n"), Some(json!("a b.jsonl")));
    assert_eq!(files("-\n"), Some(json!("-")));
    assert_eq!(files("c\nd.jsonl\0"), Some(json!("c\nd.jsonl")));
    // The rest are copies of the first in the order of names.
    assert_eq!(files("c\nd.jsonl\0a b.jsonl\0"), Some(json!("a b.jsonl")));
}

/// Generated sessions of several developers, each a folder.
fn fleet(developers: u32) -> Option<tempfile::TempDir> {
    let script = shared("tools/gen_transcripts.py")?;
    let folder = tempfile::tempdir().expect("a folder");
    for number in 1..=developers {
        let status = Command::new("python3")
            .arg(&script)
            .args(["--mb", "2", "--sessions", "12", "--seed", &(number + 10).to_string(), "--out"])
            .arg(folder.path().join(format!("dev-{number}")))
            .stdout(std::process::Stdio::null())
            .status();
        let Ok(status) = status else {
            skip("python3");
            return None;
        };
        assert!(status.success());
    }
    Some(folder)
}

#[test]
fn domains_that_cut_through_a_history_are_refused() {
    let Some(fleet) = fleet(3) else { return };
    let divided = |depth: &str| {
        run(&["analyze", utf8(fleet.path()), "--domains", depth, "--format", "jsonl", "-q"])
    };
    assert!(divided("depth:1").status.success());
    // By project: sessions are resumed in other folders.
    let cut = divided("depth:3");
    assert_eq!(cut.status.code(), Some(2));
    let error = text(&cut.stderr);
    assert!(
        error.contains("the domains cut through a history") && error.contains(".jsonl"),
        "{error}"
    );
}

/// Makes the part of a domain, and returns its line.
pub(crate) fn part(root: &Path, domain: &str, out: &Path, more: &[&str]) -> String {
    let folder = root.join(domain);
    let arguments =
        ["part", "--domain", domain, "--root", utf8(root), utf8(&folder), "--out", utf8(out)];
    stdout(&[&arguments[..], &["-q"], more].concat())
}

/// Gathers parts; the code and what was said.
pub(crate) fn gather(out: &Path, lines: &[String]) -> (Option<i32>, String) {
    let mut command = cachesim();
    command.args(["gather", "--out", utf8(out)]).write_stdin(lines.concat());
    let output = command.output().expect("the program runs");
    (output.status.code(), text(&output.stderr))
}

#[test]
fn a_part_is_made_once_and_a_run_is_all_of_them() {
    let Some(fleet) = fleet(3) else { return };
    let out = tempfile::tempdir().expect("a folder");
    let root = fleet.path();
    let mut made: Vec<String> = ["dev-3", "dev-1", "dev-2"]
        .iter()
        .map(|domain| part(root, domain, out.path(), &[]))
        .collect();
    let file = |line: &str, of: &str| {
        let line: Value = serde_json::from_str(line).expect("a line");
        out.path().join(line[of]["path"].as_str().expect("a path"))
    };
    // The rows of the parts are those of the domains.
    let whole = rows(&["analyze", utf8(root), "--domains", "depth:1"], "jsonl");
    let breaks = rows(&["breaks", utf8(root), "--domains", "depth:1"], "jsonl");
    made.sort();
    for (of, expected) in [("ledger", whole), ("breaks", breaks)] {
        let parts = made.iter().flat_map(|line| stored(fs::read(file(line, of)).expect("a part")));
        assert!(parts.eq(lines(&expected)), "{of}");
    }
    // Made again, nothing changes, not even the time of a file.
    let changed = |line: &String| {
        fs::metadata(file(line, "ledger")).and_then(|one| one.modified()).expect("a time")
    };
    let before: Vec<_> = made.iter().map(changed).collect();
    let again: Vec<String> = ["dev-1", "dev-2", "dev-3"]
        .iter()
        .map(|domain| part(root, domain, out.path(), &[]))
        .collect();
    assert_eq!(again, made);
    assert_eq!(before, made.iter().map(changed).collect::<Vec<_>>());

    let manifest = |lines: &[String]| {
        let (code, error) = gather(out.path(), lines);
        assert_eq!(code, Some(0), "{error}");
        fs::read(out.path().join("manifest.json")).expect("a manifest")
    };
    let run = manifest(&made);
    made.reverse();
    assert_eq!(run, manifest(&made));
    // A task that ran twice says the same twice.
    let twice = [made.clone(), vec![made[0].clone()]].concat();
    assert_eq!(run, manifest(&twice));
    let run: Value = serde_json::from_slice(&run).expect("JSON");
    let sum = |of: &dyn Fn(&Value) -> u64| {
        run["parts"].as_array().expect("parts").iter().map(of).sum::<u64>()
    };
    assert_eq!(run["requests"], sum(&|part| part["inputs"]["requests"].as_u64().expect("a count")));
    assert_eq!(run["rows"], sum(&|part| part["ledger"]["rows"].as_u64().expect("a count")));

    fs::remove_file(out.path().join("manifest.json")).expect("a manifest");
    let refused = |lines: &[String], reason: &str| {
        let (code, error) = gather(out.path(), lines);
        assert_eq!(code, Some(3), "{error}");
        assert!(error.contains(reason), "{error}");
        assert!(!out.path().join("manifest.json").exists(), "{reason}");
    };
    refused(&["{}\n".to_owned()], "standard input:1: not the line of a part");
    refused(&[], "standard input: no part");
    let counted = made[0].replace("\"rows\":", "\"rows\":1");
    refused(&[counted], "rows, and not 1");
    for path in ["/etc/passwd", "/dev/zero", "../elsewhere.parquet"] {
        let mut line: Value = serde_json::from_str(&made[0]).expect("a line");
        line["breaks"]["path"] = json!(path);
        refused(&[line.to_string()], "standard input:1: not the line of a part");
    }
    let mut swapped: Value = serde_json::from_str(&made[0]).expect("a line");
    swapped["ledger"] = swapped["breaks"].clone();
    refused(&[swapped.to_string()], "not the line of a part");
    let huge = made[0].replace("\"requests\":", "\"requests\":9999999999999");
    refused(&[huge], "not the line of a part");
    let other = part(root, "dev-2", out.path(), &["--strategy", "billed"]);
    refused(&[made[0].clone(), other], "strategies");
    let newer = part(root, "dev-3", out.path(), &["--ttl-grace", "9"]);
    refused(&[made[0].clone(), newer], "other options");
    let old = made[1].replace(env!("CARGO_PKG_VERSION"), "0.0.9");
    refused(&[made[0].clone(), old], "version 0.0.9");
    let ledger = file(&made[0], "ledger");
    let bytes = fs::read(&ledger).expect("a part");
    fs::write(&ledger, &bytes[..bytes.len() / 2]).expect("a torn part");
    refused(&made, "it is torn");
    let mut flipped = bytes.clone();
    flipped[100] ^= 1;
    fs::write(&ledger, &flipped).expect("another part");
    refused(&made, "it is another file");
    fs::remove_file(&ledger).expect("a part");
    refused(&made, "it is missing");
    // A part that is damaged is made again, the same.
    assert_eq!(part(root, "dev-3", out.path(), &[]), made[0]);
    assert_eq!(fs::read(&ledger).expect("a part"), bytes);
}

#[test]
fn a_part_is_called_by_all_that_its_rows_come_from() {
    let folder = tempfile::tempdir().expect("a folder");
    let (root, out) = (folder.path().join("root"), folder.path().join("out"));
    fs::create_dir_all(root.join("ann")).expect("a folder");
    let session = root.join("ann/a.jsonl");
    fs::copy(project("fixtures/first-look/session.jsonl"), &session).expect("a session");
    let key = |domain: &str, more: &[&str]| {
        let arguments =
            ["part", "--domain", domain, "--root", utf8(&root), "--out", utf8(&out), "-q"];
        let list = if more.contains(&"--paths-from") { None } else { Some(utf8(&session)) };
        let output = cachesim()
            .args(arguments)
            .args(list)
            .args(more)
            .write_stdin("ann/a.jsonl\t\"v1\"\n")
            .output()
            .expect("the program runs");
        assert!(output.status.success(), "{}", text(&output.stderr));
        let line: Value = serde_json::from_slice(&output.stdout).expect("a line");
        line["key"].as_str().expect("a key").to_owned()
    };
    let first = key("ann", &[]);
    let mut keys = vec![first.clone(), key("bob", &[])];
    keys.extend(
        [&["--strategy", "billed,1h"][..], &["--ttl-grace", "5"], &["--tokens", "bytes:3"]]
            .map(|one| key("ann", one)),
    );
    // By a version of the list, and not by the time of the file.
    let versioned = key("ann", &["--paths-from", "-"]);
    keys.push(versioned.clone());
    let later = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_800_000_000);
    fs::File::options()
        .append(true)
        .open(&session)
        .and_then(|file| file.set_modified(later))
        .expect("a time");
    assert_eq!(key("ann", &["--paths-from", "-"]), versioned);
    keys.push(key("ann", &[]));
    let different: std::collections::BTreeSet<&String> = keys.iter().collect();
    assert_eq!(different.len(), keys.len(), "{keys:?}");
}

#[test]
fn a_part_is_whole_or_there_is_none() {
    let folder = tempfile::tempdir().expect("a folder");
    let (root, out) = (folder.path().join("root"), folder.path().join("out"));
    fs::create_dir_all(root.join("ann")).expect("a folder");
    let session =
        fs::read_to_string(project("fixtures/first-look/session.jsonl")).expect("a session");
    fs::write(root.join("ann/a.jsonl"), session.clone() + "torn {").expect("a file");
    let arguments = ["part", "--domain", "-ann", "--root", utf8(&root), "--out", utf8(&out), "-q"];
    let run = |more: &[&str], list: &str, code: i32| {
        let mut command = cachesim();
        let output =
            command.args(arguments).args(more).write_stdin(list).output().expect("it runs");
        assert_eq!(output.status.code(), Some(code), "{more:?}: {}", text(&output.stderr));
        text(&output.stderr)
    };
    let missing = run(&["--paths-from", "-"], "ann/a.jsonl\tA\nann/gone.jsonl\tB\n", 3);
    assert!(missing.contains("gone.jsonl"), "{missing}");
    let folder = run(&["--paths-from", "-"], "ann\tA\n", 2);
    assert!(folder.contains("1 of 1 versions are of no file that is read"), "{folder}");
    let contradiction = run(&["--paths-from", "-"], "ann/a.jsonl\tA\n./ann/a.jsonl\tB\n", 2);
    assert!(contradiction.contains("line 2"), "{contradiction}");
    let selected = run(&["--session", "x"], "", 2);
    assert!(selected.contains("a part is a whole domain"), "{selected}");
    let inside = root.join("parts");
    let inside = ["part", "--domain", "ann", "--root", utf8(&root), "--out", utf8(&inside)];
    assert_eq!(cachesim().args(inside).output().expect("it runs").status.code(), Some(2));
    // Whether it is made or there already: damage is damage.
    run(&["--strict"], "", 4);
    run(&[], "", 0);
    run(&["--strict"], "", 4);
}

#[test]
fn a_listing_has_all_domains_with_their_files() {
    let Some(fleet) = fleet(2) else { return };
    let root = fleet.path();
    fs::create_dir(root.join("nobody")).expect("a folder");
    fs::copy(project("fixtures/first-look/session.jsonl"), root.join("top.jsonl")).expect("a file");
    let out = tempfile::tempdir().expect("a folder");
    let listed = stdout(&["domains", "--root", utf8(root)]);
    let domains: Vec<Value> = lines(&listed);
    let names: Vec<&str> =
        domains.iter().map(|one| one["domain"].as_str().expect("a name")).collect();
    assert_eq!(names, [".", "dev-1", "dev-2"]);
    assert_eq!(domains[0]["files"], json!(["top.jsonl"]));
    let made = |line: &str| {
        let arguments =
            ["part", "--listing", "-", "--root", utf8(root), "--out", utf8(out.path()), "-q"];
        let output = cachesim().args(arguments).write_stdin(line).output().expect("it runs");
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    let by_listing: Vec<String> = listed.lines().map(made).collect();
    let by_name = part(root, "dev-1", out.path(), &[]);
    assert_eq!(by_listing[1], by_name);
    assert_eq!(gather(out.path(), &by_listing).0, Some(0));
}

#[test]
fn a_domain_without_requests_is_a_part_without_rows() {
    let folder = tempfile::tempdir().expect("a folder");
    let (root, out) = (folder.path().join("root"), folder.path().join("out"));
    fs::create_dir_all(root.join("ann")).expect("a folder");
    fs::write(root.join("ann/a.jsonl"), "{\"type\":\"user\"}\n").expect("a file");
    let line: Value = serde_json::from_str(&part(&root, "ann", &out, &[])).expect("a line");
    assert_eq!((&line["ledger"]["rows"], &line["breaks"]["rows"]), (&json!(0), &json!(0)));
    let path = out.join(line["ledger"]["path"].as_str().expect("a path"));
    assert!(stored(fs::read(path).expect("a part")).is_empty());
}

#[cfg(unix)] // a script of a shell
#[test]
fn a_shell_makes_the_same_parts() {
    let Some(fleet) = fleet(2) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let (by_hand, by_script) = (folder.path().join("hand"), folder.path().join("script"));
    let made =
        ["dev-1", "dev-2"].map(|domain| part(fleet.path(), domain, &by_hand, &["--jobs", "2"]));
    assert_eq!(gather(&by_hand, &made).0, Some(0));
    let status = Command::new(project("integrations/xargs/parts.sh"))
        .args([fleet.path(), &by_script])
        .env("CACHESIM", assert_cmd::cargo::cargo_bin!("cachesim"))
        .env("CACHESIM_NO_CONFIG", "1")
        .stderr(std::process::Stdio::null())
        .status();
    assert!(status.expect("bash runs").success());
    let manifest = |folder: &Path| fs::read(folder.join("manifest.json")).expect("a manifest");
    assert_eq!(manifest(&by_hand), manifest(&by_script));
}
