//! A run of several histories, from its rows: sums by strategy, session, cause and day, and a snapshot. Rows hold
//! neither prompts nor what lies between requests, so that what needs these is not told of a run.

mod snapshot;
mod sums;

pub use snapshot::SnapshotOfRows;
pub use sums::{QUARTER, RunSession, RunSums};

use crate::base::units::{Basis, Millis, Picodollars, Tokens};
use crate::explain::breaks::{Cause, Class, Confidence};
use crate::simulate::ledger::Row;

/// A request with all its rows.
#[derive(Clone, Copy, Debug)]
pub struct RunRequest<'a> {
    /// The domain that it is in.
    pub domain: &'a str,
    /// Its session.
    pub session: &'a str,
    /// The sub-agent; `None` on the main chain.
    pub agent: Option<&'a str>,
    /// The service's id, if it is known.
    pub request: Option<&'a str>,
    /// The model that it was sent to.
    pub model: &'a str,
    /// The name of its project, if it is recorded.
    pub project: Option<&'a str>,
    /// Its file, relative to the folder of all domains.
    pub file: &'a str,
    /// The line of the file.
    pub line: u64,
    /// When it was sent, as far as can be told.
    pub start: Millis,
    /// When its answer began, else when it was sent.
    pub time: Millis,
    /// Whether the recorded output may be less than the real one.
    pub output_is_lower_bound: bool,
    /// How many requests it stands for.
    pub sum_of: u32,
    /// Its rows, each with the place of its strategy among those of the run, in their order. What each class of
    /// tokens costs is not known of them.
    pub rows: &'a [(usize, Row<'a>)],
}

impl<'a> RunRequest<'a> {
    /// The rows under a strategy.
    pub fn under(&self, strategy: usize) -> impl Iterator<Item = &'a Row<'a>> + use<'a> {
        self.rows.iter().filter(move |(place, _)| *place == strategy).map(|(_, row)| row)
    }
}

/// A break, as its row tells it.
#[derive(Clone, Debug)]
pub struct RunBreak {
    /// The session.
    pub session: String,
    /// Which request it is.
    pub request: RunPlace,
    /// What happened to the cache.
    pub class: Class,
    /// The cause.
    pub cause: Cause,
    /// What speaks for it, most certain first: of the cause itself if that was inferred.
    pub evidence: Vec<RunEvidence>,
    /// What could have been read.
    pub expected: Tokens,
    /// What was read.
    pub read: Tokens,
    /// What had to be sent again.
    pub rewritten: Tokens,
    /// What these tokens are based on.
    pub basis: Basis,
    /// Its cost beyond reading it, or `None` where the model has no price.
    pub excess: Option<Picodollars>,
}

/// By what a request is known again within its session.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RunPlace {
    /// Its file.
    pub file: String,
    /// The line of the file.
    pub line: u64,
    /// When it was sent.
    pub start: Millis,
    /// The service's id, if it is known.
    pub request: Option<String>,
}

impl RunPlace {
    /// The place of a request.
    #[must_use]
    pub fn of(request: &RunRequest<'_>) -> Self {
        Self {
            file: request.file.to_owned(),
            line: request.line,
            start: request.start,
            request: request.request.map(str::to_owned),
        }
    }
}

/// What speaks for a cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunEvidence {
    /// The cause.
    pub cause: Cause,
    /// How sure it is.
    pub confidence: Confidence,
    /// What was seen, without words of the prompt.
    pub meaning: String,
    /// The file that shows it.
    pub file: String,
    /// The line of that file.
    pub line: u64,
}

/// The breaks of a domain, by session and request.
pub type BreaksByRequest = std::collections::HashMap<(String, RunPlace), RunBreak>;
