//! Requests at the services that answered them: as a client sends them there, for the longer
//! lifetime, with the best placement of markers, and with the lowest possible cost.
//!
//! Claude's requests are those of the equivalent designs. Others are simulated by their expected
//! rules, each set of rules with its own requests only, at their own prices. Requests without an
//! expectation stay as recorded. All writes that a service charges are charged, recorded or not.

use super::applicability::{Applicability, Obstacle};
use super::bound::bound;
use super::design::Design;
use super::elsewhere::{Way, under};
use super::run::{Material, Simulated, simulate_design};
use super::search::{self, Search};
use crate::requests::conversation::RequestIndex;
use crate::simulate::cache::{Rules, TokenRatio};
use crate::simulate::pricing::{Rates, RequestRates};
use crate::simulate::provider::Unmarked;

/// Simulates every request at the service that answered it; the trace has all of them.
pub(super) fn simulate(way: &Way, material: Material<'_>) -> Simulated {
    let Material { history, trace, .. } = material;
    let has_claude = !history.sent_with_markers().is_empty();
    let mut all = if has_claude { of_claude(way, material) } else { Simulated::default() };
    let Some(unmarked) = Unmarked::of(history, trace) else { return all };
    for choice in &mut all.choices {
        *choice = format!("Claude: {choice}");
    }
    all.outcomes.extend(unmarked.recorded());
    let requests = (0..history.requests.len()).map(RequestIndex::new);
    let mut rates: Vec<Option<Rates>> =
        requests.map(|request| material.rates.of(request).copied()).collect();
    let mut acts = has_claude && all.applicability.is_applicable();
    let services = unmarked.by_service();
    let idle = if services.is_empty() { Obstacle::NothingExpected } else { Obstacle::NoMarker };
    for (service, requests) in services {
        for request in &requests {
            let rates = &mut rates[request.get()];
            // Rates of the table become those of the service's lifetimes.
            *rates = rates.map(|rates| service.provider.writes.of(rates));
        }
        let own: RequestRates = requests.iter().map(|request| rates[request.get()]).collect();
        let prompts = unmarked.only(&requests);
        let material = Material { trace: &prompts, rates: &own, ..material };
        let simulated = under(&service, way, |_| TokenRatio::ONE, material);
        for (outcome, request) in simulated.outcomes.iter().zip(&requests) {
            all.outcomes[request.get()] = *outcome;
        }
        all.add(simulated.added, &requests);
        for choice in simulated.choices {
            // Clients of a service differ in the start of their prompts' steps, and mostly in nothing else.
            let choice = format!("{}: {choice}", service.provider.name);
            if !all.choices.contains(&choice) {
                all.choices.push(choice);
            }
        }
        acts |= acts_at(way, &service.rules);
    }
    all.applicability = if acts { Applicability::Whole } else { Applicability::None(vec![idle]) };
    Simulated { rates: Some(rates.into_iter().collect()), ..all }
}

/// Simulates the requests with markers, which went to Claude.
fn of_claude(way: &Way, material: Material<'_>) -> Simulated {
    let trace = material.trace.first(material.history.sent_with_markers().len());
    let material = Material { trace: &trace, ..material };
    match way {
        Way::Sent(design) => simulate_design(design, material),
        Way::Cheapest => search::cheapest(Search::Layout, material),
        Way::Optimal => bound(material),
    }
}

/// Returns true if a treatment of requests makes a difference under rules.
fn acts_at(way: &Way, rules: &Rules) -> bool {
    match (rules, way) {
        (_, Way::Optimal) | (Rules::Marked(_), Way::Cheapest) | (Rules::Stored(_), _) => true,
        (Rules::Automatic(_), Way::Sent(design)) => *design == Design::default(),
        (Rules::Automatic(_), Way::Cheapest) => false,
        (Rules::Marked(cache), Way::Sent(design)) => {
            design.ttl.is_none() || cache.lifetimes.has_choice()
        }
    }
}
