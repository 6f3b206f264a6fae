//! Chart of the tokens that each request of a session read, wrote and sent in full, with its events. Each request is a
//! column; if there are too many, several share one.

use std::cmp::Reverse;

use super::{left_out_notes, session_scope, simulation_note, undrawn_notes};
use crate::base::{ByKey, Order as _, Ordered as _, Picodollars, Tokens};
use crate::explain::breaks::{Break, Cause};
use crate::report::analyze_view::{is_complete, shown_column};
use crate::report::chart::axis::{Axis, AxisUnit};
use crate::report::chart::ink::Ink;
use crate::report::chart::{Chart, Column, Columns, Lane, Lanes, Panel, Plot};
use crate::report::{counted, dollars, grouped, tokens};
use crate::requests::conversation::RequestIndex;
use crate::requests::prompt::Step;
use crate::simulate::ledger::{Ledger, Selection, Session, StrategyColumn, Totals};
use crate::simulate::pricing::Billing;

const TITLE: &str = "What each request read and wrote";

/// Most causes with a lane of their own.
const MOST_CAUSES: usize = 7;

/// Ink and name of each class of token, from bottom to top in a column.
const CLASSES: [(Ink, &str); 4] = [
    (Ink::Read, "read from cache"),
    (Ink::Written5m, "written for 5 min"),
    (Ink::Written1h, "written for 1 h"),
    (Ink::Input, "sent in full"),
];

/// Turns of a session with its breaks, and a panel for each column of a ledger. Without columns the billed figures are
/// shown, or the first simulation if those are unknown.
pub fn turns_chart(
    ledger: &Ledger<'_>,
    columns: &[&StrategyColumn],
    steps: &[Step],
    selection: &Selection,
    session: &Session,
    breaks: &[Break],
) -> Chart {
    let scope = session_scope(ledger.history, session, selection);
    let (shown, undrawn) = shown_and_undrawn(ledger, columns, session);
    let turns: Vec<DrawnTurns<'_>> =
        shown.into_iter().map(|column| DrawnTurns::of(ledger, column, session)).collect();
    let Some(first) = turns.first() else {
        return Chart::without_data(TITLE, &scope, "The usage of these requests was not recorded.");
    };
    let of_session = |found: &&Break| ledger.history.request(found.request).session == session.id;
    let breaks: Vec<&Break> = breaks.iter().filter(of_session).collect();
    let broken = counted(breaks.len() as u64, "break", "breaks");
    let mut chart = Chart::new(TITLE, format!("{scope}. {} {broken}.", figures(&turns)));
    for (place, (ink, name)) in CLASSES.into_iter().enumerate().rev() {
        if turns.iter().any(|turns| turns.parts.iter().any(|parts| parts[place] > 0)) {
            chart.explain(ink, name);
        }
    }
    let x = Axis::numbers(session.requests.len(), "request, in the order of the answers");
    chart.panels.extend(panels(&turns, &x).into_iter().map(Panel::Plot));
    let place_of = places(session);
    let mut lanes = cause_lanes(&breaks, &place_of);
    lanes.extend(other_lanes(ledger, steps, session, &breaks, &place_of));
    let inks = [(Ink::Unexpected, "unexpected break"), (Ink::Expected, "expected break")];
    for (ink, name) in inks {
        if lanes.iter().any(|lane| lane.ink == ink) {
            chart.explain(ink, name);
        }
    }
    if !lanes.is_empty() {
        chart.panels.push(Panel::Lanes(Lanes { x, lanes }));
    }
    if let Some(apart) = turns.iter().map(|turns| turns.totals.apart).max()
        && apart > Picodollars::ZERO
    {
        chart.note(format!(
            "Each has {} for samplings billed apart, whose tokens are not drawn.",
            dollars(Some(apart))
        ));
    }
    chart.notes.extend(left_out_notes(&first.totals));
    if columns.is_empty() && first.column.simulated.is_some() {
        let name = first.column.strategy.label();
        chart.note(format!("What was billed is not known of all requests: shown is “{name}”."));
    }
    if turns.len() > 1 {
        let drawn: Vec<&StrategyColumn> = turns.iter().map(|turns| turns.column).collect();
        chart.notes.extend(simulation_note(&drawn));
        if !breaks.is_empty() {
            chart.note("The breaks are those of the record.");
        }
    }
    chart.notes.extend(undrawn_notes(&undrawn));
    chart
}

