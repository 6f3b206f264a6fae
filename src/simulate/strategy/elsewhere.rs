//! Requests at another provider: their cost as a client would send them, with the best placement of
//! markers if the rules have any, and the lowest possible cost.
//!
//! A cache without markers leaves one choice: the prefixes to keep alive. If writes are free,
//! everything is written: the bound of markers with writes at the price of input is that of the
//! provider, over the tree that is split inside of blocks, as such a cache finds parts of them.

use std::borrow::Cow;

use enumset::enum_set;

use super::bound::{bound, bound_stored};
use super::design::{Anchor, Design, Layout};
use super::plan::Plan;
use super::run::{Drawing, Material, Prepared, Simulated};
use super::search::{self, Search};
use super::stored::{self, Storage};
use super::{Assumptions, Strategy, StrategyKind};
use crate::base::{TierTtl, Tokens, Ttl, TtlPlan};
use crate::requests::prompt::{Edits, Prompt, PromptTrace};
use crate::simulate::cache::{
    AutomaticPolicy, BetaKey, Lookback, Rules, TokenRatio, counted, simulate_automatic,
};
use crate::simulate::design::PromptDesign;
use crate::simulate::provider::{Case, Provider, Service, token_ratio};

/// Treatment of the requests at another provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Way {
    /// Requests as a design makes them.
    Sent(Design),
    /// Cheapest layout of markers for this history, or cheapest way to store contexts.
    Cheapest,
    /// Lowest possible cost under any choice of markers, lifetimes and pings.
    Optimal,
}

impl Way {
    /// Design of captured prompts.
    pub(super) fn prompts(&self) -> PromptDesign {
        match self {
            Self::Sent(design) => design.prompt,
            Self::Cheapest | Self::Optimal => PromptDesign::default(),
        }
    }
}

/// End of each request: marked by the service itself, or by a plain client.
const ENDS: Layout = Layout::At(enum_set!(Anchor::Last));

/// One lifetime for everything.
const fn everywhere(ttl: Ttl) -> TtlPlan {
    TtlPlan::everywhere(TierTtl::uniform(ttl))
}

/// Everything for the longer lifetime.
fn long_lived() -> Way {
    Way::Sent(Design { ttl: Some(everywhere(Ttl::OneHour)), ..Design::default() })
}

impl Strategy {
    /// Strategies of another provider: with its usual lifetime, with its longer one, with the best
    /// placement of markers, and with the lowest possible cost.
    pub fn elsewhere(provider: &'static Provider) -> Vec<Self> {
        let usual = Self {
            name: Cow::Borrowed(provider.name),
            summary: Cow::Borrowed(provider.summary),
            kind: StrategyKind::Elsewhere(
                provider,
                Case::Assumed,
                Box::new(Way::Sent(Design::default())),
            ),
        };
        let mut all = vec![usual];
        let lifetimes = provider.rules.lifetimes();
        if lifetimes.has_choice() {
            let name = lifetimes.name(Ttl::OneHour);
            let summary = format!("{}; written for {name}", provider.summary);
            all.push(Self::at(provider, &name, summary, long_lived()));
        }
        let (name, what) = match provider.rules {
            Rules::Automatic(_) => ("", ""),
            Rules::Marked(_) => ("cheapest-layout", "the cheapest layout of up to four markers"),
            Rules::Stored(_) => ("cheapest-storage", "what is cheapest to store"),
        };
        if !name.is_empty() {
            let summary = format!("{}; with {what}", provider.summary);
            all.push(Self::at(provider, name, summary, Way::Cheapest));
        }
        let summary = format!("the least that the same prompts can cost under {}", provider.name);
        all.push(Self::at(provider, "optimal", summary, Way::Optimal));
        let cases = [("at-worst", Case::Worst, "least"), ("at-best", Case::Best, "most")];
        for (name, case, how) in cases {
            // Rules without an open point have no range, and a row that repeats another says nothing.
            if *provider.rules_in(case) == provider.rules {
                continue;
            }
            let what = format!("the {how} favourable of what is not documented");
            let way = Box::new(Way::Sent(Design::default()));
            all.push(Self {
                name: Cow::Owned(format!("{}+{name}", provider.name)),
                summary: Cow::Owned(format!("{}; with {what}", provider.summary)),
                kind: StrategyKind::Elsewhere(provider, case, way),
            });
        }
        all
    }

