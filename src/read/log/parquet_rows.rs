//! Rows of a Parquet file that is a spend log. Only the needed columns are read, one row group after another.
//!
//! The crate that reads Parquet checks most of its input, and panics at some of the rest, such as types
//! that it has no conversion for. A panic ends the file as an error does.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::panic::{AssertUnwindSafe, catch_unwind};

use bytes::Bytes;
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};
use parquet::file::reader::{ChunkReader, FileReader, Length, SerializedFileReader};
use parquet::record::Field;
use parquet::record::reader::RowIter;
use parquet::schema::types::Type;
use serde_json::Value;

use super::parquet_pages::unpacks_too_far;
use super::spend_row::{COLUMNS, lacking_columns};
use super::spend_table::is_named;
use crate::read::input::{Kind, MemoryBound, OpenSource};

/// Fewest bytes of a row in the file. The id, the times and the tokens alone of a real one take more, however packed; a
/// damaged or hostile file may claim any number of rows.
const LEAST_BYTES: u64 = 8;

/// Number of rows between two checks of the memory.
const BETWEEN_LOOKS: u64 = 1_024;

/// Cells of a row, with the names of their columns.
pub(super) struct Cells(Vec<(String, Field)>);

impl Cells {
    /// Text in the cell of a column.
    pub(super) fn text(&self, name: &str) -> Option<Cow<'_, str>> {
        let (_, field) = self.0.iter().find(|(column, _)| is_named(column, name))?;
        text_of(field)
    }
}

/// Calls `each` with the cells and the number of each row, and counts the rows.
///
/// # Errors
/// Kind and description of the first damage, or the reason why the file is not read.
pub(super) fn each_row(
    open: &OpenSource,
    rows: &mut u64,
    each: impl FnMut(&Cells, u64),
) -> Result<(), (Kind, String)> {
    let Some(path) = open.source().seekable() else {
        let detail = "a Parquet file is read from its end: unpack it, and name the file itself";
        return Err((Kind::UnreadableFile, detail.to_owned()));
    };
    let unreadable = |error: io::Error| (Kind::UnreadableFile, error.to_string());
    let mut pages = File::open(path).map_err(unreadable)?;
    let file = File::open(path).and_then(BoundedFile::new).map_err(unreadable)?;
    let read = AssertUnwindSafe(|| read_groups(file, &mut pages, rows, each));
    // Rows before a panic are whole: a row is passed on after all of it was read.
    catch_unwind(read)
        .unwrap_or_else(|_| Err((Kind::UnreadableFile, "a part of the file is damaged".to_owned())))
}

fn read_groups(
    file: BoundedFile,
    pages: &mut File,
    rows: &mut u64,
    mut each: impl FnMut(&Cells, u64),
) -> Result<(), (Kind, String)> {
    let damage = |error: ParquetError| (Kind::UnreadableFile, error.to_string());
    let length = file.len();
    let file = SerializedFileReader::new(file).map_err(damage)?;
    let schema = file.metadata().file_metadata().schema();
    let has = |name: &str| schema.get_fields().iter().any(|field| is_named(field.name(), name));
    if let Some(lacking) = lacking_columns(has) {
        return Err((Kind::ForeignFormat, format!("a Parquet file {lacking}")));
    }
    let columns = columns_of(schema).map_err(damage)?;
    for number in 0..file.num_row_groups() {
        let group = file.get_row_group(number).map_err(damage)?;
        if let Some(packing) = unread_packing(group.metadata()) {
            let detail = format!(
                "it is packed with {packing}, which is not read; write it again with zstd, snappy or gzip"
            );
            return Err((Kind::UnreadableFile, detail));
        }
        check_pages(group.metadata(), pages, length)?;
        for row in RowIter::from_row_group(Some(columns.clone()), &*group).map_err(damage)? {
            *rows += 1;
            if *rows > length / LEAST_BYTES {
                let detail = "it claims more rows than its bytes can hold";
                return Err((Kind::UnreadableFile, detail.to_owned()));
            }
            each(&Cells(row.map_err(damage)?.into_columns()), *rows);
            // The file is read past the reader that checks the memory elsewhere.
            let is_full = || MemoryBound::of_process().is_some_and(MemoryBound::is_reached);
            if rows.is_multiple_of(BETWEEN_LOOKS) && is_full() {
                let detail = "the memory that the run may have is used up".to_owned();
                return Err((Kind::OutOfMemory, detail));
            }
        }
    }
    Ok(())
}

/// Fails if a page of a needed column unpacks too far.
fn check_pages(
    group: &RowGroupMetaData,
    pages: &mut File,
    length: u64,
) -> Result<(), (Kind, String)> {
    for column in group.columns().iter().filter(|column| is_needed(column)) {
        let range = column.byte_range();
        let is_far = unpacks_too_far(pages, length, range);
        if is_far.map_err(|error| (Kind::UnreadableFile, error.to_string()))? {
            let detail = "a page of it unpacks to more than 64 MiB and to over 20 times the file, as no log does; if \
                          it is one, write it again with smaller pages";
            return Err((Kind::UnpacksTooFar, detail.to_owned()));
        }
    }
    Ok(())
}

