//! A simulated trace of captured requests, as the rules look at it.

use crate::base::ttl::Ttl;
use crate::base::units::{Picodollars, Tokens};
use crate::read::capture::{Part, WireNodeId, WireRequest, WireTree};
use crate::requests::conversation::{History, RequestIndex};
use crate::requests::prompt::{Marker, NodeId, Prompt, PromptTrace};
use crate::simulate::cache::{BetaKey, Lookback, Outcome, Policy, effective, simulate};
use crate::simulate::ledger::Ledger;

/// The captured requests with what the rules make of them.
pub(super) struct Trace<'a> {
    pub(super) history: &'a History,
    prompts: &'a PromptTrace,
    ledger: &'a Ledger<'a>,
    outcomes: &'a [Outcome],
    unlimited: Vec<Outcome>,
    /// Whether beta features are part of the key.
    pub(super) keys_betas: bool,
    first: usize,
    first_node: usize,
}

impl<'a> Trace<'a> {
    /// The requests as a column of the ledger simulates them under `policy`, and with markers that
    /// look back without a limit.
    pub(super) fn new(
        ledger: &'a Ledger<'a>,
        outcomes: &'a [Outcome],
        prompts: &'a PromptTrace,
        policy: &Policy,
    ) -> Self {
        let history = ledger.history;
        Self {
            history,
            prompts,
            ledger,
            outcomes,
            unlimited: simulate(prompts, &Policy { lookback: Lookback::Unlimited, ..*policy }),
            keys_betas: policy.betas == BetaKey::Key,
            first: history.of_transcripts().len(),
            first_node: prompts.nodes.len() - history.captured.tree.nodes.len(),
        }
    }

    /// The captured requests, in the order in which they were sent.
    pub(super) fn indices(&self) -> impl Iterator<Item = RequestIndex> + use<> {
        (self.first..self.first + self.history.captured.requests.len()).map(RequestIndex)
    }

