//! Rewriting of a trace's prompts.
//!
//! Nodes keep their ids. A prompt whose bytes change leaves the old path, as its node gets another
//! parent, and later prompts follow.

use super::Conversation;
use crate::base::{Basis, Millis, Tokens};
use crate::requests::prompt::{Marker, Node, NodeId, Prompt, PromptTrace};

/// Difference between a prompt's path through the tree and the recorded one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Path {
    /// The prompt continues its predecessor as recorded.
    Recorded,
    /// The prompt continues its predecessor although it was cut in the record.
    Joined,
    /// The prompt leaves the path of its predecessor.
    Parted,
}

/// Receiver of the managed prompts: the trace, or their sizes only.
pub(super) trait Sink {
    /// Additional request.
    type Prompt;

    /// Lets a prompt leave the path of its predecessor, before the contents that came in with an
    /// earlier request.
    fn part(&mut self, request: usize, in_front_of: usize);

    /// Lets a prompt share only the system prompt with its predecessor.
    fn restart(&mut self, request: usize);

    /// Lets a prompt continue its predecessor.
    fn go_on(&mut self, request: usize, before: usize);

    /// Adds the prompt of the next request, which continues `before`.
    fn push(&mut self, conversation: &Conversation, before: Option<&Conversation>, path: Path);

    /// Adds a request that continues a recorded one.
    ///
    /// It reads the cached prefix of that request, unless the oldest messages are missing, and
    /// writes the rest.
    fn send(&mut self, sent: &Sent) -> Self::Prompt;
}

/// Sizes of the prompts only.
pub(super) struct Sizes<'a> {
    recorded: &'a PromptTrace,
    totals: Vec<Tokens>,
    /// True if every prompt so far is the recorded one, and none was added.
    pub(super) is_as_recorded: bool,
}

impl<'a> Sizes<'a> {
    pub(super) fn new(recorded: &'a PromptTrace) -> Self {
        let totals = Vec::with_capacity(recorded.prompts.len());
        Self { recorded, totals, is_as_recorded: true }
    }

    /// Sizes of the managed prompts, followed by those of the rest.
    pub(super) fn finish(mut self) -> Vec<Tokens> {
        let rest = &self.recorded.prompts[self.totals.len()..];
        self.totals.extend(rest.iter().map(|prompt| prompt.total));
        self.totals
    }
}

impl Sink for Sizes<'_> {
    type Prompt = Tokens;

    fn part(&mut self, _: usize, _: usize) {
        self.is_as_recorded = false;
    }

    fn restart(&mut self, _: usize) {
        self.is_as_recorded = false;
    }

    fn go_on(&mut self, _: usize, _: usize) {
        self.is_as_recorded = false;
    }

    fn push(&mut self, conversation: &Conversation, _: Option<&Conversation>, path: Path) {
        let is_recorded = conversation.is_recorded() && path == Path::Recorded;
        self.is_as_recorded &= is_recorded && conversation.deleted == Tokens::ZERO;
        let recorded = self.recorded.prompts[self.totals.len()].total;
        self.totals.push(if is_recorded { recorded } else { conversation.total });
    }

    fn send(&mut self, sent: &Sent) -> Tokens {
        self.is_as_recorded = false;
        sent.total
    }
}

/// Trace while its prompts are rewritten.
pub(super) struct Rewrite<'a> {
    recorded: &'a PromptTrace,
    nodes: Vec<Node>,
    markers: Vec<Marker>,
    prompts: Vec<Prompt>,
}

impl<'a> Rewrite<'a> {
    pub(super) fn new(recorded: &'a PromptTrace) -> Self {
        let nodes = recorded.nodes.clone();
        let markers = recorded.markers.clone();
        let prompts = Vec::with_capacity(recorded.prompts.len());
        Self { recorded, nodes, markers, prompts }
    }

    /// Rewritten prompts, followed by the rest as recorded.
    pub(super) fn finish(mut self) -> PromptTrace {
        self.prompts.extend_from_slice(&self.recorded.prompts[self.prompts.len()..]);
        PromptTrace::new(self.nodes, self.markers, self.prompts)
    }

    fn node_of(&self, request: usize) -> NodeId {
        self.recorded.prompts[request].node
    }

    fn set_parent(&mut self, request: usize, parent: Option<NodeId>) {
        let node = self.node_of(request);
        self.nodes[node.index()].parent = parent;
    }

    /// Updates a node for its parent and its size; the record deleted `deleted` of it.
    fn move_node(&mut self, id: NodeId, conversation: &Conversation, deleted: Tokens) {
        let parent = self.nodes[id.index()].parent;
        let recorded = self.recorded.node(id);
        // After another parent the node has at least one position.
        let own = match recorded.parent {
            Some(before) if parent == Some(before) => {
                recorded.positions - self.recorded.node(before).positions
            }
            _ => 1,
        };
        let parent = parent.map(|parent| self.nodes[parent.index()]);
        let node = &mut self.nodes[id.index()];
        if let Some(parent) = parent {
            node.positions = parent.positions + own;
            node.blocks = parent.blocks + own;
        }
        if conversation.sent() != conversation.recorded {
            node.end = conversation.moved_as_sent(node.end.saturating_sub(deleted)) + deleted;
            node.basis = Basis::Estimated;
        }
    }

