//! Breaks, their sums and their patterns together.

use super::find::{Breaks, Options, find};
use super::patterns::{Pattern, patterns};
use super::summary::Summary;
use crate::requests::prompt::{PromptTrace, Step};
use crate::simulate::ledger::{Ledger, Selection};

/// All that is known of the breaks of a selection.
#[derive(Debug)]
pub struct Analysis {
    /// The breaks.
    pub breaks: Breaks,
    /// Their sums.
    pub summary: Summary,
    /// What recurs, that which saves most first.
    pub patterns: Vec<Pattern>,
}

impl Analysis {
    /// Finds the breaks of a ledger and adds them up. `None` unless the ledger has `billed` and
    /// `replay`; without `5m` and `1h`, what these would have saved is unknown.
    #[must_use]
    pub fn new(
        ledger: &Ledger<'_>,
        trace: &PromptTrace,
        steps: &[Step],
        selection: &Selection,
        options: Options,
    ) -> Option<Self> {
        let breaks = find(ledger, trace, steps, selection, options)?;
        let summary = Summary::new(ledger, selection, &breaks);
        let patterns = patterns(ledger, steps, selection, &breaks);
        Some(Self { breaks, summary, patterns })
    }
}