    pub(super) fn tree(&self) -> &'a WireTree {
        &self.history.captured.tree
    }

    pub(super) fn wire(&self, index: RequestIndex) -> &'a WireRequest {
        &self.history.captured.requests[index.0 - self.first]
    }

    pub(super) fn prompt(&self, index: RequestIndex) -> &'a Prompt {
        &self.prompts.prompts[index.0]
    }

    pub(super) fn outcome(&self, index: RequestIndex) -> &Outcome {
        &self.outcomes[index.0]
    }

    /// The outcome if markers looked back without a limit.
    pub(super) fn unlimited(&self, index: RequestIndex) -> &Outcome {
        &self.unlimited[index.0]
    }

    pub(super) fn is_refused(&self, index: RequestIndex) -> bool {
        self.outcome(index).refusal.is_some()
    }

    /// The markers of a request, one for each block, over prefixes from `minimum` on.
    fn markers_from(&self, index: RequestIndex, minimum: Tokens) -> Vec<&'a Marker> {
        let markers = self.prompts.markers_of(self.prompt(index)).iter();
        let sent = markers.filter_map(|marker| Some((marker, marker.ttl?))).collect();
        effective(sent, minimum).into_iter().map(|(marker, _)| marker).collect()
    }

    /// The markers of a request, one for each block.
    pub(super) fn markers(&self, index: RequestIndex) -> Vec<&'a Marker> {
        self.markers_from(index, Tokens::ZERO)
    }

    /// The markers that take effect: of a request that is not refused those over a prefix that is
    /// long enough.
    pub(super) fn effective(&self, index: RequestIndex) -> Vec<&'a Marker> {
        if self.is_refused(index) {
            return Vec::new();
        }
        self.markers_from(index, self.prompt(index).minimum)
    }

    /// The last marker that takes effect.
    pub(super) fn last_marker(&self, index: RequestIndex) -> Option<&'a Marker> {
        self.effective(index).last().copied()
    }

    /// The captured node after a node of the trace.
    pub(super) fn wire_node(&self, node: NodeId) -> WireNodeId {
        WireNodeId(u32::try_from(node.index() - self.first_node).expect("a captured node"))
    }

    /// The size of the prefix that ends at a captured node.
    pub(super) fn end(&self, id: WireNodeId) -> Tokens {
        self.prompts.nodes[self.first_node + id.0 as usize].end
    }

    /// The size of a captured node's own block.
    pub(super) fn size(&self, id: WireNodeId) -> Tokens {
        let parent = self.tree().node(id).parent;
        self.end(id).saturating_sub(parent.map_or(Tokens::ZERO, |parent| self.end(parent)))
    }

    /// Where the prefix ends in a request that it shares with another path.
    pub(super) fn shared_end(&self, path: WireNodeId, index: RequestIndex) -> Tokens {
        let shared = self.tree().shared(path, self.wire(index).leaf);
        shared.map_or(Tokens::ZERO, |shared| {
            let node = NodeId::at(self.first_node + shared.0 as usize);
            self.prompts.end_in(self.prompt(index), node)
        })
    }

    pub(super) fn positions_between(&self, entry: WireNodeId, marker: WireNodeId) -> u32 {
        let positions =
            |id: WireNodeId| self.prompts.nodes[self.first_node + id.0 as usize].positions;
        positions(marker).saturating_sub(positions(entry))
    }

    /// How many blocks of the system prompt stand in front of its last marker there, it included.
    pub(super) fn marked_system_blocks(&self, index: RequestIndex) -> usize {
        let is_system = |id: &WireNodeId| self.tree().node(*id).part == Part::System;
        let markers = &self.wire(index).markers;
        markers
            .iter()
            .rev()
            .map(|marker| marker.node)
            .find(is_system)
            .map_or(0, |last| self.tree().path(last).filter(|id| is_system(id)).count())
    }

    /// What a stretch of a prompt costs beyond reading it: as it is written under the request's
    /// markers, and sent in full after the last of them. `None` where the model has no price.
    pub(super) fn rewrite_cost(
        &self,
        index: RequestIndex,
        from: Tokens,
        to: Tokens,
    ) -> Option<Picodollars> {
        let rates = self.ledger.rates_of(index)?;
        let effective = self.effective(index);
        let end_of = |ttl| effective.iter().rfind(|marker| marker.ttl == Some(ttl));
        let hour = end_of(Ttl::OneHour).map_or(Tokens::ZERO, |marker| marker.end);
        let written = effective.last().map_or(Tokens::ZERO, |marker| marker.end).max(hour);
        let between = |begin: Tokens, end: Tokens| end.min(to).saturating_sub(begin.max(from));
        let cost = rates.cache_write_1h.times(between(Tokens::ZERO, hour))
            + rates.cache_write_5m.times(between(hour, written))
            + rates.input.times(between(written, to));
        Some(cost.minus(rates.cache_read.times(to.saturating_sub(from))))
    }

    /// What writing tokens under a marker costs beyond sending them in full.
    pub(super) fn premium_cost(
        &self,
        index: RequestIndex,
        marker: &Marker,
        tokens: Tokens,
    ) -> Option<Picodollars> {
        let rates = self.ledger.rates_of(index)?;
        let written = match marker.ttl? {
            Ttl::FiveMinutes => rates.cache_write_5m,
            Ttl::OneHour => rates.cache_write_1h,
        };
        Some(written.minus(rates.input).times(tokens))
    }

    /// Whether what a request cached can be read by a later one of its scope and model.
    pub(super) fn is_readable_from(&self, writer: RequestIndex, reader: RequestIndex) -> bool {
        let (before, after) = (self.prompt(writer), self.prompt(reader));
        let ttl = self.last_marker(writer).and_then(|marker| marker.ttl);
        before.model == after.model
            && before.scope == after.scope
            && before.readable_from <= after.start
            && ttl.is_some_and(|ttl| after.start.since(before.start) < ttl.millis())
    }
}
