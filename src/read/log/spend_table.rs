//! `LiteLLM` spend log as a table: CSV with a header, as databases and spreadsheets export it. Cells are separated
//! by commas, semicolons or tabs, and JSON is a quoted text.

use std::borrow::Cow;
use std::io::{self, Read};
use std::sync::Arc;

use csv::{ReaderBuilder, StringRecord};

use super::spend::SpendReader;
use super::spend_row::{SpendRow, lacking_columns};
use super::{Log, LogFormat, LogLayout, LogReader};
use crate::base::Client;
use crate::read::capture::CaptureOptions;
use crate::read::input::{Exceeded, Extent, Kind, OpenSource};

/// Separators of cells, the most common first.
const DELIMITERS: [u8; 3] = *b",;\t";

/// Spellings of a missing value.
pub(crate) const NOTHING: [&str; 6] = ["", "NULL", "null", "None", "\\N", "nan"];

/// Format of a spend log in CSV.
pub(super) struct SpendTable;

impl LogFormat for SpendTable {
    fn begins(&self, bytes: &[u8]) -> bool {
        delimiter(bytes).is_some()
    }

    fn file(&self) -> &'static str {
        "a spend log of LiteLLM, as CSV"
    }

    fn client(&self) -> Client {
        Client::LiteLlm
    }

    fn layout(&self) -> Option<LogLayout> {
        Some(LogLayout::Table)
    }

    fn read(&self, open: &mut OpenSource, options: &CaptureOptions) -> Log {
        let label = Arc::clone(&open.label);
        let mut reader = SpendReader::new(LogReader::new(open, &label, options));
        let extent = read_table(open, &mut reader);
        reader.log.finish(open, extent)
    }
}

fn read_table(open: &mut OpenSource, reader: &mut SpendReader<'_>) -> Extent {
    let delimiter = open.first_lines().and_then(|chunk| delimiter(chunk.bytes()));
    let delimiter = delimiter.unwrap_or(b',');
    if open.source().is_read_once() {
        let mut bytes = Vec::new();
        let mut diagnostics = std::mem::take(&mut reader.log.file.diagnostics);
        let extent = open.read_in_order(&mut diagnostics, |_, line| {
            bytes.extend_from_slice(line);
            bytes.push(b'\n');
        });
        reader.log.file.diagnostics = diagnostics;
        // A last line without an end gets none: this is how a row that was cut off is recognised.
        if extent.bytes < bytes.len() as u64 {
            bytes.pop();
        }
        read_cells(&*bytes, delimiter, reader);
        return extent;
    }
    match open.source().open() {
        Ok(file) => read_cells(file, delimiter, reader),
        Err(error) => {
            reader.log.reject(Kind::UnreadableFile, 0, error.to_string());
            Extent { is_cut: true, ..Extent::default() }
        }
    }
}

/// Sentinel behind the end of a table. An open quoted cell takes it in; otherwise it is a row of its own, and
/// ends a last line that has no end.
const BEHIND: &str = "\n\0";

/// Byte counter around a source.
struct Counted<R> {
    source: R,
    bytes: u64,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read(buffer)?;
        self.bytes += count as u64;
        Ok(count)
    }
}

/// Adds the rows below the header one by one.
fn read_cells(source: impl Read, delimiter: u8, reader: &mut SpendReader<'_>) -> Extent {
    let source = Counted { source, bytes: 0 }.chain(BEHIND.as_bytes());
    let mut table = ReaderBuilder::new().delimiter(delimiter).flexible(true).from_reader(source);
    let header = table.headers().cloned().unwrap_or_default();
    let mut cells = StringRecord::new();
    let mut is_cut = false;
    let mut lines = table.position().record();
    loop {
        let row = table.read_record(&mut cells);
        // Past the end of the source: the row was ended by the sentinel.
        let is_unended = table.position().byte() > table.get_ref().get_ref().0.bytes;
        match row {
            Ok(true) if is_unended && cells.iter().eq([BEHIND.trim_start()]) => break,
            Ok(true) => {
                let line = cells.position().map_or(0, row_number);
                let is_open = cells.iter().next_back().is_some_and(|cell| cell.ends_with(BEHIND));
                if is_unended && (is_open || cells.len() < header.len()) {
                    let detail = "the table ends inside of the row, which is left out";
                    reader.log.reject(Kind::TornLine, line, detail);
                } else {
                    // A short row with an end is whole: some exports leave out empty cells.
                    reader.row(&SpendRow::of_cells(|name| cell(&header, &cells, name)), line);
                }
            }
            Ok(false) => break,
            Err(error) => {
                let line = error.position().map_or(0, row_number);
                if !is_readable_beyond(&error, line, reader) {
                    is_cut = true;
                    break;
                }
            }
        }
        lines = table.position().record();
    }
    let bytes = table.position().byte().min(table.get_ref().get_ref().0.bytes);
    Extent { bytes, lines, is_cut }
}

