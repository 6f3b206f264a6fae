//! Kind of a line's content, if its form shows one: typed, a reminder, a report, a command.
//!
//! Kinds and sizes of a line's user-side content.

use std::borrow::Cow;
use std::sync::LazyLock;

use memchr::memmem;
use serde_json::value::RawValue;

use super::novel::{self, NovelPart, SENT, UNSENT};
use super::prompt_snapshot;
use super::sign::{Signs, attachment_signs};
use super::wire::{Attachment, Block, InnerBlock, Line, Message};
use super::{EntryKind, PermissionMode, UserMessage};
use crate::base::id::Moved;
use crate::base::{EntryId, HasSymbols, Symbol, TextSize};
use crate::read::input::{Content, List, Shape, only_value};

/// Kind of a piece of user-side content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ContentKind {
    /// User's text; in a sub-agent, its task.
    #[default]
    UserText,
    /// File, or a part of one, that the client attached.
    File,
    /// Report of a sub-agent or a background task, outside a tool's result.
    AgentReport,
    /// Text that the client added for the model alone.
    Reminder,
    /// Text of a skill, when it is used.
    Skill,
    /// Command given to the client, or its output.
    Command,
    /// Summary of a conversation that was compacted.
    Summary,
}

/// Source of a piece of content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContentSource {
    /// Text or attachment.
    Text(ContentKind),
    /// Image or document.
    Media,
    /// Result of a tool; the call of some is not in the file.
    Tool(Option<Symbol>),
}

impl HasSymbols for ContentSource {
    fn move_symbols(&mut self, moved: &Moved) {
        match self {
            Self::Tool(tool) => tool.move_symbols(moved),
            Self::Text(_) | Self::Media => {}
        }
    }
}

/// Beginning of the message that the client adds to a resumed session that broke off.
pub(super) const CONTINUATION: &str = "Continue from where you left off";

/// Beginnings of texts that the client writes in the user's name.
pub(crate) const BEGINNINGS: [(&str, ContentKind); 12] = [
    ("<command-", ContentKind::Command),
    ("<local-command-", ContentKind::Command),
    ("<bash-input>", ContentKind::Command),
    ("<bash-stdout>", ContentKind::Command),
    ("<bash-stderr>", ContentKind::Command),
    ("<user-memory-input>", ContentKind::Command),
    ("<task-notification>", ContentKind::AgentReport),
    ("<teammate-message", ContentKind::AgentReport),
    ("<system-reminder>", ContentKind::Reminder),
    ("[Request interrupted by user", ContentKind::Reminder),
    ("Base directory for this skill", ContentKind::Skill),
    // The client's own is hidden from the user, which distinguishes it from typed text.
    (CONTINUATION, ContentKind::UserText),
];

/// End of the beginning that shows the kind of a text; `None` for any other beginning.
pub(crate) fn beginning_of(text: &str) -> Option<usize> {
    let known = BEGINNINGS.iter().find(|(beginning, _)| text.starts_with(beginning));
    known.map(|(beginning, _)| beginning.len())
}

/// Kind of a user's text by its beginning. The text is decoded, or JSON without its quotes.
pub(super) fn kind_of_text(text: &str) -> ContentKind {
    let known = BEGINNINGS.iter().find(|(beginning, _)| text.starts_with(beginning));
    known.map_or(ContentKind::UserText, |(_, kind)| *kind)
}

/// Kind of an attachment by its `type` and, for a queued command, its `commandMode`. All others
/// are reminders: the client wraps them as such.
pub(super) fn kind_of_attachment(name: &str, command_mode: &str) -> ContentKind {
    match name {
        "file" | "edited_text_file" | "selected_lines_in_ide" => ContentKind::File,
        "queued_command" if command_mode == "task-notification" => ContentKind::AgentReport,
        "queued_command" => ContentKind::UserText,
        "task_status" => ContentKind::AgentReport,
        _ => ContentKind::Reminder,
    }
}

