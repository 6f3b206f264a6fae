//! What of the choices for a request is worth looking at.
//!
//! Between two long gaps, and as long as no later request parts from the thread in between, all that
//! is written has the same future: it is best all for an hour or all for five minutes. And what the
//! next request will find again without a ping is always worth a write. Without these two rules a
//! long conversation would have as many states as requests.

use super::prices::Prices;
use super::thread::ThreadRequest;
use crate::base::ttl::Ttl;
use crate::requests::conversation::RequestIndex;
use crate::requests::prompt::{NodeId, Prompt};
use crate::simulate::cache::Reading;
use crate::simulate::strategy::run::Material;

/// How free a request is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Freedom {
    /// Whether it may write for another TTL than the requests before it.
    pub(super) may_change_ttl: bool,
    /// How far it has to write at least.
    pub(super) least: Option<NodeId>,
}

impl Freedom {
    pub(super) fn of(
        material: Material<'_>,
        before: Option<&ThreadRequest>,
        request: &ThreadRequest,
        next: Option<&ThreadRequest>,
    ) -> Self {
        let neighbours = Neighbours { material };
        // By the letter the TTL of the last entry counts, so each request chooses anew.
        let is_literal = material.assumptions.reading == Reading::Literal;
        let parts = before.is_none_or(|before| neighbours.parts(before, request));
        Self {
            may_change_ttl: is_literal || parts,
            least: next.and_then(|next| neighbours.found_again(request, next)),
        }
    }
}

struct Neighbours<'a> {
    material: Material<'a>,
}

impl<'a> Neighbours<'a> {
    fn prompt(&self, request: &ThreadRequest) -> &'a Prompt {
        &self.material.trace.prompts[request.place]
    }

    fn prices(&self, request: &ThreadRequest) -> Prices {
        Prices::of(self.material.rates.of(RequestIndex(request.place)))
    }

    /// Whether what a request writes may have another future than what was written before it.
    fn parts(&self, before: &ThreadRequest, request: &ThreadRequest) -> bool {
        let (trace, prompt) = (self.material.trace, self.prompt(request));
        let blocks = |node: NodeId| trace.node(node).blocks;
        let common = trace.common(self.prompt(before).node, prompt.node).map_or(0, blocks);
        let (_, others) = request.ends.split_last().unwrap_or((&prompt.node, &[]));
        self.is_long(before, request)
            || is_told(prompt)
            || request.shared.is_some()
            || self.prices(before) != self.prices(request)
            || others.iter().any(|end| blocks(*end) >= common)
    }

    /// What the next request finds again for the price of a read, where writing it now is cheaper than
    /// sending it twice.
    fn found_again(&self, request: &ThreadRequest, next: &ThreadRequest) -> Option<NodeId> {
        let (trace, prompt) = (self.material.trace, self.prompt(next));
        let is_certain = !self.is_long(request, next)
            && !is_told(prompt)
            && prompt.background().is_none()
            && next.shared.is_none()
            && self.prices(request).write_pays(&self.prices(next));
        let common = trace.common(self.prompt(request).node, prompt.node)?;
        let is_shared = trace.end_in(prompt, common) <= prompt.shared_prefix;
        let last =
            request.ends.iter().rfind(|end| trace.node(**end).blocks <= trace.node(common).blocks);
        last.copied().filter(|_| is_certain && !is_shared)
    }

    /// Whether an entry for five minutes needs a ping in between.
    fn is_long(&self, before: &ThreadRequest, request: &ThreadRequest) -> bool {
        let gap = self.prompt(request).start.since(self.prompt(before).start);
        gap >= Ttl::FiveMinutes.millis() + self.material.assumptions.ttl_grace
    }
}

/// Whether the record tells what it reads.
fn is_told(prompt: &Prompt) -> bool {
    prompt.opening().is_some() || prompt.broken_read().is_some()
}
