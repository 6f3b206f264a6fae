//! Layout of a request by a design: its blocks, its markers, and the sizes of the prefixes before these.

use std::ops::Range;

use rustc_hash::{FxHashMap, FxHashSet};

use super::blocks::{BlockTree, ContentId, Contents, PromptBlock};
use super::deferral::{DeferredTools, Expansion};
use super::latch::{Attributions, Latches, latches, settings_text};
use super::reminders::Reminders;
use super::stable_first::{StableFirst, StableParagraphs, StaticTexts};
use super::{Attribution, PromptDesign, Settings, SystemPrompt, Tools};
use crate::base::{Order as _, Symbol, Tokens};
use crate::read::capture::{BlockKind, Part, WireMarker, WireNodeId, WireTree};
use crate::read::harness::{ToolRank, tool_rank};
use crate::requests::conversation::{History, RequestIndex};
use crate::requests::prompt::{Marker, NodeId, Step};
use crate::simulate::cache::MOST_MARKERS;

/// Prompt as a design sends it.
pub(super) struct Layout {
    /// Blocks as sent.
    pub(super) sent: Vec<WireNodeId>,
    /// Blocks of the design.
    pub(super) blocks: Vec<PromptBlock>,
    /// Range of the system prompt among the blocks of the design.
    pub(super) system: Range<usize>,
    /// Places of the markers.
    pub(super) markers: Vec<MarkerPlace>,
    /// Places of deferred definitions in the conversation.
    pub(super) expansions: Vec<Expansion>,
}

/// Place of a marker among the blocks of a request.
#[derive(Clone, Copy)]
pub(super) struct MarkerPlace {
    /// Index of the sent marker that this one is, or resembles.
    pub(super) like: usize,
    /// Place of that marker among the blocks as sent.
    pub(super) sent: usize,
    /// Place among the blocks of the design.
    pub(super) designed: usize,
    /// True if the design adds the marker.
    pub(super) is_added: bool,
}

