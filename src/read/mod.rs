//! Files as they are: transcripts, captured requests, prompt bundles, sessions of other agents, logs.
//!
//! The modules are in the order of the flow: each uses only those before it.
//!
//! A file is read in chunks of half a megabyte that end at line borders, into buffers that are
//! used again; the next chunk is handed to whichever thread is free (`read/input/stretches.rs`),
//! so one large file keeps all threads busy. The parsed chunks are joined in file order,
//! by a thread that has just parsed one (`InOrder`). There the lines of a response
//! are put together, too (`requests/conversation/gathered.rs`), entries are linked and
//! folded into the state at each of them; only if a later line changes the state of an earlier
//! one (a parent that comes later, a usage that comes late, a result that
//! was sent as a preview) is the file folded once more at its end. Smaller files are
//! read side by side, the larger of them first, each by the thread that is free next, and their
//! contents are moved into the lists of all files in the order of the files
//! (`requests/conversation/join.rs`). So memory follows new content, and the memory of one file
//! serves the next one.
//!
//! A line is parsed once, by a typed, borrowing parser whose fields are all lenient
//! (`read/input/lenient.rs`): a value of an unexpected type is as good as absent and costs nothing
//! but itself. Under it is a deserialiser of our own (`read/input/skim.rs`) that skips text
//! sixteen bytes at a time, checks the skipped text, and leaves everything unusual to
//! `serde_json`, which then reads the value again; so it decides nothing, and is a third faster.
//! Long text is measured and never decoded. A copy of edited files that does not fit into a chunk
//! is skipped without being held. Strings are interned, ids of entries are numbers. The content
//! between requests is kept only for commands and strategies that look at it.

pub mod input;

pub(crate) mod rendered;

pub mod transcript;

pub mod harness;

mod answer;

pub mod capture;

pub mod agent;

pub(crate) mod log;

pub mod told;

use std::io;

use agent::{AgentFormat, FORMATS, FirstObject};
use input::{Chunk, OpenSource, Source};
pub(crate) use log::{Log, LogFormat, other_table};

/// Format of a file's lines.
#[derive(Clone, Copy)]
pub(crate) enum Format {
    /// Transcript of Claude Code, or anything unknown.
    Transcript,
    /// Captured requests, as capture records or as the exchanges of a claude-trace log.
    Capture,
    /// Prompt parts whose markers are not placed yet.
    Bundle,
    /// Sessions of another agent.
    Agent(&'static AgentFormat),
    /// Log of a gateway or a proxy.
    Log(&'static dyn LogFormat),
    /// `SQLite` database, which may be an agent's.
    Database,
}

/// Beginning of a document that mostly shows its format, in bytes.
const BEGINNING: usize = 16 * 1024;

/// Types of a transcript's entries.
const ENTRY_TYPES: [&str; 5] = ["user", "assistant", "system", "attachment", "progress"];

/// First bytes of every `SQLite` database.
const DATABASE: &[u8] = b"SQLite format 3\0";

impl Format {
    /// Format of the first line that shows one. A line with a mere `type` shows none, since formats gain types.
    pub(crate) fn of(chunk: &Chunk) -> Self {
        // Databases and logs show in the first bytes, before any line is parsed.
        if chunk.bytes().starts_with(DATABASE) {
            return Self::Database;
        }
        if let Some(format) = log::log_that_begins(chunk) {
            return Self::Log(format);
        }
        if begins_document(chunk) {
            // The beginning is mostly enough; more of it takes longer to look at.
            let bytes = chunk.bytes();
            let lengths = [BEGINNING.min(bytes.len()), bytes.len()];
            let of_beginning = |length| {
                FirstObject::of_document(&bytes[..length]).and_then(|one| Self::of_client(&one))
            };
            if let Some(format) = lengths.into_iter().find_map(of_beginning) {
                return format;
            }
        }
        let mut firsts = chunk.lines().filter_map(|(_, line)| FirstObject::of_line(line));
        firsts.find_map(|first| Self::shown_by(&first)).unwrap_or(Self::Transcript)
    }

    /// Format of a source, and true if it begins as a document that spans lines.
    ///
    /// # Errors
    /// The source cannot be opened.
    pub(crate) fn of_source(source: &Source) -> io::Result<(Self, bool)> {
        let open = OpenSource::open(source)?;
        let first = open.first_lines();
        Ok((first.map_or(Self::Transcript, Self::of), first.is_some_and(begins_document)))
    }

    /// Format of an agent's sessions, or of a log, that begins with this object.
    fn of_client(first: &FirstObject<'_>) -> Option<Self> {
        let agent = FORMATS.iter().find(|format| (format.recognises)(first)).map(Self::Agent);
        agent.or_else(|| log::log_of(first).map(Self::Log))
    }

    fn shown_by(first: &FirstObject<'_>) -> Option<Self> {
        if first.has("request") {
            return Some(log::log_of(first).map_or(Self::Capture, Self::Log));
        }
        if first.has("prompt") {
            return Some(Self::Bundle);
        }
        // Transcripts come last: lines of other agents have the same members, too.
        let is_entry = || first.is_one_of("type", &ENTRY_TYPES) && first.has_member("parentUuid");
        Self::of_client(first).or_else(|| is_entry().then_some(Self::Transcript))
    }
}

/// Returns true if a file begins as one document that spans lines: with a list, or with an object whose first
/// line is not all of it.
fn begins_document(chunk: &Chunk) -> bool {
    let lines = chunk.lines().map(|(_, line)| {
        // Some editors put a byte order mark in front of a text.
        line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line).trim_ascii()
    });
    let mut lines = lines.filter(|line| !line.is_empty());
    lines.next().is_some_and(|line| {
        line.starts_with(b"[")
            || (line.starts_with(b"{")
                && !line.ends_with(b"}")
                && !(is_torn(line) && lines.next().is_some_and(is_object)))
    })
}

/// Returns true if the line after this one cannot continue its value.
fn is_torn(line: &[u8]) -> bool {
    !line.ends_with(b"{") && !line.ends_with(b"[") && !line.ends_with(b",") && !line.ends_with(b":")
}

/// Returns true for a line that is an object of its own.
fn is_object(line: &[u8]) -> bool {
    line.starts_with(b"{") && line.ends_with(b"}")
}
