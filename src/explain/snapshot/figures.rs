//! Figures of requests under one strategy.

use std::sync::Arc;

use derive_more::with_trait::AddAssign;
use serde::{Deserialize, Serialize};

use super::{ByStrategy, SnapshotTurn};
use crate::base::{KnownSum, Picodollars, Tokens};
use crate::simulate::ledger::Row;

/// Tokens and cost of some rows of one strategy.
#[derive(AddAssign, Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "TurnTotalsObject"))]
pub struct Figures {
    /// Number of requests.
    pub requests: u64,
    /// Tokens sent in full.
    #[serde(rename = "input_tokens")]
    pub input: Tokens,
    /// Tokens read from cache.
    #[serde(rename = "cache_read_input_tokens")]
    pub read: Tokens,
    /// Tokens written for five minutes.
    #[serde(rename = "ephemeral_5m_input_tokens")]
    pub write_5m: Tokens,
    /// Tokens written for an hour.
    #[serde(rename = "ephemeral_1h_input_tokens")]
    pub write_1h: Tokens,
    /// Tokens of the answers.
    #[serde(rename = "output_tokens")]
    pub output: Tokens,
    /// Costs of the requests; that of a request is unknown if a row of it has no price.
    #[serde(flatten, with = "Costs")]
    pub costs: KnownSum,
}

/// Saved form of the costs; the figures have the number of requests.
#[derive(Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(remote = "KnownSum")]
struct Costs {
    /// Cost of the requests that have a price, in dollars; null if none has one.
    #[serde(getter = "cost")]
    cost_usd: Option<Picodollars>,
    /// Requests without a price, which the cost leaves out; left out if there are none.
    #[serde(getter = "unpriced", default, skip_serializing_if = "is_zero")]
    unpriced_requests: u64,
}

impl From<Costs> for KnownSum {
    fn from(costs: Costs) -> Self {
        Self {
            sum: costs.cost_usd.unwrap_or_default(),
            known: u64::from(costs.cost_usd.is_some()),
            unknown: costs.unpriced_requests,
        }
    }
}

fn cost(costs: &KnownSum) -> Option<Picodollars> {
    costs.value().filter(|_| costs.known > 0)
}

fn unpriced(costs: &KnownSum) -> u64 {
    costs.unknown
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde passes a reference
pub(crate) fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Figures {
    /// Sum of the rows of one request without output, or `None` without rows.
    pub(super) fn of_prompts<'a>(rows: impl Iterator<Item = Row<'a>>) -> Option<Self> {
        Self::of_rows(rows.map(|mut row| {
            row.billing.output = Tokens::ZERO;
            row.cost = row.charges.map(|charges| charges.total().minus(charges.output));
            row
        }))
    }

    /// Sum of the rows of one request, or `None` without rows.
    pub(crate) fn of_rows<'a>(rows: impl Iterator<Item = Row<'a>>) -> Option<Self> {
        let mut rows = rows.peekable();
        rows.peek()?;
        let mut sum = Self { requests: 1, ..Self::default() };
        let mut costs = KnownSum::default();
        for row in rows {
            let billing = row.billing;
            sum.input += billing.input;
            sum.read += billing.read;
            sum.write_5m += billing.write_5m;
            sum.write_1h += billing.write_1h;
            sum.output += billing.output;
            costs.add(row.cost);
        }
        // The cost of a part of a request is not the cost of the request.
        sum.costs.add(costs.whole());
        Some(sum)
    }

    /// Sums of some turns, under each strategy.
    pub(crate) fn of_turns(turns: &[SnapshotTurn]) -> ByStrategy<Self> {
        let mut sums = ByStrategy::<Self>::default();
        for (strategy, figures) in turns.iter().flat_map(|turn| &turn.figures.0) {
            match sums.0.iter_mut().find(|(name, _)| name == strategy) {
                Some((_, sum)) => *sum += *figures,
                None => sums.0.push((Arc::clone(strategy), *figures)),
            }
        }
        sums
    }

    /// Sum of several figures, or `None` without any.
    pub fn sum<'a>(all: impl IntoIterator<Item = &'a Self>) -> Option<Self> {
        all.into_iter().fold(None, |sum: Option<Self>, one| {
            let mut sum = sum.unwrap_or_default();
            sum += *one;
            Some(sum)
        })
    }

    /// Tokens written to cache, at either TTL.
    pub fn written(&self) -> Tokens {
        self.write_5m + self.write_1h
    }

    /// Tokens of the whole prompts.
    pub fn prompt(&self) -> Tokens {
        self.input + self.read + self.written()
    }

    /// Cost, or `None` if no request has a price.
    pub fn known_cost(&self) -> Option<Picodollars> {
        cost(&self.costs)
    }

    /// Counts the requests with a price, if the costs were read from a saved report.
    pub(crate) fn count_priced(&mut self) {
        // Without a cost none of the requests has a price.
        if self.costs.known == 0 {
            self.costs.unknown = self.requests;
        }
        self.costs.known = self.requests.saturating_sub(self.costs.unknown);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn saved_figures_are_read_as_they_were() {
        for (sum, known, unknown) in [(0, 0, 2), (5, 1, 1), (7, 2, 0)] {
            let costs = KnownSum { sum: Picodollars(sum), known, unknown };
            let figures = Figures { requests: 2, input: Tokens(3), costs, ..Figures::default() };
            let saved = serde_json::to_string(&figures).expect("JSON");
            let mut read: Figures = serde_json::from_str(&saved).expect("figures");
            read.count_priced();
            assert_eq!(read, figures, "{saved}");
        }
    }
}
