//! Codex rollouts: what a session's lines say of its requests, and the trace they make.
//!
//! The ordinary reading takes rollouts for another program's files; only [`load()`] reads them.
//! Reading never fails a run: requests and diagnostics come back together, and no text is kept.
//!
//! Rollouts are read only when asked for; the ordinary reading takes them for another program's
//! files. A prompt goes on from its predecessor's, except where the record shows that something
//! was left out: after a compaction, and where a new turn drops the reasoning of the one before.
//!
//! Rollouts → the trace that cache rules are applied to.
//!
//! A prompt goes on from its predecessor's whole prompt; the answer is new to the cache when it is
//! sent back. Where the record shows that something was left out, it goes on from an earlier
//! prompt:
//!
//! - after a compaction, from the session's first one;
//! - where it is smaller than its predecessor and the answer together, the reasoning of the turn
//!   before was dropped: from the prompt whose answer had the first of it.
//!
//! A request's own cached tokens decide nothing about it, except the first one's of a session,
//! which show what was warm.

mod parse;

pub use parse::{Rollout, RolloutRequest, load};

use crate::base::id::{Moved, Symbol, Symbols};
use crate::base::units::{Basis, Tokens};
use crate::requests::prompt::{
    Level, Marker, Node, NodeId, Prompt, PromptTrace, Rare, SharedPrefix,
};

/// The trace of rollouts.
#[derive(Debug, Default)]
pub struct RolloutTrace {
    /// The requests of all rollouts against one cache, in the order in which they were sent.
    pub trace: PromptTrace,
    /// For each prompt the rollout and the request in it.
    pub requests: Vec<(usize, usize)>,
    /// For each prompt that of the request before in its session.
    pub predecessors: Vec<Option<usize>>,
    /// The names of the models.
    pub symbols: Symbols,
}

/// Builds the trace. Of what sessions share nothing is known but what a first request found warm;
/// `shared` says whether later ones find it, too.
#[must_use]
pub fn build(rollouts: &[Rollout], shared: SharedPrefix) -> RolloutTrace {
    let mut built = RolloutTrace::default();
    let mut prompts = Vec::new();
    for (number, rollout) in rollouts.iter().enumerate() {
        let models = built.symbols.absorb(rollout.symbols.clone());
        let mut chain = Chain { trace: &mut built.trace, shared, models, state: None };
        for (index, request) in rollout.requests.iter().enumerate() {
            prompts.push(((number, index), chain.prompt(request)));
        }
    }
    prompts.sort_by_key(|((rollout, index), prompt)| (prompt.start, *rollout, *index));
    let mut last = vec![None; rollouts.len()];
    for ((rollout, index), prompt) in prompts {
        built.predecessors.push(last[rollout].replace(built.requests.len()));
        built.requests.push((rollout, index));
        built.trace.prompts.push(prompt);
    }
    built
}

/// The requests of one session, one after another.
struct Chain<'a> {
    trace: &'a mut PromptTrace,
    shared: SharedPrefix,
    /// The symbols of models in the trace's table.
    models: Moved,
    state: Option<State>,
}

/// What is known of the requests before.
#[derive(Clone, Copy)]
struct State {
    first: NodeId,
    first_model: Symbol,
    warm: Tokens,
    last: NodeId,
    /// The last prompt with its answer.
    last_end: Tokens,
    /// The first prompt of the turn whose answer had reasoning.
    before_reasoning: Option<NodeId>,
}

impl Chain<'_> {
    fn prompt(&mut self, request: &RolloutRequest) -> Prompt {
        let model = self.models.symbol(request.model);
        let (parent, is_rewritten) = self.parent(request);
        let node = self.add_node(parent, request.input);
        let markers = self.trace.markers.len();
        if let Some(kept) = parent.filter(|_| is_rewritten) {
            // That all of it is kept is likely, not known.
            self.trace.markers.push(estimated_marker(kept, self.trace.node(kept).end));
        }
        let shared_prefix = self.shared_prefix(model);
        let opening = request.cached.filter(|_| self.state.is_none());
        self.learn(request, model, node, opening);
        Prompt {
            markers: markers..self.trace.markers.len(),
            shared_prefix: shared_prefix.min(request.input),
            shared_prefix_basis: Basis::Estimated,
            rare: Rare { opening, ..Rare::default() }.kept(),
            ..Prompt::new(model, request.start, node, request.input)
        }
    }

    /// The prompt that a request goes on from, and whether its predecessor was rewritten. A prompt
    /// that is shorter cannot hold it: then nothing is known to be kept.
    fn parent(&self, request: &RolloutRequest) -> (Option<NodeId>, bool) {
        let Some(state) = self.state else { return (None, false) };
        let is_rewritten = request.is_after_compaction || request.input < state.last_end;
        let kept = if request.is_after_compaction {
            state.first
        } else if is_rewritten {
            state.before_reasoning.unwrap_or(state.first)
        } else {
            state.last
        };
        let fits = self.trace.node(kept).end <= request.input;
        (fits.then_some(kept), is_rewritten)
    }

    fn add_node(&mut self, parent: Option<NodeId>, end: Tokens) -> NodeId {
        let blocks = parent.map_or(0, |parent| self.trace.node(parent).blocks) + 1;
        self.trace.nodes.push(Node {
            parent,
            end,
            basis: Basis::Derived,
            positions: blocks,
            blocks,
            level: Level::Messages,
            is_markable: true,
            session: None,
        });
        NodeId::at(self.trace.nodes.len() - 1)
    }

    fn shared_prefix(&self, model: Symbol) -> Tokens {
        let warm = self.state.filter(|state| state.first_model == model).map(|state| state.warm);
        warm.filter(|_| self.shared != SharedPrefix::Cold).unwrap_or_default()
    }

    fn learn(
        &mut self,
        request: &RolloutRequest,
        model: Symbol,
        node: NodeId,
        opening: Option<Tokens>,
    ) {
        let state = self.state.get_or_insert(State {
            first: node,
            first_model: model,
            warm: opening.unwrap_or_default(),
            last: node,
            last_end: Tokens::ZERO,
            before_reasoning: None,
        });
        state.last = node;
        state.last_end = request.input + request.output;
        if request.begins_turn || request.is_after_compaction {
            state.before_reasoning = None;
        }
        if request.reasoning > Tokens::ZERO {
            state.before_reasoning.get_or_insert(node);
        }
    }
}

fn estimated_marker(node: NodeId, end: Tokens) -> Marker {
    Marker {
        node,
        end,
        basis: Basis::Estimated,
        ttl: None,
        is_global: false,
        is_automatic: false,
        is_markable: true,
    }
}
