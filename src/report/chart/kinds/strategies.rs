//! Chart of the costs of strategies, by class of token, with the bound.

use std::cmp::Reverse;

use super::{
    apart_note, left_out_notes, no_cost, selection_scope, simulation_note, strategy_ink,
    undrawn_notes,
};
use crate::base::{Order as _, Picodollars};
use crate::explain::analysis::Spending;
use crate::report::chart::axis::{Axis, AxisUnit};
use crate::report::chart::ink::Ink;
use crate::report::chart::{AxisRule, Bar, Bars, Chart, Panel};
use crate::report::{dollars, percent_difference, relative};
use crate::simulate::ledger::{Ledger, Selection, StrategyColumn, Totals};

const TITLE: &str = "What strategies cost";

/// Strategy that charts leave out by default: sessions without caching cost several times as much, and nothing else
/// could be distinguished next to it.
pub const UNDRAWN_STRATEGY: &str = "none";

/// Most bars that are readable.
const MOST_BARS: usize = 40;

/// Ink and name of each class of token, from left to right in a bar.
pub(super) const CLASSES: [(Ink, &str); 6] = [
    (Ink::Read, "read from cache"),
    (Ink::Written5m, "written for 5 min"),
    (Ink::Written1h, "written for 1 h"),
    (Ink::Input, "sent in full"),
    (Ink::Output, "output"),
    (Ink::Fees, "web searches"),
];

/// Cost of each class, in the order of [`CLASSES`].
pub(super) fn by_class(spending: &Spending) -> [Picodollars; 6] {
    let charges = &spending.charges;
    let written = [charges.write_5m, charges.write_1h];
    [charges.read, written[0], written[1], charges.input, charges.output, spending.fees]
}

/// Cost of some columns of a ledger, most expensive first. `bound` is the least possible cost under the same
/// assumptions.
pub fn strategies_chart(
    ledger: &Ledger<'_>,
    columns: &[&StrategyColumn],
    bound: Option<Picodollars>,
    selection: &Selection,
) -> Chart {
    let scope = selection_scope(ledger.history, selection);
    let (mut known, unknown) = costs(ledger, columns, selection);
    // The strategy named first is the base of the differences, whatever it costs.
    let Some(first) = known.first().copied() else {
        return Chart::without_data(TITLE, &scope, &no_cost(ledger, columns, selection));
    };
    known.order_by_key(|cost| Reverse(cost.spending.total()));
    // The most expensive ones come first, and are dropped.
    let surplus = known.len().saturating_sub(MOST_BARS);
    let undrawn: Vec<&str> = known.drain(..surplus).map(|cost| cost.name).collect();
    let base = dollars(Some(first.spending.total()));
    let mut chart = Chart::new(TITLE, format!("{scope}. {}: {base}.", first.name));
    let highest = known.first().map_or(Picodollars::ZERO, |cost| cost.spending.total());
    chart.panels.push(Panel::Bars(Bars {
        heading: format!("dollars, and the difference to {}", first.name),
        x: Axis::amounts(highest.to_dollars_lossy(), AxisUnit::Dollars, 6),
        rows: known.iter().map(|cost| cost.bar(&first)).collect(),
        rule: bound.map(|bound| AxisRule {
            at: bound.to_dollars_lossy(),
            label: format!("optimal {}", dollars(Some(bound))),
        }),
    }));
    let spendings: Vec<&Spending> = known.iter().map(|cost| &cost.spending).collect();
    explain_classes(&mut chart, &spendings);
    chart.notes.extend(simulation_note(columns));
    if bound.is_some() {
        let breaks =
            if ledger.assumptions.keeps_breaks { "with their breaks" } else { "without breaks" };
        chart.note(format!(
            "“optimal” is the least that any markers, lifetimes and pings could have cost for the same \
             prompts {breaks}."
        ));
    }
    chart.notes.extend(known.iter().find_map(|cost| apart_note(&cost.totals)));
    if !undrawn.is_empty() {
        chart.note(format!("Not drawn, since they cost more: {}.", undrawn.join(", ")));
    }
    chart.notes.extend(undrawn_notes(&unknown));
    // The notes of the column with the most unpriced requests cover the others.
    let unpriced = known.iter().max_by_key(|cost| cost.totals.unpriced_requests);
    chart.notes.extend(unpriced.into_iter().flat_map(|cost| left_out_notes(&cost.totals)));
    chart
}

/// Cost of a strategy.
#[derive(Clone, Copy)]
struct StrategyCost<'l> {
    name: &'l str,
    ink: Ink,
    totals: Totals,
    spending: Spending,
}

impl StrategyCost<'_> {
    fn bar(&self, base: &Self) -> Bar {
        let total = Some(self.spending.total());
        let mut value = dollars(total);
        if self.name != base.name {
            let difference = relative(total, Some(base.spending.total()));
            value = format!("{value}  {}", percent_difference(difference));
        }
        let parts = CLASSES.iter().zip(by_class(&self.spending));
        Bar {
            mark: Some(self.ink),
            label: self.name.to_owned(),
            value,
            from: 0.0,
            parts: parts.map(|((ink, _), cost)| (*ink, cost.to_dollars_lossy())).collect(),
        }
    }
}

/// Known costs, and the columns without one.
fn costs<'l>(
    ledger: &'l Ledger<'_>,
    columns: &[&'l StrategyColumn],
    selection: &Selection,
) -> (Vec<StrategyCost<'l>>, Vec<&'l StrategyColumn>) {
    let (mut known, mut unknown) = (Vec::new(), Vec::new());
    for &column in columns {
        let name = column.strategy.label();
        let totals = ledger.totals(column, selection.requests());
        if totals.cost().is_some() && totals.unrecorded == 0 {
            let spending = Spending::of(ledger, column, selection);
            known.push(StrategyCost { name, ink: strategy_ink(columns, column), totals, spending });
        } else {
            unknown.push(column);
        }
    }
    (known, unknown)
}

/// Adds the classes that occur to the legend.
pub(super) fn explain_classes(chart: &mut Chart, all: &[&Spending]) {
    for (place, (ink, name)) in CLASSES.into_iter().enumerate() {
        if all.iter().any(|spending| by_class(spending)[place] > Picodollars::ZERO) {
            chart.explain(ink, name);
        }
    }
}
