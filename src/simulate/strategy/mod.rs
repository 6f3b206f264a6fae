//! Strategies: what was recorded, what the rules make of it, and other designs of the same
//! requests. Here also stand who can adopt a strategy, and what every simulation of a run assumes.
//!
//! A strategy is a function on the trace. A `Design` says what is done differently, in this order:
//! captured prompts are laid out differently (`simulate/design/`), contexts are kept small
//! (`simulate/management/`), requests share more or less (`forks.rs`), markers are placed and pings
//! added (`layout.rs`). The result is a `Plan` of recorded and added requests, over which the same
//! simulator runs. A design that does none of this borrows the trace, and a copy shares the paths
//! of the tree. Added requests are rows of the ledger without ids. Searches simulate each
//! candidate, separately for main conversations and sub-agents.
//!
//! A part of a design that leaves every request as it was has an obstacle. A design of nothing else is not
//! applicable, and has no rows, so that no view can show its figures. What a strategy looks at is read because the run
//! is prepared with it (`study.rs`), for all commands alike. Another provider is a strategy, too (`elsewhere.rs`), with
//! its own rules, tokens and prices; so are the services that answered (`own.rs`).
//!
//! A strategy: its name, and what it does.
//!
//! Who can make a strategy come true.
//!
//! What every simulation of a run assumes.

mod applicability;
mod bound;
mod built_in;
mod design;
mod elsewhere;
mod file;
mod forks;
mod layout;
mod own;
#[cfg(feature = "cli")]
mod placements;
mod plan;
mod run;
mod search;
mod stored;

pub use applicability::{Applicability, Obstacle};
pub use built_in::{ALL, DEFAULT};
pub use design::{Anchor, Design, KeepAlive, Layout, Sharing, Starts};
pub use elsewhere::Way;
pub use file::{
    Contradiction, LeftOut, StrategyFile, StrategyFileError, StrategyFileProblem, parse_strategies,
};
#[cfg(feature = "cli")]
pub use placements::{MarkerDesign, Placement};
pub use plan::Purpose;
pub(crate) use run::try_design;
pub use run::{Added, Material, Sent, Simulated};

use std::borrow::Cow;

use plan::Plan;
use run::{run, simulate_design};
use search::Search;

use crate::base::ttl::{Lifetimes, TtlPlan};
use crate::base::wording::counted;
use crate::requests::prompt::SharedPrefix;
use crate::simulate::cache::{BetaKey, Lookback, Markers, Policy, Reading, TtlChange};
use crate::simulate::design::PromptDesign;
use crate::simulate::management::Management;
use crate::simulate::provider::{Case, MATCHING_ASSUMPTION, Provider, VOCABULARY_ASSUMPTION};

/// A strategy, by name or from a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Strategy {
    /// The name in options and outputs.
    pub name: Cow<'static, str>,
    /// What it stands for, in one line.
    pub summary: Cow<'static, str>,
    /// What it does.
    pub kind: StrategyKind,
}

/// What a strategy does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StrategyKind {
    /// Not simulated: the figures of the record.
    Recorded,
    /// The recorded requests under the rules.
    Replay,
    /// Another design.
    Counterfactual(Design),
    /// The cheapest of several designs for this history.
    Cheapest(Search),
    /// The requests at another provider.
    Elsewhere(&'static Provider, Case, Box<Way>),
    /// The requests at the services that answered them.
    Own(Box<Way>),
    /// The least that any choice of markers, TTLs and pings could have cost, under this reading or
    /// that of the run.
    Optimal(Option<Reading>),
}

impl StrategyKind {
    /// What it makes of captured prompts.
    fn prompts(&self) -> PromptDesign {
        match self {
            Self::Counterfactual(design) => design.prompt,
            Self::Elsewhere(_, _, way) => way.prompts(),
            _ => PromptDesign::default(),
        }
    }
}

impl Strategy {
    /// Whether it is among the ways to cache these prompts of which one can be the cheapest: no bound,
    /// no expectation, and more than to send everything in full.
    #[must_use]
    pub fn is_ranked(&self) -> bool {
        let is_choice =
            matches!(self.kind, StrategyKind::Counterfactual(_) | StrategyKind::Cheapest(_));
        is_choice && self.keeps_content() && self.name != "none"
    }

    /// Whether it is the record itself.
    #[must_use]
    pub fn is_record(&self) -> bool {
        self.kind == StrategyKind::Recorded
    }

    /// Whether it is the record under the rules.
    #[must_use]
    pub fn is_replay(&self) -> bool {
        self.kind == StrategyKind::Replay
    }

    /// Whether it is the cheapest of several designs, which a search finds.
    #[must_use]
    pub fn is_search(&self) -> bool {
        matches!(self.kind, StrategyKind::Cheapest(_))
    }

