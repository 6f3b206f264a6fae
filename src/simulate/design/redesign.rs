//! Trace of all requests as a design sends them, and the test for recorded breaks that the design
//! would have prevented.

use rustc_hash::{FxHashMap, FxHashSet};

use super::blocks::{BlockTree, Contents};
use super::deferral::{Expansion, ToolId};
use super::latch::{Sessions, System};
use super::layout::{Ends, Layout, Layouts, markers};
use super::{PromptDesign, Scopes};
use crate::base::{Basis, Millis, Tokens};
use crate::read::capture::WireNodeId;
use crate::requests::conversation::{History, RequestIndex};
use crate::requests::prompt::{Deletion, Edits, Marker, NodeId, Prompt, PromptTrace, Rare, Step};

/// Rewrites the trace `as_sent` of a history as if `design` had sent its captured requests.
///
/// The result has the same requests in the same order. Requests of transcripts stay as they were,
/// and so do all of them if the captures were read without their bytes. Searches for deferred tools
/// are returned separately.
///
/// Every block keeps its size as sent, and a replacement has its own size, so a request's total
/// changes only by replacements. The recorded split belongs to the prompt as sent and is not used.
/// Other traffic is assumed to keep the same amount warm under any design. Recorded breaks that a
/// counterfactual keeps are kept, unless the design would have prevented them: if differing bytes
/// explain them (or, with latched settings, beta features and other fields of the body).
pub fn redesign(
    history: &History,
    steps: &[Step],
    as_sent: &PromptTrace,
    design: PromptDesign,
) -> Redesigned {
    let Some(contents) = Contents::of(&history.captured.tree) else {
        let PromptTrace { nodes, markers, prompts, .. } = as_sent;
        let mut trace = PromptTrace::new(nodes.clone(), markers.clone(), prompts.clone());
        trace.set_landmarks(as_sent.landmarks().clone());
        return Redesigned { trace, searches: Vec::new() };
    };
    let tree = BlockTree::new(&history.captured, as_sent, &contents);
    let layouts = Layouts::new(history, steps, contents, design);
    let first = history.of_transcripts().len();
    let mut redesign = Redesign {
        history,
        as_sent,
        first,
        tree,
        layouts,
        betas: FxHashMap::default(),
        designed: Vec::new(),
        searches: Vec::new(),
    };
    let mut sessions = Sessions::default();
    for number in 0..history.captured.marked().len() {
        let designed = redesign.design(number);
        sessions.add(history.requests[first + number].session, &designed.system);
        redesign.designed.push(designed);
    }
    redesign.mark_scopes(design.scopes, &sessions);
    redesign.finish()
}

/// Requests under a design.
#[derive(Debug)]
pub struct Redesigned {
    /// Recorded requests.
    pub trace: PromptTrace,
    /// Requests in which the model searches for deferred tools.
    pub searches: Vec<ToolSearch>,
}

/// Request with the result of a tool search.
#[derive(Clone, Debug)]
pub struct ToolSearch {
    /// Index of the recorded request before the search.
    pub after: usize,
    /// Prompt of the recorded request, and the definitions.
    pub prompt: Prompt,
}

/// Search whose prompt does not exist yet.
struct Search {
    /// Number of the captured request before the search.
    after: usize,
    /// Time of sending.
    at: Millis,
    /// End of the search's prompt.
    node: NodeId,
    end: Tokens,
}

/// Captured request as the design sends it.
struct Designed {
    prompt: Prompt,
    markers: Vec<Marker>,
    system: System,
    expansions: Vec<Expansion>,
}

struct Redesign<'a> {
    history: &'a History,
    as_sent: &'a PromptTrace,
    /// Number of requests of transcripts; they come first.
    first: usize,
    tree: BlockTree<'a>,
    layouts: Layouts<'a>,
    /// Numbers of the sets of beta features so far.
    betas: FxHashMap<String, u32>,
    /// Captured requests so far.
    designed: Vec<Designed>,
    searches: Vec<Search>,
}

