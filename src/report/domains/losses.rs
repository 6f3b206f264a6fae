//! Costs of breaks in several histories.

use std::cmp::Reverse;

use super::{ChangeSums, DomainSums, Figure};
use crate::base::Order as _;
use crate::explain::advice::Advice;
use crate::explain::analysis::Answer;
use crate::explain::breaks::{Analysis, Summary};
use crate::report::Document;
use crate::report::breaks_view::{
    BreakRow, BreakRows, BreaksViewOptions, MOST_CHANGES, by_place, causes, dearest_breaks,
    dearest_grid, explained, headlines,
};
use crate::requests::conversation::History;

/// Sums of breaks, the most expensive ones, and the changes that would have prevented them.
#[derive(Clone, Debug)]
pub struct LossSums {
    compared: u64,
    not_comparable: u64,
    summary: Summary,
    /// Number of listed breaks.
    top: usize,
    has_evidence: bool,
    dearest: Vec<BreakRow>,
    changes: ChangeSums,
}

impl LossSums {
    /// Breaks of a history, with advice if anything has a price.
    pub fn of(
        history: &History,
        analysis: Analysis,
        advice: Option<&Advice>,
        options: BreaksViewOptions,
    ) -> Self {
        let rows = BreakRows::of(history, options.shows_text);
        let dearest = dearest_breaks(&analysis.breaks.list, options.top).into_iter();
        Self {
            dearest: dearest.map(|found| rows.row(found)).collect(),
            compared: analysis.breaks.compared,
            not_comparable: analysis.breaks.not_comparable,
            summary: analysis.summary,
            top: options.top,
            has_evidence: options.has_evidence,
            changes: ChangeSums::of(advice, MOST_CHANGES),
        }
    }
}

impl DomainSums for LossSums {
    const COLUMN: Option<&'static str> = Some("breaks");

    fn figure(&self) -> Figure {
        Figure::Count(self.summary.total.breaks)
    }

    fn absorb(&mut self, other: Self) {
        self.compared += other.compared;
        self.not_comparable += other.not_comparable;
        self.summary.absorb(other.summary);
        self.dearest.extend(other.dearest);
        // The sort is stable: of equals the first domain's stay.
        self.dearest.order_by_key(|row| Reverse((row.excess, row.rewritten)));
        self.dearest.truncate(self.top);
        self.changes.absorb(other.changes);
    }

    fn show(&self, answer: &Answer, document: &mut Document) {
        headlines(document, self.compared, self.not_comparable, &self.summary.total, false);
        if !self.summary.by_cause.is_empty() {
            document.heading("By cause");
            document.grid(causes(&self.summary));
        }
        self.changes.show_first(document);
        let breaks = self.summary.total.breaks;
        dearest_grid(document, &self.dearest, breaks, self.has_evidence);
        by_place(document, &self.summary);
        explained(document, answer, &self.summary.reconciliation);
    }
}
