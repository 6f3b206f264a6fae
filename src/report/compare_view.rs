//! Comparison of strategies for people: first the answer, then its basis.
//!
//! Also the reads that other agents recorded, compared with the rules of their providers.

use std::cmp::Reverse;

use super::applicability::{ManagedObject, NOT_APPLICABLE, applicability_notes};
use super::{
    Columns, Document, Grid, Inputs, SessionNames, Value, answer_grid, counted, dollar_difference,
    dollars, grouped, key_notes, part, percent, relative, share,
};
use crate::base::{ByKey, Order as _, Picodollars, Symbol, Symbols};
use crate::explain::analysis::Answer;
use crate::explain::compare::{Compared, Comparison, Paired, PairedVerdict};
use crate::simulate::cache::Reading;
use crate::simulate::ledger::{Ledger, Totals};
use crate::simulate::provider::{Provider, RolloutAgreement};
use crate::simulate::strategy::{Applicability, Strategy, StrategyKind};

/// Number of listed models; further ones are joined.
const MOST_MODELS: usize = 5;

/// Number of named strategies; further ones are counted.
const MOST_NAMES: usize = 3;

/// Smallest factor that is shown: a smaller one would appear as no difference.
const LEAST_TOLD: f64 = 1.005;

/// Comparison, with the data that its outputs need besides.
#[derive(Debug)]
pub struct CompareView<'a> {
    /// Strategies side by side.
    pub comparison: &'a Comparison<'a>,
    /// Lifetime of an entry that was written after one of a shorter lifetime.
    pub reading: Reading,
    /// Counts of the input read.
    pub inputs: Inputs,
    /// Name of the price table, and the day on which it was last checked.
    pub prices: (&'a str, &'a str),
    /// Strings, among them the ids of sessions.
    pub symbols: &'a Symbols,
    /// Session of each request, for short ids that stay distinct.
    pub sessions: Vec<Symbol>,
    /// Assumptions on the cache key and on domains, in sentences.
    pub assumed: Vec<String>,
    /// Agreement of providers' rules with the sessions of other agents.
    pub rollouts: &'a [(&'a Provider, RolloutAgreement)],
}

impl<'a> CompareView<'a> {
    /// Comparison of a ledger.
    pub fn of_ledger(
        ledger: &'a Ledger<'_>,
        comparison: &'a Comparison<'_>,
        rollouts: &'a [(&'a Provider, RolloutAgreement)],
    ) -> Self {
        let history = ledger.history;
        Self {
            comparison,
            reading: ledger.assumptions.reading,
            inputs: Inputs::of(history),
            prices: (&ledger.prices.id, &ledger.prices.as_of),
            symbols: &history.symbols,
            sessions: history.requests.iter().map(|request| request.session).collect(),
            assumed: key_notes(history, ledger.steps, &comparison.assumptions),
            rollouts,
        }
    }
}

/// Strategies side by side, after the answer.
pub fn compare_document(view: &CompareView<'_>, answer: &Answer) -> Document {
    let comparison = view.comparison;
    let mut document = Document::default();
    if let Some(contradiction) = answer.contradiction {
        document.text(contradiction.sentence());
    } else if let Some(verdict) = comparison.verdict() {
        let beyond = beyond_simulation(&verdict, answer);
        document.text(verdict_sentence(&verdict, comparison.sessions) + &beyond);
    }
    document.grid(answer_grid(answer));
    document.grid(totals(comparison));
    for note in notes(comparison, view.reading).iter().chain(&view.assumed) {
        document.text(note.as_str());
    }
    // Without sub-agents the table would repeat the totals.
    if comparison.base().is_some_and(|base| base.agents.requests > 0) {
        document.heading("Main conversations and sub-agents");
        document.grid(chains(comparison));
    }
    models(&mut document, comparison);
    sessions(&mut document, view);
    agreements(&mut document, view.rollouts);
    document
}

