//! Differences between the prompt of a captured request and the baseline's, which is known only by
//! fingerprints.

use std::ops::Range;

use serde::Serialize;

use crate::base::{ByKey, Order as _, Ordered as _, words};
use crate::explain::snapshot::{BlockId, Blocks, SnapshotBlock};
use crate::read::capture::{Part, WireNodeId, WireTree};

words! {
    /// Kind of a change of a part of a prompt.
    pub enum PromptChangeKind {
        /// The part is new.
        Added = "added";
        /// The part is gone.
        Removed = "removed";
        /// The part moved among its kind.
        Moved = "moved";
        /// Its bytes differ.
        Changed = "changed";
    }
}

/// Part of a prompt that differs from the baseline's.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PromptChange {
    /// Place of the part, such as `tools[1]`, `system[0]`, `messages[2].content[0]`. A removed part has
    /// its former place.
    pub place: String,
    /// Kind of the change.
    pub kind: PromptChangeKind,
    /// Name of the tool, if the part is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Fields of a changed tool that differ.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<String>,
    /// Canonical bytes of the block with the first difference: from the first on, before the second.
    #[serde(rename = "first_difference", skip_serializing_if = "Option::is_none")]
    pub bytes: Option<(u64, u64)>,
    /// Bytes of the part in the baseline.
    pub bytes_before: Option<u64>,
    /// Bytes of the part in the run.
    #[serde(rename = "bytes")]
    pub bytes_now: Option<u64>,
}

/// Blocks of a prompt, by part.
struct PromptParts<'a> {
    blocks: &'a Blocks,
    /// Last block before the messages.
    front: Option<BlockId>,
    settings: Vec<(&'static str, BlockId)>,
    tools: Vec<BlockId>,
    system: Vec<BlockId>,
    messages: Vec<BlockId>,
}

impl<'a> PromptParts<'a> {
    fn new(blocks: &'a Blocks, last: BlockId) -> Self {
        let mut prompt = Self {
            blocks,
            front: None,
            settings: Vec::new(),
            tools: Vec::new(),
            system: Vec::new(),
            messages: Vec::new(),
        };
        for id in blocks.path(last) {
            let part = blocks.block(id).part;
            if !matches!(part, Part::MessageStart | Part::Block) {
                prompt.front = Some(id);
            }
            match part {
                Part::Model => prompt.settings.push(("model", id)),
                Part::SystemSettings => {
                    prompt.settings.push(("the settings in front of the system prompt", id));
                }
                Part::MessageSettings => {
                    prompt.settings.push(("the settings in front of the messages", id));
                }
                Part::Tool => prompt.tools.push(id),
                Part::System => prompt.system.push(id),
                Part::MessageStart | Part::Block => prompt.messages.push(id),
            }
        }
        prompt
    }

    fn block(&self, id: BlockId) -> &'a SnapshotBlock {
        self.blocks.block(id)
    }

    fn message_place(&self, at: usize) -> String {
        let starts = |id: &&BlockId| self.block(**id).part == Part::MessageStart;
        let message = self.messages[..=at].iter().filter(starts).count().saturating_sub(1);
        let first = self.messages[..=at].iter().rposition(|id| starts(&id)).unwrap_or(0);
        format!("messages[{message}].content[{}]", at - first)
    }
}

/// Comparison of both sides' prompts, memoised by their fronts, since consecutive requests share nearly
/// everything.
pub(super) struct PromptComparison<'a> {
    before: &'a Blocks,
    now: &'a Blocks,
    /// Bytes of the run's blocks.
    tree: &'a WireTree,
    fronts: ByKey<(Option<BlockId>, Option<BlockId>), Vec<PromptChange>>,
}

impl<'a> PromptComparison<'a> {
    pub(super) fn new(before: &'a Blocks, now: &'a Blocks, tree: &'a WireTree) -> Self {
        Self { before, now, tree, fronts: ByKey::new() }
    }

