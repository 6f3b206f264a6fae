//! The format of a file, found from its content.

use serde::Deserialize;

use super::lenient::{Shape, Text};
use super::lines::Chunk;

/// What a file's lines are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// Claude Code's transcript, or anything unknown.
    Transcript,
    /// A Codex rollout, which only a reader that is asked for it reads.
    Rollout,
    /// Captured requests, as capture records or as the exchanges of a claude-trace log.
    Capture,
    /// Prompt parts whose markers are not placed yet.
    Bundle,
}

/// What some editors put in front of a text.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The types of a rollout's lines.
const ROLLOUT_LINE_TYPES: [&str; 5] =
    ["session_meta", "turn_context", "event_msg", "response_item", "compacted"];

/// The keys that tell formats apart.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Probe<'a> {
    request: Shape<Presence>,
    prompt: Shape<Presence>,
    payload: Shape<Presence>,
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
            let name = probe.r#type.as_str()?;
            let is_rollout = probe.payload.0.is_some() && ROLLOUT_LINE_TYPES.contains(&name);
            Some(if is_rollout { Self::Rollout } else { Self::Transcript })
        }
    }
}
