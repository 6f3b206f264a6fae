//! A strategy applied to a history: what every request reads, writes and sends in full, and what
//! the strategy sends besides.

use super::assumptions::Assumptions;
use super::design::{Design, Layout, Sharing};
use super::plan::{Plan, Purpose, Role};
use super::{forks, keep_alive, layout, sharing};
use crate::cache::{Markers, Outcome, Policy, simulate, simulate_automatic};
use crate::conversation::{History, RequestIndex};
use crate::design::{PromptDesign, redesign};
use crate::management::{Effects, Management, manage};
use crate::pricing::{Billing, RequestRates};
use crate::prompt::{Prompt, PromptTrace, Step};
use crate::provider::{Provider, token_ratio};
use crate::ttl::TtlPlan;
use crate::units::{Millis, Picodollars, Tokens};

/// What strategies are applied to.
#[derive(Clone, Copy)]
pub struct Material<'a> {
    /// The requests.
    pub history: &'a History,
    /// How each follows the one before it.
    pub steps: &'a [Step],
    /// Their prompts as recorded.
    pub trace: &'a PromptTrace,
    /// What their tokens cost.
    pub rates: &'a RequestRates,
    /// What is assumed.
    pub assumptions: &'a Assumptions,
}

/// What main conversations and those of sub-agents cost.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ChainCosts {
    pub(super) main: Picodollars,
    pub(super) agents: Picodollars,
}

impl Material<'_> {
    /// What prompts and added requests cost, without the recorded output; what has no price is
    /// left out.
    pub(super) fn costs(&self, simulated: &Simulated) -> ChainCosts {
        let recorded = simulated.outcomes.iter().enumerate();
        let recorded = recorded.map(|(index, outcome)| (index, outcome, Tokens::ZERO));
        let added = simulated.added.iter().map(|added| (added.after, &added.outcome, added.output));
        let mut costs = ChainCosts::default();
        for (index, outcome, output) in recorded.chain(added) {
            let Some(rates) = self.rates.of(RequestIndex(index)) else { continue };
            let is_agent = self.trace.prompts[index].is_agent;
            let sum = if is_agent { &mut costs.agents } else { &mut costs.main };
            *sum += Billing::of(outcome, output).cost(rates);
        }
        costs
    }
}

/// What became of the requests under a strategy.
#[derive(Debug, Default)]
pub struct Simulated {
    /// Of each recorded request.
    pub outcomes: Vec<Outcome>,
    /// What was sent besides, by the request it follows, then by time.
    pub added: Vec<Added>,
    /// The prompts' sizes, and whose models they are sent to, where the design made others of them.
    pub totals: Option<Vec<Sent>>,
    /// What context management did, in a design that has one.
    pub managed: Option<(Management, Effects)>,
    /// The design that a search has chosen.
    pub chosen: Option<Design>,
    /// The other provider that serves the requests, in whose tokens the outcomes are.
    pub provider: Option<&'static Provider>,
}

/// A recorded request as a design sends it.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// The whole prompt.
    pub total: Tokens,
    /// The request whose model it is sent to.
    pub priced_as: usize,
}

/// A request that a strategy sends besides those recorded.
#[derive(Clone, Copy, Debug)]
pub struct Added {
    /// The recorded request that it follows.
    pub after: usize,
    /// Why it is sent.
    pub purpose: Purpose,
    /// When.
    pub at: Millis,
    /// How its prompt is billed.
    pub outcome: Outcome,
    /// What it answers.
    pub output: Tokens,
}

/// Puts the prompts as recorded under another provider's rules, in its own tokens.
pub(super) fn simulate_elsewhere(provider: &'static Provider, material: Material<'_>) -> Simulated {
    let symbols = &material.history.symbols;
    let policy = provider.policy(material.assumptions.keeps_breaks);
    let ratio = |prompt: &Prompt| token_ratio(symbols.text(prompt.model));
    let outcomes = simulate_automatic(material.trace, &policy, ratio);
    Simulated { outcomes, provider: Some(provider), ..Simulated::default() }
}

