//! The bound is what exhaustive search finds on small conversations, and never dearer than what any
//! strategy makes of the same prompts.

use std::sync::OnceLock;

use crate::common::cases;

use cachesim::base::id::{Symbol, Symbols};
use cachesim::base::ttl::{Lifetimes, Ttl};
use cachesim::base::units::Basis;
use cachesim::base::units::{Millis, Picodollars, Tokens};
use cachesim::requests::conversation::History;
use cachesim::requests::prompt::{Level, Marker, Node, NodeId, Prompt, PromptTrace};
use cachesim::simulate::cache::{
    AutomaticCache, Counting, Markers, Outcome, Policy, Reading, Rules, simulate,
};
use cachesim::simulate::pricing::{Billing, Rates, RequestRates};
use cachesim::simulate::strategy::{Assumptions, Material, Simulated, Strategy as Design};
use proptest::prelude::*;

/// Input, writes for five minutes and an hour, reads, output: the usual ratios.
const RATES: Rates = Rates {
    input: Picodollars(100),
    cache_write_5m: Picodollars(125),
    cache_write_1h: Picodollars(200),
    cache_write_12h: None,
    cache_read: Picodollars(10),
    output: Picodollars(500),
};

const MINUTE: i64 = 60_000;
const SYSTEM: Tokens = Tokens(1_000);

/// A request of a small conversation.
#[derive(Clone, Debug)]
struct Step {
    minutes: i64,
    /// How much it adds.
    growth: u64,
    /// How many requests it goes back, if any.
    rewind: usize,
}

fn node(parent: Option<NodeId>, end: Tokens, blocks: u32) -> Node {
    Node {
        parent,
        end,
        basis: Basis::Derived,
        positions: blocks,
        blocks,
        level: if parent.is_none() { Level::System } else { Level::Messages },
        is_markable: true,
        session: None,
    }
}

fn marker(trace: &PromptTrace, node: NodeId, ttl: Ttl) -> Marker {
    Marker {
        node,
        end: trace.node(node).end,
        basis: Basis::Derived,
        ttl: Some(ttl),
        is_global: false,
        is_automatic: false,
        is_markable: true,
    }
}

fn prompt(trace: &PromptTrace, node: NodeId, start: i64, before: Option<usize>) -> Prompt {
    let mut symbols = Symbols::default();
    let model: Symbol = symbols.intern("model");
    Prompt {
        predecessor: before,
        minimum: Tokens(500),
        ..Prompt::new(model, Millis::new(start), node, trace.node(node).end + Tokens(2))
    }
}

/// A conversation whose requests go on from the last one or from one before it.
fn conversation(steps: &[Step]) -> PromptTrace {
    let mut trace = PromptTrace::default();
    trace.nodes.push(node(None, SYSTEM, 1));
    let mut now = 0;
    for step in steps {
        now += step.minutes * MINUTE;
        let last = trace.prompts.len().checked_sub(1);
        let before = last.map(|last| last - step.rewind.min(last));
        let parent = before.map_or(NodeId::at(0), |before| trace.prompts[before].node);
        let at = *trace.node(parent);
        trace.nodes.push(node(Some(parent), at.end + Tokens(step.growth), at.blocks + 1));
        let own = NodeId::at(trace.nodes.len() - 1);
        trace.prompts.push(prompt(&trace, own, now, before));
    }
    trace
}

/// What a service asks for tokens, and how long it keeps them.
#[derive(Clone, Copy, Debug)]
struct Service {
    rates: Rates,
    lifetimes: Lifetimes,
}

const ANTHROPIC: Service = Service { rates: RATES, lifetimes: Lifetimes::ANTHROPIC };

/// Half an hour at 1.25 times the input, twelve hours at 2.5 times.
const OPENAI: Service = Service {
    rates: Rates { cache_write_1h: Picodollars(250), ..RATES },
    lifetimes: Lifetimes { usual: 30 * MINUTE, long: 720 * MINUTE },
};

/// Writes are free, and everything lives for ten minutes.
const AUTOMATIC: Service = Service {
    rates: Rates { cache_write_5m: Picodollars(100), cache_write_1h: Picodollars(100), ..RATES },
    lifetimes: Lifetimes { usual: 10 * MINUTE, long: 10 * MINUTE },
};

impl Service {
    fn assumptions(&self, reading: Reading) -> Assumptions {
        Assumptions { reading, lifetimes: self.lifetimes, ..Assumptions::default() }
    }

    fn cost(&self, simulated: &Simulated) -> Picodollars {
        let sent = simulated.outcomes.iter().map(|outcome| (*outcome, Tokens::ZERO));
        let added = simulated.added().map(|added| (added.outcome, added.output));
        let costs = sent.chain(added);
        costs.map(|(outcome, output)| Billing::of(&outcome, output).cost(&self.rates)).sum()
    }

