//! What several test modules share: running the program, and finding its inputs.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::Mutex;

use serde_json::{Value, json};

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

/// A folder of the project.
pub(crate) fn project(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)
}

/// A path as text.
pub(crate) fn utf8(path: &Path) -> &str {
    path.to_str().expect("a plain path")
}

/// The names in a folder, those that a shell hides included.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let names = entries.map(|entry| entry.expect("an entry").file_name());
    let mut names: Vec<String> = names.map(|name| name.into_string().expect("plain")).collect();
    names.sort();
    names
}

/// Reference data beside the project; `None`, noted, where it is missing.
pub(crate) fn shared(name: &str) -> Option<PathBuf> {
    let path = project("../shared").join(name);
    if path.exists() {
        return Some(path);
    }
    skip(&format!("{name} in ../shared"));
    None
}

/// A folder of `../shared` without the sessions of other agents, for figures of Claude's rules alone: links
/// with the same relative names.
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

/// What tests did without, and how often.
static MISSING: Mutex<BTreeMap<String, usize>> = Mutex::new(BTreeMap::new());

/// Notes that a test, or a part of one, does not run for want of something. Where `CI` is set, that fails.
pub(crate) fn skip(missing: &str) {
    assert!(std::env::var_os("CI").is_none(), "CI is set, and this test needs {missing}");
    *MISSING.lock().expect("no test panics here").entry(missing.to_owned()).or_default() += 1;
}

/// Says in one line what did not run, when all else is done.
#[dtor::dtor(unsafe)]
fn say_what_was_skipped() {
    let Ok(missing) = MISSING.lock() else { return };
    if missing.is_empty() {
        return;
    }
    let each = missing.iter().map(|(what, times)| format!("{times} without {what}"));
    let each: Vec<String> = each.collect();
    let _nobody_listens = writeln!(
        std::io::stderr(),
        "skipped: {} ({})",
        missing.values().sum::<usize>(),
        each.join(", ")
    );
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

/// A token column of a row.
pub(crate) fn count(row: &Value, column: &str) -> u64 {
    row[column].as_u64().unwrap_or_else(|| panic!("{column} in {row}"))
}
