//! The table on a terminal of 80 columns, as a terminal shows it.

use std::fs;
use std::io::{Read as _, Write as _};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Instant;

use super::{AT_MOST, add};
use crate::common::{signal, skip, utf8};
use crate::live::statusline::{AFTER, first_look};

/// What `stty` says of a terminal that nobody has changed.
const UNCHANGED: [&str; 3] = ["isig", "icanon", "echo"];

/// A terminal in which a command runs.
struct Terminal {
    script: Child,
    keys: Option<ChildStdin>,
    bytes: Receiver<Vec<u8>>,
    screen: vt100::Parser,
    /// All that was sent to it.
    sent: Vec<u8>,
}

impl Terminal {
    /// `None`, noted, where no terminal can be had. After the program it shows how it ended and the terminal's state.
    fn of(folder: &Path, arguments: &str, columns: u16, rows: u16) -> Option<Self> {
        let program = env!("CARGO_BIN_EXE_cachesim");
        let pid = folder.join("pid");
        let command = format!(
            "stty cols {columns} rows {rows}; sh -c 'echo $$ > {}; exec {program} watch {arguments}'; \
             echo ended with $?; stty -a | grep -ow -e '-*icanon' -e '-*echo' -e '-*isig'; echo state",
            utf8(&pid)
        );
        Self::run(&command, columns, rows)
    }

