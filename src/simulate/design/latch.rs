//! Invariants of a conversation or session: settings that stay on once they are on, the attribution
//! line of the session's start, and the global marker on the part that system prompts of several
//! sessions share.

use std::collections::BTreeSet;

use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::value::RawValue;

use super::blocks::BlockTree;
use crate::base::{ByKey, Symbol, Tokens};
use crate::read::capture::{Part, WireNodeId, WireRequest, WireTree};
use crate::read::input::only_value;
use crate::requests::conversation::{History, RequestIndex};
use crate::requests::difference::{Setting, begins_with_attribution, rewrite_settings};
use crate::requests::prompt::{Marker, NodeId, Step};

/// Conversation, by the first request of its chain and a hash of its first message.
type ConversationId = (RequestIndex, u64);

/// Latched values at the time of a request.
#[derive(Clone, Debug)]
pub(super) struct Latches<'a> {
    settings: ByKey<Setting, &'a str>,
    /// Beta features requested so far, in alphabetical order and joined by commas.
    betas: String,
    /// Conversation, and the number of its beta features and other fields so far.
    beside: (ConversationId, usize),
}

/// Settings, beta features and fields that the requests of a conversation have switched on so far.
#[derive(Default)]
struct Conversation<'a> {
    settings: ByKey<Setting, &'a str>,
    betas: BTreeSet<&'a str>,
    other_fields: FxHashSet<String>,
}

/// Latches of each captured request, in order.
///
/// Requests of a conversation with the same first message are latched together, in the order of
/// sending: after a flip, a request may look as if it continued one from before the flip.
pub(super) fn latches<'a>(history: &'a History, steps: &[Step]) -> Vec<Latches<'a>> {
    let first = history.of_transcripts().len();
    let mut conversations: FxHashMap<ConversationId, Conversation<'a>> = FxHashMap::default();
    let mut latches_of = |(wire, step): (&WireRequest, &Step)| {
        let id = (step.opening, wire.likeness.opening);
        let conversation = conversations.entry(id).or_default();
        conversation.add(history, wire);
        let beside = conversation.betas.len() + conversation.other_fields.len();
        let betas = conversation.betas.iter().copied().collect::<Vec<_>>().join(",");
        Latches { settings: conversation.settings.clone(), betas, beside: (id, beside) }
    };
    history.captured.marked().iter().zip(&steps[first..]).map(&mut latches_of).collect()
}

impl<'a> Conversation<'a> {
    fn add(&mut self, history: &'a History, wire: &WireRequest) {
        let tree = &history.captured.tree;
        // The default of some models is to think.
        let thinks = history.facts(wire.model).thinks == Some(true);
        for node in tree.path(wire.leaf).filter_map(|id| settings_text(tree, id)) {
            rewrite_settings(node, |setting, value| {
                let is_usual = thinks && setting == Setting::Thinking && value == "null";
                if is_usual || setting.is_on(value) {
                    // The first value stays: a latch never changes again.
                    self.settings.entry(setting).or_insert(value);
                }
                value
            });
        }
        let betas = history.text(wire.betas).unwrap_or_default().split(',');
        self.betas.extend(betas.filter(|name| !name.is_empty()));
        self.other_fields.extend(field_names(history.text(wire.other_fields)));
    }
}

impl<'a> Latches<'a> {
    /// Canonical bytes of settings with the latched values, or `None` if the latches change nothing.
    pub(super) fn rewrite(&self, node: &'a str) -> Option<String> {
        let mut is_changed = false;
        let rewritten = rewrite_settings(node, |setting, value| {
            let latched = self.settings.get(&setting).copied().unwrap_or(value);
            is_changed |= latched != value;
            latched
        });
        is_changed.then_some(rewritten)
    }

    /// Requested beta features, in alphabetical order and joined by commas.
    pub(super) fn betas(&self) -> &str {
        &self.betas
    }

    /// Returns true if beta features and other fields are the same as at an earlier request.
    ///
    /// Both sets only ever grow, so their sizes are enough.
    pub(super) fn has_same_beside(&self, before: &Self) -> bool {
        self.beside == before.beside
    }
}

/// Text of a node if it holds settings.
pub(super) fn settings_text(tree: &WireTree, id: WireNodeId) -> Option<&str> {
    let node = tree.node(id);
    matches!(node.part, Part::SystemSettings | Part::MessageSettings).then(|| node.text())
}