/// Layout engine of a design, with the required knowledge of other requests.
pub(super) struct Layouts<'a> {
    history: &'a History,
    steps: &'a [Step],
    contents: Contents<'a>,
    ranks: FxHashMap<WireNodeId, ToolRank<'a>>,
    attributions: Attributions,
    static_texts: StaticTexts<ContentId>,
    stable_paragraphs: Option<StableParagraphs>,
    reminders: Option<Reminders>,
    /// Latches of each captured request; empty if nothing is latched.
    latches: Vec<Latches<'a>>,
    /// Set if tools are deferred.
    deferred: Option<DeferredTools>,
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
            stable_paragraphs: None,
            reminders: None,
            latches: Vec::new(),
            deferred: design.deferral().map(|deferral| DeferredTools::of(tree, deferral)),
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
        match design.system {
            SystemPrompt::AsSent => {}
            SystemPrompt::StaticFirst => layouts.find_static_texts(),
            SystemPrompt::StableFirst => layouts.find_stable_paragraphs(),
        }
        if design.reminders == super::Reminders::Last {
            layouts.find_reminders();
        }
        layouts
    }

    /// Returns true if, once latched, the beta features and other fields of a captured request are
    /// equal to an earlier one's.
    ///
    /// Both requests are given by number.
    pub(super) fn has_same_beside(&self, number: usize, before: usize) -> bool {
        let pair = self.latches.get(number).zip(self.latches.get(before));
        pair.is_some_and(|(latches, before)| latches.has_same_beside(before))
    }

    /// Beta features with which a captured request is sent, or `None` if nothing is latched.
    pub(super) fn latched_betas(&self, number: usize) -> Option<&str> {
        self.latches.get(number).map(Latches::betas)
    }

    /// Layout of a captured request, by its number.
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
        let mut system = place_of(tree, &sent, Part::System);
        if !self.ranks.is_empty() {
            blocks[tools].order_by_key(|block| &self.ranks[&block.source]);
        }
        // Ids rise along a path.
        let place = |marker: &WireMarker| sent.partition_point(|id| *id < marker.node);
        let mut markers: Vec<MarkerPlace> =
            wire.markers.iter().map(place).enumerate().map(as_sent).collect();
        let opening = self.steps[index.get()].opening;
        if let Some(statics) = self.static_texts.of(opening) {
            let last = put_static_first(&mut blocks[system.clone()], statics);
            mark_end_of_static(
                &mut markers,
                &wire.markers,
                &system,
                last.map(|last| system.start + last),
            );
        }
        let stable = self.stable_paragraphs.as_ref().and_then(|paragraphs| {
            paragraphs.lay_out(opening, &blocks[system.clone()], &mut self.contents)
        });
        if let Some(stable) = stable {
            put_stable_first(&mut blocks, &mut system, &mut markers, &wire.markers, stable);
        }
        if let Some(reminders) = &self.reminders {
            let start = start_of_messages(tree, &blocks);
            let messages = reminders.lay_out(opening, tree, &blocks[start..], &mut self.contents);
            if let Some((messages, places)) = messages {
                blocks.truncate(start);
                blocks.extend(messages);
                for marker in markers.iter_mut().filter(|marker| marker.designed >= start) {
                    marker.designed = start + places[marker.designed - start] - 1;
                }
            }
        }
        // The automatic marker is always on the last block that can carry one.
        for marker in markers.iter_mut().filter(|marker| wire.markers[marker.like].is_automatic) {
            if !marker.is_added {
                marker.designed = last_markable(tree, &blocks).unwrap_or(marker.designed);
            }
        }
        leave_one_on_each(&mut markers, &wire.markers);
        // Last, as it changes the number of blocks and moves the markers and ranges of the finished layout.
        let mut layout = Layout { sent, blocks, system, markers, expansions: Vec::new() };
        if let Some(deferred) = &self.deferred {
            deferred.defer(tree, &mut self.contents, &mut layout);
        }
        layout
    }

    /// Contents of the blocks.
    pub(super) fn contents(&self) -> &Contents<'a> {
        &self.contents
    }

    fn index(&self, number: usize) -> RequestIndex {
        RequestIndex::new(self.history.of_transcripts().len() + number)
    }

    /// Replacement of a sent block: the session's first attribution line, and latched settings.
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
        PromptBlock { source, content, bytes: None, part: tree.node(source).part, size: None }
    }

    fn find_static_texts(&mut self) {
        for number in 0..self.history.captured.marked().len() {
            let (opening, system) = self.system(number);
            self.static_texts.add(opening, system.into_iter());
        }
    }

    fn find_stable_paragraphs(&mut self) {
        let numbers = 0..self.history.captured.marked().len();
        let systems: Vec<_> = numbers.map(|number| self.system(number)).collect();
        self.stable_paragraphs = Some(StableParagraphs::new(&systems, &self.contents));
    }

    fn find_reminders(&mut self) {
        let mut reminders = Reminders::default();
        let captured = &self.history.captured;
        for (number, wire) in captured.marked().iter().enumerate() {
            let index = self.index(number);
            let session = self.history.request(index).session;
            let mut blocks: Vec<PromptBlock> = Vec::new();
            // The path runs from the end, and the messages are its end: the first other block stops it.
            for id in captured.tree.path(wire.leaf) {
                if !is_of_messages(captured.tree.node(id).part) {
                    break;
                }
                blocks.push(self.block(id, number, session));
            }
            blocks.reverse();
            reminders.add(self.steps[index.get()].opening, &captured.tree, &blocks);
        }
        self.reminders = Some(reminders);
    }

    /// Conversation of a captured request, by its number, and the blocks of its system prompt.
    fn system(&self, number: usize) -> (RequestIndex, Vec<ContentId>) {
        let captured = &self.history.captured;
        let index = self.index(number);
        let session = self.history.request(index).session;
        let is_system = |id: &WireNodeId| captured.tree.node(*id).part == Part::System;
        let content = |id| self.contents.of_node(self.attributions.instead_of(id, session));
        let path = captured.tree.path(captured.requests[number].leaf);
        let mut system: Vec<ContentId> = path.filter(is_system).map(content).collect();
        system.reverse();
        (self.steps[index.get()].opening, system)
    }
}

