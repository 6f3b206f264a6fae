//! Path of a request's body through the tree, and its markers.

use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashMap, FxHasher};
use serde_json::value::RawValue;

use super::attribution::neutral;
use super::block::{Block, BlockKind};
use super::canonical::{TooDeep, write_block, write_canonical, write_text_block};
use super::load::{BlockParts, CaptureOptions};
use super::other_fields::OtherFields;
use super::parse::AttributionPart;
use super::record::{CacheControl, Message, Request, word};
use super::settings::write_settings;
use super::size::{Deferred, DeferredTool, Place, Role, Size, Sizes};
use super::sketch::BlockSketch;
use super::tree::{Part, PrefixHash, WireNode, WireNodeId, WireTree, landmarks};
use crate::base::model::Support;
use crate::base::{Facts, Refusal, Ttl, UNKNOWN_MODEL};
use crate::read::input::{Listed, MOST_BLOCKS, Shape, Text};
use crate::read::rendered::USUAL_NAME;

/// Marker of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WireMarker {
    /// Prefix that it marks.
    pub node: WireNodeId,
    /// TTL that the service granted, as far as usage shows it, else the one that it asks for.
    pub ttl: Ttl,
    /// TTL that it asks for.
    pub asked: Ttl,
    /// True for the scope `global`.
    pub is_global: bool,
    /// True for the request's own marker, which no block has (automatic caching).
    pub is_automatic: bool,
}

impl WireMarker {
    fn new(node: WireNodeId, control: &CacheControl<'_>) -> Self {
        let ttl = control.lifetime();
        let is_global = control.scope.is("global");
        Self { node, ttl, asked: ttl, is_global, is_automatic: false }
    }
}

/// Prompt as a path.
#[derive(Clone, Debug)]
pub(super) struct WirePath {
    pub(super) leaf: WireNodeId,
    /// Markers in the order of the prefix.
    pub(super) markers: Vec<WireMarker>,
    /// Results that edits delete, in the order of the prefix.
    pub(super) deleted: Vec<WireNodeId>,
    /// Number of deletions that refer to nothing in front of them.
    pub(super) idle_edits: u32,
    pub(super) attribution: Option<AttributionPart>,
    pub(super) likeness: Likeness,
    pub(super) refusal: Option<Refusal>,
}

/// Features that requests of one conversation share, whatever became of the bytes in front.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Likeness {
    /// Hash of the first block of the messages.
    pub opening: u64,
    /// Hash of the first message.
    pub first_message: u64,
    /// Number of messages.
    pub messages: u32,
    /// Hash of tools and system prompt.
    pub head: u64,
    /// Number of tools.
    pub tools: u32,
    /// Number of blocks of the system prompt.
    pub system: u32,
}

impl Likeness {
    fn add(&mut self, part: Part, bytes: &[u8]) {
        let mut hasher = FxHasher::default();
        match part {
            Part::Tool | Part::System => {
                self.tools += u32::from(part == Part::Tool);
                self.system += u32::from(part == Part::System);
                self.head.hash(&mut hasher);
                bytes.hash(&mut hasher);
                self.head = hasher.finish();
            }
            Part::MessageStart | Part::Block => {
                self.messages += u32::from(part == Part::MessageStart);
                if self.messages == 1 {
                    self.first_message.hash(&mut hasher);
                    bytes.hash(&mut hasher);
                    self.first_message = hasher.finish();
                }
                if self.opening == 0 {
                    let mut hasher = FxHasher::default();
                    bytes.hash(&mut hasher);
                    self.opening = hasher.finish();
                }
            }
            _ => {}
        }
    }
}

/// Reason why a body is not a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodyError {
    /// A field that every Messages API request has is missing or of another type.
    NotMessages(&'static str),
    /// Nested too deeply.
    TooDeep,
    /// A block names one of its keys twice.
    DuplicateKey,
    /// More than [`MOST_BLOCKS`].
    TooManyBlocks,
}

