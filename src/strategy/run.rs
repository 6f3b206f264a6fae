//! A strategy applied to a history: what every request reads, writes and sends in full, and what
//! the strategy sends besides.

use std::borrow::Cow;

use super::assumptions::Assumptions;
use super::design::{Design, Layout};
use super::plan::{Plan, Purpose, Role};
use super::search::Search;
use super::{keep_alive, layout, search};
use crate::cache::{Markers, Outcome, Policy, simulate};
use crate::conversation::RequestIndex;
use crate::pricing::{Billing, RequestRates};
use crate::prompt::PromptTrace;
use crate::units::{Millis, Picodollars, Tokens};

/// A strategy, by name or from a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Strategy {
    /// The name in options and outputs.
    pub name: Cow<'static, str>,
    /// What it stands for, in a line.
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
    /// The cheapest of several designs for the history at hand.
    Cheapest(Search),
}

/// What strategies are applied to.
#[derive(Clone, Copy)]
pub struct Material<'a> {
    /// The prompts as recorded.
    pub trace: &'a PromptTrace,
    /// What their tokens cost.
    pub rates: &'a RequestRates,
    /// What is assumed.
    pub assumptions: &'a Assumptions,
}

impl Material<'_> {
    /// What prompts and added requests cost, without the recorded output; what has no price is
    /// left out.
    pub(super) fn cost(&self, simulated: &Simulated) -> Picodollars {
        let recorded = simulated.outcomes.iter().enumerate();
        let recorded = recorded.map(|(index, outcome)| (index, outcome, Tokens::ZERO));
        let added = simulated.added.iter().map(|added| (added.after, &added.outcome, added.output));
        recorded
            .chain(added)
            .filter_map(|(index, outcome, output)| {
                Some(Billing::of(outcome, output).cost(self.rates.of(RequestIndex(index))?))
            })
            .sum()
    }
}

/// What became of the requests under a strategy.
#[derive(Debug)]
pub struct Simulated {
    /// Of each recorded request.
    pub outcomes: Vec<Outcome>,
    /// What was sent besides, by the request it follows, then by time.
    pub added: Vec<Added>,
    /// The prompts' sizes, where the design made others of them.
    pub totals: Option<Vec<Tokens>>,
    /// The design that a search has chosen.
    pub chosen: Option<Design>,
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

impl Strategy {
    /// Applies the strategy; `None` for the record itself.
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
        }
    }
}

/// Applies a design.
pub(super) fn simulate_design(design: &Design, material: Material<'_>) -> Simulated {
    let mut plan = Plan::recorded(material.trace);
    layout::place(&mut plan, design.layout);
    if let Some(pings) = design.keep_alive {
        keep_alive::add_pings(&mut plan, pings);
    }
    let markers = match (design.layout, design.ttl) {
        (Layout::Nowhere, _) => Markers::None,
        (_, Some(ttl)) => Markers::Fixed(ttl),
        (_, None) => Markers::AsRecorded,
    };
    run(&plan, &material.assumptions.policy(markers))
}

fn run(plan: &Plan<'_>, policy: &Policy) -> Simulated {
    let outcomes = simulate(&plan.trace, policy);
    if plan.roles.is_empty() {
        return Simulated { outcomes, added: Vec::new(), totals: None, chosen: None };
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
    Simulated { outcomes, added, totals: None, chosen: None }
}
