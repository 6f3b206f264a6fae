//! Whether a change of a user's file is written. Every command that changes one shows the change first.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

/// What the user says of a change before it is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Consent {
    /// `--yes`.
    Given,
    /// `--dry-run`.
    Withheld,
    /// Neither: on a terminal the user is asked.
    Open,
}

impl Consent {
    /// The consent of `--yes` and `--dry-run`.
    pub(super) fn new(yes: bool, dry_run: bool) -> Self {
        match (yes, dry_run) {
            (true, _) => Self::Given,
            (_, true) => Self::Withheld,
            _ => Self::Open,
        }
    }

    /// Whether the change, which was shown, is written. Without a terminal nobody can be asked, and nothing is.
    pub(super) fn is_given(self) -> io::Result<bool> {
        if self == Self::Given || !self.is_possible() {
            return Ok(self == Self::Given);
        }
        let mut prompt = anstream::stderr();
        write!(prompt, "Write it? [y/N] ")?;
        prompt.flush()?;
        let mut answer = String::new();
        io::stdin().lock().read_line(&mut answer)?;
        Ok(["y", "yes"].contains(&answer.trim().to_ascii_lowercase().as_str()))
    }

    /// Whether the change may be written.
    pub(super) fn is_possible(self) -> bool {
        self == Self::Given || (self == Self::Open && is_terminal())
    }

    /// What to type for the change to be written. Empty if the user has just declined.
    pub(super) fn way(self) -> &'static str {
        match self {
            Self::Open if self.is_possible() => "",
            _ => " --yes writes it.",
        }
    }
}

fn is_terminal() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal() && io::stderr().is_terminal()
}
