//! A spend log of `LiteLLM` as a Parquet file, as warehouses export it. Only the columns that are looked at
//! are read, one group of rows after another.
//!
//! The crate that reads Parquet checks most of what it reads, and panics at some of what is left, as at types
//! that it has no conversion for. A panic ends the file as an error does.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};
use parquet::file::reader::{ChunkReader, FileReader, Length, SerializedFileReader};
use parquet::record::reader::RowIter;
use parquet::record::{Field, Row};
use parquet::schema::types::Type;
use serde_json::Value;

use super::spend::SpendReader;
#[cfg(feature = "redact")]
use super::spend_row::json_of_cells;
use super::spend_row::{COLUMNS, SpendRow, lacking_columns};
use super::spend_table::is_named;
use super::{Log, LogFormat, LogLayout, LogReader};
use crate::base::client::Client;
use crate::read::capture::CaptureOptions;
use crate::read::input::{Extent, Kind, MemoryBound, OpenSource, what_became};

/// How every Parquet file begins.
const MAGIC: &[u8] = b"PAR1";

/// So many rows are taken from one look at the memory to the next.
const BETWEEN_LOOKS: u64 = 1_024;

/// The format of a spend log that is a Parquet file.
pub(super) struct SpendParquet;

impl LogFormat for SpendParquet {
    fn begins(&self, bytes: &[u8]) -> bool {
        bytes.starts_with(MAGIC)
    }

    fn file(&self) -> &'static str {
        "a spend log of LiteLLM, as Parquet"
    }

    fn client(&self) -> Client {
        Client::LiteLlm
    }

    fn layout(&self) -> Option<LogLayout> {
        None
    }

    fn read(&self, open: &mut OpenSource, options: &CaptureOptions) -> Log {
        let label = Arc::clone(&open.label);
        let mut reader = SpendReader::new(LogReader::new(open, &label, options));
        let mut rows = 0;
        let taken = read_file(open, &mut rows, |row, number| take(row, number, &mut reader));
        if let Err((kind, detail)) = taken {
            let became = what_became(reader.log.has_requests(), "what was read before");
            let became = if kind.is_damage() { format!("; {became}") } else { String::new() };
            reader.log.reject(kind, rows, detail + &became);
        }
        let is_cut = reader.log.file.diagnostics.has_damage();
        let bytes = open.source().size;
        reader.log.finish(open, Extent { bytes, lines: rows, is_cut })
    }
}

/// Takes in the rows, and counts them.
///
/// # Errors
/// What is wrong with the file.
fn read_file(
    open: &OpenSource,
    rows: &mut u64,
    take: impl FnMut(Row, u64),
) -> Result<(), (Kind, String)> {
    let Some(path) = open.source().seekable() else {
        let detail = "a Parquet file is read from its end: unpack it, and name the file itself";
        return Err((Kind::UnreadableFile, detail.to_owned()));
    };
    let file = File::open(path).and_then(BoundedFile::new);
    let file = file.map_err(|error| (Kind::UnreadableFile, error.to_string()))?;
    let read = AssertUnwindSafe(|| read_groups(file, rows, take));
    // What was taken in before a panic is whole: a row is taken in when all of it was read.
    catch_unwind(read)
        .unwrap_or_else(|_| Err((Kind::UnreadableFile, "a part of the file is damaged".to_owned())))
}

fn read_groups(
    file: BoundedFile,
    rows: &mut u64,
    mut take: impl FnMut(Row, u64),
) -> Result<(), (Kind, String)> {
    let damage = |error: ParquetError| (Kind::UnreadableFile, error.to_string());
    let most_rows = file.len();
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
        for row in RowIter::from_row_group(Some(columns.clone()), &*group).map_err(damage)? {
            *rows += 1;
            if *rows > most_rows {
                return Err((Kind::UnreadableFile, "it claims more rows than it has bytes".into()));
            }
            take(row.map_err(damage)?, *rows);
            let is_full = || MemoryBound::of_process().is_some_and(MemoryBound::is_reached);
            if rows.is_multiple_of(BETWEEN_LOOKS) && is_full() {
                let detail = "the memory that the run may have is used up".to_owned();
                return Err((Kind::OutOfMemory, detail));
            }
        }
    }
    Ok(())
}

/// A file at whose end reading fails. The crate goes on over lists that a damaged header claims, as long as
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
        // Nothing is set aside for more than there is.
        if start.saturating_add(length as u64) > self.length {
            return Err(ParquetError::EOF("a page beyond the end of the file".to_owned()));
        }
        self.file.get_bytes(start, length)
    }
}

