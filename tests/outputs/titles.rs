//! Titles of sessions are kept where they are asked for, and only there.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use cachesim::read::input::discover;
use cachesim::requests::conversation::{History, ReadOptions, read};

use crate::common::{run, shared};

/// Session → title, of folders or files.
fn titles_of(paths: &[PathBuf]) -> BTreeMap<String, String> {
    let history = history(paths, true);
    let named = history
        .titles
        .iter()
        .map(|(session, title)| (history.symbols.text(*session).to_owned(), title.clone()));
    named.collect()
}

fn history(paths: &[PathBuf], keeps_titles: bool) -> History {
    let options = ReadOptions { keeps_titles, ..ReadOptions::default() };
    read(discover(paths), options, |_| {})
}

/// Writes files of lines, and returns the titles in them.
fn titles(files: &[(&str, &[String])]) -> BTreeMap<String, String> {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, lines) in files {
        fs::write(folder.path().join(name), lines.join("\n")).expect("written");
    }
    titles_of(&[folder.path().to_owned()])
}

fn prompt(session: &str, id: &str) -> String {
    format!(
        r#"{{"type":"user","uuid":"{id}","parentUuid":null,"sessionId":"{session}","timestamp":"2026-08-03T10:00:00.000Z","message":{{"role":"user","content":"hello"}}}}"#
    )
}

fn answer(session: &str, id: &str, parent: &str) -> String {
    format!(
        r#"{{"type":"assistant","uuid":"{id}","parentUuid":"{parent}","sessionId":"{session}","requestId":"req_{id}","timestamp":"2026-08-03T10:00:05.000Z","message":{{"id":"msg_{id}","model":"claude-opus-5","content":[],"stop_reason":"end_turn","usage":{{"input_tokens":10,"cache_read_input_tokens":0,"cache_creation_input_tokens":0,"output_tokens":5}}}}}}"#
    )
}

