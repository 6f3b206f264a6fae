//! The providers' caching rules: prompts → what each reads, writes and sends in full. Here stand
//! the policies that a simulation applies, and the ratios between token vocabularies.
//!
//! This layer knows neither JSON nor money, nor where a prompt came from.
//!
//! Entries exist where a marker stood. An entry lives for its TTL from the start of the request
//! that last used it, and can be read once the response to the request that wrote it has begun. A
//! marker looks for one at its own position and back over 20 positions, including its own. The
//! longest prefix that any marker finds is read, and every readable entry on its path is refreshed
//! (`entries.rs`). A marker below the hit stores an entry free of charge. Siblings that write one
//! prefix before it can be read keep the longer TTL.
//!
//! Global markers have their own cache, which all scopes share. Prefixes below the model's minimum
//! are not cached, and markers that the service would refuse make the request invalid. A
//! transcript's prompt has two markers: after the system prompt, whose size each request estimates,
//! and at the end of what it had cached.

mod automatic;
mod counting;
mod entries;
mod outcome;
mod rules;
mod simulate;
mod stored;

pub use crate::requests::prompt::{Counting, LOOKBACK};
pub use automatic::{AutomaticCache, AutomaticPolicy, simulate_automatic};
pub use counting::counted;
pub use outcome::{Outcome, Refusal};
pub use rules::{MarkedCache, Rules};
pub use simulate::{RepeatRun, Repeats, simulate, simulate_repeated};
pub use stored::{StoredCache, StoredContext, Storing, simulate_stored};

use smallvec::SmallVec;

use crate::base::ttl::{Lifetimes, Ttl, TtlPlan};
use crate::base::units::Tokens;
use crate::base::words::words;
use crate::requests::prompt::{Level, Marker, NodeId};

/// A caching policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Which markers there are.
    pub markers: Markers,
    /// Whether recorded breaks inside the TTL happen here, too.
    pub keeps_breaks: bool,
    /// How long entries are found beyond their TTL, in milliseconds. Providers delete them promptly
    /// but not immediately, and the starts of requests are known to the second only.
    pub ttl_grace: i64,
    /// Whether sessions that share a prefix keep each other's entries alive.
    pub shares_sessions: bool,
    /// What a marker counts when it looks back.
    pub lookback: Lookback,
    /// How long an entry lives that was written after one with a shorter TTL.
    pub reading: Reading,
    /// What happens to an entry when markers change their TTL.
    pub ttl_change: TtlChange,
    /// Whether the beta features of a request are part of the key.
    pub betas: BetaKey,
    /// How long entries live.
    pub lifetimes: Lifetimes,
}

/// Whether the set of beta features is part of the key. The documentation says that another set
/// affects prompts, but not what is lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BetaKey {
    /// It is, before everything else, like the model. Clients keep the features of a session on so
    /// that its cache is not lost. Unknown features count as a set of their own.
    #[default]
    Key,
    /// It changes nothing.
    Beside,
}

/// What a marker finds of entries written with another TTL. The documentation does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TtlChange {
    /// It finds them like its own. They keep the TTL that they were written with.
    #[default]
    Keeps,
    /// Nothing: the TTL is part of the key, and changing it loses what was cached.
    Loses,
}

words! {
    /// How long a one-hour entry lives that was written after a read of a five-minute one. The
    /// documentation does not say.
    #[derive(Default)]
    pub enum Reading {
        /// Its own TTL, whatever comes before it. The documented rules say so if taken literally.
        #[default]
        Literal = "literal";
        /// No longer than what comes before it: no entry outlives the shortest-lived part of its
        /// prefix.
        Conservative = "conservative";
    }
}

impl Reading {
    /// The other reading.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::Literal => Self::Conservative,
            Self::Conservative => Self::Literal,
        }
    }

    /// The TTL of an entry after a prefix with another one.
    #[must_use]
    pub fn ttl_behind(self, prefix: Ttl, own: Ttl) -> Ttl {
        match self {
            Self::Literal => own,
            Self::Conservative => own.min(prefix),
        }
    }
}

/// The markers of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Markers {
    /// None: everything is sent in full.
    None,
    /// The recorded ones.
    AsRecorded,
    /// The recorded places with these TTLs.
    Fixed(TtlPlan),
}

/// What a marker counts when it looks back for an entry. The documentation spoke of blocks until
/// August 2026 and speaks of positions since; some platforms still say blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lookback {
    /// A run of tool calls counts as one, and so does a run of tool results.
    #[default]
    Positions,
    /// Every block counts as one.
    Blocks,
    /// Nothing: the marker finds whatever comes before it, as at `OpenAI`. At Anthropic's service it shows what
    /// the limit costs.
    Unlimited,
}

impl Markers {
    /// The TTL of a marker under the policy, or `None` where it has no marker.
    pub(in crate::simulate) fn ttl(
        self,
        marker: &Marker,
        level: Level,
        is_agent: bool,
    ) -> Option<Ttl> {
        match (self, level) {
            (Self::None, _) => None,
            (Self::AsRecorded, _) => marker.ttl,
            (Self::Fixed(plan), Level::System) => Some(plan.of(is_agent).system),
            (Self::Fixed(plan), Level::Messages) => Some(plan.of(is_agent).messages),
        }
    }
}

/// A marker with the TTL that it is sent with.
pub type Sent<'a> = (&'a Marker, Ttl);

/// The markers of one prompt, of which the service accepts four.
pub type SentMarkers<'a> = SmallVec<[Sent<'a>; 4]>;

/// The markers that take effect. Those over too short a prefix do not, nor does the automatic one
/// on a block with an explicit one.
#[must_use]
pub fn effective(mut sent: SentMarkers<'_>, minimum: Tokens) -> SentMarkers<'_> {
    let explicit: SmallVec<[NodeId; 4]> = sent
        .iter()
        .filter(|(marker, _)| !marker.is_automatic)
        .map(|(marker, _)| marker.node)
        .collect();
    sent.retain(|(marker, _)| {
        let is_doubled = marker.is_automatic && explicit.contains(&marker.node);
        marker.end >= minimum && !is_doubled
    });
    sent
}

/// How many tokens of one vocabulary correspond to a thousand of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenRatio {
    /// Tokens per thousand.
    pub per_mille: u64,
}

impl TokenRatio {
    /// The same vocabulary.
    pub const ONE: Self = Self { per_mille: 1_000 };

    /// The count in the other vocabulary, rounded down.
    #[must_use]
    pub fn of(self, tokens: Tokens) -> Tokens {
        tokens.share(self.per_mille, Self::ONE.per_mille)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_exact_and_rounded_down() {
        assert_eq!(TokenRatio::ONE.of(Tokens(u64::MAX)), Tokens(u64::MAX));
        // 1,301 × 0.77 = 1,001.77.
        assert_eq!(TokenRatio { per_mille: 770 }.of(Tokens(1_301)), Tokens(1_001));
    }
}
