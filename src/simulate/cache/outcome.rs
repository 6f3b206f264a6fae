//! How one prompt is billed.

use super::refusal::Refusal;
use crate::base::basis::Basis;
use crate::base::ttl::Ttl;
use crate::base::units::Tokens;
use crate::requests::prompt::NodeId;

/// How one prompt is billed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Read from cache.
    pub read: Tokens,
    /// Written for five minutes.
    pub write_5m: Tokens,
    /// Written for an hour.
    pub write_1h: Tokens,
    /// Written to an automatic cache that charges for it; its entries have no TTL to choose.
    pub written: Tokens,
    /// Sent in full.
    pub input: Tokens,
    /// What the split rests on.
    pub basis: Basis,
    /// The prefix that was found in the cache.
    pub found: Option<NodeId>,
    /// Why the service refuses the request; then all figures are zero.
    pub refusal: Option<Refusal>,
}

impl Outcome {
    /// The whole prompt; nothing for a refused one.
    #[must_use]
    pub fn total(&self) -> Tokens {
        self.read + self.write_5m + self.write_1h + self.written + self.input
    }

    pub(super) fn add_written(&mut self, ttl: Ttl, tokens: Tokens) {
        match ttl {
            Ttl::FiveMinutes => self.write_5m += tokens,
            Ttl::OneHour => self.write_1h += tokens,
        }
    }
}