/// Reads a file; its end is an error.
struct UpToItsEnd(File);

impl Read for UpToItsEnd {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.0.read(buffer)? {
            0 if !buffer.is_empty() => Err(io::ErrorKind::UnexpectedEof.into()),
            count => Ok(count),
        }
    }
}

/// The columns that are looked at, as far as a file has them.
///
/// # Errors
/// What the crate says of the schema.
fn columns_of(schema: &Type) -> Result<Type, ParquetError> {
    let wanted = schema.get_fields().iter().filter(|field| is_wanted(field.name())).cloned();
    Type::group_type_builder(schema.name()).with_fields(wanted.collect()).build()
}

fn is_wanted(column: &str) -> bool {
    COLUMNS.iter().any(|name| is_named(column, name))
}

/// By what a column that is looked at is packed, where the crate is built without it.
fn unread_packing(group: &RowGroupMetaData) -> Option<&'static str> {
    let is_read = |column: &&ColumnChunkMetaData| {
        column.column_path().parts().first().is_some_and(|name| is_wanted(name))
    };
    group.columns().iter().filter(is_read).find_map(|column| match column.compression() {
        Compression::LZ4 | Compression::LZ4_RAW => Some("LZ4"),
        Compression::BROTLI(_) => Some("Brotli"),
        Compression::LZO => Some("LZO"),
        _ => None,
    })
}

/// The rows as JSON lines, as `LiteLLM` would write them.
///
/// # Errors
/// Where the file cannot be read to its end, or is no spend log.
#[cfg(feature = "redact")]
pub(crate) fn spend_lines(open: &OpenSource) -> io::Result<Vec<u8>> {
    let mut lines = Vec::new();
    let taken = read_file(open, &mut 0, |row, _| {
        let cells = row.into_columns();
        let cell = |name: &str| {
            let (_, field) = cells.iter().find(|(column, _)| is_named(column, name))?;
            text_of(field)
        };
        lines.extend_from_slice(json_of_cells(cell).to_string().as_bytes());
        lines.push(b'\n');
    });
    taken.map_err(|(_, detail)| io::Error::other(detail))?;
    Ok(lines)
}

fn take(row: Row, number: u64, reader: &mut SpendReader<'_>) {
    let cells = row.into_columns();
    let cell = |name: &str| {
        let (_, field) = cells.iter().find(|(column, _)| is_named(column, name))?;
        text_of(field)
    };
    reader.row(&SpendRow::of_cells(cell), number);
}

/// A value as the text that another table would have in its cell.
fn text_of(field: &Field) -> Option<Cow<'_, str>> {
    Some(match field {
        Field::Null => return None,
        Field::Str(text) => Cow::Borrowed(text),
        Field::Bytes(bytes) => Cow::Borrowed(str::from_utf8(bytes.data()).ok()?),
        Field::TimestampMillis(millis) => Cow::Owned(millis.to_string()),
        Field::TimestampMicros(micros) => Cow::Owned(micros.div_euclid(1_000).to_string()),
        Field::Group(_) | Field::ListInternal(_) | Field::MapInternal(_) => {
            Cow::Owned(value_of(field).to_string())
        }
        number => Cow::Owned(number.to_string()),
    })
}

/// A value with parts as JSON: some exports make columns of JSON into such.
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

/// Whole numbers stay so: counts that may be missing are often kept as fractions.
fn of_double(value: f64) -> Value {
    let text = value.to_string();
    text.parse::<u64>().map_or_else(|_| value.into(), Value::from)
}

#[cfg(test)]
mod tests {
    use parquet::column::writer::ColumnWriter;
    use parquet::data_type::ByteArray;
    use parquet::file::properties::WriterProperties;
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;

    use super::*;
    use crate::base::units::{Millis, Tokens};
    use crate::read::input::discover;

