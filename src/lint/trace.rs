//! A simulated trace of captured requests, as the rules look at it.

use crate::cache::{Lookback, Markers, Outcome, Policy, simulate};
use crate::capture::{Part, WireNodeId, WireRequest, WireTree};
use crate::conversation::{History, RequestIndex};
use crate::ledger::Ledger;
use crate::prompt::{Marker, NodeId, Prompt, PromptTrace};
use crate::units::{Picodollars, Tokens};

/// The captured requests with what the rules make of them.
pub(super) struct Trace<'a> {
    pub(super) history: &'a History,
    prompts: &'a PromptTrace,
    ledger: &'a Ledger<'a>,
    outcomes: Vec<Outcome>,
    unlimited: Vec<Outcome>,
    first: usize,
}

impl<'a> Trace<'a> {
    pub(super) fn new(ledger: &'a Ledger<'a>, trace: &'a PromptTrace, lookback: Lookback) -> Self {
        let policy = |lookback| Policy {
            markers: Markers::AsRecorded,
            keeps_breaks: false,
            ttl_grace: 0,
            shares_sessions: true,
            lookback,
        };
        Self {
            history: ledger.history,
            prompts: trace,
            ledger,
            outcomes: simulate(trace, &policy(lookback)),
            unlimited: simulate(trace, &policy(Lookback::Unlimited)),
            first: ledger.history.of_transcripts().len(),
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

    pub(super) fn markers(&self, index: RequestIndex) -> &'a [Marker] {
        self.prompts.markers_of(self.prompt(index))
    }

    pub(super) fn outcome(&self, index: RequestIndex) -> &Outcome {
        &self.outcomes[index.0]
    }

    /// The outcome if markers looked back without a limit.
    pub(super) fn unlimited(&self, index: RequestIndex) -> &Outcome {
        &self.unlimited[index.0]
    }

    /// The last marker of a request that is not below the minimum.
    pub(super) fn last_marker(&self, index: RequestIndex) -> Option<&'a Marker> {
        let minimum = self.prompt(index).minimum;
        self.markers(index).iter().rfind(|marker| marker.end >= minimum)
    }

    /// The captured node behind a node of the trace.
    pub(super) fn wire_node(&self, node: NodeId) -> WireNodeId {
        let first = self.prompts.nodes.len() - self.tree().nodes.len();
        WireNodeId(u32::try_from(node.0 - first).expect("a captured node"))
    }

    /// The size of the prefix that ends at a captured node.
    pub(super) fn end(&self, id: WireNodeId) -> Tokens {
        let first = self.prompts.nodes.len() - self.tree().nodes.len();
        self.prompts.nodes[first + id.0 as usize].end
    }

    pub(super) fn positions_between(&self, entry: WireNodeId, marker: WireNodeId) -> u32 {
        let first = self.prompts.nodes.len() - self.tree().nodes.len();
        let positions = |id: WireNodeId| self.prompts.nodes[first + id.0 as usize].positions;
        positions(marker).saturating_sub(positions(entry))
    }

    /// How many blocks of a request's messages were cached.
    pub(super) fn cached_blocks(&self, index: RequestIndex) -> usize {
        let Some(last) = self.last_marker(index) else { return 0 };
        let is_message = |id: &WireNodeId| {
            matches!(self.tree().node(*id).part, Part::MessageStart | Part::Block)
        };
        self.tree().path(self.wire_node(last.node)).take_while(is_message).count()
    }

    /// What writing tokens costs beyond reading them; beyond reading them for one without markers,
    /// sending them. `None` where the model has no price.
    pub(super) fn rewrite_cost(&self, index: RequestIndex, tokens: Tokens) -> Option<Picodollars> {
        let rates = self.ledger.rates_of(index)?;
        let written = match self.last_marker(index).and_then(|marker| marker.ttl) {
            None => rates.input,
            Some(crate::ttl::Ttl::FiveMinutes) => rates.cache_write_5m,
            Some(crate::ttl::Ttl::OneHour) => rates.cache_write_1h,
        };
        Some(written.minus(rates.cache_read).times(tokens))
    }

    /// What writing tokens costs beyond sending them in full.
    pub(super) fn premium_cost(&self, index: RequestIndex, tokens: Tokens) -> Option<Picodollars> {
        let rates = self.ledger.rates_of(index)?;
        let written = match self.last_marker(index).and_then(|marker| marker.ttl) {
            None => return Some(Picodollars::ZERO),
            Some(crate::ttl::Ttl::FiveMinutes) => rates.cache_write_5m,
            Some(crate::ttl::Ttl::OneHour) => rates.cache_write_1h,
        };
        Some(written.minus(rates.input).times(tokens))
    }
}
