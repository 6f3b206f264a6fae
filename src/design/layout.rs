//! A request as sent → its blocks as a design sends them, and where its markers stand among them.

use std::ops::Range;

use rustc_hash::{FxHashMap, FxHashSet};

use super::attribution::Attributions;
use super::blocks::PromptBlock;
use super::contents::{ContentId, Contents};
use super::latch::{Latches, latches, settings_text};
use super::prompt_design::{Attribution, PromptDesign, Settings, SystemPrompt, Tools};
use super::static_text::StaticTexts;
use crate::capture::{BlockKind, Part, WireMarker, WireNodeId, WireTree};
use crate::conversation::{History, RequestIndex};
use crate::harness::{ToolRank, tool_rank};
use crate::id::Symbol;
use crate::prompt::Step;

/// A prompt as a design sends it.
pub(super) struct Layout {
    /// Its blocks as sent.
    pub(super) sent: Vec<WireNodeId>,
    /// Its blocks, as many.
    pub(super) blocks: Vec<PromptBlock>,
    /// Where the blocks of the system prompt stand among them.
    pub(super) system: Range<usize>,
    /// Where its markers stand among the blocks as sent and among those of the design, in the order of
    /// the request's markers.
    pub(super) markers: Vec<(usize, usize)>,
}

/// Lays prompts out by a design, with what has to be known of other requests for that.
pub(super) struct Layouts<'a> {
    history: &'a History,
    steps: &'a [Step],
    contents: Contents<'a>,
    ranks: FxHashMap<WireNodeId, ToolRank<'a>>,
    attributions: Attributions,
    static_texts: StaticTexts,
    /// Of each captured request; of none where nothing is latched.
    latches: Vec<Latches<'a>>,
}

impl<'a> Layouts<'a> {
    pub(super) fn new(
        history: &'a History,
        steps: &'a [Step],
        contents: Contents<'a>,
        design: PromptDesign,
    ) -> Self {
        let tree = &history.captured.tree;
        let mut layouts = Self {
            history,
            steps,
            contents,
            ranks: FxHashMap::default(),
            attributions: Attributions::default(),
            static_texts: StaticTexts::default(),
            latches: Vec::new(),
        };
        if design.tools == Tools::Sorted {
            layouts.ranks = tool_ranks(tree);
        }
        if design.attribution == Attribution::Stable {
            layouts.attributions = Attributions::of(history);
        }
        if design.settings == Settings::Latched {
            layouts.latches = latches(history, steps);
        }
        if design.system == SystemPrompt::StaticFirst {
            layouts.find_static_texts();
        }
        layouts
    }

    /// Whether beta features and other fields of a captured request, given by its number, are those of
    /// an earlier one once they are latched.
    pub(super) fn has_same_beside(&self, number: usize, before: usize) -> bool {
        let pair = self.latches.get(number).zip(self.latches.get(before));
        pair.is_some_and(|(latches, before)| latches.has_same_beside(before))
    }

    /// The beta features with which a captured request, given by its number, is sent; `None` where nothing
    /// is latched.
    pub(super) fn latched_betas(&self, number: usize) -> Option<&str> {
        self.latches.get(number).map(Latches::betas)
    }

    /// The layout of a captured request, given by its number.
    pub(super) fn layout(&mut self, number: usize) -> Layout {
        let captured = &self.history.captured;
        let (tree, wire) = (&captured.tree, &captured.requests[number]);
        let index = self.index(number);
        let session = self.history.request(index).session;
        let mut sent: Vec<WireNodeId> = tree.path(wire.leaf).collect();
        sent.reverse();
        let mut blocks: Vec<PromptBlock> = Vec::with_capacity(sent.len());
        for id in &sent {
            blocks.push(self.block(*id, number, session));
        }
        let tools = place_of(tree, &sent, Part::Tool);
        let system = place_of(tree, &sent, Part::System);
        if !self.ranks.is_empty() {
            blocks[tools].sort_by_key(|block| &self.ranks[&block.source]);
        }
        // Ids rise on a path.
        let place = |marker: &WireMarker| sent.partition_point(|id| *id < marker.node);
        let mut places: Vec<usize> = wire.markers.iter().map(place).collect();
        let sent_places = places.clone();
        if let Some(statics) = self.static_texts.of(self.steps[index.0].opening) {
            put_static_first(&mut blocks, &system, statics, &wire.markers, &mut places);
        }
        for (marker, place) in wire.markers.iter().zip(&mut places) {
            if marker.is_automatic {
                *place = last_markable(tree, &blocks).unwrap_or(*place);
            }
        }
        let markers = sent_places.into_iter().zip(places).collect();
        Layout { sent, blocks, system, markers }
    }