/// Number of a row as spreadsheets show it: the header is the first.
fn row_number(position: &csv::Position) -> u64 {
    position.record() + 1
}

/// Reports a damaged row. Returns true if the next row can be read.
fn is_readable_beyond(error: &csv::Error, line: u64, reader: &mut SpendReader<'_>) -> bool {
    match error.kind() {
        csv::ErrorKind::Utf8 { .. } => {
            reader.log.reject(Kind::NotUtf8, line, "the row is skipped");
            true
        }
        csv::ErrorKind::Io(error) => {
            let detail = format!("{error}; what was read before it is used");
            reader.log.reject(Exceeded::kind(error), line, detail);
            false
        }
        _ => {
            reader.log.reject(Kind::TornLine, line, "no row of the table");
            false
        }
    }
}

/// Text of a cell, if it has a value.
fn cell<'a>(header: &StringRecord, cells: &'a StringRecord, name: &str) -> Option<Cow<'a, str>> {
    let place = header.iter().position(|column| is_named(column, name))?;
    let text = cells.get(place)?.trim();
    (!NOTHING.contains(&text)).then_some(Cow::Borrowed(text))
}

/// Returns true if a column has that name. Databases that fold names leave lower case.
pub(super) fn is_named(column: &str, name: &str) -> bool {
    column.trim_start_matches('\u{feff}').trim().eq_ignore_ascii_case(name)
}

/// Separator of a table that begins with these bytes, if it is a spend log.
pub(crate) fn delimiter(bytes: &[u8]) -> Option<u8> {
    let line = header_line(bytes)?;
    // The cheap test first: every file that is read comes by here.
    memchr::memmem::find(line, b"request_id")?;
    DELIMITERS.into_iter().find(|delimiter| lacking(line, *delimiter).is_none())
}

/// Description of a table that is not a spend log; `None` for JSON.
pub(crate) fn other_table(bytes: &[u8]) -> Option<String> {
    let line = header_line(bytes)?;
    let lacking = DELIMITERS.into_iter().filter_map(|delimiter| lacking(line, delimiter));
    let fewest = lacking.min_by_key(String::len)?;
    Some(format!("a table {fewest}"))
}

/// First line, unless it is JSON.
fn header_line(bytes: &[u8]) -> Option<&[u8]> {
    let end = memchr::memchr(b'\n', bytes).unwrap_or(bytes.len());
    let line = bytes.get(..end.min(LONGEST_HEADER))?;
    let starts_json = line.trim_ascii_start().starts_with(b"{") || line.starts_with(b"[");
    (!starts_json).then_some(line)
}

/// Columns that a header with this separator lacks, if any.
fn lacking(line: &[u8], delimiter: u8) -> Option<String> {
    let mut table = ReaderBuilder::new().delimiter(delimiter).from_reader(line);
    let header = table.headers().cloned().unwrap_or_default();
    lacking_columns(|name| header.iter().any(|column| is_named(column, name)))
}