    /// Strategies at the services that answered: as sent, for the longer lifetime of each, with the
    /// cheapest layout, and with the lowest possible cost.
    pub fn at_own_services() -> Vec<Self> {
        let own = |name, summary, way| Self {
            name: Cow::Borrowed(name),
            summary: Cow::Borrowed(summary),
            kind: StrategyKind::Own(Box::new(way)),
        };
        vec![
            own(
                "own",
                "each request at the service that answered it, by its rules",
                Way::Sent(Design::default()),
            ),
            own(
                "own+long",
                "written for the longer lifetime of each service: an hour (Claude, Kimi) or twelve (OpenAI)",
                long_lived(),
            ),
            own(
                "own+cheapest-layout",
                "with the cheapest layout of up to four markers",
                Way::Cheapest,
            ),
            own("own+optimal", "the least that the same prompts can cost there", Way::Optimal),
        ]
    }

    /// This strategy at the services that answered the requests; `None` if it does more than place markers.
    pub fn at_own_services_as_designed(&self) -> Option<Self> {
        let design = self.placed()?;
        let summary = format!("the requests at their own services as {} marks them", self.name);
        Some(Self {
            name: Cow::Owned(format!("own+{}", self.name)),
            summary: Cow::Owned(summary),
            kind: StrategyKind::Own(Box::new(Way::Sent(design.clone()))),
        })
    }

    /// Design, if it places markers and does nothing else.
    fn placed(&self) -> Option<&Design> {
        let StrategyKind::Counterfactual(design) = &self.kind else { return None };
        let places = matches!(design.layout, Layout::At(_) | Layout::Every(_) | Layout::Even(_));
        let as_placed = Design { layout: design.layout, ..Design::default() };
        (places && *design == as_placed).then_some(design)
    }

    /// This strategy at another provider.
    ///
    /// `None` if it does more than change prompts or place markers, if the provider has no markers,
    /// and for lifetimes, which are the provider's own.
    pub fn elsewhere_as_designed(&self, provider: &'static Provider) -> Option<Self> {
        let StrategyKind::Counterfactual(design) = &self.kind else { return None };
        let has_markers = matches!(provider.rules, Rules::Marked(_));
        let is_placed = has_markers && self.placed().is_some();
        if !design.changes_prompts_alone() && !is_placed {
            return None;
        }
        let summary = format!("{}; as {} makes the requests", provider.summary, self.name);
        Some(Self::at(provider, &self.name, summary, Way::Sent(design.clone())))
    }

    fn at(provider: &'static Provider, name: &str, summary: String, way: Way) -> Self {
        Self {
            name: Cow::Owned(format!("{}+{name}", provider.name)),
            summary: Cow::Owned(summary),
            kind: StrategyKind::Elsewhere(provider, Case::Assumed, Box::new(way)),
        }
    }
}

/// Simulates prompts under another provider's rules, in its tokens and at its prices.
pub(super) fn simulate(
    provider: &'static Provider,
    case: Case,
    way: &Way,
    material: Material<'_>,
) -> Simulated {
    let mut drawing = Drawing::new(material);
    drawing.design_prompts(way.prompts());
    let applicability = drawing.applicability();
    let history = material.history;
    let ratio = |prompt: &Prompt| token_ratio(history.facts(prompt.model));
    send_deleted(&mut drawing.plan);
    let prompts = drawing.plan.trace.prompts.iter();
    let sizes = prompts.map(|prompt| ratio(prompt).of(prompt.total));
    let rates = provider.request_rates(history, sizes);
    let material = Material { trace: &drawing.plan.trace, rates: &rates, ..material };
    let service = Service { provider, rules: *provider.rules_in(case) };
    let simulated = under(&service, way, ratio, material);
    Simulated {
        applicability,
        totals: drawing.plan.totals(),
        provider: Some(provider),
        rates: Some(rates),
        ..simulated
    }
}

