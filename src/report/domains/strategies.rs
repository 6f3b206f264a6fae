//! Sums of each strategy, over one history or several.

use super::{DomainSums, Figure};
use crate::base::{Picodollars, Tokens};
use crate::explain::analysis::Answer;
use crate::report::analyze_view::is_comparable;
use crate::report::applicability::{NOT_APPLICABLE, applicability_notes};
use crate::report::caveats::Caveats;
use crate::report::compare_view::domain_notes;
use crate::report::{Columns, Document, Grid, Tone, Value, part, relative};
use crate::simulate::ledger::{Ledger, Selection, Totals};
use crate::simulate::strategy::{Applicability, Strategy};

/// Sums of some requests under strategies.
#[derive(Clone, Debug)]
pub struct StrategySums {
    domains: u64,
    list: Vec<StrategySum>,
    caveats: Caveats,
}

/// Sums of one strategy.
#[derive(Clone, Debug)]
struct StrategySum {
    strategy: Strategy,
    /// Applicability in at least one domain, else the reason against it.
    applicability: Applicability,
    /// True if the tokens compare with those of the others.
    is_comparable: bool,
    /// Sums of the domains in which the strategy can act.
    totals: Totals,
    /// Recorded sums of the other domains.
    as_recorded: Totals,
    /// Number of these other domains.
    idle: u64,
}

impl StrategySum {
    /// Sums, with the record for domains in which the strategy cannot act.
    fn totals(&self) -> Totals {
        let mut totals = self.totals;
        totals += self.as_recorded;
        totals
    }

    /// Returns true if the strategy has a row for every request, in tokens that compare.
    fn is_base(&self) -> bool {
        self.is_comparable && self.totals().unrecorded == 0
    }
}

impl StrategySums {
    /// Sums of the selected requests, under the first strategies of the ledger. A strategy that cannot act takes the
    /// record, which is unknown without `billed` in the ledger.
    pub fn of(ledger: &Ledger<'_>, selection: &Selection, shown: usize) -> Self {
        let sums = |column| ledger.totals(column, selection.requests());
        // Without a record every request is unrecorded, so that no sum looks complete.
        let unrecorded = selection.requests().count() as u64;
        let unknown = Totals { unrecorded, ..Totals::default() };
        let record = ledger.billed().map_or(unknown, sums);
        let list = ledger.columns.iter().take(shown).map(|column| {
            let is_idle = !column.applicability().is_applicable();
            let nothing = Totals::default();
            let (totals, as_recorded) =
                if is_idle { (nothing, record) } else { (sums(column), nothing) };
            StrategySum {
                strategy: column.strategy.clone(),
                applicability: column.applicability().clone(),
                is_comparable: is_comparable(ledger, column),
                totals,
                as_recorded,
                idle: u64::from(is_idle),
            }
        });
        Self { domains: 1, list: list.collect(), caveats: Caveats::of(ledger, selection) }
    }

    /// Table with a row for each strategy, compared with the first one that has all requests.
    pub(in crate::report) fn grid(&self) -> Grid {
        let first = self.list.iter().position(StrategySum::is_base);
        let base = first.and_then(|first| self.list[first].totals().cost());
        let bases = self.list.iter().filter(|one| one.is_base());
        let dearest = bases.filter_map(|one| one.totals().cost()).max();
        strategy_columns(base, dearest).grid(self.list.iter().enumerate().map(|(at, strategy)| {
            let is_idle = !strategy.applicability.is_applicable();
            StrategyRow {
                strategy,
                totals: Some(strategy.totals()).filter(|_| !is_idle),
                is_compared: Some(at) != first && strategy.is_base() && !is_idle,
            }
        }))
    }
}

/// Row of a strategy.
struct StrategyRow<'s> {
    strategy: &'s StrategySum,
    /// `None` of a strategy that can act nowhere.
    totals: Option<Totals>,
    /// True if it is compared with the base.
    is_compared: bool,
}

impl StrategyRow<'_> {
    /// Totals that are compared with the base.
    fn compared(&self) -> Option<Totals> {
        self.totals.filter(|_| self.is_compared)
    }
}

/// Columns of strategies, with differences from the base and bars against the most expensive strategy.
fn strategy_columns<'s>(
    base: Option<Picodollars>,
    dearest: Option<Picodollars>,
) -> Columns<'s, StrategyRow<'s>> {
    let mut columns = Columns::<StrategyRow<'_>>::new();
    columns.left("strategy", |row| row.strategy.strategy.label().to_owned());
    let mut count = |heading, place: usize, count: fn(&Totals) -> Tokens| {
        let count = move |row: &StrategyRow<'_>| row.totals.as_ref().map(count);
        columns.right(heading, count).unknown("-").hidden(place);
    };
    count("read", 5, |sums| sums.read);
    count("written 5m", 4, |sums| sums.write_5m);
    count("written 1h", 3, |sums| sums.write_1h);
    count("input", 2, |sums| sums.input);
    count("output", 1, |sums| sums.output);
    let hit = |row: &StrategyRow<'_>| Some(Value::from(row.totals?.hit_rate()));
    columns.right("hit", hit).unknown("-").hidden(6);
    columns.right("cost", |row| match &row.totals {
        Some(totals) => Value::from(totals.all_costs()),
        None => NOT_APPLICABLE.into(),
    });
    let is_base = |row: &StrategyRow<'_>| row.strategy.is_base();
    columns.bar(move |row| part(row.totals?.cost(), dearest).filter(|_| is_base(row)));
    let difference = move |sums: Totals| Some(sums.cost()?.minus(base?));
    columns.right("difference", move |row| Some(Value::difference(difference(row.compared()?))));
    let share = move |sums: Totals| Value::relative(relative(sums.cost(), base));
    columns.right("in per cent", move |row| row.compared().map(share)).hidden(7);
    columns.toned(move |row| match row.compared().and_then(difference) {
        Some(Picodollars(..0)) => Tone::Saving,
        _ => Tone::Plain,
    });
    columns
}

impl DomainSums for StrategySums {
    const COLUMN: Option<&'static str> = None;

    fn figure(&self) -> Figure {
        Figure::None
    }

    fn absorb(&mut self, other: Self) {
        self.domains += other.domains;
        self.caveats.absorb(other.caveats);
        // All domains have the same strategies, in the same order.
        for (own, other) in self.list.iter_mut().zip(other.list) {
            own.totals += other.totals;
            own.as_recorded += other.as_recorded;
            own.idle += other.idle;
            own.is_comparable &= other.is_comparable;
            if !own.applicability.is_applicable() {
                own.applicability = other.applicability;
            }
        }
    }

    fn show(&self, _: &Answer, document: &mut Document) {
        document.heading("Totals by strategy");
        document.grid(self.grid());
        let idle = self.list.iter().filter(|one| !one.applicability.is_applicable());
        let idle = idle.map(|one| (&*one.strategy.name, &one.applicability));
        let strategies: Vec<(Strategy, Applicability)> =
            self.list.iter().map(|one| (one.strategy.clone(), one.applicability.clone())).collect();
        let counts: Vec<u64> = self.list.iter().map(|one| one.idle).collect();
        let notes = self.caveats.notes().into_iter().chain(applicability_notes(idle));
        for note in notes.chain(domain_notes(&strategies, &counts, self.domains)) {
            document.text(note);
        }
    }
}