    fn run(command: &str, columns: u16, rows: u16) -> Option<Self> {
        let at: jiff::Timestamp = AFTER.parse().expect("a moment");
        let script = Command::new("script")
            .args(["-qec", command, "/dev/null"])
            .env_clear()
            .envs([("HOME", "/nonexistent"), ("CACHESIM_NO_CONFIG", "1"), ("TERM", "xterm")])
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("SOURCE_DATE_EPOCH", at.as_second().to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let Ok(mut script) = script else {
            skip("script");
            return None;
        };
        let mut out = script.stdout.take().expect("a pipe");
        let (sender, bytes) = mpsc::channel();
        thread::spawn(move || {
            let mut buffer = [0; 4_096];
            while let Ok(read @ 1..) = out.read(&mut buffer) {
                if sender.send(buffer[..read].to_vec()).is_err() {
                    return;
                }
            }
        });
        let keys = script.stdin.take();
        let size = [rows, columns].map(|one| NonZero::new(one).expect("more than none"));
        let screen = vt100::Parser::new(size[0], size[1], 0);
        Some(Self { script, keys, bytes, screen, sent: Vec::new() })
    }

    /// The lines of the screen, once they are as they are meant to be.
    fn until(&mut self, is_meant: impl Fn(&[String]) -> bool) -> Vec<String> {
        let began = Instant::now();
        loop {
            let (_, columns) = self.screen.screen().size();
            let lines: Vec<String> = self.screen.screen().rows(0, columns.get()).collect();
            if is_meant(&lines) {
                return lines;
            }
            let left = AT_MOST.saturating_sub(began.elapsed());
            let Ok(bytes) = self.bytes.recv_timeout(left) else { panic!("it shows {lines:#?}") };
            self.screen.process(&bytes);
            self.sent.extend(bytes);
        }
    }

    fn type_keys(&mut self, keys: &[u8]) {
        let input = self.keys.as_mut().expect("open");
        input.write_all(keys).and_then(|()| input.flush()).expect("typed");
    }

    /// What is shown after the program: it has left the other screen, and the terminal is as it was.
    fn ends_with(mut self, code: i32) -> Vec<String> {
        let lines = self.until(|lines| lines.iter().any(|line| line.trim_end() == "state"));
        assert!(has(&lines, &format!("ended with {code}")), "{lines:#?}");
        assert!(!self.screen.screen().alternate_screen(), "{lines:#?}");
        assert!(!self.screen.screen().hide_cursor(), "{lines:#?}");
        let mut state: Vec<&str> = lines.iter().map(|line| line.trim_end()).collect();
        state.retain(|line| UNCHANGED.contains(&line.trim_start_matches('-')));
        assert_eq!(state, UNCHANGED, "{lines:#?}");
        drop(self.keys.take());
        self.script.wait().expect("it ends");
        lines
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // The terminal goes with it, which ends the program.
        let _has_ended = self.script.kill();
    }
}

fn has(lines: &[String], text: &str) -> bool {
    lines.iter().any(|line| line.contains(text))
}

/// A folder with the first session up to before its break, and the rest of it.
fn begun() -> (tempfile::TempDir, PathBuf, String) {
    let content = first_look();
    let lines: Vec<&str> = content.split_inclusive('\n').collect();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("s/a.jsonl");
    fs::create_dir(folder.path().join("s")).expect("a folder");
    fs::write(&path, lines[..9].concat()).expect("written");
    (folder, path, lines[9..].concat())
}

/// The figures of the last request are those of `hook` and `statusline`: $0.02366 and $0.32101. A summary of 6,000 tokens
/// at $25 a million, asked for with 2,500 at $10, costs $0.175 more.
#[test]
fn the_table_is_as_worked_out_by_hand() {
    let (folder, path, rest) = begun();
    let watched = format!("{} --budget 0.5", utf8(&folder.path().join("s")));
    let Some(mut terminal) = Terminal::of(folder.path(), &watched, 80, 24) else { return };
    terminal.until(|lines| has(lines, "5e1f0000 demo"));
    add(&path, &rest);
    let lines = terminal.until(|lines| has(lines, "more than $0.50"));
    let shown: Vec<&str> = lines.iter().map(|line| line.trim_end()).collect();
    assert_eq!(
        shown[..9],
        [
            "today $0.58 of $0.50 · 1 session open, 1 warm",
            "session                    cache     next   cold   compact        context  cost",
            "5e1f0000 demo              warm 56m  $0.02  $0.32  $0.20 → $0.50  32k 3 %  $0.58",
            "",
            "10:20:10 5e1f0000 demo: the cache broke, $0.1197 more than reading: the service",
            "         dropped the entry",
            "11:46:40 5e1f0000 demo: the cache broke, $0.1340 more than reading: an entry for",
            "         an hour expired",
            "11:50:40 today cost $0.58, more than $0.50",
        ]
    );
    terminal.type_keys(b"q");
    terminal.ends_with(0);
}

/// What is done to a file is told on the screen, too, and the watch goes on.
#[test]
fn what_becomes_of_a_file_is_shown() {
    let (folder, path, rest) = begun();
    let watched = utf8(&folder.path().join("s")).to_owned();
    let Some(mut terminal) = Terminal::of(folder.path(), &watched, 80, 24) else { return };
    terminal.until(|lines| has(lines, "5e1f0000 demo") && has(lines, "$0.23"));
    let content = fs::read_to_string(&path).expect("a session");
    let half = content.split_inclusive('\n').take(6).collect::<String>();
    let file = fs::OpenOptions::new().write(true).open(&path).expect("a file");
    file.set_len(half.len() as u64).expect("cut");
    terminal.until(|lines| has(lines, "its file became shorter"));
    fs::rename(&path, path.with_extension("1.jsonl")).expect("moved");
    terminal.until(|lines| has(lines, "its file is gone"));
    fs::write(&path, format!("{content}{rest}")).expect("written");
    let lines = terminal.until(|lines| has(lines, "$0.58"));
    assert!(lines[0].contains("· 2 sessions open"), "{lines:#?}");
    fs::write(&path, "no session\n").expect("written");
    terminal.until(|lines| has(lines, "1 session open"));
    terminal.type_keys(b"\x03");
    terminal.ends_with(0);
}

/// The system asks it to end.
#[test]
fn a_signal_gives_the_terminal_back() {
    for name in ["TERM", "INT", "QUIT"] {
        let (folder, _, _) = begun();
        let watched = utf8(&folder.path().join("s")).to_owned();
        let Some(mut terminal) = Terminal::of(folder.path(), &watched, 80, 24) else { return };
        let lines = terminal.until(|lines| has(lines, "q quits"));
        assert!(terminal.screen.screen().alternate_screen(), "{lines:#?}");
        let pid = fs::read_to_string(folder.path().join("pid")).expect("a number");
        signal(name, pid.trim());
        terminal.ends_with(0);
    }
}

/// On 40 columns there is room for the session, its cache, its next message and its cost; names control no terminal.
#[test]
fn a_narrow_terminal_shows_what_matters() {
    let (folder, path, _) = begun();
    let content = fs::read_to_string(&path).expect("a session");
    let hostile = content.replace("/w/demo", "/w/\\u001b[31mred\\u0007");
    fs::write(&path, hostile.replace("5e1f", "\\u001b]0;x")).expect("written");
    let watched = utf8(&folder.path().join("s")).to_owned();
    let Some(mut terminal) = Terminal::of(folder.path(), &watched, 40, 10) else { return };
    let lines = terminal.until(|lines| has(lines, "q quits"));
    let columns: Vec<&str> = lines[1].split_whitespace().collect();
    assert_eq!(columns, ["session", "cache", "next", "cost"]);
    assert!(lines[2].starts_with("…0000-4000-8000"), "{lines:#?}");
    assert!(!terminal.sent.windows(2).any(|pair| pair == b"\x1b]"), "a title was set");
    terminal.type_keys(b"q");
    terminal.ends_with(0);
}

/// Ctrl-Z gives the terminal back until the program goes on.
#[test]
fn it_stops_and_goes_on() {
    let (folder, _, _) = begun();
    let watched = utf8(&folder.path().join("s")).to_owned();
    let Some(mut terminal) = Terminal::of(folder.path(), &watched, 80, 24) else { return };
    terminal.until(|lines| has(lines, "q quits"));
    terminal.type_keys(b"\x1a");
    while terminal.screen.screen().alternate_screen() || terminal.screen.screen().hide_cursor() {
        let bytes = terminal.bytes.recv_timeout(AT_MOST).expect("it gives the terminal back");
        terminal.screen.process(&bytes);
    }
    let pid = fs::read_to_string(folder.path().join("pid")).expect("a number");
    let status = || fs::read_to_string(format!("/proc/{}/status", pid.trim())).unwrap_or_default();
    let began = Instant::now();
    while !status().contains("State:\tT") && began.elapsed() < AT_MOST {
        std::thread::yield_now();
    }
    signal("CONT", pid.trim());
    while !terminal.screen.screen().alternate_screen() {
        let bytes = terminal.bytes.recv_timeout(AT_MOST).expect("it goes on");
        terminal.screen.process(&bytes);
    }
    terminal.until(|lines| has(lines, "q quits"));
    terminal.type_keys(b"q");
    terminal.ends_with(0);
}