    fn index(&self, number: usize) -> RequestIndex {
        RequestIndex(self.history.of_transcripts().len() + number)
    }

    /// What stands in the place of a block as sent.
    fn block(&mut self, id: WireNodeId, number: usize, session: Symbol) -> PromptBlock {
        let source = self.attributions.instead_of(id, session);
        let content = self.contents.of_node(source);
        let tree = &self.history.captured.tree;
        let latched = self.latches.get(number).and_then(|latches| {
            let settings = settings_text(tree, id)?;
            latches.rewrite(settings)
        });
        let content = latched
            .map_or(content, |settings| self.contents.of_settings(tree.node(id).part, settings));
        PromptBlock { source, content }
    }

    fn find_static_texts(&mut self) {
        let captured = &self.history.captured;
        for (number, wire) in captured.requests.iter().enumerate() {
            let index = self.index(number);
            let session = self.history.request(index).session;
            let is_system = |id: &WireNodeId| captured.tree.node(*id).part == Part::System;
            let content = |id| self.contents.of_node(self.attributions.instead_of(id, session));
            let system: Vec<ContentId> =
                captured.tree.path(wire.leaf).filter(is_system).map(content).collect();
            self.static_texts.add(self.steps[index.0].opening, &system);
        }
    }
}

fn tool_ranks(tree: &WireTree) -> FxHashMap<WireNodeId, ToolRank<'_>> {
    let tools = (0..).map(WireNodeId).zip(&tree.nodes).filter(|(_, node)| node.part == Part::Tool);
    tools.map(|(id, node)| (id, tool_rank(node.text()))).collect()
}

/// Where the blocks of a part, which stand together, are in a prompt.
fn place_of(tree: &WireTree, prompt: &[WireNodeId], part: Part) -> Range<usize> {
    let is_part = |id: &WireNodeId| tree.node(*id).part == part;
    let start = prompt.iter().position(is_part).unwrap_or(0);
    start..start + prompt[start..].iter().take_while(|id| is_part(id)).count()
}

/// Moves the static blocks of the system prompt to its front, and where none of its markers is on the
/// last of them, the first marker there.
fn put_static_first(
    blocks: &mut [PromptBlock],
    system: &Range<usize>,
    statics: &FxHashSet<ContentId>,
    markers: &[WireMarker],
    places: &mut [usize],
) {
    let blocks = &mut blocks[system.clone()];
    blocks.sort_by_key(|block| !statics.contains(&block.content));
    let count = blocks.partition_point(|block| statics.contains(&block.content));
    let Some(last) = (system.start + count).checked_sub(1).filter(|last| *last >= system.start)
    else {
        return;
    };
    let of_system =
        |(marker, place): (&WireMarker, &usize)| !marker.is_automatic && system.contains(place);
    let Some(first) = markers.iter().zip(&*places).position(of_system) else { return };
    let rest = markers.iter().zip(&*places).skip(first);
    let end = first + rest.take_while(|pair| of_system(*pair)).count();
    let places = &mut places[first..end];
    if !places.contains(&last) {
        places[0] = last;
        places.sort_unstable();
    }
}

/// The last block that can carry a marker.
fn last_markable(tree: &WireTree, blocks: &[PromptBlock]) -> Option<usize> {
    let is_markable = |block: &PromptBlock| {
        let node = tree.node(block.source);
        node.part.is_block() && node.kind != BlockKind::Thinking
    };
    blocks.iter().rposition(is_markable)
}
