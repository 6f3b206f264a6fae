//! What describes the program to shells and readers: completions and manual pages.

use std::collections::BTreeSet;
use std::fs;
use std::process::{Command, Stdio};

use crate::common::{project, run, skip, stdout, text, utf8};

/// The commands that the help lists below these, with the help itself left out: names in sections before the options.
fn commands(of: &[&str]) -> Vec<String> {
    let help = stdout(&[of, &["--help"]].concat());
    let (lists, _) = help.split_once("\nOptions:\n").expect("options");
    let listed = lists.lines().filter_map(|line| line.strip_prefix("  "));
    let listed = listed.filter(|line| line.starts_with(|one: char| one.is_ascii_lowercase()));
    let names = listed.filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help").map(str::to_owned).collect()
}

/// The long options that the help of a command lists.
fn options(of: &[&str]) -> BTreeSet<String> {
    let help = stdout(&[of, &["--help"]].concat());
    let lines = help.lines().map(str::trim_start).filter(|line| line.starts_with('-'));
    let words = lines.flat_map(|line| line.split(|one: char| one.is_whitespace() || one == ','));
    let longs = words.filter(|word| word.starts_with("--"));
    longs.map(|word| word.trim_end_matches("...").to_owned()).collect()
}

/// Every command, those below another one included.
fn every_command() -> Vec<Vec<String>> {
    let mut all = Vec::new();
    let mut open = vec![Vec::new()];
    while let Some(above) = open.pop() {
        let words: Vec<&str> = above.iter().map(String::as_str).collect();
        for name in commands(&words) {
            open.push([above.as_slice(), &[name]].concat());
        }
        all.push(above);
    }
    assert!(all.len() > 14, "{all:?}");
    all
}

/// What a reader sees of a page in place of its escapes.
fn plain(page: &str) -> String {
    page.replace("\\-", "-").replace("\\fB", "").replace("\\fI", "").replace("\\fR", "")
}

#[test]
fn completions_name_every_command() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = stdout(&["completions", shell]);
        for command in commands(&[]) {
            assert!(script.contains(&command), "{shell}: {command}");
        }
        for option in options(&["compare"]) {
            let named = [option.as_str(), &format!("-l {}", option.trim_start_matches("--"))];
            assert!(named.iter().any(|name| script.contains(name)), "{shell}: {option}");
        }
    }
    assert_eq!(run(&["completions", "tcsh"]).status.code(), Some(2));
}

#[test]
fn shells_can_read_their_completions() {
    let folder = tempfile::tempdir().expect("a folder");
    for shell in ["bash", "zsh", "fish"] {
        let file = folder.path().join(shell);
        let path = file.to_str().expect("plain");
        assert_eq!(stdout(&["completions", shell, "-o", path]), "");
        let check = Command::new(shell).arg("-n").arg(&file).stdin(Stdio::null()).output();
        match check {
            Ok(output) => assert!(output.status.success(), "{shell}: {}", text(&output.stderr)),
            Err(_) => skip(shell),
        }
    }
}

#[test]
fn every_command_has_a_page_with_all_its_options() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path().join("man1");
    stdout(&["man", "--all", folder.to_str().expect("plain")]);
    let commands = every_command();
    for command in &commands {
        let words: Vec<&str> = command.iter().map(String::as_str).collect();
        let name = [&["cachesim"], words.as_slice()].concat().join("-");
        let page = stdout(&[&["man"], words.as_slice()].concat());
        let file = fs::read_to_string(folder.join(format!("{name}.1"))).expect("a page");
        assert_eq!(file, page);
        let page = plain(&page);
        assert!(page.contains(&format!(".SH NAME\n{name} - ")), "{page}");
        let options = options(&words);
        assert!(options.contains("--help"), "{options:?}");
        for option in options {
            assert!(page.contains(&option), "{name}: {option}");
        }
    }
    assert_eq!(fs::read_dir(folder).expect("pages").count(), commands.len());
}

#[test]
fn the_page_of_the_program_has_the_exit_codes() {
    let page = plain(&stdout(&["man"]));
    let (_, end) = page.split_once(".SH \"EXIT CODES\"\n.nf\n").expect("a section");
    let help = stdout(&["--help"]);
    let (_, codes) = help.split_once("Exit codes:\n").expect("a section");
    assert!(codes.lines().count() >= 7);
    for line in codes.lines() {
        assert!(end.lines().any(|one| one.trim() == line.trim()), "{line}");
    }
}

