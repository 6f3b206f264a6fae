//! What every simulation of a run assumes.

use crate::requests::prompt::SharedPrefix;
use crate::simulate::cache::{BetaKey, Lookback, Markers, Policy, Reading, TtlChange};

/// What every simulation of a run assumes.
#[derive(Clone, Copy, Debug)]
pub struct Assumptions {
    /// Whether counterfactuals keep the recorded breaks inside the TTL.
    pub keeps_breaks: bool,
    /// What other traffic keeps warm.
    pub shared_prefix: SharedPrefix,
    /// How long entries are found beyond their TTL, in milliseconds.
    pub ttl_grace: i64,
    /// What a marker counts when it looks back.
    pub lookback: Lookback,
    /// How long an entry lives that was written after one of a shorter TTL.
    pub reading: Reading,
    /// What becomes of an entry when markers change their TTL.
    pub ttl_change: TtlChange,
    /// Whether the beta features of a request are part of the key.
    pub betas: BetaKey,
}

impl Default for Assumptions {
    fn default() -> Self {
        Self {
            keeps_breaks: true,
            shared_prefix: SharedPrefix::default(),
            ttl_grace: 0,
            lookback: Lookback::default(),
            reading: Reading::default(),
            ttl_change: TtlChange::default(),
            betas: BetaKey::default(),
        }
    }
}

impl Assumptions {
    /// The policy that sends the prompts of a trace with these markers.
    #[must_use]
    pub fn policy(&self, markers: Markers) -> Policy {
        Policy {
            markers,
            keeps_breaks: self.keeps_breaks,
            ttl_grace: self.ttl_grace,
            shares_sessions: self.shared_prefix != SharedPrefix::Cold,
            lookback: self.lookback,
            reading: self.reading,
            ttl_change: self.ttl_change,
            betas: self.betas,
        }
    }

    /// The policy of the recorded requests: nothing but the rules.
    #[must_use]
    pub fn replay(&self) -> Policy {
        Policy { keeps_breaks: false, ..self.policy(Markers::AsRecorded) }
    }
}