/// Columns that cover every request of the session, and the other columns.
fn shown_and_undrawn<'l>(
    ledger: &'l Ledger<'_>,
    columns: &[&'l StrategyColumn],
    session: &Session,
) -> (Vec<&'l StrategyColumn>, Vec<&'l StrategyColumn>) {
    if columns.is_empty() {
        return (shown_column(ledger, session).into_iter().collect(), Vec::new());
    }
    columns.iter().partition(|column| is_complete(ledger, column, session))
}

/// Requests of a session under a column.
struct DrawnTurns<'l> {
    column: &'l StrategyColumn,
    totals: Totals,
    parts: Vec<[u64; 4]>,
}

impl<'l> DrawnTurns<'l> {
    fn of(ledger: &'l Ledger<'_>, column: &'l StrategyColumn, session: &Session) -> Self {
        let rows = session.requests.iter().filter_map(|index| ledger.row(column, *index));
        Self {
            column,
            totals: ledger.totals(column, session.requests.iter().copied()),
            parts: rows.map(|row| by_class(&row.billing)).collect(),
        }
    }

    /// Cost in words: `$0.5753 billed`.
    fn cost(&self) -> String {
        let kind = if self.column.simulated.is_none() { "billed" } else { "simulated" };
        format!("{} {kind}", dollars(self.totals.cost()))
    }

    /// Tokens of a class over all requests.
    fn sum(&self, place: usize) -> Tokens {
        Tokens(self.parts.iter().map(|parts| parts[place]).sum())
    }
}

