//! Billing of one prompt, and refusal of requests for their markers.
//!
//! A refused request is answered with an error: nothing is read, written or billed. If several
//! reasons apply, the first in the order of [`Refusal`] is given.

use super::Sent;
use crate::base::{Basis, Refusal, Tokens, Ttl};
use crate::requests::prompt::NodeId;

/// Billing of one prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Tokens read from cache.
    pub read: Tokens,
    /// Tokens written for five minutes, or for a service's usual lifetime.
    pub write_5m: Tokens,
    /// Tokens written for an hour, or for a service's longer lifetime.
    pub write_1h: Tokens,
    /// Tokens sent in full.
    pub input: Tokens,
    /// Basis of the split: measured, derived or estimated.
    pub basis: Basis,
    /// Prefix that was found in the cache.
    pub found: Option<NodeId>,
    /// Reason for which the service refuses the request; all figures are then zero.
    pub refusal: Option<Refusal>,
}

impl Outcome {
    /// Tokens of the whole prompt; zero for a refused one.
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

/// Largest number of markers in a request, including the automatic one; the service refuses more.
pub const MOST_MARKERS: usize = 4;

/// Reason for which the service refuses the markers of a request, if any.
#[inline]
pub(super) fn refusal(markers: &[Sent<'_>]) -> Option<Refusal> {
    let automatic = markers.iter().find(|(marker, _)| marker.is_automatic);
    let doubled = automatic.and_then(|(automatic, ttl)| {
        let is_same_block =
            |(marker, _): &&Sent<'_>| !marker.is_automatic && marker.node == automatic.node;
        markers.iter().find(is_same_block).map(|(_, explicit)| explicit != ttl)
    });
    // An automatic marker on a block that has one already takes no place of its own.
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
