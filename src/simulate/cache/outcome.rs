//! How one prompt is billed, and which requests the service refuses for their markers.
//!
//! A refused request is answered with an error: nothing is read, written or billed. Where several
//! reasons apply, the first in the order of [`Refusal`] is given.

use super::Sent;
use crate::base::ttl::Ttl;
use crate::base::units::{Basis, Tokens};
use crate::base::words::words;
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

words! {
    /// Why a request is refused.
    pub enum Refusal {
        /// The automatic marker falls on a block with a marker of another TTL.
        TtlConflict = "ttl_conflict", "two lifetimes on one block";
        /// More than four markers.
        TooManyBreakpoints = "too_many_breakpoints", "more than four markers";
        /// A five-minute marker before a one-hour one.
        TtlOrder = "ttl_order", "a marker of 5m in front of one of 1h";
        /// A marker on a block that cannot carry one.
        UnmarkableBlock = "unmarkable_block", "a marker on a block that cannot have one";
    }
    /// The name for people.
    pub fn label;
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