/// One plot per column, below each other and on one scale, so that they can be compared.
fn panels(all: &[DrawnTurns<'_>], x: &Axis) -> Vec<Plot> {
    let columns: Vec<Columns> =
        all.iter().map(|turns| worst_columns(CLASSES.map(|(ink, _)| ink), &turns.parts)).collect();
    let highest = columns.iter().map(Columns::highest).fold(0.0, f64::max);
    // Lower panels have room for fewer steps.
    let (height, steps) = if all.len() == 1 { (360, 5) } else { (170, 3) };
    let y = Axis::amounts(highest, AxisUnit::Tokens, steps);
    let panel = |(place, columns): (usize, Columns)| {
        let turns = &all[place];
        let what = worst_heading(turns.parts.len());
        let heading = if all.len() == 1 {
            what
        } else if place == 0 {
            format!("{}, {}: {what}", turns.column.strategy.label(), dollars(turns.totals.cost()))
        } else {
            format!("{}, {}", turns.column.strategy.label(), dollars(turns.totals.cost()))
        };
        let is_last = place + 1 == all.len();
        let title = if is_last { x.title.clone() } else { String::new() };
        let x = Axis { title, ..x.clone() };
        Plot { heading, height, x, y: y.clone(), columns, lines: Vec::new(), rules: Vec::new() }
    };
    columns.into_iter().enumerate().map(panel).collect()
}

/// Tokens of each class, in the order of [`CLASSES`].
fn by_class(billing: &Billing) -> [u64; 4] {
    [billing.read, billing.write_5m, billing.write_1h, billing.input].map(|tokens| tokens.0)
}

/// Figures of the subtitle: for one column the drawn tokens, and the cost including separate samplings; for several the
/// cost of each.
fn figures(all: &[DrawnTurns<'_>]) -> String {
    if let [turns] = all {
        return format!(
            "{} tokens read, {} written, {} sent in full; {}.",
            tokens(turns.sum(0)),
            tokens(turns.sum(1) + turns.sum(2)),
            tokens(turns.sum(3)),
            turns.cost(),
        );
    }
    let cost = |turns: &DrawnTurns<'_>| {
        format!("{} {}", turns.column.strategy.label(), dollars(turns.totals.cost()))
    };
    format!("{}.", all.iter().map(cost).collect::<Vec<_>>().join(", "))
}

/// Position of each request's column on the axis.
fn places(session: &Session) -> ByKey<RequestIndex, f64> {
    #[allow(clippy::cast_precision_loss)] // places in a picture
    let middle = |(place, index): (usize, &RequestIndex)| (*index, place as f64 + 0.5);
    session.requests.iter().enumerate().map(middle).collect()
}

/// One lane per cause, most expensive first, and a last one for all others.
fn cause_lanes(breaks: &[&Break], place_of: &ByKey<RequestIndex, f64>) -> Vec<Lane> {
    let mut by_cause: ByKey<Cause, Vec<&Break>> = ByKey::new();
    for found in breaks {
        by_cause.entry(found.cause).or_default().push(found);
    }
    let mut causes: Vec<(Cause, Vec<&Break>)> = by_cause.into_iter().collect();
    causes.order_by_key(|(cause, breaks)| (Reverse(excess(breaks)), Reverse(breaks.len()), *cause));
    let rest =
        if causes.len() > MOST_CAUSES { causes.split_off(MOST_CAUSES - 1) } else { Vec::new() };
    let lane = |name: &str, ink: Ink, breaks: &[&Break]| Lane {
        label: format!(
            "{}, {}: {name}",
            counted(breaks.len() as u64, "break", "breaks"),
            dollars(excess(breaks))
        ),
        ink,
        marks: breaks.iter().filter_map(|found| place_of.get(&found.request).copied()).collect(),
    };
    let mut lanes: Vec<Lane> = causes
        .iter()
        .map(|(cause, breaks)| {
            let ink = if cause.is_expected() { Ink::Expected } else { Ink::Unexpected };
            lane(cause.meaning(), ink, breaks)
        })
        .collect();
    if !rest.is_empty() {
        let mut others: Vec<&Break> = rest.into_iter().flat_map(|(_, breaks)| breaks).collect();
        others.order_by_key(|found| found.request);
        lanes.push(lane("other causes", Ink::Muted, &others));
    }
    lanes
}

/// Excess of the breaks together, or `None` if no break has a price.
fn excess(breaks: &[&Break]) -> Option<Picodollars> {
    breaks.iter().filter_map(|found| found.excess).reduce(|one, other| one + other)
}

/// Lanes of compactions that broke nothing, and of requests of sub-agents.
fn other_lanes(
    ledger: &Ledger<'_>,
    steps: &[Step],
    session: &Session,
    breaks: &[&Break],
    place_of: &ByKey<RequestIndex, f64>,
) -> Vec<Lane> {
    let history = ledger.history;
    let broken: Vec<RequestIndex> = breaks.iter().map(|found| found.request).ordered();
    let is_compacted = |index: &RequestIndex| {
        steps[index.get()].is_compacted(history, *index) && broken.binary_search(index).is_err()
    };
    let is_of_agent = |index: &RequestIndex| history.request(*index).agent.is_some();
    let lane = |name: &str, ink: Ink, is_such: &dyn Fn(&RequestIndex) -> bool| {
        let such = session.requests.iter().filter(|index| is_such(index));
        let marks: Vec<f64> = such.filter_map(|index| place_of.get(index).copied()).collect();
        let label = format!("{} × {name}", grouped(marks.len() as u64));
        (!marks.is_empty()).then_some(Lane { label, ink, marks })
    };
    [
        lane("compaction without a break", Ink::Muted, &is_compacted),
        lane("request of a sub-agent", Ink::Muted, &is_of_agent),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Most columns that can be distinguished.
const MOST_COLUMNS: usize = 450;

const PROMPT: &str = "tokens of the prompt";

/// Number of requests that share a column.
pub(super) fn requests_per_column(requests: usize) -> usize {
    requests.div_ceil(MOST_COLUMNS).max(1)
}

/// Mean parts of the requests of each column.
#[allow(clippy::cast_precision_loss)] // places in a picture
pub(super) fn mean_columns(inks: Vec<Ink>, requests: &[&[u64]]) -> Columns {
    columns(inks, requests, |group| {
        let mean = |part: usize| {
            let sum: u128 = group.iter().map(|parts| u128::from(parts[part])).sum();
            sum as f64 / group.len() as f64
        };
        (0..group.first().map_or(0, |parts| parts.len())).map(mean).collect()
    })
}

/// Request of each column that sent or wrote most, unchanged, as a mean would hide breaks. The first part of a request
/// are the tokens that it read.
#[allow(clippy::cast_precision_loss)] // places in a picture
pub(super) fn worst_columns<const N: usize>(inks: [Ink; N], requests: &[[u64; N]]) -> Columns {
    let unread = |parts: &&[u64; N]| parts[1..].iter().map(|part| u128::from(*part)).sum::<u128>();
    columns(inks.to_vec(), requests, |group| {
        // `max_by_key` takes the last of equals; reversed, that is the first.
        let worst = group.iter().rev().max_by_key(unread);
        worst.map_or_else(Vec::new, |parts| parts.iter().map(|part| *part as f64).collect())
    })
}

#[allow(clippy::cast_precision_loss)] // places in a picture
fn columns<T>(inks: Vec<Ink>, requests: &[T], parts_of: impl Fn(&[T]) -> Vec<f64>) -> Columns {
    let size = requests_per_column(requests.len());
    let column = |(number, group): (usize, &[T])| {
        let from = (number * size) as f64;
        let to = from + group.len() as f64;
        Column { from, to, parts: parts_of(group), label: String::new() }
    };
    Columns { inks, columns: requests.chunks(size).enumerate().map(column).collect() }
}

/// Heading of an axis of means.
pub(super) fn mean_heading(requests: usize) -> String {
    match requests_per_column(requests) {
        1 => PROMPT.to_owned(),
        size => format!("{PROMPT}, the mean of {size} requests"),
    }
}

/// Heading of an axis of single requests.
pub(super) fn worst_heading(requests: usize) -> String {
    match requests_per_column(requests) {
        1 => PROMPT.to_owned(),
        size => format!("{PROMPT}; of each {size} requests the one that sent or wrote most"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_of_requests_are_a_few_columns_with_their_means() {
        let requests: Vec<[u64; 2]> = (0..5_000).map(|number| [number, 10]).collect();
        let requests: Vec<&[u64]> = requests.iter().map(<[u64; 2]>::as_slice).collect();
        let columns = mean_columns(vec![Ink::Read, Ink::Input], &requests);
        // 5,000 / 450 is 11.1, so 12 requests per column and 417 columns, the last one with 8.
        assert_eq!((requests_per_column(5_000), columns.columns.len()), (12, 417));
        let (first, last) = (&columns.columns[0], &columns.columns[416]);
        assert_eq!((first.from, first.to, &first.parts), (0.0, 12.0, &vec![5.5, 10.0]));
        assert_eq!((last.from, last.to, &last.parts), (4_992.0, 5_000.0, &vec![4_995.5, 10.0]));
    }

    #[test]
    fn a_few_requests_are_columns_of_their_own() {
        let columns = worst_columns([Ink::Read], &[[3], [u64::MAX]]);
        assert_eq!(columns.columns.len(), 2);
        assert!(worst_columns([Ink::Read], &[]).columns.is_empty());
        assert!(mean_columns(vec![Ink::Read], &[]).columns.is_empty());
    }

    /// 901 requests are in columns of 3, as 901 / 450 is 2.002. One of them lost its cache, in the
    /// middle of the column of requests 450, 451 and 452.
    #[test]
    fn a_column_of_several_requests_is_the_worst_of_them() {
        let mut requests = vec![[455_000, 900]; 901];
        requests[451] = [37_995, 417_990];
        let columns = worst_columns([Ink::Read, Ink::Written1h], &requests);
        assert_eq!(columns.columns.len(), 301);
        let worst = &columns.columns[150];
        assert_eq!((worst.from, worst.to), (450.0, 453.0));
        assert_eq!(worst.parts, [37_995.0, 417_990.0]);
        let others = columns.columns.iter().filter(|column| *column != worst);
        assert!(others.into_iter().all(|column| column.parts == [455_000.0, 900.0]));
    }
}
