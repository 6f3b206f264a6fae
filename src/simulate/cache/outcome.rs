//! How one prompt is billed, and which requests the service refuses for their markers.
//!
//! A refused request is answered with an error: nothing is read, written or billed. Where several
//! reasons apply, the first in the order of [`Refusal`] is given.

use super::Sent;
use crate::base::ttl::Ttl;
use crate::base::units::{Basis, Tokens};
use crate::requests::prompt::NodeId;

/// How one prompt is billed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Read from cache.
    pub read: Tokens,
    /// Written for five minutes, or for a service's usual lifetime.
    pub write_5m: Tokens,
    /// Written for an hour, or for a service's longer lifetime.
    pub write_1h: Tokens,
    /// Sent in full.
    pub input: Tokens,
    /// What the split is based on.
    pub basis: Basis,
    /// The prefix that was found in the cache.
    pub found: Option<NodeId>,
    /// Why the service refuses the request. All figures are then zero.
    pub refusal: Option<Refusal>,
}

impl Outcome {
    /// The whole prompt, or nothing for a refused one.
    #[must_use]
    pub fn total(&self) -> Tokens {
        self.read + self.write_5m + self.write_1h + self.input
    }

    pub(super) fn add_written(&mut self, ttl: Ttl, tokens: Tokens) {
        match ttl {
            Ttl::FiveMinutes => self.write_5m += tokens,
            Ttl::OneHour => self.write_1h += tokens,
        }
    }
}

/// The most markers of a request, including the automatic one.
const MOST_MARKERS: usize = 4;

/// Why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Refusal {
    /// The automatic marker falls on a block with a marker of another TTL.
    TtlConflict,
    /// More than four markers.
    TooManyBreakpoints,
    /// A five-minute marker before a one-hour one.
    TtlOrder,
    /// A marker on a block that cannot carry one.
    UnmarkableBlock,
}

impl Refusal {
    /// All of them.
    pub const ALL: [Self; 4] =
        [Self::TtlConflict, Self::TooManyBreakpoints, Self::TtlOrder, Self::UnmarkableBlock];

    /// The reason with a name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|refusal| refusal.name() == name)
    }

    /// The name in the ledger.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::TtlConflict => "ttl_conflict",
            Self::TooManyBreakpoints => "too_many_breakpoints",
            Self::TtlOrder => "ttl_order",
            Self::UnmarkableBlock => "unmarkable_block",
        }
    }

    /// The name for people.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::TtlConflict => "two lifetimes on one block",
            Self::TooManyBreakpoints => "more than four markers",
            Self::TtlOrder => "a marker of 5m in front of one of 1h",
            Self::UnmarkableBlock => "a marker on a block that cannot have one",
        }
    }
}

/// Why the service refuses the markers of a request, if it does.
#[must_use]
#[inline]
pub(super) fn refusal(markers: &[Sent<'_>]) -> Option<Refusal> {
    let automatic = markers.iter().find(|(marker, _)| marker.is_automatic);
    let doubled = automatic.and_then(|(automatic, ttl)| {
        let is_same_block =
            |(marker, _): &&Sent<'_>| !marker.is_automatic && marker.node == automatic.node;
        markers.iter().find(is_same_block).map(|(_, explicit)| explicit != ttl)
    });
    let blocks = markers.len() - usize::from(doubled.is_some());
    if doubled == Some(true) {
        Some(Refusal::TtlConflict)
    } else if blocks > MOST_MARKERS {
        Some(Refusal::TooManyBreakpoints)
    } else if markers.windows(2).any(|pair| pair[0].1 < pair[1].1) {
        Some(Refusal::TtlOrder)
    } else if markers.iter().any(|(marker, _)| !marker.is_markable) {
        Some(Refusal::UnmarkableBlock)
    } else {
        None
    }
}
