//! Strategies: the record, the record under the rules, and other designs of the same requests.
//!
//! Also the reach of a strategy (who can adopt it), and the assumptions of every simulation of a run.
//!
//! A strategy is a function on the trace. A `Design` lists the differences, which are applied in
//! this order: captured prompts are laid out differently (`simulate/design/`), contexts are kept
//! small (`simulate/management/`), requests share more or less (`forks.rs`), markers are placed and
//! pings added (`layout.rs`). The result is a `Plan` of recorded and added requests, over which the
//! same simulator runs. A design without any of these borrows the trace, and a copy shares the
//! paths of the tree. Added requests are rows of the ledger without ids. Searches simulate each
//! candidate, separately for main conversations and sub-agents.
//!
//! A part of a design that leaves every request as it was has an obstacle. A design with obstacles
//! only is not applicable, and has no rows, so that no view can show its figures. The input of a
//! strategy is read because the run is prepared with it (`study.rs`), for all commands alike.
//! Another provider is a strategy, too (`elsewhere.rs`), with its own rules, tokens and prices; so
//! are the services that answered (`own.rs`).

mod applicability;
mod bound;
mod built_in;
mod design;
mod elsewhere;
mod file;
mod forks;
mod layout;
mod own;
mod placements;
mod plan;
mod run;
mod search;
mod stored;

pub use applicability::{Applicability, Obstacle};
pub use built_in::{ALL, DEFAULT};
pub use design::{Anchor, Design, KeepAlive, Layout, Sharing, Starts};
pub use elsewhere::Way;
#[cfg(test)]
pub(crate) use file::SCHEMA as STRATEGY_SCHEMA;
pub use file::{Contradiction, LeftOut, StrategyFile, parse_strategies};
pub use placements::{MarkerDesign, Placement};
pub use plan::Purpose;
pub(crate) use run::try_design;
pub use run::{Added, Material, Sent, Simulated};

use std::borrow::Cow;

use plan::Plan;
use run::{run, simulate_design};
use search::Search;

use crate::base::{Lifetimes, TtlPlan, counted};
use crate::requests::prompt::SharedPrefix;
use crate::simulate::cache::{BetaKey, Lookback, Markers, Policy, Reading, TtlChange};
use crate::simulate::design::PromptDesign;
use crate::simulate::management::Management;
use crate::simulate::provider::{Case, MATCHING_ASSUMPTION, Provider, VOCABULARY_ASSUMPTION};

/// Strategy, by name or from a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Strategy {
    /// Name in options and outputs.
    pub name: Cow<'static, str>,
    /// Meaning, in one line.
    pub summary: Cow<'static, str>,
    /// Kind of the strategy, with its parameters.
    pub kind: StrategyKind,
}

/// Kind of a strategy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StrategyKind {
    /// Not simulated: the figures of the record.
    Recorded,
    /// Recorded requests under the rules.
    Replay,
    /// Another design of the requests.
    Counterfactual(Design),
    /// Cheapest of several designs for this history.
    Cheapest(Search),
    /// Requests at another provider.
    Elsewhere(&'static Provider, Case, Box<Way>),
    /// Requests at the services that answered them.
    Own(Box<Way>),
    /// Lowest possible cost under any choice of markers, TTLs and pings, under this reading or that
    /// of the run.
    Optimal(Option<Reading>),
}

impl StrategyKind {
    /// Design of captured prompts.
    fn prompts(&self) -> PromptDesign {
        match self {
            Self::Counterfactual(design) => design.prompt,
            Self::Elsewhere(_, _, way) => way.prompts(),
            _ => PromptDesign::default(),
        }
    }
}

impl Strategy {
    /// Returns true if the strategy is a way to cache these prompts that can be the cheapest: no
    /// bound, no expectation, and some caching.
    pub fn is_ranked(&self) -> bool {
        let is_choice =
            matches!(self.kind, StrategyKind::Counterfactual(_) | StrategyKind::Cheapest(_));
        is_choice && self.keeps_content() && self.name != "none"
    }

    /// Returns true for the record itself.
    pub fn is_record(&self) -> bool {
        self.kind == StrategyKind::Recorded
    }

    /// Returns true for the record under the rules.
    pub fn is_replay(&self) -> bool {
        self.kind == StrategyKind::Replay
    }

    /// Returns true for the cheapest of several designs, which a search finds.
    pub fn is_search(&self) -> bool {
        matches!(self.kind, StrategyKind::Cheapest(_))
    }

    /// Label for people: the name, except for kinds that nobody can choose.
    pub fn label(&self) -> &str {
        match self.kind {
            StrategyKind::Replay => "expected by the rules",
            _ => &self.name,
        }
    }

    /// Applies the strategy; `None` for the record itself.
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

    /// Returns true if the strategy manages contexts, and so needs the contents between requests.
    pub fn manages_context(&self) -> bool {
        match &self.kind {
            StrategyKind::Counterfactual(design) => design.management.is_some(),
            _ => false,
        }
    }

    /// Bound under a reading, or under that of the run.
    pub fn bound(reading: Option<Reading>) -> Self {
        Self {
            name: Cow::Borrowed("optimal"),
            summary: Cow::Borrowed(
                "the cheapest markers, TTLs and pings for the same prompts, with every gap known in advance",
            ),
            kind: StrategyKind::Optimal(reading),
        }
    }

    /// Returns true if the strategy needs the bytes of captured prompts.
    pub fn needs_bytes(&self) -> bool {
        self.kind.prompts() != PromptDesign::default()
    }

    /// Returns true if the strategy needs the lengths of captured blocks' common prefixes.
    pub fn needs_block_parts(&self) -> bool {
        matches!(self.kind, StrategyKind::Elsewhere(..))
    }