fn as_sent((like, place): (usize, usize)) -> MarkerPlace {
    MarkerPlace { like, sent: place, designed: place, is_added: false }
}

fn tool_ranks(tree: &WireTree) -> FxHashMap<WireNodeId, ToolRank<'_>> {
    let tools = (0..).map(WireNodeId).zip(&tree.nodes).filter(|(_, node)| node.part == Part::Tool);
    tools.map(|(id, node)| (id, tool_rank(node.text()))).collect()
}

/// Range of a part's blocks in a prompt, which are contiguous.
fn place_of(tree: &WireTree, prompt: &[WireNodeId], part: Part) -> Range<usize> {
    let is_part = |id: &WireNodeId| tree.node(*id).part == part;
    let start = prompt.iter().position(is_part).unwrap_or(0);
    start..start + prompt[start..].iter().take_while(|id| is_part(id)).count()
}

fn is_of_messages(part: Part) -> bool {
    matches!(part, Part::MessageStart | Part::Block)
}

fn start_of_messages(tree: &WireTree, blocks: &[PromptBlock]) -> usize {
    let is_message = |block: &PromptBlock| is_of_messages(tree.node(block.source).part);
    blocks.iter().position(is_message).unwrap_or(blocks.len())
}

/// Moves the static blocks of a system prompt to its front by a stable sort, and returns the index
/// of the last of them.
fn put_static_first(system: &mut [PromptBlock], statics: &FxHashSet<ContentId>) -> Option<usize> {
    system.order_by_key(|block| !statics.contains(&block.content));
    system.partition_point(|block| statics.contains(&block.content)).checked_sub(1)
}

/// Replaces the system prompt by one with its stable paragraphs first.
fn put_stable_first(
    blocks: &mut Vec<PromptBlock>,
    system: &mut Range<usize>,
    markers: &mut Vec<MarkerPlace>,
    wire: &[WireMarker],
    stable: StableFirst,
) {
    let start = system.start;
    for marker in markers.iter_mut().filter(|marker| marker.designed >= start) {
        marker.designed = match stable.places.get(marker.designed - start) {
            Some(place) => start + place,
            None => marker.designed + stable.blocks.len() - system.len(),
        };
    }
    let end = start + stable.blocks.len();
    blocks.splice(system.clone(), stable.blocks);
    *system = start..end;
    let last = stable.last_stable.map(|last| start + last);
    if !mark_end_of_static(markers, wire, system, last) {
        add_marker(markers, last);
    }
    let shared = stable.last_shared.map(|last| start + last);
    // Entries are only at markers: without one here each conversation would write the shared part anew.
    add_marker(markers, shared.filter(|end| markers.iter().all(|marker| marker.designed != *end)));
}

/// Moves the first marker on the system prompt to the last static block, if that has none.
///
/// Returns true if the system prompt has markers.
fn mark_end_of_static(
    markers: &mut [MarkerPlace],
    wire: &[WireMarker],
    system: &Range<usize>,
    last: Option<usize>,
) -> bool {
    let of_system =
        |marker: &MarkerPlace| !wire[marker.like].is_automatic && system.contains(&marker.designed);
    let Some(first) = markers.iter().position(of_system) else { return false };
    let count = markers[first..].iter().take_while(|marker| of_system(marker)).count();
    let markers = &mut markers[first..first + count];
    let mut places: Vec<usize> = markers.iter().map(|marker| marker.designed).collect();
    if let Some(last) = last.filter(|last| !places.contains(last)) {
        places[0] = last;
    }
    // Markers keep the order of their TTLs: places are sorted, and given to the markers in turn.
    places.sort_unstable();
    for (marker, place) in markers.iter_mut().zip(places) {
        marker.designed = place;
    }
    true
}

