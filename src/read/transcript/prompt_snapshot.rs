//! Client's own record of the prompt in front of the messages: a `prompt_snapshot` attachment.
//!
//! Since about 2.1.267 two such lines are written when a session begins, the second with the tools, and again after
//! `/compact` and `/clear`; none at a resume. The last one before a request holds. *Reported* by programs that read these
//! lines; no session at hand has one with its text, so no read has confirmed the rule yet.

use serde_json::value::RawValue;

use super::counted::Measure;
use crate::base::{EntryId, Symbol, Symbols, TextSize, has_symbols};
use crate::read::input::{List, Text, lenient, only_value};
use crate::read::rendered::tool_line;

/// `type` of these attachments.
pub(super) const TYPE: &str = "prompt_snapshot";

/// Tools and system prompt at a line of a transcript, without their text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptSnapshot {
    /// Line in its file, from 1 on.
    pub line: u64,
    /// Blocks of the system prompt; each is the digests of its lines.
    pub system: Vec<Vec<EntryId>>,
    /// Tools in their order, none if the line has no tools.
    pub tools: Vec<SnapshotTool>,
    /// Size of the system prompt, in bytes of its text.
    pub system_size: TextSize,
    /// Size of the tools, in bytes of JSON.
    pub tools_size: TextSize,
}

/// Tool of a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnapshotTool {
    /// Name of the tool.
    pub name: Symbol,
    /// Digest of the whole definition.
    pub digest: EntryId,
}

has_symbols!(PromptSnapshot { tools } beside { line, system, system_size, tools_size });
has_symbols!(SnapshotTool { name } beside { digest });

lenient! {
    #[serde(rename_all = "camelCase")]
    struct Snapshot<'a> {
        r#type: Text<'a>,
        system_prompt: List<Text<'a>>,
        tools: List<&'a RawValue>,
    }

    struct Tool<'a> {
        name: Text<'a>,
        description: Option<&'a RawValue>,
        schema: Option<&'a RawValue>,
    }
}

/// Snapshot in an attachment; `None` for another attachment, and for an empty snapshot, as in a redacted transcript.
pub(super) fn prompt_snapshot(
    attachment: &RawValue,
    line: u64,
    symbols: &mut Symbols,
    measure: Option<&Measure>,
) -> Option<PromptSnapshot> {
    // Most attachments are another's, and parsed already.
    memchr::memmem::find(attachment.get().as_bytes(), TYPE.as_bytes())?;
    let snapshot: Snapshot<'_> = only_value(attachment.get()).ok()?;
    if !snapshot.r#type.is(TYPE) {
        return None;
    }
    let mut read = PromptSnapshot {
        line,
        system: Vec::new(),
        tools: Vec::new(),
        system_size: TextSize::ZERO,
        tools_size: TextSize::ZERO,
    };
    for text in snapshot.system_prompt.0.iter().filter_map(Text::as_str) {
        if !text.is_empty() {
            read.system.push(text.split_inclusive('\n').map(EntryId::of).collect());
            add(&mut read.system_size, text.len(), measure.map(|measure| measure.text(text)));
        }
    }
    for json in &snapshot.tools.0 {
        let Ok(tool) = only_value::<Tool<'_>>(json.get()) else { continue };
        let Some(name) = tool.name.as_str() else { continue };
        let digest = EntryId::of(json.get());
        read.tools.push(SnapshotTool { name: symbols.intern(name), digest });
        let line = || tool_line(name, tool.description, tool.schema);
        let tokens = measure.map(|measure| measure.text(&line()));
        add(&mut read.tools_size, json.get().len(), tokens);
    }
    (!read.system.is_empty() || !read.tools.is_empty()).then_some(read)
}

/// Adds a part to a size.
fn add(size: &mut TextSize, bytes: usize, tokens: Option<u64>) {
    let bytes = size.bytes() + bytes as u64;
    let tokens = tokens.map(|tokens| size.tokens() + tokens);
    let new = TextSize::of_bytes(bytes);
    *size = tokens.map_or(new, |tokens| new.counted(tokens, true));
}
