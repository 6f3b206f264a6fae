//! What `lint` found, where, and what it costs over the trace.

use super::rule::Rule;
use crate::conversation::RequestIndex;
use crate::units::{Picodollars, Tokens};

/// The first bytes in which two versions of a block differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Their position in the canonical bytes of the block.
    pub byte: usize,
    /// What stood there before, with a little around it.
    pub before: String,
    /// What stands there now.
    pub after: String,
}

/// A finding: one rule at one place of the prompt, over all requests where it applies.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The rule.
    pub rule: Rule,
    /// The part of the prompt, such as `tools[3]` or `system[1]`.
    pub place: String,
    /// What was found there, in a few words; may name tools and fields.
    pub detail: String,
    /// The first request that shows it.
    pub request: RequestIndex,
    /// The first differing bytes, at that request.
    pub difference: Option<Difference>,
    /// How many requests show it.
    pub requests: u64,
    /// The tokens that were written, or sent in full, and could have been read.
    pub tokens: Tokens,
    /// What that cost beyond reading them; `None` where a model has no price.
    pub cost: Option<Picodollars>,
}

impl Finding {
    /// One at a single request, without a price yet.
    pub(super) fn new(rule: Rule, place: String, detail: String, request: RequestIndex) -> Self {
        Self {
            rule,
            place,
            detail,
            request,
            difference: None,
            requests: 1,
            tokens: Tokens::ZERO,
            cost: Some(Picodollars::ZERO),
        }
    }

    /// Whether another finding is the same one at a further request.
    fn is_repeated_by(&self, other: &Self) -> bool {
        self.rule == other.rule && self.place == other.place
    }

    fn absorb(&mut self, other: &Self) {
        self.requests += other.requests;
        self.tokens += other.tokens;
        self.cost = self.cost.zip(other.cost).map(|(one, other)| one + other);
    }
}

/// Joins findings of one rule and place, and puts the dearest first.
pub(super) fn join(findings: Vec<Finding>) -> Vec<Finding> {
    let mut joined: Vec<Finding> = Vec::new();
    for finding in findings {
        match joined.iter_mut().find(|known| known.is_repeated_by(&finding)) {
            Some(known) => known.absorb(&finding),
            None => joined.push(finding),
        }
    }
    joined.sort_by_key(|finding| {
        let cost = finding.cost.unwrap_or_default();
        (
            finding.rule.severity(),
            std::cmp::Reverse(cost),
            std::cmp::Reverse(finding.tokens),
            finding.rule,
            finding.request,
        )
    });
    joined
}
