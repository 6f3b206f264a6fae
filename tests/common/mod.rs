//! What several test modules share: running the program, and finding its inputs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::panic::Location;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Mutex;

use serde_json::{Value, json};
use walkdir::WalkDir;

/// The program, in an environment that holds nothing of the user's, and that looks for no
/// configuration file: there may be one above this project. Its clock stands still.
pub(crate) fn cachesim() -> assert_cmd::Command {
    let mut command = assert_cmd::cargo::cargo_bin_cmd!("cachesim");
    command.env_clear().env("HOME", "/nonexistent").env("CACHESIM_NO_CONFIG", "1");
    command.env("SOURCE_DATE_EPOCH", "1796083200");
    command
}

/// Runs the program with these arguments and returns what it printed.
pub(crate) fn run(arguments: &[&str]) -> Output {
    cachesim().args(arguments).output().expect("the program runs")
}

/// Runs the program, expects success, and returns its standard output.
pub(crate) fn stdout(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

/// Runs the program and reads its output as JSON.
pub(crate) fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&stdout(arguments)).expect("JSON on standard output")
}

/// Runs `analyze --format jsonl` and reads its rows.
pub(crate) fn ledger(path: &Path, arguments: &[&str]) -> Vec<Value> {
    let path = path.to_str().expect("a plain path");
    let all = [&["analyze", path, "--format", "jsonl", "-q"], arguments].concat();
    stdout(&all).lines().map(|line| serde_json::from_str(line).expect("a row")).collect()
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

/// A folder of the project. Where this program is run in a clone that it was not built in, `CARGO_MANIFEST_DIR` says so.
pub(crate) fn project(folder: &str) -> PathBuf {
    let root = std::env::var_os("CARGO_MANIFEST_DIR");
    root.map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from).join(folder)
}

/// A path as text.
pub(crate) fn utf8(path: &Path) -> &str {
    path.to_str().expect("a plain path")
}

/// The paths in a folder, in order, those that a shell hides included.
pub(crate) fn entries(folder: impl AsRef<Path>) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths
}

/// The names in a folder, those that a shell hides included.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    entries(folder)
        .iter()
        .map(|path| utf8(path.strip_prefix(folder).expect("below it")).to_owned())
        .collect()
}

/// The files below a folder, in order, whose names have this ending.
pub(crate) fn files(folder: impl AsRef<Path>, ending: &str) -> Vec<PathBuf> {
    let entries = WalkDir::new(folder).sort_by_file_name().into_iter();
    let files = entries.map(|entry| entry.expect("an entry").into_path());
    files.filter(|path| path.is_file() && path.to_string_lossy().ends_with(ending)).collect()
}

/// The largest file below a folder.
pub(crate) fn largest(folder: &Path) -> PathBuf {
    let size = |path: &PathBuf| path.metadata().map_or(0, |one| one.len());
    files(folder, "").into_iter().max_by_key(size).expect("a file")
}

/// The folders of the fixtures, in order.
pub(crate) fn fixtures() -> Vec<PathBuf> {
    entries(project("fixtures"))
}

/// The path of a fixture, or of a file in one.
pub(crate) fn fixture(name: &str) -> String {
    utf8(&project("fixtures").join(name)).to_owned()
}

/// The session of the fixture with which the README begins.
pub(crate) fn first_look() -> String {
    fixture("first-look/session.jsonl")
}

/// The recorded exchanges beside the project; none, noted, where they are missing.
#[track_caller]
pub(crate) fn captures() -> Vec<PathBuf> {
    shared("captures").map_or_else(Vec::new, entries)
}

/// Reference data beside the project; `None`, noted, where it is missing.
#[track_caller]
pub(crate) fn shared(name: &str) -> Option<PathBuf> {
    let path = project("../shared").join(name);
    if path.exists() {
        return Some(path);
    }
    skip("../shared");
    None
}

/// A folder of `../shared` without the sessions of other agents, for figures of Claude's rules alone: links
/// with the same relative names.
#[track_caller]
pub(crate) fn transcripts(name: &str) -> Option<PathBuf> {
    static LINKING: Mutex<()> = Mutex::new(());
    let _alone = LINKING.lock();
    let from = shared(name)?;
    let to = Path::new(env!("CARGO_TARGET_TMPDIR")).join("transcripts").join(name);
    link(&from.canonicalize().expect("a folder"), &to, |path| is_rollout(path) || is_qwens(path));
    Some(to)
}

fn link(from: &Path, to: &Path, is_left_out: fn(&Path) -> bool) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("a folder") {
        let path = entry.expect("an entry").path();
        let link = to.join(path.file_name().expect("a name"));
        if path.is_dir() {
            self::link(&path, &link, is_left_out);
        } else if !is_left_out(&path) && !link.exists() {
            std::os::unix::fs::symlink(&path, &link).expect("a link");
        }
    }
}

fn first_line(path: &Path) -> String {
    let mut first = String::new();
    let read = BufReader::new(File::open(path).expect("a file")).read_line(&mut first);
    read.map(|_| first).unwrap_or_default()
}

