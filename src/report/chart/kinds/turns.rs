//! What each request of a session read, wrote and sent in full, and what happened at it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::columns::{worst_columns, worst_heading};
use super::notes::left_out_notes;
use super::scope::session_scope;
use crate::breaks::{Break, Cause};
use crate::conversation::RequestIndex;
use crate::ledger::{Ledger, Row, Selection, Session, StrategyColumn, Totals};
use crate::pricing::Billing;
use crate::prompt::Step;
use crate::report::analyze_view::shown_column;
use crate::report::chart::axis::{Axis, Unit};
use crate::report::chart::ink::Ink;
use crate::report::chart::picture::{Chart, Lane, Lanes, Panel, Plot};
use crate::report::number::{counted, dollars, grouped, tokens};
use crate::units::Picodollars;

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

/// The turns of a session, with its breaks.
#[must_use]
pub fn turns_chart(
    ledger: &Ledger<'_>,
    steps: &[Step],
    selection: &Selection,
    session: &Session,
    breaks: &[Break],
) -> Chart {
    let scope = session_scope(ledger.history, session, selection);
    let Some(column) = shown_column(ledger, session) else {
        return Chart::without_data(TITLE, &scope, "The usage of these requests was not recorded.");
    };
    let rows: Vec<Row<'_>> =
        session.requests.iter().filter_map(|index| ledger.row(column, *index)).collect();
    let of_session = |found: &&Break| ledger.history.request(found.request).session == session.id;
    let breaks: Vec<&Break> = breaks.iter().filter(of_session).collect();
    let totals = ledger.totals(column, session.requests.iter().copied());
    let mut chart =
        Chart::new(TITLE, format!("{scope}. {}", figures(&rows, column, &breaks, &totals)));
    let parts: Vec<[u64; 4]> = rows.iter().map(|row| by_class(&row.billing)).collect();
    for (place, (ink, name)) in CLASSES.into_iter().enumerate().rev() {
        if parts.iter().any(|parts| parts[place] > 0) {
            chart.explain(ink, name);
        }
    }
    let columns = worst_columns(CLASSES.map(|(ink, _)| ink), &parts);
    let x = Axis::numbers(rows.len(), "request, in the order of the answers");
    chart.panels.push(Panel::Plot(Plot {
        heading: worst_heading(rows.len()),
        height: 360,
        y: Axis::amounts(columns.highest(), Unit::Tokens, 5),
        x: x.clone(),
        columns,
        lines: Vec::new(),
        rules: Vec::new(),
    }));
    let place_of = places(&rows);
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
    if totals.apart > Picodollars::ZERO {
        chart.note(format!(
            "The cost has {} for samplings that were billed apart, whose tokens are not drawn.",
            dollars(Some(totals.apart))
        ));
    }
    chart.notes.extend(left_out_notes(&totals));
    if column.simulated.is_some() {
        let name = &column.strategy.name;
        chart
            .notes
            .push(format!("What was billed is not known of all requests: shown is “{name}”."));
    }
    chart
}

/// The tokens of each class, in the order of [`CLASSES`].
fn by_class(billing: &Billing) -> [u64; 4] {
    [billing.read, billing.write_5m, billing.write_1h, billing.input].map(|tokens| tokens.0)
}

/// The tokens are those of the columns; the cost has what was billed apart, too.
fn figures(
    rows: &[Row<'_>],
    column: &StrategyColumn,
    breaks: &[&Break],
    totals: &Totals,
) -> String {
    let mut drawn = Totals::default();
    for row in rows {
        drawn.add(row);
    }
    format!(
        "{} tokens read, {} written, {} sent in full; {} {}. {}.",
        tokens(drawn.read),
        tokens(drawn.write_5m + drawn.write_1h),
        tokens(drawn.input),
        dollars(totals.cost()),
        if column.simulated.is_none() { "billed" } else { "simulated" },
        counted(breaks.len() as u64, "break", "breaks"),
    )
}

/// Where the column of a request stands on the axis.
fn places(rows: &[Row<'_>]) -> BTreeMap<RequestIndex, f64> {
    #[allow(clippy::cast_precision_loss)] // places in a picture
    let middle = |(place, row): (usize, &Row<'_>)| (row.request, place as f64 + 0.5);
    rows.iter().enumerate().map(middle).collect()
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
        label: format!("{} × {name}, {}", grouped(breaks.len() as u64), dollars(excess(breaks))),
        ink,
        marks: breaks.iter().filter_map(|found| place_of.get(&found.request).copied()).collect(),
    };
    let mut lanes: Vec<Lane> = causes
        .iter()
        .map(|(cause, breaks)| {
            let ink = if cause.is_expected() { Ink::Expected } else { Ink::Unexpected };
            lane(cause.name(), ink, breaks)
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
