//! Laws between strategies, on every session of the corpus: nothing that leaves the prompts as they
//! are is cheaper than the bound, a longer TTL at the same price is never dearer, no token is lost.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::OnceLock;

use cachesim::base::id::Symbol;
use cachesim::base::units::{Picodollars, Tokens};
use cachesim::read::capture::TokenCounting;
use cachesim::read::input::discover;
use cachesim::requests::conversation::{History, ReadOptions, RequestIndex, read};
use cachesim::requests::prompt::{PromptTrace, Step, build, steps};
use cachesim::simulate::cache::{Reading, Rules};
use cachesim::simulate::ledger::Ledger;
use cachesim::simulate::pricing::{Billing, PriceTable, Rates, RequestRates};
use cachesim::simulate::provider::{self, token_ratio};
use cachesim::simulate::strategy::{ALL, Assumptions, Material, Simulated, Strategy, StrategyKind};

use crate::common::{captures, project, shared, transcripts};

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
    read_counted(folder, TokenCounting::Exact)
}

fn read_counted(folder: PathBuf, counting: TokenCounting) -> Corpus {
    let options = ReadOptions { counting, ..ReadOptions::default() };
    let history = read(discover(&[folder]), options, |_| {});
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
        for added in simulated.added() {
            let request = self.history.request(RequestIndex::new(added.after));
            *costs.entry(request.session).or_default() += added.storage;
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
    // What one capture sends is warm for another one, so that together they show less.
    let captures = captures().into_iter().map(Some);
    // Fixtures share prompts, so that what one session pays for another depends on their sizes.
    let fixtures = read_counted(project("fixtures"), TokenCounting::Estimated);
    let folders = [transcripts("corpus"), shared("agents")].into_iter().chain(captures);
    let inputs = folders.flatten().map(read_all).chain([fixtures]);
    for corpus in inputs {
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

/// The bound is the one of the usual rows that says so. No token is lost, and what is read and written ends with a whole step.
fn is_above_its_bound(
    corpus: &Corpus,
    mut usual: Vec<Strategy>,
    layouts: impl Iterator<Item = Strategy>,
    assumptions: &Assumptions,
) {
    let costs = |strategy: &Strategy| {
        let simulated = corpus.simulate(strategy, assumptions).expect("it is simulated");
        assert_eq!(simulated.outcomes.len(), corpus.trace.prompts.len(), "{}", strategy.name);
        for (prompt, outcome) in corpus.trace.prompts.iter().zip(&simulated.outcomes) {
            if let Some(provider) = simulated.provider {
                let ratio = token_ratio(corpus.history.facts(prompt.model));
                let sent = ratio.of(prompt.total + prompt.deleted);
                assert_eq!(outcome.total(), sent, "{}", strategy.name);
                let step = provider.rules.counting().step.0;
                let ends = [outcome.read, outcome.read + outcome.write_5m + outcome.write_1h];
                let is_whole = ends.iter().all(|end| end.0 % step == 0);
                assert!(is_whole, "{}: {outcome:?} of {prompt:?}", strategy.name);
            }
        }
        corpus.costs(&simulated, |rates| rates)
    };
    // What other rules would make of the requests has no bound.
    usual.retain(|one| one.bound_elsewhere().is_some());
    let bound = usual.iter().position(|one| one.name.ends_with("+optimal")).expect("a bound");
    let least = costs(&usual.remove(bound));
    for strategy in usual.into_iter().chain(layouts) {
        for (session, cost) in costs(&strategy) {
            let (id, name) = (corpus.history.symbols.text(session), &strategy.name);
            let least = least[&session];
            assert!(least <= cost, "{id}: {name} {cost}, the bound {least}, {assumptions:?}");
        }
    }
}

/// The rules that are expected of requests without markers are those of their own services.
#[test]
fn requests_at_their_own_services_read_what_is_expected() {
    for folder in [shared("agents"), Some(project("fixtures"))] {
        let Some(corpus) = folder.map(read_all) else { continue };
        let assumptions = Assumptions { keeps_breaks: false, ..Assumptions::default() };
        let own = Strategy::at_own_services().remove(0);
        let own = corpus.simulate(&own, &assumptions).expect("it is simulated");
        let prices = PriceTable::built_in();
        let Corpus { history, steps, trace, .. } = &corpus;
        let replay = [Strategy::expected()];
        let ledger = Ledger::new(history, steps, trace, &prices, &replay, &assumptions);
        let expected = ledger.columns[0].outcomes().expect("it is simulated");
        let first = history.sent_with_markers().len();
        assert!(history.requests.len() > first);
        for (own, expected) in own.outcomes[first..].iter().zip(&expected[first..]) {
            assert_eq!((own.read, own.total()), (expected.read, expected.total()));
        }
    }
}

/// Longer lives, shorter prefixes and finer steps never cost more where writes are free.
#[test]
fn the_range_of_what_is_not_documented_holds_what_is_assumed() {
    let Some(corpus) = corpus() else { return };
    let assumptions = Assumptions { reading: Reading::Conservative, ..Assumptions::default() };
    for provider in provider::ALL.iter().filter(|one| matches!(one.rules, Rules::Automatic(_))) {
        let all = Strategy::elsewhere(provider);
        let costs = |end: &str| {
            let one = all.iter().find(|one| one.name == format!("{}{end}", provider.name));
            let simulated = corpus.simulate(one?, &assumptions).expect("it is simulated");
            Some(corpus.costs(&simulated, |rates| rates))
        };
        let assumed = costs("").expect("a row");
        let (worst, best) = (costs("+at-worst"), costs("+at-best"));
        for (session, cost) in &assumed {
            let worst = worst.as_ref().map_or(*cost, |worst| worst[session]);
            let best = best.as_ref().map_or(*cost, |best| best[session]);
            assert!(best <= *cost && *cost <= worst, "{}: {best} {cost} {worst}", provider.name);
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
