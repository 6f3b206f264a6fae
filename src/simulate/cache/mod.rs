//! Caching rules of the providers: tokens that each prompt reads, writes and sends in full, the
//! policies that a simulation applies, and the ratios between token vocabularies.
//!
//! This layer knows neither JSON nor money, nor where a prompt came from.
//!
//! Entries exist at markers of earlier requests. An entry lives for its TTL from the start of the
//! request that last used it, and can be read once the response to the request that wrote it has
//! begun. A marker looks for an entry at its own position and back over 20 positions, including its
//! own. The longest prefix that any marker finds is read, and every readable entry on its path is
//! refreshed (`entries.rs`). A marker below the hit stores an entry free of charge. Siblings that
//! write one prefix before it can be read keep the longer TTL.
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

pub use crate::base::refusal::Refusal;
pub use crate::requests::prompt::{Counting, LOOKBACK};
pub use automatic::{AutomaticCache, AutomaticPolicy, simulate_automatic};
pub use counting::counted;
pub use outcome::{MOST_MARKERS, Outcome};
pub use rules::{MarkedCache, Rules};
pub use simulate::{RepeatRun, Repeats, simulate, simulate_repeated};
pub use stored::{StoredCache, StoredContext, Storing, simulate_stored};

use smallvec::SmallVec;

use crate::base::{Lifetimes, Tokens, Ttl, TtlPlan, words};
use crate::requests::prompt::{Level, Marker, NodeId};

/// Caching policy: markers, and the open points of the rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Markers of the requests.
    pub markers: Markers,
    /// Keeps recorded breaks inside the TTL.
    pub keeps_breaks: bool,
    /// Time for which entries are found beyond their TTL, in milliseconds.
    ///
    /// Providers delete them promptly but not immediately, and the starts of requests are known to
    /// the second only.
    pub ttl_grace: i64,
    /// Lets sessions that share a prefix keep each other's entries alive.
    pub shares_sessions: bool,
    /// Unit of a marker's lookback.
    pub lookback: Lookback,
    /// Lifetime of an entry that was written after one with a shorter TTL.
    pub reading: Reading,
    /// Effect on an entry when markers change their TTL.
    pub ttl_change: TtlChange,
    /// Effect of a request's beta features on the key.
    pub betas: BetaKey,
    /// Lifetimes of the two TTLs.
    pub lifetimes: Lifetimes,
}

/// Effect of the set of beta features on the key.
///
/// The documentation says that another set affects prompts, but not what is lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BetaKey {
    /// The set is part of the key, before everything else, like the model.
    ///
    /// Clients keep the features of a session on so that its cache is not lost. Unknown features
    /// count as a set of their own.
    #[default]
    Key,
    /// The set changes nothing.
    Beside,
}

/// Entries of another TTL that a marker finds; the documentation does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TtlChange {
    /// All of them, like its own; they keep the TTL that they were written with.
    #[default]
    Keeps,
    /// None: the TTL is part of the key, and changing it loses the cached prefix.
    Loses,
}

words! {
    /// Lifetime of a one-hour entry that was written after a read of a five-minute one.
    ///
    /// The documentation does not say.
    #[derive(Default)]
    pub enum Reading {
        /// Its own TTL, whatever comes before it; the documented rules say so if taken literally.
        #[default]
        Literal = "literal";
        /// At most the TTL of the prefix: no entry outlives its shortest-lived part.
        Conservative = "conservative";
    }
}

impl Reading {
    /// The opposite reading.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::Literal => Self::Conservative,
            Self::Conservative => Self::Literal,
        }
    }

    /// TTL of an entry after a prefix with another one.
    pub fn ttl_behind(self, prefix: Ttl, own: Ttl) -> Ttl {
        match self {
            Self::Literal => own,
            Self::Conservative => own.min(prefix),
        }
    }
}

/// Markers of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Markers {
    /// No markers: everything is sent in full.
    None,
    /// The recorded ones.
    AsRecorded,
    /// Recorded places with these TTLs.
    Fixed(TtlPlan),
}

/// Unit of a marker's lookback.
///
/// The documentation spoke of blocks until August 2026 and speaks of positions since; some
/// platforms still say blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lookback {
    /// Positions: a run of tool calls counts as one, and so does a run of tool results.
    #[default]
    Positions,
    /// Blocks: every block counts as one.
    Blocks,
    /// No limit: the marker finds any prefix before it, as at `OpenAI`.
    ///
    /// At Anthropic's service it shows the cost of the limit.
    Unlimited,
}

impl Markers {
    /// TTL of a marker under the policy, or `None` if the policy leaves the marker out.
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

/// Marker with the TTL that it is sent with.
pub type Sent<'a> = (&'a Marker, Ttl);

/// Markers of one prompt; the service accepts four.
pub type SentMarkers<'a> = SmallVec<[Sent<'a>; 4]>;

/// Markers that take effect: not those over too short a prefix, nor the automatic one on a block
/// with an explicit one.
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

/// Number of tokens of one vocabulary that correspond to a thousand of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenRatio {
    /// Tokens per thousand.
    pub per_mille: u64,
}

impl TokenRatio {
    /// Ratio of a vocabulary to itself.
    pub const ONE: Self = Self { per_mille: 1_000 };

    /// Converts a count to the other vocabulary, rounded down.
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
