//! `redact`: the same figures before and after, and nothing of the text.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cachesim::redact::allowed_words;
use rayon::prelude::*;
use ruzstd::decoding::StreamingDecoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use tempfile::TempDir;

use crate::common::{
    cachesim, entries, files, fixtures, is_thorough, project, run, shared, text, utf8,
};

/// Commands whose figures must not change, each with its options.
const COMMANDS: [&[&str]; 6] = [
    &["analyze", "--format", "json", "--strategy", "billed,replay,none,5m,1h,mixed"],
    &["analyze", "--format", "jsonl"],
    &["breaks", "--format", "json"],
    &["breaks", "--format", "jsonl"],
    &["context", "--format", "json"],
    &["verify", "--format", "json"],
];

/// Strategies of all kinds: policies, layouts, pings, smaller contexts, designs, the cheapest.
const STRATEGIES: &str = "billed,replay,1h,mixed,every-10,cheapest-layout,5m-pinged,\
                          cached-microcompact,compact-100k,sessions-apart,tools-sorted,\
                          static-first,global-scope,latched-settings,stable-attribution,optimal";

/// The redacted copy of a file or folder.
fn redacted(input: &Path, scratch: &TempDir, options: &[&str]) -> PathBuf {
    let output = scratch.path().join("redacted.jsonl");
    let output = if input.is_dir() { scratch.path().join("redacted") } else { output };
    let arguments = [&["redact", utf8(input), "-o", utf8(&output)], options].concat();
    let result = run(&arguments);
    assert!(result.status.success(), "{}", text(&result.stderr));
    output
}

/// What a command prints, as JSON values, with its exit code.
fn printed(path: &Path, command: &[&str], options: &[&str]) -> (Option<i32>, Vec<Value>) {
    // A word that is replaced has other tokens, and as many bytes.
    let is_told = [command, options].concat().contains(&"--tokens");
    let counting: &[&str] = if is_told { &[] } else { &["--tokens", "estimated"] };
    let arguments = [&command[..1], &[utf8(path), "-q"], counting, &command[1..], options].concat();
    let result = run(&arguments);
    let values = text(&result.stdout);
    let values = serde_json::Deserializer::from_str(&values).into_iter::<Value>();
    (result.status.code(), values.map(|value| value.expect("JSON")).collect())
}

/// Checks that two outputs are the same but for names: each name stands for one other wherever a field
/// has it. Of objects with names of the input as keys, only the values are compared.
#[derive(Default)]
struct Comparison {
    names: BTreeMap<(String, String), String>,
}

impl Comparison {
    fn values(&mut self, before: &Value, after: &Value, path: &str) {
        match (before, after) {
            (Value::Object(old), Value::Object(new)) if old.keys().eq(new.keys()) => {
                for (key, value) in old {
                    self.values(value, &new[key], &format!("{path}.{key}"));
                }
            }
            (Value::Object(old), Value::Object(new)) => {
                let sorted = |object: &serde_json::Map<String, Value>| {
                    let mut values: Vec<String> = object.values().map(Value::to_string).collect();
                    values.sort();
                    values
                };
                assert_eq!(sorted(old), sorted(new), "{path}");
            }
            (Value::Array(old), Value::Array(new)) => {
                assert_eq!(old.len(), new.len(), "{path}");
                for (old, new) in old.iter().zip(new) {
                    self.values(old, new, path);
                }
            }
            (Value::String(old), Value::String(new)) if old != new => {
                let names = [
                    "session_id",
                    "agent_id",
                    "request_id",
                    "message_id",
                    "file",
                    "files",
                    "model",
                    "project",
                ];
                let field = path.rsplit('.').next().unwrap_or_default();
                assert!(names.contains(&field), "{path}: {old} became {new}");
                let known = self.names.entry((field.to_owned(), old.clone()));
                assert_eq!(known.or_insert_with(|| new.clone()), new, "{path}");
            }
            _ => assert_eq!(before, after, "{path}"),
        }
    }
}

fn same_figures(before: &Path, after: &Path, command: &[&str], options: &[&str]) {
    let (mut old, mut new) = (printed(before, command, options), printed(after, command, options));
    if before.ends_with(WITH_DATABASE) {
        // Its rows are written as lines.
        for value in old.1.iter_mut().chain(&mut new.1) {
            if let Some(inputs) = value.get_mut("inputs").and_then(Value::as_object_mut) {
                inputs.retain(|name, _| !matches!(name.as_str(), "bytes" | "lines"));
            }
        }
    }
    assert_eq!(old.0, new.0, "{command:?} {}", before.display());
    assert_eq!(old.1.len(), new.1.len(), "{command:?} {}", before.display());
    let mut comparison = Comparison::default();
    let path = format!("{command:?} {} ", before.display());
    for (old, new) in old.1.iter().zip(&new.1) {
        comparison.values(old, new, &path);
    }
}

