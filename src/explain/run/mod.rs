//! Run of several histories, from its rows: sums by strategy, session, cause and day, and a snapshot. Rows hold
//! neither prompts nor the events between requests, so a run has no figures that need these.

mod snapshot;
mod sums;

pub use snapshot::SnapshotOfRows;
pub use sums::{QUARTER, RunSession, RunSums};

use rustc_hash::FxHashMap;

use crate::base::{Basis, Millis, Picodollars, Tokens};
use crate::explain::breaks::{Cause, Class, Confidence};
use crate::simulate::ledger::Row;

/// Request with all its rows.
#[derive(Clone, Copy, Debug)]
pub struct RunRequest<'a> {
    /// Domain of the request.
    pub domain: &'a str,
    /// Session of the request.
    pub session: &'a str,
    /// Sub-agent; `None` on the main chain.
    pub agent: Option<&'a str>,
    /// Id that the service gave it, if it is known.
    pub request: Option<&'a str>,
    /// Model that it was sent to.
    pub model: &'a str,
    /// Name of its project, if it is recorded.
    pub project: Option<&'a str>,
    /// File of the request, relative to the folder of all domains.
    pub file: &'a str,
    /// Line of the file.
    pub line: u64,
    /// Start time of the request, if known, else the best estimate.
    pub start: Millis,
    /// Start time of the answer, or else of the request.
    pub time: Millis,
    /// True if the recorded output may be less than the real one.
    pub output_is_lower_bound: bool,
    /// Rows, each with the position of its strategy among the run's, in their order. The cost of each class of
    /// tokens is not known for them.
    pub rows: &'a [(usize, Row<'a>)],
}

impl<'a> RunRequest<'a> {
    /// Rows under a strategy.
    pub fn under(&self, strategy: usize) -> impl Iterator<Item = &'a Row<'a>> + use<'a> {
        self.rows.iter().filter(move |(place, _)| *place == strategy).map(|(_, row)| row)
    }
}

/// Break, as its row reports it.
#[derive(Clone, Debug)]
pub struct RunBreak {
    /// Session of the request.
    pub session: String,
    /// Id that the service gave the request, if it is known.
    pub request: Option<String>,
    /// File of the request.
    pub file: String,
    /// Line of the file.
    pub line: u64,
    /// Start time of the request.
    pub start: Millis,
    /// Effect on the cache.
    pub class: Class,
    /// Cause of the break.
    pub cause: Cause,
    /// Evidence, most certain first: of the cause itself if that was inferred.
    pub evidence: Vec<RunEvidence>,
    /// Tokens that could have been read.
    pub expected: Tokens,
    /// Tokens that were read.
    pub read: Tokens,
    /// Tokens that had to be sent again.
    pub rewritten: Tokens,
    /// Basis of these tokens.
    pub basis: Basis,
    /// Cost beyond reading the tokens, or `None` if the model has no price.
    pub excess: Option<Picodollars>,
}

/// Evidence for a cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunEvidence {
    /// Cause that it speaks for.
    pub cause: Cause,
    /// Certainty of the evidence.
    pub confidence: Confidence,
    /// Observation, without words of the prompt.
    pub meaning: String,
    /// File that shows it.
    pub file: String,
    /// Line of that file.
    pub line: u64,
}

/// Breaks of a domain, until their requests take them.
#[derive(Debug, Default)]
pub struct RunBreaks(FxHashMap<(u64, Millis), Vec<RunBreak>>);

impl RunBreaks {
    /// Adds a break.
    pub fn add(&mut self, found: RunBreak) {
        self.0.entry((found.line, found.start)).or_default().push(found);
    }

    /// Takes the break of a request, if it is one.
    pub fn take(&mut self, request: &RunRequest<'_>) -> Option<RunBreak> {
        let here = self.0.get_mut(&(request.line, request.start))?;
        // Requests of several files may share a line number and a start time.
        let is_own = |found: &RunBreak| {
            found.session == request.session
                && found.file == request.file
                && found.request.as_deref() == request.request
        };
        let at = here.iter().position(is_own)?;
        Some(here.remove(at))
    }

    /// Number of breaks that no request has taken.
    pub fn left(&self) -> u64 {
        self.0.values().map(|here| here.len() as u64).sum()
    }
}
