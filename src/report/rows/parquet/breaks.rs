//! Reader of breaks that were written as Parquet.

use std::fs::File;
use std::io;
use std::path::Path;

use parquet::data_type::Decimal;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row};

use super::stored::unknown;
use crate::base::{Basis, Millis, Picodollars, Tokens};
use crate::explain::breaks::{Cause, Class, Confidence};
use crate::explain::run::{RunBreak, RunBreaks, RunEvidence};

/// Reads the breaks of a domain.
///
/// # Errors
/// The file cannot be read, or has other rows or those of another domain.
pub fn stored_breaks(path: &Path, domain: &str) -> io::Result<RunBreaks> {
    let reader = SerializedFileReader::new(File::open(path)?).map_err(io::Error::other)?;
    let mut breaks = RunBreaks::default();
    for row in reader.get_row_iter(None).map_err(io::Error::other)? {
        let row = row.map_err(io::Error::other)?;
        let fields = Fields(&row);
        if fields.text("domain")? != domain {
            return Err(io::Error::other("it has rows of another domain"));
        }
        let found = fields.found()?;
        breaks.add(found);
    }
    Ok(breaks)
}

/// Fields of a row or a group, by the names of their columns.
struct Fields<'r>(&'r Row);

impl<'r> Fields<'r> {
    fn found(&self) -> io::Result<RunBreak> {
        Ok(RunBreak {
            session: self.text("session_id")?.to_owned(),
            request: self.optional_text("request_id")?.map(str::to_owned),
            file: self.text("file")?.to_owned(),
            line: self.count("line")?,
            start: self.moment("start")?,
            class: self.word("class", Class::by_name)?,
            cause: self.word("cause", Cause::by_name)?,
            evidence: self.evidence()?,
            expected: Tokens(self.count("expected_read_tokens")?),
            read: Tokens(self.count("cache_read_input_tokens")?),
            rewritten: Tokens(self.count("rewritten_tokens")?),
            basis: self.word("basis", Basis::by_name)?,
            excess: self.money("excess_usd")?,
        })
    }

    fn evidence(&self) -> io::Result<Vec<RunEvidence>> {
        let Field::ListInternal(list) = self.field("evidence")? else {
            return Err(unknown("evidence"));
        };
        let one = |element: &Field| {
            let Field::Group(row) = element else { return Err(unknown("evidence")) };
            let fields = Fields(row);
            Ok(RunEvidence {
                cause: fields.word("cause", Cause::by_name)?,
                confidence: fields.word("confidence", Confidence::by_name)?,
                meaning: fields.text("meaning")?.to_owned(),
                file: fields.text("file")?.to_owned(),
                line: fields.count("line")?,
            })
        };
        list.elements().iter().map(one).collect()
    }

    fn field(&self, name: &str) -> io::Result<&'r Field> {
        let mut columns = self.0.get_column_iter();
        let found = columns.find(|(column, _)| *column == name).map(|(_, field)| field);
        found.ok_or_else(|| io::Error::other(format!("it has no column {name}")))
    }

    fn optional_text(&self, name: &str) -> io::Result<Option<&'r str>> {
        match self.field(name)? {
            Field::Str(text) => Ok(Some(text)),
            Field::Null => Ok(None),
            _ => Err(unknown(name)),
        }
    }

    fn text(&self, name: &str) -> io::Result<&'r str> {
        self.optional_text(name)?.ok_or_else(|| unknown(name))
    }

    fn word<T>(&self, name: &str, by_name: fn(&str) -> Option<T>) -> io::Result<T> {
        by_name(self.text(name)?).ok_or_else(|| unknown(name))
    }

    fn count(&self, name: &str) -> io::Result<u64> {
        match self.field(name)? {
            Field::Long(number) => u64::try_from(*number).map_err(|_| unknown(name)),
            _ => Err(unknown(name)),
        }
    }

    /// A moment, which is stored in microseconds.
    fn moment(&self, name: &str) -> io::Result<Millis> {
        match self.field(name)? {
            Field::TimestampMicros(micros) => Ok(Millis::new(micros.div_euclid(1_000))),
            _ => Err(unknown(name)),
        }
    }

    /// An amount in picodollars, as an integer of 64 bits.
    fn money(&self, name: &str) -> io::Result<Option<Picodollars>> {
        match self.field(name)? {
            Field::Decimal(Decimal::Int64 { value, .. }) => {
                Ok(Some(Picodollars(i128::from(i64::from_be_bytes(*value)))))
            }
            Field::Null => Ok(None),
            _ => Err(unknown(name)),
        }
    }
}
