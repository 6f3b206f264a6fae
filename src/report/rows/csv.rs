//! Rows as CSV. Name and cell of a column are in one place, so that neither is without the other.

use std::io::{self, Write};

use crate::base::{Basis, Millis, Picodollars, Tokens};
use crate::explain::breaks::{Cause, Class};
use crate::report::csv_text;

/// A row with known columns.
pub(in crate::report) trait CsvRow {
    /// Names of the columns.
    const COLUMNS: &'static [&'static str];

    /// Cells in the order of the columns.
    fn cells(&self) -> Vec<CsvCell>;
}

/// Columns of a type of rows, each called like a field. A cell shows the field's value, or the expression after its
/// name.
macro_rules! csv_row {
    ($row:ident { $($field:ident $(: |$it:ident| $cell:expr)?),+ $(,)? }) => {
        impl $crate::report::rows::csv::CsvRow for $row<'_> {
            const COLUMNS: &'static [&'static str] = &[$(stringify!($field)),+];

            fn cells(&self) -> Vec<$crate::report::rows::csv::CsvCell> {
                vec![$($crate::report::rows::csv::csv_row!(@cell self $field $(|$it| $cell)?)),+]
            }
        }
    };
    (@cell $row:ident $field:ident) => {
        $crate::report::rows::csv::Cell::cell(&$row.$field)
    };
    (@cell $row:ident $field:ident |$it:ident| $cell:expr) => {{
        let $it = $row;
        $cell
    }};
}

pub(in crate::report) use csv_row;

/// A CSV file in the making.
pub(in crate::report) struct CsvFile<'o>(csv::Writer<&'o mut dyn Write>);

impl<'o> CsvFile<'o> {
    /// A file with the columns of a type of rows.
    pub(in crate::report) fn of<R: CsvRow>(out: &'o mut dyn Write) -> io::Result<Self> {
        Self::new(R::COLUMNS, out)
    }

    /// A file whose first line names the columns.
    pub(in crate::report) fn new(
        names: &[impl AsRef<str>],
        out: &'o mut dyn Write,
    ) -> io::Result<Self> {
        let mut file = Self(csv::Writer::from_writer(out));
        file.write(names.iter().map(|name| name.as_ref().cell()).collect())?;
        Ok(file)
    }

    /// Writes a line.
    pub(in crate::report) fn write(&mut self, cells: Vec<CsvCell>) -> io::Result<()> {
        self.0.write_record(cells).map_err(|error| match error.into_kind() {
            csv::ErrorKind::Io(error) => error,
            other => io::Error::other(format!("{other:?}")),
        })
    }

    /// Writes the buffer.
    pub(in crate::report) fn finish(mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Text of a cell. Only [`Cell::cell`] makes one.
#[derive(Default)]
pub(in crate::report) struct CsvCell(String);

impl AsRef<[u8]> for CsvCell {
    fn as_ref(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

/// A value that fits a cell.
pub(in crate::report) trait Cell {
    fn cell(&self) -> CsvCell;
}

/// Text may be anybody's, so formulas in it are defused.
impl Cell for str {
    fn cell(&self) -> CsvCell {
        CsvCell(csv_text(self))
    }
}

impl<T: Cell + ?Sized> Cell for &T {
    fn cell(&self) -> CsvCell {
        (**self).cell()
    }
}

/// An unknown value is an empty cell.
impl<T: Cell> Cell for Option<T> {
    fn cell(&self) -> CsvCell {
        self.as_ref().map(Cell::cell).unwrap_or_default()
    }
}

impl Cell for Tokens {
    fn cell(&self) -> CsvCell {
        CsvCell(self.0.to_string())
    }
}

/// Cells of the program's own words.
macro_rules! names {
    ($($type:ty),+) => {
        $(impl Cell for $type {
            fn cell(&self) -> CsvCell {
                self.name().cell()
            }
        })+
    };
}

names!(Basis, Cause, Class);

/// Cells of values that the program itself formats, which cannot be formulas.
macro_rules! plain {
    ($($type:ty),+) => {
        $(impl Cell for $type {
            fn cell(&self) -> CsvCell {
                CsvCell(self.to_string())
            }
        })+
    };
}

plain!(bool, u32, u64, usize, f64, Millis, Picodollars);
