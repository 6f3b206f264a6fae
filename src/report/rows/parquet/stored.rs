//! Columns of a stored file, read a batch of rows at a time.

use std::io;

use parquet::column::reader::{ColumnReaderImpl, get_typed_column_reader};
use parquet::data_type::{ByteArray, ByteArrayType, DataType};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::reader::RowGroupReader;

/// Rows that are read at once.
const BATCH_ROWS: usize = 8_192;

/// A column of texts.
pub(super) type TextColumn = StoredColumn<ByteArrayType>;

/// A column of a row group, with at most one value a row.
pub(super) struct StoredColumn<T: DataType> {
    reader: ColumnReaderImpl<T>,
    /// Values of the batch.
    pub(super) values: Vec<Option<T::T>>,
}

impl<T: DataType> StoredColumn<T> {
    /// The column of a name.
    ///
    /// # Errors
    /// The column is missing, or has values of another type, or lists.
    pub(super) fn of(group: &dyn RowGroupReader, name: &str) -> io::Result<Self> {
        let columns = group.metadata().columns();
        let place = columns.iter().position(|column| column.column_path().string() == name);
        let place = place.ok_or_else(|| io::Error::other(format!("it has no column {name}")))?;
        let is_of_type = columns[place].column_type() == T::get_physical_type();
        if !is_of_type || columns[place].column_descr().max_rep_level() > 0 {
            return Err(io::Error::other(format!("its column {name} has other values")));
        }
        let reader = group.get_column_reader(place).map_err(io::Error::other)?;
        Ok(Self { reader: get_typed_column_reader(reader), values: Vec::new() })
    }

    /// Reads the next batch. Returns its number of rows, which is 0 at the end.
    pub(super) fn read(&mut self) -> io::Result<usize> {
        let (mut values, mut levels) = (Vec::new(), Vec::new());
        let read = self.reader.read_records(BATCH_ROWS, Some(&mut levels), None, &mut values);
        let (rows, ..) = read.map_err(io::Error::other)?;
        let mut values = values.into_iter();
        self.values.clear();
        // A required column has no levels.
        if levels.is_empty() {
            self.values.extend(values.map(Some));
        } else {
            let filled = levels.iter().map(|level| (*level > 0).then(|| values.next()).flatten());
            self.values.extend(filled);
        }
        if self.values.len() == rows { Ok(rows) } else { Err(uneven()) }
    }
}

/// Error for a value that this version does not know.
pub(super) fn unknown(column: &str) -> io::Error {
    io::Error::other(format!("its column {column} has a value that this version does not know"))
}

/// Error for columns with different numbers of rows.
pub(super) fn uneven() -> io::Error {
    io::Error::other("its columns have different numbers of rows")
}

/// Text of a value, which has to be UTF-8.
pub(super) fn text(bytes: &ByteArray) -> io::Result<&str> {
    let text: ParquetResult<&str> = bytes.as_utf8();
    text.map_err(|error: ParquetError| io::Error::other(error))
}
