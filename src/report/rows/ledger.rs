//! `cachesim.ledger/v1`: one row for each request and strategy.

use std::collections::BTreeMap;
use std::io::{self, Write};

#[cfg(test)]
use schemars::JsonSchema;
use serde::Serialize;

use super::{Place, RowEncoding, RowFile, TableRow, table_row};
use crate::base::id::Symbol;
use crate::base::units::{Basis, Millis, Picodollars, Tokens};
use crate::requests::conversation::{History, Request, RequestIndex, project_names};
use crate::simulate::cache::Refusal;
use crate::simulate::ledger::{Ledger, Row, Selection, StrategyColumn};

/// The schema of these rows.
pub const LEDGER_SCHEMA: &str = "cachesim.ledger/v1";

#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
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
    timestamp: Option<Millis>,
    /// When it was sent, as far as can be told.
    start: Millis,
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
    /// What for the strategy added the request; null of a recorded one.
    #[cfg_attr(test, schemars(with = "Option<crate::simulate::strategy::Purpose>"))]
    added: Option<&'static str>,
    /// What the row costs, in dollars; null where the model has no price.
    cost_usd: Option<Picodollars>,
    /// Why the service would refuse the request, in which case all token fields are 0.
    #[cfg_attr(test, schemars(with = "Option<Refusal>"))]
    invalid: Option<&'static str>,
    /// Whether it is on the branch that its conversation ends on: false where it was rewound, edited or
    /// retried, and of a sub-agent where what started it was.
    live: bool,
    /// The TTL that had passed when the request was sent, under the strategy; null where nothing had
    /// expired.
    #[cfg_attr(test, schemars(with = "Option<crate::base::ttl::Ttl>"))]
    expired_ttl: Option<&'static str>,
    /// The program that sent the request, as `--source` names it.
    #[cfg_attr(test, schemars(with = "crate::base::client::Client"))]
    source: &'static str,
    /// How many requests the figures are the sum of, where the program keeps no more than that; else 1.
    requests: u32,
    /// What a plan that counts credits charged, in billionths of an AI unit (0.01 USD); null where the
    /// program does not tell.
    nano_aiu: Option<u64>,
    /// The name of the project, as far as it is recorded.
    project: Option<&'a str>,
}

impl TableRow for LedgerRow<'_> {
    #[cfg(feature = "fleet")]
    fn origin(&self) -> String {
        format!("{}:{}", self.file, self.line)
    }
}

/// What all rows of a request have in common.
struct Common<'a> {
    request: &'a Request,
    session_id: &'a str,
    agent_id: Option<&'a str>,
    request_id: Option<&'a str>,
    message_id: Option<&'a str>,
    file: &'a str,
    source: &'static str,
    project: Option<&'a str>,
    nano_aiu: Option<u64>,
}

impl<'a> Common<'a> {
    fn of(
        history: &'a History,
        index: RequestIndex,
        projects: &'a BTreeMap<Symbol, String>,
    ) -> Self {
        let request = history.request(index);
        Self {
            request,
            session_id: history.symbols.text(request.session),
            agent_id: history.text(request.agent),
            request_id: history.text(request.request),
            message_id: history.text(request.message),
            file: &history.files[request.file].label,
            source: request.client.name(),
            project: request.project.and_then(|one| projects.get(&one)).map(String::as_str),
            nano_aiu: history.charged.get(&index).and_then(|charge| charge.nano_aiu),
        }
    }
}

impl<'a> LedgerRow<'a> {
    /// A row of an added request has the place of the request that it follows, and no ids.
    fn new(
        ledger: &Ledger<'_>,
        column: &StrategyColumn,
        row: &Row<'a>,
        common: &Common<'a>,
    ) -> Self {
        let request = common.request;
        let is_own = row.iteration.is_none() && row.added.is_none();
        let timestamp = row.added.map(|(_, at)| at).or(request.answered).or(Some(request.start));
        let expiry = ledger.expiry(column, row.request).filter(|_| is_own);
        Self {
            schema: LEDGER_SCHEMA,
            strategy: row.strategy,
            session_id: common.session_id,
            agent_id: common.agent_id,
            request_id: common.request_id.filter(|_| row.added.is_none()),
            message_id: common.message_id.filter(|_| row.added.is_none()),
            timestamp,
            start: row.added.map_or(request.start, |(_, at)| at),
            added: row.added.map(|(purpose, _)| purpose.name()),
            live: request.is_live,
            model: row.model,
            file: common.file,
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
            source: common.source,
            requests: if row.added.is_some() { 1 } else { request.sum_of },
            nano_aiu: common.nano_aiu.filter(|_| is_own),
            invalid: row.refusal.map(Refusal::name),
            project: common.project,
        }
    }
}

/// A file of such rows that is being written.
pub struct LedgerFile<'o>(RowFile<'o>);

impl<'o> LedgerFile<'o> {
    /// A file whose rows stand in domains or do not.
    ///
    /// # Errors
    /// Writing to `out` fails.
    pub fn new(encoding: RowEncoding, is_placed: bool, out: &'o mut dyn Write) -> io::Result<Self> {
        RowFile::of::<LedgerRow<'_>>(encoding, is_placed, out).map(Self)
    }

    /// Adds the rows of a selection, in a domain where they stand in one. Returns how many there are.
    ///
    /// # Errors
    /// Writing fails, or a figure is beyond what the format holds.
    pub fn write(
        &mut self,
        ledger: &Ledger<'_>,
        selection: &Selection,
        domain: Option<&str>,
    ) -> io::Result<u64> {
        let projects = project_names(ledger.history);
        let mut rows = 0;
        for index in selection.requests() {
            let common = Common::of(ledger.history, index, &projects);
            for column in &ledger.columns {
                for row in ledger.rows(column, index) {
                    let place = domain.map(|domain| Place { domain, row: rows });
                    let row = LedgerRow::new(ledger, column, &row, &common);
                    self.0.write(&row, place)?;
                    rows += 1;
                }
            }
        }
        Ok(rows)
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// Writing fails.
    pub fn finish(self) -> io::Result<()> {
        self.0.finish()
    }
}

table_row!(LedgerRow {
    schema,
    strategy,
    session_id,
    agent_id,
    request_id,
    message_id,
    timestamp,
    model,
    file,
    line,
    input_tokens,
    cache_read_input_tokens,
    ephemeral_5m_input_tokens,
    ephemeral_1h_input_tokens,
    output_tokens,
    output_is_lower_bound,
    basis,
    iteration,
    cost_usd,
    invalid,
    live,
    expired_ttl,
    source,
    requests,
    nano_aiu,
    project,
    start,
    added,
});
