//! `SQLite` databases in which agents keep their sessions: one file for each program.
//!
//! A database is recognised by its tables. It is read in place, row by row, even while its program runs.
//! If the program changes it meanwhile, it is read once more. To add a program: a file with a
//! [`DatabaseFormat`], and a line in `FORMATS`.

mod antigravity;
mod copilot;
mod export;
mod failure;
mod files;
#[cfg(test)]
mod fixture;
mod goose;
mod open;
mod opencode;
mod opencode_place;
mod opencode_step;
mod protobuf;
mod row;
mod rows;
mod table;
mod vscode;
mod zed;

use std::path::Path;

use super::AgentFile;
use crate::read::input::{Extent, Kind, OpenSource, what_became};
pub(crate) use copilot::COLUMNS as REQUEST_COLUMNS;
pub(crate) use export::exported;
use failure::Failure;
use files::DatabaseFiles;
pub(crate) use goose::{AGENTS as AGENT_PROVIDERS, COLUMNS as LEDGER_COLUMNS, SESSION_COLUMNS};
use open::Database;
use row::{Row, json};
pub(super) use rows::Rows;
pub(crate) use vscode::COLUMNS as SPAN_COLUMNS;

/// Every program, in the order of recognition.
static FORMATS: [&dyn DatabaseFormat; 6] = [
    &opencode::OpenCode,
    &copilot::CopilotStore,
    &vscode::AgentTraces,
    &zed::Threads,
    &goose::Goose,
    &antigravity::Antigravity,
];

/// Program that keeps its sessions in a database.
trait DatabaseFormat: Sync {
    /// Name of the program, for people.
    fn program(&self) -> &'static str;

    /// Returns true if a database with these tables is the program's.
    ///
    /// # Errors
    /// Any error of `SQLite`.
    fn recognises(&self, database: &Database) -> Result<bool, Failure>;

    /// Tables that are read, each with the columns that identify the program or are read.
    fn tables(&self) -> &'static [(&'static str, &'static [&'static str])];

    /// Returns true if a row is read.
    fn is_wanted(&self, _table: &str, _row: &Row<'_>) -> bool {
        true
    }

    /// Text that an export has for a value; `None` for the value as it is.
    fn exported(&self, _table: &str, _column: &str, _row: &Row<'_>) -> Option<String> {
        None
    }

    /// Reads a database to its end. No text of it is kept.
    ///
    /// # Errors
    /// Any error of `SQLite`. Requests that were read before it stay.
    fn read(&self, database: &Database, file: &mut AgentFile) -> Result<(), Failure>;
}

/// Reads a database, and once more if its program changed it meanwhile.
///
/// # Errors
/// A description for people, if it is of no known program.
pub(crate) fn read(open: &OpenSource) -> Result<AgentFile, String> {
    let Some(path) = open.source().seekable() else {
        let mut file = AgentFile::of(open);
        let detail = "it is an SQLite database, which is read in its place alone; give the database file \
                      itself, neither compressed nor through a pipe";
        file.reject(Kind::UnreadableFile, 0, detail);
        file.extent.is_cut = true;
        return Ok(file);
    };
    let first = Reading::of(path, open);
    if first.is_steady {
        return first.finish();
    }
    // Only one reading is held in memory at a time.
    drop(first);
    Reading::of(path, open).finish()
}

/// One reading of a database.
struct Reading {
    file: AgentFile,
    /// Description of the database if it is of no known program.
    result: Result<Option<String>, Failure>,
    /// True if the reading has seen one state of the database.
    is_steady: bool,
}

impl Reading {
    fn of(path: &Path, open: &OpenSource) -> Self {
        let mut file = AgentFile::of(open);
        let (result, is_steady) = match DatabaseFiles::look(path) {
            Ok(then) => {
                let result = read_files(&then, &mut file);
                let now = DatabaseFiles::look(path);
                (result, now.is_ok_and(|now| then.were_steady_until(&now)))
            }
            // Nothing was read, so a second reading would not help.
            Err(error) => (Err(Failure::File(error)), true),
        };
        Self { file, result, is_steady }
    }

