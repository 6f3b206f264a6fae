//! A line that changes what had been sent → the entries that it names.

use super::entry::{Cleared, Collapse, EntryKind, Preserved};
use super::wire::{Block, CompactMetadata, Line, MicrocompactMetadata};
use crate::base::id::EntryId;
use crate::read::input::{List, Text};

fn id(text: &Text<'_>) -> Option<EntryId> {
    text.as_str().map(EntryId::of)
}

fn ids(texts: &List<Text<'_>>) -> Vec<EntryId> {
    texts.0.iter().filter_map(id).collect()
}

/// A compaction, with what it kept. The list of all entries says more than their ends.
pub(super) fn compact_boundary(object: &Line<'_>) -> EntryKind {
    EntryKind::CompactBoundary(object.compact_metadata.0.as_ref().and_then(preserved).map(Box::new))
}

fn preserved(metadata: &CompactMetadata<'_>) -> Option<Preserved> {
    let messages = metadata.preserved_messages.0.as_ref();
    let segment = metadata.preserved_segment.0.as_ref();
    let listed = messages.map(|messages| {
        let all = ids(&messages.all_uuids);
        if all.is_empty() { ids(&messages.uuids) } else { all }
    });
    let ends = || {
        let segment = segment?;
        Some(vec![id(&segment.head)?, id(&segment.tail)?])
    };
    let entries = listed.filter(|listed| !listed.is_empty()).or_else(ends)?;
    let anchor = messages.and_then(|messages| id(&messages.anchor_uuid));
    let anchor = anchor.or_else(|| id(&segment?.anchor))?;
    Some(Preserved { anchor, entries })
}

/// A microcompaction, with what it cleared.
pub(super) fn microcompact_boundary(metadata: Option<&MicrocompactMetadata<'_>>) -> EntryKind {
    let cleared = metadata.map(|metadata| Cleared {
        calls: ids(&metadata.compacted_tool_ids),
        attachments: ids(&metadata.cleared_attachments),
    });
    EntryKind::MicrocompactBoundary(Box::new(cleared.unwrap_or_default()))
}

/// A system line that takes entries out of the conversation.
pub(super) fn snip(object: &Line<'_>) -> Option<EntryKind> {
    (!object.removed_uuids.0.is_empty()).then(|| EntryKind::Snip(ids(&object.removed_uuids)))
}

/// A part of the conversation that was replaced by a summary.
pub(super) fn collapse(object: &Line<'_>) -> EntryKind {
    EntryKind::Collapse(Box::new(Collapse {
        first: id(&object.first_archived_uuid),
        last: id(&object.last_archived_uuid),
        bytes: object.summary.0,
    }))
}

/// Results that were sent as previews, each with the size of its preview.
pub(super) fn content_replacement(object: &Line<'_>) -> EntryKind {
    let replacements = object.replacements.0.iter().filter_map(|shape| shape.0.as_ref());
    let one = replacements.filter_map(|one| Some((id(&one.tool_use_id)?, one.replacement.0)));
    EntryKind::ContentReplacement(one.collect())
}

/// Whether a block of an answer is text: neither thinking nor white space, nor a call of a tool that
/// the client runs.
pub(super) fn is_text(block: &Block<'_>) -> bool {
    match block.r#type.as_str() {
        Some("thinking" | "redacted_thinking" | "tool_use") => false,
        Some("text") => block.text.is_none_or(|text| !is_blank(text.get())),
        _ => true,
    }
}

/// Whether a JSON string holds nothing but white space.
fn is_blank(json: &str) -> bool {
    let Some(text) = json.strip_prefix('"').and_then(|text| text.strip_suffix('"')) else {
        return false;
    };
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        let is_space = match character {
            '\\' => matches!(characters.next(), Some('n' | 'r' | 't' | 'f')),
            other => other.is_whitespace(),
        };
        if !is_space {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_space_is_blank_however_it_is_written() {
        assert!(is_blank("\"\""));
        assert!(is_blank("\" \\n\\t\\r \""));
        assert!(!is_blank("\" \\u0041\""));
        assert!(!is_blank("\" a \""));
        assert!(!is_blank("5"));
    }
}
