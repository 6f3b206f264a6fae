//! Chart of cumulative dollars by request, with a line for each strategy.

use super::{
    apart_note, left_out_notes, no_cost, selection_scope, simulation_note, strategy_ink,
    undrawn_notes,
};
use crate::base::{Order as _, Picodollars};
use crate::report::chart::axis::{Axis, AxisUnit};
use crate::report::chart::ink::Ink;
use crate::report::chart::{Chart, Columns, Panel, Plot, ValueLine};
use crate::report::dollars;
use crate::requests::conversation::RequestIndex;
use crate::simulate::ledger::{Ledger, Selection, StrategyColumn, Totals};

const TITLE: &str = "What the requests cost so far";

/// Most points of a line. More would not be visible.
const MOST_POINTS: usize = 400;

/// Most simulated lines. More colours cannot be distinguished.
const MOST_SIMULATED: usize = 8;

/// Cumulative cost under some columns of a ledger.
pub fn cost_chart(
    ledger: &Ledger<'_>,
    columns: &[&StrategyColumn],
    selection: &Selection,
) -> Chart {
    let scope = selection_scope(ledger.history, selection);
    let mut requests: Vec<RequestIndex> = selection.requests().collect();
    requests.order_by_key(|index| (ledger.history.request(*index).time(), *index));
    let (mut lines, unknown) = cumulative(ledger, columns, &requests);
    lines.order_by_key(|line| line.cost);
    let undrawn = keep_cheapest(&mut lines);
    let Some(highest) = lines.iter().map(|line| line.cost).max() else {
        return Chart::without_data(TITLE, &scope, &no_cost(ledger, columns, selection));
    };
    let mut chart = Chart::new(TITLE, format!("{scope}.{}", cheapest(&lines)));
    chart.panels.push(Panel::Plot(Plot {
        heading: "dollars".to_owned(),
        height: 440,
        x: Axis::numbers(requests.len(), "request, in the order of the answers"),
        y: Axis::amounts(highest.to_dollars_lossy(), AxisUnit::Dollars, 6),
        columns: Columns::default(),
        lines: drawn(&lines, columns),
        rules: Vec::new(),
    }));
    chart.notes.extend(simulation_note(columns));
    chart.notes.extend(lines.iter().find_map(|line| apart_note(&line.totals)));
    if !undrawn.is_empty() {
        chart.note(format!("Not drawn, since they cost more: {}.", undrawn.join(", ")));
    }
    chart.notes.extend(undrawn_notes(&unknown));
    let unpriced = lines.iter().max_by_key(|line| line.totals.unpriced_requests);
    chart.notes.extend(unpriced.into_iter().flat_map(|line| left_out_notes(&line.totals)));
    chart
}

/// Name and cost of the cheapest line among the record and the ways to cache; empty without any way to cache.
fn cheapest(lines: &[Cumulative<'_>]) -> String {
    if !lines.iter().any(Cumulative::is_ranked) {
        return String::new();
    }
    // The record wins a tie.
    let rivals = lines.iter().filter(|line| line.is_record() || line.is_ranked());
    let cheapest = rivals.min_by_key(|line| (line.cost, !line.is_record()));
    cheapest.map_or_else(String::new, |line| {
        format!(" Cheapest: {} {}.", line.rivals(), dollars(Some(line.cost)))
    })
}

/// Cumulative cost of strategies that cost the same at every request.
struct Cumulative<'l> {
    columns: Vec<&'l StrategyColumn>,
    cost: Picodollars,
    totals: Totals,
    points: Vec<(f64, f64)>,
}

impl Cumulative<'_> {
    fn is_record(&self) -> bool {
        self.columns.iter().any(|column| column.simulated.is_none())
    }

    fn is_ranked(&self) -> bool {
        self.columns.iter().any(|column| column.strategy.is_ranked())
    }

    fn names(&self) -> String {
        let names = self.columns.iter().map(|column| column.strategy.label());
        names.collect::<Vec<_>>().join(", ")
    }

    /// Labels of the record and the ways to cache among the strategies.
    fn rivals(&self) -> String {
        let is_rival =
            |column: &&&StrategyColumn| column.simulated.is_none() || column.strategy.is_ranked();
        let rivals = self.columns.iter().filter(is_rival).map(|column| column.strategy.label());
        rivals.collect::<Vec<_>>().join(", ")
    }
}

/// Lines of strategies with known costs, and the columns of the others.
fn cumulative<'l>(
    ledger: &Ledger<'_>,
    columns: &[&'l StrategyColumn],
    requests: &[RequestIndex],
) -> (Vec<Cumulative<'l>>, Vec<&'l StrategyColumn>) {
    let mut lines: Vec<Cumulative<'l>> = Vec::new();
    let mut unknown = Vec::new();
    for &column in columns {
        let totals = ledger.totals(column, requests.iter().copied());
        let (Some(cost), 0) = (totals.cost(), totals.unrecorded) else {
            unknown.push(column);
            continue;
        };
        let points = points(ledger, column, requests);
        // Of identical lines only the last one would be visible.
        match lines.iter_mut().find(|line| line.points == points) {
            Some(line) => line.columns.push(column),
            None => lines.push(Cumulative { columns: vec![column], cost, totals, points }),
        }
    }
    (lines, unknown)
}

/// Keeps the record and the cheapest simulations. Returns the names of the others.
fn keep_cheapest(lines: &mut Vec<Cumulative<'_>>) -> Vec<String> {
    let mut costs: Vec<Picodollars> =
        lines.iter().filter(|line| !line.is_record()).map(|line| line.cost).collect();
    costs.sort_unstable();
    let Some(most) = costs.get(MOST_SIMULATED - 1).copied() else { return Vec::new() };
    // Several lines may cost as much as the last one that fits.
    let mut room = MOST_SIMULATED;
    let mut undrawn = Vec::new();
    lines.retain(|line| {
        let is_kept = line.is_record() || (line.cost <= most && room > 0);
        if is_kept {
            room -= usize::from(!line.is_record());
        } else {
            undrawn.push(line.names());
        }
        is_kept
    });
    undrawn
}

fn drawn(lines: &[Cumulative<'_>], columns: &[&StrategyColumn]) -> Vec<ValueLine> {
    let line = |line: &Cumulative<'_>| ValueLine {
        ink: if line.is_record() {
            Ink::Record
        } else {
            line.columns.first().map_or(Ink::Others, |first| strategy_ink(columns, first))
        },
        label: line.names(),
        value: dollars(Some(line.cost)),
        points: line.points.clone(),
    };
    lines.iter().map(line).collect()
}

/// Sum at selected requests and at the last one, each at the middle of its request.
fn points(
    ledger: &Ledger<'_>,
    column: &StrategyColumn,
    requests: &[RequestIndex],
) -> Vec<(f64, f64)> {
    let step = requests.len().div_ceil(MOST_POINTS).max(1);
    let mut sum = Picodollars::ZERO;
    let mut points = vec![(0.0, 0.0)];
    for (number, index) in requests.iter().enumerate() {
        sum += ledger.rows(column, *index).filter_map(|row| row.cost).sum();
        let done = number + 1;
        if done.is_multiple_of(step) || done == requests.len() {
            #[allow(clippy::cast_precision_loss)] // places in a picture
            points.push((number as f64 + 0.5, sum.to_dollars_lossy()));
        }
    }
    points
}
