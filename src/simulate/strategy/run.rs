//! Application of a strategy to a history: tokens that every request reads, writes and sends in
//! full, and the additional requests.

use std::sync::OnceLock;

use rustc_hash::FxHashSet;

use super::applicability::{Applicability, Obstacle, differs, has_several_sessions};
use super::design::{Design, Layout, Starts};
use super::plan::{Plan, Purpose, Role};
use super::{Assumptions, Strategy, StrategyKind, forks, layout};
use crate::base::{Millis, Order as _, Picodollars, Tokens, TtlPlan};
use crate::requests::content::Ratios;
use crate::requests::conversation::{History, RequestIndex};
use crate::requests::prompt::{Prompt, PromptTrace, Step};
use crate::simulate::cache::{Markers, Outcome, Policy, RepeatRun, simulate, simulate_repeated};
use crate::simulate::design::{PromptDesign, ToolSearch, redesign};
use crate::simulate::management::{AddedPrompt, Effects, Management, manage};
use crate::simulate::pricing::{Billing, RequestRates};
use crate::simulate::provider::{Provider, Unmarked, recorded};

/// Input of strategies.
#[derive(Clone, Copy)]
pub struct Material<'a> {
    /// Requests of all conversations.
    pub history: &'a History,
    /// Relation of each request to the one before it.
    pub steps: &'a [Step],
    /// Prompts as recorded.
    pub trace: &'a PromptTrace,
    /// Rates of the prompts' tokens.
    pub rates: &'a RequestRates,
    /// Bytes per token, learned on first use.
    pub ratios: &'a OnceLock<Ratios>,
    /// Assumptions of the run.
    pub assumptions: &'a Assumptions,
}

/// Costs of main conversations and of sub-agents.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ChainCosts {
    pub(super) main: Picodollars,
    pub(super) agents: Picodollars,
}

impl Material<'_> {
    /// Cost of prompts and added requests, without the recorded output.
    ///
    /// Requests without a price are left out.
    pub(super) fn costs(&self, simulated: &Simulated) -> ChainCosts {
        let recorded = simulated.outcomes.iter().enumerate();
        let recorded = recorded.map(|(index, outcome)| (index, outcome, Tokens::ZERO, 1));
        let added = simulated.added.iter().map(|run| {
            let Added { after, outcome, output, .. } = &run.first;
            (*after, outcome, *output, run.count)
        });
        let storage = simulated.added.iter().map(|run| (run.first.after, run.first.storage));
        let mut costs = ChainCosts::default();
        for (index, outcome, output, count) in recorded.chain(added) {
            let Some(rates) = self.rates.of(RequestIndex::new(index)) else { continue };
            let is_agent = self.trace.prompts[index].is_agent;
            let sum = if is_agent { &mut costs.agents } else { &mut costs.main };
            let one = Billing::of(outcome, output).cost(rates);
            *sum += Picodollars(one.0.saturating_mul(i128::from(count)));
        }
        for (index, storage) in storage {
            let is_agent = self.trace.prompts[index].is_agent;
            *(if is_agent { &mut costs.agents } else { &mut costs.main }) += storage;
        }
        costs
    }
}

/// Result of a simulation.
#[derive(Debug, Default)]
pub struct Simulated {
    /// Applicability to the requests; if the strategy cannot act on them, they are simulated as recorded.
    pub applicability: Applicability,
    /// Outcome of each recorded request.
    pub outcomes: Vec<Outcome>,
    /// Additional requests, by the request before them.
    pub(super) added: Vec<AddedRun>,
    /// Sizes of the prompts, and the models they are sent to, if the design changed them.
    pub totals: Option<Vec<Sent>>,
    /// Effects of context management, in a design that has it.
    pub managed: Option<(Management, Effects)>,
    /// Design that a search has chosen for Claude's requests.
    pub chosen: Option<Design>,
    /// Choices of searches, in words, for each service.
    pub choices: Vec<String>,
    /// Other provider that serves the requests; the outcomes are in its tokens.
    pub provider: Option<&'static Provider>,
    /// Rates of each request, if another service answers, or if the service charges for writes that
    /// the record lacks.
    pub rates: Option<RequestRates>,
}

