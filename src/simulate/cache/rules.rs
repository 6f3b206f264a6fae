//! The families of prompt caches, by what a service finds again.

use super::automatic::{AutomaticCache, AutomaticPolicy, simulate_automatic};
use super::counting::{counted, mark_ends};
use super::stored::{StoredCache, simulate_stored};
use super::{
    BetaKey, Lookback, Markers, Outcome, Policy, Reading, TokenRatio, TtlChange, simulate,
};
use crate::base::ttl::{Lifetimes, TierTtl, Ttl, TtlPlan};
use crate::requests::prompt::{Counting, PromptTrace};

/// The rules of a service's cache, by family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rules {
    /// It finds every prefix that was sent before. Writes are free.
    Automatic(AutomaticCache),
    /// It finds what markers (breakpoints) marked. Writes have a price.
    Marked(MarkedCache),
    /// It finds what was stored and is named. Storing costs as much as input, and keeping costs by the hour.
    Stored(StoredCache),
}

/// A cache with entries where markers stood, as at Anthropic's service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MarkedCache {
    /// How prefixes are counted.
    pub counting: Counting,
    /// How long entries live.
    pub lifetimes: Lifetimes,
    /// What a marker counts when it looks back.
    pub lookback: Lookback,
}

impl Rules {
    /// How prefixes are counted.
    #[must_use]
    pub fn counting(&self) -> &Counting {
        match self {
            Self::Automatic(cache) => &cache.counting,
            Self::Marked(cache) => &cache.counting,
            Self::Stored(cache) => &cache.counting,
        }
    }

    /// How prefixes are counted, to be changed.
    pub(crate) fn counting_mut(&mut self) -> &mut Counting {
        match self {
            Self::Automatic(cache) => &mut cache.counting,
            Self::Marked(cache) => &mut cache.counting,
            Self::Stored(cache) => &mut cache.counting,
        }
    }

    /// How long a prefix lives that nobody asked to live longer, in milliseconds.
    #[must_use]
    pub fn lifetime(&self) -> i64 {
        self.lifetimes().usual
    }

    /// How long prefixes may live.
    #[must_use]
    pub fn lifetimes(&self) -> Lifetimes {
        match self {
            Self::Automatic(AutomaticCache { lifetime, .. })
            | Self::Stored(StoredCache { lifetime, .. }) => {
                Lifetimes { usual: *lifetime, long: *lifetime }
            }
            Self::Marked(cache) => cache.lifetimes,
        }
    }

    /// Sets how long a prefix lives that nobody asked to live longer.
    pub(crate) fn set_lifetime(&mut self, millis: i64) {
        match self {
            Self::Automatic(cache) => cache.lifetime = millis,
            Self::Marked(cache) => cache.lifetimes.usual = millis,
            Self::Stored(cache) => cache.lifetime = millis,
        }
    }

    /// The prompts of a trace in its own tokens, as a client sends them that does nothing else: each marked at its
    /// end where the rules know markers, and the first of each conversation stored where contexts are.
    #[must_use]
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
    /// The policy that marks for the usual lifetime.
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
