//! One source → its rollout.

use super::parse::LineReader;
use super::request::Rollout;
use crate::read::input::{Diagnostics, Format, OpenSource, Source};

/// Reads a whole source as a rollout, line by line; `None` where it is none, or cannot be opened.
#[must_use]
pub fn load(source: &Source) -> Option<Rollout> {
    let mut open = OpenSource::open(source).ok()?;
    if open.format != Format::Rollout {
        return None;
    }
    let mut reader = LineReader::new(&source.label);
    let mut diagnostics = Diagnostics::default();
    let extent = open.read_in_order(&mut diagnostics, |number, line| reader.line(line, number));
    let mut rollout = reader.finish();
    rollout.diagnostics.absorb(diagnostics);
    rollout.bytes = extent.bytes;
    rollout.lines = extent.lines;
    Some(rollout)
}
