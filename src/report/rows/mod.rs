//! Rows: what the ledger and the breaks are for programs, and the files that hold rows.
//!
//! A file has rows of one type, as JSON Lines, CSV or Parquet, all with the same columns. Rows of several
//! histories may stand in one file; each then has its [`Place`].

pub(super) mod breaks;
pub(super) mod csv;
pub(super) mod ledger;
#[cfg(feature = "fleet")]
pub(super) mod parquet;
#[cfg(not(feature = "fleet"))]
#[path = "without_parquet.rs"]
pub(super) mod parquet;

use std::io::{self, Write};

#[cfg(test)]
use schemars::JsonSchema;
use serde::Serialize;

use self::csv::{Cell as _, CsvFile, CsvRow};
use self::parquet::{ParquetFile, ParquetRow};
use super::json::write_line;

/// What a file says of itself: keys and values.
pub type Metadata = Vec<(&'static str, String)>;

/// How a file holds rows.
#[derive(Clone, Debug)]
pub enum RowEncoding {
    /// A JSON document a line.
    Jsonl,
    /// A line of cells for each, after one with the names of the columns.
    Csv,
    /// Columns, and what the file says of itself.
    Parquet(Metadata),
}

/// Where a row stands in a run of several domains.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Place<'a> {
    /// The domain; only under --domains, and in parts.
    pub domain: &'a str,
    /// The number of the row in its domain, from 0 on; only under --domains, and in parts.
    pub row: u64,
}

/// A row where it stands.
#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(super) struct Placed<'a, R> {
    /// The row.
    #[serde(flatten)]
    row: R,
    /// Its place. All rows of a file have one, or none has.
    #[serde(flatten)]
    place: Option<Place<'a>>,
}

/// The columns of a type of rows, in Parquet as in CSV, each called like a field.
macro_rules! table_row {
    ($row:ident { $($field:ident),+ $(,)? }) => {
        $crate::report::rows::csv::csv_row!($row { $($field),+ });

        #[cfg(feature = "fleet")]
        impl<'a> $crate::report::rows::parquet::ParquetRow for $row<'a> {
            fn schema() -> String {
                let schemas = [$($crate::report::rows::parquet::schema_of(
                    stringify!($field),
                    |row: &$row<'a>| &row.$field,
                )),+];
                schemas.concat()
            }

            fn store(
                &self,
                columns: &mut $crate::report::rows::parquet::Columns<'_>,
            ) -> Result<(), $crate::report::rows::parquet::Beyond> {
                $($crate::report::rows::parquet::Stored::store(&self.$field, columns)?;)+
                Ok(())
            }
        }
    };
}

use table_row;

/// What a ledger was made by, as far as its rows do not say.
#[derive(Clone, Copy, Debug)]
pub struct LedgerOf<'p> {
    /// Its domain.
    pub domain: &'p str,
    /// The strategies of its rows.
    pub strategies: &'p [String],
    /// The place that each of them has among those that are told, if it is.
    pub shown: &'p [Option<usize>],
    /// Of each strategy, whether it can do nothing in the domain, though it can in others: requests are there as
    /// they were recorded.
    pub as_recorded: &'p [bool],
    /// The places of the record and of its replay among the strategies.
    pub own: [Option<usize>; 2],
}

/// A row that a file can hold.
pub(super) trait TableRow: CsvRow + ParquetRow + Serialize {
    /// The line or the request that it is of, for an error.
    #[cfg(feature = "fleet")]
    fn origin(&self) -> String;
}

/// A file of rows that is being written.
#[cfg_attr(not(feature = "fleet"), allow(clippy::large_enum_variant))] // with it, all but one are large
pub(super) enum RowFile<'o> {
    Jsonl(&'o mut dyn Write),
    Csv(CsvFile<'o>),
    Parquet(ParquetFile<'o>),
}

/// The columns of a [`Place`].
const PLACE: [&str; 2] = ["domain", "row"];

impl<'o> RowFile<'o> {
    /// A file for rows of a type.
    pub(super) fn of<R: TableRow>(
        encoding: RowEncoding,
        is_placed: bool,
        out: &'o mut dyn Write,
    ) -> io::Result<Self> {
        Ok(match encoding {
            RowEncoding::Jsonl => Self::Jsonl(out),
            RowEncoding::Csv => {
                let place = if is_placed { &PLACE[..] } else { &[] };
                Self::Csv(CsvFile::new(&[R::COLUMNS, place].concat(), out)?)
            }
            RowEncoding::Parquet(metadata) => {
                let place = is_placed.then_some(PLACE);
                Self::Parquet(ParquetFile::of::<R>(place, metadata, out)?)
            }
        })
    }

    /// Adds a row, with its place where rows have one.
    pub(super) fn write(
        &mut self,
        row: &impl TableRow,
        place: Option<Place<'_>>,
    ) -> io::Result<()> {
        match self {
            Self::Jsonl(out) if place.is_none() => write_line(row, *out),
            Self::Jsonl(out) => write_line(&Placed { row, place }, *out),
            Self::Csv(file) => {
                let place = place.map(|place| [place.domain.cell(), place.row.cell()]);
                file.write(row.cells().into_iter().chain(place.into_iter().flatten()))
            }
            Self::Parquet(file) => file.write(row, place),
        }
    }

    /// Writes what is left.
    pub(super) fn finish(self) -> io::Result<()> {
        match self {
            Self::Jsonl(_) => Ok(()),
            Self::Csv(file) => file.finish(),
            Self::Parquet(file) => file.finish(),
        }
    }
}