    /// What people see: its name, except for what is not a strategy to choose.
    #[must_use]
    pub fn label(&self) -> &str {
        match self.kind {
            StrategyKind::Replay => "expected by the rules",
            _ => &self.name,
        }
    }

    /// Applies the strategy. `None` for the record itself.
    #[must_use]
    pub fn simulate(&self, material: Material<'_>) -> Option<Simulated> {
        match &self.kind {
            StrategyKind::Recorded => None,
            StrategyKind::Replay => {
                let plan = Plan::recorded(material.trace);
                Some(run(&plan, &material.assumptions.replay()))
            }
            StrategyKind::Counterfactual(design) => Some(simulate_design(design, material)),
            StrategyKind::Cheapest(search) => Some(search::cheapest(*search, material)),
            StrategyKind::Elsewhere(provider, case, way) => {
                Some(elsewhere::simulate(provider, *case, way, material))
            }
            StrategyKind::Own(way) => Some(own::simulate(way, material)),
            StrategyKind::Optimal(reading) => {
                let reading = reading.unwrap_or(material.assumptions.reading);
                let assumptions = Assumptions { reading, ..*material.assumptions };
                Some(bound::bound(Material { assumptions: &assumptions, ..material }))
            }
        }
    }

    /// Whether it manages contexts, for which it needs to know what lies between requests.
    #[must_use]
    pub fn manages_context(&self) -> bool {
        match &self.kind {
            StrategyKind::Counterfactual(design) => design.management.is_some(),
            _ => false,
        }
    }

    /// The bound under a reading, or under that of the run.
    #[must_use]
    pub fn bound(reading: Option<Reading>) -> Self {
        Self {
            name: Cow::Borrowed("optimal"),
            summary: Cow::Borrowed(
                "the cheapest markers, TTLs and pings for the same prompts, with every gap known in advance",
            ),
            kind: StrategyKind::Optimal(reading),
        }
    }

    /// Whether it needs the bytes of captured prompts.
    #[must_use]
    pub fn needs_bytes(&self) -> bool {
        self.kind.prompts() != PromptDesign::default()
    }

    /// Whether it needs to know how long the common prefixes of captured blocks are.
    #[must_use]
    pub fn needs_block_parts(&self) -> bool {
        matches!(self.kind, StrategyKind::Elsewhere(..))
    }

    /// What no simulation of it can know of such requests, and what is assumed instead.
    #[must_use]
    pub fn unknowns(&self, requests: &RequestKinds) -> Vec<Cow<'static, str>> {
        let of_way = |way: &Way| match way {
            Way::Sent(design) => design.unknowns(),
            Way::Cheapest | Way::Optimal => Vec::new(),
        };
        match &self.kind {
            StrategyKind::Elsewhere(provider, _, way) => {
                let assumptions = provider.assumptions.iter().copied();
                let of_captures = requests.has_captures.then_some(MATCHING_ASSUMPTION);
                let of_claude = requests.has_claude.then_some(VOCABULARY_ASSUMPTION);
                let of_provider = assumptions.chain(of_captures).chain(of_claude);
                of_provider.map(Cow::Borrowed).chain(of_way(way)).collect()
            }
            StrategyKind::Counterfactual(design) => design.unknowns(),
            StrategyKind::Own(way) => {
                let providers = requests.providers.iter();
                let assumptions = providers.flat_map(|provider| provider.assumptions);
                // Where records show more, what is assumed without them does not hold.
                let documented = assumptions.filter(|one| one.starts_with("documented"));
                let recorded = (!requests.providers.is_empty()).then_some(AS_RECORDED);
                let untold = requests.has_untold_writes.then_some(UNTOLD_WRITES);
                let assumed = documented.copied().chain(recorded).chain(untold);
                let assumed = assumed.map(Cow::Borrowed);
                let left = (requests.not_simulated > 0).then(|| {
                    let left = counted(requests.not_simulated, "request stays", "requests stay");
                    Cow::Owned(format!(
                        "{left} as recorded, since no rules are expected of them (`cachesim verify` says why)"
                    ))
                });
                assumed.chain(left).chain(of_way(way)).collect()
            }
            StrategyKind::Recorded
            | StrategyKind::Replay
            | StrategyKind::Cheapest(_)
            | StrategyKind::Optimal(_) => Vec::new(),
        }
    }

    /// Whether it sends requests without markers, too, so that it looks at all of them.
    #[must_use]
    pub fn sends_all(&self) -> bool {
        matches!(self.kind, StrategyKind::Elsewhere(..) | StrategyKind::Own(_))
    }

    /// The bound of what is sent to the same services, whose prompts are the recorded ones. `None` for what is sent as
    /// recorded, and where the prompts differ.
    #[must_use]
    pub fn bound_elsewhere(&self) -> Option<StrategyKind> {
        if self.needs_bytes() {
            return None;
        }
        match &self.kind {
            StrategyKind::Elsewhere(provider, Case::Assumed, _) => {
                Some(StrategyKind::Elsewhere(provider, Case::Assumed, Box::new(Way::Optimal)))
            }
            StrategyKind::Own(_) => Some(StrategyKind::Own(Box::new(Way::Optimal))),
            _ => None,
        }
    }

    /// Whether it sends the prompts as recorded, so that the bound applies to it.
    #[must_use]
    pub fn keeps_content(&self) -> bool {
        match &self.kind {
            StrategyKind::Recorded
            | StrategyKind::Replay
            | StrategyKind::Cheapest(_)
            | StrategyKind::Optimal(_) => true,
            StrategyKind::Counterfactual(design) => design.keeps_content(),
            StrategyKind::Elsewhere(..) | StrategyKind::Own(_) => false,
        }
    }
}