    /// Gives a prompt its new sizes.
    ///
    /// The read of a break is kept, unless it came from a compaction that is undone. The simulator
    /// limits it to the readable part.
    fn resize(&mut self, prompt: &mut Prompt, conversation: &Conversation, path: Path) {
        let total = conversation.total;
        prompt.total = total;
        prompt.basis = Basis::Estimated;
        prompt.system_prefix = prompt.system_prefix.min(total);
        prompt.shared_prefix = prompt.shared_prefix.min(total);
        let opening = prompt.opening().map(|read| opened(read, prompt, conversation, path));
        prompt.change_rare(|rare| {
            rare.opening = opening;
            if path == Path::Joined {
                rare.broken_read = None;
            }
            if path == Path::Parted {
                rare.repair = None;
            }
        });
        prompt.deleted += conversation.deleted;
        if let [system @ .., last] = &mut self.markers[prompt.markers.clone()] {
            last.end = conversation.moved(last.end);
            last.basis = Basis::Estimated;
            // Markers of the system prompt cannot be behind the last one in a prompt that has shrunk.
            for marker in system {
                marker.end = marker.end.min(last.end);
            }
        }
    }
}

impl Sink for Rewrite<'_> {
    type Prompt = Prompt;

    fn part(&mut self, request: usize, in_front_of: usize) {
        let parent = self.nodes[self.node_of(in_front_of).index()].parent;
        self.set_parent(request, parent);
    }

    fn restart(&mut self, request: usize) {
        let system = self.recorded.markers_of(&self.recorded.prompts[request]).first();
        self.set_parent(request, system.map(|system| system.node));
    }

    fn go_on(&mut self, request: usize, before: usize) {
        self.set_parent(request, Some(self.node_of(before)));
    }

    fn push(&mut self, conversation: &Conversation, before: Option<&Conversation>, path: Path) {
        let mut prompt = self.recorded.prompts[self.prompts.len()].clone();
        let deleted = prompt.deleted;
        if let Some(background) = prompt.background() {
            self.move_node(background.node, before.unwrap_or(conversation), deleted);
        }
        self.move_node(prompt.node, conversation, deleted);
        if !conversation.is_recorded() || path != Path::Recorded {
            self.resize(&mut prompt, conversation, path);
        }
        self.prompts.push(prompt);
    }

    fn send(&mut self, sent: &Sent) -> Prompt {
        let Sent { before, at, total, keeps_messages } = *sent;
        let previous = self.prompts[before].clone();
        let start = at.max(previous.start);
        let node = NodeId::at(self.nodes.len());
        let mut markers = self.markers[previous.markers.clone()].to_vec();
        // A single marker may be at the end of messages; of two or more the first is after the system prompt.
        let system = markers.first().filter(|_| markers.len() > 1).map(|system| system.node);
        if let Some(last) = markers.last_mut() {
            let tail = previous.total.saturating_sub(last.end);
            let end = total.saturating_sub(tail);
            *last = Marker { node, end, basis: Basis::Estimated, ..*last };
            let parent = if keeps_messages { Some(previous.node) } else { system };
            let (positions, blocks) = parent.map_or((0, 0), |parent| {
                let parent = &self.nodes[parent.index()];
                (parent.positions, parent.blocks)
            });
            self.nodes.push(Node {
                parent,
                end: end + previous.deleted,
                basis: Basis::Estimated,
                positions: positions + 1,
                blocks: blocks + 1,
                ..self.nodes[previous.node.index()]
            });
        }
        let first = self.markers.len();
        self.markers.append(&mut markers);
        Prompt {
            start,
            readable_from: start,
            predecessor: Some(before),
            total,
            basis: Basis::Estimated,
            node,
            markers: first..self.markers.len(),
            rare: previous.rare_of_next(),
            ..previous
        }
    }
}

/// Request besides the recorded ones.
pub(super) struct Sent {
    /// Recorded request that is continued.
    pub(super) before: usize,
    /// Time of sending.
    pub(super) at: Millis,
    /// Size of the prompt.
    pub(super) total: Tokens,
    /// True if the request keeps the messages of the continued one.
    pub(super) keeps_messages: bool,
}

/// Warm tokens at the start of a chain or at a change of model.
///
/// Tools and system prompt stay warm. Messages were warm up to the recorded read, less the removed tokens.
fn opened(read: Tokens, prompt: &Prompt, conversation: &Conversation, path: Path) -> Tokens {
    let of_system = read.min(prompt.system_prefix);
    match path {
        Path::Recorded => conversation.moved(read).min(read).max(of_system),
        Path::Joined => read.min(prompt.total),
        Path::Parted => of_system,
    }
}