impl Redesign<'_> {
    fn design(&mut self, number: usize) -> Designed {
        let as_sent = &self.as_sent.prompts[self.first + number];
        let layout = self.layouts.layout(number);
        let path = self.tree.path(&layout.blocks);
        let ends = Ends::new(&self.tree, &layout);
        let sent_markers = self.as_sent.markers_of(as_sent);
        let markers = markers(&self.tree, &layout, &path, &ends, sent_markers);
        let system = layout.system.clone().map(|place| (path[place], ends.end(place))).collect();
        let total = ends.total(as_sent.total);
        let node = *path.last().unwrap_or(&as_sent.node);
        let basis = if total == as_sent.total {
            as_sent.basis
        } else {
            as_sent.basis.max(self.tree.nodes[node.index()].basis)
        };
        let prevents_break = as_sent.broken_read().is_some() && self.prevents_break(number, node);
        let broken_read = as_sent.broken_read().filter(|_| !prevents_break);
        let edits = self.edits(as_sent, &layout, &path);
        let rare = Rare { edits, broken_read, ..as_sent.to_rare() }.kept();
        let betas = self.betas(number, as_sent);
        let prompt = Prompt { betas, total, basis, node, rare, ..as_sent.clone() };
        self.note_searches(number, &layout, &path, &ends);
        Designed { prompt, markers, system, expansions: layout.expansions }
    }

    /// Records the searches between a captured request and its predecessor: for tools whose
    /// definitions the predecessor lacked.
    fn note_searches(&mut self, number: usize, layout: &Layout, path: &[NodeId], ends: &Ends) {
        let request = self.history.request(RequestIndex::new(self.first + number));
        let Some(before) = request.predecessor else { return };
        let after = before.get() - self.first;
        let known = self.designed[after].expansions.iter().flat_map(|expansion| &expansion.tools);
        let known: FxHashSet<ToolId> = known.copied().collect();
        for Expansion { place, tools } in &layout.expansions {
            if tools.iter().any(|tool| !known.contains(tool)) {
                // Just before the request that has the result of the search.
                let at = Millis::new(request.start.get().saturating_sub(1));
                let (node, end) = (path[*place], ends.end(*place));
                self.searches.push(Search { after, at, node, end });
            }
        }
    }

    /// Number of the set of beta features with which a captured request is sent.
    fn betas(&mut self, number: usize, as_sent: &Prompt) -> Option<u32> {
        let known = as_sent.betas?;
        let Some(latched) = self.layouts.latched_betas(number) else { return Some(known) };
        // Latched sets differ from those sent, so they are numbered again.
        if let Some(set) = self.betas.get(latched) {
            return Some(*set);
        }
        let set = u32::try_from(self.betas.len()).unwrap_or(u32::MAX);
        self.betas.insert(latched.to_owned(), set);
        Some(set)
    }

    /// Places of the deleted results in a prompt of the design.
    fn edits(&self, as_sent: &Prompt, layout: &Layout, path: &[NodeId]) -> Edits {
        let Some(edits) = as_sent.edits() else { return Edits::default() };
        let sent: FxHashMap<NodeId, WireNodeId> =
            layout.sent.iter().map(|id| (self.tree.as_sent(*id), *id)).collect();
        // If several blocks replace one, the first counts, so it is put in last.
        let designed = layout.blocks.iter().zip(path).rev();
        let designed: FxHashMap<WireNodeId, NodeId> =
            designed.map(|(block, node)| (block.source, *node)).collect();
        let moved = |node: NodeId| designed.get(sent.get(&node)?).copied();
        let deletion =
            |one: &Deletion| Some(Deletion { node: moved(one.node)?, tokens: one.tokens });
        Edits {
            deletions: edits.deletions.iter().filter_map(deletion).collect(),
            restored: edits.restored.and_then(moved),
        }
    }

    /// Returns true if the design prevents a break of a captured request, whose prompt under it
    /// ends at `node`.
    fn prevents_break(&self, number: usize, node: NodeId) -> bool {
        let index = RequestIndex::new(self.first + number);
        let Some(before) = self.history.request(index).predecessor else { return false };
        let sent_before = &self.as_sent.prompts[before.get()];
        let designed_before = &self.designed[before.get() - self.first];
        let last = |markers: &[Marker], prompt: &Prompt| {
            markers.last().map_or(prompt.node, |marker| marker.node)
        };
        let sent = Pair {
            marked: last(self.as_sent.markers_of(sent_before), sent_before),
            prompt: self.as_sent.prompts[index.get()].node,
        };
        let designed =
            Pair { marked: last(&designed_before.markers, &designed_before.prompt), prompt: node };
        let captured = &self.history.captured.requests;
        let (wire, wire_before) = (&captured[number], &captured[before.get() - self.first]);
        let is_beside =
            wire.betas != wire_before.betas || wire.other_fields != wire_before.other_fields;
        prevents_break(&self.tree, &sent, &designed)
            || (is_beside && self.layouts.has_same_beside(number, before.get() - self.first))
    }

    fn mark_scopes(&mut self, scopes: Scopes, sessions: &Sessions) {
        for designed in &mut self.designed {
            match scopes {
                Scopes::AsSent => {}
                Scopes::Off => {
                    designed.markers.iter_mut().for_each(|marker| marker.is_global = false);
                }
                Scopes::On => {
                    sessions.mark_static(&self.tree, &designed.system, &mut designed.markers);
                }
            }
        }
    }

    fn finish(self) -> Redesigned {
        let mut markers: Vec<Marker> = Vec::new();
        let mut prompts: Vec<Prompt> = Vec::with_capacity(self.as_sent.prompts.len());
        // No design changes transcripts, nor what is sent to services without markers.
        let (before, others) = self.as_sent.prompts.split_at(self.first);
        let behind = &others[self.designed.len()..];
        let as_sent = |prompt: &Prompt| (prompt.clone(), self.as_sent.markers_of(prompt).to_vec());
        let designed = self.designed.into_iter().map(|one| (one.prompt, one.markers));
        let all = before.iter().map(as_sent).chain(designed).chain(behind.iter().map(as_sent));
        for (prompt, own) in all {
            let first_marker = markers.len();
            markers.extend(own);
            prompts.push(Prompt { markers: first_marker..markers.len(), ..prompt });
        }
        let searches = self.searches.iter().map(|search| {
            let after = self.first + search.after;
            let sent = &prompts[after];
            let first_marker = markers.len();
            markers.extend_from_within(sent.markers.clone());
            if let Some(last) = markers[first_marker..].last_mut() {
                let basis = Basis::Estimated;
                *last = Marker { node: search.node, end: search.end, basis, ..*last };
            }
            // Millisecond times may put the search before its predecessor otherwise.
            let start = search.at.max(sent.start);
            let prompt = Prompt {
                start,
                readable_from: start,
                predecessor: Some(after),
                total: search.end,
                basis: Basis::Estimated,
                node: search.node,
                markers: first_marker..markers.len(),
                rare: sent.rare_of_next(),
                ..sent.clone()
            };
            ToolSearch { after, prompt }
        });
        let searches = searches.collect();
        let landmarks = self.tree.landmarks(self.as_sent.landmarks(), self.layouts.contents());
        let mut trace = PromptTrace::new(self.tree.nodes, markers, prompts);
        trace.set_landmarks(landmarks);
        Redesigned { trace, searches }
    }
}

/// Two requests, the later one continuing the earlier one.
pub(super) struct Pair {
    /// Last prefix that the earlier request marked.
    pub(super) marked: NodeId,
    /// Prompt of the later request.
    pub(super) prompt: NodeId,
}

/// Returns true if differing bytes as sent explain a break, and the design shares more of them.
///
/// If no bytes differed, the break is the service's, and no design prevents it. If the design
/// shares no more, the break happens again.
pub(super) fn prevents_break(tree: &BlockTree<'_>, sent: &Pair, designed: &Pair) -> bool {
    let shared = |pair: &Pair| tree.shared(pair.marked, pair.prompt);
    let as_sent = shared(sent);
    let blocks = |node: Option<NodeId>| node.map_or(0, |node| tree.nodes[node.index()].blocks);
    as_sent != Some(sent.marked) && blocks(shared(designed)) > blocks(as_sent)
}
