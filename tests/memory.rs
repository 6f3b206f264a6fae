//! No command takes more than 6 kB a request on sessions of hostile shapes.
//!
//! `benches/sessions.py` writes the sessions: pauses that outlive every entry, and parents in rings, small and
//! large. This program runs the commands on them: itself, as a child, with the command line of `cachesim`, two
//! threads and an allocator that counts the bytes held. Nothing is timed.
//!
//! `cargo test --features full --test memory`. What is missing is counted by `tests`, with all else that is. Sizes are small, as memory that
//! grows faster than requests shows in `tests/growth.rs` and in `benches/results`.

use std::alloc::System;
use std::env;
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use cap::Cap;

#[global_allocator]
static COUNTED: Cap<System> = Cap::new(System, usize::MAX);

/// The file to which a child writes the most bytes that it held.
const PEAK: &str = "MEMORY_PEAK";

/// The requests of a session.
const REQUESTS: usize = 4_000;

/// The most bytes that a command may hold for each request, and for itself.
const MOST_A_REQUEST: usize = 6_000;
const MOST_IN_ALL: usize = MOST_A_REQUEST * REQUESTS;

const SHAPES: [&str; 3] = ["gaps", "cycles", "ring"];

/// The families of strategies by what they hold: nothing but outcomes, searches, pings, the bound, context
/// management.
const COMMANDS: [&[&str]; 8] = [
    &["compare", "--strategy", "billed,5m,1h"],
    &["compare", "--strategy", "billed,cheapest-layout"],
    &["compare", "--strategy", "billed,cheapest-pings"],
    &["compare", "--strategy", "billed,5m-pinged,1h-pinged"],
    &["compare", "--strategy", "billed,optimal"],
    &["compare", "--strategy", "billed,compact-100k,session-memory-100k,clear-results-180k"],
    &["analyze"],
    &["report"],
];

fn main() -> ExitCode {
    if let Some(file) = env::var_os(PEAK) {
        let code = cachesim::cli::main();
        fs::write(file, COUNTED.max_allocated().to_string()).expect("the peak is written");
        return code;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let mut is_small = true;
    for shape in SHAPES {
        let session = folder.path().join(format!("{shape}.jsonl"));
        if write_session(shape, &session).is_none() {
            println!("memory: no sessions without python3");
            return ExitCode::SUCCESS;
        }
        for command in COMMANDS {
            let peak = peak_of(command, &session, folder.path());
            let verdict = if peak <= MOST_IN_ALL { "ok" } else { "too much" };
            let words = command.join(" ");
            println!("{shape}: {words}: {} bytes a request, {verdict}", peak / REQUESTS);
            is_small &= peak <= MOST_IN_ALL;
        }
    }
    if is_small { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// `None` without Python.
fn write_session(shape: &str, file: &Path) -> Option<()> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/sessions.py");
    let mut python = Command::new("python3");
    let status = python.arg(script).arg(shape).arg(file).arg(REQUESTS.to_string()).status().ok()?;
    assert!(status.success(), "benches/sessions.py {shape} fails");
    Some(())
}

/// The most bytes that a command held at once.
fn peak_of(command: &[&str], session: &Path, folder: &Path) -> usize {
    let (peak, out) = (folder.join("peak"), folder.join("out"));
    let status = Command::new(env::current_exe().expect("this program"))
        .args(command)
        .arg(session)
        .args(["--jobs", "2", "--output"])
        .arg(&out)
        .env(PEAK, &peak)
        .env("CACHESIM_NO_CONFIG", "1")
        .stderr(Stdio::inherit())
        .status()
        .expect("it runs");
    assert!(status.success(), "{command:?}: {status}");
    assert!(fs::metadata(&out).is_ok_and(|file| file.len() > 0), "{command:?} wrote nothing");
    let peak = fs::read_to_string(&peak).expect("a child writes its peak");
    peak.parse().expect("a number")
}
