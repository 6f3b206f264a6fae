//! A folder of invented sessions, and the report of it.

use std::fs;
use std::path::PathBuf;

use serde_json::json;

use super::chrome::Browser;
use crate::common::{cachesim, text, utf8};

/// A model with a price, and one that nobody has heard of.
pub(super) const PRICED: &str = "claude-opus-5";
pub(super) const UNPRICED: &str = "nobody-knows-1";

/// Monday, 2026-08-03, 08:00 UTC.
const MORNING: i64 = 1_785_744_000;

/// A request: when it was sent, in minutes since the session began, and its usage.
#[derive(Clone, Copy)]
pub(super) struct Turn {
    pub(super) minute: i64,
    pub(super) read: u64,
    pub(super) written_1h: u64,
    pub(super) input: u64,
    pub(super) output: u64,
}

impl Turn {
    pub(super) fn new(minute: i64, read: u64, written_1h: u64) -> Self {
        Self { minute, read, written_1h, input: 3, output: 100 + read / 1_000 }
    }
}

/// A chain in which each request reads what the one before it left and adds as much again.
pub(super) fn steady(requests: u64, step: u64) -> Vec<Turn> {
    (0..requests).map(|at| Turn::new(at.cast_signed(), at * step, step)).collect()
}

/// A session of one chain.
pub(super) struct Session {
    pub(super) name: String,
    pub(super) model: &'static str,
    /// Hours after the morning.
    pub(super) hour: i64,
    pub(super) turns: Vec<Turn>,
    /// Lines put after its own.
    pub(super) more: Vec<String>,
}

impl Session {
    pub(super) fn new(name: &str, hour: i64, turns: Vec<Turn>) -> Self {
        Self { name: name.to_owned(), model: PRICED, hour, turns, more: Vec::new() }
    }

    fn lines(&self) -> String {
        let name = &self.name;
        let mut lines = String::new();
        let mut parent = None;
        for (at, turn) in self.turns.iter().enumerate() {
            let sent = MORNING + self.hour * 3_600 + turn.minute * 60;
            let line = |kind: &str, uuid: &str, parent: &Option<String>, seconds, message| {
                json!({
                    "type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": name,
                    "timestamp": jiff::Timestamp::from_second(seconds).expect("a time").to_string(),
                    "version": "2.1.200", "cwd": "/invented", "requestId": format!("req_{name}_{at}"),
                    "message": message,
                })
            };
            let (asked, answered) = (format!("{name}-u{at}"), format!("{name}-a{at}"));
            let prompt = json!({ "role": "user", "content": "go on" });
            let answer = json!({
                "id": format!("msg_{name}_{at}"), "model": self.model, "stop_reason": "end_turn",
                "content": [],
                "usage": {
                    "input_tokens": turn.input,
                    "cache_read_input_tokens": turn.read,
                    "cache_creation_input_tokens": turn.written_1h,
                    "cache_creation": {
                        "ephemeral_5m_input_tokens": 0,
                        "ephemeral_1h_input_tokens": turn.written_1h,
                    },
                    "output_tokens": turn.output,
                },
            });
            let user = line("user", &asked, &parent, sent, prompt);
            let assistant = line("assistant", &answered, &Some(asked), sent + 4, answer);
            lines.extend([user.to_string(), "\n".into(), assistant.to_string(), "\n".into()]);
            parent = Some(answered);
        }
        for line in &self.more {
            lines.push_str(line);
            lines.push('\n');
        }
        lines
    }
}

/// Sessions of every kind: steady, with an expiry, with a break, with one request, with a model
/// that has no price, without tokens, and with a gap of months.
pub(super) fn ordinary() -> Vec<Session> {
    let mut expired = steady(5, 20_000);
    expired[3] = Turn::new(240, 0, 80_000);
    expired[4] = Turn::new(241, 80_000, 20_000);
    let mut broken = steady(12, 9_000);
    broken[7] = Turn::new(7, 0, 72_000);
    let nothing = Turn { minute: 0, read: 0, written_1h: 0, input: 0, output: 0 };
    let months = vec![Turn::new(0, 0, 30_000), Turn::new(60 * 24 * 90, 0, 31_000)];
    let mut sessions = vec![
        Session::new("alpha", 5, steady(6, 10_000)),
        Session::new("bravo", 1, expired),
        Session::new("charlie", 3, broken),
        Session::new("delta", 9, steady(1, 50_000)),
        Session::new("echo", 2, steady(3, 40_000)),
        Session::new("foxtrot", 4, vec![nothing]),
        Session::new("golf", 7, months),
    ];
    sessions[4].model = UNPRICED;
    sessions
}

/// Sessions in a folder and the page about them. Both are gone when it is dropped.
pub(super) struct Report {
    _folder: tempfile::TempDir,
    /// The folder that was read.
    pub(super) sessions: PathBuf,
    /// The page.
    pub(super) page: PathBuf,
}

/// Recorded breaks and readings as `analyze` takes them, so that the two can be compared.
const AS_ANALYZE: [&str; 4] = ["--breaks", "keep", "--reading", "literal"];

/// Writes sessions and their report.
pub(super) fn report(sessions: &[Session], arguments: &[&str]) -> Report {
    report_in("sessions", sessions, arguments)
}

/// The same, in a folder of this name.
pub(super) fn report_in(name: &str, sessions: &[Session], arguments: &[&str]) -> Report {
    let folder = tempfile::tempdir().expect("a folder");
    let inputs = folder.path().join(name);
    fs::create_dir(&inputs).expect("a folder");
    for session in sessions {
        let file = inputs.join(format!("{}.jsonl", session.name));
        fs::write(file, session.lines()).expect("written");
    }
    let page = inputs.with_extension("html");
    let output = cachesim()
        .args(["report", utf8(&inputs), "-q", "-o", utf8(&page)])
        .args(AS_ANALYZE)
        .args(arguments)
        .output()
        .expect("the program runs");
    assert!(output.status.success(), "{}", text(&output.stderr));
    Report { _folder: folder, sessions: inputs, page }
}

/// Opens a session by something that leads to it, and waits until it is shown.
pub(super) fn open_session(browser: &Browser, css: &str) {
    browser.click(css);
    browser.wait_for("document.activeElement.id === 'session-title'");
}