    const SCHEMA: &str = "message spend {
        required binary request_id (UTF8);
        required binary call_type (UTF8);
        required int64 startTime (TIMESTAMP_MICROS);
        required binary model (UTF8);
        optional double prompt_tokens;
        required int32 completion_tokens;
        required binary metadata (JSON);
        required binary other (UTF8);
    }";

    fn bytes_of(texts: [&str; 2]) -> Vec<ByteArray> {
        texts.map(ByteArray::from).into()
    }

    /// A file with two rows.
    fn write(path: &std::path::Path, compression: Compression) {
        let usage = r#"{"usage_object":{"prompt_tokens":100,"completion_tokens":5,"cache_read_input_tokens":70}}"#;
        let schema = Arc::new(parse_message_type(SCHEMA).expect("a schema"));
        let properties = WriterProperties::builder().set_compression(compression).build();
        let file = File::create(path).expect("a file");
        let mut writer =
            SerializedFileWriter::new(file, schema, Arc::new(properties)).expect("a writer");
        let mut group = writer.next_row_group().expect("a group");
        let mut texts = vec![
            bytes_of(["chatcmpl-1", "chatcmpl-2"]),
            bytes_of(["acompletion", "aembedding"]),
            bytes_of(["gpt-5.5", "text-embedding"]),
            bytes_of([usage, "{}"]),
            bytes_of(["a", "b"]),
        ]
        .into_iter();
        while let Some(mut column) = group.next_column().expect("a column") {
            match column.untyped() {
                ColumnWriter::ByteArrayColumnWriter(column) => {
                    let texts = texts.next().expect("texts");
                    column.write_batch(&texts, None, None).expect("written");
                }
                ColumnWriter::Int64ColumnWriter(column) => {
                    let times = [1_790_000_000_500_000, 1_790_000_001_000_000];
                    column.write_batch(&times, None, None).expect("written");
                }
                ColumnWriter::DoubleColumnWriter(column) => {
                    column.write_batch(&[100.0], Some(&[1, 0]), None).expect("written");
                }
                ColumnWriter::Int32ColumnWriter(column) => {
                    column.write_batch(&[5, 0], None, None).expect("written");
                }
                _ => panic!("no such column"),
            }
            column.close().expect("closed");
        }
        group.close().expect("closed");
        writer.close().expect("closed");
    }

    fn read(path: &std::path::Path) -> Log {
        let found = discover(&[path.to_owned()]);
        let mut open = OpenSource::open(&found.sources[0]).expect("the file");
        let begins = open.first_lines().is_some_and(|chunk| SpendParquet.begins(chunk.bytes()));
        assert!(begins);
        SpendParquet.read(&mut open, &CaptureOptions::default())
    }

    #[test]
    fn a_file_is_read_whatever_packs_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("spend.parquet");
        let zstd = Compression::ZSTD(parquet::basic::ZstdLevel::default());
        let gzip = Compression::GZIP(parquet::basic::GzipLevel::default());
        for compression in [Compression::UNCOMPRESSED, Compression::SNAPPY, zstd, gzip] {
            write(&path, compression);
            let log = read(&path);
            let [request] = &*log.requests.requests else { panic!("one request") };
            let prompt = request.usage.prompt;
            assert_eq!((prompt.input, prompt.read), (Tokens(30), Tokens(70)));
            assert_eq!(request.start, Millis::new(1_790_000_000_500));
            assert_eq!(log.requests.diagnostics.count(Kind::OtherEndpoint), 1);
            assert_eq!(log.requests.extent.lines, 2);
        }
    }

    #[test]
    fn damage_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("spend.parquet");
        write(&path, Compression::SNAPPY);
        let bytes = std::fs::read(&path).expect("bytes");
        std::fs::write(&path, &bytes[..bytes.len() / 2]).expect("written");
        let log = read(&path);
        assert_eq!(log.requests.diagnostics.count(Kind::UnreadableFile), 1);
        let detail = &log.requests.diagnostics.examples()[0].detail;
        assert!(detail.ends_with("; the file is left out"), "{detail}");
    }

    /// The metadata names the packing of each column behind the column's name: as a number, of which twice is
    /// written. 5 is LZ4, 4 Brotli, 7 LZ4 without a frame.
    #[test]
    fn a_packing_that_is_not_read_is_named_with_what_to_do() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("spend.parquet");
        write(&path, Compression::SNAPPY);
        let bytes = std::fs::read(&path).expect("bytes");
        let name = b"request_id\x15\x02";
        let place = memchr::memmem::rfind(&bytes, name).expect("a packing") + name.len() - 1;
        for (number, packing) in [(5, "LZ4"), (4, "Brotli"), (7, "LZ4")] {
            let mut bytes = bytes.clone();
            bytes[place] = number * 2;
            std::fs::write(&path, &bytes).expect("written");
            let log = read(&path);
            let [named] = log.requests.diagnostics.examples() else { panic!("one thing: {log:?}") };
            let detail = format!(
                "it is packed with {packing}, which is not read; write it again with zstd, snappy or gzip; \
                 the file is left out"
            );
            assert_eq!((named.kind, &named.detail), (Kind::UnreadableFile, &detail));
        }
    }

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
