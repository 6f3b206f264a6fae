//! Signs in a line of a change in front of the cached part of a prompt, or of the end of the
//! process that sent it.
//!
//! System prompt and tools are not in a transcript; these signs are all that it shows of them.
//!
//! Lines that change content that had been sent, with the entries that they name.

use std::ops::Range;

use enumset::{EnumSet, EnumSetType};
use serde_json::value::RawValue;

use super::content::CONTINUATION;
use super::parse::SYNTHETIC_MODEL;
use super::wire::{
    Attachment, Block, CompactMetadata, InnerBlock, Line, Message, MicrocompactMetadata,
    Replacement,
};
use super::{Cleared, Collapse, EntryKind, Preserved};
use crate::base::{EntryId, TextSize};
use crate::read::input::{Content, List, Shape, Text, only_value};

/// Declares the signs, each with the field of the line that shows it and its meaning in a few words.
macro_rules! signs {
    ($($(#[$meta:meta])* $sign:ident = $field:literal, $meaning:literal;)+) => {
        /// Sign that a line shows.
        #[derive(EnumSetType, Debug, Hash, PartialOrd, Ord)]
        pub enum Sign {
            $($(#[$meta])* $sign,)+
        }

        impl Sign {
            /// Field of the line that shows the sign.
            pub fn field(self) -> &'static str {
                match self {
                    $(Self::$sign => $field),+
                }
            }

            /// Meaning of the sign, in a few words.
            pub fn meaning(self) -> &'static str {
                match self {
                    $(Self::$sign => $meaning),+
                }
            }
        }
    };
}

signs! {
    /// A hook ran because a session was resumed.
    SessionResumed = "attachment.hookName", "the session was resumed";
    /// A hook ran because a session was started or cleared.
    SessionStarted = "attachment.hookName", "a session was started";
    /// The user left the client.
    Exit = "message.content", "the client was left";
    /// A tool search loaded tools that had been deferred.
    ToolsLoaded = "message.content[].content[].type", "a tool search loaded deferred tools";
    /// Deferred tools were added.
    ToolsAdded = "attachment.addedNames", "deferred tools were added";
    /// Deferred tools were removed.
    ToolsRemoved = "attachment.removedNames", "deferred tools were removed";
    /// The instructions of MCP servers came or went.
    McpInstructionsChanged = "attachment.type", "the instructions of MCP servers changed";
    /// Agents were added to or removed from the list that a tool's description holds.
    AgentsChanged = "attachment.type", "the list of agents changed";
    /// The list of skills was sent again.
    SkillsListed = "attachment.type", "the list of skills was sent";
    /// A command was given that can change the tools: MCP servers, plugins, permissions.
    ToolCommand = "message.content", "a command that can change the tools";
    /// The session was connected to another device, which adds tools.
    BridgeConnected = "subtype", "the session was connected to another device";
    /// A command was given that changes the model, the effort or the speed.
    ModelCommand = "message.content", "a command that changes model, effort or speed";
    /// A command was given that can change the system prompt: output style, folders, settings.
    SettingsCommand = "message.content", "a command that can change the system prompt";
    /// Another command was given, one of a user's own among them.
    OtherCommand = "message.content", "a command was given";
    /// A skill was loaded.
    SkillLoaded = "message.content", "a skill was loaded";
    /// The user interrupted the answer or a tool.
    Interrupted = "message.content", "the user interrupted";
    /// The user interrupted a tool.
    ToolInterrupted = "message.content", "the user interrupted a tool";
    /// An image or a document was added.
    Image = "message.content[].type", "an image or a document was added";
    /// The API refused a request, and the client tried again or gave up.
    ApiError = "subtype", "the API refused a request";
    /// A message that the client made itself in place of an answer.
    ClientMessage = "message.model", "the client made a message itself";
    /// A background task reported to the conversation.
    TaskNotification = "message.content", "a background task reported";
    /// The model refused, and another one answered.
    RefusalFallback = "subtype", "the model refused and another one answered";
    /// The conversation was summarised.
    Compacted = "subtype", "the conversation was summarised";
    /// Old tool results were cleared.
    ResultsCleared = "subtype", "old tool results were cleared";
    /// Entries were taken out of the conversation.
    EntriesRemoved = "removedUuids", "entries were taken out of the conversation";
    /// A part of the conversation was replaced by a summary.
    Collapsed = "firstArchivedUuid", "a part of the conversation was replaced by a summary";
    /// Results were replaced by previews.
    ResultsReplaced = "replacements[].toolUseId",
        "results that had been sent were replaced by previews";
    /// The client asked to continue where the turn before had broken off, as a resumed session does.
    TurnResumed = "message.content", "the client asked to go on where the turn had broken off";
    /// A hook that runs around a tool's call gave the model context.
    ToolHookContext = "attachment.hookEvent", "a hook around a tool's call gave context";
}

/// Set of signs.
pub type Signs = EnumSet<Sign>;

/// Bytes of a text that are searched for the name of a command: a tag of its message may come
/// first.
const COMMAND_WITHIN: usize = 300;

/// Tag in front of the name of a command.
pub(crate) const NAME_TAG: &str = "<command-name>";

/// Signs at the beginning of a user's text, decoded or as JSON without its quotes: none of the
/// marks has a character that JSON escapes.
pub(super) fn signs_of_text(text: &str) -> Signs {
    if let Some(rest) = text.strip_prefix("[Request interrupted by user") {
        let of_tool = rest.starts_with(" for tool use").then_some(Sign::ToolInterrupted);
        return Sign::Interrupted | of_tool.into_iter().collect::<Signs>();
    }
    if text.starts_with("<task-notification>") {
        return Sign::TaskNotification.into();
    }
    if text.starts_with("Base directory for this skill") {
        return Sign::SkillLoaded.into();
    }
    if text.starts_with(CONTINUATION) {
        return Sign::TurnResumed.into();
    }
    command_in(text).map(|name| command_sign(&text[name])).into_iter().collect()
}

/// Range of the name of the slash command that a text reports.
fn command_in(text: &str) -> Option<Range<usize>> {
    if !text.starts_with("<command-") {
        return None;
    }
    let mut within = text.len().min(COMMAND_WITHIN);
    while !text.is_char_boundary(within) {
        within -= 1;
    }
    let start = text[..within].find(NAME_TAG)? + NAME_TAG.len();
    let end = start + text[start..within].find('<')?;
    let slashes = text[start..end].len() - text[start..end].trim_start_matches('/').len();
    Some(start + slashes..end)
}

/// Range of a text that shows the reported command: the tag in front of the name, and the name if it
/// is a known one.
pub(crate) fn command_name(text: &str) -> Option<Range<usize>> {
    let name = command_in(text)?;
    let tag = text[..name.start].rfind(NAME_TAG)?;
    let is_known = command_sign(&text[name.clone()]) != Sign::OtherCommand;
    Some(tag..if is_known { name.end } else { tag + NAME_TAG.len() })
}

/// Signs of commands that change something.
const COMMANDS: [(&str, Sign); 24] = [
    ("exit", Sign::Exit),
    ("quit", Sign::Exit),
    ("mcp", Sign::ToolCommand),
    ("plugin", Sign::ToolCommand),
    ("plugins", Sign::ToolCommand),
    ("reload-plugins", Sign::ToolCommand),
    ("permissions", Sign::ToolCommand),
    ("allowed-tools", Sign::ToolCommand),
    ("chrome", Sign::ToolCommand),
    ("ide", Sign::ToolCommand),
    ("agents", Sign::ToolCommand),
    ("remote-control", Sign::BridgeConnected),
    ("rc", Sign::BridgeConnected),
    ("teleport", Sign::BridgeConnected),
    ("model", Sign::ModelCommand),
    ("effort", Sign::ModelCommand),
    ("fast", Sign::ModelCommand),
    ("output-style", Sign::SettingsCommand),
    ("config", Sign::SettingsCommand),
    ("add-dir", Sign::SettingsCommand),
    ("cd", Sign::SettingsCommand),
    ("login", Sign::SettingsCommand),
    ("memory", Sign::SettingsCommand),
    ("init", Sign::SettingsCommand),
];

/// Names of the commands that change something.
pub(crate) fn known_commands() -> impl Iterator<Item = &'static str> {
    COMMANDS.iter().map(|(name, _)| *name)
}

fn command_sign(name: &str) -> Sign {
    let known = COMMANDS.iter().find(|(known, _)| *known == name);
    known.map_or(Sign::OtherCommand, |(_, sign)| *sign)
}

/// Signs of a line; those of an attachment are read separately.
pub(super) fn signs(object: &Line<'_>) -> Signs {
    let message = object.message.0.as_ref();
    match (object.r#type.as_str(), object.subtype.as_str()) {
        (Some("user"), _) => {
            let signs = message.map_or_else(Signs::new, |message| message_signs(message));
            // Users type the same words, and only the client's own message is hidden from them.
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

/// Signs of an attachment.
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
        // The initial list of a session changes nothing that was sent.
        Some("agent_listing_delta") if !attachment.is_initial.0 => Sign::AgentsChanged.into(),
        Some("skill_listing") if !attachment.is_initial.0 => Sign::SkillsListed.into(),
        Some("hook_additional_context") if is_around_a_tool(attachment) => {
            Sign::ToolHookContext.into()
        }
        _ if hook == "SessionStart:resume" => Sign::SessionResumed.into(),
        _ if hook.starts_with("SessionStart:") => Sign::SessionStarted.into(),
        _ => Signs::new(),
    }
}

fn is_around_a_tool(attachment: &Attachment<'_>) -> bool {
    matches!(attachment.hook_event.as_str(), Some("PreToolUse" | "PostToolUse"))
}

fn id(text: &Text<'_>) -> Option<EntryId> {
    text.as_str().map(EntryId::of)
}

fn ids(texts: &List<Text<'_>>) -> Vec<EntryId> {
    texts.0.iter().filter_map(id).collect()
}

/// Compaction, with the entries that it kept. The list of all entries is more exact than their ends.
pub(super) fn compact_boundary(object: &Line<'_>) -> EntryKind {
    EntryKind::CompactBoundary(
        object.compact_metadata.0.as_deref().and_then(preserved).map(Box::new),
    )
}

fn preserved(metadata: &CompactMetadata<'_>) -> Option<Preserved> {
    let messages = metadata.preserved_messages.0.as_ref();
    let segment = metadata.preserved_segment.0.as_ref();
    let listed = messages.map(|messages| {
        // This list has attachments and system lines, too.
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

/// Microcompaction, with the contents that it cleared.
pub(super) fn microcompact_boundary(metadata: Option<&MicrocompactMetadata<'_>>) -> EntryKind {
    let cleared = metadata.map(|metadata| Cleared {
        calls: ids(&metadata.compacted_tool_ids),
        attachments: ids(&metadata.cleared_attachments),
    });
    EntryKind::MicrocompactBoundary(Box::new(cleared.unwrap_or_default()))
}

/// System line that takes entries out of the conversation.
pub(super) fn snip(object: &Line<'_>) -> Option<EntryKind> {
    // Known by the field alone: the subtype of such lines is documented nowhere.
    (!object.removed_uuids.0.is_empty()).then(|| EntryKind::Snip(ids(&object.removed_uuids)))
}

/// Part of the conversation that was replaced by a summary.
pub(super) fn collapse(object: &Line<'_>) -> EntryKind {
    EntryKind::Collapse(Box::new(Collapse {
        first: id(&object.first_archived_uuid),
        last: id(&object.last_archived_uuid),
        size: TextSize::of_bytes(object.summary.0),
    }))
}

/// Results that were sent as previews, each with the size of its preview.
pub(super) fn content_replacement(object: &Line<'_>) -> EntryKind {
    let replacements = object.replacements.0.iter().filter_map(|shape| shape.0.as_ref());
    let size = |one: &Replacement<'_>| TextSize::of_bytes(one.replacement.0);
    let one = replacements.filter_map(|one| Some((id(&one.tool_use_id)?, size(one))));
    EntryKind::ContentReplacement(one.collect())
}

/// Returns true if a block of an answer is text: neither thinking nor white space, nor a call of a tool that
/// the client runs.
pub(super) fn is_text(block: &Block<'_>) -> bool {
    match block.r#type.as_str() {
        Some("thinking" | "redacted_thinking" | "tool_use") => false,
        Some("text") => block.text.is_none_or(|text| !is_blank(text.get())),
        _ => true,
    }
}

/// Returns true if a JSON string holds nothing but white space.
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
    fn commands_are_known_by_their_names() {
        let sign = |text: &str| signs_of_text(text);
        assert_eq!(sign("<command-name>/mcp</command-name>"), Sign::ToolCommand);
        let behind = "<command-message>exit</command-message>\\n<command-name>/exit</command-name>";
        assert_eq!(sign(behind), Sign::Exit);
        assert_eq!(sign("<command-name>/my-own</command-name>"), Sign::OtherCommand);
        assert_eq!(sign("please write <command-name>/mcp</command-name>"), Signs::new());
        assert_eq!(sign("<command-name>never closed"), Signs::new());
        let cut = format!("<command-message>{}", "é".repeat(400));
        assert_eq!(sign(&cut), Signs::new());
    }

    #[test]
    fn marks_count_at_the_beginning_only() {
        let of_tool = Sign::Interrupted | Sign::ToolInterrupted;
        assert_eq!(signs_of_text("[Request interrupted by user for tool use]"), of_tool);
        assert_eq!(signs_of_text("[Request interrupted by user]"), Sign::Interrupted);
        assert_eq!(signs_of_text("it says [Request interrupted by user]"), Signs::new());
        assert_eq!(signs_of_text("<task-notification>\n<task-id>"), Sign::TaskNotification);
    }

    #[test]
    fn white_space_is_blank_however_it_is_written() {
        assert!(is_blank("\"\""));
        assert!(is_blank("\" \\n\\t\\r \""));
        assert!(!is_blank("\" \\u0041\""));
        assert!(!is_blank("\" a \""));
        assert!(!is_blank("5"));
    }
}