/// Reads the pages as a reader would, where there is a formatter.
#[test]
fn the_pages_are_sound() {
    let folder = tempfile::tempdir().expect("a folder");
    stdout(&["man", "--all", folder.path().to_str().expect("plain")]);
    for page in fs::read_dir(folder.path()).expect("pages") {
        let page = page.expect("a page").path();
        let formatter = Command::new("groff")
            .args(["-man", "-Tutf8", "-ww", "-Kutf8", "-z"])
            .arg(&page)
            .stdin(Stdio::null())
            .output();
        let Ok(output) = formatter else {
            return skip("groff");
        };
        assert!(output.status.success(), "{}", page.display());
        assert_eq!(text(&output.stderr), "", "{}", page.display());
    }
}

#[test]
fn the_page_of_an_unknown_command_is_a_usage_error() {
    let error = |arguments: &[&str]| {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(2));
        text(&output.stderr)
    };
    assert!(error(&["man", "analyse"]).contains("did you mean `analyze`"));
    assert!(error(&["man", "prices", "lists"]).contains("did you mean `list`"));
    assert!(error(&["man", "fork", "list"]).contains("`fork` has no commands"));
}

/// A page that nobody reads to its end is no failure.
#[test]
#[cfg(unix)]
fn a_closed_pipe_is_done() {
    for arguments in ["man compare", "completions bash", "schema report"] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_cachesim"))
            .args(arguments.split(' '))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program runs");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(0), "{arguments}: {}", text(&output.stderr));
        assert!(output.stderr.is_empty(), "{arguments}");
    }
}

/// What stands in help around a list of words, and the arguments in which each of them has to be known, for `{}`.
struct WordList {
    page: &'static str,
    around: [&'static str; 2],
    arguments: &'static [&'static str],
}

const CHART: &[&str] = &["chart", "{}"];
const STRATEGY: &[&str] = &["analyze", "--strategy", "{}"];
const HELP: &[&str] = &["help", "{}"];

const WORD_LISTS: [WordList; 9] = [
    list("chart", ["Charts as SVG or PNG: ", ", … Usage:"], CHART),
    list("chart", ["Strategies that ", " show, and no other"], CHART),
    list("analyze", ["--format json of ", " has a line"], HELP),
    list("analyze", ["from this time on: ", ", YYYY-MM-DD"], &["analyze", "--since", "{}"]),
    list("mcp", ["Its tools are ", ": each takes"], HELP),
    list(
        "compare",
        ["STRATEGY.METRIC (", "), decimals"],
        &["compare", "--fail-if", "billed.{} < 0"],
    ),
    list("compare", ["There are ", "; `own` is"], &["compare", "--provider", "{}"]),
    list("advise", ["stays, comments included. ", " place markers"], STRATEGY),
    list("advise", [" takes them out, and ", " set the lifetimes"], STRATEGY),
];

const fn list(
    page: &'static str,
    around: [&'static str; 2],
    arguments: &'static [&'static str],
) -> WordList {
    WordList { page, around, arguments }
}

#[test]
fn every_word_that_help_lists_is_one_to_use() {
    let fixture = project("fixtures/first-look");
    for WordList { page, around: [before, after], arguments } in WORD_LISTS {
        let help = stdout(&[page, "--help"]).split_whitespace().collect::<Vec<_>>().join(" ");
        let (_, rest) = help.split_once(before).unwrap_or_else(|| panic!("{page}: {before}"));
        let (words, _) = rest.split_once(after).unwrap_or_else(|| panic!("{page}: {after}"));
        let words = words.replace(" and ", ", ");
        let words: Vec<&str> = words.split(", ").collect();
        assert!(words.len() > 1, "{page}: {words:?}");
        for word in words {
            let filled = arguments.iter().map(|one| one.replace("{}", word));
            let mut filled: Vec<String> = filled.collect();
            if arguments != HELP {
                filled.extend(["-q".to_owned(), utf8(&fixture).to_owned()]);
            }
            let filled: Vec<&str> = filled.iter().map(String::as_str).collect();
            let output = run(&filled);
            // Nothing may be selected, but no word is wrong usage.
            assert_ne!(output.status.code(), Some(2), "{filled:?}: {}", text(&output.stderr));
        }
    }
}

/// Names by which charts are called in passing are names of them, too.
#[test]
fn charts_have_the_names_that_people_try() {
    let fixture = project("fixtures/first-look");
    for (name, alias) in [("cost", "costs"), ("daily", "days")] {
        let chart = |name: &str| stdout(&["chart", name, "-q", utf8(&fixture)]);
        assert_eq!(chart(alias), chart(name));
    }
}
