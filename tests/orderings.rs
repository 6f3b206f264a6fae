//! Laws between strategies, on every session of the corpus: nothing that leaves the prompts as they
//! are is cheaper than the bound, a longer TTL at the same price is never dearer, no token is lost.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::OnceLock;

use cachesim::base::id::Symbol;
use cachesim::base::units::{Picodollars, Tokens};
use cachesim::read::input::discover;
use cachesim::requests::conversation::{History, ReadOptions, RequestIndex, read};
use cachesim::requests::prompt::{PromptTrace, Step, build, steps};
use cachesim::simulate::cache::Reading;
use cachesim::simulate::pricing::{Billing, PriceTable, Rates, RequestRates};
use cachesim::simulate::provider;
use cachesim::simulate::strategy::{ALL, Assumptions, Material, Simulated, Strategy, StrategyKind};

use crate::common::{shared, transcripts};

/// Everything that strategies are applied to.
struct Corpus {
    history: History,
    steps: Vec<Step>,
    trace: PromptTrace,
    rates: RequestRates,
}

/// The corpus; `None`, said on stderr, where it is missing.
fn corpus() -> Option<Corpus> {
    Some(read_all(transcripts("corpus")?))
}

fn read_all(folder: PathBuf) -> Corpus {
    let history = read(discover(&[folder]), ReadOptions::default(), |_| {});
    let steps = steps(&history);
    let trace = build(&history, &steps, Assumptions::default().shared_prefix);
    let totals = trace.prompts.iter().map(|prompt| prompt.total);
    let rates = RequestRates::new(&history, &PriceTable::built_in(), totals);
    Corpus { history, steps, trace, rates }
}

impl Corpus {
    fn simulate(&self, strategy: &Strategy, assumptions: &Assumptions) -> Option<Simulated> {
        let Self { history, steps, trace, rates } = self;
        let ratios = &OnceLock::new();
        strategy.simulate(Material { history, steps, trace, rates, ratios, assumptions })
    }

    /// What each session's prompts and added requests cost.
    fn costs(&self, simulated: &Simulated, change: impl Fn(Rates) -> Rates) -> Costs {
        let recorded = simulated.outcomes.iter().enumerate();
        let recorded = recorded.map(|(index, outcome)| (index, *outcome, Tokens::ZERO));
        let added = simulated.added().map(|added| (added.after, added.outcome, added.output));
        let mut costs = Costs::new();
        for (index, outcome, output) in recorded.chain(added) {
            let index = RequestIndex::new(index);
            let own = simulated.rates.as_ref().unwrap_or(&self.rates);
            let Some(rates) = own.of(index) else { continue };
            let cost = Billing::of(&outcome, output).cost(&change(*rates));
            *costs.entry(self.history.request(index).session).or_default() += cost;
        }
        costs
    }
}

type Costs = HashMap<Symbol, Picodollars>;

#[test]
fn no_strategy_is_cheaper_than_the_bound_on_any_session() {
    let Some(corpus) = corpus() else { return };
    for reading in [Reading::Conservative, Reading::Literal] {
        for keeps_breaks in [true, false] {
            let assumptions = Assumptions { keeps_breaks, reading, ..Assumptions::default() };
            let bound = corpus.simulate(&Strategy::bound(None), &assumptions).expect("a bound");
            let bound = corpus.costs(&bound, |rates| rates);
            for strategy in ALL.iter().filter(|strategy| strategy.keeps_content()) {
                // The replay has no breaks, whatever the others keep.
                if strategy.kind == StrategyKind::Replay && keeps_breaks {
                    continue;
                }
                let Some(simulated) = corpus.simulate(strategy, &assumptions) else { continue };
                for (session, cost) in corpus.costs(&simulated, |rates| rates) {
                    let (id, name) = (corpus.history.symbols.text(session), &strategy.name);
                    let least = bound[&session];
                    assert!(least <= cost, "{id}: {name} {cost}, the bound {least}, {reading:?}");
                }
            }
        }
    }
}

/// Whatever the layout and the lifetime, at every provider and at the services that answered.
#[test]
fn nothing_at_a_provider_is_cheaper_than_its_bound_on_any_session() {
    for folder in [transcripts("corpus"), shared("agents")] {
        let Some(corpus) = folder.map(read_all) else { continue };
        for keeps_breaks in [true, false] {
            let reading = Reading::Conservative;
            let assumptions = Assumptions { keeps_breaks, reading, ..Assumptions::default() };
            for provider in &provider::ALL {
                let layouts = ALL.iter().filter_map(|one| one.elsewhere_as_designed(provider));
                let layouts = layouts.filter(|one| !one.needs_bytes());
                is_above_its_bound(&corpus, Strategy::elsewhere(provider), layouts, &assumptions);
            }
            let layouts = ALL.iter().filter_map(Strategy::at_own_services_as_designed);
            is_above_its_bound(&corpus, Strategy::at_own_services(), layouts, &assumptions);
        }
    }
}

/// The bound is the last of the usual rows.
fn is_above_its_bound(
    corpus: &Corpus,
    mut usual: Vec<Strategy>,
    layouts: impl Iterator<Item = Strategy>,
    assumptions: &Assumptions,
) {
    let costs = |strategy: &Strategy| {
        let simulated = corpus.simulate(strategy, assumptions).expect("it is simulated");
        assert_eq!(simulated.outcomes.len(), corpus.trace.prompts.len(), "{}", strategy.name);
        corpus.costs(&simulated, |rates| rates)
    };
    let bound = usual.pop().expect("a bound");
    let least = costs(&bound);
    for strategy in usual.into_iter().chain(layouts) {
        for (session, cost) in costs(&strategy) {
            let (id, name) = (corpus.history.symbols.text(session), &strategy.name);
            let least = least[&session];
            assert!(least <= cost, "{id}: {name} {cost}, the bound {least}, {assumptions:?}");
        }
    }
}

#[test]
fn a_longer_ttl_at_the_same_price_never_costs_more() {
    let Some(corpus) = corpus() else { return };
    let same_price = |rates: Rates| Rates { cache_write_1h: rates.cache_write_5m, ..rates };
    for reading in [Reading::Conservative, Reading::Literal] {
        let assumptions = Assumptions { reading, ..Assumptions::default() };
        let [short, mixed, long] = ["5m", "mixed", "1h"].map(|name| {
            let strategy = Strategy::by_name(name).expect("a strategy");
            let simulated = corpus.simulate(&strategy, &assumptions).expect("it is simulated");
            corpus.costs(&simulated, same_price)
        });
        for (session, cost) in &short {
            let id = corpus.history.symbols.text(*session);
            assert!(mixed[session] <= *cost, "{id}: mixed {}, 5m {cost}", mixed[session]);
            assert!(long[session] <= mixed[session], "{id}: 1h {}", long[session]);
        }
    }
}

#[test]
fn tokens_are_conserved_under_every_strategy() {
    let Some(corpus) = corpus() else { return };
    let assumptions = Assumptions { reading: Reading::Conservative, ..Assumptions::default() };
    for strategy in ALL.iter() {
        let Some(simulated) = corpus.simulate(strategy, &assumptions) else { continue };
        assert_eq!(simulated.outcomes.len(), corpus.trace.prompts.len(), "{}", strategy.name);
        for (index, outcome) in simulated.outcomes.iter().enumerate() {
            let sent = simulated.totals.as_ref().map(|sent| sent[index].total);
            let sent = sent.unwrap_or(corpus.trace.prompts[index].total);
            assert_eq!(outcome.total(), sent, "{} {index}", strategy.name);
        }
    }
}
