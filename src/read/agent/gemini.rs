//! Chats of Gemini CLI: one JSON document, or since 2026 a line for each message.
//!
//! An answer has `tokens`. `input` is the whole prompt, including the tokens read; thoughts are not in
//! the output, and `tool` counts further tokens of the prompt. In lines a message is written again when
//! its tokens or its tools' results arrive, so the last one of an id counts. Rewound messages were
//! billed all the same. There are no writes, and the requests of compressions are not recorded.

use rustc_hash::FxHashMap;
use serde_json::value::RawValue;

use super::chat::{Chat, ChatTokens, Known, Side};
use super::qwen::Part;
use super::{AgentFile, DocumentFormat, FirstObject, Layout, LineFormat, Rejected, Size, Time};
use crate::base::EntryId;
use crate::read::input::{List, Listed, Shape, Text, lenient};

/// Chat as one document.
pub(super) struct GeminiDocument;

impl DocumentFormat for GeminiDocument {
    type Document<'a> = Document<'a>;
    const FILE: &'static str = "a chat of Gemini CLI";
    const LAYOUT: Option<Layout> = Some(Layout::Gemini);

    fn recognises(first: &FirstObject<'_>) -> bool {
        let is_chat = first.has_member("startTime") || first.has_member("projectHash");
        first.has_member("sessionId") && is_chat && first.has_member("messages")
    }

    fn document(document: &Document<'_>, file: &mut AgentFile) {
        let mut chat = Chat::default();
        chat.header(&document.session, &document.kind, file);
        for (number, message) in (1..).zip(document.messages.0.iter().flatten()) {
            file.line = number;
            if let Some(message) = &message.0 {
                chat.append(message.known(file));
            }
        }
        chat.finish(file);
    }
}

/// Chat as lines.
#[derive(Default)]
pub(super) struct GeminiLines {
    chat: Chat,
    places: FxHashMap<EntryId, usize>,
}

impl LineFormat for GeminiLines {
    type Line<'a> = Message<'a>;
    const FILE: &'static str = "a chat of Gemini CLI";
    const LAYOUT: Option<Layout> = Some(Layout::Gemini);

    fn recognises(first: &FirstObject<'_>) -> bool {
        let is_header = first.has_member("sessionId")
            && first.has_member("projectHash")
            // A document that is written on one line has these members, too.
            && !first.has_member("messages");
        is_header || (first.is_one_of("type", &["gemini"]) && first.has_member("id"))
    }

    fn line(&mut self, line: &Message<'_>, file: &mut AgentFile) -> Result<(), Rejected> {
        if let Some(id) = line.rewind_to.as_str() {
            // A message that is not there says nothing of those that are.
            if let Some(place) = self.places.get(&EntryId::of(id)) {
                self.chat.rewind(Some(*place));
            }
        } else if line.id.as_str().is_some() {
            self.put(line, file);
        } else if let Some(messages) = line.set.0.as_ref().and_then(|set| set.messages.0.as_ref()) {
            // `$set` replaces all messages of the chat.
            self.chat.rewind(None);
            for message in messages.iter().filter_map(|message| message.0.as_ref()) {
                self.put(message, file);
            }
        } else {
            self.chat.header(&line.session, &line.kind, file);
        }
        Ok(())
    }

    fn end(self, file: &mut AgentFile) {
        self.chat.finish(file);
    }
}

impl GeminiLines {
    /// Adds a message, or merges a newer version of one.
    fn put(&mut self, message: &Message<'_>, file: &mut AgentFile) {
        let Some(id) = message.id.as_str().map(EntryId::of) else { return };
        let known = message.known(file);
        if let Some(place) = self.places.get(&id) {
            self.chat.renew(*place, known);
        } else {
            self.places.insert(id, self.chat.append(known));
        }
    }
}

/// Phrases of the client's notice that the next request has a shorter history.
pub(crate) const COMPRESSIONS: [&str; 2] = ["compressed from", "compressed context"];

lenient! {
    pub(super) struct Document<'a> {
        #[serde(rename = "sessionId")]
        session: Text<'a>,
        kind: Text<'a>,
        messages: Listed<Shape<Message<'a>>>,
    }

    /// Message; as a line also a header, or a change of the chat.
    pub(super) struct Message<'a> {
        #[serde(rename = "sessionId")]
        session: Text<'a>,
        kind: Text<'a>,
        #[serde(rename = "$set")]
        set: Shape<Document<'a>>,
        #[serde(rename = "$rewindTo")]
        rewind_to: Text<'a>,
        id: Text<'a>,
        r#type: Text<'a>,
        timestamp: Time,
        model: Text<'a>,
        content: Option<&'a RawValue>,
        tokens: Shape<ChatTokens>,
        #[serde(rename = "toolCalls")]
        calls: List<Shape<ToolCall<'a>>>,
    }

    /// Call of a tool with its result.
    struct ToolCall<'a> {
        timestamp: Time,
        name: Text<'a>,
        result: List<Shape<Part<'a>>>,
    }
}

impl Message<'_> {
    /// Message without its text.
    fn known(&self, file: &mut AgentFile) -> Known {
        let side = match self.r#type.as_str() {
            Some("user") => Side::User,
            Some("gemini") => Side::Model,
            // The notice is the only trace of a compression, whose request is not recorded.
            Some("info") if self.tells_of_compression() => Side::Compression,
            _ => Side::Client,
        };
        let calls = self.calls.0.iter().filter_map(|call| call.0.as_ref());
        Known {
            number: file.line,
            id: self.id.as_str().map(|id| EntryId::of(&format!("gemini:{id}"))),
            at: self.timestamp.0,
            side,
            model: file.symbol(&self.model),
            tokens: self.tokens.0,
            content: self.content.map_or_else(Size::default, Size::of_value),
            answered: calls.clone().filter_map(|call| call.timestamp.0).max(),
            results: calls.map(|call| (file.symbol(&call.name), call.size())).collect(),
        }
    }

    /// Returns true for a notice that the next request has a shorter history.
    fn tells_of_compression(&self) -> bool {
        self.content.is_some_and(|text| COMPRESSIONS.iter().any(|words| text.get().contains(words)))
    }
}

impl ToolCall<'_> {
    fn size(&self) -> Size {
        let parts = self.result.0.iter().filter_map(|part| part.0.as_ref());
        parts.map(Part::size).fold(Size::default(), Size::and)
    }
}
