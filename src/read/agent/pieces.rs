//! Content that a client put into a conversation between two requests: its place, kind and size.
//!
//! No text of it is kept.

use std::num::NonZeroU32;

use serde::Deserialize;
use serde::de::Deserializer;
use serde_json::value::RawValue;

use super::{AgentFile, Happened};
use crate::base::has_symbols;
use crate::read::input::{Text, only_value};
use crate::read::transcript::{ContentKind, ContentSource};

/// Depth down to which lists and objects are measured.
///
/// Content is a list of blocks, and a result in it another one.
const DEEPEST: u32 = 4;

/// Number of a piece in its file, counted from 1.
pub type PieceId = NonZeroU32;

/// Piece of content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Piece before it, since the previous request.
    pub before: Option<PieceId>,
    /// Line of the piece, or the number of its message in a document.
    pub line: u64,
    /// Source of the content.
    pub source: ContentSource,
    /// Size in bytes of JSON; zero for media, whose size is not known.
    pub bytes: u64,
}

has_symbols!(Piece { source } beside { before, line, bytes });

impl AgentFile {
    /// Adds content that was put in before the next request.
    pub(super) fn bring(&mut self, happened: &mut Happened, source: ContentSource, size: Size) {
        let line = self.line;
        let text = (size.text > 0).then_some((source, size.text));
        // The size of media is unknown, so each image or document is a piece of its own.
        let media = std::iter::repeat_n((ContentSource::Media, 0), size.media as usize);
        for (source, bytes) in text.into_iter().chain(media) {
            self.pieces.push(Piece { before: happened.brought, line, source, bytes });
            let place = u32::try_from(self.pieces.len()).ok().and_then(NonZeroU32::new);
            happened.brought = place.or(happened.brought);
        }
    }

    /// Joins two runs of pieces, the later one behind the earlier one, and returns the newest piece.
    pub(super) fn join_pieces(
        &mut self,
        earlier: Option<PieceId>,
        later: Option<PieceId>,
    ) -> Option<PieceId> {
        // Each piece links to the one before it, so the join is at the oldest piece of the later run.
        let mut first = later;
        while let Some(piece) = first.and_then(|id| self.pieces.get_mut(id.get() as usize - 1)) {
            if piece.before.is_none() {
                piece.before = earlier;
                break;
            }
            first = piece.before;
        }
        later.or(earlier)
    }
}

impl Happened {
    /// Records a compaction: a summary replaces everything before it.
    pub(super) fn compact(&mut self, summary: Size, file: &mut AgentFile) {
        self.is_after_compaction = true;
        self.brought = None;
        file.bring(self, ContentSource::Text(ContentKind::Summary), summary);
    }
}

/// Size of a message's content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Size {
    /// Bytes of its text as JSON, without quotes.
    pub(super) text: u64,
    /// Number of its images and documents.
    pub(super) media: u32,
}

impl Size {
    /// Size of a value: a text, a block, or a list of them.
    fn of(json: &str, depth: u32) -> Self {
        match json.as_bytes().first() {
            Some(b'"') => Self { text: (json.len() as u64).saturating_sub(2), media: 0 },
            Some(b'[') if depth > 0 => {
                let elements = only_value::<Vec<&RawValue>>(json).unwrap_or_default();
                elements.iter().fold(Self::default(), |sum, element| {
                    sum.and(Self::of(element.get(), depth - 1))
                })
            }
            Some(b'{') if depth > 0 => only_value::<Block<'_>>(json)
                .map_or_else(|_| Self::default(), |one| one.size(depth)),
            _ => Self::default(),
        }
    }

    /// Size of a value of content.
    pub(super) fn of_value(value: &RawValue) -> Self {
        Self::of(value.get(), DEEPEST)
    }

    pub(super) fn and(self, other: Self) -> Self {
        Self {
            text: self.text.saturating_add(other.text),
            media: self.media.saturating_add(other.media),
        }
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::of_value(<&RawValue>::deserialize(deserializer)?))
    }
}

/// Block of content, as all agents write it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Block<'a> {
    #[serde(borrow)]
    r#type: Text<'a>,
    text: Option<&'a RawValue>,
    /// Content of a message, or of a result.
    content: Option<&'a RawValue>,
    output: Option<&'a RawValue>,
}

impl Block<'_> {
    fn size(&self, depth: u32) -> Size {
        let is_media = |kind: &str| kind.contains("image") || kind.contains("document");
        if self.r#type.as_str().is_some_and(is_media) {
            return Size { text: 0, media: 1 };
        }
        let parts = [self.text, self.content, self.output].into_iter().flatten();
        parts.fold(Size::default(), |sum, part| sum.and(Size::of(part.get(), depth - 1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_is_measured_without_being_decoded() {
        for (json, text, media) in [
            (r#""a\nb""#, 4, 0),
            (r#"[{"type":"text","text":"abc"},{"type":"image","data":"xxxxxxxx"}]"#, 3, 1),
            (r#"[{"type":"tool_result","content":[{"type":"text","text":"abcd"}]}]"#, 4, 0),
            (r#"{"output":"ab","other":"cd"}"#, 2, 0),
            ("null", 0, 0),
            ("[[[[[[[\"deep\"]]]]]]]", 0, 0),
        ] {
            let size: Size = serde_json::from_str(json).expect("a size");
            assert_eq!(size, Size { text, media }, "{json}");
        }
    }
}
