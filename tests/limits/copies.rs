//! Copies of sessions of every format, as they lie beside their originals: renamed, forked, reordered and damaged. A copy
//! adds nothing and takes nothing away, and what damage takes away is named.
//!
//! `TEST_COPY_ROUNDS` sets the number of copies.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use cachesim::read::input::discover;
use cachesim::requests::conversation::{ReadOptions, read};
use serde_json::Value;

use super::mutation::Random;
use crate::common::{files, fixtures, utf8};
use crate::figures::fixtures::folders;

/// Sessions of a fixture: the files by their names below its folder.
type Files = BTreeMap<PathBuf, Vec<u8>>;

/// Requests, tokens sent in full, read, written and of output; places of damage.
type Sums = ([u64; 5], u64);

fn sums(files: &Files) -> Sums {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, bytes) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, bytes).expect("a file");
    }
    let history = read(discover(&[folder.path().to_owned()]), ReadOptions::default(), |_| {});
    let mut sums = [history.count_requests(), 0, 0, 0, 0];
    for usage in history.requests.iter().filter_map(|request| request.usage.as_ref()) {
        let prompt = usage.prompt;
        let own = [prompt.input, prompt.read, prompt.written(), usage.output];
        sums[1..].iter_mut().zip(own).for_each(|(sum, own)| *sum += own.0);
    }
    if !history.captured.requests.is_empty() {
        // Each captured request is one of its own, whatever it shares with another.
        return ([0; 5], 0);
    }
    let named: u64 = history.diagnostics.counts().map(|(_, count)| count).sum();
    (sums, named)
}

/// Files of a fixture that may be sessions.
fn sessions(folder: &Path) -> Files {
    let all = ["jsonl", "json", "db", "har", "csv"].into_iter().flat_map(|end| files(folder, end));
    let read = |path: PathBuf| {
        let bytes = fs::read(&path).expect("a file");
        (path.strip_prefix(folder).expect("below it").to_owned(), bytes)
    };
    all.map(read).collect()
}

/// Session's id by its first line.
fn id_of(text: &str) -> Option<String> {
    let first: Value = serde_json::from_str(text.lines().next()?).ok()?;
    let places = ["/sessionId", "/session_id", "/payload/id", "/id", "/message/sessionID"];
    let id = places.iter().find_map(|place| first.pointer(place)?.as_str())?;
    (id.len() > 8).then(|| id.to_owned())
}

/// Makes a copy of a file, with a word for what was made; nothing if the file is none of which such a copy is made.
fn copy(
    name: &Path,
    bytes: &[u8],
    random: &mut Random,
) -> Option<(&'static str, PathBuf, Vec<u8>)> {
    let beside = Path::new("copies").join(name);
    let text = std::str::from_utf8(bytes).ok();
    let lines: Vec<&str> = text.map(|text| text.lines().collect()).unwrap_or_default();
    let is_json = |line: &&str| serde_json::from_str::<Value>(line).is_ok();
    let is_of_lines =
        name.extension().is_some_and(|end| end == "jsonl") && lines.first().is_some_and(is_json);
    match random.below(5) {
        0 => Some(("elsewhere", beside, bytes.to_vec())),
        1 if is_of_lines => {
            let renamed = format!("other-{}", utf8(Path::new(name.file_name()?)));
            Some(("renamed", name.with_file_name(renamed), bytes.to_vec()))
        }
        2 if is_of_lines => {
            // The end of the parent is gone, or the fork went on after all of it.
            let kept = 1 + random.below(lines.len());
            let id = id_of(text?)?;
            let other: String = id.chars().rev().collect();
            let forked = lines[..kept].join("\n").replace(&id, &other);
            Some(("forked", beside, forked.into_bytes()))
        }
        3 if is_of_lines && lines.len() > 2 => {
            let mut lines = lines;
            let at = 1 + random.below(lines.len() - 2);
            lines.swap(at, at + 1);
            Some(("reordered", beside, lines.join("\n").into_bytes()))
        }
        4 if text.is_some() => {
            let from = random.below(bytes.len());
            let to = (from + 1 + random.below(60)).min(bytes.len());
            let damaged = [&bytes[..from], &bytes[to..]].concat();
            let is_json = |line: &[u8]| serde_json::from_slice::<serde_json::Value>(line).is_ok();
            // What still is JSON shows no damage.
            let is_whole = if is_of_lines {
                damaged.trim_ascii().split(|byte| *byte == b'\n').all(is_json)
            } else {
                is_json(&damaged)
            };
            (!is_whole).then_some(("damaged", beside, damaged))
        }
        _ => None,
    }
}