    /// Differences between two prompts, in the order of the prefix.
    pub(super) fn changes(&mut self, before: BlockId, now: BlockId) -> Vec<PromptChange> {
        if self.before.prefix(before) == self.now.prefix(now) {
            return Vec::new();
        }
        let (old, new) = (PromptParts::new(self.before, before), PromptParts::new(self.now, now));
        let fronts = (old.front, new.front);
        if !self.fronts.contains_key(&fronts) {
            self.fronts.insert(fronts, self.front(&old, &new));
        }
        let mut changes = self.fronts[&fronts].clone();
        changes.extend(self.messages(&old, &new));
        changes
    }

    fn front(&self, old: &PromptParts<'_>, new: &PromptParts<'_>) -> Vec<PromptChange> {
        let mut changes = self.tools(old, new);
        changes.extend(self.system(old, new));
        for (place, id) in &new.settings {
            let earlier = old.settings.iter().find(|(other, _)| other == place);
            let Some((_, earlier)) = earlier else { continue };
            changes.extend(self.changed((*place).to_owned(), old.block(*earlier), *id));
        }
        changes
    }

    fn tools(&self, old: &PromptParts<'_>, new: &PromptParts<'_>) -> Vec<PromptChange> {
        let (before, after) = (by_name(old), by_name(new));
        let place = |at: usize| format!("tools[{at}]");
        let mut changes = Vec::new();
        for (key, at) in &before {
            if !after.contains_key(key) {
                let block = old.block(old.tools[*at]);
                changes.push(one_sided(place(*at), PromptChangeKind::Removed, block));
            }
        }
        for (key, at) in &after {
            let id = new.tools[*at];
            match before.get(key) {
                None => {
                    let block = new.block(id);
                    changes.push(one_sided(place(*at), PromptChangeKind::Added, block));
                }
                Some(earlier) => {
                    changes.extend(self.changed(place(*at), old.block(old.tools[*earlier]), id));
                }
            }
        }
        changes.extend(moved(&before, &after, new));
        // In the order of the prefix. A removed tool has its former position.
        let position = |change: &PromptChange| {
            let digits = change.place.trim_start_matches("tools[").trim_end_matches(']');
            digits.parse::<usize>().unwrap_or_default()
        };
        changes.order_by_key(|change| (position(change), change.kind));
        changes
    }