fn is_rollout(path: &Path) -> bool {
    first_line(path).contains(r#""type":"session_meta""#)
}

fn is_qwens(path: &Path) -> bool {
    first_line(path).contains(r#""role":"user","parts":["#)
}

/// Whether these programs are there; those that are not are noted.
#[track_caller]
pub(crate) fn has(programs: &[&str]) -> bool {
    let is_missing = |program: &&str| Command::new(program).arg("--version").output().is_err();
    let missing: Vec<&str> = programs.iter().copied().filter(is_missing).collect();
    for program in &missing {
        skip(program);
    }
    missing.is_empty()
}

/// Sends a signal, such as TERM, by a shell: not every system has a program for it.
pub(crate) fn signal(name: &str, process: &str) {
    let sent = Command::new("sh").args(["-c", "kill -\"$0\" \"$1\"", name, process]).status();
    assert!(sent.expect("a shell runs").success(), "{name} to {process}");
}

/// What Cargo knows of the packages of all platforms, as it is in a metadata's `packages`; `None`, noted, until they were
/// fetched: a build fetches those of this platform alone.
#[track_caller]
pub(crate) fn packages() -> Option<Vec<Value>> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--locked", "--offline", "--format-version", "1", "--all-features"])
        .current_dir(project(""))
        .output()
        .expect("cargo runs");
    if !output.status.success() {
        assert!(text(&output.stderr).contains("--offline"), "{}", text(&output.stderr));
        skip("cargo fetch");
        return None;
    }
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    metadata["packages"].as_array().cloned()
}

/// Whether tests are thorough: of all inputs, in a browser, and for longer than anyone waits for a change. Without it, what
/// takes more than a few seconds is left out, noted.
#[track_caller]
pub(crate) fn is_thorough() -> bool {
    let is_asked = ["CI", "TEST_THOROUGH"].iter().any(|name| std::env::var_os(name).is_some());
    if !is_asked {
        skip("TEST_THOROUGH=1");
    }
    is_asked
}

/// How many random cases a test has, of those that it has where tests are thorough.
#[track_caller]
pub(crate) fn cases(thorough: u32) -> u32 {
    if is_thorough() { thorough } else { thorough.div_ceil(12) }
}

/// What is missing, and the tests that wanted it.
static MISSING: Mutex<BTreeMap<String, BTreeSet<String>>> = Mutex::new(BTreeMap::new());

/// Notes that a test, or a part of one, does not run for want of something. Where `CI` is set, that fails.
#[track_caller]
pub(crate) fn skip(missing: &str) {
    assert!(std::env::var_os("CI").is_none(), "CI is set, and this test needs {missing}");
    // A test's thread has its name, unless tests run one after the other.
    let thread = std::thread::current();
    let named = thread.name().filter(|name| *name != "main");
    let test = named.map_or_else(|| Location::caller().to_string(), str::to_owned);
    let mut all = MISSING.lock().expect("no test panics here");
    all.entry(missing.to_owned()).or_default().insert(test);
}

/// Says in one line what did not run, when all else is done.
#[dtor::dtor(unsafe)]
fn say_what_was_skipped() {
    let Ok(missing) = MISSING.lock() else { return };
    let tests: BTreeSet<&String> = missing.values().flatten().collect();
    if tests.is_empty() {
        return;
    }
    let each = missing.iter().map(|(what, tests)| format!("{} without {what}", tests.len()));
    let each = each.collect::<Vec<_>>().join(", ");
    let line = format!("skipped: {} tests, in whole or in part ({each})", tests.len());
    let _nobody_listens = writeln!(std::io::stderr(), "{line}");
}

/// The lines of a capture with a usage beside each request, as a service would have recorded it at
/// four bytes a token: the first request of a session writes its prompt, the others read the one
/// before and write what is new. Each answer has 50 tokens.
pub(crate) fn recorded(capture: &str) -> Vec<Value> {
    let mut sizes: BTreeMap<String, usize> = BTreeMap::new();
    let lines = capture.lines().map(|line| serde_json::from_str(line).expect("a line"));
    lines
        .map(|mut line: Value| {
            let request = &line["request"];
            let parts = ["tools", "system", "messages"].map(|part| request[part].to_string().len());
            let size = parts.iter().sum::<usize>() / 4;
            let session = line["session_id"].as_str().expect("a session").to_owned();
            let read = sizes.insert(session, size).unwrap_or_default();
            let written = size.saturating_sub(read);
            line["usage"] = json!({
                "input_tokens": 3,
                "cache_read_input_tokens": read,
                "cache_creation_input_tokens": written,
                "cache_creation":
                    {"ephemeral_5m_input_tokens": written, "ephemeral_1h_input_tokens": 0},
                "output_tokens": 50,
            });
            line
        })
        .collect()
}

/// Values as JSON Lines.
pub(crate) fn lines(values: &[Value]) -> String {
    values.iter().map(|value| value.to_string() + "\n").collect()
}

/// The sum of four token columns of a row.
pub(crate) fn prompt_of(row: &Value) -> u64 {
    [
        "input_tokens",
        "cache_read_input_tokens",
        "ephemeral_5m_input_tokens",
        "ephemeral_1h_input_tokens",
    ]
    .iter()
    .map(|column| count(row, column))
    .sum()
}

/// Picodollars of an amount as outputs have it, a decimal number of dollars.
pub(crate) fn picodollars(amount: &str) -> i128 {
    let (sign, digits) = amount.strip_prefix('-').map_or((1, amount), |digits| (-1, digits));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    sign * format!("{whole}{fraction:0<12}").parse::<i128>().expect("an amount")
}

/// Picodollars of a field, zero if the amount is unknown.
pub(crate) fn known_picodollars(field: &Value) -> i128 {
    field.as_str().map_or(0, picodollars)
}

/// A number with a comma before every three digits from the right.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups = digits.as_bytes().rchunks(3).rev().map(text);
    groups.collect::<Vec<_>>().join(",")
}

/// A token column of a row.
pub(crate) fn count(row: &Value, column: &str) -> u64 {
    row[column].as_u64().unwrap_or_else(|| panic!("{column} in {row}"))
}