impl Simulated {
    /// Additional requests, by the request before them, then by time.
    pub fn added(&self) -> impl Iterator<Item = Added> {
        let of_one = self.added.chunk_by(|one, next| one.first.after == next.first.after);
        of_one.flat_map(AddedRun::in_order)
    }

    /// Adds requests that are sent after some others, each with its index among those.
    pub(super) fn add(&mut self, added: Vec<AddedRun>, requests: &[RequestIndex]) {
        self.added.extend(added.into_iter().map(|run| {
            let after = requests[run.first.after].get();
            AddedRun { first: Added { after, ..run.first }, ..run }
        }));
        self.added.order_by_key(|run| (run.first.after, run.first.at));
    }

    /// Additional requests after a request, by time.
    pub(crate) fn added_after(&self, index: RequestIndex) -> Vec<Added> {
        let first = self.added.partition_point(|run| run.first.after < index.get());
        let count = self.added[first..].partition_point(|run| run.first.after == index.get());
        AddedRun::in_order(&self.added[first..first + count])
    }

    /// Adds the requests that were sent without markers.
    ///
    /// Only the rules, or no cache at all, change their recorded figures.
    pub(crate) fn add_unmarked(&mut self, strategy: &Strategy, unmarked: &Unmarked<'_>) {
        let is_alone = self.outcomes.is_empty();
        let outcomes = match &strategy.kind {
            StrategyKind::Replay => unmarked.expected(false),
            StrategyKind::Counterfactual(design) if design.layout == Layout::Nowhere => {
                unmarked.uncached()
            }
            _ => {
                if is_alone {
                    self.applicability = Applicability::None(vec![Obstacle::NoMarker]);
                }
                unmarked.recorded()
            }
        };
        self.outcomes.extend(outcomes);
        if let Some(totals) = &mut self.totals {
            let sent = |(index, total): (RequestIndex, _)| Sent { total, priced_as: index.get() };
            totals.extend(unmarked.sizes().map(sent));
        }
    }

    /// Keeps requests to caches that are not Anthropic's as recorded, as no rules are known of these.
    ///
    /// Only no cache at all changes their figures.
    pub(crate) fn keep_recorded(
        &mut self,
        strategy: &Strategy,
        history: &History,
        own: &FxHashSet<RequestIndex>,
    ) {
        let kind = &strategy.kind;
        let has_no_cache = matches!(kind, StrategyKind::Counterfactual(design) if design.layout == Layout::Nowhere);
        if own.is_empty() || strategy.sends_all() || has_no_cache {
            return;
        }
        for index in own {
            let usage = history.request(*index).recorded();
            self.outcomes[index.get()] = recorded(usage);
            if let Some(totals) = &mut self.totals {
                totals[index.get()] = Sent { total: usage.prompt.total(), priced_as: index.get() };
            }
        }
        self.added.retain(|run| !own.contains(&RequestIndex::new(run.first.after)));
        let is_record = matches!(kind, StrategyKind::Replay)
            || matches!(kind, StrategyKind::Counterfactual(design) if *design == Design::default());
        if own.len() == history.sent_with_markers().len() && !is_record {
            self.applicability = Applicability::None(vec![Obstacle::OwnCache]);
        }
    }
}

/// Recorded request as a design sends it.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// Size of the whole prompt.
    pub total: Tokens,
    /// Index of the request whose model it is sent to.
    pub priced_as: usize,
}

/// Request that a strategy sends in addition.
#[derive(Clone, Copy, Debug)]
pub struct Added {
    /// Index of the recorded request before it.
    pub after: usize,
    /// Purpose of the request.
    pub purpose: Purpose,
    /// Time of sending.
    pub at: Millis,
    /// Billing of the prompt.
    pub outcome: Outcome,
    /// Tokens of the answer.
    pub output: Tokens,
    /// Cost of keeping the context that the request stores.
    pub storage: Picodollars,
}