    /// The lifetimes that there are to ask for.
    fn ttls(&self) -> Vec<Ttl> {
        if self.lifetimes.has_choice() {
            vec![Ttl::FiveMinutes, Ttl::OneHour]
        } else {
            vec![Ttl::FiveMinutes]
        }
    }
}

fn bound(trace: &PromptTrace, service: &Service, reading: Reading) -> Simulated {
    let rates: RequestRates = trace.prompts.iter().map(|_| Some(service.rates)).collect();
    let assumptions = service.assumptions(reading);
    let history = History::default();
    let (rates, assumptions, ratios) = (&rates, &assumptions, &OnceLock::new());
    let material = Material { history: &history, steps: &[], trace, rates, ratios, assumptions };
    let optimal = Design::by_name("optimal").expect("a strategy");
    optimal.simulate(material).expect("it is simulated")
}

/// Every way to mark the nodes in front of a request: an hour never after five minutes.
fn markings(trace: &PromptTrace, prompt: &Prompt, ttls: &[Ttl]) -> Vec<Vec<Marker>> {
    let mut path: Vec<NodeId> = trace.path(prompt.node).collect();
    path.reverse();
    let mut markings: Vec<Vec<Marker>> = vec![Vec::new()];
    for node in path {
        for marking in markings.clone() {
            for ttl in ttls.iter().copied() {
                if marking.last().is_none_or(|last| last.ttl >= Some(ttl)) {
                    let mut longer = marking.clone();
                    longer.push(marker(trace, node, ttl));
                    markings.push(longer);
                }
            }
        }
    }
    markings.retain(|marking| marking.len() <= 4);
    markings
}

/// Every sensible series of pings in a gap: none, or as few as keep one of the prefixes alive.
fn pings(trace: &PromptTrace, service: &Service, before: &Prompt, gap: i64) -> Vec<Vec<Prompt>> {
    let mut series = vec![Vec::new()];
    for ttl in service.ttls() {
        let count = (gap - 1) / (service.lifetimes.of(ttl) - 1);
        for prefix in trace.path(before.node).filter(|_| count > 0) {
            let ping = |number| Prompt {
                total: trace.node(prefix).end,
                ..prompt(trace, prefix, before.start.get() + number * (gap / (count + 1)), None)
            };
            series.push((1..=count).map(ping).collect());
        }
    }
    series
}

/// Many pauses have more states than are followed one by one. The cheapest of these do not write the last large prompt,
/// which is cheaper at first and dearer in the end.
#[test]
fn many_pauses_leave_the_bound_below_what_can_be_reached() {
    let step = |growth| Step { minutes: 10, growth, rewind: 0 };
    let steps = [vec![step(50); 100], vec![step(200_000)], vec![step(50); 6]].concat();
    let trace = conversation(&steps);
    let mut hour = trace.clone();
    for place in 0..hour.prompts.len() {
        hour.markers.push(marker(&trace, trace.prompts[place].node, Ttl::OneHour));
        hour.prompts[place].markers = place..place + 1;
    }
    let policy = ANTHROPIC.assumptions(Reading::Conservative).policy(Markers::AsRecorded);
    let outcomes = simulate(&hour, &policy);
    let costs = outcomes.iter().map(|one| Billing::of(one, Tokens::ZERO).cost(&RATES));
    let reached: Picodollars = costs.sum();
    let found = ANTHROPIC.cost(&bound(&trace, &ANTHROPIC, Reading::Conservative));
    assert!(found <= reached, "{found:?} {reached:?}");
    // All but the first prompt of a pause is read, so that the bound cannot be far below.
    assert!(found.0 * 10 >= reached.0 * 9, "{found:?} {reached:?}");
}

/// The cheapest of all markings and pings under the real simulator.
fn exhaustive(trace: &PromptTrace, service: &Service, reading: Reading) -> Picodollars {
    let policy = service.assumptions(reading).policy(Markers::AsRecorded);
    let mut cheapest = Picodollars(i128::MAX);
    let mut chosen = PromptTrace::default();
    chosen.nodes.clone_from(&trace.nodes);
    try_all((trace, service), &policy, &mut chosen, 0, &mut cheapest);
    cheapest
}

