//! Sums of each strategy, over one history or several.

use super::{DomainSums, Figure};
use crate::base::units::Picodollars;
use crate::explain::analysis::Answer;
use crate::report::analyze_view::{cost_cell, is_comparable};
use crate::report::applicability::{NOT_APPLICABLE, applicability_notes};
use crate::report::caveats::Caveats;
use crate::report::compare_view::domain_notes;
use crate::report::document::{Align, Document, Grid};
use crate::report::number::{
    bar, dollar_difference, part, percent, percent_difference, relative, tokens,
};
use crate::report::table::Tone;
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
    #[must_use]
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
        let mut grid = Grid::new(&[
            ("strategy", Align::Left),
            ("read", Align::Right),
            ("written 5m", Align::Right),
            ("written 1h", Align::Right),
            ("input", Align::Right),
            ("output", Align::Right),
            ("hit", Align::Right),
            ("cost", Align::Right),
            ("", Align::Bar),
            ("difference", Align::Right),
            ("in per cent", Align::Right),
        ])
        .hide_first(&[
            "output",
            "input",
            "written 1h",
            "written 5m",
            "read",
            "hit",
            "in per cent",
        ]);
        let first = self.list.iter().position(StrategySum::is_base);
        let base = first.and_then(|first| self.list[first].totals().cost());
        let bases = self.list.iter().filter(|one| one.is_base());
        let dearest = bases.filter_map(|one| one.totals().cost()).max();
        for (number, one) in self.list.iter().enumerate() {
            let is_compared = Some(number) != first && one.is_base();
            let (cells, tone) = one.cells((base, is_compared), dearest);
            grid.add_toned(cells, tone);
        }
        grid
    }
}

impl StrategySum {
    /// Row of the strategy: the difference to the base if there is one, and a bar against the most expensive strategy.
    fn cells(
        &self,
        (base, is_compared): (Option<Picodollars>, bool),
        dearest: Option<Picodollars>,
    ) -> (Vec<String>, Tone) {
        let mut cells = vec![self.strategy.label().to_owned()];
        if !self.applicability.is_applicable() {
            cells.extend((0..6).map(|_| "-".to_owned()));
            cells.extend([NOT_APPLICABLE.to_owned(), String::new(), String::new(), String::new()]);
            return (cells, Tone::Plain);
        }
        let totals = self.totals();
        let cost = totals.cost();
        let difference = is_compared.then(|| Some(cost?.minus(base?)));
        let share = is_compared.then(|| percent_difference(relative(cost, base)));
        let is_saving = difference.flatten().is_some_and(|one| one.0 < 0);
        cells.extend(
            [totals.read, totals.write_5m, totals.write_1h, totals.input, totals.output]
                .map(tokens),
        );
        cells.extend([
            percent(totals.hit_rate()),
            cost_cell(&totals),
            bar(part(cost, dearest).filter(|_| self.is_base())),
            difference.map(dollar_difference).unwrap_or_default(),
            share.unwrap_or_default(),
        ]);
        (cells, if is_saving { Tone::Saving } else { Tone::Plain })
    }
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
