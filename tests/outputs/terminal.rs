//! What is different on a terminal: tables have small bars, and what is nothing to look at there is
//! refused.

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use unicode_width::UnicodeWidthStr as _;

use crate::common::{
    cachesim, fixture, is_thorough, json, largest, ledger, project, run, shared, skip, text,
};

const BLOCKS: [char; 8] = ['█', '▉', '▊', '▋', '▌', '▍', '▎', '▏'];

/// What the program prints on a terminal where it succeeds.
fn on_terminal(arguments: &str, terminal: &str) -> Option<String> {
    let (code, printed) = run_on_terminal(arguments, terminal)?;
    assert_eq!(code, Some(0), "{printed}");
    Some(printed)
}

/// How the program ends on a terminal, and what it prints; `None`, noted, where no terminal can
/// be had.
fn run_on_terminal(arguments: &str, terminal: &str) -> Option<(Option<i32>, String)> {
    in_terminal(arguments, |script| script.envs([("COLUMNS", "160"), ("TERM", terminal)]))
}

/// The same on a terminal that is set up so, from the project's folder.
fn in_terminal(
    line: &str,
    set_up: impl FnOnce(&mut Command) -> &mut Command,
) -> Option<(Option<i32>, String)> {
    let program = env!("CARGO_BIN_EXE_cachesim");
    let mut script = Command::new("script");
    script
        .args(["-qec", &format!("${{SIZE:-true}}; '{program}' {line}"), "/dev/null"])
        .current_dir(project(""))
        .env_clear()
        .envs([("HOME", "/nonexistent"), ("CACHESIM_NO_CONFIG", "1")])
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .stdin(std::process::Stdio::null());
    let Ok(output) = set_up(&mut script).output() else {
        skip("script");
        return None;
    };
    assert!(output.stderr.is_empty(), "{}", text(&output.stderr));
    Some((output.status.code(), text(&output.stdout).replace("\r\n", "\n")))
}

/// What the program prints into a pipe, as wide as the terminal.
fn wide(arguments: &[&str]) -> String {
    let output = cachesim().args(arguments).env("COLUMNS", "160").output();
    text(&output.expect("the program runs").stdout)
}

fn has_bars(text: &str) -> bool {
    text.contains(BLOCKS)
}

/// The bars in the rows of the table under a heading, in their order.
fn bars(text: &str, heading: &str) -> Vec<String> {
    let lines = text.lines().skip_while(|line| !line.starts_with(heading));
    // The heading and an empty line, then the names of the columns and a rule.
    let rows = lines.skip(2).take_while(|line| !line.is_empty()).skip(2);
    let bars = rows.map(|row| row.chars().filter(|one| BLOCKS.contains(one)).collect());
    // A row whose words are broken goes on in lines without one.
    bars.filter(|bar: &String| !bar.is_empty()).collect()
}

/// Ten cells for the whole, in eighths that are full; one for anything at all.
fn bar(part: u128, whole: u128) -> String {
    let eighths = usize::try_from((part * 80 / whole).max(u128::from(part > 0))).expect("small");
    let last = (1..=7).rev().zip(&BLOCKS[1..]).find(|(count, _)| *count == eighths % 8);
    "█".repeat(eighths / 8) + &last.map(|(_, block)| block.to_string()).unwrap_or_default()
}

/// Picodollars.
fn amount(usd: &Value) -> u128 {
    let (whole, fraction) = usd.as_str().and_then(|usd| usd.split_once('.')).expect("a decimal");
    format!("{whole}{fraction:0<12}").parse().expect("an amount")
}

#[test]
fn a_terminal_has_bars() {
    let session = fixture("first-look/session.jsonl");
    let arguments = format!("analyze '{session}' -q --color never");
    let Some(shown) = on_terminal(&arguments, "xterm") else { return };
    let rows = ledger(Path::new(&session), &["--strategy", "billed"]);
    let costs = rows.iter().map(|row| amount(&row["cost_usd"]));
    let most = costs.clone().max().expect("turns");
    let of_turns: Vec<String> = costs.map(|cost| bar(cost, most)).collect();
    assert_eq!(bars(&shown, "Session"), of_turns);
    let totals = &json(&["analyze", &session, "-q", "--format", "json"])["totals"];
    let strategies = ["billed", "replay", "none", "5m", "1h"];
    let costs = strategies.map(|strategy| amount(&totals[strategy]["cost_usd"]));
    let dearest = *costs.iter().max().expect("strategies");
    assert_eq!(bars(&shown, "Totals"), costs.map(|cost| bar(cost, dearest)));
    let words = |text: &str| {
        let words = text.split(|one: char| one.is_whitespace() || one == '─');
        let words = words.filter(|word| !word.is_empty() && !has_bars(word));
        words.map(str::to_owned).collect::<Vec<_>>()
    };
    let plain = wide(&["analyze", &session, "-q"]);
    assert!(!has_bars(&plain));
    assert_eq!(words(&shown), words(&plain), "nothing else differs");
}