/// Returns true if an attachment reaches the model. Without a role in which it was sent its type decides: an unknown
/// one may be a record of the client's, and counts as not sent.
pub(super) fn is_sent(name: &str, hook_event: &str, has_role: bool) -> bool {
    match name {
        // Hooks of these two events alone add their output to the prompt.
        "hook_success" => matches!(hook_event, "SessionStart" | "UserPromptSubmit"),
        _ => SENT.contains(&name) || (has_role && !UNSENT.contains(&name)),
    }
}

/// Attachments that record a state of the client and are no message: the system prompt and the tools as sent, the
/// organisation, and the tools that can be searched.
const RECORDS: [&str; 3] = [prompt_snapshot::TYPE, "credential_org", "deferred_tools_record"];

/// Bytes that an image or a document inside a tool result counts in place of its base64: those
/// of a text of about as many tokens (1,500).
const MEDIA_BYTES: u64 = 4_000;

/// Length in bytes of a value's JSON text.
pub(super) fn json_length(value: Option<&RawValue>) -> u64 {
    value.map_or(0, |value| value.get().len() as u64)
}

/// User message; `None` if its content is unusable.
pub(super) fn user_message(message: &Message<'_>, object: &Line<'_>) -> Option<UserMessage> {
    let mut user = UserMessage {
        is_meta: object.is_meta.0,
        permission_mode: object.permission_mode.as_str().and_then(PermissionMode::by_name),
        ..UserMessage::default()
    };
    match &message.content {
        Content::Absent => return None,
        Content::Text(text) => {
            user.size = TextSize::of_bytes(text.bytes);
            user.text_kind = text.kind;
        }
        Content::Blocks(blocks) => {
            let text = blocks.iter().find_map(|block| block.text?.get().strip_prefix('"'));
            user.text_kind = text.map_or(ContentKind::UserText, kind_of_text);
            for block in blocks {
                add_block(&mut user, block);
            }
        }
    }
    if object.is_compact_summary.0 {
        user.text_kind = ContentKind::Summary;
    // Hidden text without a known beginning is the client's.
    } else if user.is_meta && user.text_kind == ContentKind::UserText {
        user.text_kind = ContentKind::Reminder;
    }
    Some(user)
}

fn add_block(user: &mut UserMessage, block: &Block<'_>) {
    match block.r#type.as_str() {
        Some("tool_result") => {
            let size = block.content.map_or(TextSize::ZERO, result_size);
            user.size = user.size.with_bytes(user.size.bytes() + size.bytes());
            let id = block.tool_use_id.as_str().map(EntryId::of);
            user.tool_results.extend(id.map(|id| (id, size)));
        }
        Some("image" | "document") => user.media += 1,
        _ => {
            let bytes = json_length(block.text) + json_length(block.content);
            user.size = user.size.with_bytes(user.size.bytes() + bytes);
        }
    }
}

/// Size of a result, with a usual one in place of the base64 of images. Its characters are those of its texts.
fn result_size(content: &RawValue) -> TextSize {
    let text = content.get();
    let bytes = text.len() as u64;
    if !text.starts_with('[') {
        return TextSize::of_bytes(bytes).with_characters(characters(text));
    }
    let blocks: List<Shape<InnerBlock<'_>>> = only_value(text).unwrap_or_default();
    let media = blocks.0.iter().filter_map(|block| {
        let block = block.0.as_ref()?;
        let is_media = matches!(block.r#type.as_str(), Some("image" | "document"));
        is_media.then_some(block.source.0)
    });
    let bytes = media.fold(bytes, |bytes, source| bytes.saturating_sub(source) + MEDIA_BYTES);
    let texts = blocks.0.iter().filter_map(|block| block.0.as_ref()?.text);
    TextSize::of_bytes(bytes).with_characters(texts.map(|text| characters(text.get())).sum())
}

/// Bytes that are counted together: each sum fits into a byte, so that sixteen are added at a time, in pairs.
const STEP: usize = 7 * 32;

/// Beginning of a code, and two backslashes: prepared once, as most results are short.
static CODE: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new(br"\u"));
static PAIR: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new(br"\\"));