fn field_names(object: Option<&str>) -> impl Iterator<Item = String> {
    let fields: ByKey<String, &RawValue> =
        object.and_then(|object| only_value(object).ok()).unwrap_or_default();
    fields.into_iter().map(|(name, _)| name)
}

/// Blocks that begin with the attribution line, and the first one of each session.
#[derive(Default)]
pub(super) struct Attributions {
    blocks: FxHashSet<WireNodeId>,
    first: FxHashMap<Symbol, WireNodeId>,
}

impl Attributions {
    /// Finds the lines of all captured requests.
    pub(super) fn of(history: &History) -> Self {
        let tree = &history.captured.tree;
        let blocks: FxHashSet<WireNodeId> = (0..)
            .map(WireNodeId)
            .take(tree.nodes.len())
            .filter(|id| is_attribution(tree, *id))
            .collect();
        let mut first = FxHashMap::default();
        if !blocks.is_empty() {
            let sent = &history.sent_with_markers()[history.of_transcripts().len()..];
            for (request, wire) in sent.iter().zip(history.captured.marked()) {
                if first.contains_key(&request.session) {
                    continue;
                }
                // The path runs backwards, so its last match is the first block of the prompt.
                if let Some(block) = tree.path(wire.leaf).filter(|id| blocks.contains(id)).last() {
                    first.insert(request.session, block);
                }
            }
        }
        Self { blocks, first }
    }

    /// Replacement of a sent block in a session.
    pub(super) fn instead_of(&self, block: WireNodeId, session: Symbol) -> WireNodeId {
        let first = self.first.get(&session).filter(|_| self.blocks.contains(&block));
        first.copied().unwrap_or(block)
    }
}

fn is_attribution(tree: &WireTree, id: WireNodeId) -> bool {
    let node = tree.node(id);
    node.part == Part::System && begins_with_attribution(node.text())
}

/// Blocks of a system prompt: the prefixes that end with them, and their sizes.
pub(super) type System = Vec<(NodeId, Tokens)>;

/// Sessions of the prefixes that end in system prompts.
#[derive(Default)]
pub(super) struct Sessions {
    /// Only session of each prefix, or `None` if there are several.
    by_node: FxHashMap<NodeId, Option<Symbol>>,
}

impl Sessions {
    /// Adds a request of a session.
    pub(super) fn add(&mut self, session: Symbol, system: &System) {
        for (node, _) in system {
            let only = self.by_node.entry(*node).or_insert(Some(session));
            *only = only.filter(|only| *only == session);
        }
    }

    fn are_several(&self, node: NodeId) -> bool {
        self.by_node.get(&node) == Some(&None)
    }

    /// Replaces all markers on the system prompt by a global one after the static part.
    pub(super) fn mark_static(
        &self,
        tree: &BlockTree<'_>,
        system: &System,
        markers: &mut Vec<Marker>,
    ) {
        let Some((end_of_static, end)) =
            system.iter().rfind(|(node, _)| self.are_several(*node)).copied()
        else {
            return;
        };
        let (Some((first, _)), Some((last, _))) = (system.first(), system.last()) else { return };
        // Ids rise along a path.
        let of_system =
            |marker: &Marker| !marker.is_automatic && (*first..=*last).contains(&marker.node);
        let Some(place) = markers.iter().position(of_system) else { return };
        if markers.iter().any(|marker| marker.is_global) {
            return;
        }
        let replaced = markers[place];
        markers.retain(|marker| !of_system(marker));
        let node = tree.nodes[end_of_static.index()];
        let global = Marker {
            node: end_of_static,
            end,
            basis: node.basis,
            is_global: true,
            is_markable: tree.is_markable(end_of_static),
            ..replaced
        };
        markers.insert(place, global);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_latch_replaces_later_values_and_nothing_else() {
        let on = r#"{"thinking":{"type":"enabled"},"tool_choice":null,"images":false}"#;
        let off = r#"{"thinking":{"type":"disabled"},"tool_choice":null,"images":true}"#;
        let settings = ByKey::from([(Setting::Thinking, r#"{"type":"enabled"}"#)]);
        let betas = "a,b".to_owned();
        let latches = Latches { settings, betas, beside: ((RequestIndex::new(0), 0), 0) };
        assert_eq!(latches.rewrite(on), None);
        let latched = on.replace("false", "true");
        assert_eq!(latches.rewrite(off), Some(latched));
    }
}
