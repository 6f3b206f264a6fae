//! `cachesim.ledger/v1`: one row for each request and strategy, as JSON or CSV.

use std::io::{self, Write};

use schemars::JsonSchema;
use serde::Serialize;

use super::csv::{Cell as _, CsvFile, CsvRow as _, csv_row};
use crate::base::client::Client;
use crate::base::ttl::Ttl;
use crate::base::units::{Basis, Millis, Picodollars, Tokens};
use crate::report::json::write_line;
use crate::simulate::cache::Refusal;
use crate::simulate::ledger::{Ledger, Row, Selection, StrategyColumn};

pub(in crate::report) const SCHEMA: &str = "cachesim.ledger/v1";

#[derive(JsonSchema, Serialize)]
pub(in crate::report) struct LedgerRow<'a> {
    /// The format and its version.
    schema: &'static str,
    /// The strategy.
    strategy: &'a str,
    /// The session.
    session_id: &'a str,
    /// The sub-agent; null in a main conversation.
    agent_id: Option<&'a str>,
    /// The service's id of the request, if it is known.
    request_id: Option<&'a str>,
    /// The service's id of the answer, if it is known.
    message_id: Option<&'a str>,
    /// When the first line of the response was written; of a request that the strategy added, and of one
    /// of another agent's, when it was sent.
    #[schemars(with = "Option<Millis>")]
    timestamp: Option<String>,
    /// The model that is billed.
    model: &'a str,
    /// The file, relative to the given path.
    file: &'a str,
    /// The line of the file, from 1 on.
    line: u64,
    /// Tokens neither read from cache nor written to it.
    input_tokens: Tokens,
    /// Tokens read from cache.
    cache_read_input_tokens: Tokens,
    /// Tokens written for five minutes.
    ephemeral_5m_input_tokens: Tokens,
    /// Tokens written for an hour.
    ephemeral_1h_input_tokens: Tokens,
    /// Tokens of the answer, if they are known.
    output_tokens: Option<Tokens>,
    /// Whether the record ends before the answer does.
    output_is_lower_bound: bool,
    /// What the token fields rest on, all together.
    basis: Basis,
    /// Which of several samplings this row bills, from 0 on; null on the ordinary row.
    iteration: Option<usize>,
    /// What the row costs, in dollars; null where the model has no price.
    cost_usd: Option<Picodollars>,
    /// Why the service would refuse the request, in which case all token fields are 0.
    #[schemars(with = "Option<Refusal>")]
    invalid: Option<&'static str>,
    /// Whether it is on the branch that its conversation ends on: false where it was rewound, edited or
    /// retried, and of a sub-agent where what started it was.
    live: bool,
    /// The TTL that had passed when the request was sent, under the strategy; null where nothing had
    /// expired.
    #[schemars(with = "Option<Ttl>")]
    expired_ttl: Option<&'static str>,
    /// The program that sent the request, as `--source` names it.
    #[schemars(with = "Client")]
    source: &'static str,
    /// How many requests the figures are the sum of, where the program keeps no more than that; else 1.
    requests: u32,
    /// What a plan that counts credits charged, in billionths of an AI unit (0.01 USD); null where the
    /// program does not tell.
    nano_aiu: Option<u64>,
}

impl<'a> LedgerRow<'a> {
    /// A row of an added request has the place of the request that it follows, and no ids.
    fn new(ledger: &'a Ledger<'_>, column: &StrategyColumn, row: &Row<'a>) -> Self {
        let history = ledger.history;
        let request = history.request(row.request);
        let is_own = row.iteration.is_none() && row.added.is_none();
        let timestamp = row.added.map(|(_, at)| at).or(request.answered).or(Some(request.start));
        let charge = history.charged.get(&row.request).filter(|_| is_own);
        let expiry = ledger.expiry(column, row.request).filter(|_| is_own);
        Self {
            schema: SCHEMA,
            strategy: row.strategy,
            session_id: history.symbols.text(request.session),
            agent_id: history.text(request.agent),
            request_id: history.text(request.request.filter(|_| row.added.is_none())),
            message_id: history.text(request.message.filter(|_| row.added.is_none())),
            timestamp: timestamp.map(|at| at.to_string()),
            live: request.is_live,
            model: row.model,
            file: &history.files[request.file].label,
            line: request.line,
            input_tokens: row.billing.input,
            cache_read_input_tokens: row.billing.read,
            ephemeral_5m_input_tokens: row.billing.write_5m,
            ephemeral_1h_input_tokens: row.billing.write_1h,
            output_tokens: row.is_output_known.then_some(row.billing.output),
            output_is_lower_bound: request.output_is_lower_bound && row.added.is_none(),
            basis: row.basis,
            iteration: row.iteration,
            cost_usd: row.cost,
            expired_ttl: expiry.map(|expiry| expiry.ttl.name()),
            source: request.client.name(),
            requests: if row.added.is_some() { 1 } else { request.sum_of },
            nano_aiu: charge.and_then(|charge| charge.nano_aiu),
            invalid: row.refusal.map(Refusal::name),
        }
    }
}

fn for_each_row(
    ledger: &Ledger<'_>,
    selection: &Selection,
    mut write: impl FnMut(&LedgerRow<'_>) -> io::Result<()>,
) -> io::Result<()> {
    for index in selection.requests() {
        for column in &ledger.columns {
            for row in ledger.rows(column, index) {
                write(&LedgerRow::new(ledger, column, &row))?;
            }
        }
    }
    Ok(())
}

/// Writes the rows as JSON Lines.
///
/// # Errors
/// Writing to `out` fails.
pub fn write_jsonl(
    ledger: &Ledger<'_>,
    selection: &Selection,
    out: &mut dyn Write,
) -> io::Result<()> {
    for_each_row(ledger, selection, |row| write_line(row, out))
}

/// Writes the rows as CSV with the same columns.
///
/// # Errors
/// Writing to `out` fails.
pub fn write_csv(
    ledger: &Ledger<'_>,
    selection: &Selection,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut csv = CsvFile::of::<LedgerRow<'_>>(out)?;
    for_each_row(ledger, selection, |row| csv.write(row.cells()))?;
    csv.finish()
}

csv_row!(LedgerRow {
    schema,
    strategy,
    session_id,
    agent_id,
    request_id,
    message_id,
    timestamp: |row| row.timestamp.as_deref().cell(),
    model,
    file,
    line,
    input_tokens,
    cache_read_input_tokens,
    ephemeral_5m_input_tokens,
    ephemeral_1h_input_tokens,
    output_tokens,
    output_is_lower_bound,
    basis: |row| row.basis.name().cell(),
    iteration,
    cost_usd,
    invalid,
    live,
    expired_ttl,
    source,
    requests,
    nano_aiu,
});