impl From<TooDeep> for BodyError {
    fn from(_: TooDeep) -> Self {
        Self::TooDeep
    }
}

/// Adds the prompt of a body to the tree, with sizes for its model.
///
/// # Errors
/// [`BodyError`]; nodes that were added before it stay, and do no harm.
pub(super) fn add_prompt<'a>(
    body: &'a Request<'a>,
    tree: &mut WireTree,
    options: &'a CaptureOptions,
    facts: &'a Facts,
    is_attribution_neutral: bool,
) -> Result<WirePath, BodyError> {
    // Bedrock and Google Cloud take the model from the address; their bodies name a version of the API instead.
    let is_named_elsewhere = || body.other.value("anthropic_version").map(|_| UNKNOWN_MODEL);
    let model = body.model.as_str().or_else(is_named_elsewhere);
    let model = model.ok_or(BodyError::NotMessages("it names no model"))?;
    let messages = body.messages.0.as_ref().ok_or(BodyError::NotMessages("it has no messages"))?;
    let sizes = Sizes::new(options.counting, facts);
    let mut walk = Walk::begin(tree, options, sizes, model);
    walk.refuses_system_role = facts.system_role != Support::Taken;
    walk.is_attribution_neutral = is_attribution_neutral;
    let mut room = Room(MOST_BLOCKS);
    room.take(body.tools.0.as_ref().map_or(0, Vec::len) + messages.len())?;
    for tool in body.tools.0.iter().flatten() {
        walk.tool(tool)?;
    }
    let messages = Messages::read(messages, &mut room)?;
    // Each group of settings is in front of the parts whose cache it invalidates.
    walk.system_settings(body, &messages);
    walk.system(body.system, &mut room)?;
    walk.message_settings(body, &messages, facts)?;
    let turn = if facts.drops_thinking { messages.last_turn() } else { 0 };
    for (number, message) in messages.0.iter().enumerate() {
        walk.message(message, number < turn)?;
    }
    if let Some(control) = &body.cache_control.0 {
        walk.automatic(control);
    }
    let is_misspelled = message_fields(body).any(OtherFields::names_misspelled_marker);
    walk.refuse(is_misspelled.then_some(Refusal::MisspelledMarker));
    walk.refuse(refused_answer(body));
    walk.deleted.sort_unstable();
    walk.deleted.dedup();
    Ok(WirePath {
        leaf: walk.here,
        markers: walk.markers,
        deleted: walk.deleted,
        idle_edits: walk.idle_edits,
        attribution: walk.attribution,
        likeness: walk.likeness,
        refusal: walk.refusal,
    })
}

/// Fields of a body, and of its messages, that no other module reads.
fn message_fields<'b>(body: &'b Request<'_>) -> impl Iterator<Item = &'b OtherFields<'b>> {
    let messages = body.messages.0.iter().flatten().filter_map(|message| message.0.as_ref());
    messages.map(|message| &message.other).chain([&body.other])
}

/// Refusal of `max_tokens: 0`, which writes the cache and nothing else, beside a setting of an answer.
fn refused_answer(body: &Request<'_>) -> Option<Refusal> {
    if body.other.value("max_tokens").is_none_or(|value| value.get() != "0") {
        return None;
    }
    let is_set = body.other.value("stream").is_some_and(|value| value.get() == "true")
        || is_of_kind(body.thinking, &["enabled", "adaptive"])
        || is_of_kind(body.tool_choice, &["any", "tool"])
        || body.format().is_some();
    is_set.then_some(Refusal::NoAnswer)
}

