//! Rows of a database as JSON lines: `cachesim.rows/v1`, as `redact` writes databases (`docs/privacy.md`).
//!
//! A line names a table with its columns, or has a row of one. The rows are put into a database in
//! memory, which is read like any other.

use rusqlite::Connection;
use rusqlite::types::Value as Stored;
use serde_json::Value;
use serde_json::value::RawValue;

use super::{Database, DatabaseFormat, FORMATS, program_of};
use crate::base::ByKey;
use crate::read::agent::{AgentFile, FirstObject, Layout, LineFormat, Rejected};
use crate::read::input::{Kind, List, Text, lenient};

/// Schema that each line names.
pub(crate) const SCHEMA: &str = "cachesim.rows/v1";

const NO_TABLE: Rejected = (Kind::ForeignFormat, "a row of no table that is known");
const NO_ROW: Rejected = (Kind::ForeignFormat, "no row of its table");

/// Format of exported rows.
#[derive(Default)]
pub(in crate::read::agent) struct Rows {
    connection: Option<Connection>,
    /// Columns of each table that was named.
    tables: ByKey<&'static str, Vec<&'static str>>,
}

impl LineFormat for Rows {
    type Line<'a> = Line<'a>;
    const FILE: &'static str = "rows of a database";
    const LAYOUT: Option<Layout> = Some(Layout::Rows);

    fn recognises(first: &FirstObject<'_>) -> bool {
        first.is_one_of("schema", &[SCHEMA])
    }

    fn line(&mut self, line: &Line<'_>, _: &mut AgentFile) -> Result<(), Rejected> {
        if !line.schema.is(SCHEMA) {
            return Ok(());
        }
        let name = line.table.as_str().unwrap_or_default();
        if let Some(row) = line.row {
            let columns = self.tables.get(name).ok_or(NO_TABLE)?;
            let connection = self.connection.as_ref().ok_or(NO_TABLE)?;
            return add_row(connection, name, columns, line.rowid, row.get());
        }
        let named: Vec<&str> = line.columns.0.iter().filter_map(Text::as_str).collect();
        let (name, columns) = known(name, &named).ok_or(NO_TABLE)?;
        let quoted: Vec<String> = columns.iter().map(|column| format!("\"{column}\"")).collect();
        let statement = format!("CREATE TABLE \"{name}\" ({})", quoted.join(", "));
        if self.connection.is_none() {
            self.connection = Connection::open_in_memory().ok();
        }
        let connection = self.connection.as_ref().ok_or(NO_TABLE)?;
        connection.execute_batch(&statement).map_err(|_| NO_TABLE)?;
        self.tables.insert(name, columns);
        Ok(())
    }

    fn end(self, file: &mut AgentFile) {
        let Some(connection) = self.connection else { return };
        let database = Database::of_export(connection);
        let result = match program_of(&database) {
            Ok(Some(format)) => format.read(&database, file),
            Ok(None) => {
                file.reject(Kind::ForeignFormat, 0, "rows of no program that is known");
                Ok(())
            }
            Err(failure) => Err(failure),
        };
        if let Err(failure) = result {
            file.reject(failure.kind(), 0, failure.detail());
        }
    }
}

/// Table and columns of these names that some program has. No other name becomes a part of a statement.
fn known(table: &str, named: &[&str]) -> Option<(&'static str, Vec<&'static str>)> {
    let tables = FORMATS.into_iter().flat_map(DatabaseFormat::tables);
    // Several programs may have a table of the same name.
    let tables: Vec<_> = tables.filter(|(name, _)| *name == table).collect();
    let (name, _) = tables.first()?;
    let all = tables.iter().flat_map(|(_, columns)| columns.iter().copied());
    let mut columns: Vec<&str> = all.filter(|one| named.contains(one)).collect();
    columns.sort_unstable();
    columns.dedup();
    (!columns.is_empty()).then_some((name, columns))
}

fn add_row(
    connection: &Connection,
    name: &str,
    columns: &[&str],
    rowid: Option<i64>,
    row: &str,
) -> Result<(), Rejected> {
    let mut row: ByKey<String, Value> = serde_json::from_str(row).map_err(|_| NO_ROW)?;
    // The row keeps its number, which is the line of its request.
    let number = std::iter::once(rowid.map_or(Stored::Null, Stored::Integer));
    let values = columns
        .iter()
        .map(|column| row.get_mut(*column).map_or(Stored::Null, |value| stored(value.take())));
    let places = vec!["?"; columns.len() + 1].join(", ");
    let quoted: Vec<String> = columns.iter().map(|column| format!(", \"{column}\"")).collect();
    let statement = format!("INSERT INTO \"{name}\" (rowid{}) VALUES ({places})", quoted.concat());
    let mut insert = connection.prepare(&statement).map_err(|_| NO_ROW)?;
    insert.execute(rusqlite::params_from_iter(number.chain(values))).map_err(|_| NO_ROW)?;
    Ok(())
}

/// Value as the database would hold it. Nested JSON is kept as its text.
fn stored(value: Value) -> Stored {
    match value {
        Value::Null => Stored::Null,
        Value::Bool(flag) => Stored::Integer(flag.into()),
        Value::String(text) => Stored::Text(text),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => Stored::Integer(whole),
            (None, Some(real)) => Stored::Real(real),
            (None, None) => Stored::Null,
        },
        nested => Stored::Text(nested.to_string()),
    }
}

lenient! {
    pub(in crate::read::agent) struct Line<'a> {
        schema: Text<'a>,
        table: Text<'a>,
        columns: List<Text<'a>>,
        rowid: Option<i64>,
        row: Option<&'a RawValue>,
    }
}
