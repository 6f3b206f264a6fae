//! The same input gives the same bytes: at any number of threads and in any order of the paths, for
//! every command that reads requests and every format that its help names.

use std::path::PathBuf;

use crate::common::{cachesim, is_thorough, project, run, shared, stdout, text};

const JOBS: [&str; 5] = ["1", "2", "3", "8", "64"];

/// Values that commands need besides paths.
fn needed(command: &str, request: &str) -> Vec<String> {
    match command {
        "chart" => names_behind(&help_of("chart"), "<KIND>"),
        "explain" => vec![request.to_owned()],
        "domains" => vec!["--root=/".to_owned()],
        _ => vec![String::new()],
    }
}

fn help_of(command: &str) -> String {
    stdout(&[command, "--help"])
}

/// The names in the list of possible values that follows a word of a help.
fn names_behind(help: &str, word: &str) -> Vec<String> {
    let behind = help.lines().skip_while(|line| !line.trim_start().starts_with(word));
    let listed = behind.skip_while(|line| line.trim() != "Possible values:").skip(1);
    let listed = listed.take_while(|line| !line.trim().is_empty());
    let names = listed.filter_map(|line| line.trim_start().strip_prefix("- "));
    names.map(|name| name.split(':').next().unwrap_or(name).to_owned()).collect()
}

/// Every command that takes `--jobs` and paths, in every format, without the paths.
fn commands(request: &str) -> Vec<Vec<String>> {
    let all = stdout(&["help"]);
    let listed = all.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names = listed.filter_map(|line| line.split_whitespace().next());
    let names = names.filter(|name| name.bytes().all(|byte| byte.is_ascii_lowercase()));
    let mut commands = Vec::new();
    // Parts are files, and `fleet` compares them.
    for name in names.filter(|name| *name != "completions").chain(["domains"]) {
        let help = help_of(name);
        if !(help.contains("--jobs") && help.contains("[PATH]...")) {
            continue;
        }
        let mut formats = names_behind(&help, "--format");
        if formats.is_empty() {
            formats.push(String::new());
        }
        for value in needed(name, request) {
            for format in &formats {
                let format = [("--format", format.as_str())];
                let format = format.iter().filter(|(_, format)| !format.is_empty());
                let format = format.flat_map(|(option, format)| [*option, *format]);
                let words = [name, value.as_str()].into_iter().filter(|word| !word.is_empty());
                commands.push(words.chain(format).map(str::to_owned).collect());
            }
        }
    }
    commands
}

/// Everything that a command prints, and how it ends.
fn told(command: &[String], paths: &[String], jobs: &str) -> (Option<i32>, Vec<u8>, String) {
    let output = cachesim().args(command).args(paths).args(["--jobs", jobs]).output();
    let output = output.expect("the program runs");
    (output.status.code(), output.stdout, text(&output.stderr))
}

/// Runs every command over the paths, each time with another number of threads and another order.
fn check(paths: &[PathBuf]) {
    let mut paths: Vec<String> =
        paths.iter().map(|path| path.to_str().expect("a plain path").to_owned()).collect();
    let ledger =
        [vec!["analyze", "--format", "jsonl", "-q"], paths.iter().map(String::as_str).collect()];
    let rows = text(&run(&ledger.concat()).stdout);
    let first: serde_json::Value =
        serde_json::from_str(rows.lines().next().expect("a row")).expect("a row");
    let request = first["request_id"].as_str().expect("the first request has an id").to_owned();
    let commands = commands(&request);
    assert!(commands.len() >= 40, "{commands:?}");
    for command in commands {
        let once = told(&command, &paths, JOBS[0]);
        // Transcripts alone have no prompt to look at.
        let is_refused = once.0 == Some(3) && command[0] == "lint";
        assert!(matches!(once.0, Some(0 | 1)) || is_refused, "{command:?}: {}", once.2);
        for jobs in &JOBS[1..] {
            paths.rotate_left(1);
            let again = told(&command, &paths, jobs);
            assert!(once == again, "{command:?} with {jobs} threads over {paths:?}");
        }
        paths.reverse();
        assert!(once == told(&command, &paths, "2"), "{command:?} over {paths:?}");
    }
}

/// Files that hold the same answers, so that one of them has to be the first.
#[test]
fn copies_of_a_session_are_the_same_in_any_order() {
    if !is_thorough() {
        return;
    }
    let folder = project("fixtures/resumed-and-forked");
    check(&["a-fork.jsonl", "b-resumed.jsonl", "c-original.jsonl"].map(|name| folder.join(name)));
}

#[test]
fn inputs_of_all_kinds_are_the_same_in_any_order() {
    if !is_thorough() {
        return;
    }
    let names = ["expiry-5m", "damaged", "captured-forks", "bundled-session", "claude-trace-log"];
    check(&names.map(|name| project("fixtures").join(name)));
}

#[test]
fn real_sessions_are_the_same_in_any_order() {
    let Some(corpus) = shared("corpus") else { return };
    let names = ["Piebald-AI__splitrail", "d-kimuson__claude-code-viewer", "wesm__agentsview"];
    check(&names.map(|name| corpus.join(name)));
}

/// A session may go on from one file to the next.
#[test]
fn bundles_are_placed_the_same_in_any_order() {
    let paths =
        ["bundled-session", "conditional-sections"].map(|name| project("fixtures").join(name));
    let [one, other] = paths.each_ref().map(|path| path.to_str().expect("a plain path"));
    let placed = stdout(&["place", one, other]);
    assert!(placed.lines().count() > 2);
    assert_eq!(placed, stdout(&["place", other, one]));
}

/// All of the real sessions, for which no other format has rows than these.
#[test]
fn all_real_sessions_are_the_same_to_any_number_of_threads() {
    let Some(corpus) = shared("corpus") else { return };
    let corpus = corpus.to_str().expect("a plain path");
    let printed =
        |format, jobs| stdout(&["analyze", corpus, "--format", format, "-q", "--jobs", jobs]);
    for (format, jobs) in [("jsonl", &JOBS[1..]), ("json", &JOBS[3..4]), ("csv", &JOBS[1..2])] {
        let once = printed(format, "1");
        assert!(once.len() > 10_000);
        for jobs in jobs {
            assert!(once == printed(format, jobs), "{format} with {jobs} threads");
        }
    }
}