/// Returns true if a setting has one of some types.
fn is_of_kind(value: Option<&RawValue>, kinds: &[&str]) -> bool {
    Kind::of(value).is_some_and(|value| kinds.iter().any(|kind| value.r#type.is(kind)))
}

/// Message with its blocks parsed.
struct MessageBlocks<'a> {
    role: Option<&'a RawValue>,
    /// True for a marker of the message itself.
    is_marked: bool,
    content: Content<'a>,
}

enum Content<'a> {
    /// String, which is one text block.
    Text(&'a RawValue),
    Blocks(Vec<(&'a RawValue, Block<'a>)>),
}

struct Messages<'a>(Vec<MessageBlocks<'a>>);

/// Number of blocks, tools and messages that a request may still have.
struct Room(usize);

impl Room {
    fn take(&mut self, blocks: usize) -> Result<(), BodyError> {
        self.0 = self.0.checked_sub(blocks).ok_or(BodyError::TooManyBlocks)?;
        Ok(())
    }
}

impl<'a> Messages<'a> {
    fn read(messages: &[Shape<Message<'a>>], room: &mut Room) -> Result<Self, BodyError> {
        let read = |message: &Shape<Message<'a>>| {
            let message =
                message.0.as_ref().ok_or(BodyError::NotMessages("a message is no object"))?;
            let is_marked = message.cache_control.is_some();
            let content = content(message.content, room)?;
            Ok(MessageBlocks { role: message.role, is_marked, content })
        };
        messages.iter().map(read).collect::<Result<_, _>>().map(Self)
    }

    /// Message with which the last turn begins: the last one that has more than answers and results.
    fn last_turn(&self) -> usize {
        let begins = |message: &MessageBlocks<'_>| {
            let is_answer = message.role.and_then(word).is_some_and(|role| role.is("assistant"));
            !is_answer
                && match &message.content {
                    Content::Text(_) => true,
                    Content::Blocks(blocks) => {
                        blocks.iter().any(|(_, block)| block.kind() != BlockKind::ToolResult)
                    }
                }
        };
        self.0.iter().rposition(begins).unwrap_or(0)
    }

    fn any(&self, has: impl Fn(&Block<'a>) -> bool) -> bool {
        self.0.iter().any(|message| match &message.content {
            Content::Text(_) => false,
            Content::Blocks(blocks) => blocks.iter().any(|(_, block)| has(block)),
        })
    }
}

fn content<'a>(content: Option<&'a RawValue>, room: &mut Room) -> Result<Content<'a>, BodyError> {
    let Some(raw) = content else { return Ok(Content::Blocks(Vec::new())) };
    match raw.get().as_bytes().first() {
        Some(b'"') => Ok(Content::Text(raw)),
        Some(b'[') => {
            // It is a list of any JSON, so that it can only be too long.
            let list: Listed<&RawValue> =
                serde_json::from_str(raw.get()).map_err(|_| BodyError::TooManyBlocks)?;
            let list = list.0.unwrap_or_default();
            room.take(list.len())?;
            let blocks = list.into_iter().map(|raw| Ok((raw, block(raw)?)));
            blocks.collect::<Result<_, _>>().map(Content::Blocks)
        }
        _ => Err(BodyError::NotMessages("a content is neither a string nor a list")),
    }
}

/// Fields of a block; anything but an object is a block of an unknown type, and so is one whose
/// strings cannot be decoded.
fn block(raw: &RawValue) -> Result<Block<'_>, BodyError> {
    match serde_json::from_str::<Shape<Block<'_>>>(raw.get()) {
        Ok(shape) => Ok(shape.0.unwrap_or_default()),
        Err(error) if error.is_data() => Err(BodyError::DuplicateKey),
        Err(_) => Ok(Block::default()),
    }
}

/// Setting with a type.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
struct Kind<'a> {
    #[serde(borrow)]
    r#type: Text<'a>,
    /// Name of the chosen tool.
    name: Text<'a>,
}

impl<'a> Kind<'a> {
    fn of(value: Option<&'a RawValue>) -> Option<Self> {
        value.and_then(|value| serde_json::from_str(value.get()).ok())
    }
}