fn all_figures(input: &Path, options: &[&str]) {
    let scratch = tempfile::tempdir().expect("a folder");
    let output = redacted(input, &scratch, &["-q"]);
    for command in COMMANDS {
        // `context` and `verify` take sizes as they are.
        let options = if matches!(command[0], "context" | "verify") { &[] } else { options };
        same_figures(input, &output, command, options);
    }
    same_figures(
        input,
        &output,
        &["compare", "--format", "json", "--strategy", STRATEGIES],
        options,
    );
}

#[test]
fn real_sessions_keep_their_figures_and_lose_their_words() {
    let Some(corpus) = shared("corpus") else { return };
    let scratch = tempfile::tempdir().expect("a folder");
    let output = redacted(&corpus, &scratch, &["-q"]);
    for command in COMMANDS {
        same_figures(&corpus, &output, command, &[]);
    }
    scan(&corpus, &output, &tool_names(&corpus));
}

#[test]
fn real_sessions_keep_the_figures_of_all_strategies() {
    let Some(corpus) = shared("corpus/marot__spotter") else { return };
    all_figures(&corpus, &[]);
}

#[test]
fn real_exchanges_keep_their_figures() {
    let Some(captures) = shared("captures") else { return };
    all_figures(&captures, &[]);
    let scratch = tempfile::tempdir().expect("a folder");
    let output = redacted(&captures, &scratch, &["-q", "--tool-names", "hash"]);
    scan(&captures, &output, &BTreeSet::new());
}

/// Each of them in its folders, and what tells agents and sessions apart in the folders' names.
#[test]
fn sessions_of_other_agents_keep_their_figures() {
    let Some(agents) = shared("agents") else { return };
    let scratch = tempfile::tempdir().expect("a folder");
    let output = redacted(&agents, &scratch, &["-q"]);
    for command in COMMANDS {
        same_figures(&agents, &output, command, &[]);
    }
}

/// Every file by itself, in folders of the same names: what is given by its name is redacted, whatever it is.
#[test]
fn sessions_of_other_agents_lose_their_words() {
    let Some(agents) = shared("agents") else { return };
    let all = files(&agents, "");
    assert!(all.len() > 90, "{} files", all.len());
    all.par_iter().for_each(|file| {
        let scratch = tempfile::tempdir().expect("a folder");
        let output = scratch.path().join(file.strip_prefix(&agents).expect("below"));
        let result = run(&["redact", utf8(file), "-o", utf8(&output), "-q"]);
        assert!(result.status.success(), "{}: {}", file.display(), text(&result.stderr));
        same_figures(file, &output, &["analyze", "--format", "jsonl"], &[]);
        scan(file, &output, &tool_names(file));
    });
}

/// The name of a folder with a database.
const WITH_DATABASE: &str = "with-database";

/// The folder with the database of which the statements stand in a fixture.
fn with_database(fixture: &Path, scratch: &TempDir) -> Option<PathBuf> {
    let statements = files(fixture, ".sql").pop()?;
    let folder = scratch.path().join(WITH_DATABASE);
    fs::create_dir(&folder).expect("a folder");
    let database = folder.join(statements.file_stem().expect("a name")).with_extension("db");
    let connection = rusqlite::Connection::open(database).expect("a database");
    let text = fs::read_to_string(&statements).expect("statements");
    connection.execute_batch(&text).expect("SQL");
    Some(folder)
}

#[test]
fn fixtures_keep_their_figures() {
    if !is_thorough() {
        return;
    }
    for fixture in fixtures() {
        let scratch = tempfile::tempdir().expect("a folder");
        let folder = with_database(&fixture, &scratch).unwrap_or_else(|| fixture.clone());
        let output = redacted(&folder, &scratch, &["-q"]);
        for command in &COMMANDS[1..5] {
            same_figures(&folder, &output, command, &[]);
        }
        let designs = ["compare", "--format", "json", "--strategy", STRATEGIES];
        same_figures(&folder, &output, &designs, &[]);
        if folder.ends_with(WITH_DATABASE) {
            no_word_of_statements(&fixture, &output);
        } else {
            scan(&folder, &output, &tool_names(&folder));
        }
    }
}

