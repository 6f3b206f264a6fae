//! The sums of a column, of all requests, of each session and of each model, in one pass.

use std::collections::BTreeMap;

use super::book::{Ledger, StrategyColumn};
use super::selection::Selection;
use super::totals::Totals;

/// What a strategy adds up to.
#[derive(Debug, Default)]
pub struct Breakdown<'a> {
    /// Of all reported requests.
    pub all: Totals,
    /// Of the requests on live branches.
    pub live: Totals,
    /// Of each session, in the order of the selection.
    pub sessions: Vec<Totals>,
    /// Of the rows that each model was billed for, which may differ from the request's own for
    /// samplings that were billed apart. A request without rows counts for its own.
    pub models: BTreeMap<&'a str, Totals>,
}

impl Ledger<'_> {
    /// Adds up the rows of the selected requests.
    #[must_use]
    pub fn breakdown<'s>(
        &'s self,
        column: &'s StrategyColumn,
        selection: &Selection,
    ) -> Breakdown<'s> {
        let mut breakdown = Breakdown::default();
        // Requests of one model mostly follow each other.
        let mut latest: Option<(&str, Totals)> = None;
        for session in &selection.sessions {
            let (mut live, mut rewound) = (Totals::default(), Totals::default());
            for index in &session.requests {
                let is_live = self.history.request(*index).is_live;
                let totals = if is_live { &mut live } else { &mut rewound };
                let is_recorded = self.each_row(column, *index, |row| {
                    totals.add(row);
                    breakdown.of_model(row.model, &mut latest).add(row);
                });
                if !is_recorded {
                    totals.unrecorded += 1;
                    let model = self.history.model(*index);
                    breakdown.of_model(model, &mut latest).unrecorded += 1;
                }
            }
            let mut all = rewound;
            all += live;
            breakdown.live += live;
            breakdown.all += all;
            breakdown.sessions.push(all);
        }
        if let Some((model, totals)) = latest {
            *breakdown.models.entry(model).or_default() += totals;
        }
        breakdown
    }
}

impl<'a> Breakdown<'a> {
    /// The sums of a model since the model before it, which are added to its own.
    fn of_model<'l>(
        &mut self,
        model: &'a str,
        latest: &'l mut Option<(&'a str, Totals)>,
    ) -> &'l mut Totals {
        if let Some((before, totals)) = latest.take_if(|(before, _)| *before != model) {
            *self.models.entry(before).or_default() += totals;
        }
        &mut latest.get_or_insert((model, Totals::default())).1
    }
}