fn custom(session: &str, title: &str) -> String {
    format!(r#"{{"type":"custom-title","customTitle":"{title}","sessionId":"{session}"}}"#)
}

fn ai(session: &str, title: &str) -> String {
    format!(r#"{{"type":"ai-title","aiTitle":"{title}","sessionId":"{session}"}}"#)
}

fn summary(leaf: &str, title: &str) -> String {
    format!(r#"{{"type":"summary","summary":"{title}","leafUuid":"{leaf}"}}"#)
}

fn expected(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    let owned = pairs.iter().map(|(session, title)| ((*session).into(), (*title).into()));
    owned.collect()
}

/// One session: a prompt `a1` and its answer `a2`.
fn session(name: &str) -> [String; 2] {
    let (first, second) = (format!("{name}1"), format!("{name}2"));
    [prompt(name, &first), answer(name, &second, &first)]
}

#[test]
fn the_users_word_is_above_the_models_and_that_above_a_summary() {
    let [asked, answered] = session("a");
    let all = [custom("a", "custom"), summary("a2", "old"), asked, answered, ai("a", "made")];
    assert_eq!(titles(&[("a.jsonl", &all)]), expected(&[("a", "custom")]));
    assert_eq!(titles(&[("a.jsonl", &all[1..])]), expected(&[("a", "made")]));
    assert_eq!(titles(&[("a.jsonl", &all[1..4])]), expected(&[("a", "old")]));
}

#[test]
fn of_one_kind_the_last_one_counts_across_files() {
    let [asked, answered] = session("a");
    let first = [asked, answered, custom("a", "one"), custom("a", "two")];
    assert_eq!(titles(&[("a.jsonl", &first)]), expected(&[("a", "two")]));
    let second = [ai("a", "made"), custom("a", "three"), custom("a", "  ")];
    let both: [(&str, &[String]); 2] = [("a.jsonl", &first), ("b.jsonl", &second)];
    assert_eq!(titles(&both), expected(&[("a", "three")]));
}

#[test]
fn a_summary_names_the_session_of_its_leaf_wherever_that_stands() {
    let other = session("b");
    let mut lines = vec![summary("b2", "of the other"), summary("missing", "of nothing")];
    lines.extend(session("a"));
    let files: [(&str, &[String]); 2] = [("a.jsonl", &lines), ("b.jsonl", &other)];
    assert_eq!(titles(&files), expected(&[("b", "of the other")]));
}

#[test]
fn a_leaf_before_every_answer_names_its_session_itself() {
    let [asked, answered] = session("a");
    let retried = prompt("a", "a0");
    let lines = [retried, asked, answered, summary("a0", "of a prompt")];
    assert_eq!(titles(&[("a.jsonl", &lines)]), expected(&[("a", "of a prompt")]));
}

/// An old client copied a session in front of the one that goes on from it, line by line.
#[test]
fn a_copied_leaf_is_of_the_session_where_it_began() {
    let before = session("b");
    let mut after = before.map(|line| line.replace(r#""sessionId":"b""#, r#""sessionId":"a""#));
    let goes_on = answer("a", "a3", "b2").replace("10:00:05", "11:00:00");
    let after_with_more = [std::mem::take(&mut after[0]), std::mem::take(&mut after[1]), goes_on];
    let titled = [summary("b2", "of the first")];
    let files: [(&str, &[String]); 3] =
        [("a.jsonl", &after_with_more), ("b.jsonl", &session("b")), ("c.jsonl", &titled)];
    assert_eq!(titles(&files), expected(&[("b", "of the first")]));
}

#[test]
fn nothing_is_kept_unasked_and_reading_is_the_same() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.jsonl");
    let mut lines = session("a").to_vec();
    // Half a character, and a key twice: of a line that is skipped unread neither matters.
    lines.push(custom("a", "\\ud83d"));
    lines.push(r#"{"type":"ai-title","aiTitle":"1","aiTitle":"2","sessionId":"a"}"#.to_owned());
    fs::write(&path, lines.join("\n")).expect("written");
    let paths = [path];
    let (without, with) = (history(&paths, false), history(&paths, true));
    assert!(without.titles.is_empty());
    assert_eq!(titles_of(&paths), expected(&[("a", "\u{fffd}")]));
    assert_eq!(without.requests.len(), with.requests.len());
    for history in [&without, &with] {
        assert_eq!(history.diagnostics.counts().count(), 0);
    }
}

/// Titles stand in front of a large file's first entries, so some chunk holds nothing else.
#[test]
fn titles_of_large_files_are_all_read() {
    let mut lines: Vec<String> = (0..40_000).map(|at| ai("a", &format!("title {at}"))).collect();
    lines.extend(session("a"));
    lines.extend((0..40_000).map(|at| ai("b", &format!("title {at}"))));
    let titles = titles(&[("a.jsonl", &lines)]);
    assert_eq!(titles, expected(&[("a", "title 39999"), ("b", "title 39999")]));
}

#[test]
fn no_report_shows_a_title_unasked() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.jsonl");
    let mut lines = session("a").to_vec();
    lines.push(custom("a", "SECRET"));
    fs::write(&path, lines.join("\n")).expect("written");
    let path = path.to_str().expect("plain");
    let commands = ["analyze", "breaks", "compare", "context", "verify", "check", "report"];
    let kinds = ["turns", "cost", "gaps", "strategies", "breaks", "context", "daily"];
    let charts = kinds.map(|kind| vec!["chart", kind, path]);
    for command in commands.map(|command| vec![command, path]).into_iter().chain(charts) {
        let output = run(&command);
        let shown = [output.stdout, output.stderr].concat();
        assert!(!String::from_utf8_lossy(&shown).contains("SECRET"), "{command:?}");
    }
}

/// Counted by a script that reads every value of each line as JSON: 22 sessions are named by
/// `ai-title`, 13 others have an entry that a `summary` names. Their last titles have 1,811
/// characters, and two of them 6 and 22 too many.
#[test]
fn the_real_sessions_have_their_titles() {
    let Some(corpus) = shared("corpus") else { return };
    let titles = titles_of(&[corpus]);
    assert_eq!(titles.len(), 22 + 13);
    let lengths: Vec<usize> = titles.values().map(|title| title.chars().count()).collect();
    assert_eq!(lengths.iter().sum::<usize>(), 1_811 - 6 - 22);
    assert_eq!(lengths.iter().filter(|length| **length == 200).count(), 2);
}