/// Walk through the tree, block by block.
struct Walk<'t, 'a> {
    tree: &'t mut WireTree,
    options: &'a CaptureOptions,
    sizes: Sizes<'a>,
    /// Tools outside of the prompt, to which results may refer.
    deferred: Deferred<'a>,
    /// Number of results right before this place in its message.
    results_before: u64,
    /// Tokens of the names of the tools that were called, by hashes of the calls' ids.
    names: FxHashMap<u64, u64>,
    /// Tokens of the tool's name for the result before, and for the one that is added.
    result_names: [u64; 2],
    here: WireNodeId,
    hash: PrefixHash,
    has_tools: bool,
    markers: Vec<WireMarker>,
    last_markable: Option<WireNodeId>,
    /// Results so far, by the names that edits use.
    results: FxHashMap<String, WireNodeId>,
    deleted: Vec<WireNodeId>,
    idle_edits: u32,
    is_attribution_neutral: bool,
    attribution: Option<AttributionPart>,
    likeness: Likeness,
    refuses_system_role: bool,
    /// First reason for which the service refuses the request.
    refusal: Option<Refusal>,
    canonical: Vec<u8>,
    label: String,
    /// Role of the message that the walk is in, as canonical JSON.
    role: Vec<u8>,
}

impl<'t, 'a> Walk<'t, 'a> {
    fn begin(
        tree: &'t mut WireTree,
        options: &'a CaptureOptions,
        sizes: Sizes<'a>,
        model: &str,
    ) -> Self {
        let mut walk = Self {
            tree,
            options,
            sizes,
            deferred: Deferred::default(),
            results_before: 0,
            names: FxHashMap::default(),
            result_names: [0; 2],
            here: WireNodeId(0),
            hash: PrefixHash::NOTHING,
            has_tools: false,
            markers: Vec::new(),
            last_markable: None,
            results: FxHashMap::default(),
            deleted: Vec::new(),
            idle_edits: 0,
            is_attribution_neutral: false,
            attribution: None,
            likeness: Likeness::default(),
            refuses_system_role: false,
            refusal: None,
            canonical: Vec::new(),
            label: "model".to_owned(),
            role: Vec::new(),
        };
        // The root, as each model has caches of its own.
        walk.canonical.extend_from_slice(model.as_bytes());
        walk.extend(None, Part::Model, None, |walk| walk.sizes.frame());
        walk
    }