/// Longest header that is read, in bytes.
const LONGEST_HEADER: usize = 16 * 1024;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::{Millis, Tokens};
    use crate::read::input::Source;

    const HEADER: &str =
        "request_id,call_type,startTime,endTime,model,prompt_tokens,completion_tokens,metadata";

    fn read(text: &str) -> Log {
        let mut open = OpenSource::open(&Source::in_memory("spend.csv", text.as_bytes()))
            .expect("bytes in memory");
        SpendTable.read(&mut open, &CaptureOptions::default())
    }

    #[test]
    fn a_table_is_known_by_its_header() {
        assert!(SpendTable.begins(HEADER.as_bytes()));
        assert!(SpendTable.begins(HEADER.replace(',', ";").as_bytes()));
        assert!(SpendTable.begins(format!("\"{}\"\r\n", HEADER.replace(',', "\",\"")).as_bytes()));
        assert!(SpendTable.begins(HEADER.to_lowercase().as_bytes()));
        for other in ["request_id,model", "{\"request_id\":1}", "", "a,b\n1,2\n"] {
            assert!(!SpendTable.begins(other.as_bytes()), "{other}");
        }
    }

    #[test]
    fn another_table_is_told_by_what_it_lacks() {
        assert_eq!(
            other_table(b"request_id;model;prompt_tokens\n").as_deref(),
            Some("a table without the columns call_type, startTime of a spend log of LiteLLM")
        );
        let without_model = HEADER.replace("model,", "");
        assert_eq!(
            other_table(without_model.as_bytes()).as_deref(),
            Some("a table without the column model of a spend log of LiteLLM")
        );
        assert_eq!(other_table(b"{\"request_id\": 1}"), None);
    }

    #[test]
    fn a_row_that_is_cut_off_is_named_and_left_out() {
        let row = "a,acompletion,2026-09-21 14:13:20,2026-09-21 14:13:25,gpt-5.5,100,5,";
        let usage = "\"{\"\"usage_object\"\":{\"\"prompt_tokens\"\":100,\"\"completion_tokens\"\":5,\
             \"\"cache_read_input_tokens\"\":70}}\"";
        // Rows that are equal would be one.
        let other = row.replacen('a', "z", 1);
        let whole = format!("{HEADER}\n{other}{usage}\n{row}{usage}");
        for (text, requests, torn) in [
            (whole.clone(), 2, 0),
            (format!("{whole}\n"), 2, 0),
            (format!("{whole}\r\n"), 2, 0),
            // In quotes: at their end, and behind the end of a line in them.
            (whole[..whole.len() - 1].to_owned(), 1, 1),
            (format!("{}\n", &whole[..whole.len() - 1]), 1, 1),
            // Between cells, and in one.
            (whole[..whole.len() - usage.len() - 1].to_owned(), 1, 1),
            (whole[..whole.len() - usage.len() - row.len() + 9].to_owned(), 1, 1),
            // A row of a table that leaves empty cells out.
            (format!("{whole}\nb,aembedding,2026-09-21 14:13:20\n"), 2, 0),
        ] {
            let log = read(&text);
            let count = log.requests.diagnostics.count(Kind::TornLine);
            assert_eq!((log.requests.requests.len(), count), (requests, torn), "{text}");
            assert_eq!(log.requests.extent.bytes, text.len() as u64);
        }
    }

    #[test]
    fn a_row_behind_its_equal_is_a_copy() {
        let usage = "\"{\"\"usage_object\"\":{\"\"prompt_tokens\"\":100,\"\"cache_read_input_tokens\"\":70,";
        let row = |id: &str, output: u64| {
            format!(
                "\n{id},acompletion,2026-09-21 14:13:20,2026-09-21 14:13:25,gpt-5.5,100,{output},\
                 {usage}\"\"completion_tokens\"\":{output}}}}}\""
            )
        };
        let rows = [row("a", 5), row("a", 5), row("a", 6), row("b", 6), row("b", 6), row("b", 6)];
        let log = read(&format!("{HEADER}{}\n", rows.concat())).requests;
        assert_eq!((log.requests.len(), log.copies), (3, 3));
    }

    #[test]
    fn quoted_json_and_lines_in_cells_are_read() {
        let log = read(&format!(
            "{HEADER}\r\n\
             msg_1,acompletion,2026-09-21 14:13:20.5,2026-09-21 14:13:25,claude-opus-5,100,5,\
             \"{{\"\"note\"\":\n\"\"a,b\"\",\"\"usage_object\"\":{{\"\"prompt_tokens\"\":100,\"\"completion_tokens\"\":5,\
             \"\"cache_read_input_tokens\"\":70,\"\"cache_creation_input_tokens\"\":20}}}}\"\r\n\
             msg_2,acompletion,NULL,,claude-opus-5,1,1,{{}}\r\n"
        ));
        let [request] = &*log.requests.requests else { panic!("one request") };
        assert_eq!(request.usage.prompt.input, Tokens(10));
        assert_eq!(
            (request.start, request.finished),
            (Millis::new(1_790_000_000_500), Millis::new(1_790_000_005_000))
        );
        assert_eq!(log.requests.diagnostics.count(Kind::UsageWithoutCacheCounters), 1);
        assert_eq!(log.requests.diagnostics.examples()[0].line, 3);
    }
}
