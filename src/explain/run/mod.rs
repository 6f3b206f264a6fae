//! A run of several histories, from its rows: sums by strategy, session, cause and day, and a snapshot. Rows hold
//! neither prompts nor what lies between requests, so that what needs these is not told of a run.

mod snapshot;
mod sums;

pub use snapshot::SnapshotOfRows;
pub use sums::{QUARTER, RunSession, RunSums};

use rustc_hash::FxHashMap;

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
    /// The service's id of the request, if it is known.
    pub request: Option<String>,
    /// The file of the request.
    pub file: String,
    /// The line of the file.
    pub line: u64,
    /// When the request was sent.
    pub start: Millis,
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

/// The breaks of a domain, until their requests take them.
#[derive(Debug, Default)]
pub struct RunBreaks(FxHashMap<(u64, Millis), Vec<RunBreak>>);

impl RunBreaks {
    /// Adds one.
    pub fn add(&mut self, found: RunBreak) {
        self.0.entry((found.line, found.start)).or_default().push(found);
    }

    /// Takes that of a request, if it is one.
    pub fn take(&mut self, request: &RunRequest<'_>) -> Option<RunBreak> {
        let here = self.0.get_mut(&(request.line, request.start))?;
        let is_own = |found: &RunBreak| {
            found.session == request.session
                && found.file == request.file
                && found.request.as_deref() == request.request
        };
        let at = here.iter().position(is_own)?;
        Some(here.remove(at))
    }

    /// How many no request has taken.
    #[must_use]
    pub fn left(&self) -> u64 {
        self.0.values().map(|here| here.len() as u64).sum()
    }
}
