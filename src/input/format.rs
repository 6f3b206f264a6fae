//! The format of a file, found from its content.

use serde::Deserialize;

use super::lenient::{Shape, Text};
use super::lines::Chunk;

/// What a file's lines are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// Claude Code's transcript, or anything unknown.
    Transcript,
    /// Captured requests, as capture records or as the exchanges of a claude-trace log.
    Capture,
    /// Prompt parts whose markers are not placed yet.
    Bundle,
}

/// What some editors put in front of a text.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The keys that tell formats apart.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Probe<'a> {
    request: Shape<Presence>,
    prompt: Shape<Presence>,
    #[serde(borrow)]
    r#type: Text<'a>,
}

/// An object of which only the presence counts.
#[derive(Default, Deserialize)]
struct Presence {}

impl Format {
    /// The format of the first line that shows one.
    pub(crate) fn of(chunk: &Chunk) -> Self {
        chunk.lines().find_map(|(_, line)| Self::of_line(line)).unwrap_or(Self::Transcript)
    }

    fn of_line(line: &[u8]) -> Option<Self> {
        let line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
        // The first of several values run together.
        let mut values = serde_json::Deserializer::from_slice(line).into_iter::<Probe<'_>>();
        let probe = values.next()?.ok()?;
        if probe.request.0.is_some() {
            Some(Self::Capture)
        } else if probe.prompt.0.is_some() {
            Some(Self::Bundle)
        } else {
            probe.r#type.as_str().map(|_| Self::Transcript)
        }
    }
}
