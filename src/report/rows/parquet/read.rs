//! Reader of Parquet files: number of rows, and the requests that they belong to.

use std::fs::File;
use std::io;
use std::path::Path;

use parquet::data_type::ByteArray;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};

use super::stored::{TextColumn, text};
use crate::requests::seams::Identified;

/// Number of rows of a file, and the schema that its metadata names.
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

/// Calls `each` with the row groups of a file, in order.
pub(super) fn each_group<E: From<io::Error>>(
    path: &Path,
    mut each: impl FnMut(&dyn RowGroupReader) -> Result<(), E>,
) -> Result<(), E> {
    let reader = SerializedFileReader::new(File::open(path)?).map_err(io::Error::other)?;
    for number in 0..reader.num_row_groups() {
        let group = reader.get_row_group(number).map_err(io::Error::other)?;
        each(&*group)?;
    }
    Ok(())
}

/// Calls `each` with the requests of a domain's ledger that have both ids; several times for a request whose rows are
/// not next to each other.
///
/// # Errors
/// The file cannot be read, is not a ledger or another domain's, or `each` fails.
pub fn each_identified<E: From<io::Error>>(
    path: &Path,
    domain: &str,
    mut each: impl FnMut(&Identified<'_>) -> Result<(), E>,
) -> Result<(), E> {
    each_group(path, |group| each_in_group(group, domain, &mut each))
}

fn each_in_group<E: From<io::Error>>(
    group: &dyn RowGroupReader,
    domain: &str,
    each: &mut impl FnMut(&Identified<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let column = |name| TextColumn::of(group, name);
    let [one, two, three, four] = ["message_id", "request_id", "file", "domain"].map(column);
    let mut columns = [one?, two?, three?, four?];
    let mut last: Option<[ByteArray; 2]> = None;
    loop {
        for column in &mut columns {
            column.read()?;
        }
        let [messages, requests, files, domains] = &columns;
        if messages.values.is_empty() {
            return Ok(());
        }
        of_domain(&domains.values, domain)?;
        for ((message, request), file) in
            messages.values.iter().zip(&requests.values).zip(&files.values)
        {
            let (Some(message), Some(request), Some(file)) = (message, request, file) else {
                continue;
            };
            // The rows of a request under several strategies mostly follow each other: one call is enough.
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

/// Fails if rows are of another domain.
pub(super) fn of_domain(domains: &[Option<ByteArray>], domain: &str) -> io::Result<()> {
    let is_of_other =
        |one: &Option<ByteArray>| one.as_ref().is_none_or(|one| one.data() != domain.as_bytes());
    if domains.iter().any(is_of_other) {
        return Err(io::Error::other("it has rows of another domain"));
    }
    Ok(())
}