    /// Moves to the node that adds `self.canonical` under `self.label`.
    fn extend(
        &mut self,
        parent: Option<WireNodeId>,
        part: Part,
        block: Option<(BlockKind, &Block<'_>)>,
        size: impl FnOnce(&Self) -> Size,
    ) {
        let hash = self.hash.extend(&self.label, &self.canonical);
        self.here = if let Some(known) = self.tree.find(hash) {
            known
        } else {
            let (kind, call) =
                block.map_or((BlockKind::Other, None), |(kind, block)| (kind, block.call()));
            let sketch = BlockSketch::new(&self.canonical, call);
            // Only a new node is sized: a request mostly repeats the prefix of the one before.
            let Size { tokens, is_counted } = size(self);
            let is_counted = is_counted && parent.is_none_or(|id| self.tree.node(id).is_counted);
            let &CaptureOptions { keeps_bytes, parts, counting, .. } = self.options;
            let bytes = keeps_bytes.then(|| self.tree.keep(&self.canonical));
            let own_role = (part == Part::MessageStart).then_some(&self.role);
            let role = own_role.filter(|_| keeps_bytes).map(|role| self.tree.keep(role));
            let landmarks = (parts == BlockParts::Landmarks).then(|| {
                let role = own_role.map_or(&[][..], Vec::as_slice);
                self.tree.keep_landmarks(&landmarks(part, role, &self.canonical, counting))
            });
            self.tree.add(WireNode {
                hash,
                parent,
                part,
                kind,
                sketch,
                tokens,
                is_counted,
                bytes,
                role,
                landmarks,
            })
        };
        self.hash = hash;
        self.canonical.clear();
        self.label.clear();
    }

    /// Moves to a block whose canonical bytes and label are set.
    fn add_block(&mut self, part: Part, kind: BlockKind, block: &Block<'_>) {
        self.add_sized(part, kind, block, None);
    }

    /// Moves to a block whose size may be known.
    fn add_sized(&mut self, part: Part, kind: BlockKind, block: &Block<'_>, size: Option<Size>) {
        self.likeness.add(part, &self.canonical);
        self.extend(Some(self.here), part, Some((kind, block)), |walk| {
            size.unwrap_or_else(|| walk.block_size(part))
        });
        if kind != BlockKind::Thinking {
            self.last_markable = Some(self.here);
        }
        self.refuse(block.refused_marker());
        if let Some(control) = block.marker() {
            self.mark(self.here, &control);
        }
    }

    fn mark(&mut self, node: WireNodeId, control: &CacheControl<'_>) {
        self.refuse(control.is_unknown().then_some(Refusal::UnknownMarker));
        self.markers.push(WireMarker::new(node, control));
    }

    fn refuse(&mut self, reason: Option<Refusal>) {
        self.refusal = self.refusal.or(reason);
    }

    /// Sets the canonical bytes of a block.
    fn write(&mut self, raw: &RawValue) -> Result<(), BodyError> {
        let is_misspelled = write_block(raw.get(), &mut self.canonical)?;
        self.refuse(is_misspelled.then_some(Refusal::MisspelledMarker));
        Ok(())
    }

    /// Size of a block whose canonical bytes are set, at the current place.
    fn block_size(&self, part: Part) -> Size {
        let role = match self.role.as_slice() {
            b"\"assistant\"" => Role::Assistant,
            b"\"system\"" => Role::System,
            _ => Role::User,
        };
        let before = self.tree.node(self.here).kind;
        let [first, own] = self.result_names;
        // The second result is written with the name of the first one's tool, too.
        let names = if self.results_before == 1 { first + own } else { own };
        let place = Place { part, before, results_before: self.results_before, names, role };
        self.sizes.block(place, &self.canonical, &self.deferred)
    }

    fn tool(&mut self, raw: &'a RawValue) -> Result<(), BodyError> {
        let block = block(raw)?;
        // A deferred tool is no part of the prompt before it is asked for.
        if block.defer_loading.0 {
            self.refuse(block.marker().map(|_| Refusal::DeferredMarker));
            let name = block.name.as_str().unwrap_or_default();
            self.deferred.insert(name.to_owned(), DeferredTool::new(raw));
            return Ok(());
        }
        self.has_tools = true;
        self.write(raw)?;
        self.label.push_str("tool");
        self.add_block(Part::Tool, BlockKind::Tool, &block);
        Ok(())
    }

    /// Adds the settings in front of the system prompt.
    fn system_settings(&mut self, body: &Request<'_>, messages: &Messages<'_>) {
        let speed = body.speed.as_str().unwrap_or("standard");
        let citations = messages.any(Block::has_citations);
        let speed = serde_json::Value::from(speed);
        let settings = format!("{{\"citations\":{citations},\"speed\":{speed}}}");
        self.canonical.extend_from_slice(settings.as_bytes());
        self.label.push_str("system-settings");
        let has_tools = self.has_tools;
        self.extend(Some(self.here), Part::SystemSettings, None, |walk| {
            if has_tools { walk.sizes.tool_overhead() } else { walk.sizes.nothing() }
        });
    }

    fn system(&mut self, system: Option<&RawValue>, room: &mut Room) -> Result<(), BodyError> {
        match content(system, room)? {
            Content::Text(raw) => {
                write_text_block(raw.get(), &mut self.canonical);
                self.system_block(BlockKind::Other, &Block::default());
            }
            Content::Blocks(blocks) => {
                for (raw, block) in &blocks {
                    self.write(raw)?;
                    self.system_block(block.kind(), block);
                }
            }
        }
        Ok(())
    }

    /// Moves to a block of the system prompt whose canonical bytes are set. A block that begins with the
    /// attribution line has its whole size, even if the line is not part of the key.
    fn system_block(&mut self, kind: BlockKind, block: &Block<'_>) {
        self.label.push_str("system");
        let Some(neutral) = neutral(&self.canonical) else {
            return self.add_block(Part::System, kind, block);
        };
        if !self.is_attribution_neutral {
            self.attribution = Some(AttributionPart::Literal);
            return self.add_block(Part::System, kind, block);
        }
        self.attribution = Some(AttributionPart::Neutral);
        // Sized with the line, which is sent either way.
        let size = self.block_size(Part::System);
        self.canonical = neutral;
        self.add_sized(Part::System, kind, block, Some(size));
    }

    fn text_block(&mut self, part: Part, kind: BlockKind, label: &str, raw: &RawValue) {
        write_text_block(raw.get(), &mut self.canonical);
        self.label.push_str(label);
        self.add_block(part, kind, &Block::default());
    }

    /// Adds the settings in front of the messages.
    fn message_settings(
        &mut self,
        body: &Request<'_>,
        messages: &Messages<'_>,
        facts: &Facts,
    ) -> Result<(), BodyError> {
        self.canonical.push(b'{');
        write_settings(body, facts, self.has_tools, &mut self.canonical)?;
        let images = messages.any(Block::has_image);
        self.canonical.extend_from_slice(format!("\"images\":{images}}}").as_bytes());
        self.label.push_str("message-settings");
        let has_budget = is_of_kind(body.thinking, &["enabled"]);
        let choice = Kind::of(body.tool_choice).unwrap_or_default();
        let is_named = choice.r#type.is("tool");
        self.extend(Some(self.here), Part::MessageSettings, None, |walk| {
            // A budget for thinking rules a forced choice out.
            let setting = if is_named || choice.r#type.is("any") {
                walk.sizes.forced_choice(choice.name.as_str().filter(|_| is_named))
            } else if has_budget {
                walk.sizes.thinking_budget()
            } else {
                walk.sizes.nothing()
            };
            match body.format() {
                Some(format) => setting.with(walk.sizes.format(format)),
                None => setting,
            }
        });
        Ok(())
    }