    /// File with its diagnostics.
    ///
    /// # Errors
    /// Description of the database if it is of no known program.
    fn finish(mut self) -> Result<AgentFile, String> {
        let is_used = !self.file.requests.is_empty();
        let (kind, detail) = match self.result {
            Ok(Some(what)) => return Err(what),
            Ok(None) if self.is_steady => return Ok(self.file),
            Ok(None) => (Kind::UnreadableFile, what_became(is_used, "what was read")),
            Err(failure) => {
                let became = what_became(is_used, "what was read before it");
                (failure.kind(), format!("{}; {became}", failure.detail()))
            }
        };
        let changed = "its program changed it while it was read, twice; read it again later: ";
        let why = if self.is_steady { "" } else { changed };
        self.file.reject(kind, 0, format!("{why}{detail}"));
        self.file.extent.is_cut = true;
        Ok(self.file)
    }
}

/// Reads the files of a database; the result describes one of no known program.
fn read_files(files: &DatabaseFiles, file: &mut AgentFile) -> Result<Option<String>, Failure> {
    let database = Database::open(files)?;
    let Some(format) = program_of(&database)? else { return unknown(&database).map(Some) };
    let result = format.read(&database, file);
    file.extent = Extent { bytes: files.size(), lines: database.rows(), is_cut: false };
    result.map(|()| None)
}

/// Description of a database of no known program: the tables and columns that it lacks of the nearest
/// program.
///
/// Only known names are quoted, since others may be anything.
fn unknown(database: &Database) -> Result<String, Failure> {
    let mut nearest: (usize, String) = (0, String::new());
    let mut looked_for = Vec::new();
    for format in FORMATS {
        let (mut there, mut lacking) = (Vec::new(), Vec::new());
        for (table, columns) in format.tables() {
            let has = database.columns(table)?;
            if has.is_empty() {
                lacking.push((*table).to_owned());
            } else {
                let absent = columns.iter().filter(|name| !has.iter().any(|one| one == *name));
                lacking.extend(absent.map(|name| format!("{table}.{name}")));
                there.push(*table);
            }
        }
        let program = format.program();
        if there.len() > nearest.0 {
            let (count, there, lacking) = (there.len(), listed(&there), listed(&lacking));
            nearest = (count, format!("of what {program} keeps it has {there}, but not {lacking}"));
        }
        let tables: Vec<&str> = format.tables().iter().map(|(table, _)| *table).collect();
        looked_for.push(format!("{} ({program})", tables.join(", ")));
    }
    let why = if nearest.0 > 0 {
        nearest.1
    } else {
        format!("it has none of the tables {}", looked_for.join(", "))
    };
    Ok(format!("an SQLite database of no program that is known: {why}"))
}

/// Most names in a list for people.
const MOST_NAMED: usize = 8;

/// First names of a list, and the number of the others.
fn listed(names: &[impl AsRef<str>]) -> String {
    let first: Vec<&str> = names.iter().take(MOST_NAMED).map(AsRef::as_ref).collect();
    let more = names.len() - first.len();
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    first.join(", ") + &more
}

