//! Sums over rows: of a whole column, of each session and of each model.

use derive_more::AddAssign;

use super::filter::Selection;
use super::{Ledger, Row, StrategyColumn};
use crate::base::{ByKey, KnownSum, Picodollars, Tokens};

/// Sum of some rows of one strategy.
#[derive(AddAssign, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Requests, with each one of a sum; further samplings of a request do not count.
    pub requests: u64,
    /// Requests that the strategy adds.
    pub added: u64,
    /// Tokens sent in full.
    pub input: Tokens,
    /// Tokens read from cache.
    pub read: Tokens,
    /// Tokens written for five minutes.
    pub write_5m: Tokens,
    /// Tokens written for an hour.
    pub write_1h: Tokens,
    /// Tokens of output.
    pub output: Tokens,
    /// Costs of the rows.
    pub costs: KnownSum,
    /// Requests whose model has no price.
    pub unpriced_requests: u64,
    /// Cost of further samplings, which is part of the cost under every strategy.
    pub apart: Picodollars,
    /// Requests with unknown output, which is in no sum.
    pub without_output: u64,
    /// Requests that the service refuses.
    pub refused: u64,
    /// Requests that are in no sum, because their record is unknown or the strategy cannot act on them.
    pub unrecorded: u64,
}

impl Totals {
    /// Adds a row.
    pub fn add(&mut self, row: &Row<'_>) {
        self.requests += u64::from(row.requests);
        self.added += u64::from(row.added.is_some());
        self.input += row.billing.input;
        self.read += row.billing.read;
        self.write_5m += row.billing.write_5m;
        self.write_1h += row.billing.write_1h;
        self.output += row.billing.output;
        self.without_output += u64::from(!row.is_output_known);
        self.refused += u64::from(row.refusal.is_some());
        self.costs.add(row.cost);
        match row.cost {
            Some(cost) if row.iteration.is_some() => self.apart += cost,
            Some(_) => {}
            None => self.unpriced_requests += u64::from(row.requests),
        }
    }

    /// Adds the rows of a request, which is unrecorded without any.
    pub(crate) fn add_request<'r, 'm: 'r>(&mut self, rows: impl Iterator<Item = &'r Row<'m>>) {
        let mut is_recorded = false;
        for row in rows {
            is_recorded = true;
            self.add(row);
        }
        self.unrecorded += u64::from(!is_recorded);
    }

    /// Costs of the rows, and of the requests without a record, which are unknown.
    pub fn all_costs(&self) -> KnownSum {
        KnownSum { unknown: self.costs.unknown + self.unrecorded, ..self.costs }
    }

    /// Cost of the rows that have one; `None` if no row has one although some should.
    pub fn cost(&self) -> Option<Picodollars> {
        self.all_costs().value()
    }

    /// Cost of all requests; `None` if some cost is unknown.
    pub fn whole_cost(&self) -> Option<Picodollars> {
        self.all_costs().whole()
    }

    /// Tokens of the whole prompts.
    pub fn prompt(&self) -> Tokens {
        self.input + self.read + self.write_5m + self.write_1h
    }

    /// Share of the prompts that was read from cache, or `None` without prompts.
    #[allow(clippy::cast_precision_loss)] // a share for display
    pub fn hit_rate(&self) -> Option<f64> {
        let prompt = self.prompt();
        (prompt > Tokens::ZERO).then(|| self.read.0 as f64 / prompt.0 as f64)
    }
}

/// Totals of a strategy.
#[derive(Debug, Default)]
pub struct Breakdown<'a> {
    /// Totals of all reported requests.
    pub all: Totals,
    /// Totals of the requests on live branches.
    pub live: Totals,
    /// Totals of each session, in the order of the selection.
    pub sessions: Vec<Totals>,
    /// Totals of each billed model, which may differ from the request's for samplings that were
    /// billed separately.
    ///
    /// A request without rows counts for its own model.
    pub models: ByKey<&'a str, Totals>,
}

impl Ledger<'_> {
    /// Adds up the rows of the selected requests.
    pub fn breakdown<'s>(
        &'s self,
        column: &'s StrategyColumn,
        selection: &Selection,
    ) -> Breakdown<'s> {
        let mut breakdown = Breakdown::default();
        // Consecutive requests mostly have the same model.
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
    /// Entry of a model; `latest` holds the sum since the model last changed, and is merged into it.
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