/// Run of equal requests after a recorded one, at equal intervals, that are billed alike.
///
/// There may be dozens of pings in each pause, which need not be kept one by one.
#[derive(Clone, Copy, Debug)]
pub(super) struct AddedRun {
    pub(super) first: Added,
    pub(super) count: i64,
    /// Interval, in milliseconds.
    pub(super) every: i64,
}

impl AddedRun {
    pub(super) fn one(first: Added) -> Self {
        Self { first, count: 1, every: 0 }
    }

    /// Requests of runs after one request, by time.
    fn in_order(runs: &[Self]) -> Vec<Added> {
        let of_run = |run: &Self| {
            let Self { first, count, every } = *run;
            let delay = move |number: i64| number.saturating_mul(every);
            (0..count).map(move |number| Added {
                at: Millis::new(first.at.get().saturating_add(delay(number))),
                ..first
            })
        };
        let mut all: Vec<Added> = runs.iter().flat_map(of_run).collect();
        if runs.len() > 1 {
            all.order_by_key(|added| added.at);
        }
        all
    }
}

/// Applies a design.
pub(super) fn simulate_design(design: &Design, material: Material<'_>) -> Simulated {
    Prepared::new(design, material).simulate(design.ttl, material)
}

/// Applies a design, unless it cannot act on the requests.
pub(crate) fn try_design(design: &Design, material: Material<'_>) -> Option<Simulated> {
    let prepared = Prepared::new(design, material);
    let can_act = prepared.applicability(design.ttl).is_applicable();
    can_act.then(|| prepared.simulate(design.ttl, material))
}

/// Requests of a design, whatever its TTLs.
pub(super) struct Prepared<'a> {
    plan: Plan<'a>,
    layout: Layout,
    markers: Markers,
    shares_sessions: bool,
    totals: Option<Vec<Sent>>,
    managed: Option<(Management, Effects)>,
    /// Number of the design's parts, and the obstacles of those that change nothing.
    parts: usize,
    obstacles: Vec<Obstacle>,
}

impl<'a> Prepared<'a> {
    pub(super) fn new(design: &Design, material: Material<'a>) -> Self {
        let mut drawing = Drawing::new(material);
        drawing.repair(design);
        drawing.design_prompts(design.prompt);
        let (managed, sent_by_management) =
            design.management.as_deref().map(|rule| drawing.manage(rule)).unzip();
        drawing.share(design);
        let Drawing { mut plan, searches, mut parts, mut obstacles, .. } = drawing;
        // Before anything is added, as totals are those of the recorded requests.
        let totals = plan.totals();
        plan.add_searches(searches);
        plan.add_managed(sent_by_management.unwrap_or_default());
        layout::place(&mut plan, design.layout, material.assumptions.lookback);
        parts += usize::from(design.layout != Layout::AsRecorded);
        if let Some(pings) = design.keep_alive {
            plan.pings = layout::pings_of(&plan, pings);
            parts += 1;
            obstacles.extend(plan.pings.is_none().then_some(Obstacle::NothingToKeepAlive));
        }
        let is_uncached = design.layout == Layout::Nowhere;
        let markers = if is_uncached { Markers::None } else { Markers::AsRecorded };
        let shares_sessions = !design.sharing.isolates_sessions;
        let layout = design.layout;
        Self { plan, layout, markers, shares_sessions, totals, managed, parts, obstacles }
    }

    /// Simulates the requests with these TTLs, or with the recorded ones.
    pub(super) fn simulate(&self, ttl: Option<TtlPlan>, material: Material<'_>) -> Simulated {
        let markers = match (self.markers, ttl) {
            (Markers::AsRecorded, Some(ttl)) => Markers::Fixed(ttl),
            (markers, _) => markers,
        };
        let mut policy = material.assumptions.policy(markers);
        policy.shares_sessions &= self.shares_sessions;
        Simulated {
            applicability: self.applicability(ttl),
            totals: self.totals.clone(),
            managed: self.managed,
            ..run(&self.plan, &policy)
        }
    }

