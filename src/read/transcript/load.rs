//! Loading of one source into its entries.

use std::io;
use std::sync::{Arc, Mutex};

use super::parse::{Keeping, LineParser, ParsedLines};
use super::title::Title;
use super::{AgentNote, CostState, Entry, EntryKind, Novelty, PromptSnapshot, ResponseLine};
use crate::base::id::Moved;
use crate::base::{HasSymbols, Symbols};
use crate::read::input::{
    Chunk, Diagnostic, Diagnostics, Expected, Extent, Kind, ObjectReader, OpenSource, Source,
    Stretch, locked,
};

/// Content of one file.
#[derive(Debug)]
pub struct Transcript {
    /// Name of the file, relative to the path that was given.
    pub label: Arc<str>,
    /// Name of the file without folders and endings.
    pub stem: String,
    /// Entries in file order.
    pub entries: Vec<Entry>,
    /// Contents of the entries that are lines of responses, in their order.
    pub response_lines: Vec<ResponseLine>,
    /// Notes on the types of sub-agents, in file order.
    pub agent_notes: Vec<AgentNote>,
    /// Counts of the client, in file order.
    pub cost_states: Vec<CostState>,
    /// Records of the prompt in front of the messages, in file order.
    pub snapshots: Vec<PromptSnapshot>,
    /// Unknown names.
    pub novelties: Vec<Novelty>,
    /// Titles in file order; `None` if none are kept.
    pub titles: Option<Vec<Title>>,
    /// Strings that the entries name.
    pub symbols: Symbols,
    /// Rejected or repaired places.
    pub diagnostics: Diagnostics,
    /// Bytes read, after decompression.
    pub bytes: u64,
    /// Lines read.
    pub lines: u64,
    /// True if lines of the last answer may be missing: reading ended with an error, or in the middle
    /// of a line.
    pub is_cut: bool,
}

/// Reads a whole source as a transcript, holding no more of its text than a few chunks, and keeping
/// none.
pub fn load(source: &Source) -> Transcript {
    let mut response_lines = Vec::new();
    let transcript = match OpenSource::open(source) {
        Ok(mut open) => {
            let keep = |_: &[Entry], lines: &mut Vec<ResponseLine>| response_lines.append(lines);
            load_open(&mut open, 1, &Keeping::default(), &mut Spare::default(), keep)
        }
        Err(error) => unreadable(source, &error),
    };
    Transcript { response_lines, ..transcript }
}

/// Empty transcript that names the source and the error of the system.
pub(crate) fn unreadable(source: &Source, error: &io::Error) -> Transcript {
    let mut joined = ParsedLines::default();
    joined.diagnostics.add(Kind::UnreadableFile, &source.label, 0, error.to_string());
    finish(joined, Arc::clone(&source.label), source.stem().to_owned(), Extent::default())
}

/// Reads an open source as a transcript on `threads` threads.
///
/// Lines of responses are not kept: whenever one of the threads has just read some entries, `on_entries` is called
/// with all so far and with the new lines of responses among them, in file order. Entries are read into the memory
/// of `spare`, and `keeping` says what else is kept.
pub(crate) fn load_open(
    open: &mut OpenSource,
    threads: usize,
    keeping: &Keeping,
    spare: &mut Spare,
    mut on_entries: impl FnMut(&[Entry], &mut Vec<ResponseLine>) + Send,
) -> Transcript {
    let label = Arc::clone(&open.label);
    let entries = std::mem::take(&mut spare.entries);
    let mut joined = ParsedLines { entries, ..ParsedLines::default() };
    let mut diagnostics = Diagnostics::default();
    let spare = &*spare;
    let parse = |chunk: &Chunk| {
        let mut parser = LineParser::new(&label, keeping, spare.part());
        for (number, line) in chunk.lines() {
            parser.line(line, number);
        }
        parser.finish()
    };
    let expected = open.expected();
    let extent = open.read(threads, &mut diagnostics, parse, |mut part| {
        joined.make_room(expected, part.entries.len());
        let before = joined.entries.len();
        joined.take_over(&mut part);
        // Before anyone looks at the entries, as they are folded while others are read.
        joined.leave_out_unsent(before);
        on_entries(&joined.entries, &mut joined.response_lines);
        spare.give_back(part);
    });
    joined.diagnostics.absorb(diagnostics);
    reject_foreign(&mut joined, &label);
    let titles = keeping.titles.then(|| std::mem::take(&mut joined.titles));
    Transcript { titles, ..finish(joined, label, open.stem.clone(), extent) }
}

/// Memory that one transcript after the other is read into: to allocate it again takes a good part of the time of
/// small ones.
#[derive(Debug, Default)]
pub(crate) struct Spare {
    entries: Vec<Entry>,
    parts: Mutex<Vec<ParsedLines>>,
}

impl Spare {
    /// Takes the memory of a transcript's entries, for the next one.
    pub(crate) fn give_back_entries(&mut self, mut entries: Vec<Entry>) {
        entries.clear();
        self.entries = entries;
    }

    /// Number of entries that there is room for.
    pub(crate) fn entries(&self) -> usize {
        self.entries.capacity()
    }

    fn part(&self) -> ParsedLines {
        locked(&self.parts).pop().unwrap_or_default()
    }

    fn give_back(&self, part: ParsedLines) {
        locked(&self.parts).push(part);
    }
}