/// Characters of a string, given as JSON, in units of UTF-16, as the client's language counts them.
fn characters(json: &str) -> u64 {
    let text = json.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(json);
    let (mut units, mut backslashes) = (0, 0);
    for bytes in text.as_bytes().chunks(STEP) {
        let (own_units, own_backslashes) = counts(bytes);
        units += u64::from(own_units);
        backslashes += u64::from(own_backslashes);
    }
    let escapes = if backslashes == 0 { 0 } else { escaped(text.as_bytes(), backslashes) };
    units.saturating_sub(escapes)
}

/// Units of UTF-16 and backslashes of at most [`STEP`] bytes.
fn counts(bytes: &[u8]) -> (u8, u8) {
    bytes.iter().fold((0_u8, 0_u8), |(units, backslashes), byte| {
        // All bytes but those that continue a character, which is two units if it has four bytes. Without checks for
        // an overflow, which cannot be and would be made byte by byte.
        let units = units.wrapping_add(u8::from(byte & 0xC0 != 0x80));
        (
            units.wrapping_add(u8::from(*byte >= 0xF0)),
            backslashes.wrapping_add(u8::from(*byte == b'\\')),
        )
    })
}

/// Bytes that the escapes of a JSON string take beyond one for each.
fn escaped(text: &[u8], backslashes: u64) -> u64 {
    if CODE.find(text).is_none() {
        // A backslash each, of two of which the second is the character. Most texts have these alone, and they are
        // counted many bytes at a time.
        return backslashes - PAIR.find_iter(text).count() as u64;
    }
    let (mut escaped, mut rest) = (0, text);
    while let Some(place) = memchr::memchr(b'\\', rest) {
        // A code has four digits, too.
        let is_code = rest.get(place + 1) == Some(&b'u');
        escaped += if is_code { 5 } else { 1 };
        rest = rest.get(place + 2..).unwrap_or_default();
    }
    escaped
}