/// Part of the difference from the bill that the cheaper strategy does not make.
///
/// Empty if the part is small.
fn beyond_simulation(verdict: &PairedVerdict<'_, '_>, answer: &Answer) -> String {
    let is_record = |one: &Compared<'_>| one.strategy.is_record();
    let costs = (verdict.other.totals.cost(), verdict.cheapest.totals.cost());
    let ((Some(high), Some(low)), Some(unsimulated)) = (costs, answer.unsimulated) else {
        return String::new();
    };
    // An amount that is small against the difference does not change the verdict.
    let is_much = unsimulated.0.abs() > high.minus(low).0 / LEAST_PART;
    if !is_much || !(is_record(verdict.other) || is_record(verdict.cheapest)) {
        return String::new();
    }
    let (amount, way) = match unsimulated.0 {
        0.. => (unsimulated, "more"),
        _ => (Picodollars(-unsimulated.0), "less"),
    };
    format!(
        " The record itself was billed {} {way} than its simulation costs: no strategy makes that part of a \
         difference.",
        dollars(Some(amount))
    )
}

/// Divisor of a difference for its least part that is worth a sentence: a tenth.
const LEAST_PART: i128 = 10;

/// Note on what a comparison over domains leaves out.
pub const UNTOLD_OVER_DOMAINS: &str = "Not told over domains: what no simulation can know, what context management did, \
                                       and how recorded reads of other agents agree with the rules. `cachesim compare` \
                                       over one domain tells it.";

/// Notes on strategies over domains: the number of domains where each is idle, and the choice made for each
/// domain.
pub fn domain_notes(
    strategies: &[(Strategy, Applicability)],
    idle: &[u64],
    domains: u64,
) -> Vec<String> {
    let mut notes = Vec::new();
    for ((strategy, applicability), idle) in strategies.iter().zip(idle) {
        // A strategy that is idle everywhere has a note of its own.
        if *idle > 0 && applicability.is_applicable() {
            notes.push(format!(
                "`{}` can do nothing in {} of {}: there it has what was billed.",
                strategy.name,
                grouped(*idle),
                counted(domains, "domain", "domains"),
            ));
        }
        if strategy.is_search() {
            notes.push(format!("`{}` is chosen for each domain.", strategy.name));
        }
    }
    notes
}

/// Cheapest strategy, with its advantage and the number of sessions with it.
fn verdict_sentence(verdict: &PairedVerdict<'_, '_>, sessions: usize) -> String {
    let (cheapest, other) = (name(verdict.cheapest), name(verdict.other));
    if verdict.cheapest.totals.cost() == verdict.other.totals.cost() {
        return format!("{cheapest} and {other} cost the same.");
    }
    let costs = match verdict.times_less() {
        Some(less) if less.times < LEAST_TOLD => {
            format!("{cheapest} and {other} cost the same within 0.5 %")
        }
        Some(less) => {
            let drawn = less.interval.filter(|_| sessions > 1).map_or_else(String::new, |drawn| {
                format!(
                    " ({} to {} if the sessions were drawn again)",
                    saved(drawn.0),
                    saved(drawn.1)
                )
            });
            format!("{cheapest} costs {} less than {other}{drawn}", saved(less.times))
        }
        None => format!("{cheapest} costs less than {other}"),
    };
    // In a single session the count would say nothing more.
    if sessions < 2 {
        return format!("{costs}.");
    }
    format!("{costs}; {cheapest} is cheaper in {} of {sessions} sessions.", verdict.cheaper)
}

/// Share saved by a cost that is a number of times less.
fn saved(times: f64) -> String {
    percent(Some(1.0 - 1.0 / times))
}

fn name(compared: &Compared<'_>) -> String {
    compared.strategy.label().to_owned()
}

/// Returns true if a strategy can be compared with a bound.
///
/// Over domains the bound is known only if it is among the strategies.
pub(super) fn has_bound(comparison: &Comparison<'_>) -> bool {
    comparison.strategies.iter().any(|one| comparison.beyond_bound(one).is_some())
}

