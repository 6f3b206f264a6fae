//! What makes the prefixes of captured prompts unstable, where to the byte, and what it costs: the
//! rules of `lint`, and their findings.
//!
//! Lint reads captures with their bytes kept (each block once). It compares each request part by
//! part with the one that it continues, as far as that one was cached, and simulates the trace as
//! it is and with an unlimited lookback. It prices what came back, was still cached and was not
//! read (`recurring.rs`), at the TTL with which it was written again. No token has two prices. Of
//! several differences the first one in the prefix has the price, what only the lookback limit lost
//! is priced separately, and variants of a prefix are priced where a conversation begins.

mod markers;
mod recurring;
mod rule;
mod run;
mod stability;
mod thinking;
mod variants;
mod volatile_text;

pub use rule::{Rule, Severity};
pub use run::lint;

use std::cmp::Reverse;
use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;

use crate::base::order::Order as _;
use crate::base::units::{Picodollars, Tokens};
use crate::requests::conversation::RequestIndex;
use crate::requests::difference::ByteDifference;

/// What lint found.
#[derive(Clone, Debug, Default)]
pub struct Linted {
    /// The findings, most expensive of each severity first.
    pub findings: Vec<Finding>,
    /// How many requests follow another, with which they were compared.
    pub compared: u64,
    /// How many findings are left out, as they were accepted before.
    pub accepted: u64,
    /// How many accepted findings occur no more.
    pub gone: u64,
    /// How many more tokens the accepted findings lose than when they were accepted. One that loses less
    /// takes nothing off.
    pub more: Tokens,
}

/// A finding that was accepted before: its rule, its place, and its words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcceptedFinding {
    /// The rule.
    pub rule: Rule,
    /// The part of the prompt.
    pub place: String,
    /// What was found there, with or without words of the prompt.
    pub detail: String,
    /// Whether it is a difference between a fork and its parent.
    pub is_fork: bool,
    /// What it lost, as [`Finding::tokens`], where that was saved.
    pub tokens: Option<Tokens>,
}

impl Linted {
    /// Takes out what was accepted before. The same rule at the same place with other words is new.
    pub fn accept(&mut self, accepted: &[AcceptedFinding]) {
        let mut places: FxHashMap<(Rule, &str, bool), Vec<usize>> = FxHashMap::default();
        for (at, one) in accepted.iter().enumerate() {
            places.entry((one.rule, &one.place, one.is_fork)).or_default().push(at);
        }
        // What each of them loses now, where it occurs.
        let mut lost: Vec<Option<Tokens>> = vec![None; accepted.len()];
        let all = self.findings.len();
        self.findings.retain(|finding| {
            let there = places.get(&(finding.rule, &*finding.place, finding.is_fork));
            let known = there.into_iter().flatten().copied();
            let known = known.into_iter().find(|at| accepted[*at].says(finding));
            if let Some(at) = known {
                *lost[at].get_or_insert_default() += finding.tokens;
            }
            known.is_none()
        });
        self.accepted += (all - self.findings.len()) as u64;
        self.gone += lost.iter().filter(|lost| lost.is_none()).count() as u64;
        let more = lost.iter().zip(accepted).filter_map(|(lost, one)| {
            let (lost, then) = (*lost).zip(one.tokens)?;
            Some(lost.saturating_sub(then))
        });
        self.more += more.sum::<Tokens>();
    }
}

impl AcceptedFinding {
    /// Whether it has the words of a finding of the same rule and place.
    fn says(&self, finding: &Finding) -> bool {
        [true, false].iter().any(|shown| finding.shown_detail(*shown) == self.detail)
    }
}

/// A finding: one rule at one place of the prompt, over all requests where it applies.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The rule.
    pub rule: Rule,
    /// The part of the prompt, such as `tools[3]` or `system[1]`.
    pub place: String,
    /// What was found there, in a few words. May name tools and fields.
    pub detail: String,
    /// The same without any word of the prompt, where that differs.
    pub plain_detail: Option<String>,
    /// Whether it is a difference between a fork and its parent.
    pub is_fork: bool,
    /// The first request that shows it.
    pub request: RequestIndex,
    /// The first bytes that differ, at that request.
    pub difference: Option<ByteDifference>,
    /// How many requests show it.
    pub requests: u64,
    /// Tokens that could have been read, but were written or sent in full.
    pub tokens: Tokens,
    /// Its cost beyond reading them, or `None` where a model has no price.
    pub cost: Option<Picodollars>,
    /// How much less all requests would have cost had this never changed ([`Rule::latched_by`]),
    /// negative where more. `None` where unknown.
    pub latch_saves: Option<Picodollars>,
}

impl Finding {
    /// A finding at one request, without a price yet.
    fn new(rule: Rule, place: String, detail: String, request: RequestIndex) -> Self {
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
    fn of_fork(mut self) -> Self {
        let of_fork = |detail: &String| format!("a fork differs from its parent: {detail}");
        self.plain_detail = self.plain_detail.as_ref().map(of_fork);
        self.detail = of_fork(&self.detail);
        self.is_fork = true;
        self
    }

    /// What was found, with or without words of the prompt.
    #[must_use]
    pub fn shown_detail(&self, shows_text: bool) -> &str {
        let plain = self.plain_detail.as_deref().filter(|_| !shows_text);
        plain.unwrap_or(&self.detail)
    }

    /// How much it matters here: as its rule says, save that a changed TTL with which nothing was
    /// lost and nothing cost more is a note.
    #[must_use]
    pub fn severity(&self) -> Severity {
        let saves = self.latch_saves.is_some_and(|saved| saved > Picodollars::ZERO);
        if self.rule == Rule::TtlChanged && self.tokens == Tokens::ZERO && !saves {
            Severity::Note
        } else {
            self.rule.severity()
        }
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

/// Joins findings of one rule and place, separately for forks.
fn join(findings: Vec<Finding>) -> Vec<Finding> {
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
    joined
}

/// Puts the most expensive findings of each severity first.
fn sort(findings: &mut [Finding]) {
    findings.order_by_key(|finding| {
        let cost = finding.cost.unwrap_or_default();
        (finding.severity(), Reverse(cost), Reverse(finding.tokens), finding.rule, finding.request)
    });
}