    /// Compares the system prompts block by block, between their common beginning and end.
    fn system(&self, old: &PromptParts<'_>, new: &PromptParts<'_>) -> Vec<PromptChange> {
        let known = |prompt: &PromptParts<'_>| -> Vec<_> {
            prompt.system.iter().map(|id| prompt.block(*id).fingerprint).collect()
        };
        let (before, after) = (known(old), known(new));
        let same = before.iter().zip(&after).take_while(|(one, other)| one == other).count();
        let ends = before[same..].iter().rev().zip(after[same..].iter().rev());
        let same_end = ends.take_while(|(one, other)| one == other).count();
        let old_range = same..before.len() - same_end;
        let new_range = same..after.len() - same_end;
        let place = |at: usize| format!("system[{at}]");
        let mut changes = Vec::new();
        for at in same..old_range.end.max(new_range.end) {
            changes.extend(match (old_range.contains(&at), new_range.contains(&at)) {
                (true, true) => self.changed(place(at), old.block(old.system[at]), new.system[at]),
                (true, false) => {
                    let block = old.block(old.system[at]);
                    Some(one_sided(place(at), PromptChangeKind::Removed, block))
                }
                (false, true) => {
                    let block = new.block(new.system[at]);
                    Some(one_sided(place(at), PromptChangeKind::Added, block))
                }
                (false, false) => None,
            });
        }
        changes
    }

    /// First block of the messages that differs. Later differences follow from it.
    fn messages(&self, old: &PromptParts<'_>, new: &PromptParts<'_>) -> Option<PromptChange> {
        let pairs = old.messages.iter().zip(&new.messages);
        let is_same = |(one, other): &(&BlockId, &BlockId)| {
            old.block(**one).fingerprint == new.block(**other).fingerprint
        };
        let same = pairs.take_while(is_same).count();
        match (old.messages.get(same), new.messages.get(same)) {
            (None, None) => None,
            (Some(before), Some(after)) => {
                self.changed(new.message_place(same), old.block(*before), *after)
            }
            (Some(before), None) => {
                let block = old.block(*before);
                Some(one_sided(old.message_place(same), PromptChangeKind::Removed, block))
            }
            (None, Some(after)) => {
                let block = new.block(*after);
                Some(one_sided(new.message_place(same), PromptChangeKind::Added, block))
            }
        }
    }

    /// Difference between two versions of a block, if any.
    fn changed(&self, place: String, before: &SnapshotBlock, now: BlockId) -> Option<PromptChange> {
        let after = self.now.block(now);
        if before.fingerprint == after.fingerprint {
            return None;
        }
        let bytes = self.bytes(now);
        let range: Option<Range<u64>> =
            before.pieces.first_difference(before.fingerprint.bytes, bytes);
        let names: Vec<&String> = before.fields.keys().chain(after.fields.keys()).ordered();
        let differs = |name: &&&String| before.fields.get(**name) != after.fields.get(**name);
        Some(PromptChange {
            place,
            kind: PromptChangeKind::Changed,
            tool: after.name.clone(),
            fields: names.iter().filter(differs).map(|name| (*name).clone()).collect(),
            bytes: range.map(|range| (range.start, range.end)),
            bytes_before: Some(before.fingerprint.bytes),
            bytes_now: Some(after.fingerprint.bytes),
        })
    }

    fn bytes(&self, id: BlockId) -> &[u8] {
        let node = u32::try_from(id.0).ok().map(WireNodeId);
        let node = node.map(|node| self.tree.node(node));
        node.and_then(|node| node.bytes.as_deref()).unwrap_or_default()
    }
}

/// Block that only one side has.
fn one_sided(place: String, kind: PromptChangeKind, block: &SnapshotBlock) -> PromptChange {
    let bytes = Some(block.fingerprint.bytes);
    let is_new = kind == PromptChangeKind::Added;
    PromptChange {
        place,
        kind,
        tool: block.name.clone(),
        fields: Vec::new(),
        bytes: None,
        bytes_before: bytes.filter(|_| !is_new),
        bytes_now: bytes.filter(|_| is_new),
    }
}

/// Positions of tools by name, and for repeated names by the number of earlier ones.
fn by_name<'a>(prompt: &PromptParts<'a>) -> ByKey<(Option<&'a str>, usize), usize> {
    let mut places = ByKey::new();
    let mut seen: ByKey<Option<&str>, usize> = ByKey::new();
    for (at, id) in prompt.tools.iter().enumerate() {
        let name = prompt.block(*id).name.as_deref();
        let count = seen.entry(name).or_default();
        places.insert((name, *count), at);
        *count += 1;
    }
    places
}

/// First tool, among the tools on both sides, at the former position of another one.
fn moved(
    before: &ByKey<(Option<&str>, usize), usize>,
    after: &ByKey<(Option<&str>, usize), usize>,
    new: &PromptParts<'_>,
) -> Option<PromptChange> {
    // New and removed tools shift the positions of the others, so only the order of common ones counts.
    let mut kept: Vec<(usize, usize)> =
        before.iter().filter_map(|(key, old)| Some((*old, *after.get(key)?))).collect();
    kept.sort_unstable();
    let mut in_order: Vec<usize> = kept.iter().map(|(_, new)| *new).collect();
    in_order.sort_unstable();
    let at = kept.iter().zip(in_order).find(|((_, now), expected)| now != expected)?.1;
    let block = new.block(new.tools[at]);
    let bytes = Some(block.fingerprint.bytes);
    Some(PromptChange {
        place: format!("tools[{at}]"),
        kind: PromptChangeKind::Moved,
        tool: block.name.clone(),
        fields: Vec::new(),
        bytes: None,
        bytes_before: bytes,
        bytes_now: bytes,
    })
}
