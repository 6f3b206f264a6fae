//! Caching policies by name: what was recorded, what the rules make of it, and other designs.

use crate::cache::{Lookback, Markers, Policy};
use crate::prompt::SharedPrefix;
use crate::ttl::{TierTtl, Ttl};

/// A strategy that can be asked for by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strategy {
    /// The name in options and outputs.
    pub name: &'static str,
    /// What it stands for, in a line.
    pub summary: &'static str,
    kind: StrategyKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StrategyKind {
    /// Not simulated: the figures of the record.
    Recorded,
    /// The recorded requests under the rules.
    Replay,
    /// Other markers than those recorded.
    Counterfactual(Markers),
}

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
}

const fn recorded(name: &'static str, summary: &'static str, kind: StrategyKind) -> Strategy {
    Strategy { name, summary, kind }
}

const fn counterfactual(name: &'static str, summary: &'static str, markers: Markers) -> Strategy {
    Strategy { name, summary, kind: StrategyKind::Counterfactual(markers) }
}

/// Every strategy, in the order of the outputs.
pub const ALL: [Strategy; 6] = [
    recorded("billed", "what the transcript says was charged", StrategyKind::Recorded),
    recorded("replay", "the recorded requests under the rules", StrategyKind::Replay),
    counterfactual("none", "no caching", Markers::None),
    counterfactual(
        "5m",
        "every marker for five minutes",
        Markers::Fixed(TierTtl::uniform(Ttl::FiveMinutes)),
    ),
    counterfactual(
        "1h",
        "every marker for an hour",
        Markers::Fixed(TierTtl::uniform(Ttl::OneHour)),
    ),
    counterfactual(
        "mixed",
        "an hour on tools and system prompt, five minutes on messages",
        Markers::Fixed(TierTtl::MIXED),
    ),
];

/// The names that a run without `--strategy` uses.
pub const DEFAULT: [&str; 5] = ["billed", "replay", "none", "5m", "1h"];

impl Strategy {
    /// The strategy of a name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        ALL.into_iter().find(|strategy| strategy.name == name)
    }

    /// The policy to simulate; `None` for the record itself.
    #[must_use]
    pub fn policy(&self, assumptions: &Assumptions) -> Option<Policy> {
        let policy = |markers, keeps_breaks| Policy {
            markers,
            keeps_breaks,
            ttl_grace: assumptions.ttl_grace,
            lookback: assumptions.lookback,
            shares_sessions: assumptions.shared_prefix != SharedPrefix::Cold,
        };
        match self.kind {
            StrategyKind::Recorded => None,
            StrategyKind::Replay => Some(policy(Markers::AsRecorded, false)),
            StrategyKind::Counterfactual(markers) => {
                Some(policy(markers, assumptions.keeps_breaks))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_is_a_strategy() {
        for name in DEFAULT {
            assert_eq!(Strategy::by_name(name).map(|strategy| strategy.name), Some(name));
        }
        assert_eq!(Strategy::by_name("2h"), None);
    }
}
