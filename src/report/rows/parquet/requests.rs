//! Reader of ledgers that were written as Parquet: requests, each with all its rows.

use std::io;
use std::path::Path;

use parquet::data_type::{BoolType, ByteArray, Int64Type};
use parquet::file::reader::RowGroupReader;

use super::read::{each_group, of_domain};
use super::stored::{StoredColumn, TextColumn, text, uneven, unknown};
use crate::base::{Basis, Millis, Picodollars, Tokens};
use crate::explain::run::RunRequest;
use crate::report::rows::LedgerOf;
use crate::requests::conversation::RequestIndex;
use crate::simulate::cache::Refusal;
use crate::simulate::ledger::Row;
use crate::simulate::pricing::Billing;
use crate::simulate::strategy::Purpose;

/// Calls `each` with the requests of a ledger, session by session.
///
/// # Errors
/// The file cannot be read, or is no such ledger.
pub fn each_request(
    path: &Path,
    of: LedgerOf<'_>,
    mut each: impl FnMut(&RunRequest<'_>),
) -> io::Result<()> {
    // The rows of a request may continue in the next row group.
    let mut current: Option<StoredRequest> = None;
    each_group(path, |group| {
        let mut columns = LedgerColumns::of(group)?;
        while columns.read()? > 0 {
            of_domain(&columns.domain.values, of.domain)?;
            for at in 0..columns.domain.values.len() {
                let row = columns.row(at, of.strategies)?;
                if let Some(request) = &mut current
                    && request.takes(&row, &columns, at)
                {
                    request.rows.push(row);
                    continue;
                }
                let next = StoredRequest::new(row, &columns, at)?;
                if let Some(done) = current.replace(next) {
                    done.tell(of, &mut each)?;
                }
            }
        }
        io::Result::Ok(())
    })?;
    current.map_or(Ok(()), |last| last.tell(of, &mut each))
}

/// Columns of a ledger that are read.
struct LedgerColumns {
    strategy: TextColumn,
    session: TextColumn,
    agent: TextColumn,
    request: TextColumn,
    message: TextColumn,
    model: TextColumn,
    file: TextColumn,
    basis: TextColumn,
    added: TextColumn,
    invalid: TextColumn,
    project: TextColumn,
    domain: TextColumn,
    timestamp: StoredColumn<Int64Type>,
    start: StoredColumn<Int64Type>,
    line: StoredColumn<Int64Type>,
    input: StoredColumn<Int64Type>,
    read: StoredColumn<Int64Type>,
    write_5m: StoredColumn<Int64Type>,
    write_1h: StoredColumn<Int64Type>,
    output: StoredColumn<Int64Type>,
    iteration: StoredColumn<Int64Type>,
    cost: StoredColumn<Int64Type>,
    requests: StoredColumn<Int64Type>,
    is_lower_bound: StoredColumn<BoolType>,
}

impl LedgerColumns {
    fn of(group: &dyn RowGroupReader) -> io::Result<Self> {
        let texts = |name| TextColumn::of(group, name);
        let numbers = |name| StoredColumn::of(group, name);
        Ok(Self {
            strategy: texts("strategy")?,
            session: texts("session_id")?,
            agent: texts("agent_id")?,
            request: texts("request_id")?,
            message: texts("message_id")?,
            model: texts("model")?,
            file: texts("file")?,
            basis: texts("basis")?,
            added: texts("added")?,
            invalid: texts("invalid")?,
            project: texts("project")?,
            domain: texts("domain")?,
            timestamp: numbers("timestamp")?,
            start: numbers("start")?,
            line: numbers("line")?,
            input: numbers("input_tokens")?,
            read: numbers("cache_read_input_tokens")?,
            write_5m: numbers("ephemeral_5m_input_tokens")?,
            write_1h: numbers("ephemeral_1h_input_tokens")?,
            output: numbers("output_tokens")?,
            iteration: numbers("iteration")?,
            cost: numbers("cost_usd")?,
            requests: numbers("requests")?,
            is_lower_bound: StoredColumn::of(group, "output_is_lower_bound")?,
        })
    }

    /// Reads the next batch of all columns, and returns its number of rows.
    fn read(&mut self) -> io::Result<usize> {
        let rows = self.domain.read()?;
        let texts = [
            &mut self.strategy,
            &mut self.session,
            &mut self.agent,
            &mut self.request,
            &mut self.message,
            &mut self.model,
            &mut self.file,
            &mut self.basis,
            &mut self.added,
            &mut self.invalid,
            &mut self.project,
        ];
        let numbers = [
            &mut self.timestamp,
            &mut self.start,
            &mut self.line,
            &mut self.input,
            &mut self.read,
            &mut self.write_5m,
            &mut self.write_1h,
            &mut self.output,
            &mut self.iteration,
            &mut self.cost,
            &mut self.requests,
        ];
        for column in texts {
            even(column.read()?, rows)?;
        }
        for column in numbers {
            even(column.read()?, rows)?;
        }
        even(self.is_lower_bound.read()?, rows)?;
        Ok(rows)
    }

    fn row(&self, at: usize, strategies: &[String]) -> io::Result<StoredRow> {
        let name = needed(&self.strategy, at)?;
        let strategy = strategies.iter().position(|one| one.as_bytes() == name.data());
        let strategy = strategy.ok_or_else(|| {
            io::Error::other("it has rows of a strategy that its part does not name")
        })?;
        let words = |column: &TextColumn| -> io::Result<Option<String>> {
            column.values[at].as_ref().map(|word| text(word).map(str::to_owned)).transpose()
        };
        let basis = text(needed(&self.basis, at)?)?;
        let basis = Basis::by_name(basis).ok_or_else(|| unknown("basis"))?;
        let added = known(words(&self.added)?, "added", Purpose::by_name)?;
        let iteration = self.iteration.values[at].map(count).transpose()?;
        let iteration = iteration.map(|number| usize::try_from(number).unwrap_or(usize::MAX));
        let is_own = iteration.is_none() && added.is_none();
        let requests = u32::try_from(count(*needed(&self.requests, at)?)?);
        Ok(StoredRow {
            // A request counts once, on its own row.
            strategy,
            requests: if is_own { requests.map_err(|_| unknown("requests"))? } else { 0 },
            model: needed(&self.model, at)?.clone(),
            billing: Billing {
                input: tokens(&self.input, at)?,
                read: tokens(&self.read, at)?,
                write_5m: tokens(&self.write_5m, at)?,
                write_1h: tokens(&self.write_1h, at)?,
                output: Tokens(self.output.values[at].map(count).transpose()?.unwrap_or_default()),
            },
            is_output_known: self.output.values[at].is_some(),
            basis,
            refusal: known(words(&self.invalid)?, "invalid", Refusal::by_name)?,
            iteration,
            added: added
                .map(|purpose| Ok::<_, io::Error>((purpose, moment(&self.start, at)?)))
                .transpose()?,
            cost: self.cost.values[at].map(|cost| Picodollars(i128::from(cost))),
        })
    }
}

fn even(rows: usize, others: usize) -> io::Result<()> {
    if rows == others { Ok(()) } else { Err(uneven()) }
}

fn needed<T: parquet::data_type::DataType>(
    column: &StoredColumn<T>,
    at: usize,
) -> io::Result<&T::T> {
    column.values[at].as_ref().ok_or_else(|| io::Error::other("a column lacks a value"))
}

fn count(number: i64) -> io::Result<u64> {
    u64::try_from(number).map_err(|_| io::Error::other("a count is negative"))
}

fn tokens(column: &StoredColumn<Int64Type>, at: usize) -> io::Result<Tokens> {
    count(*needed(column, at)?).map(Tokens)
}

/// A moment, which is stored in microseconds.
fn moment(column: &StoredColumn<Int64Type>, at: usize) -> io::Result<Millis> {
    needed(column, at).map(|micros| Millis::new(micros.div_euclid(1_000)))
}

fn known<T>(
    word: Option<String>,
    column: &str,
    by_name: fn(&str) -> Option<T>,
) -> io::Result<Option<T>> {
    word.map(|word| by_name(&word).ok_or_else(|| unknown(column))).transpose()
}

/// A row, without the values that all rows of its request share.
struct StoredRow {
    strategy: usize,
    requests: u32,
    model: ByteArray,
    billing: Billing,
    is_output_known: bool,
    basis: Basis,
    refusal: Option<Refusal>,
    iteration: Option<usize>,
    added: Option<(Purpose, Millis)>,
    cost: Option<Picodollars>,
}

impl StoredRow {
    fn is_own(&self) -> bool {
        self.iteration.is_none() && self.added.is_none()
    }

    fn told<'r>(&'r self, strategy: &'r str) -> io::Result<Row<'r>> {
        Ok(Row {
            strategy,
            request: RequestIndex::new(0),
            requests: self.requests,
            model: text(&self.model)?,
            billing: self.billing,
            is_output_known: self.is_output_known,
            refusal: self.refusal,
            basis: self.basis,
            iteration: self.iteration,
            added: self.added,
            charges: None,
            cost: self.cost,
        })
    }
}

/// A request in the making.
struct StoredRequest {
    session: ByteArray,
    agent: Option<ByteArray>,
    request: Option<ByteArray>,
    message: Option<ByteArray>,
    project: Option<ByteArray>,
    file: ByteArray,
    line: u64,
    start: Millis,
    time: Option<Millis>,
    is_lower_bound: bool,
    rows: Vec<StoredRow>,
}

impl StoredRequest {
    fn new(row: StoredRow, columns: &LedgerColumns, at: usize) -> io::Result<Self> {
        let time = columns.timestamp.values[at].map(|_| moment(&columns.timestamp, at));
        Ok(Self {
            session: needed(&columns.session, at)?.clone(),
            agent: columns.agent.values[at].clone(),
            request: columns.request.values[at].clone(),
            message: columns.message.values[at].clone(),
            project: columns.project.values[at].clone(),
            file: needed(&columns.file, at)?.clone(),
            line: count(*needed(&columns.line, at)?)?,
            start: moment(&columns.start, at)?,
            time: time.transpose()?,
            is_lower_bound: needed(&columns.is_lower_bound, at).copied()?,
            rows: vec![row],
        })
    }

    /// Returns true if a row belongs to the request: rows come strategy by strategy, earlier samplings before the
    /// request's own row, and rows that the strategy added after it.
    fn takes(&self, row: &StoredRow, columns: &LedgerColumns, at: usize) -> bool {
        // An added row has no ids of its own; it follows its request.
        if row.added.is_some() {
            return true;
        }
        let is_next = self.rows.last().is_none_or(|last| {
            last.strategy < row.strategy
                || last.strategy == row.strategy && last.iteration.is_some()
        });
        is_next
            && columns.session.values[at].as_ref() == Some(&self.session)
            && columns.file.values[at].as_ref() == Some(&self.file)
            && columns.line.values[at].and_then(|line| u64::try_from(line).ok()) == Some(self.line)
            && columns.start.values[at].map(|start| start.div_euclid(1_000))
                == Some(self.start.get())
            && columns.agent.values[at] == self.agent
            && columns.request.values[at] == self.request
            && columns.message.values[at] == self.message
    }

    fn tell(&self, of: LedgerOf<'_>, each: &mut impl FnMut(&RunRequest<'_>)) -> io::Result<()> {
        let mut rows = Vec::with_capacity(self.rows.len());
        let [record, _] = of.own;
        for (strategy, shown) in of.shown.iter().enumerate() {
            let Some(shown) = *shown else { continue };
            // A strategy that cannot act in this domain takes the rows of the record.
            let is_as_recorded = of.as_recorded.get(strategy).copied().unwrap_or_default();
            let from = record.filter(|_| is_as_recorded).unwrap_or(strategy);
            for row in self.rows.iter().filter(|row| row.strategy == from) {
                rows.push((shown, row.told(&of.strategies[strategy])?));
            }
        }
        let of_place =
            |place| self.rows.iter().find(|row| row.is_own() && Some(row.strategy) == place);
        let own = of.own.into_iter().find_map(|place| of_place(Some(place?)));
        let own =
            own.or_else(|| self.rows.iter().find(|row| row.is_own())).unwrap_or(&self.rows[0]);
        each(&RunRequest {
            domain: of.domain,
            session: text(&self.session)?,
            agent: self.agent.as_ref().map(text).transpose()?,
            request: self.request.as_ref().map(text).transpose()?,
            model: text(&own.model)?,
            project: self.project.as_ref().map(text).transpose()?,
            file: text(&self.file)?,
            line: self.line,
            start: self.start,
            time: self.time.unwrap_or(self.start),
            output_is_lower_bound: self.is_lower_bound,
            rows: &rows,
        });
        Ok(())
    }
}
