//! Sums over rows.

use std::ops::AddAssign;

use super::row::Row;
use crate::base::units::{Picodollars, Tokens};

/// The sum of some rows of one strategy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Requests; further samplings of one do not count.
    pub requests: u64,
    /// Requests that the strategy sends besides.
    pub added: u64,
    /// Sent in full.
    pub input: Tokens,
    /// Read from cache.
    pub read: Tokens,
    /// Written for five minutes.
    pub write_5m: Tokens,
    /// Written for an hour.
    pub write_1h: Tokens,
    /// Output.
    pub output: Tokens,
    priced: Picodollars,
    rows: u64,
    /// Rows whose model has no price.
    pub unpriced: u64,
    /// Requests whose model has no price.
    pub unpriced_requests: u64,
    /// What further samplings cost; they are in the cost, and no simulation has them.
    pub apart: Picodollars,
    /// Requests whose output is unknown, so that it is in no sum.
    pub without_output: u64,
    /// Requests that the service refuses.
    pub refused: u64,
    /// Requests whose record is unknown, or to which the strategy can do nothing, so that they are in
    /// no sum of it.
    pub unrecorded: u64,
}

impl Totals {
    /// Adds a row.
    pub fn add(&mut self, row: &Row<'_>) {
        let is_request = row.iteration.is_none() && row.added.is_none();
        self.requests += u64::from(is_request);
        self.added += u64::from(row.added.is_some());
        self.input += row.billing.input;
        self.read += row.billing.read;
        self.write_5m += row.billing.write_5m;
        self.write_1h += row.billing.write_1h;
        self.output += row.billing.output;
        self.without_output += u64::from(!row.is_output_known);
        self.refused += u64::from(row.refusal.is_some());
        self.rows += 1;
        if let Some(cost) = row.cost {
            self.priced += cost;
            if row.iteration.is_some() {
                self.apart += cost;
            }
        } else {
            self.unpriced += 1;
            self.unpriced_requests += u64::from(is_request);
        }
    }

    /// The cost of the rows that have one; `None` where none of several has, or all are unknown.
    #[must_use]
    pub fn cost(&self) -> Option<Picodollars> {
        let is_known =
            if self.rows == 0 { self.unrecorded == 0 } else { self.unpriced < self.rows };
        is_known.then_some(self.priced)
    }

    /// The whole prompts.
    #[must_use]
    pub fn prompt(&self) -> Tokens {
        self.input + self.read + self.write_5m + self.write_1h
    }

    /// The share of the prompts that was read from cache; `None` without any prompt.
    #[must_use]
    #[allow(clippy::cast_precision_loss)] // a share for display
    pub fn hit_rate(&self) -> Option<f64> {
        let prompt = self.prompt();
        (prompt > Tokens::ZERO).then(|| self.read.0 as f64 / prompt.0 as f64)
    }
}

impl AddAssign for Totals {
    fn add_assign(&mut self, other: Self) {
        self.requests += other.requests;
        self.added += other.added;
        self.input += other.input;
        self.read += other.read;
        self.write_5m += other.write_5m;
        self.write_1h += other.write_1h;
        self.output += other.output;
        self.priced += other.priced;
        self.rows += other.rows;
        self.unpriced += other.unpriced;
        self.unpriced_requests += other.unpriced_requests;
        self.apart += other.apart;
        self.without_output += other.without_output;
        self.refused += other.refused;
        self.unrecorded += other.unrecorded;
    }
}
