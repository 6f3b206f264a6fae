//! One source of captured requests or of bundles → its requests.

use std::sync::Arc;

use super::parse::{ParsedRequests, RequestParser, WireRequest};
use super::size::TokenCounting;
use super::tree::WireTree;
use crate::harness::{Harness, Placed};
use crate::id::Symbols;
use crate::input::{Diagnostics, Extent, Kind, OpenSource};

/// How captures are read.
#[derive(Clone, Copy, Debug, Default)]
pub struct CaptureOptions {
    /// How tokens are counted.
    pub counting: TokenCounting,
    /// Whether the canonical bytes of every block are kept, each once.
    pub keeps_bytes: bool,
}

/// The captured requests of one file.
#[derive(Debug)]
pub struct Captures {
    /// The file's name.
    pub label: Arc<str>,
    /// The file's name without folders and endings.
    pub stem: String,
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

/// Reads an open source of captures.
pub(crate) fn load_captures(mut open: OpenSource, options: CaptureOptions) -> Captures {
    let label = Arc::clone(&open.label);
    let mut joined = ParsedRequests::default();
    let extent = open.read(&mut joined, |chunk| {
        let mut parser = RequestParser::new(&label, options);
        for (number, line) in chunk.lines() {
            parser.line(line, number);
        }
        parser.finish()
    });
    finish(joined, open, extent)
}

/// Reads an open source of bundles: each record is placed, and then read as a capture.
pub(crate) fn load_bundles(mut open: OpenSource, options: CaptureOptions) -> Captures {
    let label = Arc::clone(&open.label);
    let mut harness = Harness::new();
    let mut parser = RequestParser::new(&label, options);
    let mut diagnostics = Diagnostics::default();
    let extent = open.read_in_order(&mut diagnostics, |number, line| {
        let Ok(text) = str::from_utf8(line) else {
            return parser.reject(Kind::NotUtf8, number, "the line is skipped");
        };
        match text.trim() {
            "" => parser.reject(Kind::EmptyLine, number, ""),
            text => match harness.place(text) {
                Ok(Placed::Request(record)) => parser.text(&record, number),
                Ok(Placed::Refused(_)) => {
                    let detail = "give the section a `reason`, or leave `volatile` out";
                    parser.reject(Kind::VolatileWithoutReason, number, detail);
                }
                Err(error) => parser.reject(Kind::NotABundle, number, error.to_string()),
            },
        }
    });
    let mut joined = parser.finish();
    joined.diagnostics.absorb(diagnostics);
    finish(joined, open, extent)
}

fn finish(joined: ParsedRequests, open: OpenSource, extent: Extent) -> Captures {
    let label = open.label;
    Captures {
        label,
        stem: open.stem,
        requests: joined.requests,
        tree: joined.tree,
        symbols: joined.symbols,
        diagnostics: joined.diagnostics,
        bytes: extent.bytes,
        lines: extent.lines,
    }
}
