//! Export of a database as the lines that [`super::rows`] reads: the values that are read, and nothing
//! else.

use std::io;

use rusqlite::types::ValueRef;
use serde_json::{Map, Value, json};

use super::rows::SCHEMA;
use super::zed::unpack;
use super::{Database, DatabaseFiles, DatabaseFormat, Failure, Row, program_of};
use crate::read::agent::AgentFile;
use crate::read::input::OpenSource;

/// Columns that identify a program, but whose values are not read.
const UNREAD: [&str; 2] = ["slug", "summary"];

/// Lines of a database; `None` if it is of no known program.
///
/// # Errors
/// If it cannot be read to its end.
pub(crate) fn exported(open: &OpenSource) -> io::Result<Option<Vec<u8>>> {
    let Some(path) = open.source().seekable() else { return Ok(None) };
    let files = DatabaseFiles::look(path)?;
    let failed = |failure: Failure| io::Error::other(failure.detail());
    let database = Database::open(&files).map_err(failed)?;
    let Some(format) = program_of(&database).map_err(failed)? else { return Ok(None) };
    let mut lines = Vec::new();
    let mut file = AgentFile::of(open);
    write(&database, format, &mut file, &mut lines).map_err(failed)?;
    Ok(Some(lines))
}

fn write(
    database: &Database,
    format: &dyn DatabaseFormat,
    file: &mut AgentFile,
    lines: &mut Vec<u8>,
) -> Result<(), Failure> {
    // The table comes first: its name decides how the rest is read.
    let mut push = |table: &str, rest: String| {
        let line = format!("{{\"schema\":\"{SCHEMA}\",\"table\":\"{table}\",{rest}}}\n");
        lines.extend_from_slice(line.as_bytes());
    };
    for (name, columns) in format.tables() {
        let Some(mut table) = database.table(name, columns)? else { continue };
        let there = database.columns(name)?;
        // Missing columns are not listed, so the lines are recognised exactly like the database.
        let there: Vec<&str> =
            columns.iter().copied().filter(|one| there.iter().any(|name| name == one)).collect();
        push(name, format!("\"columns\":{}", json!(there)));
        table.each(file, |row, _| {
            if format.is_wanted(name, row) {
                let values = values_of(row, &there, |column| format.exported(name, column, row));
                push(name, format!("\"rowid\":{},\"row\":{}", row.rowid(), json!(values)));
            }
        })?;
    }
    Ok(())
}

fn values_of(
    row: &Row<'_>,
    columns: &[&str],
    exported: impl Fn(&str) -> Option<String>,
) -> Map<String, Value> {
    let is_packed = row.text("data_type").is("zstd");
    let value = |column: &&str| {
        let value = match *column {
            name if UNREAD.contains(&name) => Value::Null,
            // Redaction works on text, so a compressed thread is exported as its JSON.
            "data" if is_packed => unpack(row.bytes("data"))
                .map_or(Value::Null, |json| String::from_utf8_lossy(&json).into_owned().into()),
            "data_type" if is_packed => "json".into(),
            name => match exported(name) {
                Some(text) => text.into(),
                None => row.value(name).map_or(Value::Null, value_of),
            },
        };
        ((*column).to_owned(), value)
    };
    columns.iter().map(value).collect()
}

fn value_of(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(value) => value.into(),
        ValueRef::Real(value) => value.into(),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => String::from_utf8_lossy(bytes).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::Fixture;
    use super::super::tests::FIXTURES;
    use super::*;
    use crate::read::agent::testing::read;
    use crate::read::input::discover;

    #[test]
    fn what_is_exported_gives_the_same_requests() {
        for name in FIXTURES {
            let fixture = Fixture::file(name);
            let source = discover(&[fixture.path()]).sources.remove(0);
            let open = OpenSource::open(&source).expect("a database");
            let lines = exported(&open).expect("readable").expect("known");
            let (before, after) = (fixture.read(), read(&String::from_utf8(lines).expect("text")));
            assert!(!before.requests.is_empty(), "{name}");
            assert_eq!(format!("{:?}", before.requests), format!("{:?}", after.requests), "{name}");
        }
    }
}
