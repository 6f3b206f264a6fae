//! A line → its signs.

use serde_json::value::RawValue;

use super::parse::SYNTHETIC_MODEL;
use super::sign::{Sign, Signs, signs_of_text};
use super::wire::{Attachment, InnerBlock, Line, Message};
use crate::read::input::{Content, List, Shape, only_value};

/// What a line shows besides its content; an attachment is read for itself.
pub(super) fn signs(object: &Line<'_>) -> Signs {
    let message = object.message.0.as_ref();
    match (object.r#type.as_str(), object.subtype.as_str()) {
        (Some("user"), _) => {
            let signs = message.map_or_else(Signs::new, |message| message_signs(message));
            // Users type the same words.
            if object.is_meta.0 { signs } else { signs - Sign::TurnResumed }
        }
        (Some("assistant"), _) if message.is_some_and(|one| one.model.is(SYNTHETIC_MODEL)) => {
            Sign::ClientMessage.into()
        }
        (Some("compact_boundary"), _) | (_, Some("compact_boundary")) => Sign::Compacted.into(),
        (_, Some("microcompact_boundary")) => Sign::ResultsCleared.into(),
        (_, Some("local_command")) => object.content.map_or_else(Signs::new, text_signs),
        (_, Some("api_error")) => Sign::ApiError.into(),
        (Some("marble-origami-commit"), _) => Sign::Collapsed.into(),
        (Some("content-replacement"), _) => Sign::ResultsReplaced.into(),
        (_, Some("bridge_status")) => Sign::BridgeConnected.into(),
        (_, Some("model_refusal_fallback")) => Sign::RefusalFallback.into(),
        (Some("system"), _) if !object.removed_uuids.0.is_empty() => Sign::EntriesRemoved.into(),
        _ => Signs::new(),
    }
}

fn message_signs(message: &Message<'_>) -> Signs {
    match &message.content {
        Content::Absent => Signs::new(),
        Content::Text(text) => text.signs,
        Content::Blocks(blocks) => blocks.iter().fold(Signs::new(), |signs, block| {
            signs
                | match block.r#type.as_str() {
                    Some("tool_result") => block.content.map_or_else(Signs::new, result_signs),
                    Some("image" | "document") => Sign::Image.into(),
                    _ => block.text.map_or_else(Signs::new, text_signs),
                }
        }),
    }
}

fn text_signs(text: &RawValue) -> Signs {
    text.get().strip_prefix('"').map_or_else(Signs::new, signs_of_text)
}

fn result_signs(content: &RawValue) -> Signs {
    if !content.get().starts_with('[') {
        return Signs::new();
    }
    let blocks: List<Shape<InnerBlock<'_>>> = only_value(content.get()).unwrap_or_default();
    let kinds = blocks.0.iter().filter_map(|block| block.0.as_ref()?.r#type.as_str());
    kinds
        .filter_map(|kind| match kind {
            "tool_reference" => Some(Sign::ToolsLoaded),
            "image" | "document" => Some(Sign::Image),
            _ => None,
        })
        .collect()
}

/// What an attachment shows.
pub(super) fn attachment_signs(attachment: &Attachment<'_>) -> Signs {
    let has_come = !attachment.added_names.0.is_empty() || !attachment.readded_names.0.is_empty();
    let has_gone = !attachment.removed_names.0.is_empty();
    let hook = attachment.hook_name.as_str().unwrap_or_default();
    match attachment.r#type.as_str() {
        Some("deferred_tools_delta") => {
            let come = has_come.then_some(Sign::ToolsAdded);
            come.into_iter().chain(has_gone.then_some(Sign::ToolsRemoved)).collect()
        }
        Some("mcp_instructions_delta") => Sign::McpInstructionsChanged.into(),
        Some("agent_listing_delta") if !attachment.is_initial.0 => Sign::AgentsChanged.into(),
        Some("skill_listing") if !attachment.is_initial.0 => Sign::SkillsListed.into(),
        _ if hook == "SessionStart:resume" => Sign::SessionResumed.into(),
        _ if hook.starts_with("SessionStart:") => Sign::SessionStarted.into(),
        _ => Signs::new(),
    }
}