fn finish(joined: ParsedLines, label: Arc<str>, stem: String, extent: Extent) -> Transcript {
    // A torn last line may be one of the last answer.
    let is_torn = |one: &Diagnostic| one.kind == Kind::TornLine && one.line == extent.lines;
    let is_cut = extent.is_cut || joined.diagnostics.examples().iter().any(is_torn);
    Transcript {
        label,
        stem,
        entries: joined.entries,
        response_lines: joined.response_lines,
        agent_notes: joined.agent_notes,
        cost_states: joined.cost_states,
        snapshots: joined.snapshots,
        novelties: joined.novelties,
        titles: None,
        symbols: joined.symbols,
        diagnostics: joined.diagnostics,
        bytes: extent.bytes,
        lines: extent.lines,
        is_cut,
    }
}

impl Stretch for ParsedLines {
    fn diagnostics_mut(&mut self) -> &mut Diagnostics {
        &mut self.diagnostics
    }
}

impl ParsedLines {
    /// Makes room for all entries when the first stretch is there.
    fn make_room(&mut self, expected: Expected, first: usize) {
        if self.entries.is_empty()
            && let Some(all) = expected.of_first(first)
        {
            self.entries.reserve_exact(all);
        }
    }

    /// Makes system lines of attachments that were not sent, among the entries from `first` on: those without a role, of
    /// versions of the client that have named one so far.
    fn leave_out_unsent(&mut self, first: usize) {
        let Self { entries, with_roles, .. } = self;
        for entry in &entries[first..] {
            if matches!(entry.kind, EntryKind::Attachment { has_role: true, .. }) {
                with_roles.insert(entry.client_version);
            }
        }
        if with_roles.is_empty() {
            return;
        }
        for entry in &mut entries[first..] {
            let is_unsent = matches!(entry.kind, EntryKind::Attachment { has_role: false, .. });
            if is_unsent && with_roles.contains(&entry.client_version) {
                entry.kind = EntryKind::System;
            }
        }
    }

    /// Appends the contents of later lines, which leaves those empty.
    fn take_over(&mut self, later: &mut Self) {
        self.native += std::mem::take(&mut later.native);
        self.objects += std::mem::take(&mut later.objects);
        self.titles.append(&mut later.titles);
        self.diagnostics.absorb(std::mem::take(&mut later.diagnostics));
        let moved = self.symbols.drain(&mut later.symbols);
        put_behind(&mut self.cost_states, &mut later.cost_states, &moved);
        put_behind(&mut self.snapshots, &mut later.snapshots, &moved);
        put_behind(&mut self.novelties, &mut later.novelties, &moved);
        put_behind(&mut self.agent_notes, &mut later.agent_notes, &moved);
        put_behind(&mut self.entries, &mut later.entries, &moved);
        let lines = &mut later.response_lines;
        put_behind(&mut self.response_lines, lines, &moved);
    }
}

/// Appends to a list, with the symbols moved. An append to an empty list copies nothing, unless
/// room was made for later elements.
fn put_behind<T: HasSymbols>(list: &mut Vec<T>, more: &mut Vec<T>, moved: &Moved) {
    if !moved.is_identity() {
        more.move_symbols(moved);
    }
    if list.is_empty() && list.capacity() <= more.capacity() {
        std::mem::swap(list, more);
    } else {
        list.append(more);
    }
}

/// Rejects a file without a single Claude Code line: it belongs to another program.
fn reject_foreign(joined: &mut ParsedLines, label: &Arc<str>) {
    if joined.native > 0 || joined.objects == 0 {
        return;
    }
    joined.entries.clear();
    joined.titles.clear();
    joined.agent_notes.clear();
    joined.cost_states.clear();
    joined.snapshots.clear();
    joined.novelties.clear();
    let detail =
        "no line of this file is a transcript's, an agent's session's, a capture's or a bundle's";
    joined.diagnostics.add(Kind::ForeignFormat, label, 0, detail);
    // All objects count, but one place stands for them.
    joined.diagnostics.add_count(Kind::ForeignFormat, joined.objects - 1);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns true for each line that is an attachment that was sent.
    fn sent(lines: &[&str]) -> Vec<bool> {
        let file: Arc<str> = "test.jsonl".into();
        let keeping = Keeping::default();
        let mut parser = LineParser::new(&file, &keeping, ParsedLines::default());
        for (line, number) in lines.iter().zip(1..) {
            parser.line(line.as_bytes(), number);
        }
        let mut parsed = parser.finish();
        parsed.leave_out_unsent(0);
        parsed
            .entries
            .iter()
            .map(|entry| matches!(entry.kind, EntryKind::Attachment { .. }))
            .collect()
    }

    #[test]
    fn attachments_without_a_role_were_not_sent_by_clients_that_name_it() {
        let new = r#"{"type":"attachment","version":"2.1.289","renderedRole":"user","attachment":{"type":"date"}}"#;
        let unsent =
            r#"{"type":"attachment","version":"2.1.289","attachment":{"type":"date_change"}}"#;
        let old =
            r#"{"type":"attachment","version":"2.1.233","attachment":{"type":"date_change"}}"#;
        assert_eq!(sent(&[unsent, new, old]), [false, true, true]);
        assert_eq!(sent(&[unsent, old]), [true, true], "no role anywhere");
        let snapshot = r#"{"type":"attachment","version":"2.1.330","attachment":{"type":"prompt_snapshot","systemPrompt":["abc"]}}"#;
        assert_eq!(sent(&[snapshot]), [false], "a record, whatever the client");
    }
}