/// Proves that no word of the statements by which a database is made is in what was written of it, but for
/// the fixed ones, and those of tools.
fn no_word_of_statements(fixture: &Path, output: &Path) {
    let allowed = allowed_words();
    let statements = files(fixture, ".sql").into_iter();
    let before: String = statements.map(|file| fs::read_to_string(file).expect("SQL")).collect();
    let before: BTreeSet<String> = words(&before).collect();
    let written = inputs(output);
    assert_eq!(written.len(), 1, "{}", fixture.display());
    let after = fs::read_to_string(&written[0]).expect("lines");
    let tools = tool_names(output);
    let left: Vec<String> = words(&after)
        .filter(|word| before.contains(word) && !allowed.contains(word) && !tools.contains(word))
        .collect();
    assert!(left.is_empty(), "{}: {left:?}", fixture.display());
}

/// A case of `conformance` or `placement`.
#[derive(Deserialize)]
struct Case {
    #[serde(alias = "records")]
    requests: Vec<Box<RawValue>>,
}

/// The cases of a folder, each as a file of lines.
fn cases(folder: &str, scratch: &TempDir) -> PathBuf {
    let folder = project("tests/figures").join(folder);
    let lines = scratch.path().join("cases");
    fs::create_dir(&lines).expect("a folder");
    for path in files(folder, ".json") {
        let case = fs::read_to_string(&path).expect("a case");
        let case: Case = serde_json::from_str(&case).expect("a case");
        let records: Vec<String> =
            case.requests.iter().map(|record| record.get().replace('\n', " ")).collect();
        let name = path.with_extension("jsonl");
        let name = name.file_name().expect("a file has a name");
        fs::write(lines.join(name), records.join("\n")).expect("a file");
    }
    lines
}

#[test]
fn exact_cases_keep_their_bytes() {
    let scratch = tempfile::tempdir().expect("a folder");
    let lines = cases("conformance", &scratch);
    let output = redacted(&lines, &scratch, &["-q"]);
    let options = ["--tokens", "bytes:1"];
    for command in &COMMANDS[..4] {
        same_figures(&lines, &output, command, &options);
    }
}

#[test]
fn bundles_are_placed_alike() {
    let scratch = tempfile::tempdir().expect("a folder");
    let lines = cases("placement", &scratch);
    let output = redacted(&lines, &scratch, &["-q"]);
    let placed = |path: &Path| {
        let result = run(&["place", utf8(path), "-q"]);
        let markers = |line: &str| {
            let parts = line.split("\"cache_control\":").skip(1);
            parts.map(|part| part.split_inclusive('}').next().map(str::to_owned)).collect()
        };
        let lines = text(&result.stdout);
        let lines: Vec<(usize, Vec<Option<String>>)> =
            lines.lines().map(|line| (line.len(), markers(line))).collect();
        (result.status.code(), lines)
    };
    let (before, after) = (placed(&lines), placed(&output));
    assert!(!before.1.is_empty());
    assert_eq!(before, after);
}

/// The strings of a line that need not be JSON, decoded.
fn strings(line: &str) -> Vec<String> {
    let bytes = line.as_bytes();
    let mut strings = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] != b'"' {
            at += 1;
            continue;
        }
        let start = at;
        at += 1;
        while at < bytes.len() && bytes[at] != b'"' {
            at += if bytes[at] == b'\\' { 2 } else { 1 };
        }
        at = (at + 1).min(bytes.len());
        let literal = line.get(start..at).unwrap_or_default();
        let inside = literal.trim_matches('"').to_owned();
        strings.push(serde_json::from_str(literal).unwrap_or(inside));
    }
    strings
}

fn words(text: &str) -> impl Iterator<Item = String> + '_ {
    let words = text.split(|character: char| !character.is_alphabetic());
    words.filter(|word| word.chars().count() >= 5).map(str::to_lowercase)
}

/// The files of a folder in the order in which they are read, or the file.
fn inputs(path: &Path) -> Vec<PathBuf> {
    if path.is_file() {
        return vec![path.to_owned()];
    }
    let is_input = |path: &PathBuf| match path.extension().and_then(|ending| ending.to_str()) {
        Some("jsonl" | "har" | "csv") => true,
        Some("json") => is_session(path),
        _ => false,
    };
    entries(path).iter().flat_map(|path| inputs(path)).filter(is_input).collect()
}

/// Whether a JSON document is the session of an agent, by fields that stay.
fn is_session(path: &Path) -> bool {
    let text = fs::read_to_string(path).expect("UTF-8");
    let signs =
        ["\"ses_", "\"say\"", "\"projectHash\"", "\"T-", "\"usageDetails\"", "\"call_type\""];
    signs.iter().any(|sign| text.contains(sign))
}

