//! What `lint` found, where, and what it costs over the trace.

use std::cmp::Reverse;
use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;

use super::rule::Rule;
use crate::base::units::{Picodollars, Tokens};
use crate::requests::conversation::RequestIndex;
use crate::requests::difference::ByteDifference;

/// A finding: one rule at one place of the prompt, over all requests where it applies.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The rule.
    pub rule: Rule,
    /// The part of the prompt, such as `tools[3]` or `system[1]`.
    pub place: String,
    /// What was found there, in a few words; may name tools and fields.
    pub detail: String,
    /// The same without any word of the prompt, where that makes a difference.
    pub plain_detail: Option<String>,
    /// Whether it is a difference between a fork and its parent.
    pub is_fork: bool,
    /// The first request that shows it.
    pub request: RequestIndex,
    /// The first differing bytes, at that request.
    pub difference: Option<ByteDifference>,
    /// How many requests show it.
    pub requests: u64,
    /// The tokens that were written, or sent in full, and could have been read.
    pub tokens: Tokens,
    /// What that cost beyond reading them; `None` where a model has no price.
    pub cost: Option<Picodollars>,
    /// What all requests would have cost less if that had never changed ([`Rule::latched_by`]), and more
    /// where it is negative; `None` where that is not known.
    pub latch_saves: Option<Picodollars>,
}

impl Finding {
    /// One at a single request, without a price yet.
    pub(super) fn new(rule: Rule, place: String, detail: String, request: RequestIndex) -> Self {
        Self {
            rule,
            place,
            detail,
            plain_detail: None,
            is_fork: false,
            request,
            difference: None,
            requests: 1,
            tokens: Tokens::ZERO,
            cost: Some(Picodollars::ZERO),
            latch_saves: None,
        }
    }

    /// The same as a difference between a fork and its parent.
    pub(super) fn of_fork(mut self) -> Self {
        let of_fork = |detail: &String| format!("a fork differs from its parent: {detail}");
        self.plain_detail = self.plain_detail.as_ref().map(of_fork);
        self.detail = of_fork(&self.detail);
        self.is_fork = true;
        self
    }

    /// What was found, with words of the prompt or without.
    #[must_use]
    pub fn shown_detail(&self, shows_text: bool) -> &str {
        let plain = self.plain_detail.as_deref().filter(|_| !shows_text);
        plain.unwrap_or(&self.detail)
    }

    /// What the tokens of a finding of the rule are.
    #[must_use]
    pub fn lost_as(&self) -> &'static str {
        match self.rule {
            Rule::NeverRead => "written in vain",
            Rule::PrefixVariants => "written for further variants",
            _ => "not read",
        }
    }

    fn absorb(&mut self, other: &Self) {
        self.requests += other.requests;
        self.tokens += other.tokens;
        self.cost = self.cost.zip(other.cost).map(|(one, other)| one + other);
    }
}

/// Joins findings of one rule and place, those of forks apart, and puts the most expensive of each severity first.
pub(super) fn join(findings: Vec<Finding>) -> Vec<Finding> {
    let mut joined: Vec<Finding> = Vec::new();
    let mut places: FxHashMap<(Rule, String, bool), usize> = FxHashMap::default();
    for finding in findings {
        match places.entry((finding.rule, finding.place.clone(), finding.is_fork)) {
            Entry::Occupied(known) => joined[*known.get()].absorb(&finding),
            Entry::Vacant(new) => {
                new.insert(joined.len());
                joined.push(finding);
            }
        }
    }
    joined.sort_by_key(|finding| {
        let cost = finding.cost.unwrap_or_default();
        (
            finding.rule.severity(),
            Reverse(cost),
            Reverse(finding.tokens),
            finding.rule,
            finding.request,
        )
    });
    joined
}