fn is_needed(column: &ColumnChunkMetaData) -> bool {
    column.column_path().parts().first().is_some_and(|name| is_wanted(name))
}

/// File whose end is a read error. The crate continues over lists that a damaged header claims, as long as
/// nothing fails.
struct BoundedFile {
    file: File,
    length: u64,
}

impl BoundedFile {
    fn new(file: File) -> io::Result<Self> {
        let length = file.metadata()?.len();
        Ok(Self { file, length })
    }
}

impl Length for BoundedFile {
    fn len(&self) -> u64 {
        self.length
    }
}

impl ChunkReader for BoundedFile {
    type T = BufReader<UpToItsEnd>;

    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        let mut file = self.file.try_clone()?;
        file.seek(SeekFrom::Start(start))?;
        Ok(BufReader::new(UpToItsEnd(file)))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        // No allocation beyond the size of the file.
        if start.saturating_add(length as u64) > self.length {
            return Err(ParquetError::EOF("a page beyond the end of the file".to_owned()));
        }
        self.file.get_bytes(start, length)
    }
}

/// Reader that reports the end of the file as an error.
struct UpToItsEnd(File);

impl Read for UpToItsEnd {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.0.read(buffer)? {
            0 if !buffer.is_empty() => Err(io::ErrorKind::UnexpectedEof.into()),
            count => Ok(count),
        }
    }
}

/// Schema of the needed columns that a file has.
///
/// # Errors
/// The crate refuses the schema.
fn columns_of(schema: &Type) -> Result<Type, ParquetError> {
    let wanted = schema.get_fields().iter().filter(|field| is_wanted(field.name())).cloned();
    Type::group_type_builder(schema.name()).with_fields(wanted.collect()).build()
}

fn is_wanted(column: &str) -> bool {
    COLUMNS.iter().any(|name| is_named(column, name))
}

/// Compression of a needed column that this build cannot unpack.
fn unread_packing(group: &RowGroupMetaData) -> Option<&'static str> {
    let mut needed = group.columns().iter().filter(|column| is_needed(column));
    needed.find_map(|column| match column.compression() {
        Compression::LZ4 | Compression::LZ4_RAW => Some("LZ4"),
        Compression::BROTLI(_) => Some("Brotli"),
        Compression::LZO => Some("LZO"),
        _ => None,
    })
}

/// Text of a value, as another table would have it in its cell.
fn text_of(field: &Field) -> Option<Cow<'_, str>> {
    Some(match field {
        Field::Null => return None,
        Field::Str(text) => Cow::Borrowed(text),
        Field::Bytes(bytes) => Cow::Borrowed(str::from_utf8(bytes.data()).ok()?),
        // Both units become milliseconds, which `Moment` recognises by their size.
        Field::TimestampMillis(millis) => Cow::Owned(millis.to_string()),
        Field::TimestampMicros(micros) => Cow::Owned(micros.div_euclid(1_000).to_string()),
        Field::Group(_) | Field::ListInternal(_) | Field::MapInternal(_) => {
            Cow::Owned(value_of(field).to_string())
        }
        number => Cow::Owned(number.to_string()),
    })
}

/// JSON of a nested value: some exports turn columns of JSON into nested ones.
fn value_of(field: &Field) -> Value {
    match field {
        Field::Null => Value::Null,
        Field::Bool(value) => (*value).into(),
        Field::Int(value) => (*value).into(),
        Field::Long(value) => (*value).into(),
        Field::UInt(value) => (*value).into(),
        Field::ULong(value) => (*value).into(),
        Field::Double(value) => of_double(*value),
        Field::Group(row) => {
            row.get_column_iter().map(|(name, field)| (name.clone(), value_of(field))).collect()
        }
        Field::ListInternal(list) => list.elements().iter().map(value_of).collect(),
        Field::MapInternal(map) => map
            .entries()
            .iter()
            .filter_map(|(name, field)| Some((text_of(name)?.into_owned(), value_of(field))))
            .collect(),
        other => text_of(other).map_or(Value::Null, |text| text.into_owned().into()),
    }
}

/// Number of a double. Whole numbers become integers: counts with gaps are often exported as doubles.
fn of_double(value: f64) -> Value {
    let text = value.to_string();
    text.parse::<u64>().map_or_else(|_| value.into(), Value::from)
}

#[cfg(test)]
mod tests {
    use parquet::record::Row;

    use super::*;

    #[test]
    fn a_column_with_parts_is_json() {
        let row = Row::new(vec![
            ("a".to_owned(), Field::Double(7.0)),
            ("b".to_owned(), Field::Group(Row::new(vec![("c".to_owned(), Field::Null)]))),
        ]);
        let field = Field::Group(row);
        assert_eq!(text_of(&field).as_deref(), Some(r#"{"a":7,"b":{"c":null}}"#));
    }
}