/// The words of the names of tools, wherever one stands in a structural place.
fn tool_names(folder: &Path) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for file in inputs(folder) {
        let text = String::from_utf8_lossy(&fs::read(file).expect("a file")).into_owned();
        if let Ok(document) = serde_json::from_str::<Value>(&text) {
            add_tool_names(&document, &mut names);
            continue;
        }
        for line in text.lines() {
            if let Ok(value) = serde_json::from_str::<Value>(line) {
                add_tool_names(&value, &mut names);
            }
        }
    }
    names
}

fn add_tool_names(value: &Value, names: &mut BTreeSet<String>) {
    let add = |value: &Value, names: &mut BTreeSet<String>| {
        names.extend(value.as_str().into_iter().flat_map(words));
    };
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                match key.as_str() {
                    "name" | "tool_name" | "toolName" | "tool" | "hookName"
                    | "attributionMcpTool" => {
                        add(value, names);
                    }
                    "allowedTools" => {
                        let rules = value.as_array().into_iter().flatten();
                        let rules = rules.filter_map(|rule| rule.as_str()?.split('(').next());
                        names.extend(rules.flat_map(words));
                    }
                    "addedNames"
                    | "removedNames"
                    | "readdedNames"
                    | "preCompactDiscoveredTools" => {
                        value.as_array().into_iter().flatten().for_each(|name| add(name, names));
                    }
                    _ => add_tool_names(value, names),
                }
            }
        }
        Value::Array(list) => list.iter().for_each(|value| add_tool_names(value, names)),
        _ => {}
    }
}

/// Proves that no word of five letters or more is in an output that was in its input, but for the fixed
/// ones: neither in its place nor anywhere else, whatever its case. Pictures are no text, and the random
/// letters of signatures are no words, so these are looked at in their places only.
fn scan(root: &Path, output_root: &Path, tools: &BTreeSet<String>) {
    let ending = "jsonl".to_owned();
    let allowed = allowed_words().into_iter().chain(tools.clone()).chain([ending]);
    let allowed: BTreeSet<String> = allowed.collect();
    let (mut before, mut after) = (HashSet::new(), HashSet::new());
    let (inputs, outputs) = (inputs(root), inputs(output_root));
    assert_eq!(inputs.len(), outputs.len());
    for (input, output) in inputs.iter().zip(&outputs) {
        let read = |path: &Path| fs::read(path).expect("a file");
        let (old, new) = (read(input), read(output));
        assert_eq!(old.len(), new.len(), "{}", input.display());
        let (old, new) = (String::from_utf8_lossy(&old), String::from_utf8_lossy(&new));
        for (number, (old, new)) in old.lines().zip(new.lines()).enumerate() {
            let inside = |line| strings(line).iter().map(|text| decoded(text)).collect::<Vec<_>>();
            let (old, new) = (inside(old), inside(new));
            assert_eq!(old.len(), new.len(), "{}:{number}", input.display());
            for (old, new) in old.iter().zip(&new).filter(|(old, _)| !is_picture(old)) {
                let kept = words(old)
                    .zip(words(new))
                    .find(|(old, new)| old == new && !allowed.contains(old));
                assert_eq!(kept, None, "{}:{number}", input.display());
                if !is_blob(old) {
                    before.extend(words(old));
                    after.extend(words(new));
                }
            }
        }
        // The names of files and folders; the roots are not part of them.
        let below =
            |path: &Path, root: &Path| utf8(path.strip_prefix(root).unwrap_or(root)).to_owned();
        before.extend(words(&below(input, root)));
        after.extend(words(&below(output, output_root)));
    }
    let survivors: Vec<&String> =
        after.intersection(&before).filter(|word| !allowed.contains(*word)).collect();
    assert!(survivors.is_empty(), "{} of {}: {survivors:?}", survivors.len(), before.len());
}

/// What a text says that may be encoded, as bodies of HTTP and their events are.
fn decoded(text: &str) -> String {
    let bytes = Some(text.trim()).filter(|text| text.len() >= 16 && !is_picture(text));
    let Some(Ok(bytes)) = bytes.map(|text| STANDARD.decode(text)) else { return text.to_owned() };
    match String::from_utf8(bytes) {
        Ok(inside) => inside,
        Err(error) if String::from_utf8_lossy(error.as_bytes()).contains("\"bytes\":") => {
            let stream = String::from_utf8_lossy(error.as_bytes()).into_owned();
            strings(&stream).iter().map(|event| decoded(event)).collect::<Vec<_>>().join(" ")
        }
        Err(_) => text.to_owned(),
    }
}