/// A row for each strategy, with its comparison.
pub(super) fn totals(comparison: &Comparison<'_>) -> Grid {
    let base = comparison.base();
    let base_cost = base.and_then(|base| base.totals.cost());
    // The base has no difference from itself.
    let difference = |one: &Compared<'_>| {
        let is_base = base.is_some_and(|base| std::ptr::eq(base, one));
        Some(of_applicable(one)?.totals.cost()?.minus(base_cost?)).filter(|_| !is_base)
    };
    let mut columns = Columns::<Compared<'_>>::new();
    columns.left("strategy", name);
    columns.right("cost", |one| match of_applicable(one) {
        Some(one) => one.totals.cost().into(),
        None => Value::from(NOT_APPLICABLE),
    });
    columns.right("difference", |one| Some(Value::difference(Some(difference(one)?))));
    let in_per_cent = columns.right("in per cent", |one| {
        difference(one).map(|_| Value::relative(relative(one.totals.cost(), base_cost)))
    });
    in_per_cent.hidden(8);
    if has_bound(comparison) {
        let above = |one: &Compared<'_>| {
            comparison.beyond_bound(of_applicable(one)?)?;
            Some(Value::relative(relative(one.totals.cost(), comparison.bound_of(one))))
        };
        columns.right("above optimal", above).unknown("-").hidden(3);
    }
    let hit = |one: &Compared<'_>| Some(Value::from(of_applicable(one)?.totals.hit_rate()));
    columns.right("hit", hit).unknown("-").hidden(7);
    let mut count = |heading, place: usize, count: fn(&Totals) -> u64| {
        let count = move |one: &Compared<'_>| Some(count(&of_applicable(one)?.totals));
        columns.right(heading, count).unknown("-").hidden(place);
    };
    count("read", 6, |sums| sums.read.0);
    count("written 5m", 5, |sums| sums.write_5m.0);
    count("written 1h", 4, |sums| sums.write_1h.0);
    count("input", 1, |sums| sums.input.0);
    count("added", 2, |sums| sums.added);
    columns.grid(&comparison.strategies)
}

/// The strategy, if it has figures.
fn of_applicable<'c, 'l>(compared: &'c Compared<'l>) -> Option<&'c Compared<'l>> {
    Some(compared).filter(|compared| compared.applicability.is_applicable())
}

/// Remarks on the strategies.
pub(super) fn notes(comparison: &Comparison<'_>, reading: Reading) -> Vec<String> {
    let chosen = comparison.strategies.iter().filter_map(|compared| {
        let design = compared.chosen.as_ref()?;
        Some(format!("{} is {design}.", compared.strategy.name))
    });
    let managed = comparison.strategies.iter().filter_map(|compared| {
        let managed = compared.managed.as_ref()?;
        Some(ManagedObject::new(&compared.strategy.name, managed).effect())
    });
    let strategies = comparison.strategies.iter();
    let applicability = applicability_notes(
        strategies.map(|compared| (&*compared.strategy.name, compared.applicability)),
    );
    let bound = bound(comparison, reading);
    let services = of_services(comparison);
    let notes = services.into_iter().chain(chosen).chain(managed).chain(bound);
    notes.chain(applicability).chain(unknowns(comparison)).collect()
}

fn bound(comparison: &Comparison<'_>, reading: Reading) -> Option<String> {
    let bound = comparison.bound;
    bound.own_reading.or(bound.other_reading)?;
    let breaks = if comparison.assumptions.keeps_breaks {
        " with their recorded breaks, which the best caching leaves out"
    } else {
        " without breaks"
    };
    let (own, other) = match reading {
        Reading::Conservative => (
            "no entry outlives the shortest-lived part of its prefix",
            "an entry lives for its own TTL whatever lies before it",
        ),
        Reading::Literal => (
            "an entry lives for its own TTL whatever lies before it",
            "no entry outlives the shortest-lived part of its prefix",
        ),
    };
    let other = bound
        .other_reading
        .map_or_else(String::new, |cost| format!(", {} where {other}", dollars(Some(cost))));
    Some(format!(
        "`optimal` is the least that any markers, TTLs and pings could have cost for the same \
         prompts{breaks}: {} where {own} (so are all strategies simulated){other}.",
        dollars(bound.own_reading),
    ))
}

