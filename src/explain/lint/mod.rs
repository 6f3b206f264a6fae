//! Causes of unstable prefixes in captured prompts, with their place to the byte and their cost: the rules of
//! `lint`, and their findings.
//!
//! Lint reads captures with their bytes kept (each block once). It compares each request part by
//! part with the one that it continues, up to the end of that one's cached part, and simulates the trace as
//! it is and with an unlimited lookback. It prices the blocks that came back, were still cached and were not
//! read (`recurring.rs`), at the TTL that they were written again with. No token has two prices. Of
//! several differences the first one in the prefix has the price, tokens that only the lookback limit lost
//! are priced separately, and variants of a prefix are priced at the beginning of a conversation.

mod counterfactual;
mod markers;
mod record;
mod recurring;
mod rule;
mod run;
mod sessions;
mod stability;
mod thinking;
mod unmarked;
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

/// Result of lint.
#[derive(Clone, Debug, Default)]
pub struct Linted {
    /// Findings, most expensive of each severity first.
    pub findings: Vec<Finding>,
    /// Number of requests that follow another and were compared with it.
    pub compared: u64,
    /// Number of findings that are left out, since they were accepted before.
    pub accepted: u64,
    /// Number of accepted findings that occur no more.
    pub gone: u64,
    /// Additional tokens that the accepted findings lose now, compared with their acceptance. A finding that
    /// loses fewer takes nothing off.
    pub more: Tokens,
}

/// Finding that was accepted before: its rule, its place, and its words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcceptedFinding {
    /// Rule of the finding.
    pub rule: Rule,
    /// Part of the prompt.
    pub place: String,
    /// Words of the finding, with or without words of the prompt.
    pub detail: String,
    /// True for a difference between a fork and its parent.
    pub is_fork: bool,
    /// Lost tokens, as [`Finding::tokens`], if they were saved.
    pub tokens: Option<Tokens>,
}

impl Linted {
    /// Takes out accepted findings. The same rule at the same place with other words is new.
    pub fn accept(&mut self, accepted: &[AcceptedFinding]) {
        let mut places: FxHashMap<(Rule, &str, bool), Vec<usize>> = FxHashMap::default();
        for (at, one) in accepted.iter().enumerate() {
            places.entry((one.rule, &one.place, one.is_fork)).or_default().push(at);
        }
        // Tokens that each accepted finding loses now, if it occurs.
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
    /// Returns true if it has the words of a finding of the same rule and place.
    fn says(&self, finding: &Finding) -> bool {
        [true, false].iter().any(|shown| finding.shown_detail(*shown) == self.detail)
    }
}

/// Finding: one rule at one place of the prompt, over all requests that break it.
#[derive(Clone, Debug)]
pub struct Finding {
    /// Rule of the finding.
    pub rule: Rule,
    /// Part of the prompt, such as `tools[3]` or `system[1]`.
    pub place: String,
    /// Description in a few words. It may name tools and fields.
    pub detail: String,
    /// Description without any word of the prompt, if that differs.
    pub plain_detail: Option<String>,
    /// True for a difference between a fork and its parent.
    pub is_fork: bool,
    /// First request that shows it.
    pub request: RequestIndex,
    /// First bytes that differ, at that request.
    pub difference: Option<ByteDifference>,
    /// Number of requests that show it.
    pub requests: u64,
    /// True if the price was looked for at each of them; the first difference of a request has that of all behind it.
    pub is_priced: bool,
    /// Tokens that could have been read, but were written or sent in full.
    pub tokens: Tokens,
    /// Cost beyond reading these tokens, or `None` if a model has no price.
    pub cost: Option<Picodollars>,
    /// Cost that all requests would have saved had this never changed ([`Rule::latched_by`]), negative if
    /// they had cost more. `None` if unknown.
    pub latch_saves: Option<Picodollars>,
}

impl Finding {
    /// Finding at one request, without a price yet.
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
            is_priced: false,
            tokens: Tokens::ZERO,
            cost: Some(Picodollars::ZERO),
            latch_saves: None,
        }
    }

    /// Finding of a request that another model answered.
    fn of_model(request: RequestIndex) -> Self {
        let detail = "another model answered this request".to_owned();
        Self::new(Rule::ModelChanged, "model".to_owned(), detail, request)
    }

    /// The same finding with its price.
    fn priced(self, tokens: Tokens, cost: Option<Picodollars>) -> Self {
        Self { is_priced: true, tokens, cost, ..self }
    }

    /// The same finding as a difference between a fork and its parent.
    fn of_fork(mut self) -> Self {
        let of_fork = |detail: &String| format!("a fork differs from its parent: {detail}");
        self.plain_detail = self.plain_detail.as_ref().map(of_fork);
        self.detail = of_fork(&self.detail);
        self.is_fork = true;
        self
    }

    /// Description, with or without words of the prompt.
    #[must_use]
    pub fn shown_detail(&self, shows_text: bool) -> &str {
        let plain = self.plain_detail.as_deref().filter(|_| !shows_text);
        plain.unwrap_or(&self.detail)
    }

    /// Severity of the finding here: that of its rule, but a changed TTL that lost nothing and made nothing
    /// more expensive is a note.
    #[must_use]
    pub fn severity(&self) -> Severity {
        let costs = [self.latch_saves, self.cost];
        let saves = costs.into_iter().flatten().any(|cost| cost > Picodollars::ZERO);
        if self.rule == Rule::TtlChanged && self.tokens == Tokens::ZERO && !saves {
            Severity::Note
        } else {
            self.rule.severity()
        }
    }

    /// Words for the fate of the finding's tokens.
    #[must_use]
    pub fn lost_as(&self) -> &'static str {
        match self.rule {
            Rule::NeverRead => "written in vain",
            Rule::PrefixVariants => "written for further variants",
            Rule::DiffersBetweenSessions => "written for further sessions",
            _ => "not read",
        }
    }

    /// Returns true for a finding about a message that came back altered.
    fn is_of_messages(&self) -> bool {
        self.place.starts_with("messages[")
    }

    fn absorb(&mut self, other: &Self) {
        self.requests += other.requests;
        self.is_priced &= other.is_priced;
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

/// Sorts the most expensive findings of each severity first.
fn sort(findings: &mut [Finding]) {
    findings.order_by_key(|finding| {
        let cost = finding.cost.unwrap_or_default();
        (finding.severity(), Reverse(cost), Reverse(finding.tokens), finding.rule, finding.request)
    });
}