/// What begins like the base64 of a PNG, a JPEG or a GIF.
fn is_picture(text: &str) -> bool {
    ["iVBORw0KGgo", "/9j/", "R0lGOD"].iter().any(|beginning| text.starts_with(beginning))
}

/// A long string without white space: a signature, or something else that is encoded.
fn is_blob(text: &str) -> bool {
    text.len() > 200 && !text.contains(char::is_whitespace)
}

#[test]
fn the_same_input_gives_the_same_bytes_and_compression_stays() {
    let scratch = tempfile::tempdir().expect("a folder");
    let fixture = fs::read(project("fixtures/first-look/session.jsonl")).expect("a fixture");
    let input = scratch.path().join("in");
    fs::create_dir(&input).expect("a folder");
    let zst = compress_to_vec(&fixture[..], CompressionLevel::Fastest);
    fs::write(input.join("session.jsonl.zst"), zst).expect("a file");
    let plain = scratch.path().join("plain.jsonl");
    fs::write(&plain, &fixture).expect("a file");
    let result = run(&["redact", utf8(&plain), "-q"]);
    let output = scratch.path().join("out");
    assert!(run(&["redact", utf8(&input), "-o", utf8(&output), "-q"]).status.success());
    let files = entries(&output);
    assert!(utf8(&files[0]).ends_with(".jsonl.zst"), "{files:?}");
    let file = fs::File::open(&files[0]).expect("a file");
    let mut unpacked = Vec::new();
    let frame = StreamingDecoder::new(file);
    frame.expect("Zstandard").read_to_end(&mut unpacked).expect("a whole frame");
    assert_eq!(text(&unpacked), text(&result.stdout));
    let piped = cachesim().args(["redact", "-", "-q"]).write_stdin(fixture).output();
    assert_eq!(text(&piped.expect("the program runs").stdout), text(&result.stdout));
    let names = |path: &Path| printed(path, &["analyze", "--format", "json"], &[]).1[0].clone();
    assert_eq!(names(&input)["inputs"], names(&output)["inputs"]);
}

#[test]
fn nothing_is_overwritten_and_every_refusal_says_what_to_do() {
    let scratch = tempfile::tempdir().expect("a folder");
    let folder = scratch.path().join("in");
    fs::create_dir(&folder).expect("a folder");
    let file = folder.join("a.jsonl");
    fs::write(&file, "{\"type\":\"user\"}\n").expect("a file");
    let inside = folder.join("out");
    let full = scratch.path().join("full");
    fs::create_dir(&full).expect("a folder");
    fs::write(full.join("old"), "").expect("a file");
    let empty = scratch.path().join("empty");
    fs::create_dir(&empty).expect("a folder");
    let missing = folder.join("missing.jsonl");
    for (arguments, code, says) in [
        (vec![utf8(&file), "-o", utf8(&file)], 2, "is an input"),
        (vec![utf8(&folder), "-o", utf8(&inside)], 2, "give another place"),
        (vec![utf8(&folder), "-o", utf8(&full)], 2, "give a new folder"),
        (vec![utf8(&folder)], 2, "give one with -o FOLDER"),
        (vec![utf8(&folder), "-o", utf8(&file)], 2, "a.jsonl"),
        (vec![utf8(&empty), "-o", utf8(&inside)], 3, "give a file or a folder"),
        (vec![utf8(&missing), "-o", utf8(&inside)], 3, "no file could be read"),
        (vec![], 2, "<IN>"),
    ] {
        let result = run(&[&["redact"], arguments.as_slice()].concat());
        let error = text(&result.stderr);
        assert_eq!(result.status.code(), Some(code), "{arguments:?}: {error}");
        assert!(error.contains(says), "{arguments:?}: {error}");
    }
    assert_eq!(fs::read(&file).expect("a file"), b"{\"type\":\"user\"}\n");
}

#[test]
fn several_inputs_have_numbered_folders() {
    let scratch = tempfile::tempdir().expect("a folder");
    let output = scratch.path().join("out");
    let (one, two) = (project("fixtures/first-look"), project("fixtures/tool-loop"));
    let result = run(&["redact", utf8(&one), utf8(&two), "-o", utf8(&output)]);
    assert!(result.status.success());
    let said = text(&result.stderr);
    assert!(said.contains("in 2 files") && !said.contains("session"), "{said}");
    assert!(output.join("1").is_dir() && output.join("2").is_dir());
}