fn try_all(
    (trace, service): (&PromptTrace, &Service),
    policy: &Policy,
    chosen: &mut PromptTrace,
    place: usize,
    cheapest: &mut Picodollars,
) {
    let Some(prompt) = trace.prompts.get(place) else {
        let outcomes = simulate(chosen, policy);
        let output = |sent: &Prompt| {
            let is_ping = trace.prompts.iter().all(|prompt| prompt.start != sent.start);
            Tokens(u64::from(is_ping))
        };
        let costs = outcomes.iter().zip(&chosen.prompts);
        let cost = costs.map(|(outcome, sent): (&Outcome, &Prompt)| {
            Billing::of(outcome, output(sent)).cost(&service.rates)
        });
        *cheapest = (*cheapest).min(cost.sum());
        return;
    };
    let gaps = place.checked_sub(1).map(|before| &trace.prompts[before]);
    let series = gaps.map_or_else(
        || vec![Vec::new()],
        |before| pings(trace, service, before, prompt.start.since(before.start)),
    );
    let (prompts, markers) = (chosen.prompts.len(), chosen.markers.len());
    for pings in series {
        for ping in pings {
            let first = chosen.markers.len();
            let mark = marker(trace, ping.node, Ttl::FiveMinutes);
            chosen.markers.push(mark);
            chosen.prompts.push(Prompt { markers: first..first + 1, ..ping });
        }
        let (pinged_prompts, pinged_markers) = (chosen.prompts.len(), chosen.markers.len());
        for marking in markings(trace, prompt, &service.ttls()) {
            let range = pinged_markers..pinged_markers + marking.len();
            chosen.markers.extend(marking);
            chosen.prompts.push(Prompt { markers: range, ..prompt.clone() });
            try_all((trace, service), policy, chosen, place + 1, cheapest);
            chosen.prompts.truncate(pinged_prompts);
            chosen.markers.truncate(pinged_markers);
        }
        chosen.prompts.truncate(prompts);
        chosen.markers.truncate(markers);
    }
}

fn step() -> impl proptest::strategy::Strategy<Value = Step> {
    let minutes = prop::sample::select(vec![1_i64, 4, 7, 20, 50, 70, 150, 800]);
    let rewind = prop::sample::select(vec![0_usize, 0, 0, 1]);
    (minutes, 100_u64..3_000, rewind).prop_map(|(minutes, growth, rewind)| Step {
        minutes,
        growth,
        rewind,
    })
}

/// The cheapest of all series of pings to a cache that finds every prefix.
fn exhaustive_automatic(trace: &PromptTrace) -> Picodollars {
    let mut cheapest = Picodollars(i128::MAX);
    let mut chosen = PromptTrace::default();
    chosen.nodes.clone_from(&trace.nodes);
    try_pings(trace, &mut chosen, 0, &mut cheapest);
    cheapest
}

fn try_pings(
    trace: &PromptTrace,
    chosen: &mut PromptTrace,
    place: usize,
    cheapest: &mut Picodollars,
) {
    let Some(prompt) = trace.prompts.get(place) else {
        let counting = Counting {
            minimum: Tokens(500),
            step: Tokens(1),
            offset: Tokens::ZERO,
            tail: Tokens::ZERO,
        };
        let lifetime = AUTOMATIC.lifetimes.usual;
        let rules = Rules::Automatic(AutomaticCache { counting, lifetime });
        let sent = chosen.prompts.iter();
        let outputs = sent.map(|sent| {
            let is_ping = trace.prompts.iter().all(|prompt| prompt.start != sent.start);
            Tokens(u64::from(is_ping))
        });
        let outcomes = rules.simulate(chosen, true);
        let costs = outcomes
            .iter()
            .zip(outputs)
            .map(|(outcome, output)| Billing::of(outcome, output).cost(&AUTOMATIC.rates));
        *cheapest = (*cheapest).min(costs.sum());
        return;
    };
    let series = place.checked_sub(1).map_or_else(
        || vec![Vec::new()],
        |before| {
            let before = &trace.prompts[before];
            pings(trace, &AUTOMATIC, before, prompt.start.since(before.start))
        },
    );
    let sent = chosen.prompts.len();
    for pings in series {
        chosen.prompts.extend(pings);
        chosen.prompts.push(prompt.clone());
        try_pings(trace, chosen, place + 1, cheapest);
        chosen.prompts.truncate(sent);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(24)))]

    #[test]
    fn the_bound_is_what_exhaustive_search_finds(steps in prop::collection::vec(step(), 2..=3)) {
        let trace = conversation(&steps);
        for service in [ANTHROPIC, OPENAI] {
            let found = service.cost(&bound(&trace, &service, Reading::Conservative));
            prop_assert_eq!(found, exhaustive(&trace, &service, Reading::Conservative));
        }
    }

    #[test]
    fn no_design_is_cheaper_by_the_letter_either(steps in prop::collection::vec(step(), 2..=3)) {
        let trace = conversation(&steps);
        for service in [ANTHROPIC, OPENAI] {
            let literal = service.cost(&bound(&trace, &service, Reading::Literal));
            prop_assert!(literal <= exhaustive(&trace, &service, Reading::Literal));
            let conservative = bound(&trace, &service, Reading::Conservative);
            prop_assert!(literal <= service.cost(&conservative));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Without markers there is nothing to choose but what to keep alive.
    #[test]
    fn the_bound_of_a_cache_without_markers_is_what_exhaustive_search_finds(
        steps in prop::collection::vec(step(), 2..=3),
    ) {
        let trace = conversation(&steps);
        let found = AUTOMATIC.cost(&bound(&trace, &AUTOMATIC, Reading::Conservative));
        prop_assert_eq!(found, exhaustive_automatic(&trace));
    }
}