/// Program that has such a database.
fn program_of(database: &Database) -> Result<Option<&'static dyn DatabaseFormat>, Failure> {
    for format in FORMATS {
        if format.recognises(database)? {
            return Ok(Some(format));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::fixture::Fixture;
    use super::*;
    use crate::read::Format;
    use crate::read::input::Source;

    pub(super) const FIXTURES: [&str; 6] = [
        "agent-opencode-db/opencode.sql",
        "agent-copilot-store/session-store.sql",
        "agent-vscode-traces/agent-traces.sql",
        "agent-zed/threads.sql",
        "agent-goose/sessions.sql",
        "agent-antigravity/conversation.sql",
    ];

    #[test]
    fn a_database_that_has_no_place_is_named() {
        let bytes = fs::read(Fixture::file(FIXTURES[0]).path()).expect("a database");
        let source = Source::in_memory("opencode.db", &bytes);
        let open = OpenSource::open(&source).expect("bytes");
        assert!(matches!(open.first_lines().map(Format::of), Some(Format::Database)));
        let file = read(&open).expect("named");
        assert_eq!(file.diagnostics.count(Kind::UnreadableFile), 1);
        assert!(file.requests.is_empty() && file.extent.is_cut);
    }

    #[test]
    fn what_is_committed_to_a_log_is_read_and_nothing_is_written() {
        let fixture = Fixture::of("PRAGMA journal_mode = WAL");
        let writer = fixture.connection();
        writer.execute_batch("PRAGMA wal_autocheckpoint = 0").expect("set");
        let statements = "CREATE TABLE assistant_usage_events (session_id TEXT, model TEXT, input_tokens, \
             output_tokens, cache_read_tokens, created_at TEXT);";
        let row = "INSERT INTO assistant_usage_events VALUES \
             ('s', 'gpt-5.5', 100, 5, 40, '2026-10-05 10:00:00');";
        writer.execute_batch(&[statements, row, "BEGIN IMMEDIATE;", row].concat()).expect("rows");
        let folder = fixture.path().parent().expect("a folder").to_owned();
        let state = || {
            let mut files: Vec<_> = fs::read_dir(&folder)
                .expect("a folder")
                .map(|entry| {
                    let entry = entry.expect("a file");
                    let modified = entry.metadata().and_then(|one| one.modified()).expect("a time");
                    (entry.file_name(), modified, fs::read(entry.path()).expect("bytes"))
                })
                .collect();
            files.sort();
            files
        };
        let before = state();
        assert_eq!(before.len(), 3, "a database, its log and the index of that");
        let file = fixture.read();
        assert_eq!((file.requests.len(), file.diagnostics.has_damage()), (1, false));
        assert!(before == state(), "nothing changed");
        writer.execute_batch("COMMIT").expect("committed");
        assert_eq!(fixture.read().requests.len(), 2);
    }

    #[test]
    fn a_database_that_ends_early_is_named() {
        for name in FIXTURES {
            let fixture = Fixture::file(name);
            let bytes = fs::read(fixture.path()).expect("a database");
            let whole = fixture.read().requests.len();
            for end in (1..bytes.len() / 4096).map(|page| page * 4096) {
                fs::write(fixture.path(), &bytes[..end]).expect("written");
                let file = fixture.read();
                assert!(file.requests.len() <= whole, "{name}");
                assert!(file.diagnostics.count(Kind::UnreadableFile) > 0, "{name} ends at {end}");
                let became =
                    if file.requests.is_empty() { "the file is left out" } else { "is used" };
                let detail = &file.diagnostics.examples()[0].detail;
                assert!(detail.ends_with(became), "{name} ends at {end}: {detail}");
            }
        }
    }

    /// Makes all children of a page of a tree the same page.
    fn set_children(page: &mut [u8], child: usize) {
        let child = u32::try_from(child).expect("a small number").to_be_bytes();
        page[8..12].copy_from_slice(&child);
        let cells = usize::from(u16::from_be_bytes([page[3], page[4]]));
        for pointer in (12..).step_by(2).take(cells) {
            let cell = usize::from(u16::from_be_bytes([page[pointer], page[pointer + 1]]));
            page[cell..cell + 4].copy_from_slice(&child);
        }
    }

    #[test]
    fn a_small_database_that_makes_endless_work_is_given_up() {
        let statements =
            "PRAGMA page_size = 512; CREATE TABLE assistant_usage_events (session_id TEXT, \
             model TEXT, input_tokens, cache_read_tokens, created_at TEXT);
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 90000) \
             INSERT INTO assistant_usage_events (session_id) SELECT 's' FROM n;";
        let fixture = Fixture::of(statements);
        let mut bytes = fs::read(fixture.path()).expect("a database");
        let mut pages: Vec<&mut [u8]> = bytes.chunks_mut(512).collect();
        // The second page is the root of the table, and each page of the tree leads only to the next
        // one: a tree of fifteen levels, whose pages on a level are all the same.
        let inner: Vec<usize> = (1..pages.len()).filter(|page| pages[*page][0] == 5).collect();
        assert!(inner.len() > 15 && inner[0] == 1);
        for two in inner[..15].windows(2) {
            set_children(pages[two[0]], two[1] + 1);
        }
        fs::write(fixture.path(), bytes).expect("written");
        let file = fixture.read();
        let [named] = file.diagnostics.examples() else { panic!("one thing is wrong") };
        assert!(named.detail.starts_with("its rows make more work"), "{named}");
    }
}