    /// Facts that no simulation can know of such requests, with the assumptions in their place.
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
                // Assumptions for missing records do not apply to these requests: their steps and
                // lifetimes are recorded.
                let documented = assumptions.filter(|one| one.starts_with("documented"));
                let recorded = (!requests.providers.is_empty()).then_some(AS_RECORDED);
                let unreported = requests.has_unreported_writes.then_some(UNREPORTED_WRITES);
                let assumed = documented.copied().chain(recorded).chain(unreported);
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

    /// Returns true if the strategy sends requests without markers, too, so that it simulates all of them.
    pub fn sends_all(&self) -> bool {
        matches!(self.kind, StrategyKind::Elsewhere(..) | StrategyKind::Own(_))
    }

    /// Bound at the same services, for prompts that are the recorded ones.
    ///
    /// `None` for requests at the recorded service, and if the prompts differ.
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

    /// Returns true if the prompts are sent as recorded, so that the bound applies.
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

const UNREPORTED_WRITES: &str = "writes that a record does not tell, although its service charges for \
    them, are worked out by the rules and charged; `billed` has them as input";

/// Kinds of requests on which assumptions depend.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestKinds {
    /// Presence of requests in the tokens of Claude's vocabularies.
    pub has_claude: bool,
    /// Presence of captured prompts.
    pub has_captures: bool,
    /// Presence of records without the written tokens, for a service that charges for them.
    pub has_unreported_writes: bool,
    /// Providers whose rules are expected of requests without markers, in output order.
    pub providers: Vec<&'static Provider>,
    /// Number of requests without expected rules.
    pub not_simulated: u64,
}

/// Group of people who can adopt a strategy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Users of a client: by a setting, a variable or a command.
    User,
    /// Builders of an agent: in the fields of its requests.
    Builder,
    /// Nobody: the record, the expectation of the rules, and the lowest possible cost.
    Bound,
}

impl Reach {
    /// All groups, in output order.
    pub const ALL: [Self; 3] = [Self::User, Self::Builder, Self::Bound];

    /// Name for people.
    pub fn label(self) -> &'static str {
        match self {
            Self::User => "What a client's user can set",
            Self::Builder => "What an agent's builder can set",
            Self::Bound => "What was, what is expected, and the least possible",
        }
    }
}

impl Strategy {
    /// Group of people who can adopt the strategy.
    pub fn reach(&self) -> Reach {
        match &self.kind {
            StrategyKind::Recorded | StrategyKind::Replay | StrategyKind::Optimal(_) => {
                Reach::Bound
            }
            // A design without changes keeps the recorded breaks; others start from it, and nobody
            // can choose it.
            StrategyKind::Counterfactual(design) if *design == Design::default() => Reach::Bound,
            StrategyKind::Counterfactual(design) if is_set_by_users(design) => Reach::User,
            StrategyKind::Counterfactual(_)
            | StrategyKind::Cheapest(_)
            | StrategyKind::Elsewhere(..)
            | StrategyKind::Own(_) => Reach::Builder,
        }
    }
}

/// Returns true if clients have settings for a design: for one lifetime for each kind of
/// conversation (`promptCacheTtl`, `subagentPromptCacheTtl`), for no caching
/// (`DISABLE_PROMPT_CACHING`), and for the size at which a conversation is summarised
/// (`CLAUDE_CODE_AUTO_COMPACT_WINDOW`).
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

/// Assumptions of every simulation of a run.
#[derive(Clone, Copy, Debug)]
pub struct Assumptions {
    /// Keeps recorded breaks inside the TTL in counterfactuals.
    pub keeps_breaks: bool,
    /// Prefix that other traffic keeps warm.
    pub shared_prefix: SharedPrefix,
    /// Time for which entries are found beyond their TTL, in milliseconds.
    pub ttl_grace: i64,
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
    /// Command-line options for these assumptions, without those that are the default.
    pub fn options(&self) -> String {
        let shared = match self.shared_prefix {
            SharedPrefix::Auto => None,
            SharedPrefix::Cold => Some("--shared-prefix cold".to_owned()),
            SharedPrefix::Warm => Some("--shared-prefix warm".to_owned()),
        };
        let grace = (self.ttl_grace > 0).then(|| format!("--ttl-grace {}", self.ttl_grace / 1_000));
        let lookback = match self.lookback {
            // No option asks for `Unlimited`: it belongs to other providers.
            Lookback::Positions | Lookback::Unlimited => None,
            Lookback::Blocks => Some("--lookback blocks".to_owned()),
        };
        let loses = self.ttl_change == TtlChange::Loses;
        let ttl_change = loses.then(|| "--ttl-change loses".to_owned());
        let betas = (self.betas == BetaKey::Beside).then(|| "--betas beside".to_owned());
        let all = [shared, grace, lookback, ttl_change, betas];
        all.into_iter().flatten().collect::<Vec<String>>().join(" ")
    }

    /// Policy that sends the prompts of a trace with these markers.
    pub fn policy(&self, markers: Markers) -> Policy {
        Policy {
            markers,
            keeps_breaks: self.keeps_breaks,
            ttl_grace: self.ttl_grace,
            // `Cold` also means that sessions do not keep each other's entries alive.
            shares_sessions: self.shared_prefix != SharedPrefix::Cold,
            lookback: self.lookback,
            reading: self.reading,
            ttl_change: self.ttl_change,
            betas: self.betas,
            lifetimes: self.lifetimes,
        }
    }

    /// Policy of the recorded requests: the rules only, without recorded breaks.
    pub fn replay(&self) -> Policy {
        Policy { keeps_breaks: false, ..self.policy(Markers::AsRecorded) }
    }
}
