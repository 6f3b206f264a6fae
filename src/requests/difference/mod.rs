//! Differences between two captured requests: the parts of their prompts that differ, and the first byte of
//! each.
//!
//! Differences in the prefix come first, in its order, so that the first difference is at the divergence of
//! the two paths. Differences outside the prefix follow: scope, TTLs and places of markers, beta features,
//! and other fields of the body, which the service may make part of the key without saying so. Header names
//! and such fields rarely change and are interned. Values of fields are kept only with the bytes. `lint` uses
//! the same functions, but only on the part of the earlier request that was cached.

mod altered;
mod given;
mod markers;
mod messages;
mod returning;
mod settings;
mod tools;
mod view;

pub(crate) use altered::{Alteration, other_order, reordered};
pub(crate) use given::{answer_settings, given_settings, is_priced};
pub(crate) use markers::{BETA_FAMILIES, beta_differences, ttl_difference};
pub(crate) use messages::{
    CLEARED, common_end, deletion_difference, differing, message_change, same_ends,
};
pub(crate) use returning::comes_back;
pub(crate) use settings::{Setting, rewrite_settings, setting_changes};
pub(crate) use tools::{
    ToolChange, ToolChangeKind, begins_with_attribution, is_attribution, tool_changes, tool_name,
};
pub use view::ByteDifference;
pub(crate) use view::{PromptView, SAME_IN_OTHER_BYTES, context, first_difference};

use markers::marker_differences;
use messages::message_difference;
use settings::{SettingChange, extra_body_differences};
use tools::system_differences;

use enumset::EnumSetType;

use crate::read::capture::WireNodeId;
use crate::requests::conversation::{History, RequestIndex};

/// Part in which a request differs from an earlier one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Kind of difference.
    pub kind: DifferenceKind,
    /// Part of the request, such as `tools[3]`, `system[1]`, `messages[4].content[0]` or
    /// `output_config.effort`.
    ///
    /// It names a place in the later request, unless nothing is left there.
    pub place: String,
    /// Description of the difference in a few words, none of them from the prompt.
    pub detail: String,
    /// What became of the block, if it comes back altered.
    pub(crate) alteration: Option<Alteration>,
    /// Tool that differs, and its field if there is one. Words of the prompt.
    pub tool: Option<String>,
    /// Node of the earlier prompt, or `None` if its prefix has nothing at that place.
    pub before: Option<WireNodeId>,
    /// Node of the later prompt, or `None` if its prefix has nothing at that place.
    pub after: Option<WireNodeId>,
    /// First bytes that differ at that place. Words of the prompt.
    pub bytes: Option<ByteDifference>,
}

impl Difference {
    fn new(kind: DifferenceKind, place: impl Into<String>, detail: impl Into<String>) -> Self {
        Self {
            kind,
            place: place.into(),
            detail: detail.into(),
            alteration: None,
            tool: None,
            before: None,
            after: None,
            bytes: None,
        }
    }

    /// Sets the alteration, if there is one, and its words.
    fn altered(self, alteration: Option<Alteration>) -> Self {
        let Some(found) = alteration else { return self };
        Self { alteration, detail: found.to_string(), ..self }
    }

    /// Sets the nodes of the prefix that differ.
    fn between(self, before: Option<WireNodeId>, after: Option<WireNodeId>) -> Self {
        Self { before, after, ..self }
    }

    /// Sets the bytes that differ, from both texts at the place.
    fn with_bytes(self, before: Option<&str>, after: Option<&str>) -> Self {
        let bytes = before.zip(after).map(|(before, after)| ByteDifference::between(before, after));
        Self { bytes, ..self }
    }

    /// Returns true if the difference is in the prefix, and not outside it.
    pub fn is_of_prefix(&self) -> bool {
        self.before.is_some() || self.after.is_some() || self.kind == DifferenceKind::Model
    }
}

/// All differences between two captured requests, with `before` the earlier one.
///
/// There are none if either comes from a transcript. The captures must be read with their bytes kept.
///
/// Differences in the prefix come first, in its order: model, tools, speed and citations, system prompt, the
/// settings before the messages, messages. Nothing after the first of them can be read from the cache. Of
/// messages only the first difference is listed. Differences outside the prefix follow: scope and other
/// attributes of markers, beta features, other fields of the body. The service does not document their
/// effect, so they explain only a loss beyond the prefix: more was lost than follows the shared prefix.
pub fn differences(
    history: &History,
    before: RequestIndex,
    after: RequestIndex,
) -> Vec<Difference> {
    let (Some(before), Some(after)) = (history.wire(before), history.wire(after)) else {
        return Vec::new();
    };
    let tree = &history.captured.tree;
    let pair = Pair {
        before: &PromptView::new(tree, before.leaf),
        after: &PromptView::new(tree, after.leaf),
    };
    let mut differences: Vec<Difference> = pair.model().into_iter().collect();
    differences.extend(pair.tools());
    differences.extend(pair.settings(|view| view.system_settings));
    differences.extend(system_differences(pair));
    let mut settings = pair.settings(|view| view.message_settings);
    let mut messages = message_difference(pair);
    // Whether there is an image follows from the block that lost it; the paths part at the setting all the same.
    let is_image = |one: &Difference| one.kind == DifferenceKind::Image;
    if let Some(block) = messages.as_mut().filter(|one| is_image(one))
        && let Some(at) = settings.iter().position(is_image)
    {
        let setting = settings.remove(at);
        (block.before, block.after) = (setting.before, setting.after);
    }
    differences.extend(settings);
    differences.extend(messages);
    differences.extend(marker_differences(pair, &before.markers, &after.markers));
    differences.extend(deletion_difference(&before.deleted, &after.deleted));
    differences.extend(beta_differences(history.text(before.betas), history.text(after.betas)));
    differences.extend(extra_body_differences(
        history.text(before.other_fields),
        history.text(after.other_fields),
    ));
    differences
}

