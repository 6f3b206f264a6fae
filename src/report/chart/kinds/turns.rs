//! What each request of a session read, wrote and sent in full, and what happened at it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::columns::{worst_columns, worst_heading};
use super::notes::{left_out_notes, simulation_note, undrawn_notes};
use super::scope::session_scope;
use crate::base::units::{Picodollars, Tokens};
use crate::explain::breaks::{Break, Cause};
use crate::report::analyze_view::{is_complete, shown_column};
use crate::report::chart::axis::{Axis, Unit};
use crate::report::chart::ink::Ink;
use crate::report::chart::picture::{Chart, Columns, Lane, Lanes, Panel, Plot};
use crate::report::number::{counted, dollars, grouped, tokens};
use crate::requests::conversation::RequestIndex;
use crate::requests::prompt::Step;
use crate::simulate::ledger::{Ledger, Selection, Session, StrategyColumn, Totals};
use crate::simulate::pricing::Billing;

const TITLE: &str = "What each request read and wrote";

/// More causes share a lane.
const MOST_CAUSES: usize = 7;

/// What each class of token is called, with its ink, from the bottom to the top of a column.
const CLASSES: [(Ink, &str); 4] = [
    (Ink::Read, "read from cache"),
    (Ink::Written5m, "written for 5 min"),
    (Ink::Written1h, "written for 1 h"),
    (Ink::Input, "sent in full"),
];

/// The turns of a session under some columns of a ledger, a panel each, with its breaks. Of no column what
/// was billed is shown, or where that is not known the first simulation.
#[must_use]
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
    let turns: Vec<Turns<'_>> =
        shown.into_iter().map(|column| Turns::of(ledger, column, session)).collect();
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
            "“billed” has {} for samplings billed apart, whose tokens are not drawn.",
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

/// The columns that have every request of the session, and those that do not.
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

/// The requests of a session under a column.
struct Turns<'l> {
    column: &'l StrategyColumn,
    totals: Totals,
    parts: Vec<[u64; 4]>,
}

impl<'l> Turns<'l> {
    fn of(ledger: &'l Ledger<'_>, column: &'l StrategyColumn, session: &Session) -> Self {
        let rows = session.requests.iter().filter_map(|index| ledger.row(column, *index));
        Self {
            column,
            totals: ledger.totals(column, session.requests.iter().copied()),
            parts: rows.map(|row| by_class(&row.billing)).collect(),
        }
    }

    /// `$0.5753 billed`.
    fn cost(&self) -> String {
        let kind = if self.column.simulated.is_none() { "billed" } else { "simulated" };
        format!("{} {kind}", dollars(self.totals.cost()))
    }

    /// What all requests have of a class.
    fn sum(&self, place: usize) -> Tokens {
        Tokens(self.parts.iter().map(|parts| parts[place]).sum())
    }
}

/// A plot for each column, below each other: on one scale, so that they can be compared.
fn panels(all: &[Turns<'_>], x: &Axis) -> Vec<Plot> {
    let columns: Vec<Columns> =
        all.iter().map(|turns| worst_columns(CLASSES.map(|(ink, _)| ink), &turns.parts)).collect();
    let highest = columns.iter().map(Columns::highest).fold(0.0, f64::max);
    let (height, steps) = if all.len() == 1 { (360, 5) } else { (170, 3) };
    let y = Axis::amounts(highest, Unit::Tokens, steps);
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

/// The tokens of each class, in the order of [`CLASSES`].
fn by_class(billing: &Billing) -> [u64; 4] {
    [billing.read, billing.write_5m, billing.write_1h, billing.input].map(|tokens| tokens.0)
}

/// Of one column the tokens that are drawn, and the cost with what was billed apart; of several what each
/// costs.
fn figures(all: &[Turns<'_>]) -> String {
    if let [turns] = all {
        return format!(
            "{} tokens read, {} written, {} sent in full; {}.",
            tokens(turns.sum(0)),
            tokens(turns.sum(1) + turns.sum(2)),
            tokens(turns.sum(3)),
            turns.cost(),
        );
    }
    let cost = |turns: &Turns<'_>| {
        format!("{} {}", turns.column.strategy.label(), dollars(turns.totals.cost()))
    };
    format!("{}.", all.iter().map(cost).collect::<Vec<_>>().join(", "))
}

/// Where the column of a request stands on the axis.
fn places(session: &Session) -> BTreeMap<RequestIndex, f64> {
    #[allow(clippy::cast_precision_loss)] // places in a picture
    let middle = |(place, index): (usize, &RequestIndex)| (*index, place as f64 + 0.5);
    session.requests.iter().enumerate().map(middle).collect()
}

/// A lane for each cause, the most expensive first; the last one for all others.
fn cause_lanes(breaks: &[&Break], place_of: &BTreeMap<RequestIndex, f64>) -> Vec<Lane> {
    let mut by_cause: BTreeMap<Cause, Vec<&Break>> = BTreeMap::new();
    for found in breaks {
        by_cause.entry(found.cause).or_default().push(found);
    }
    let mut causes: Vec<(Cause, Vec<&Break>)> = by_cause.into_iter().collect();
    causes.sort_by_key(|(cause, breaks)| (Reverse(excess(breaks)), Reverse(breaks.len()), *cause));
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
        others.sort_by_key(|found| found.request);
        lanes.push(lane("other causes", Ink::Muted, &others));
    }
    lanes
}

/// What the breaks cost together; `None` where none has a price.
fn excess(breaks: &[&Break]) -> Option<Picodollars> {
    breaks.iter().filter_map(|found| found.excess).reduce(|one, other| one + other)
}

/// Compactions that broke nothing, and the requests of sub-agents.
fn other_lanes(
    ledger: &Ledger<'_>,
    steps: &[Step],
    session: &Session,
    breaks: &[&Break],
    place_of: &BTreeMap<RequestIndex, f64>,
) -> Vec<Lane> {
    let history = ledger.history;
    let broken: BTreeSet<RequestIndex> = breaks.iter().map(|found| found.request).collect();
    let is_compacted = |index: &RequestIndex| {
        steps[index.0].is_compacted(history, *index) && !broken.contains(index)
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