    /// Adds a message. Its thinking leaves the prompt if the model drops that of earlier turns.
    fn message(
        &mut self,
        message: &MessageBlocks<'_>,
        drops_thinking: bool,
    ) -> Result<(), BodyError> {
        self.role.clear();
        write_canonical(message.role.map_or("null", RawValue::get), &mut self.role)?;
        let first = format!("message {}", String::from_utf8_lossy(&self.role));
        let is_answer = self.role == b"\"assistant\"";
        let is_refused = self.refuses_system_role && self.role == b"\"system\"";
        self.refuse(is_refused.then_some(Refusal::SystemRole));
        self.refuse(message.is_marked.then_some(Refusal::MessageMarker));
        self.results_before = 0;
        let text = if is_answer { BlockKind::Answer } else { BlockKind::Other };
        match &message.content {
            Content::Text(raw) => self.text_block(Part::MessageStart, text, &first, raw),
            Content::Blocks(blocks) => {
                let mut part = Part::MessageStart;
                for (raw, block) in blocks {
                    let is_dropped = drops_thinking && block.kind() == BlockKind::Thinking;
                    // A marker on thinking is refused in any case.
                    if self.edit(block) || (is_dropped && block.marker().is_none()) {
                        continue;
                    }
                    self.write(raw)?;
                    let label = if part == Part::MessageStart { &first } else { "block" };
                    self.label.push_str(label);
                    let kind = block.kind();
                    let kind = if kind == BlockKind::Other { text } else { kind };
                    self.note_name(block);
                    self.add_block(part, kind, block);
                    part = Part::Block;
                    let is_result = kind == BlockKind::ToolResult;
                    self.results_before = if is_result { self.results_before + 1 } else { 0 };
                    if let Some(reference) = block.reference() {
                        self.results.insert(reference.to_owned(), self.here);
                    }
                }
            }
        }
        Ok(())
    }

