//! Usage windows of plans over several histories, each of one account.

use super::{DomainSums, Figure};
use crate::base::{ByKey, Millis};
use crate::explain::analysis::Answer;
use crate::explain::blocks::{Block, BlockLength, Quota, Service};
use crate::report::{Columns, Document};
use crate::simulate::ledger::Totals;

/// Numbers of windows, and the requests in them.
#[derive(Clone, Debug, Default)]
pub struct WindowSums {
    lines: ByKey<(Service, BlockLength), WindowLine>,
}

/// Windows of one length of one service.
#[derive(Clone, Copy, Debug, Default)]
struct WindowLine {
    windows: u64,
    open: u64,
    /// Windows with readings of a limit, and those of them with a limit that was used up.
    read: u64,
    all_used: u64,
    totals: Totals,
}

impl WindowLine {
    fn add(&mut self, block: &Block, now: Millis) {
        let newest = block.readings.map(|[_, newest]| newest);
        self.windows += 1;
        self.open += u64::from(block.is_open(now));
        self.read += u64::from(newest.is_some());
        self.all_used += u64::from(newest.is_some_and(|newest| newest.is_all()));
        self.totals += block.used.all;
    }
}

impl WindowSums {
    /// Windows of a history.
    pub fn of(quotas: &[Quota], now: Millis) -> Self {
        let mut sums = Self::default();
        for quota in quotas {
            let line = sums.lines.entry((quota.service, quota.length)).or_default();
            for block in &quota.blocks {
                line.add(block, now);
            }
        }
        sums
    }
}

impl DomainSums for WindowSums {
    const COLUMN: Option<&'static str> = Some("windows");

    fn figure(&self) -> Figure {
        Figure::Count(self.lines.values().map(|line| line.windows).sum())
    }

    fn absorb(&mut self, other: Self) {
        for (key, WindowLine { windows, open, read, all_used, totals }) in other.lines {
            let own = self.lines.entry(key).or_default();
            own.windows += windows;
            own.open += open;
            own.read += read;
            own.all_used += all_used;
            own.totals += totals;
        }
    }

    fn show(&self, _: &Answer, document: &mut Document) {
        document.heading("Windows, each domain's by itself");
        let mut columns = Columns::<(&(Service, BlockLength), &WindowLine)>::new();
        columns.name("service", |((service, _), _)| service.label());
        columns.left("length", |((_, length), _)| length.name());
        columns.right("windows", |(_, line)| line.windows);
        columns.right("open", |(_, line)| line.open).hidden(1);
        columns.right("limit read", |(_, line)| line.read);
        columns.right("all used", |(_, line)| line.all_used);
        columns.right("requests", |(_, line)| line.totals.requests).hidden(2);
        columns.right("cost", |(_, line)| line.totals.all_costs());
        document.grid(columns.grid(&self.lines));
        document.text("“limit read” are windows of which the client recorded how much is used, “all used” those in which that was all.");
    }
}
