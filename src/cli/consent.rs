//! Consent to change a user's file. Every command that changes one shows the change first.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

/// User's answer to a change before it is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Consent {
    /// `--yes`.
    Given,
    /// `--dry-run`.
    Withheld,
    /// Neither option: on a terminal the user is asked.
    Open,
}

impl Consent {
    /// Consent of `--yes` and `--dry-run`.
    pub(super) fn new(yes: bool, dry_run: bool) -> Self {
        match (yes, dry_run) {
            (true, _) => Self::Given,
            (_, true) => Self::Withheld,
            _ => Self::Open,
        }
    }

    /// Returns true if the change, which was shown, is to be written. Without a terminal nobody can be asked,
    /// and it is not.
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

    /// Returns true if the change may still be written.
    pub(super) fn is_possible(self) -> bool {
        self == Self::Given || (self == Self::Open && is_terminal())
    }

    /// Hint on how to have the change written. Empty if the user has just declined.
    pub(super) fn way(self) -> &'static str {
        match self {
            Self::Open if self.is_possible() => "",
            _ => " --yes writes it.",
        }
    }
}

fn is_terminal() -> bool {
    // The change is shown on the output, the question on stderr, and the answer is typed.
    io::stdin().is_terminal() && io::stdout().is_terminal() && io::stderr().is_terminal()
}