/// Applies a design.
pub(super) fn simulate_design(design: &Design, material: Material<'_>) -> Simulated {
    Prepared::new(design, material).simulate(design.ttl, material)
}

/// What a design sends, whatever its TTLs.
pub(super) struct Prepared<'a> {
    plan: Plan<'a>,
    markers: Markers,
    shares_sessions: bool,
    totals: Option<Vec<Sent>>,
    managed: Option<(Management, Effects)>,
}

impl<'a> Prepared<'a> {
    pub(super) fn new(design: &Design, material: Material<'a>) -> Self {
        let mut plan = Plan::recorded(material.trace);
        if design.prompt != PromptDesign::default() {
            let Material { history, steps, trace, .. } = material;
            plan.rewrite(redesign(history, steps, trace, design.prompt));
        }
        let mut managed = None;
        let mut compactions = Vec::new();
        if let Some(management) = design.management {
            let of_design = manage(material.history, &plan.trace, &management);
            managed = Some((management, of_design.effects));
            compactions = of_design.added;
            plan.rewrite(of_design.trace);
        }
        share(&mut plan, design.sharing, material.history);
        let totals = plan.totals();
        plan.add_compactions(compactions);
        layout::place(&mut plan, design.layout);
        if let Some(pings) = design.keep_alive {
            keep_alive::add_pings(&mut plan, pings);
        }
        let is_uncached = design.layout == Layout::Nowhere;
        Self {
            plan,
            markers: if is_uncached { Markers::None } else { Markers::AsRecorded },
            shares_sessions: !design.sharing.parts_sessions,
            totals,
            managed,
        }
    }

    /// Sends it with these TTLs, or with those recorded.
    pub(super) fn simulate(&self, ttl: Option<TtlPlan>, material: Material<'_>) -> Simulated {
        let markers = match (self.markers, ttl) {
            (Markers::AsRecorded, Some(ttl)) => Markers::Fixed(ttl),
            (markers, _) => markers,
        };
        let mut policy = material.assumptions.policy(markers);
        policy.shares_sessions &= self.shares_sessions;
        Simulated { totals: self.totals.clone(), managed: self.managed, ..run(&self.plan, &policy) }
    }
}

fn share(plan: &mut Plan<'_>, sharing: Sharing, history: &History) {
    if sharing.forks_agents {
        forks::fork_agents(plan, history);
    }
    if sharing.decides_anew {
        forks::decide_anew(plan, history);
    }
    if let Some(starts) = sharing.starts {
        sharing::start_agents(plan, history, starts);
    }
    if sharing.skips_cache_writes {
        sharing::skip_cache_writes(plan);
    }
    if sharing.parts_sessions {
        sharing::part_sessions(plan, history);
    }
}

pub(super) fn run(plan: &Plan<'_>, policy: &Policy) -> Simulated {
    let outcomes = simulate(&plan.trace, policy);
    if plan.roles.is_empty() {
        return Simulated { outcomes, ..Simulated::default() };
    }
    let mut recorded: Vec<(usize, Outcome)> = Vec::with_capacity(outcomes.len());
    let mut added = Vec::new();
    for (place, outcome) in outcomes.into_iter().enumerate() {
        match plan.role(place) {
            Role::Recorded(index) => recorded.push((index, outcome)),
            Role::Added { after, purpose, output } => {
                let at = plan.trace.prompts[place].start;
                added.push(Added { after, purpose, at, outcome, output });
            }
        }
    }
    recorded.sort_by_key(|(index, _)| *index);
    added.sort_by_key(|added| added.after);
    let outcomes = recorded.into_iter().map(|(_, outcome)| outcome).collect();
    Simulated { outcomes, added, ..Simulated::default() }
}
