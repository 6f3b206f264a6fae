//! `cachesim.ledger/v1`: one row for each request and strategy.

use std::io::{self, Write};

use serde::Serialize;

use super::{Place, RowEncoding, RowFile, TableRow, table_row};
use crate::base::{Basis, ByKey, Millis, Picodollars, Symbol, Tokens};
use crate::requests::conversation::{History, Request, RequestIndex, project_names};
use crate::simulate::cache::Refusal;
use crate::simulate::ledger::{Ledger, Row, Selection, StrategyColumn};

/// Schema of these rows.
pub const LEDGER_SCHEMA: &str = "cachesim.ledger/v1";

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::report) struct LedgerRow<'a> {
    /// The format and its version.
    schema: &'static str,
    /// The strategy.
    strategy: &'a str,
    /// Session id.
    session_id: &'a str,
    /// Sub-agent id; null in a main conversation.
    agent_id: Option<&'a str>,
    /// Service's id of the request, if it is known.
    request_id: Option<&'a str>,
    /// Service's id of the answer, if it is known.
    message_id: Option<&'a str>,
    /// Time of the first line of the response; for a request that the strategy added, and for one of another agent, the
    /// start time.
    timestamp: Option<Millis>,
    /// Best known start time.
    start: Millis,
    /// The billed model.
    model: &'a str,
    /// The file, relative to the given path.
    file: &'a str,
    /// Line of the file, from 1 on.
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
    /// True if the record ends before the answer does.
    output_is_lower_bound: bool,
    /// Joint basis of the token fields.
    basis: Basis,
    /// Number of the billed sampling of several, from 0 on; null on the ordinary row.
    iteration: Option<usize>,
    /// Purpose of an added request; null for a recorded one.
    #[cfg_attr(test, schemars(with = "Option<crate::simulate::strategy::Purpose>"))]
    added: Option<&'static str>,
    /// Cost of the row, in dollars; null if the model has no price.
    cost_usd: Option<Picodollars>,
    /// Reason of the service to refuse the request; all token fields are then 0.
    #[cfg_attr(test, schemars(with = "Option<Refusal>"))]
    invalid: Option<&'static str>,
    /// True on the branch that its conversation ends on: false if it was rewound, edited or retried, and for a
    /// sub-agent if the request that started it was.
    live: bool,
    /// TTL that had passed when the request was sent, under the strategy; null if nothing had expired.
    #[cfg_attr(test, schemars(with = "Option<crate::base::ttl::Ttl>"))]
    expired_ttl: Option<&'static str>,
    /// Program that sent the request, as `--source` names it.
    #[cfg_attr(test, schemars(with = "crate::base::client::Client"))]
    source: &'static str,
    /// Number of requests in the figures, if the program keeps no more than sums; else 1.
    requests: u32,
    /// Charge of a plan that counts credits, in billionths of an AI unit (0.01 USD); null if the program does not say.
    nano_aiu: Option<u64>,
    /// Name of the project, if recorded.
    project: Option<&'a str>,
}

impl TableRow for LedgerRow<'_> {
    #[cfg(feature = "fleet")]
    fn origin(&self) -> String {
        format!("{}:{}", self.file, self.line)
    }
}

/// Values that all rows of a request share.
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
    fn of(history: &'a History, index: RequestIndex, projects: &'a ByKey<Symbol, String>) -> Self {
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
    /// Makes a row. That of an added request has the place of the request that it follows, and no ids.
    fn new(
        ledger: &Ledger<'_>,
        column: &StrategyColumn,
        row: &Row<'a>,
        common: &Common<'a>,
    ) -> Self {
        let request = common.request;
        let is_own = row.iteration.is_none() && row.added.is_none();
        let timestamp = row.added.map(|(_, at)| at).or(request.answered).or(Some(request.start));
        // The expiry belongs to the request itself, so its other rows leave it out.
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
            // On one row only, so that a sum over rows counts the charge once.
            nano_aiu: common.nano_aiu.filter(|_| is_own),
            invalid: row.refusal.map(Refusal::name),
            project: common.project,
        }
    }
}

/// A file of ledger rows in the making.
pub struct LedgerFile<'o>(RowFile<'o>);

impl<'o> LedgerFile<'o> {
    /// A file whose rows have places in domains if `is_placed`.
    ///
    /// # Errors
    /// Writing to `out` fails.
    pub fn new(encoding: RowEncoding, is_placed: bool, out: &'o mut dyn Write) -> io::Result<Self> {
        RowFile::of::<LedgerRow<'_>>(encoding, is_placed, out).map(Self)
    }

    /// Adds the rows of a selection, in a domain if rows have places. Returns their number.
    ///
    /// # Errors
    /// Writing fails, or a figure does not fit the format.
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

    /// Writes the rest.
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
