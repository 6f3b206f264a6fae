//! `cachesim.report/v1`: totals by strategy, by model and by session.

use std::io::{self, Write};

use serde::Serialize;

use super::applicability::{ApplicabilityObject, ManagedObject, applicability, managed};
use super::{Inputs, key_notes, write_versioned};
use crate::base::{ByKey, Ordered as _, Picodollars, Tokens, side_by_side};
use crate::explain::client_count::ClientCount;
pub(super) use crate::explain::snapshot::is_zero;
use crate::explain::snapshot::{self, LintCount, Snapshot, SnapshotBlock, SnapshotTurn};
use crate::simulate::ledger::{Breakdown, Ledger, Selection, Session, Totals};
use crate::simulate::pricing::PriceTable;

pub(super) const SCHEMA: &str = "cachesim.report/v1";

/// Prices of a run.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Prices<'a> {
    /// Name of the table.
    id: &'a str,
    /// Day on which it was last checked.
    as_of: &'a str,
}

impl<'a> Prices<'a> {
    /// Prices of a table.
    pub(super) fn of(table: &'a PriceTable) -> Self {
        Self::named((&table.id, &table.as_of))
    }

    /// Prices of a table by its name and the day on which it was last checked.
    pub(super) fn named((id, as_of): (&'a str, &'a str)) -> Self {
        Self { id, as_of }
    }
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Report<'a> {
    /// Table of list prices.
    prices: Prices<'a>,
    /// Input read.
    inputs: Inputs,
    /// Assumptions on the cache key if the documentation leaves it open, in words; left out if nothing in the
    /// input rests on it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    assumptions: Vec<String>,
    /// Options of the simulation that are not the default, as on the command line; left out if all are.
    #[serde(skip_serializing_if = "Option::is_none")]
    options: Option<String>,
    /// Number of places with lost input; left out if zero.
    #[serde(skip_serializing_if = "Option::is_none")]
    damage: Option<u64>,
    /// Sums of all requests.
    totals: ByStrategy<'a>,
    /// Sums of the requests on live branches: without rewound, edited or retried ones.
    live: ByStrategy<'a>,
    /// Strategies that can do nothing to these requests, or only a part of their meaning; left out if there
    /// are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    applicability: Vec<ApplicabilityObject<'a>>,
    /// Effects of strategies that keep contexts small; left out if none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    context_management: Vec<ManagedObject<'a>>,
    /// Sums of the rows that each model was billed for.
    by_model: ByKey<&'a str, ByStrategy<'a>>,
    /// Sums of each session, in the order of their first requests.
    sessions: Vec<SessionTotals<'a>>,
    /// Measurement of captured prompts, as `--tokens` takes it; in a baseline of captured prompts.
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens: Option<&'a str>,
    /// Blocks of captured prompts, each prefix once; in a baseline.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    blocks: &'a [SnapshotBlock],
    /// Violations of each rule of `lint`; in a baseline of captured prompts.
    #[serde(skip_serializing_if = "Option::is_none")]
    lint: Option<&'a [LintCount]>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct SessionTotals<'a> {
    /// Session.
    session_id: &'a str,
    /// Files it is in, relative to the given paths.
    files: Vec<&'a str>,
    /// Name of its project, if one is recorded; in a baseline.
    #[serde(skip_serializing_if = "Option::is_none")]
    project: Option<&'a str>,
    /// Sums of its requests.
    totals: ByStrategy<'a>,
    /// Client's own count of its cost; left out if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    client_count: Option<&'a ClientCount>,
    /// Its requests; in a baseline.
    #[serde(skip_serializing_if = "Option::is_none")]
    turns: Option<&'a [SnapshotTurn]>,
}

/// Totals with their strategies' names, in the order of the strategies.
pub(super) type ByStrategy<'a> = snapshot::ByStrategy<TotalsObject, &'a str>;

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct TotalsObject {
    /// Requests in these sums.
    pub(super) requests: u64,
    /// Tokens neither read from cache nor written to it.
    pub(super) input_tokens: Tokens,
    /// Tokens read from cache.
    pub(super) cache_read_input_tokens: Tokens,
    /// Tokens written for five minutes, or for the usual lifetime of another service.
    pub(super) ephemeral_5m_input_tokens: Tokens,
    /// Tokens written for an hour, or for the longer lifetime of another service.
    pub(super) ephemeral_1h_input_tokens: Tokens,
    /// Tokens of the answers, if they are known.
    pub(super) output_tokens: Tokens,
    /// Cost of all of it, in dollars; null if nothing has a price.
    pub(super) cost_usd: Option<Picodollars>,
    /// Requests that the strategy added; left out if there are none.
    #[serde(skip_serializing_if = "is_zero")]
    added_requests: u64,
    /// Requests whose model has no price, which the cost leaves out; left out if there are none.
    #[serde(skip_serializing_if = "is_zero")]
    pub(super) unpriced_requests: u64,
    /// Requests whose output is unknown; left out if there are none.
    #[serde(skip_serializing_if = "is_zero")]
    requests_without_output: u64,
    /// Requests that the service would refuse; left out if there are none.
    #[serde(skip_serializing_if = "is_zero")]
    invalid_requests: u64,
    /// Requests without figures, as their usage was not recorded or the strategy is not applicable; left out
    /// if there are none.
    #[serde(skip_serializing_if = "is_zero")]
    unrecorded_requests: u64,
}

impl From<Totals> for TotalsObject {
    fn from(totals: Totals) -> Self {
        Self {
            requests: totals.requests,
            input_tokens: totals.input,
            cache_read_input_tokens: totals.read,
            ephemeral_5m_input_tokens: totals.write_5m,
            ephemeral_1h_input_tokens: totals.write_1h,
            output_tokens: totals.output,
            cost_usd: totals.cost(),
            added_requests: totals.added,
            unpriced_requests: totals.costs.unknown,
            requests_without_output: totals.without_output,
            invalid_requests: totals.refused,
            unrecorded_requests: totals.unrecorded,
        }
    }
}

/// Totals of each strategy, in the order of the columns.
fn by_strategy<'l>(
    ledger: &'l Ledger<'_>,
    totals: impl IntoIterator<Item = Totals>,
) -> ByStrategy<'l> {
    let names = ledger.columns.iter().map(|column| column.strategy.name.as_ref());
    names.zip(totals.into_iter().map(TotalsObject::from)).collect()
}