/// The rows of turns under the heading of a session.
fn rows_of_turns(page: &str) -> usize {
    let lines = page.lines().skip_while(|line| !line.starts_with("Session"));
    let rows = lines.skip(4).take_while(|line| !line.is_empty() && !line.starts_with("Hidden"));
    // Sentences may go on below.
    rows.filter(|row| row.chars().take(8).any(|one| one.is_ascii_digit())).count()
}

#[test]
fn quiet_turns_of_a_long_session_fold_on_a_terminal_alone() {
    let Some(corpus) = shared("corpus-b") else { return };
    let session = largest(&corpus);
    let session = session.to_str().expect("a plain path");
    let requests = ledger(Path::new(session), &["--strategy", "billed"]).len();
    assert!(requests > 40, "a long one");
    let arguments = format!("analyze '{session}' -q --color never");
    let Some(folded) = on_terminal(&arguments, "xterm") else { return };
    assert!(rows_of_turns(&folded) < requests);
    assert!(folded.contains("--turns all shows each"), "{folded}");
    let Some(whole) = on_terminal(&format!("{arguments} --turns all"), "xterm") else { return };
    assert_eq!(rows_of_turns(&whole), requests);
    assert_eq!(rows_of_turns(&wide(&["analyze", session, "-q"])), requests, "a pipe has all");
}

#[test]
fn sessions_have_bars_by_what_they_cost() {
    let folder = fixture("resumed-and-forked");
    let Some(shown) = on_terminal(&format!("analyze '{folder}' -q"), "xterm") else { return };
    let report = json(&["analyze", &folder, "-q", "--format", "json"]);
    let sessions = report["sessions"].as_array().expect("sessions");
    assert!(sessions.len() > 1);
    let costs = sessions.iter().map(|session| amount(&session["totals"]["billed"]["cost_usd"]));
    let dearest = costs.clone().max().expect("a session");
    let heading = format!("{} sessions", sessions.len());
    let mut costs: Vec<u128> = costs.collect();
    costs.sort_unstable_by(|one, other| other.cmp(one));
    let expected: Vec<String> = costs.into_iter().map(|cost| bar(cost, dearest)).collect();
    // The heading is bold.
    let shown = shown.replace("\u{1b}[1m", "").replace("\u{1b}[0m", "");
    assert_eq!(bars(&shown, &heading), expected);
}

#[test]
fn others_have_none() {
    let session = fixture("first-look/session.jsonl");
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("out");
    for (arguments, terminal) in [
        (format!("analyze '{session}'"), "dumb"),
        (format!("analyze '{session}' --format markdown"), "xterm"),
        (format!("analyze '{session}' -o '{}'", file.display()), "xterm"),
    ] {
        let Some(shown) = on_terminal(&arguments, terminal) else { return };
        assert!(!has_bars(&shown), "{arguments}: {shown}");
    }
    assert_eq!(std::fs::read_to_string(file).expect("read"), wide(&["analyze", &session]));
    let colored = run(&["analyze", &session, "--color", "always"]);
    assert!(!has_bars(&text(&colored.stdout)), "colours alone make no terminal");
}

#[test]
fn pictures_and_pages_are_nothing_for_a_terminal() {
    let fixture = fixture("first-look");
    for (arguments, words) in [
        (format!("chart turns '{fixture}' --format png"), "give -o FILE"),
        (format!("report '{fixture}'"), "-o report.html"),
    ] {
        let Some((code, printed)) = run_on_terminal(&arguments, "xterm") else { return };
        assert_eq!(code, Some(2), "{printed}");
        assert!(printed.contains(words), "{printed}");
    }
}