fn rounds() -> usize {
    let rounds = std::env::var("TEST_COPY_ROUNDS").ok();
    rounds.and_then(|rounds| rounds.parse().ok()).unwrap_or(300)
}

#[test]
fn a_copy_beside_its_original_changes_nothing() {
    let mut random = Random(0x5eed_c0b1_0ff0_1234);
    let all: Vec<(String, Files, Sums)> = folders()
        .iter()
        .map(|folder| (utf8(folder).to_owned(), sessions(folder)))
        .map(|(name, files)| {
            let before = sums(&files);
            (name, files, before)
        })
        .filter(|(_, files, (sums, _))| sums[0] > 0 && !files.is_empty())
        .collect();
    let mut failures: BTreeMap<(String, &str), String> = BTreeMap::new();
    let mut made = 0;
    while made < rounds() {
        let (folder, files, before) = &all[random.below(all.len())];
        let (name, bytes) = files.iter().nth(random.below(files.len())).expect("a file");
        let Some((kind, copy, content)) = copy(name, bytes, &mut random) else { continue };
        made += 1;
        let mut with_copy = files.clone();
        with_copy.insert(copy, content);
        let after = sums(&with_copy);
        let is_of = |names: &[&str]| names.iter().any(|one| folder.ends_with(one));
        // What has neither ids nor times is told apart by its place, which a copy may change.
        let is_placed = is_of(&["answers-without-ids", "agent-kimi-without-times"]);
        // A report of Codex whose record, or whose thread's first line, is torn off counts, as nothing else says whose
        // answer it is of.
        let is_report = kind == "damaged" && folder.contains("agent-codex");
        let is_less = after.0.iter().zip(&before.0).all(|(after, before)| after <= before);
        let is_named = after.1 > before.1 && (is_less || is_report);
        if after.0 != before.0 && !is_placed && !is_named {
            let key = (format!("{folder}/{}", name.display()), kind);
            failures.entry(key).or_insert_with(|| format!("{before:?} became {after:?}"));
        }
    }
    let shown: Vec<String> =
        failures.iter().map(|((file, kind), what)| format!("{kind} {file}: {what}")).collect();
    assert!(shown.is_empty(), "{} of {made} rounds:\n{}", shown.len(), shown.join("\n"));
}

/// The first line of a file of lines exchanged, torn, and missing.
#[test]
fn a_first_line_that_is_another_loses_nothing() {
    let mut failures = Vec::new();
    for folder in fixtures() {
        let files = sessions(&folder);
        let before = sums(&files);
        if before.0[0] == 0 {
            continue;
        }
        for (name, bytes) in
            files.iter().filter(|(name, _)| name.extension().is_some_and(|end| end == "jsonl"))
        {
            let Ok(text) = std::str::from_utf8(bytes) else { continue };
            let Some((first, rest)) = text.split_once('\n') else { continue };
            if serde_json::from_str::<Value>(first).is_err() {
                // A document over several lines.
                continue;
            }
            // What a line holds is lost with it.
            let holds_figures = ["usage", "oken"].iter().any(|word| first.contains(word));
            let torn = &first[..first.len() / 2];
            let mut tried =
                vec![("exchanged", format!("{{\"type\":\"something_new\",\"at\":1}}\n{text}"))];
            tried.push(("torn, then whole", format!("{torn}\n{text}")));
            if !holds_figures {
                tried.push(("torn", format!("{torn}\n{rest}")));
                tried.push(("missing", rest.to_owned()));
            }
            for (kind, text) in tried {
                let mut with = files.clone();
                with.insert(name.clone(), text.into_bytes());
                let after = sums(&with);
                // A fork of a thread whose first line is lost does not know what it copies.
                let is_lost = before.0.iter().zip(&after.0).any(|(before, after)| after < before);
                if is_lost || (after.0 != before.0 && !folder.ends_with("agent-codex-copies")) {
                    failures.push(format!(
                        "{kind} {}/{}: {before:?} became {after:?}",
                        folder.display(),
                        name.display()
                    ));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