fn by_model<'l>(
    ledger: &'l Ledger<'_>,
    breakdowns: &[Breakdown<'l>],
) -> ByKey<&'l str, ByStrategy<'l>> {
    // A column may lack models that another one has.
    let names: Vec<&'l str> =
        breakdowns.iter().flat_map(|column| column.models.keys().copied()).ordered();
    let of_model = |model| {
        let of_columns = breakdowns.iter().map(move |column| column.models.get(model).copied());
        (model, by_strategy(ledger, of_columns.map(Option::unwrap_or_default)))
    };
    names.into_iter().map(of_model).collect()
}

/// Writes the report as JSON.
///
/// With a snapshot of the same selection it can serve as a baseline.
///
/// # Errors
/// Writing to `out` fails.
pub fn write_report(
    ledger: &Ledger<'_>,
    selection: &Selection,
    snapshot: Option<&Snapshot>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let history = ledger.history;
    let breakdowns: Vec<Breakdown<'_>> =
        side_by_side(&ledger.columns, |column| ledger.breakdown(column, selection));
    let counts = ClientCount::by_session(ledger, selection);
    // Snapshot and breakdowns have the sessions in the order of the selection.
    let session = |(at, session): (usize, &Session)| {
        let saved = snapshot.map(|snapshot| &snapshot.sessions[at]);
        SessionTotals {
            session_id: history.symbols.text(session.id),
            files: session
                .files(history)
                .into_iter()
                .map(|file| &*history.files[file].label)
                .collect(),
            project: saved.and_then(|session| session.project.as_deref()),
            totals: by_strategy(ledger, breakdowns.iter().map(|column| column.sessions[at])),
            client_count: counts.get(history.symbols.text(session.id)),
            turns: saved.and_then(|session| session.turns.as_deref()),
        }
    };
    // If nothing could be compared, an empty list would look like a clean result.
    let lint = snapshot.filter(|snapshot| !snapshot.is_uncompared);
    let lint = lint.and_then(|snapshot| snapshot.lint.as_ref());
    let blocks = snapshot.map(|snapshot| snapshot.blocks.list.as_slice()).unwrap_or_default();
    let report = Report {
        prices: Prices::of(ledger.prices),
        inputs: Inputs::of(history),
        assumptions: key_notes(history, ledger.steps, &ledger.assumptions),
        options: Some(ledger.assumptions.options()).filter(|all| !all.is_empty()),
        damage: Some(history.diagnostics.damaged_places()).filter(|places| *places > 0),
        totals: by_strategy(ledger, breakdowns.iter().map(|column| column.all)),
        live: by_strategy(ledger, breakdowns.iter().map(|column| column.live)),
        applicability: applicability(ledger),
        context_management: managed(ledger),
        by_model: by_model(ledger, &breakdowns),
        sessions: selection.sessions.iter().enumerate().map(session).collect(),
        tokens: snapshot.and_then(|snapshot| snapshot.counting.as_deref()),
        blocks,
        lint: lint.map(Vec::as_slice),
    };
    write_versioned(SCHEMA, &report, out)
}