const AS_RECORDED: &str = "measured: steps, where they begin, and lifetimes are those that recorded reads of the \
    model and client show, where they show any";

const UNTOLD_WRITES: &str = "writes that a record does not tell, although its service charges for \
    them, are worked out by the rules and charged; `billed` has them as input";

/// What is among some requests, as far as assumptions rest on it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestKinds {
    /// Requests in the tokens of Claude's vocabularies.
    pub has_claude: bool,
    /// Captured prompts.
    pub has_captures: bool,
    /// Requests whose record does not tell what was written, to services that charge for it.
    pub has_untold_writes: bool,
    /// The providers whose rules are expected of requests without markers, in output order.
    pub providers: Vec<&'static Provider>,
    /// How many requests no rules are expected of.
    pub not_simulated: u64,
}

/// Who can adopt a strategy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Users of a client: by a setting, a variable or a command.
    User,
    /// Builders of an agent: in the fields of its requests.
    Builder,
    /// Nobody: the record, what the rules expect, and the least possible.
    Bound,
}

impl Reach {
    /// All, in output order.
    pub const ALL: [Self; 3] = [Self::User, Self::Builder, Self::Bound];

    /// The name for people.
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
    /// Who can adopt it.
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
            | StrategyKind::Elsewhere(..)
            | StrategyKind::Own(_) => Reach::Builder,
        }
    }
}

/// Clients have settings for one lifetime for each kind of conversation (`promptCacheTtl`,
/// `subagentPromptCacheTtl`), for no caching (`DISABLE_PROMPT_CACHING`), and for the size at which
/// a conversation is summarised (`CLAUDE_CODE_AUTO_COMPACT_WINDOW`).
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

/// What every simulation of a run assumes.
#[derive(Clone, Copy, Debug)]
pub struct Assumptions {
    /// Whether counterfactuals keep recorded breaks inside the TTL.
    pub keeps_breaks: bool,
    /// What other traffic keeps warm.
    pub shared_prefix: SharedPrefix,
    /// How long entries are found beyond their TTL, in milliseconds.
    pub ttl_grace: i64,
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
            lifetimes: Lifetimes::ANTHROPIC,
        }
    }
}

impl Assumptions {
    /// The options with which the command line asks for them, without those that are the default.
    #[must_use]
    pub fn options(&self) -> String {
        let shared = match self.shared_prefix {
            SharedPrefix::Auto => None,
            SharedPrefix::Cold => Some("--shared-prefix cold".to_owned()),
            SharedPrefix::Warm => Some("--shared-prefix warm".to_owned()),
        };
        let grace = (self.ttl_grace > 0).then(|| format!("--ttl-grace {}", self.ttl_grace / 1_000));
        let lookback = match self.lookback {
            // No option asks for the latter: it is another provider's.
            Lookback::Positions | Lookback::Unlimited => None,
            Lookback::Blocks => Some("--lookback blocks".to_owned()),
        };
        let loses = self.ttl_change == TtlChange::Loses;
        let ttl_change = loses.then(|| "--ttl-change loses".to_owned());
        let betas = (self.betas == BetaKey::Beside).then(|| "--betas beside".to_owned());
        let all = [shared, grace, lookback, ttl_change, betas];
        all.into_iter().flatten().collect::<Vec<String>>().join(" ")
    }

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
            lifetimes: self.lifetimes,
        }
    }

    /// The policy of the recorded requests: the rules alone.
    #[must_use]
    pub fn replay(&self) -> Policy {
        Policy { keeps_breaks: false, ..self.policy(Markers::AsRecorded) }
    }
}