    /// Records the name of the tool that a block calls, or whose result it is: results in a row are written with
    /// these names.
    fn note_name(&mut self, block: &Block<'_>) {
        let hash = |id: &Text<'_>| {
            let mut hasher = FxHasher::default();
            id.as_str().unwrap_or_default().hash(&mut hasher);
            hasher.finish()
        };
        match block.kind() {
            BlockKind::ToolUse => {
                let tokens = self.sizes.name(block.name.as_str().unwrap_or_default());
                self.names.insert(hash(&block.id), tokens);
            }
            BlockKind::ToolResult => {
                let own = self.names.get(&hash(&block.tool_use_id)).copied().unwrap_or(USUAL_NAME);
                self.result_names = [self.result_names[1], own];
            }
            _ => {}
        }
    }

    /// Records the deletions of a block in the prefix in front of it, and returns true for such a block.
    ///
    /// It is an instruction and no content: it has neither bytes nor a position, and the prefix is
    /// the same with and without it.
    fn edit(&mut self, block: &Block<'_>) -> bool {
        let Some(references) = block.deletions() else { return false };
        for reference in references {
            match self.results.get(reference) {
                Some(result) => self.deleted.push(*result),
                None => self.idle_edits += 1,
            }
        }
        // The block has no position, so its marker is on the last one that can carry it.
        if let Some((node, control)) = self.last_markable.zip(block.marker()) {
            self.mark(node, &control);
        }
        true
    }

    /// Adds the request's own marker to the last block that can carry one.
    fn automatic(&mut self, control: &CacheControl<'_>) {
        let Some(node) = self.last_markable else { return };
        self.refuse(control.is_unknown().then_some(Refusal::UnknownMarker));
        let automatic = WireMarker { is_automatic: true, ..WireMarker::new(node, control) };
        // Behind an explicit marker of the same block, in front of those of later ones.
        let place = self.markers.iter().position(|marker| marker.node > node);
        self.markers.insert(place.unwrap_or(self.markers.len()), automatic);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computed with Python's `hashlib.blake2b(…, digest_size=32)` over the byte contract.
    #[test]
    fn a_request_has_the_hashes_of_the_contract() {
        let body = r#"{"model":"claude-opus-5","tool_choice":{"type": "auto"},
            "tools":[{"name":"Read", "input_schema":{"type":"object"}},{"defer_loading":true}],
            "system":"Gr\u00fc\u00dfe \ud83d\ude00\n","output_config":{"effort":"low"},
            "messages":[{"role":"user","content":[{"type":"text","text":"hello"},
                {"type":"text","text":"there","cache_control":{"type":"ephemeral"}}]}]}"#;
        let body: Request<'_> = serde_json::from_str(body).expect("a body");
        let mut tree = WireTree::default();
        let options = CaptureOptions::default();
        let facts = options.models.facts("claude-opus-5");
        let path = add_prompt(&body, &mut tree, &options, &facts, false).expect("a prompt");
        let hashes: Vec<String> =
            tree.path(path.leaf).map(|id| tree.node(id).hash.to_string()).collect();
        assert_eq!(hashes.len(), 7);
        assert_eq!(hashes[0], "473d33bb878ea6dbe02ed16161fd2dc89d56d026115689378741932d8ca5b773");
        assert_eq!(hashes[3], "6a0f908963226060ab50ba0686608ecb4fa92f1faf77b97ff18b670e5bb446d8");
        assert_eq!(path.markers.len(), 1);
        assert_eq!(path.markers[0].node, path.leaf);
    }
}
