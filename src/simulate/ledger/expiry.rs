//! Expiries of a conversation's cache under a strategy.

use super::{Ledger, StrategyColumn};
use crate::base::{Tokens, Ttl};
use crate::requests::conversation::RequestIndex;
use crate::requests::prompt::StepKind;
use crate::simulate::strategy::Purpose;

/// Request that came after its conversation's cache had expired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expiry {
    /// Time from the start of the previous request to the start of this one, in milliseconds.
    pub gap: i64,
    /// TTL of the previous messages.
    pub ttl: Ttl,
}

impl Ledger<'_> {
    /// Expiry at a request under a strategy: it comes at least a TTL after the previous request or
    /// the last ping, and reads less than the previous one left.
    ///
    /// `None` if the cache did not expire, or if entries have no TTL to choose.
    pub fn expiry(&self, column: &StrategyColumn, index: RequestIndex) -> Option<Expiry> {
        let step = &self.steps[index.get()];
        let (before, gap) = (step.predecessor?, step.gap?);
        // Another model reads nothing of the entries, however young they are.
        if step.kind == StepKind::ModelChange {
            return None;
        }
        let ttl = self.message_ttl(column, before)?;
        let ping = column.added_after(before).into_iter().rev();
        let ping = ping.map(|added| (added.purpose, added.at));
        let ping = ping.filter(|(purpose, _)| *purpose == Purpose::KeepAlive).map(|(_, at)| at);
        let start = self.history.request(index).start;
        let idle = ping.map(|at| start.since(at)).min().map_or(gap, |idle| idle.min(gap));
        // The cheap test first: `shortfall` makes the tokens of two rows.
        let is_late = idle >= ttl.millis();
        let is_short = || self.shortfall(column, index).is_some_and(|less| less > Tokens::ZERO);
        (is_late && is_short()).then_some(Expiry { gap, ttl })
    }

    /// Tokens that the previous request had read and written and this one does not read, or `None`
    /// if unknown.
    pub fn shortfall(&self, column: &StrategyColumn, index: RequestIndex) -> Option<Tokens> {
        let before = self.row_tokens(column, self.steps[index.get()].predecessor?)?.billing;
        let own = self.row_tokens(column, index);
        let own = own.filter(|tokens| tokens.refusal.is_none())?.billing;
        let cached = before.read + before.write_5m + before.write_1h;
        Some(cached.saturating_sub(own.read))
    }

    /// TTL of a request's messages under a strategy.
    fn message_ttl(&self, column: &StrategyColumn, index: RequestIndex) -> Option<Ttl> {
        let request = self.history.request(index);
        if let Some(plan) = column.ttl_plan() {
            return Some(plan.of(request.agent.is_some()).messages);
        }
        column.keeps_ttls().then(|| self.steps[index.get()].ttl).flatten().map(|ttl| ttl.messages)
    }
}
