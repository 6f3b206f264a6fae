//! Rows: ledger and breaks for programs, and the files that hold rows.
//!
//! A file has rows of one type, as JSON Lines, CSV or Parquet, all with the same columns. Rows of several histories may
//! be in one file; each then has its [`Place`].

pub(super) mod breaks;
pub(super) mod csv;
pub(super) mod ledger;
#[cfg(feature = "fleet")]
pub(super) mod parquet;
#[cfg(not(feature = "fleet"))]
#[path = "without_parquet.rs"]
pub(super) mod parquet;

use std::io::{self, Write};

use serde::Serialize;

use self::csv::{Cell as _, CsvFile, CsvRow};
use self::parquet::{ParquetFile, ParquetRow};
use super::write_line;

/// Keys and values of a file's description.
pub type Metadata = Vec<(&'static str, String)>;

/// Format of a file of rows.
#[derive(Clone, Debug)]
pub enum RowEncoding {
    /// A JSON document a line.
    Jsonl,
    /// A line of column names, then a line of cells for each row.
    Csv,
    /// Columns, and the file's metadata.
    Parquet(Metadata),
}

/// Place of a row in a run of several domains.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Place<'a> {
    /// The domain; only under --domains, and in parts.
    pub domain: &'a str,
    /// Number of the row in its domain, from 0 on; only under --domains, and in parts.
    pub row: u64,
}

/// A row at its place.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Placed<'a, R> {
    /// The row.
    #[serde(flatten)]
    row: R,
    /// Its place. All rows of a file have one, or none has.
    #[serde(flatten)]
    place: Option<Place<'a>>,
}

/// Columns of a type of rows, in Parquet as in CSV, each called like a field.
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

/// Facts about a ledger that its rows do not record.
#[derive(Clone, Copy, Debug)]
pub struct LedgerOf<'p> {
    /// Domain of the rows.
    pub domain: &'p str,
    /// Strategies of the rows.
    pub strategies: &'p [String],
    /// Place of each strategy among the reported ones, if it is one of them.
    pub shown: &'p [Option<usize>],
    /// True for each strategy that cannot act in this domain, though it can in others: its requests are as recorded.
    pub as_recorded: &'p [bool],
    /// Places of the record and of its replay among the strategies.
    pub own: [Option<usize>; 2],
}

/// A row that a file can hold.
pub(super) trait TableRow: CsvRow + ParquetRow + Serialize {
    /// Line or request of the row, for an error.
    #[cfg(feature = "fleet")]
    fn origin(&self) -> String;
}

/// A file of rows in the making.
#[cfg_attr(not(feature = "fleet"), allow(clippy::large_enum_variant))] // with it, all but one are large
pub(super) enum RowFile<'o> {
    Jsonl(&'o mut dyn Write),
    Csv(CsvFile<'o>),
    Parquet(ParquetFile<'o>),
}

/// Columns of a [`Place`].
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
                // After the row's own columns, whose places stay the same.
                let place = if is_placed { &PLACE[..] } else { &[] };
                Self::Csv(CsvFile::new(&[R::COLUMNS, place].concat(), out)?)
            }
            RowEncoding::Parquet(metadata) => {
                let place = is_placed.then_some(PLACE);
                Self::Parquet(ParquetFile::of::<R>(place, metadata, out)?)
            }
        })
    }

    /// Adds a row, with its place if rows have places.
    pub(super) fn write(
        &mut self,
        row: &impl TableRow,
        place: Option<Place<'_>>,
    ) -> io::Result<()> {
        match self {
            Self::Jsonl(out) if place.is_none() => write_line(row, *out),
            Self::Jsonl(out) => write_line(&Placed { row, place }, *out),
            Self::Csv(file) => {
                let mut cells = row.cells();
                cells.extend(place.into_iter().flat_map(|one| [one.domain.cell(), one.row.cell()]));
                file.write(cells)
            }
            Self::Parquet(file) => file.write(row, place),
        }
    }

    /// Writes the rest.
    pub(super) fn finish(self) -> io::Result<()> {
        match self {
            Self::Jsonl(_) => Ok(()),
            Self::Csv(file) => file.finish(),
            Self::Parquet(file) => file.finish(),
        }
    }
}