/// Every command with an output for people, each with an input that it has much to say about.
const COMMANDS: [&str; 34] = [
    "analyze 'fixtures'",
    "analyze 'fixtures/context-kinds'",
    "analyze 'fixtures' --by project",
    "breaks 'fixtures'",
    "explain 'fixtures/first-look/session.jsonl:11' 'fixtures/first-look'",
    "context 'fixtures'",
    "blocks 'fixtures'",
    "verify 'fixtures'",
    "advise 'fixtures'",
    "advise 'fixtures/first-look'",
    "compare 'fixtures'",
    "compare 'fixtures/first-look'",
    "lint 'fixtures'",
    "check 'fixtures'",
    "check 'fixtures/captured-clock'",
    "init 'fixtures/first-look' --ci none",
    "tokens 'fixtures/captured-clock/session.jsonl'",
    "tokens 'fixtures/captured-clock/session.jsonl' --by block",
    "fork",
    "prices",
    "prices list",
    "prices show claude-opus-4-6",
    "sources",
    "strategies",
    "config",
    "config show",
    "schema",
    "redact --explain",
    "fleet",
    "chart turns 'fixtures/first-look'",
    "report 'fixtures/first-look'",
    "statusline",
    "hook",
    "mcp",
];

/// What a command prints on a terminal of some columns and 24 lines.
fn on_screen(arguments: &str, columns: usize) -> Option<String> {
    let size = [("SIZE", format!("stty rows 24 cols {columns}")), ("TERM", "xterm".to_owned())];
    let (_, page) = in_terminal(arguments, |script| script.envs(size))?;
    let page = anstream::adapter::strip_str(&page).to_string();
    // A bar of long work is overwritten, again and again, from the beginning of its line.
    Some(
        page.lines()
            .map(|line| line.rsplit('\r').next().unwrap_or(line).to_owned() + "\n")
            .collect(),
    )
}

fn on_small_terminal(arguments: &str) -> Option<String> {
    on_screen(arguments, 80)
}

/// The page, which fits the screen.
fn fits(arguments: &str, columns: usize) -> Option<String> {
    let page = on_screen(arguments, columns)?;
    // The prompt of the shell is the last line.
    let height = page.lines().count();
    assert!(height < 24, "{arguments} at {columns}: {height} lines\n{page}");
    for line in page.lines() {
        assert!(line.width() <= columns, "{arguments} at {columns}: {line}");
    }
    Some(page)
}

#[test]
fn a_screen_is_enough_for_every_answer() {
    let mut pages = String::new();
    for arguments in COMMANDS {
        let Some(page) = fits(arguments, 80) else { return };
        pages.extend(["$ cachesim ", arguments, "\n", &page, "\n"]);
    }
    insta::assert_snapshot!(pages);
}

#[test]
fn screens_of_other_widths_are_enough() {
    for columns in [60, 76, 100, 160] {
        for arguments in COMMANDS.into_iter().filter(|_| is_thorough() || columns == 60) {
            if fits(arguments, columns).is_none() {
                return;
            }
        }
    }
}

#[test]
fn the_cause_of_a_break_is_on_the_first_screen() {
    for columns in [60, 80, 160] {
        let arguments = "explain fixtures/first-look/session.jsonl:11 fixtures/first-look";
        let Some(page) = on_screen(arguments, columns) else { return };
        assert!(page.contains("\nCause: "), "{columns}: {page}");
    }
}

#[test]
fn a_long_session_has_both_lifetimes_in_every_row() {
    let Some(corpus) = shared("corpus-b") else { return };
    let session = largest(&corpus);
    let arguments = format!("analyze '{}'", session.display());
    let Some(page) = fits(&arguments, 80) else { return };
    assert!(page.starts_with("Spent"), "{page}");
    let (_, table) = page.split_once("# ").expect("turns");
    let mut lines = table.lines();
    let head = lines.next().expect("names of columns");
    for name in ["gap", "read 5m", "wrote 5m", "read 1h", "wrote 1h", "event"] {
        assert!(head.contains(name), "{head}");
    }
    let rows = lines.skip(1).take_while(|line| !line.is_empty());
    let rows: Vec<&str> =
        rows.filter(|row| !row.starts_with("    ") || row.contains('$')).collect();
    assert!(rows.len() > 2, "{page}");
    for row in rows {
        assert!(row.matches('$').count() >= 2, "{row}");
    }
}

#[test]
fn what_is_left_out_is_said_and_all_of_it_is_there() {
    let Some(cut) = on_small_terminal("analyze fixtures/context-kinds") else { return };
    assert!(cut.contains("--all shows more: "), "{cut}");
    let [all, noted] = ["--all", "--notes"].map(|option| {
        on_small_terminal(&format!("analyze fixtures/context-kinds {option}")).expect("a terminal")
    });
    assert!(all.lines().count() > 24 && !all.contains("--all shows more"), "{all}");
    for part in ["Totals by strategy", "Lifetime: "] {
        assert!(all.contains(part), "{all}");
    }
    assert!(!cut.contains("checked on") && noted.contains("checked on"), "{noted}");
    // The sums of the turns are on the screen, whatever else is not.
    assert!(cut.lines().any(|line| line.starts_with("all ")), "{cut}");
}
