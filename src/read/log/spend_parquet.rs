//! `LiteLLM` spend log as a Parquet file, as warehouses export it.
use std::io;
use std::sync::Arc;

use super::parquet_rows::each_row;
use super::spend::SpendReader;
use super::spend_row::SpendRow;
use super::spend_row::json_of_cells;
use super::{Log, LogFormat, LogLayout, LogReader};
use crate::base::Client;
use crate::read::capture::CaptureOptions;
use crate::read::input::{Extent, OpenSource, what_became};

/// First bytes of every Parquet file.
const MAGIC: &[u8] = b"PAR1";

/// Format of a spend log in Parquet.
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
        // Redaction writes such a file as JSON lines instead (`spend_lines`).
        None
    }

    fn read(&self, open: &mut OpenSource, options: &CaptureOptions) -> Log {
        let label = Arc::clone(&open.label);
        let mut reader = SpendReader::new(LogReader::new(open, &label, options));
        let mut rows = 0;
        let taken = each_row(open, &mut rows, |cells, number| {
            reader.row(&SpendRow::of_cells(|name| cells.text(name)), number);
        });
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

/// Rows as JSON lines, in the form of `LiteLLM`.
///
/// # Errors
/// The file cannot be read to its end, or is not a spend log.
pub(crate) fn spend_lines(open: &OpenSource) -> io::Result<Vec<u8>> {
    let mut lines = Vec::new();
    let taken = each_row(open, &mut 0, |cells, _| {
        lines.extend_from_slice(json_of_cells(|name| cells.text(name)).to_string().as_bytes());
        lines.push(b'\n');
    });
    taken.map_err(|(_, detail)| io::Error::other(detail))?;
    Ok(lines)
}

#[cfg(all(test, feature = "fleet"))]
mod tests {
    use std::fs::File;

    use parquet::basic::Compression;
    use parquet::column::writer::ColumnWriter;
    use parquet::data_type::ByteArray;
    use parquet::file::properties::WriterProperties;
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;

    use super::*;
    use crate::base::{Millis, Tokens};
    use crate::read::input::{Kind, discover};

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

    /// The metadata has the compression of each column behind the column's name, as a number that is written
    /// doubled. 5 is LZ4, 4 Brotli, 7 LZ4 without a frame.
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
}