/// Marks a block of the system prompt in the same way as the next marker does its own.
fn add_marker(markers: &mut Vec<MarkerPlace>, block: Option<usize>) {
    let Some(designed) = block.filter(|_| (1..MOST_MARKERS).contains(&markers.len())) else {
        return;
    };
    let next = markers.iter().position(|marker| marker.designed > designed);
    let place = next.unwrap_or(markers.len());
    let like = markers[place.min(markers.len() - 1)];
    markers.insert(place, MarkerPlace { designed, is_added: true, ..like });
}

/// Drops markers on blocks that have one already; the request's own automatic marker stays.
fn leave_one_on_each(markers: &mut Vec<MarkerPlace>, wire: &[WireMarker]) {
    let mut marked = FxHashSet::default();
    markers.retain(|marker| {
        wire[marker.like].is_automatic && !marker.is_added || marked.insert(marker.designed)
    });
}

/// Last block that can carry a marker.
fn last_markable(tree: &WireTree, blocks: &[PromptBlock]) -> Option<usize> {
    let is_markable = |block: &PromptBlock| {
        let node = tree.node(block.source);
        node.part.is_block() && node.kind != BlockKind::Thinking
    };
    blocks.iter().rposition(is_markable)
}

/// Sizes of a prompt's prefixes, as sent and as a design sends them (prefix sums).
pub(super) struct Ends {
    sent: Vec<Tokens>,
    designed: Vec<Tokens>,
}

impl Ends {
    pub(super) fn new(tree: &BlockTree<'_>, layout: &Layout) -> Self {
        let ends = |sizes: &mut dyn Iterator<Item = Tokens>| {
            let add = |end: &mut Tokens, size| {
                *end += size;
                Some(*end)
            };
            sizes.scan(Tokens::ZERO, add).collect()
        };
        Self {
            sent: ends(&mut layout.sent.iter().map(|id| tree.size(*id))),
            designed: ends(&mut layout.blocks.iter().map(|block| tree.size_of(block))),
        }
    }

    /// Size of a prefix of the design, from the known size of one as sent.
    ///
    /// The difference is that of the blocks before their ends.
    fn moved(&self, known: Tokens, sent: usize, designed: usize) -> Tokens {
        (known + self.designed[designed]).saturating_sub(self.sent[sent])
    }

    /// Size of the whole prompt, from its known size as sent.
    pub(super) fn total(&self, known: Tokens) -> Tokens {
        self.moved(known, self.sent.len() - 1, self.designed.len() - 1)
    }

    /// End of a block of the design, in tokens.
    pub(super) fn end(&self, designed: usize) -> Tokens {
        self.designed[designed]
    }

    /// Returns true if as many tokens come before a block of the design as before a block as sent.
    fn is_same(&self, sent: usize, designed: usize) -> bool {
        self.sent[sent] == self.designed[designed]
    }
}

/// Markers of a request on the path of its layout, in the order of the prefix.
pub(super) fn markers(
    tree: &BlockTree<'_>,
    layout: &Layout,
    path: &[NodeId],
    ends: &Ends,
    as_sent: &[Marker],
) -> Vec<Marker> {
    let marker = |place: &MarkerPlace| {
        let MarkerPlace { like, sent, designed, is_added } = *place;
        let marker = as_sent[like];
        let node = path[designed];
        let own = tree.nodes[node.index()].basis;
        let is_same = ends.is_same(sent, designed);
        Marker {
            node,
            end: ends.moved(marker.end, sent, designed),
            basis: if is_same { marker.basis } else { marker.basis.max(own) },
            is_global: marker.is_global && !is_added,
            is_automatic: marker.is_automatic && !is_added,
            is_markable: tree.is_markable(node),
            ..marker
        }
    };
    let mut markers: Vec<Marker> = layout.markers.iter().map(marker).collect();
    // Ids rise along a path.
    markers.order_by_key(|marker| (marker.node, marker.is_automatic));
    markers
}