    fn applicability(&self, ttl: Option<TtlPlan>) -> Applicability {
        // A layout may leave no marker by choice.
        let has_own = self.layout != Layout::AsRecorded;
        let is_unmarked = ttl.is_some() && !has_own && self.plan.trace.markers.is_empty();
        let unmarked = is_unmarked.then_some(Obstacle::NoMarker);
        let obstacles = self.obstacles.iter().copied().chain(unmarked).collect();
        Applicability::of(self.parts + usize::from(ttl.is_some()), obstacles)
    }
}

/// Plan while the parts of a design that change prompts are applied, one by one.
pub(super) struct Drawing<'a> {
    material: Material<'a>,
    pub(super) plan: Plan<'a>,
    /// Searches that a prompt design adds.
    searches: Vec<ToolSearch>,
    parts: usize,
    obstacles: Vec<Obstacle>,
}

impl<'a> Drawing<'a> {
    pub(super) fn new(material: Material<'a>) -> Self {
        let plan = Plan::recorded(material.trace);
        Self { material, plan, searches: Vec::new(), parts: 0, obstacles: Vec::new() }
    }

    /// Counts a part, and records its obstacle if it changed nothing.
    fn note(&mut self, acts: bool, obstacle: Obstacle) {
        self.parts += 1;
        self.obstacles.extend((!acts).then_some(obstacle));
    }

    /// Removes the recorded breaks that a design repairs.
    fn repair(&mut self, design: &Design) {
        if design.repairs.is_empty() {
            return;
        }
        self.parts += 1;
        let trace = self.plan.trace.to_mut();
        for (index, repair) in &design.repairs {
            let prompt = &mut trace.prompts[index.get()];
            let has_predecessor = prompt.predecessor.is_some();
            let rare = prompt.rare.get_or_insert_default();
            rare.broken_read = None;
            if has_predecessor {
                rare.repair = Some(*repair);
            }
        }
    }

    /// Applicability of the parts so far.
    pub(super) fn applicability(&self) -> Applicability {
        Applicability::of(self.parts, self.obstacles.clone())
    }

    pub(super) fn design_prompts(&mut self, design: PromptDesign) {
        if design == PromptDesign::default() {
            return;
        }
        let Material { history, steps, .. } = self.material;
        let tree = &history.captured.tree;
        let obstacle = if history.captured.marked().is_empty() {
            Obstacle::NoCapturedPrompt
        } else if tree.nodes.iter().any(|node| node.bytes.is_none()) {
            Obstacle::NoPromptBytes
        } else {
            Obstacle::PromptsAsDesigned
        };
        let designed = redesign(history, steps, &self.plan.trace, design);
        let acts = differs(&self.plan.trace, &designed.trace);
        self.note(acts, obstacle);
        self.plan.rewrite(designed.trace);
        self.searches = designed.searches;
    }

    /// Applies context management; returns its effects, and the requests that it adds.
    fn manage(&mut self, management: &Management) -> ((Management, Effects), Vec<AddedPrompt>) {
        let Material { history, steps, ratios, .. } = self.material;
        let obstacle = if history.of_transcripts().is_empty() {
            Obstacle::NoTranscript
        } else {
            Obstacle::NothingToTakeOut
        };
        let ratios = ratios.get_or_init(|| Ratios::learn(history, steps));
        let managed = manage(history, ratios, &self.plan.trace, management);
        let acts = managed.effects != Effects::default()
            || !managed.added.is_empty()
            || differs(&self.plan.trace, &managed.trace);
        self.note(acts, obstacle);
        self.plan.rewrite(managed.trace);
        ((*management, managed.effects), managed.added)
    }

