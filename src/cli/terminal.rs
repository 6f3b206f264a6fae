//! Size of the terminal, and what it can show.

use std::env;
use std::io::{self, IsTerminal};

/// Width without a terminal, fixed so that logs are reproducible.
const DEFAULT_WIDTH: u16 = 120;

/// Least width, as tables need some room. A narrower terminal wraps them itself.
pub(super) const LEAST_WIDTH: u16 = 40;

/// Width of the output, in columns.
pub(super) fn width(is_terminal: bool) -> u16 {
    known_width(is_terminal).unwrap_or(DEFAULT_WIDTH).max(LEAST_WIDTH)
}

fn known_width(is_terminal: bool) -> Option<u16> {
    // A user who sets COLUMNS wants another width than the terminal's.
    let from_environment = env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let from_terminal = || terminal_size::terminal_size().map(|(width, _)| width.0);
    from_environment.or_else(|| is_terminal.then(from_terminal).flatten())
}

/// Number of lines of the terminal. `None` for a file and a pipe, which get everything.
pub(super) fn height(is_terminal: bool) -> Option<u16> {
    let from_environment = || env::var("LINES").ok().and_then(|lines| lines.parse().ok());
    let from_terminal = || terminal_size::terminal_size().map(|(_, height)| height.0);
    is_terminal.then(|| from_environment().or_else(from_terminal)).flatten()
}

/// Most columns of help, as longer lines are hard to read.
const MOST_HELP: u16 = 100;

/// Width of help.
pub(super) fn help_width() -> u16 {
    known_width(io::stdout().is_terminal()).unwrap_or(MOST_HELP).clamp(LEAST_WIDTH, MOST_HELP)
}

/// Returns true if the terminal can show only plain text.
pub(super) fn is_dumb() -> bool {
    env::var_os("TERM").is_some_and(|term| term == "dumb")
}