/// Prompts of an earlier and a later request.
#[derive(Clone, Copy)]
struct Pair<'a> {
    before: &'a PromptView<'a>,
    after: &'a PromptView<'a>,
}

impl<'a> Pair<'a> {
    fn model(self) -> Option<Difference> {
        let (before, after) = (self.before.model, self.after.model);
        let detail = "another model";
        (before != after).then(|| {
            Difference::new(DifferenceKind::Model, "model", detail)
                .between(Some(before), Some(after))
                .with_bytes(Some(self.before.text(before)), Some(self.after.text(after)))
        })
    }

    fn tools(self) -> Vec<Difference> {
        let before = self.before.texts(&self.before.tools);
        let after = self.after.texts(&self.after.tools);
        let changes = tool_changes(&before, &after).into_iter();
        changes.map(|change| self.tool(&change, &before, &after)).collect()
    }

    fn tool(self, change: &ToolChange, before: &[&'a str], after: &[&'a str]) -> Difference {
        let mut alteration = None;
        let (kind, detail) = match &change.kind {
            ToolChangeKind::Gone => (DifferenceKind::ToolRemoved, "a tool is gone"),
            ToolChangeKind::New => (DifferenceKind::ToolAdded, "a tool is new"),
            ToolChangeKind::Moved => {
                (DifferenceKind::ToolMoved, "a tool stands where another one stood")
            }
            ToolChangeKind::Changed(_) => {
                let texts = change.before.zip(change.after);
                alteration = texts.and_then(|(old, new)| other_order(before[old], after[new]));
                (DifferenceKind::ToolChanged, "a field changed")
            }
            ToolChangeKind::Respelled => (DifferenceKind::ToolRespelled, SAME_IN_OTHER_BYTES),
        };
        let place = change.position();
        // The list that lacks the tool has another one in that place.
        let text = |texts: &[&'a str], own: Option<usize>| texts.get(own.unwrap_or(place)).copied();
        let node = |nodes: &[WireNodeId], own: Option<usize>| own.map(|own| nodes[own]);
        let mut difference = Difference::new(kind, format!("tools[{place}]"), detail)
            .altered(alteration)
            .between(node(&self.before.tools, change.before), node(&self.after.tools, change.after))
            .with_bytes(text(before, change.before), text(after, change.after));
        difference.tool = Some(match &change.kind {
            ToolChangeKind::Changed(field) => format!("{}: {field}", change.name),
            _ => change.name.clone(),
        });
        difference
    }

    fn settings(self, node: impl Fn(&PromptView<'a>) -> Option<WireNodeId>) -> Vec<Difference> {
        let (before, after) = (node(self.before), node(self.after));
        let text =
            |view: &PromptView<'a>, id: Option<WireNodeId>| id.map_or("", |id| view.text(id));
        let changes = setting_changes(text(self.before, before), text(self.after, after));
        let difference = |change: &SettingChange<'_>| {
            Difference::new(change.setting.kind(), change.setting.place(), "another value")
                .between(before, after)
                .with_bytes(Some(change.before), Some(change.after))
        };
        changes.iter().map(difference).collect()
    }
}

/// Kind of a difference, in one of the twelve dimensions of Claude Code's break detector or in the messages.
#[derive(Debug, EnumSetType, Hash, Ord, PartialOrd)]
pub enum DifferenceKind {
    /// Another model, which has its own caches.
    Model,
    /// New tool.
    ToolAdded,
    /// Missing tool.
    ToolRemoved,
    /// Changed content of a tool's field.
    ToolChanged,
    /// Tool in the place of another one.
    ToolMoved,
    /// Tool with the same content in other bytes.
    ToolRespelled,
    /// Citations switched on or off, which the service writes into the system prompt.
    Citations,
    /// `speed`, or its beta feature.
    FastMode,
    /// Client's attribution line in the system prompt, if it is part of the key.
    ///
    /// Anthropic's own service leaves it out of the prefix, others do not.
    Attribution,
    /// Changed block of the system prompt.
    SystemPrompt,
    /// `thinking`.
    Thinking,
    /// `tool_choice`.
    ToolChoice,
    /// `output_config.effort`.
    Effort,
    /// `output_config.format`.
    OutputFormat,
    /// Images that appeared or disappeared, in the whole prompt or in a block that was sent before.
    Image,
    /// Block that was sent before and changed, or moved to another message.
    MessageRewritten,
    /// Content of an old result, replaced by the client's placeholder.
    ResultsCleared,
    /// Thinking of earlier turns removed, with everything else unchanged.
    ThinkingStripped,
    /// Last messages removed, with or without others in their place.
    Rewound,
    /// Messages of which almost nothing comes back, from the first one on: a compaction, or another
    /// conversation.
    MessagesReplaced,
    /// Results newly deleted on the server, or no longer deleted.
    CachedMicrocompaction,
    /// Marker that became global, or none any longer.
    Scope,
    /// All markers had an hour, and now have five minutes: usage beyond the subscriber's plan, of which no field says
    /// anything.
    Overage,
    /// Another TTL on a marker.
    TtlTier,
    /// Markers that moved, or whose number changed. That loses every prefix that no marker looks back to.
    MarkersMoved,
    /// Beta features added or removed.
    Betas,
    /// Beta features of auto mode (`afk-mode-…`, `dangerous-tool-use-…`) added or removed, in which the client decides by
    /// itself which calls need no permission. A capture without headers cannot show it.
    AutoMode,
    /// Field of the body that no other kind covers.
    ExtraBody,
}
