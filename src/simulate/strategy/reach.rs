//! Who can make a strategy come true.

use super::design::{Design, Layout};
use super::kind::{Strategy, StrategyKind};
use crate::base::ttl::TtlPlan;
use crate::simulate::management::Management;

/// Who can make a strategy come true.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Whoever uses a client: with a setting, a variable or a command.
    User,
    /// Whoever builds an agent: in the fields of its requests.
    Builder,
    /// Nobody: what was, what the rules expect, and the least possible.
    Bound,
}

impl Reach {
    /// All, in the order of the outputs.
    pub const ALL: [Self; 3] = [Self::User, Self::Builder, Self::Bound];

    /// What people see of it.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::User => "What a client's user can set",
            Self::Builder => "What an agent's builder can set",
            Self::Bound => "What was, what is expected, and the least possible",
        }
    }
}

impl Strategy {
    /// Who can make it come true.
    #[must_use]
    pub fn reach(&self) -> Reach {
        match &self.kind {
            StrategyKind::Recorded | StrategyKind::Replay | StrategyKind::Optimal(_) => {
                Reach::Bound
            }
            StrategyKind::Counterfactual(design) if *design == Design::default() => Reach::Bound,
            StrategyKind::Counterfactual(design) if is_set_by_users(design) => Reach::User,
            StrategyKind::Counterfactual(_)
            | StrategyKind::Cheapest(_)
            | StrategyKind::Elsewhere(..) => Reach::Builder,
        }
    }
}

/// Clients have settings for one lifetime for each kind of conversation (`promptCacheTtl`,
/// `subagentPromptCacheTtl`), for no caching (`DISABLE_PROMPT_CACHING`), and for the size at which a
/// conversation is summarised (`CLAUDE_CODE_AUTO_COMPACT_WINDOW`).
fn is_set_by_users(design: &Design) -> bool {
    let is_uniform =
        |plan: &TtlPlan| [plan.main, plan.agents].iter().all(|tier| tier.system == tier.messages);
    let lifetimes = Design { ttl: design.ttl, ..Design::default() };
    let summaries = Design { management: design.management.clone(), ..Design::default() };
    let nothing = Design { layout: Layout::Nowhere, ..Design::default() };
    let sets_lifetimes = design.ttl.as_ref().is_some_and(is_uniform) && *design == lifetimes;
    let is_summarised = matches!(design.management.as_deref(), Some(Management::Compaction(_)));
    sets_lifetimes || *design == nothing || (is_summarised && *design == summaries)
}
