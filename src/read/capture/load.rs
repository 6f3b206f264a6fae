//! Loading of one source of captured requests or of bundles.

use std::sync::Arc;

use super::attribution::{AttributionKey, Host};
use super::parse::{Elsewhere, ParsedRequests, RequestParser, WireRequest};
use super::size::TokenCounting;
use super::tree::WireTree;
use crate::base::{Client, Models, ProjectNaming, Symbols};
use crate::read::harness::{Harness, Placed, place_lines};
use crate::read::input::{Chunk, Diagnostics, Extent, ObjectReader, OpenSource};

/// Knowledge about parts of blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BlockParts {
    /// Nothing: two blocks are the same or not.
    #[default]
    Unknown,
    /// Landmarks of every block, from which caches without markers learn how much of their beginnings
    /// two blocks share.
    Landmarks,
}

/// Options of the reading of captures.
#[derive(Clone, Debug, Default)]
#[allow(clippy::struct_excessive_bools)] // independent wishes, not states of one machine
pub struct CaptureOptions {
    /// Facts about models.
    pub models: Models,
    /// Method of counting tokens.
    pub counting: TokenCounting,
    /// True if the canonical bytes of every block are kept, each once.
    pub keeps_bytes: bool,
    /// Knowledge about parts of blocks.
    pub parts: BlockParts,
    /// Treatment of the attribution line in the key.
    pub attribution: AttributionKey,
    /// Value in place of the flag `global_scope` of every bundle; `None` leaves it as recorded.
    pub global_scope: Option<bool>,
    /// True if the tokens of a transcript's contents are counted, and not only its bytes.
    pub counts_contents: bool,
    /// True if the titles of sessions are kept, which only transcripts have.
    pub keeps_titles: bool,
    /// Naming of projects, in the labels of files, too.
    pub naming: ProjectNaming,
    /// True if the trails between the requests of a transcript are left out. Breaks, contexts and the
    /// management of contexts look at them; the ledger does not.
    pub leaves_out_trails: bool,
}

/// Captured requests of one file.
#[derive(Debug)]
pub struct Captures {
    /// Name of the file, relative to the path that was given.
    pub label: Arc<str>,
    /// Name of the file without folders and endings.
    pub stem: String,
    /// Program that the requests are listed under: a log's own if they are in one.
    pub client: Client,
    /// Requests in file order.
    pub requests: Vec<WireRequest>,
    /// Tree of their prompts.
    pub tree: WireTree,
    /// Strings that the requests name.
    pub symbols: Symbols,
    /// Rejected places.
    pub diagnostics: Diagnostics,
    /// Bytes read, after decompression.
    pub bytes: u64,
    /// Lines read.
    pub lines: u64,
}

/// Reads an open source of captures on `threads` threads.
pub(crate) fn load_captures(
    open: &mut OpenSource,
    threads: usize,
    options: &CaptureOptions,
) -> Captures {
    let label = Arc::clone(&open.label);
    let mut joined = ParsedRequests::default();
    let mut diagnostics = Diagnostics::default();
    let parse = |chunk: &Chunk| {
        let mut parser = RequestParser::new(&label, options);
        for (number, line) in chunk.lines() {
            parser.line(line, number);
        }
        parser.finish()
    };
    let extent = open.read(threads, &mut diagnostics, parse, |part| joined.append(part));
    joined.diagnostics.absorb(diagnostics);
    finish(joined, open, extent)
}

/// Reads an open source of bundles: each record is placed, and then read as a capture.
pub(crate) fn load_bundles(
    open: &mut OpenSource,
    harness: &mut Harness,
    options: &CaptureOptions,
) -> Captures {
    let label = Arc::clone(&open.label);
    let mut parser = RequestParser::new(&label, options);
    let mut diagnostics = Diagnostics::default();
    let extent = place_lines(open, harness, &mut diagnostics, |number, placed, is_first_party| {
        if let Placed::Request(record, _) = placed {
            // A placed record has no address; the bundle's flags name the provider.
            parser.sent_to(Host::of_bundle(is_first_party));
            parser.text(&record, number);
        }
    });
    let mut joined = parser.finish();
    joined.diagnostics.absorb(diagnostics);
    finish(joined, open, extent)
}

/// Reader of captured requests in a log of another kind, as records made one after another.
pub(in crate::read) struct RecordReader<'a>(RequestParser<'a>);

impl<'a> RecordReader<'a> {
    /// Reader for a file of this name.
    pub(in crate::read) fn new(label: &'a Arc<str>, options: &'a CaptureOptions) -> Self {
        Self(RequestParser::new(label, options))
    }

    /// Reads a record of a request that was sent to an address, under the rules of markers unless it is one of those
    /// `elsewhere`. Returns true if it can be used.
    pub(in crate::read) fn record(
        &mut self,
        record: &str,
        (line, url): (u64, Option<&str>),
        elsewhere: Option<Elsewhere>,
    ) -> bool {
        let before = self.0.count();
        self.0.sent_to(url.map_or(Host::Unknown, Host::of_url));
        self.0.answered_by(elsewhere);
        self.0.text(record, line);
        self.0.count() > before
    }

    /// Returns true if a request was read.
    pub(in crate::read) fn has_requests(&self) -> bool {
        self.0.count() > 0
    }

    /// Captures that were read of a source.
    pub(in crate::read) fn finish(self, open: &OpenSource, extent: Extent) -> Captures {
        finish(self.0.finish(), open, extent)
    }
}

fn finish(joined: ParsedRequests, open: &OpenSource, extent: Extent) -> Captures {
    Captures {
        label: Arc::clone(&open.label),
        stem: open.stem.clone(),
        client: Client::Capture,
        requests: joined.requests,
        tree: joined.tree,
        symbols: joined.symbols,
        diagnostics: joined.diagnostics,
        bytes: extent.bytes,
        lines: extent.lines,
    }
}
