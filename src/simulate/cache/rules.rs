//! Families of prompt caches, by the way in which a service finds prefixes again.

use super::automatic::{AutomaticCache, AutomaticPolicy, simulate_automatic};
use super::counting::{counted, mark_ends};
use super::stored::{StoredCache, simulate_stored};
use super::{
    BetaKey, Lookback, Markers, Outcome, Policy, Reading, TokenRatio, TtlChange, simulate,
};
use crate::base::{Lifetimes, TierTtl, Ttl, TtlPlan};
use crate::requests::prompt::{Counting, PromptTrace};

/// Rules of a service's cache, by family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rules {
    /// Every prefix that was sent before is found; writes are free.
    Automatic(AutomaticCache),
    /// Prefixes with markers (breakpoints) are found; writes have a price.
    Marked(MarkedCache),
    /// Stored contexts are found by name; storing costs as much as input, and keeping costs by the hour.
    Stored(StoredCache),
}

/// Cache with entries at the markers, as at Anthropic's service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MarkedCache {
    /// Steps, minimum and offsets by which prefixes are counted.
    pub counting: Counting,
    /// Lifetimes of the two TTLs.
    pub lifetimes: Lifetimes,
    /// Unit of a marker's lookback.
    pub lookback: Lookback,
}

impl Rules {
    /// Steps, minimum and offsets by which prefixes are counted.
    pub fn counting(&self) -> &Counting {
        match self {
            Self::Automatic(cache) => &cache.counting,
            Self::Marked(cache) => &cache.counting,
            Self::Stored(cache) => &cache.counting,
        }
    }

    /// Mutable access to the counting, for steps that records show.
    pub(crate) fn counting_mut(&mut self) -> &mut Counting {
        match self {
            Self::Automatic(cache) => &mut cache.counting,
            Self::Marked(cache) => &mut cache.counting,
            Self::Stored(cache) => &mut cache.counting,
        }
    }

    /// Usual lifetime of a prefix, in milliseconds, without a request for a longer one.
    pub fn lifetime(&self) -> i64 {
        self.lifetimes().usual
    }

    /// Usual and long lifetime of prefixes.
    pub fn lifetimes(&self) -> Lifetimes {
        match self {
            Self::Automatic(AutomaticCache { lifetime, .. })
            | Self::Stored(StoredCache { lifetime, .. }) => {
                Lifetimes { usual: *lifetime, long: *lifetime }
            }
            Self::Marked(cache) => cache.lifetimes,
        }
    }

    /// Sets the usual lifetime of a prefix, in milliseconds.
    pub(crate) fn set_lifetime(&mut self, millis: i64) {
        match self {
            Self::Automatic(cache) => cache.lifetime = millis,
            Self::Marked(cache) => cache.lifetimes.usual = millis,
            Self::Stored(cache) => cache.lifetime = millis,
        }
    }

    /// Simulates the prompts of a trace, in its own tokens, as a plain client sends them: each
    /// marked at its end if the rules know markers, and the first of each conversation stored if
    /// contexts are.
    pub fn simulate(&self, trace: &PromptTrace, keeps_breaks: bool) -> Vec<Outcome> {
        match self {
            Self::Automatic(cache) => {
                let policy = AutomaticPolicy { cache: *cache, keeps_breaks };
                simulate_automatic(trace, &policy, |_| TokenRatio::ONE)
            }
            Self::Marked(cache) => {
                let mut counted = counted(trace, &cache.counting, |_| TokenRatio::ONE);
                mark_ends(&mut counted);
                simulate(&counted, &cache.policy(keeps_breaks))
            }
            Self::Stored(cache) => {
                let counted = counted(trace, &cache.counting, |_| TokenRatio::ONE);
                simulate_stored(&counted, cache.usual()).0
            }
        }
    }
}

impl MarkedCache {
    /// Policy that marks for the usual lifetime.
    fn policy(&self, keeps_breaks: bool) -> Policy {
        Policy {
            markers: Markers::Fixed(TtlPlan::everywhere(TierTtl::uniform(Ttl::FiveMinutes))),
            keeps_breaks,
            ttl_grace: 0,
            shares_sessions: true,
            lookback: self.lookback,
            reading: Reading::Literal,
            ttl_change: TtlChange::Keeps,
            betas: BetaKey::Beside,
            lifetimes: self.lifetimes,
        }
    }
}
