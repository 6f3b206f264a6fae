//! Fields of a transcript line that matter, as spelled in the file.
//!
//! This is the module that knows the JSON names (`reference`: the envelope and entry types of
//! Claude Code transcripts); `counted.rs` and `title.rs` read the texts. Everything not named is skipped unread.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::content::{ContentKind, kind_of_text};
use super::sign::{Signs, signs_of_text};
use crate::read::input::{Content, Flag, JsonLength, List, Shape, Text, UsageObject, lenient};

lenient! {
    #[serde(rename_all = "camelCase")]
    pub(super) struct Line<'a> {
        pub(super) r#type: Text<'a>,
        pub(super) subtype: Text<'a>,
        pub(super) uuid: Text<'a>,
        pub(super) parent_uuid: Text<'a>,
        pub(super) logical_parent_uuid: Text<'a>,
        pub(super) is_sidechain: Flag,
        pub(super) agent_id: Text<'a>,
        pub(super) session_id: Text<'a>,
        pub(super) timestamp: Text<'a>,
        pub(super) version: Text<'a>,
        pub(super) cwd: Text<'a>,
        pub(super) git_branch: Text<'a>,
        pub(super) tool_use_result: Shape<AgentResult<'a>>,
        pub(super) request_id: Text<'a>,
        pub(super) is_meta: Flag,
        pub(super) permission_mode: Text<'a>,
        pub(super) is_compact_summary: Flag,
        pub(super) forked_from: Shape<Presence>,
        pub(super) message: Shape<Message<'a>>,
        // Few lines have those that are boxed, and a line is moved several times.
        pub(super) data: Shape<Box<ProgressData<'a>>>,
        // Camel case would be `parentToolUseId`.
        #[serde(rename = "parentToolUseID")]
        pub(super) parent_tool_use_id: Text<'a>,
        pub(super) content: Option<&'a RawValue>,
        pub(super) attachment: Option<&'a RawValue>,
        pub(super) rendered_role: Text<'a>,
        pub(super) effort: Text<'a>,
        pub(super) agent_setting: Text<'a>,
        pub(super) removed_uuids: List<Text<'a>>,
        pub(super) leaf_uuid: Text<'a>,
        pub(super) replacements: List<Shape<Replacement<'a>>>,
        pub(super) original_model: Text<'a>,
        pub(super) up_to_message_id: Text<'a>,
        pub(super) parent_last_uuid: Text<'a>,
        pub(super) compact_metadata: Shape<Box<CompactMetadata<'a>>>,
        pub(super) microcompact_metadata: Shape<Box<MicrocompactMetadata<'a>>>,
        pub(super) first_archived_uuid: Text<'a>,
        pub(super) last_archived_uuid: Text<'a>,
        pub(super) summary: JsonLength,
    }

    /// Client's note on a call's result: for an agent, its id and type.
    #[serde(rename_all = "camelCase")]
    pub(super) struct AgentResult<'a> {
        pub(super) agent_id: Text<'a>,
        pub(super) agent_type: Text<'a>,
    }

    /// Input of a call: for an agent, its type.
    pub(super) struct CallInput<'a> {
        pub(super) subagent_type: Text<'a>,
    }

    /// Entries that a compaction kept.
    #[serde(rename_all = "camelCase")]
    pub(super) struct CompactMetadata<'a> {
        pub(super) preserved_segment: Shape<PreservedSegment<'a>>,
        pub(super) preserved_messages: Shape<PreservedMessages<'a>>,
    }

    pub(super) struct PreservedSegment<'a> {
        #[serde(rename = "headUuid")]
        pub(super) head: Text<'a>,
        #[serde(rename = "anchorUuid")]
        pub(super) anchor: Text<'a>,
        #[serde(rename = "tailUuid")]
        pub(super) tail: Text<'a>,
    }

    #[serde(rename_all = "camelCase")]
    pub(super) struct PreservedMessages<'a> {
        pub(super) anchor_uuid: Text<'a>,
        pub(super) uuids: List<Text<'a>>,
        pub(super) all_uuids: List<Text<'a>>,
    }

    #[serde(rename_all = "camelCase")]
    pub(super) struct MicrocompactMetadata<'a> {
        pub(super) compacted_tool_ids: List<Text<'a>>,
        #[serde(rename = "clearedAttachmentUUIDs")]
        pub(super) cleared_attachments: List<Text<'a>>,
    }

    pub(super) struct Message<'a> {
        pub(super) id: Text<'a>,
        pub(super) model: Text<'a>,
        pub(super) content: Content<MessageText, Block<'a>>,
        pub(super) stop_reason: Text<'a>,
        pub(super) usage: Shape<UsageObject<'a>>,
        pub(super) diagnostics: Shape<ServerDiagnostics<'a>>,
        pub(super) context_management: Shape<Presence>,
    }

    /// Service's own verdict on a cache miss.
    pub(super) struct ServerDiagnostics<'a> {
        pub(super) cache_miss_reason: Shape<CacheMissReason<'a>>,
    }

    pub(super) struct CacheMissReason<'a> {
        pub(super) r#type: Text<'a>,
    }

    pub(super) struct Block<'a> {
        pub(super) r#type: Text<'a>,
        pub(super) id: Text<'a>,
        pub(super) name: Text<'a>,
        pub(super) input: Shape<CallInput<'a>>,
        pub(super) tool_use_id: Text<'a>,
        pub(super) text: Option<&'a RawValue>,
        pub(super) content: Option<&'a RawValue>,
    }

    /// Block inside a tool result.
    pub(super) struct InnerBlock<'a> {
        pub(super) r#type: Text<'a>,
        pub(super) text: Option<&'a RawValue>,
        pub(super) source: JsonLength,
    }

    /// Attachment: a reminder, a delta, the output of a hook.
    #[serde(rename_all = "camelCase")]
    pub(super) struct Attachment<'a> {
        pub(super) r#type: Text<'a>,
        pub(super) hook_name: Text<'a>,
        pub(super) hook_event: Text<'a>,
        pub(super) command_mode: Text<'a>,
        pub(super) content: JsonLength,
        pub(super) snippet: JsonLength,
        pub(super) prompt: JsonLength,
        pub(super) added_lines: JsonLength,
        pub(super) added_blocks: JsonLength,
        pub(super) added_names: List<IgnoredAny>,
        pub(super) removed_names: List<IgnoredAny>,
        pub(super) readded_names: List<IgnoredAny>,
        pub(super) is_initial: Flag,
    }

    #[serde(rename_all = "camelCase")]
    pub(super) struct ProgressData<'a> {
        pub(super) r#type: Text<'a>,
        pub(super) agent_id: Text<'a>,
        pub(super) message: Shape<NestedLine<'a>>,
    }

    /// Sub-agent's line inside a progress line.
    #[serde(rename_all = "camelCase")]
    pub(super) struct NestedLine<'a> {
        pub(super) r#type: Text<'a>,
        pub(super) request_id: Text<'a>,
        pub(super) message: Shape<Message<'a>>,
    }

    #[serde(rename_all = "camelCase")]
    pub(super) struct Replacement<'a> {
        pub(super) tool_use_id: Text<'a>,
        pub(super) replacement: JsonLength,
    }
}

/// Object whose presence alone counts.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Presence {}

/// Properties of a message that is one string.
#[derive(Debug)]
pub(super) struct MessageText {
    /// Length in bytes.
    pub(super) bytes: u64,
    pub(super) signs: Signs,
    pub(super) kind: ContentKind,
}

impl From<&str> for MessageText {
    fn from(text: &str) -> Self {
        Self { bytes: text.len() as u64, signs: signs_of_text(text), kind: kind_of_text(text) }
    }
}