/// Unknowns of all simulations, each once with the strategies concerned.
///
/// If it concerns all of a provider's strategies, the provider is named instead.
fn unknowns(comparison: &Comparison<'_>) -> Vec<String> {
    let mut of_service: ByKey<&str, usize> = ByKey::new();
    let mut about: Vec<(&str, Vec<&Strategy>)> = Vec::new();
    for compared in &comparison.strategies {
        *of_service.entry(service(compared.strategy)).or_default() += 1;
        for unknown in &compared.unknowns {
            match about.iter_mut().find(|(known, _)| known == unknown) {
                Some((_, concerned)) => concerned.push(compared.strategy),
                None => about.push((unknown, vec![compared.strategy])),
            }
        }
    }
    let sentence = |(unknown, concerned): (&str, Vec<&Strategy>)| {
        let is_whole = |name: &str| {
            concerned.iter().filter(|one| service(one) == name).count() == of_service[name]
        };
        let mut names: Vec<&str> = Vec::new();
        for strategy in &concerned {
            let of_all = service(strategy);
            let name = if is_whole(of_all) { of_all } else { strategy.name.as_ref() };
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let (shown, rest) = names.split_at(names.len().min(MOST_NAMES));
        let others =
            if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
        format!("{}{others}: {unknown}.", shown.join(", "))
    };
    about.into_iter().map(sentence).collect()
}

/// Common beginning of the names of a service's strategies, or a strategy's own name.
fn service(strategy: &Strategy) -> &str {
    match &strategy.kind {
        StrategyKind::Elsewhere(provider, ..) => provider.name,
        StrategyKind::Own(_) => "own",
        _ => &strategy.name,
    }
}

/// Reading instruction for the rows of services.
fn of_services(comparison: &Comparison<'_>) -> Option<String> {
    let mut strategies = comparison.strategies.iter();
    strategies.any(|compared| compared.strategy.sends_all()).then(|| {
        "Rows of services are in their tokens and at their prices: `written 5m` and `written 1h` are for the usual and \
         the longer lifetime of each, and `above optimal` is held against its own `+optimal`."
            .to_owned()
    })
}

fn chains(comparison: &Comparison<'_>) -> Grid {
    let mut columns = Columns::<Compared<'_>>::new();
    columns.left("strategy", name);
    let mut side = |heading, of: fn(&Compared<'_>) -> Totals| {
        let base = comparison.base().and_then(|base| of(base).cost());
        columns.right(heading, move |one| of(one).all_costs());
        columns.right("", move |one| Value::relative(relative(of(one).cost(), base)));
        columns.right("hit", move |one| of(one).hit_rate());
    };
    side("main", |one| one.main);
    side("sub-agents", |one| one.agents);
    columns.grid(applicable(comparison))
}

/// Strategies with figures.
fn applicable<'c, 'l>(comparison: &'c Comparison<'l>) -> impl Iterator<Item = &'c Compared<'l>> {
    comparison.strategies.iter().filter(|compared| compared.applicability.is_applicable())
}

/// Models that cost most under the base, and the others joined.
fn models(document: &mut Document, comparison: &Comparison<'_>) {
    let Some(base) = comparison.base() else { return };
    let mut models: Vec<&str> = base.by_model.keys().map(String::as_str).collect();
    let base_cost = |model: &&str| base.by_model.get(*model).and_then(Totals::cost);
    models.order_by_key(|model| Reverse(base_cost(model)));
    if models.len() < 2 {
        return;
    }
    let (shown, rest) = models.split_at(models.len().min(MOST_MODELS));
    let cost = |one: &Compared<'_>, model: &str| one.by_model.get(model).and_then(Totals::cost);
    let mut columns = Columns::<Compared<'_>>::new();
    columns.left("strategy", name);
    for model in shown {
        columns.right(*model, move |one| cost(one, model));
    }
    if !rest.is_empty() {
        columns.right("others", |one| {
            rest.iter().filter_map(|model| cost(one, model)).reduce(|sum, cost| sum + cost)
        });
    }
    // A strategy of another service has none of the base's models, so its row would be empty.
    let has_models =
        |one: &&Compared<'_>| one.by_model.keys().any(|model| base.by_model.contains_key(model));
    document.heading("By model");
    document.grid(columns.grid(applicable(comparison).filter(has_models)));
}

fn sessions(document: &mut Document, view: &CompareView<'_>) {
    let comparison = view.comparison;
    let Some(base) = comparison.base() else { return };
    // One session is already the whole of the table above.
    if comparison.sessions < 2 {
        return;
    }
    let base_name = name(base);
    document.heading(format!("Session by session, against {base_name}"));
    let names = SessionNames::among(view.symbols, view.sessions.iter().copied());
    let signed = |amount| dollar_difference(Some(amount));
    let mut columns = Columns::<(&Compared<'_>, &Paired)>::new();
    columns.left("strategy", |(compared, _)| name(compared));
    columns.right("difference", move |(_, paired)| Value::difference(Some(paired.difference)));
    let draws = columns.right("95 % of draws", move |(_, paired)| {
        paired.interval.map(|(low, high)| format!("{} … {}", signed(low), signed(high)))
    });
    draws.hidden(5);
    for (at, (heading, place)) in
        [("quarter", 1), ("median", 3), ("three quarters", 2)].into_iter().enumerate()
    {
        columns
            .right(heading, move |(_, paired)| Some(Value::difference(Some(paired.quartiles?[at]))))
            .hidden(place);
    }
    columns.right("costs less in", |(_, paired)| paired.cheaper);
    columns.right("costs more in", |(_, paired)| paired.dearer);
    columns.wrapped("decided by", |(_, paired)| decisive(paired, &names)).hidden(4);
    let paired = comparison.strategies.iter().filter_map(|one| Some((one, one.paired.as_ref()?)));
    document.grid(columns.grid(paired));
    document.text(format!(
        "{} compared one by one; the interval is that of the sum if the sessions were drawn again.",
        counted(comparison.sessions as u64, "session", "sessions"),
    ));
    if comparison.incomparable > 0 {
        document.text(format!(
            "Not comparable: {}, of which some strategy's cost is not known.",
            counted(comparison.incomparable as u64, "session", "sessions"),
        ));
    }
}

/// The sessions that decide a difference, each with its part of it.
fn decisive(paired: &Paired, names: &SessionNames<'_>) -> String {
    let decisive = paired.decisive.iter().map(|one| {
        // If differences have both signs, a session can be more than all of the sum: then no share is shown.
        let share = part(Some(one.difference), Some(paired.difference));
        let share = share.filter(|share| (0.0..=1.0).contains(share));
        let share = share.map_or_else(String::new, |share| format!(" ({})", percent(Some(share))));
        format!("{} {}{share}", names.name(one.session), dollar_difference(Some(one.difference)))
    });
    decisive.collect::<Vec<_>>().join(", ")
}

/// Adds a row for each provider that has requests to compare.
pub(super) fn agreements(document: &mut Document, agreements: &[(&Provider, RolloutAgreement)]) {
    let compared = agreements.iter().filter(|(_, agreement)| agreement.requests > 0);
    if compared.clone().next().is_none() {
        return;
    }
    document.heading("Other agents: recorded reads against the documented rules");
    let mut columns = Columns::<(&Provider, RolloutAgreement)>::new();
    columns.left("provider", |(provider, _)| provider.name);
    columns.right("compared", |(_, agreement)| agreement.requests);
    let mut exact = |heading, place: Option<usize>, part: fn(&RolloutAgreement) -> u64| {
        let share = move |one: &RolloutAgreement| share(part(one), one.requests);
        columns.right(heading, move |(_, one)| Value::exact_share(share(one))).hidden(place);
    };
    exact("within 1 %", None, |agreement| agreement.within_1_percent);
    exact("within a step", Some(5), |agreement| agreement.within_step);
    exact("within its session's step", Some(4), |agreement| agreement.within_recorded_step);
    let error = |one: &RolloutAgreement| share(one.error.0, one.recorded.0);
    columns.right("read error", move |(_, one)| Value::exact_share(error(one)));
    columns.right("lost in both", |(_, agreement)| agreement.both_lost).hidden(3);
    columns.right("only in the record", |(_, agreement)| agreement.only_recorded_lost).hidden(2);
    columns.right("only under the rules", |(_, agreement)| agreement.only_simulated_lost).hidden(1);
    document.grid(columns.grid(compared));
    document.text(
        "The first request of each session is left out: its recorded read is an input of the \
         simulation. Lost is a read below half of what the request before had sent.",
    );
}
