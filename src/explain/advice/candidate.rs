//! A change that may be worth it.

use super::change::Change;
use crate::simulate::strategy::Design;

/// A change that may be worth it, and how it is simulated.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) change: Change,
    /// What it is about; of rivals for one subject only one is made.
    pub(super) subject: Subject,
    /// What it does differently, and nothing else.
    pub(super) design: Design,
}

/// What a change is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    /// How long entries live.
    Lifetimes,
    /// How large contexts become.
    Context,
    /// Pings.
    Pings,
    /// Where markers stand.
    Markers,
    /// The order of the system prompt.
    SystemPrompt,
    /// Something that no other change is about.
    Own(&'static str),
}
