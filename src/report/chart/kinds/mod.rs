//! Kinds of charts: from the ledger and its analyses to charts as data. This file has their notes on omissions and on
//! the basis of figures, and the words for the requests that a chart covers.

mod breaks;
mod context;
mod cost;
mod daily;
mod gaps;
mod run;
mod strategies;
mod turns;
mod waterfall;

pub use breaks::breaks_chart;
pub use context::{WINDOW_KINDS, context_chart};
pub use cost::cost_chart;
pub use daily::daily_chart;
pub use gaps::gaps_chart;
pub use run::run_charts;
pub use strategies::{UNDRAWN_STRATEGY, strategies_chart};
pub use turns::turns_chart;
pub use waterfall::waterfall_chart;

use crate::base::Picodollars;
use crate::report::applicability::applicability_notes;
use crate::report::chart::ink::Ink;
use crate::report::{SessionNames, counted, dollars};
use crate::requests::conversation::{History, RequestIndex};
use crate::simulate::ledger::{Ledger, Selection, Session, StrategyColumn, Totals};

/// Ink of a strategy in every chart of the same columns.
fn strategy_ink(columns: &[&StrategyColumn], of: &StrategyColumn) -> Ink {
    if of.simulated.is_none() {
        return Ink::Record;
    }
    let mut simulated = columns.iter().filter(|column| column.simulated.is_some());
    simulated
        .position(|column| column.strategy.name == of.strategy.name)
        .map_or(Ink::Others, Ink::Series)
}

/// Note on measured and simulated figures, if there are any.
fn simulation_note(columns: &[&StrategyColumn]) -> Option<String> {
    let has_record = columns.iter().any(|column| column.simulated.is_none());
    let note = if has_record {
        "“billed” is measured; all others are simulated."
    } else {
        "All of these are simulated."
    };
    Some(note.to_owned()).filter(|_| !columns.is_empty())
}

/// Note on the cost of samplings that no strategy changes.
fn apart_note(totals: &Totals) -> Option<String> {
    (totals.apart > Picodollars::ZERO).then(|| {
        let apart = dollars(Some(totals.apart));
        format!("Each has {apart} for samplings billed apart.")
    })
}

/// Notes on requests that are in no sum of dollars.
fn left_out_notes(totals: &Totals) -> Vec<String> {
    let counted = |count| counted(count, "request", "requests");
    let unrecorded = (totals.unrecorded > 0).then(|| {
        format!("{} without recorded usage are in none of the dollars.", counted(totals.unrecorded))
    });
    let output = (totals.without_output > 0).then(|| {
        format!(
            "The output of {} is not known, and in none of the dollars.",
            counted(totals.without_output)
        )
    });
    let unpriced = unpriced_note(totals.unpriced_requests);
    unrecorded.into_iter().chain(unpriced).chain(output).collect()
}

/// Note on requests without a price.
fn unpriced_note(requests: u64) -> Option<String> {
    (requests > 0).then(|| {
        let requests = counted(requests, "request", "requests");
        format!("{requests} of models without a price are in none of the dollars.")
    })
}

/// Notes on columns that are not drawn for lack of a known cost.
fn undrawn_notes(columns: &[&StrategyColumn]) -> Vec<String> {
    let (unknown, idle): (Vec<&StrategyColumn>, Vec<&StrategyColumn>) =
        columns.iter().partition(|column| column.applicability().is_applicable());
    let names: Vec<&str> = unknown.iter().map(|column| column.strategy.label()).collect();
    let unknown = (!names.is_empty())
        .then(|| format!("Not drawn, since their cost is not known: {}.", names.join(", ")));
    unknown.into_iter().chain(applicability_of(&idle)).collect()
}

fn applicability_of(columns: &[&StrategyColumn]) -> Vec<String> {
    let named = columns.iter().map(|column| (&*column.strategy.name, column.applicability()));
    applicability_notes(named)
}

/// Reason for which there are no dollars.
fn no_cost(ledger: &Ledger<'_>, columns: &[&StrategyColumn], selection: &Selection) -> String {
    if columns.iter().all(|column| !column.applicability().is_applicable()) {
        return applicability_of(columns).join(" ");
    }
    let unpriced = ledger.unpriced_models(selection.requests());
    if unpriced.is_empty() {
        return "Nothing is known of what these requests cost: their usage was not recorded."
            .to_owned();
    }
    let models: Vec<String> =
        unpriced.iter().map(|(model, requests)| format!("{model} ({requests})")).collect();
    format!("No price is known of {}. Give one with --prices FILE.", models.join(", "))
}

/// Most expensive session, for charts of one session: by billed cost, or by tokens if nothing has a price.
pub fn dearest_session<'s>(ledger: &Ledger<'_>, selection: &'s Selection) -> Option<&'s Session> {
    let column = ledger.billed().or(ledger.columns.first())?;
    let size = |session: &Session| {
        let totals = ledger.totals(column, session.requests.iter().copied());
        (totals.cost(), totals.prompt())
    };
    // `max_by_key` takes the last of equals; reversed, that is the first.
    selection.sessions.iter().rev().max_by_key(|session| size(session))
}

/// Description of a session: `session 5e1f0000, 6 requests on 2026-08-03`, and its rank among several.
fn session_scope(history: &History, session: &Session, of: &Selection) -> String {
    let name = SessionNames::of(history).name(session.id);
    let requests = counted(session.requests.len() as u64, "request", "requests");
    let which = match of.sessions.len() {
        0 | 1 => String::new(),
        several => format!(", the most expensive of {several} sessions"),
    };
    format!("Session {name}{which}: {requests}{}", days(history, &session.requests))
}

/// Description of a selection: `82 sessions, 9,513 requests from 2025-06-08 to 2026-10-20`.
fn selection_scope(history: &History, selection: &Selection) -> String {
    if let [session] = selection.sessions.as_slice() {
        return session_scope(history, session, selection);
    }
    let requests: Vec<RequestIndex> = selection.requests().collect();
    format!(
        "{}, {}{}",
        counted(selection.sessions.len() as u64, "session", "sessions"),
        counted(requests.len() as u64, "request", "requests"),
        days(history, &requests),
    )
}

/// First and last day of the answers to some requests, with a preposition.
fn days(history: &History, requests: &[RequestIndex]) -> String {
    let times = requests.iter().map(|index| history.request(*index).time());
    let (Some(first), Some(last)) = (times.clone().min(), times.max()) else {
        return String::new();
    };
    let day = |at| history.zone.moment(at).chars().take(10).collect::<String>();
    let (first, last) = (day(first), day(last));
    if first == last { format!(" on {first}") } else { format!(" from {first} to {last}") }
}
