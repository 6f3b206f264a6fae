//! Use of a window: by agent, content and break.

use crate::base::{ByKey, Millis, Picodollars, Symbol, Tokens};
use crate::explain::breaks::{Break, Cause, Sum};
use crate::explain::context::Contents;
use crate::requests::conversation::{History, RequestIndex};
use crate::simulate::ledger::{Ledger, StrategyColumn, Totals};

/// Use of a window.
///
/// `main` and the types of sub-agents add up to `all`, as do the kinds of content with output, searches and
/// samplings apart. The sums of breaks are their cost beyond reading, and part of `all`.
#[derive(Clone, Debug, Default)]
pub struct BlockUse {
    /// Totals of all requests.
    pub all: Totals,
    /// Totals of main conversations.
    pub main: Totals,
    /// Totals of sub-agents by their type, which may be unknown.
    pub agents: ByKey<Option<Symbol>, Totals>,
    /// Contents of the prompts.
    pub contents: Contents,
    /// Sum of the other breaks, which something can be done about.
    pub breaks: Sum,
    /// Sum of the entries that expired in pauses.
    pub expiries: Sum,
    /// Sum of compactions and of cleared tool results.
    pub compactions: Sum,
}

impl BlockUse {
    /// Adds the use of another window.
    pub fn absorb(&mut self, other: &Self) {
        self.all += other.all;
        self.main += other.main;
        for (agent, totals) in &other.agents {
            *self.agents.entry(*agent).or_default() += *totals;
        }
        self.contents.absorb(&other.contents);
        self.breaks += other.breaks;
        self.expiries += other.expiries;
        self.compactions += other.compactions;
    }

    /// Totals of all sub-agents together.
    pub fn all_agents(&self) -> Totals {
        let mut all = Totals::default();
        for totals in self.agents.values() {
            all += *totals;
        }
        all
    }

    pub(super) fn add_request(&mut self, history: &History, index: RequestIndex, totals: Totals) {
        self.all += totals;
        match history.request(index).agent {
            None => self.main += totals,
            Some(agent) => {
                let kind = history.agent_types.get(&agent).copied();
                *self.agents.entry(kind).or_default() += totals;
            }
        }
    }

    pub(super) fn add_break(&mut self, found: &Break) {
        let sum = match found.cause {
            Cause::Compaction | Cause::Microcompaction => &mut self.compactions,
            Cause::TtlExpired5m | Cause::TtlExpired1h | Cause::IdleTooLong => &mut self.expiries,
            _ => &mut self.breaks,
        };
        sum.add_figures(found.rewritten, found.excess);
    }
}

/// A request in a window, with its times and its use.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spent {
    pub(super) index: RequestIndex,
    pub(super) is_selected: bool,
    pub(super) sent: Millis,
    pub(super) answered: Millis,
    /// Cost at list prices, `None` without a price.
    pub(super) cost: Option<Picodollars>,
    /// Tokens sent in full, read, written, and answered.
    pub(super) tokens: [Tokens; 4],
}

impl Spent {
    pub(super) fn new(
        ledger: &Ledger<'_>,
        column: &StrategyColumn,
        index: RequestIndex,
        is_selected: bool,
    ) -> Self {
        let request = ledger.history.request(index);
        let totals = ledger.totals(column, [index]);
        let written = totals.write_5m + totals.write_1h;
        Self {
            index,
            is_selected,
            sent: request.start,
            answered: request.finished,
            cost: totals.cost(),
            tokens: [totals.input, totals.read, written, totals.output],
        }
    }
}