/// Simulates prompts under the rules of a service, in its tokens.
pub(super) fn under(
    Service { provider, rules }: &Service,
    way: &Way,
    ratio: impl Fn(&Prompt) -> TokenRatio,
    material: Material<'_>,
) -> Simulated {
    let trace = material.trace;
    let assumptions = assumed(rules, material.assumptions);
    match (rules, way) {
        (Rules::Automatic(cache), Way::Optimal) => {
            // Split only for a cache that finds parts of blocks; markers are on whole ones.
            let whole = trace.split().map_or(trace, |split| &split.trace);
            let counted = counted(whole, &cache.counting, ratio);
            let there = Material { trace: &counted, assumptions: &assumptions, ..material };
            without_writes(bound(there))
        }
        (Rules::Automatic(cache), _) => {
            let keeps_breaks = assumptions.keeps_breaks;
            let policy = AutomaticPolicy { cache: *cache, keeps_breaks };
            let outcomes = simulate_automatic(trace, &policy, ratio);
            Simulated { outcomes, ..Simulated::default() }
        }
        (Rules::Marked(cache), _) => {
            let counted = counted(trace, &cache.counting, ratio);
            let there = Material { trace: &counted, assumptions: &assumptions, ..material };
            let simulated = marked(way, there);
            if cache.lifetimes.has_choice() { simulated } else { with_one_lifetime(simulated) }
        }
        (Rules::Stored(cache), _) => {
            let mut counted = counted(trace, &cache.counting, ratio);
            // The service has no markers, and so no sizes at them.
            unmark(&mut counted);
            let there = Material { trace: &counted, assumptions: &assumptions, ..material };
            let storage = Storage::of(provider.writes);
            match way {
                Way::Optimal => bound_stored(storage, there),
                Way::Cheapest => stored::cheapest(storage, there),
                Way::Sent(_) => stored::simulate(cache.usual(), storage, there),
            }
        }
    }
}

/// Adds deleted tokens to the prompts again: only Claude's service deletes cached results, so a
/// client would send them.
fn send_deleted(plan: &mut Plan<'_>) {
    if plan.trace.prompts.iter().all(|prompt| prompt.deleted == Tokens::ZERO) {
        return;
    }
    for prompt in &mut plan.trace.to_mut().prompts {
        prompt.total += std::mem::take(&mut prompt.deleted);
        prompt.change_rare(|rare| rare.edits = Edits::default());
    }
}

fn unmark(trace: &mut PromptTrace) {
    trace.markers.clear();
    for prompt in &mut trace.prompts {
        prompt.markers = 0..0;
    }
}

/// Simulates prompts with markers, as a provider counts them.
fn marked(way: &Way, there: Material<'_>) -> Simulated {
    match way {
        Way::Optimal => bound(there),
        Way::Cheapest => search::cheapest(Search::Layout, there),
        Way::Sent(design) => {
            let layout = if design.layout == Layout::AsRecorded { ENDS } else { design.layout };
            let ttl = design.ttl.or(Some(everywhere(Ttl::FiveMinutes)));
            let prompt = PromptDesign::default(); // The prompts are designed already.
            let design = Design { layout, ttl, prompt, ..design.clone() };
            Prepared::new(&design, there).simulate(ttl, there)
        }
    }
}

/// Assumptions of a simulation of another provider: its own lifetimes and lookback.
///
/// Grace, keys and the warmth of other traffic are choices about Claude's service.
fn assumed(rules: &Rules, assumptions: &Assumptions) -> Assumptions {
    let lookback = match rules {
        Rules::Automatic(_) | Rules::Stored(_) => Lookback::Unlimited,
        Rules::Marked(cache) => cache.lookback,
    };
    Assumptions {
        keeps_breaks: assumptions.keeps_breaks,
        lookback,
        lifetimes: rules.lifetimes(),
        reading: assumptions.reading,
        betas: BetaKey::Beside,
        ..Assumptions::default()
    }
}

/// Bills all writes at the one lifetime of the service.
fn with_one_lifetime(mut simulated: Simulated) -> Simulated {
    for outcome in &mut simulated.outcomes {
        outcome.write_5m += std::mem::take(&mut outcome.write_1h);
    }
    simulated
}

/// Bills writes as input, since they are free of charge.
fn without_writes(mut simulated: Simulated) -> Simulated {
    for outcome in &mut simulated.outcomes {
        let written = std::mem::take(&mut outcome.write_5m) + std::mem::take(&mut outcome.write_1h);
        outcome.input += written;
    }
    simulated
}