    fn share(&mut self, design: &Design) {
        let (sharing, history) = (design.sharing, self.material.history);
        if sharing.forks_agents {
            self.part(Obstacle::NoKnownParent, |plan| forks::fork_agents(plan, history));
        }
        if sharing.decides_again {
            self.part(Obstacle::NoFork, |plan| forks::decide_again(plan, history));
        }
        if sharing.starts != Starts::AsRecorded {
            let start = |plan: &mut Plan<'_>| forks::start_agents(plan, history, sharing.starts);
            self.part(Obstacle::NoAgentsTogether, start);
        }
        if sharing.skips_cache_writes {
            let skip = |plan: &mut Plan<'_>| forks::skip_cache_writes(plan, history);
            self.part(Obstacle::NoSideQuery, skip);
        }
        if sharing.marks_shared {
            self.part(Obstacle::NoSideQuery, forks::mark_shared);
        }
        if sharing.isolates_sessions {
            // With several sessions a separation acts by the policy, even if no prompt changes.
            let before = self.plan.trace.clone();
            forks::part_sessions(&mut self.plan, history);
            let acts = has_several_sessions(history) || differs(&before, &self.plan.trace);
            self.note(acts, Obstacle::NothingShared);
        }
        if design.latches_ttl {
            let steps = self.material.steps;
            self.part(Obstacle::NoTtlChange, |plan| layout::latch_ttl(plan, steps));
        }
    }

    /// Applies a part, and records whether it changed any request.
    fn part(&mut self, obstacle: Obstacle, apply: impl FnOnce(&mut Plan<'_>)) {
        let before = self.plan.trace.clone();
        apply(&mut self.plan);
        let acts = differs(&before, &self.plan.trace);
        self.note(acts, obstacle);
    }
}

pub(super) fn run(plan: &Plan<'_>, policy: &Policy) -> Simulated {
    let (outcomes, pings) = if let Some(pings) = &plan.pings {
        let ping = |prompt: &Prompt| layout::ping_of(&plan.trace, prompt);
        let (outcomes, sent) = simulate_repeated(&plan.trace, pings, ping, policy);
        (
            outcomes,
            sent.into_iter().filter_map(|run| pings_after(plan, &run, pings.every)).collect(),
        )
    } else {
        (simulate(&plan.trace, policy), Vec::new())
    };
    if plan.roles.is_empty() && pings.is_empty() {
        return Simulated { outcomes, ..Simulated::default() };
    }
    let mut recorded: Vec<(usize, Outcome)> = Vec::with_capacity(outcomes.len());
    let mut added: Vec<AddedRun> = Vec::new();
    for (place, outcome) in outcomes.into_iter().enumerate() {
        match plan.role(place) {
            Role::Recorded(index) => recorded.push((index, outcome)),
            Role::Added { after, purpose, output } => {
                let at = plan.trace.prompts[place].start;
                let storage = Picodollars::ZERO;
                added.push(AddedRun::one(Added { after, purpose, at, outcome, output, storage }));
            }
        }
    }
    // A plan is in the order of time, and outcomes are those of the history's indexes.
    recorded.order_by_key(|(index, _)| *index);
    added.extend(pings);
    added.order_by_key(|run| run.first.after);
    let outcomes = recorded.into_iter().map(|(_, outcome)| outcome).collect();
    Simulated { outcomes, added, ..Simulated::default() }
}

/// Pings of a run as additional requests after a recorded one.
fn pings_after(plan: &Plan<'_>, run: &RepeatRun, every: i64) -> Option<AddedRun> {
    let Role::Recorded(after) = plan.role(run.place) else { return None };
    let RepeatRun { at, count, outcome, .. } = *run;
    let output = layout::PING_OUTPUT;
    let storage = Picodollars::ZERO;
    let first = Added { after, purpose: Purpose::KeepAlive, at, outcome, output, storage };
    Some(AddedRun { first, count, every })
}
