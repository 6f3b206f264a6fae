//! `cachesim.report/v1`: totals by strategy, by model and by session.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::{Serialize, Serializer};

use super::escape::SafeJson;
use super::managed::{ManagedObject, managed};
use crate::conversation::{History, RequestIndex};
use crate::id::Symbol;
use crate::ledger::{Ledger, Row, Selection, Totals};
use crate::pricing::PriceTable;
use crate::units::{Picodollars, Tokens};

const SCHEMA: &str = "cachesim.report/v1";

/// The input of a run, as every machine format reports it.
#[derive(Serialize)]
pub(super) struct ReportInputs {
    files: usize,
    bytes: u64,
    lines: u64,
    requests: usize,
    duplicates: u64,
    skipped: BTreeMap<&'static str, u64>,
}

impl ReportInputs {
    /// The input of a history.
    pub(super) fn of(history: &History) -> Self {
        Self {
            files: history.files.len(),
            bytes: history.bytes,
            lines: history.lines,
            requests: history.requests.len(),
            duplicates: history.duplicates,
            skipped: history
                .diagnostics
                .counts()
                .map(|(kind, count)| (kind.name(), count))
                .collect(),
        }
    }
}

/// The prices of a run.
#[derive(Serialize)]
pub(super) struct Prices<'a> {
    id: &'a str,
    as_of: &'a str,
}

impl<'a> Prices<'a> {
    /// Those of a table.
    pub(super) fn of(table: &'a PriceTable) -> Self {
        Self { id: &table.id, as_of: &table.as_of }
    }
}

#[derive(Serialize)]
struct Report<'a> {
    schema: &'static str,
    tool_version: &'static str,
    prices: Prices<'a>,
    inputs: ReportInputs,
    totals: ByStrategy<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    context_management: Vec<ManagedObject<'a>>,
    by_model: BTreeMap<&'a str, ByStrategy<'a>>,
    sessions: Vec<SessionTotals<'a>>,
}

#[derive(Serialize)]
struct SessionTotals<'a> {
    session_id: &'a str,
    totals: ByStrategy<'a>,
}

/// Totals with their strategies' names, in the order of the strategies.
struct ByStrategy<'a>(Vec<(&'a str, TotalsObject)>);

impl Serialize for ByStrategy<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, totals)| (name, totals)))
    }
}

#[derive(Serialize)]
pub(super) struct TotalsObject {
    requests: u64,
    input_tokens: Tokens,
    cache_read_input_tokens: Tokens,
    ephemeral_5m_input_tokens: Tokens,
    ephemeral_1h_input_tokens: Tokens,
    output_tokens: Tokens,
    cost_usd: Option<Picodollars>,
    #[serde(skip_serializing_if = "is_zero")]
    added_requests: u64,
    #[serde(skip_serializing_if = "is_zero")]
    unpriced_requests: u64,
    #[serde(skip_serializing_if = "is_zero")]
    requests_without_output: u64,
    #[serde(skip_serializing_if = "is_zero")]
    invalid_requests: u64,
    #[serde(skip_serializing_if = "is_zero")]
    unrecorded_requests: u64,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde passes a reference
pub(super) fn is_zero(count: &u64) -> bool {
    *count == 0
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
            unpriced_requests: totals.unpriced,
            requests_without_output: totals.without_output,
            invalid_requests: totals.refused,
            unrecorded_requests: totals.unrecorded,
        }
    }
}

fn by_strategy<'l>(ledger: &'l Ledger<'_>, requests: &[RequestIndex]) -> ByStrategy<'l> {
    let totals = |column| TotalsObject::from(ledger.totals(column, requests.iter().copied()));
    ByStrategy(
        ledger
            .columns
            .iter()
            .map(|column| (column.strategy.name.as_ref(), totals(column)))
            .collect(),
    )
}

/// Rows are billed under the model that served them, which may differ from the request's own for
/// samplings that were billed apart.
fn by_model<'l>(
    ledger: &'l Ledger<'_>,
    selection: &Selection,
) -> BTreeMap<&'l str, ByStrategy<'l>> {
    let mut totals: BTreeMap<&'l str, Vec<Totals>> = BTreeMap::new();
    let columns = ledger.columns.len();
    for (number, column) in ledger.columns.iter().enumerate() {
        for index in selection.requests() {
            let rows: Vec<Row<'l>> = ledger.rows(column, index).collect();
            for row in &rows {
                let model = totals.entry(row.model);
                model.or_insert_with(|| vec![Totals::default(); columns])[number].add(row);
            }
            if rows.is_empty() {
                let model = totals.entry(ledger.history.model(index));
                model.or_insert_with(|| vec![Totals::default(); columns])[number].unrecorded += 1;
            }
        }
    }
    let named = |totals: Vec<Totals>| {
        let names = ledger.columns.iter().map(|column| column.strategy.name.as_ref());
        ByStrategy(names.zip(totals.into_iter().map(TotalsObject::from)).collect())
    };
    totals.into_iter().map(|(model, totals)| (model, named(totals))).collect()
}

/// Writes the report.
///
/// # Errors
/// What `out` says.
pub fn write_report(
    ledger: &Ledger<'_>,
    selection: &Selection,
    out: &mut dyn Write,
) -> io::Result<()> {
    let history = ledger.history;
    let name = |id: Symbol| history.symbols.text(id);
    let all: Vec<RequestIndex> = selection.requests().collect();
    let report = Report {
        schema: SCHEMA,
        tool_version: env!("CARGO_PKG_VERSION"),
        prices: Prices::of(ledger.prices),
        inputs: ReportInputs::of(history),
        totals: by_strategy(ledger, &all),
        context_management: managed(ledger),
        by_model: by_model(ledger, selection),
        sessions: selection
            .sessions
            .iter()
            .map(|session| SessionTotals {
                session_id: name(session.id),
                totals: by_strategy(ledger, &session.requests),
            })
            .collect(),
    };
    serde_json::to_writer_pretty(SafeJson(&mut *out), &report)?;
    out.write_all(b"\n")
}
