//! One source of captured requests or of bundles → its requests.

use std::sync::Arc;

use super::attribution::{AttributionKey, Host};
use super::parse::{ParsedRequests, RequestParser, WireRequest};
use super::size::TokenCounting;
use super::tree::WireTree;
use crate::base::client::Client;
use crate::base::id::Symbols;
use crate::base::model::Models;
use crate::base::project::ProjectNaming;
use crate::read::harness::{Harness, Placed, place_lines};
use crate::read::input::{Chunk, Diagnostics, Extent, ObjectReader, OpenSource};

/// What is known of parts of blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BlockParts {
    /// Nothing: two blocks are the same or not.
    #[default]
    Unknown,
    /// Landmarks of every block are kept, by which caches without markers find how much of their beginnings
    /// two blocks share.
    Landmarks,
}

/// How captures are read.
#[derive(Clone, Debug, Default)]
#[allow(clippy::struct_excessive_bools)] // independent wishes, not states of one machine
pub struct CaptureOptions {
    /// What is known of models.
    pub models: Models,
    /// How tokens are counted.
    pub counting: TokenCounting,
    /// Whether the canonical bytes of every block are kept, each once.
    pub keeps_bytes: bool,
    /// What is known of parts of blocks.
    pub parts: BlockParts,
    /// Whether the attribution line is part of the key.
    pub attribution: AttributionKey,
    /// What the flag `global_scope` of every bundle is taken for; `None` leaves it as recorded.
    pub global_scope: Option<bool>,
    /// Whether the tokens of what stands in a transcript are counted, and not only its bytes.
    pub counts_contents: bool,
    /// Whether the titles of sessions are kept, which only transcripts have.
    pub keeps_titles: bool,
    /// How projects are named, in the labels of files, too.
    pub naming: ProjectNaming,
    /// Whether what lies between the requests of a transcript is left out. Breaks, contexts and the
    /// management of contexts look at it; the ledger does not.
    pub leaves_out_trails: bool,
}

/// The captured requests of one file.
#[derive(Debug)]
pub struct Captures {
    /// The file's name.
    pub label: Arc<str>,
    /// The file's name without folders and endings.
    pub stem: String,
    /// Under which program its requests are told: a log's own where they stand in one.
    pub client: Client,
    /// The requests, in file order.
    pub requests: Vec<WireRequest>,
    /// Their prompts.
    pub tree: WireTree,
    /// The strings the requests name.
    pub symbols: Symbols,
    /// What was rejected.
    pub diagnostics: Diagnostics,
    /// Bytes read, after decompression.
    pub bytes: u64,
    /// Lines read.
    pub lines: u64,
}

/// Reads an open source of captures with so many threads.
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
            parser.sent_to(Host::of_bundle(is_first_party));
            parser.text(&record, number);
        }
    });
    let mut joined = parser.finish();
    joined.diagnostics.absorb(diagnostics);
    finish(joined, open, extent)
}

/// Reads captured requests that stand in a log of something else, as records made one after another.
pub(in crate::read) struct RecordReader<'a>(RequestParser<'a>);

impl<'a> RecordReader<'a> {
    /// A reader of a file of that name.
    pub(in crate::read) fn new(label: &'a Arc<str>, options: &'a CaptureOptions) -> Self {
        Self(RequestParser::new(label, options))
    }

    /// Takes in a record of a request that was sent to an address, and says whether it is one that can be
    /// used.
    pub(in crate::read) fn record(&mut self, record: &str, line: u64, url: Option<&str>) -> bool {
        let before = self.0.count();
        self.0.sent_to(url.map_or(Host::Unknown, Host::of_url));
        self.0.text(record, line);
        self.0.count() > before
    }

    /// Whether a request was taken in.
    pub(in crate::read) fn has_requests(&self) -> bool {
        self.0.count() > 0
    }

    /// What was read of a source.
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
