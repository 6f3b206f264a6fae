//! Results of a change, for people (the verdict, then kind by kind) and for programs (`cachesim.change/v1`).

use std::io::{self, Write};
use std::ops::Range;

use serde::Serialize;

use super::{
    Columns, Document, Grid, Inputs, Prices, Value, dollars, percent, relative, write_versioned,
};
use crate::base::{Millis, Picodollars, Zone, counted};
use crate::explain::compare::{KindOfSession, LEAST_SESSIONS, Side, SinceChange, SinceVerdict};
use crate::simulate::ledger::Ledger;

/// Change that was made, with the data on record about it.
#[derive(Clone, Debug)]
pub struct ToldChange {
    /// Code, if it is on record.
    pub code: Option<String>,
    /// Time of the change; sessions that began within it are on no side.
    pub at: Range<Millis>,
    /// Share of the amount spent that it would have saved, if it is on record.
    pub promised: Option<f64>,
    /// True if its keys still have the values that it gave them, if it is on record.
    pub in_force: Option<bool>,
}

/// Results of a change, as text.
pub fn since_document(told: &ToldChange, since: Option<&SinceChange>, zone: &Zone) -> Document {
    let mut document = Document::default();
    let Some(since) = since else {
        document.text("No usage is recorded, so nothing can be compared.");
        return document;
    };
    let name = told.code.as_ref().map(|code| format!("`{code}`, set ")).unwrap_or_default();
    let at = zone.minute(told.at.start);
    let verdict = since.verdict(told.promised);
    document.text(format!("{name}{at}: {}.", label(verdict)));
    document.text(answer(told, since));
    if !since.kinds.is_empty() {
        document.heading("Sessions of the same kind");
        document.grid(kinds(&since.kinds));
    }
    document.text(notes(told, since));
    document
}

/// Verdict for people.
fn label(verdict: SinceVerdict) -> &'static str {
    match verdict {
        SinceVerdict::Kept => "it saves what was promised",
        SinceVerdict::More => "it saves more than was promised",
        SinceVerdict::Less => "it saves less than was promised",
        SinceVerdict::Cheaper => "requests cost less",
        SinceVerdict::MoreExpensive => "requests cost more",
        SinceVerdict::CannotTell => "it cannot be told yet",
    }
}

/// Saving, with the interval that it is in.
fn answer(told: &ToldChange, since: &SinceChange) -> String {
    let promised = told.promised.map(|share| format!("; {} were promised", percent(Some(share))));
    let promised = promised.unwrap_or_default();
    // Too few sessions say nothing about a change, however much they differ.
    if since.kinds.is_empty() {
        return format!(
            "No kind of session has {LEAST_SESSIONS} sessions before and {LEAST_SESSIONS} after it{promised}."
        );
    }
    let after = since.after;
    let (Some(saved), Some([low, high])) = (since.saved, since.interval) else {
        return format!("Too little was billed before or after it to be compared{promised}.");
    };
    format!(
        "{} cost {}, {} than the {} that they would have cost before; in 95 of 100 cases between {} and {}{promised}.",
        counted(after.requests, "request", "requests"),
        dollars(Some(after.cost)),
        less_or_more(saved),
        dollars(Some(since.expected)),
        less_or_more(low),
        less_or_more(high),
    )
}

fn less_or_more(saved: f64) -> String {
    format!("{} {}", percent(Some(saved.abs())), if saved < 0.0 { "more" } else { "less" })
}

fn kinds(kinds: &[KindOfSession]) -> Grid {
    let mut columns = Columns::<KindOfSession>::new();
    columns.left("model", |kind| kind.model.clone());
    // The range excludes its end, people's ranges include it.
    columns.right("requests", |kind| format!("{}–{}", kind.requests_from, kind.requests_below - 1));
    columns.right("sessions", |kind| format!("{} → {}", kind.before.sessions, kind.after.sessions));
    columns.right("a request", |kind| {
        let [before, after] = [kind.before, kind.after].map(per_request).map(dollars);
        format!("{before} → {after}")
    });
    columns.right("difference", |kind| {
        Value::relative(relative(per_request(kind.after), per_request(kind.before)))
    });
    columns.grid(kinds)
}

fn per_request(side: Side) -> Option<Picodollars> {
    // A side without requests has no average.
    Some(Picodollars(side.cost.0.checked_div(i128::from(side.requests))?))
}

/// Sessions that are not compared, and other influences on the figures.
fn notes(told: &ToldChange, since: &SinceChange) -> String {
    let mut notes = Vec::new();
    if told.in_force == Some(false) {
        notes.push("Its keys were changed since: it is not in force any more.".to_owned());
    }
    if told.promised.is_some() {
        notes.push("The promise is of the sessions that were read when it was made.".to_owned());
    }
    let [before, after] = since.left_out;
    if before + after > 0 {
        notes.push(format!(
            "{} before and {after} after it are of kinds with fewer than {LEAST_SESSIONS} on a side, and in no figure.",
            counted(before, "session", "sessions")
        ));
    }
    if since.during > 0 {
        notes.push(format!(
            "{} began on that day, and are in none.",
            counted(since.during, "session", "sessions")
        ));
    }
    if since.others > 0 {
        let others = counted(since.others, "session", "sessions");
        notes.push(format!("{others} of other programs are in none."));
    }
    if since.unknown > 0 {
        notes.push(format!(
            "Of {} the cost is not known.",
            counted(since.unknown, "session", "sessions")
        ));
    }
    notes.push(
        "Whatever else changed since (projects, tasks, the client) is in the difference, too."
            .to_owned(),
    );
    notes.join(" ")
}

pub(super) const SCHEMA: &str = "cachesim.change/v1";

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct ChangeSinceObject<'a> {
    /// Table of list prices.
    prices: Prices<'a>,
    /// Input read.
    inputs: Inputs,
    /// Change, if it is on record.
    change: Option<&'a str>,
    /// Beginning of the change: sessions that began earlier are before it.
    from: Millis,
    /// Its end: sessions that began then or later are after it.
    until: Millis,
    /// Share of the amount spent that it would have saved, if on record.
    promised_share: Option<f64>,
    /// True if its keys still have the values that it gave them, if recorded.
    in_force: Option<bool>,
    /// Result of it.
    verdict: SinceVerdict,
    #[serde(flatten)]
    since: &'a SinceChange,
}

/// Writes the results of a change as JSON; `since` is `None` if no usage is recorded.
///
/// # Errors
/// Writing to `out` fails.
pub fn write_since(
    ledger: &Ledger<'_>,
    told: &ToldChange,
    since: Option<&SinceChange>,
    out: &mut dyn Write,
) -> io::Result<()> {
    // Without recorded usage programs get the same fields, all of them empty.
    let nothing = SinceChange::default();
    let since = since.unwrap_or(&nothing);
    let object = ChangeSinceObject {
        prices: Prices::of(ledger.prices),
        inputs: Inputs::of(ledger.history),
        change: told.code.as_deref(),
        from: told.at.start,
        until: told.at.end,
        promised_share: told.promised,
        in_force: told.in_force,
        verdict: since.verdict(told.promised),
        since,
    };
    write_versioned(SCHEMA, &object, out)
}
