//! `cachesim.advice/v1`: what to change, ranked, for programs.

use std::io::{self, Write};

use schemars::JsonSchema;
use serde::Serialize;

use super::json::write_document;
use super::report_json::ReportInputs;
use crate::base::units::Picodollars;
use crate::explain::advice::{Advice, Entry, Who};
use crate::explain::breaks::Confidence;
use crate::requests::conversation::History;

pub(super) const SCHEMA: &str = "cachesim.advice/v1";

#[derive(JsonSchema, Serialize)]
pub(super) struct AdviceDocument<'a> {
    /// The format and its version.
    schema: &'static str,
    /// The version of the program.
    tool_version: &'static str,
    /// What was read.
    inputs: ReportInputs,
    /// What to change; null where no model has a price.
    advice: Option<AdviceObject<'a>>,
}

#[derive(JsonSchema, Serialize)]
pub(super) struct AdviceObject<'a> {
    /// What was billed, in dollars; null where no usage was recorded.
    billed_usd: Option<Picodollars>,
    /// What of it was billed for samplings apart, which no change concerns.
    apart_usd: Picodollars,
    /// The record as it is simulated, with its breaks: where all savings begin.
    recorded_usd: Picodollars,
    /// What was billed beyond that, which no saving has.
    unexplained_usd: Option<Picodollars>,
    /// What all changes together would have saved: the sum of their savings.
    saving_usd: Picodollars,
    /// Whether that is the most that can be, since of a change only a part may be possible.
    at_most: bool,
    /// The changes in the order in which they are made, each on top of those before it.
    changes: Vec<ChangeObject<'a>>,
    /// What nobody but the service could change, on top of all these; in no sum.
    out_of_reach: Vec<ChangeObject<'a>>,
}

#[derive(JsonSchema, Serialize)]
struct ChangeObject<'a> {
    /// The change: the name of a strategy, of a cause, or one of its own.
    code: &'static str,
    /// The same for people.
    label: &'static str,
    /// What it would have saved on top of those before it, in dollars.
    saving_usd: Picodollars,
    /// What it would have saved alone.
    alone_usd: Picodollars,
    /// Whether only a part of that may be possible.
    at_most: bool,
    /// How sure the cause is, of a change that is about one.
    confidence: Option<Confidence>,
    /// What the saving takes for granted.
    assumption: &'a str,
    /// Who can do it.
    who: Who,
    /// The setting, variable or command of Claude Code.
    setting: Option<&'static str>,
    /// The field of the request.
    field: Option<&'static str>,
    /// What was seen.
    observation: &'a str,
    /// What to do.
    advice: &'a str,
    /// The requests that show it most clearly.
    evidence: Vec<PlaceObject<'a>>,
}

#[derive(JsonSchema, Serialize)]
struct PlaceObject<'a> {
    /// The file.
    file: &'a str,
    /// The line, from 1 on.
    line: u64,
    /// The request, where it is known by an id.
    request_id: Option<&'a str>,
}

/// Advice as an object of another document.
pub(super) fn advice_object<'a>(history: &'a History, advice: &'a Advice) -> AdviceObject<'a> {
    let all = |entries: &'a [Entry]| entries.iter().map(|entry| change(history, entry)).collect();
    AdviceObject {
        billed_usd: advice.billed,
        apart_usd: advice.apart,
        recorded_usd: advice.recorded,
        unexplained_usd: advice.unexplained(),
        saving_usd: advice.saving(),
        at_most: advice.is_at_most(),
        changes: all(&advice.changes),
        out_of_reach: all(&advice.out_of_reach),
    }
}

fn change<'a>(history: &'a History, entry: &'a Entry) -> ChangeObject<'a> {
    let change = &entry.change;
    let place = |index: &_| {
        let request = history.request(*index);
        PlaceObject {
            file: &history.files[request.file].label,
            line: request.line,
            request_id: history.text(request.request),
        }
    };
    ChangeObject {
        code: change.code,
        label: change.label,
        saving_usd: entry.saving,
        alone_usd: entry.alone,
        at_most: change.is_at_most,
        confidence: change.confidence,
        assumption: &change.assumption,
        who: change.who,
        setting: change.setting,
        field: change.field,
        observation: &change.observation,
        advice: &change.advice,
        evidence: change.evidence.iter().map(place).collect(),
    }
}

/// Writes advice.
///
/// # Errors
/// What `out` says.
pub fn write_advice(
    history: &History,
    advice: Option<&Advice>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let document = AdviceDocument {
        schema: SCHEMA,
        tool_version: env!("CARGO_PKG_VERSION"),
        inputs: ReportInputs::of(history),
        advice: advice.map(|advice| advice_object(history, advice)),
    };
    write_document(&document, out)
}
