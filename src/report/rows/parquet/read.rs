//! Ledgers that were written as Parquet, read again: the requests that they have rows of.

use std::fs::File;
use std::io;
use std::path::Path;

use parquet::column::reader::{ColumnReaderImpl, get_typed_column_reader};
use parquet::data_type::{ByteArray, ByteArrayType};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};

use crate::requests::seams::Identified;

/// How many rows are read at once.
const BATCH_ROWS: usize = 8_192;

/// How many rows a file has, and of which schema they say that they are.
///
/// # Errors
/// The file cannot be read as Parquet.
pub fn stored_rows(path: &Path) -> io::Result<(u64, Option<String>)> {
    let reader = SerializedFileReader::new(File::open(path)?).map_err(io::Error::other)?;
    let metadata = reader.metadata().file_metadata();
    let mut pairs = metadata.key_value_metadata().into_iter().flatten();
    let schema =
        pairs.find(|pair| pair.key == "cachesim.schema").and_then(|pair| pair.value.clone());
    Ok((u64::try_from(metadata.num_rows()).unwrap_or_default(), schema))
}

/// Calls `each` with the requests of a domain's ledger of which both ids are known; with one several times where its
/// rows are not next to each other.
///
/// # Errors
/// The file cannot be read, is no ledger or another domain's, or what `each` returns.
pub fn each_request<E: From<io::Error>>(
    path: &Path,
    domain: &str,
    mut each: impl FnMut(&Identified<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let reader = SerializedFileReader::new(File::open(path)?).map_err(io::Error::other)?;
    for number in 0..reader.num_row_groups() {
        let group = reader.get_row_group(number).map_err(io::Error::other)?;
        each_in_group(&*group, domain, &mut each)?;
    }
    Ok(())
}

fn each_in_group<E: From<io::Error>>(
    group: &dyn RowGroupReader,
    domain: &str,
    each: &mut impl FnMut(&Identified<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let column = |name| TextColumn::of(group, name).map_err(io::Error::other);
    let names = ["message_id", "request_id", "file", "domain"];
    let [one, two, three, four] = names.map(column);
    let mut columns = [one?, two?, three?, four?];
    let mut last: Option<[ByteArray; 2]> = None;
    loop {
        for column in &mut columns {
            column.read().map_err(io::Error::other)?;
        }
        let [messages, requests, files, domains] = &columns;
        if messages.texts.is_empty() {
            return Ok(());
        }
        let is_of_other = |one: &Option<ByteArray>| {
            one.as_ref().is_none_or(|one| one.data() != domain.as_bytes())
        };
        if domains.texts.iter().any(is_of_other) {
            return Err(io::Error::other("it has rows of another domain").into());
        }
        for ((message, request), file) in
            messages.texts.iter().zip(&requests.texts).zip(&files.texts)
        {
            let (Some(message), Some(request), Some(file)) = (message, request, file) else {
                continue;
            };
            let is_same =
                last.as_ref().is_some_and(|[one, other]| one == message && other == request);
            if !is_same {
                let [message, id, file] = [message, request, file].map(text);
                each(&Identified { message: message?, request: id?, file: file? })?;
            }
            last = Some([message.clone(), request.clone()]);
        }
    }
}

fn text(bytes: &ByteArray) -> io::Result<&str> {
    bytes.as_utf8().map_err(io::Error::other)
}

/// A column of text, a batch of rows at a time.
struct TextColumn {
    reader: ColumnReaderImpl<ByteArrayType>,
    texts: Vec<Option<ByteArray>>,
}

impl TextColumn {
    fn of(group: &dyn RowGroupReader, name: &str) -> ParquetResult<Self> {
        let columns = group.metadata().columns();
        let place = columns.iter().position(|column| column.column_path().string() == name);
        let place =
            place.ok_or_else(|| ParquetError::General(format!("it has no column {name}")))?;
        let is_text = columns[place].column_type() == parquet::basic::Type::BYTE_ARRAY;
        if !is_text || columns[place].column_descr().max_rep_level() > 0 {
            return Err(ParquetError::General(format!("its column {name} has no texts")));
        }
        let reader = get_typed_column_reader(group.get_column_reader(place)?);
        Ok(Self { reader, texts: Vec::new() })
    }

    fn read(&mut self) -> ParquetResult<()> {
        let (mut values, mut levels) = (Vec::new(), Vec::new());
        let (rows, ..) =
            self.reader.read_records(BATCH_ROWS, Some(&mut levels), None, &mut values)?;
        let mut values = values.into_iter();
        self.texts.clear();
        if levels.is_empty() {
            self.texts.extend(values.map(Some));
        } else {
            let texts = levels.iter().map(|level| (*level > 0).then(|| values.next()).flatten());
            self.texts.extend(texts);
        }
        debug_assert_eq!(self.texts.len(), rows);
        Ok(())
    }
}
