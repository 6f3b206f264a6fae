//! Chart of the spending of each day, week, month or year, by class of token.

use super::strategies::{CLASSES, by_class, explain_classes};
use super::{left_out_notes, no_cost, selection_scope};
use crate::base::{Picodollars, Zone};
use crate::explain::analysis::{Period, PeriodLength, Spending, spending_by_period};
use crate::report::chart::axis::{Axis, AxisUnit, Tick};
use crate::report::chart::ink::Ink;
use crate::report::chart::{Chart, Column, Columns, Panel, Plot};
use crate::report::dollars;
use crate::simulate::ledger::{Ledger, Selection, StrategyColumn};

/// Most columns of one length, here days: nine weeks. Longer records have columns of weeks, then months, then years.
pub(super) const MOST_DAYS: i64 = 63;

/// Most columns, even for thousands of years.
const MOST_PERIODS: usize = 400;

/// Spending under a column of a ledger.
pub fn daily_chart(ledger: &Ledger<'_>, column: &StrategyColumn, selection: &Selection) -> Chart {
    let scope = selection_scope(ledger.history, selection);
    let times = || selection.requests().map(|index| ledger.history.request(index).time());
    let length = match (times().min(), times().max()) {
        (Some(first), Some(last)) => PeriodLength::covering(first, last, MOST_DAYS),
        _ => PeriodLength::Day,
    };
    let totals = ledger.totals(column, selection.requests());
    let Some(cost) = totals.cost() else {
        return Chart::without_data(&title(length), &scope, &no_cost(ledger, &[column], selection));
    };
    let spending = spending_by_period(ledger, column, selection, length);
    let spendings: Vec<&Spending> = spending.values().collect();
    let calendar = Calendar {
        scope: &scope,
        name: &column.strategy.name,
        cost,
        length,
        zone: &ledger.history.zone,
        inks: CLASSES.iter().map(|(ink, _)| *ink).collect(),
    };
    let by_class = spending.iter().map(|(period, spending)| (*period, by_class(spending).to_vec()));
    let mut chart = calendar.chart(by_class.collect());
    explain_classes(&mut chart, &spendings);
    chart.legend.reverse();
    chart.notes.extend(left_out_notes(&totals));
    chart
}

/// Costs of periods, to be drawn.
pub(super) struct Calendar<'a> {
    pub(super) scope: &'a str,
    /// Name of the spending, such as `billed`.
    pub(super) name: &'a str,
    /// Total cost.
    pub(super) cost: Picodollars,
    pub(super) length: PeriodLength,
    pub(super) zone: &'a Zone,
    /// Inks of the parts of a period's cost, from the bottom up.
    pub(super) inks: Vec<Ink>,
}

/// A period with the parts of its cost.
pub(super) type PeriodCost = (Period, Vec<Picodollars>);

fn total(parts: &[Picodollars]) -> Picodollars {
    parts.iter().copied().sum()
}

impl Calendar<'_> {
    /// Draws periods in order.
    pub(super) fn chart(self, mut periods: Vec<PeriodCost>) -> Chart {
        let length = self.length;
        let is_cut = periods.len() > MOST_PERIODS;
        // The oldest periods are dropped.
        periods.drain(..periods.len().saturating_sub(MOST_PERIODS));
        let dearest = periods.iter().max_by_key(|(_, parts)| total(parts));
        let dearest = dearest.map_or_else(String::new, |(period, parts)| {
            let cost = dollars(Some(total(parts)));
            format!("; the most expensive {}: {cost} ({})", length.name(), label(*period, length))
        });
        let (scope, name) = (self.scope, self.name);
        let mut chart = Chart::new(
            title(length),
            format!("{scope}. {name}: {}{dearest}.", dollars(Some(self.cost))),
        );
        let axis = calendar(&periods, length, self.zone);
        let columns = Columns {
            inks: self.inks,
            columns: periods.iter().enumerate().map(|(place, one)| column(place, one)).collect(),
        };
        chart.panels.push(Panel::Plot(Plot {
            heading: "dollars".to_owned(),
            height: 400,
            x: axis,
            y: Axis::amounts(columns.highest(), AxisUnit::Dollars, 5),
            columns,
            lines: Vec::new(),
            rules: Vec::new(),
        }));
        if is_cut {
            chart.notes.push(format!("Shown are the last {MOST_PERIODS}."));
        }
        chart
    }
}

fn title(length: PeriodLength) -> String {
    format!("What was paid each {}", length.name())
}

#[allow(clippy::cast_precision_loss)] // places in a picture
fn column(place: usize, (_, parts): &PeriodCost) -> Column {
    Column {
        from: place as f64,
        to: place as f64 + 1.0,
        parts: parts.iter().map(|cost| positive(*cost)).collect(),
        label: match total(parts) {
            Picodollars::ZERO => String::new(),
            total => dollars(Some(total)),
        },
    }
}

fn positive(cost: Picodollars) -> f64 {
    cost.to_dollars_lossy().max(0.0)
}

/// Axis of dates, each below the middle of its column.
#[allow(clippy::cast_precision_loss)] // places in a picture
fn calendar(periods: &[PeriodCost], length: PeriodLength, zone: &Zone) -> Axis {
    let ticks = periods
        .iter()
        .enumerate()
        .map(|(place, (period, _))| Tick { at: place as f64 + 0.5, label: label(*period, length) });
    let title = match length {
        PeriodLength::Week => format!("week from ({})", zone.name()),
        _ => format!("{} ({})", length.name(), zone.name()),
    };
    Axis { from: 0.0, to: periods.len().max(1) as f64, title, ticks: ticks.collect() }
}

fn label(period: Period, length: PeriodLength) -> String {
    let day = period.first_day();
    match length {
        PeriodLength::Day | PeriodLength::Week => day.to_string(),
        PeriodLength::Month => day.strftime("%Y-%m").to_string(),
        PeriodLength::Year => day.strftime("%Y").to_string(),
    }
}
