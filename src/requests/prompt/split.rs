//! Tree of prefixes split inside blocks: if two blocks after one prefix begin with the same bytes, the shared
//! part becomes a node of its own.
//!
//! Caches without markers match tokens, not blocks. The landmarks of two blocks show the length that they
//! share. Sorted by their landmarks, neighbours share most, and the shared lengths of all blocks after one
//! prefix form a small tree, like the inner nodes of a suffix tree over a suffix array.

use std::cmp::Ordering;
use std::sync::Arc;

use super::{Node, NodeId, PromptTrace};
use crate::base::Basis;
use crate::read::capture::{Landmark, shared};

/// Landmarks of the bytes of a tree's blocks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Landmarks {
    /// Landmarks by node. Nodes past the end have none.
    pub(crate) of_nodes: Vec<Option<Arc<[Landmark]>>>,
    /// Basis of the size of a part of a block.
    pub(crate) basis: Basis,
}

impl Landmarks {
    fn of(&self, node: NodeId) -> &[Landmark] {
        self.of_nodes.get(node.index()).and_then(Option::as_deref).unwrap_or_default()
    }
}

/// Trace whose tree is split inside blocks.
#[derive(Debug)]
pub(crate) struct SplitTrace {
    /// The same prompts over the split tree.
    pub(crate) trace: PromptTrace,
    /// For each node, the last node of the original tree that its prefix contains whole.
    whole: Vec<Option<NodeId>>,
}

impl SplitTrace {
    /// Splits a tree, or returns `None` if no two blocks share a part.
    pub(crate) fn new(trace: &PromptTrace, landmarks: &Landmarks) -> Option<Self> {
        let splits = Splits::find(trace, landmarks);
        (!splits.beginnings.is_empty()).then(|| splits.apply(trace, landmarks))
    }

    /// Last node of the original tree that a prefix contains whole.
    pub(crate) fn whole(&self, node: NodeId) -> Option<NodeId> {
        self.whole[node.index()]
    }
}

/// Predecessor of a node or of a common beginning.
#[derive(Clone, Copy)]
enum Before {
    Node(NodeId),
    Beginning(usize),
}

/// Common beginning of several blocks.
struct Beginning {
    before: Before,
    /// Number of landmarks that the blocks share.
    shared: usize,
    /// First block with this beginning.
    first: NodeId,
}

/// Places at which a tree is split.
struct Splits {
    beginnings: Vec<Beginning>,
    /// For each node, the common beginning that it continues.
    behind: Vec<Option<usize>>,
}

impl Splits {
    fn find(trace: &PromptTrace, landmarks: &Landmarks) -> Self {
        let nodes = (0..landmarks.of_nodes.len()).map(NodeId::at);
        let with_parent = |id: NodeId| Some((trace.node(id).parent?, id));
        let mut blocks: Vec<(NodeId, NodeId)> =
            nodes.filter(|id| !landmarks.of(*id).is_empty()).filter_map(with_parent).collect();
        // The order within a parent makes neighbours share most; ids break ties, so that the result is
        // stable.
        blocks.sort_unstable_by(|(parent, one), (other_parent, other)| {
            let of_blocks = || compare(landmarks.of(*one), landmarks.of(*other));
            parent.cmp(other_parent).then_with(of_blocks).then(one.cmp(other))
        });
        let mut splits =
            Self { beginnings: Vec::new(), behind: vec![None; landmarks.of_nodes.len()] };
        for siblings in blocks.chunk_by(|(parent, _), (other, _)| parent == other) {
            splits.split(siblings, landmarks);
        }
        splits
    }

    /// Finds the common beginnings of blocks after one prefix, which are sorted by their landmarks.
    fn split(&mut self, siblings: &[(NodeId, NodeId)], landmarks: &Landmarks) {
        // Stack of the beginnings that the current block shares with the next one, each longer than the one
        // below.
        let mut open: Vec<usize> = Vec::new();
        for (place, (parent, block)) in siblings.iter().enumerate() {
            let next = siblings.get(place + 1);
            let length =
                next.map_or(0, |(_, next)| shared(landmarks.of(*block), landmarks.of(*next)));
            if length > self.length(&open) {
                self.open(&mut open, *parent, length, *block);
            }
            self.behind[block.index()] = open.last().copied();
            self.note_first(&open, *block);
            // The next block shares less: the longer beginnings end here.
            let mut closed = None;
            while let Some(last) = open.pop_if(|last| self.beginnings[*last].shared > length) {
                self.note_first(&open, self.beginnings[last].first);
                closed = Some(last);
            }
            // It shares more than the rest of the stack, so a beginning of that length is inserted between.
            if let Some(closed) = closed.filter(|_| length > self.length(&open)) {
                let first = self.beginnings[closed].first;
                let between = self.open(&mut open, *parent, length, first);
                self.beginnings[closed].before = Before::Beginning(between);
            }
        }
    }