/// Attachment with or without the role in which it was sent, its signs besides its content, and its type.
pub(super) fn attachment(
    raw: Option<&RawValue>,
    has_role: bool,
) -> (EntryKind, Signs, Option<Cow<'_, str>>) {
    let shape = raw.and_then(|raw| only_value::<Shape<Attachment<'_>>>(raw.get()).ok());
    let attachment = shape.and_then(|shape| shape.0).unwrap_or_default();
    let name = attachment.r#type.as_str().unwrap_or_default();
    let is_message = has_role || novel::is_known(NovelPart::Attachment, name);
    if RECORDS.contains(&name) || !is_message {
        return (EntryKind::System, Signs::new(), attachment.r#type.0);
    }
    let hook_event = attachment.hook_event.as_str().unwrap_or_default();
    let is_sent = is_sent(name, hook_event, has_role);
    let bytes = if is_sent { sent_length(name, &attachment, raw) } else { 0 };
    let kind = kind_of_attachment(name, attachment.command_mode.as_str().unwrap_or_default());
    let kind = EntryKind::Attachment { kind, size: TextSize::of_bytes(bytes), has_role };
    (kind, attachment_signs(&attachment), attachment.r#type.0)
}

/// Size of the part of an attachment that is sent: the fields that hold its text, if they are known.
/// Other fields repeat it for the client's own use.
fn sent_length(name: &str, attachment: &Attachment<'_>, raw: Option<&RawValue>) -> u64 {
    let texts = [
        attachment.content,
        attachment.snippet,
        attachment.prompt,
        attachment.added_lines,
        attachment.added_blocks,
    ];
    // Empty fields are `""` or `[]`.
    let bytes = texts.iter().map(|text| text.0.saturating_sub(2)).sum();
    // All JSON of an unknown attachment counts. A hook without output adds nothing.
    if bytes == 0 && name != "hook_success" { json_length(raw) } else { bytes }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_are_those_of_the_client() {
        for (json, expected) in [
            (r#""""#, 0),
            (r#""abc""#, 3),
            (r#""a\n\"\\""#, 4),
            (r#""\\\\\n""#, 3),
            (r#""\\\\\n\\u\\\u0041""#, 7),
            // A quote and a backslash at the end are escaped, too.
            (r#""\"""#, 1),
            (r#""é漢😀""#, 4),
            (r#""\u00e9\ud83d\ude00""#, 3),
            (
                r#"[{"type":"text","text":"ab"},{"type":"image","source":{}},{"type":"text","text":"漢"}]"#,
                3,
            ),
        ] {
            let raw: &RawValue = serde_json::from_str(json).expect("JSON");
            assert_eq!(result_size(raw).characters(), expected, "{json}");
        }
    }

    #[test]
    fn texts_are_known_by_their_beginnings() {
        assert_eq!(kind_of_text("please go on"), ContentKind::UserText);
        assert_eq!(kind_of_text("<command-name>/mcp</command-name>"), ContentKind::Command);
        assert_eq!(kind_of_text("<task-notification>\n"), ContentKind::AgentReport);
        assert_eq!(kind_of_text("see <task-notification>"), ContentKind::UserText);
    }

    #[test]
    fn attachments_are_reminders_unless_they_are_something_else() {
        assert_eq!(kind_of_attachment("edited_text_file", ""), ContentKind::File);
        assert_eq!(kind_of_attachment("queued_command", "prompt"), ContentKind::UserText);
        assert_eq!(
            kind_of_attachment("queued_command", "task-notification"),
            ContentKind::AgentReport
        );
        assert_eq!(kind_of_attachment("something_new", ""), ContentKind::Reminder);
        assert!(!is_sent("something_new", "", false));
        assert!(is_sent("something_new", "", true));
        assert!(is_sent("hook_success", "SessionStart", false));
        assert!(!is_sent("hook_success", "PostToolUse", true));
    }

    fn raw(json: &str) -> Box<RawValue> {
        RawValue::from_string(json.to_owned()).expect("JSON")
    }

    fn size_of(json: &str) -> u64 {
        match attachment(Some(&raw(json)), false).0 {
            EntryKind::Attachment { size, .. } => size.bytes(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn of_an_attachment_its_text_counts() {
        let delta = r#"{"type":"deferred_tools_delta","addedNames":["abc"],"addedLines":["abc"]}"#;
        assert_eq!(size_of(delta), 5);
        assert_eq!(size_of(r#"{"type":"skill_listing","content":"abc","names":["abc"]}"#), 3);
        assert_eq!(size_of(r#"{"type":"date_change"}"#), 22);
        let hook = |event: &str, content: &str| {
            size_of(&format!(
                r#"{{"type":"hook_success","hookEvent":"{event}","content":"{content}"}}"#
            ))
        };
        assert_eq!(hook("SessionStart", "abc"), 3);
        assert_eq!(hook("SessionStart", ""), 0);
        assert_eq!(hook("PostToolUse", "abc"), 0);
    }

    #[test]
    fn an_image_in_a_result_counts_as_usual() {
        let image = |data: &str| {
            raw(&format!(r#"[{{"type":"image","source":{{"type":"base64","data":"{data}"}}}}]"#))
        };
        assert_eq!(result_size(&image("aaaa")).bytes(), 28 + MEDIA_BYTES);
        assert_eq!(result_size(&image(&"a".repeat(100_000))).bytes(), 28 + MEDIA_BYTES);
        assert_eq!(result_size(&raw(r#"[{"type":"text","text":"abc"}]"#)).bytes(), 30);
    }
}
