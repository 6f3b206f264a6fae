//! Messages on standard error, and warnings, which wait for the answer.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use terminal_size::{Width, terminal_size_of};

use super::terminal::{LEAST_WIDTH, width};
use crate::report::{counted, shortened, terminal_safe};

/// Warnings that wait for the answer. `None` once they no longer wait.
static WARNINGS: Mutex<Option<Vec<String>>> = Mutex::new(Some(Vec::new()));

/// Prints a warning after the answer, which readers look for first.
pub(super) fn warn(text: impl Into<String>) {
    let text = text.into();
    match WARNINGS.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
        Some(warnings) => warnings.push(text),
        None => say(&text),
    }
}

/// True if warnings are counted and not printed, as they would push the answer off the screen.
pub(super) static COUNTS_WARNINGS: AtomicBool = AtomicBool::new(false);

/// Prints the warnings so far, and from now on each at once: the answer was given, or has no end.
pub(super) fn say_warnings() {
    let warnings = WARNINGS.lock().unwrap_or_else(PoisonError::into_inner).take();
    match &warnings.unwrap_or_default()[..] {
        [first, rest @ ..] if COUNTS_WARNINGS.load(Ordering::Relaxed) && !rest.is_empty() => {
            let more = counted(rest.len() as u64, "more warning", "more warnings");
            let line = format!("cachesim: {}", terminal_safe(first));
            let more = format!("; {more}: --notes");
            let width = usize::from(width(true));
            let kept = shortened(line.into(), width.saturating_sub(more.len()));
            let _ignored = writeln!(anstream::stderr(), "{kept}{more}");
        }
        warnings => warnings.iter().for_each(|warning| say(warning)),
    }
}

/// Prints a line to standard error, wrapped for a terminal. A closed stream is no reason to stop.
pub(super) fn say(text: &str) {
    let line = format!("cachesim: {}", terminal_safe(text));
    let width = io::stderr().is_terminal().then(|| terminal_size_of(io::stderr())).flatten();
    let line = match width {
        Some((Width(width), _)) => {
            let width = usize::from(width.max(LEAST_WIDTH));
            textwrap::fill(&line, textwrap::Options::new(width).subsequent_indent("  "))
        }
        None => line,
    };
    let _ignored = writeln!(anstream::stderr(), "{line}");
}