    /// Length of the longest open beginning.
    fn length(&self, open: &[usize]) -> usize {
        open.last().map_or(0, |last| self.beginnings[*last].shared)
    }

    fn open(
        &mut self,
        open: &mut Vec<usize>,
        parent: NodeId,
        shared: usize,
        first: NodeId,
    ) -> usize {
        let before = open.last().map_or(Before::Node(parent), |last| Before::Beginning(*last));
        let number = self.beginnings.len();
        self.beginnings.push(Beginning { before, shared, first });
        open.push(number);
        number
    }

    fn note_first(&mut self, open: &[usize], block: NodeId) {
        if let Some(last) = open.last() {
            let first = &mut self.beginnings[*last].first;
            *first = (*first).min(block);
        }
    }

    fn apply(&self, trace: &PromptTrace, landmarks: &Landmarks) -> SplitTrace {
        let mut tree = Tree {
            splits: self,
            trace,
            landmarks,
            nodes: Vec::with_capacity(trace.nodes.len() + self.beginnings.len()),
            whole: Vec::new(),
            moved: Vec::with_capacity(trace.nodes.len()),
            beginnings: vec![None; self.beginnings.len()],
        };
        for index in 0..trace.nodes.len() {
            tree.add(NodeId::at(index));
        }
        let moved = |id: NodeId| tree.moved[id.index()];
        let mut markers = trace.markers.clone();
        for marker in &mut markers {
            marker.node = moved(marker.node);
        }
        let mut prompts = trace.prompts.clone();
        for prompt in &mut prompts {
            prompt.node = moved(prompt.node);
            prompt.change_rare(|rare| {
                if let Some(background) = &mut rare.background {
                    background.node = moved(background.node);
                }
            });
        }
        let Tree { nodes, whole, .. } = tree;
        SplitTrace { trace: PromptTrace::new(nodes, markers, prompts), whole }
    }
}

/// Split tree under construction.
struct Tree<'a> {
    splits: &'a Splits,
    trace: &'a PromptTrace,
    landmarks: &'a Landmarks,
    nodes: Vec<Node>,
    whole: Vec<Option<NodeId>>,
    /// New ids of the original nodes.
    moved: Vec<NodeId>,
    /// Ids of the beginnings that were added.
    beginnings: Vec<Option<NodeId>>,
}

impl Tree<'_> {
    /// Adds a node of the original tree, after the beginning that it continues.
    fn add(&mut self, id: NodeId) {
        let node = *self.trace.node(id);
        let beginning = self.splits.behind.get(id.index()).copied().flatten();
        let parent = match beginning {
            Some(beginning) => Some(self.add_beginning(beginning)),
            None => node.parent.map(|parent| self.moved[parent.index()]),
        };
        self.moved.push(NodeId::at(self.nodes.len()));
        self.nodes.push(Node { parent, ..node });
        self.whole.push(Some(id));
    }

    /// Adds a beginning, after the missing ones before it.
    fn add_beginning(&mut self, last: usize) -> NodeId {
        let mut missing = Vec::new();
        let mut here = Before::Beginning(last);
        let mut parent = loop {
            match here {
                Before::Node(id) => break self.moved[id.index()],
                Before::Beginning(number) => {
                    if let Some(known) = self.beginnings[number] {
                        break known;
                    }
                    missing.push(number);
                    here = self.splits.beginnings[number].before;
                }
            }
        };
        for number in missing.into_iter().rev() {
            let node = self.beginning_behind(parent, &self.splits.beginnings[number]);
            self.whole.push(self.whole[parent.index()]);
            parent = NodeId::at(self.nodes.len());
            self.nodes.push(node);
            self.beginnings[number] = Some(parent);
        }
        parent
    }

    /// Node of a common beginning.
    ///
    /// Its size is its share of the landmarks of the first block that has it.
    fn beginning_behind(&self, parent: NodeId, beginning: &Beginning) -> Node {
        let block = self.trace.node(beginning.first);
        let before = block.parent.map(|parent| self.trace.node(parent).end).unwrap_or_default();
        let size = block.end.saturating_sub(before);
        let all = self.landmarks.of(beginning.first).len() as u64;
        Node {
            parent: Some(parent),
            end: before + size.share(beginning.shared as u64, all),
            basis: block.basis.max(self.landmarks.basis),
            is_markable: false,
            ..self.nodes[parent.index()]
        }
    }
}

/// Order of two lists of landmarks by the first one that differs.
fn compare(one: &[Landmark], other: &[Landmark]) -> Ordering {
    let same = shared(one, other);
    one.get(same).cmp(&other.get(same))
}
