//! Every command over sessions in terminals of several widths: no line is longer than the terminal, and no
//! word or number is broken.

use std::collections::HashSet;

use unicode_width::UnicodeWidthStr;

use crate::common::{cachesim, is_thorough, project, shared, text};

const WIDTHS: [usize; 6] = [60, 76, 80, 100, 120, 160];

/// So wide that nothing is wrapped, cut or hidden.
const EVERYTHING: usize = 10_000;

/// What prints tables; `{}` is the input.
const OVER_SESSIONS: [&[&str]; 9] = [
    &["analyze", "{}"],
    &["analyze", "{}", "--strategy", "billed,replay,5m,1h,mixed,optimal,skip-cache-write"],
    &["compare", "{}"],
    &["compare", "{}", "--strategy", "1h,5m,compact-100k,no-global-scope"],
    &["breaks", "{}"],
    &["breaks", "{}", "--top", "100"],
    &["context", "{}"],
    &["blocks", "{}"],
    &["verify", "{}"],
];

/// What prints tables of something else.
const OTHERS: [&[&str]; 11] = [
    &["lint", "fixtures/conditional-sections"],
    &["lint", "fixtures/unsorted-tools"],
    &["tokens", "README.md"],
    &["tokens", "fixtures/captured-clock/session.jsonl"],
    &["tokens", "fixtures/captured-clock/session.jsonl", "--by", "block"],
    &["fork"],
    &["prices", "list"],
    &["fork", "--parent", "150000", "--children", "8", "--model", "claude-opus-5"],
    &["config", "show"],
    &["schema"],
    &["analyze", "fixtures/first-look", "--strategy", "billed,5m"],
];

fn page(arguments: &[&str], width: usize) -> String {
    let output = cachesim()
        .current_dir(project(""))
        .args(arguments)
        .env("COLUMNS", width.to_string())
        .output()
        .expect("the program runs");
    let page = text(&output.stdout);
    assert!(!page.is_empty(), "{arguments:?}: {}", text(&output.stderr));
    page
}

/// Heads and words that stand in for sentences where these have no room.
const EVENTS: [&str; 8] =
    ["event", "break", "expired", "compact", "cold", "first", "rewrite", "restart"];

/// The notes on what a table hides stand in narrow pages alone.
fn without_notes(page: &str) -> String {
    let mut kept = String::new();
    let mut is_in_note = false;
    for line in page.lines() {
        is_in_note = (is_in_note || line.starts_with("Hidden at this width:")) && !line.is_empty();
        if !is_in_note {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}

fn check(arguments: &[&str]) {
    let whole = page(arguments, EVERYTHING);
    assert!(!whole.contains("Hidden at this width"), "{arguments:?}");
    let words: HashSet<&str> = whole.split_whitespace().chain(EVENTS).collect();
    for width in WIDTHS {
        let page = page(arguments, width);
        for line in page.lines() {
            assert!(line.width() <= width, "{arguments:?} at {width}: {line:?}");
        }
        for word in without_notes(&page).split_whitespace() {
            let is_rule = word.chars().all(|one| one == '─');
            let is_whole = words.contains(word) || word.contains('…') || is_rule;
            assert!(is_whole, "{arguments:?} at {width}: {word:?} is no whole word");
        }
    }
}

fn over(input: &str) {
    for arguments in OVER_SESSIONS {
        let arguments: Vec<&str> =
            arguments.iter().map(|one| if *one == "{}" { input } else { one }).collect();
        check(&arguments);
    }
}

#[test]
fn fixtures_fit_every_terminal() {
    if !is_thorough() {
        return;
    }
    over("fixtures");
    over("fixtures/first-look");
    over("fixtures/microcompaction-attachment");
}

#[test]
fn real_sessions_fit_every_terminal() {
    let Some(corpus) = shared("corpus") else { return };
    over(corpus.to_str().expect("a plain path"));
}

#[test]
fn other_tables_fit_every_terminal() {
    for arguments in OTHERS {
        check(arguments);
    }
}
