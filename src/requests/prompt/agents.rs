//! Prompts of other agents' sessions, for caches without markers.
//!
//! A prompt continues its predecessor's whole prompt. The answer is new to the cache when it is sent back,
//! except with some models whose caches keep it as well. If the record shows that something was left out, the
//! prompt continues an earlier one:
//!
//! - after a compaction, the first prompt of the session;
//! - if it is smaller than its predecessor (in Codex: than its predecessor and the answer together), or the
//!   first of a turn of a model for which Codex does so, the reasoning of the turn before was dropped, so it
//!   continues the prompt whose answer held the first of that reasoning.
//!
//! A request's own cached tokens decide nothing about it, except for the first request of a session, whose
//! read shows the prefix that was warm. Nothing else is known about prefixes that sessions share.

use super::{
    Kept, Marker, Node, NodeId, Prompt, PromptTrace, Rare, SharedPrefix, Step, StepKind, first_step,
};
use crate::base::{Basis, Client, Symbol, Tokens};
use crate::read::agent::AgentRequest;
use crate::requests::conversation::{History, RequestIndex};

/// Adds the nodes and markers of other agents' requests to the trace, and returns their prompts.
///
/// `shared` decides whether later requests of a session find the prefix that its first one found warm.
pub(super) fn agent_prompts(
    trace: &mut PromptTrace,
    history: &History,
    steps: &[Step],
    shared: SharedPrefix,
) -> Vec<Prompt> {
    let first = history.sent_with_markers().len();
    let mut prompts: Vec<Prompt> = Vec::with_capacity(history.of_agents.len());
    let mut states: Vec<Option<State>> = Vec::with_capacity(history.of_agents.len());
    for (recorded, step) in history.of_agents.iter().zip(&steps[first..]) {
        let state = step.predecessor.and_then(|before| states[before.get() - first]);
        let thinking = step.predecessor.and_then(|before| steps[before.get()].turn_thinking);
        let before_reasoning = thinking.map(|index| prompts[index.get() - first].node);
        let drops_reasoning = step.dropped_thinking.is_some();
        let mut chain = Chain { trace, shared, state, before_reasoning, drops_reasoning };
        let keeps_output = keeps_output(recorded.client, history.symbols.text(recorded.model));
        let predecessor = step.predecessor.map(RequestIndex::get);
        prompts.push(Prompt { predecessor, ..chain.prompt(recorded, keeps_output) });
        states.push(chain.state);
    }
    prompts
}

/// Returns true if the cache also keeps the answers, so that requests read beyond the prompt before.
///
/// (Measured: 384 of 421 reads of GPT-5.4 in Codex end near the answer, 22 of 87 through GitHub Copilot,
/// where 84 end near the prompt; `DeepSeek`'s always near the answer.)
fn keeps_output(client: Client, model: &str) -> bool {
    const KEEPING: [&str; 4] = ["gpt-5.2", "gpt-5.3-codex", "gpt-5.4", "gpt-5-mini"];
    // The names of these two begin like those of the others.
    const OTHERS: [&str; 2] = ["gpt-5.3-codex-spark", "gpt-5.4-mini"];
    let name = model.rsplit('/').next().unwrap_or(model);
    let begins = |families: &[&str]| families.iter().any(|family| name.starts_with(family));
    let is_of_codex = client == Client::Codex && begins(&KEEPING) && !begins(&OTHERS);
    is_of_codex || name.starts_with("deepseek")
}

/// Returns true if a request is sent without the reasoning of the turn before, whatever its size.
///
/// (Measured: 82 of 85 turns of GPT-5.5 in Codex lost the cache behind it, 31 of 40 of GPT-5.4, and of GPT-5.6
/// none of 127.)
fn drops_reasoning(request: &AgentRequest, model: &str) -> bool {
    const DROPPING: [&str; 2] = ["gpt-5.4", "gpt-5.5"];
    let name = model.rsplit('/').next().unwrap_or(model);
    request.client == Client::Codex
        && request.begins_turn
        && DROPPING.iter().any(|family| name.starts_with(family))
}

/// Returns true for a model whose prompts keep the reasoning of earlier turns: a smaller one lost something else.
fn keeps_reasoning(model: &str) -> bool {
    model.rsplit('/').next().unwrap_or(model).starts_with("gpt-5.6")
}

/// Step of another agent's request from the one before it.
pub(super) fn agent_step(history: &History, recorded: &AgentRequest, steps: &[Step]) -> Step {
    let own = RequestIndex::new(steps.len());
    let request = history.request(own);
    let opening = Step { ttl: None, ..first_step(own.get(), request) };
    let Some(predecessor) = request.predecessor else { return opening };
    let (previous, before) = (history.request(predecessor), &steps[predecessor.get()]);
    // Lower bound: such caches also keep the input that was sent in full, up to the last whole step.
    let previous_end = previous.recorded().prompt.cached_end();
    let is_shorter = request.prompt_total() < previous.prompt_total();
    let is_rewritten = recorded.is_after_compaction || is_shorter;
    let is_codex = recorded.client == Client::Codex;
    let is_smaller = request.prompt_total() < previous.prompt_total() + previous.recorded().output;
    let model = history.symbols.text(recorded.model);
    let drops = drops_reasoning(recorded, model) || (is_smaller && !keeps_reasoning(model));
    let begins_anew = recorded.begins_turn || recorded.is_after_compaction;
    let reasoning = before.turn_thinking.filter(|_| !begins_anew).or(opening.turn_thinking);
    let dropped = before
        .turn_thinking
        .filter(|_| is_codex && recorded.begins_turn && !recorded.is_after_compaction && drops);
    // The record does not say when its prefix expires.
    let kind = StepKind::after(previous, request, false, is_rewritten);
    Step {
        kind,
        predecessor: Some(predecessor),
        gap: Some(request.start.since(previous.start)),
        previous_end,
        is_rewritten,
        kept: if is_rewritten { Kept::System } else { Kept::All },
        kept_end: previous_end,
        dropped_thinking: dropped,
        turn_thinking: reasoning,
        opening: before.opening_after(kind, own),
        ..opening
    }
}

/// Request after the ones that it continues.
struct Chain<'a> {
    trace: &'a mut PromptTrace,
    shared: SharedPrefix,
    state: Option<State>,
    /// First prompt of the turn before the request whose answer had reasoning.
    before_reasoning: Option<NodeId>,
    drops_reasoning: bool,
}

/// State of a session after its earlier requests.
#[derive(Clone, Copy)]
struct State {
    first: NodeId,
    first_model: Symbol,
    warm: Tokens,
    last: NodeId,
    /// End of the last prompt, together with its answer if all of that is sent again.
    last_end: Tokens,
}

impl Chain<'_> {
    fn prompt(&mut self, request: &AgentRequest, keeps_output: bool) -> Prompt {
        let (model, total) = (request.model, request.usage.prompt.total());
        let (parent, is_rewritten) = self.parent(request);
        let answer = if keeps_output { request.usage.output } else { Tokens::ZERO };
        let node = self.add_node(parent, total + answer);
        let markers = self.trace.markers.len();
        if let Some(kept) = parent.filter(|_| is_rewritten) {
            // Probably all of it is kept, but the record does not say.
            let end = self.trace.node(kept).end;
            self.trace.markers.push(Marker::new(kept, end, Basis::Estimated));
        }
        let shared_prefix = self.shared_prefix(model);
        let opening = self.state.is_none().then_some(request.usage.prompt.read);
        self.learn(request, node, opening);
        Prompt {
            markers: markers..self.trace.markers.len(),
            shared_prefix: shared_prefix.min(total),
            shared_prefix_basis: Basis::Estimated,
            rare: Rare { opening, ..Rare::default() }.kept(),
            ..Prompt::new(model, request.start, node, total)
        }
    }

    /// Prompt that a request continues, with true if its predecessor was rewritten.
    ///
    /// A longer prompt cannot be contained in the request's, so then nothing is known to be kept.
    fn parent(&self, request: &AgentRequest) -> (Option<NodeId>, bool) {
        let Some(state) = self.state else { return (None, false) };
        let total = request.usage.prompt.total();
        let is_rewritten =
            request.is_after_compaction || total < state.last_end || self.drops_reasoning;
        let kept = if request.is_after_compaction {
            state.first
        } else if is_rewritten {
            self.before_reasoning.unwrap_or(state.first)
        } else {
            state.last
        };
        let fits = self.trace.node(kept).end <= total;
        (fits.then_some(kept), is_rewritten)
    }

    fn add_node(&mut self, parent: Option<NodeId>, end: Tokens) -> NodeId {
        let blocks = parent.map_or(0, |parent| self.trace.node(parent).blocks) + 1;
        self.trace.nodes.push(Node { positions: blocks, blocks, ..Node::new(parent, end) });
        NodeId::at(self.trace.nodes.len() - 1)
    }

    fn shared_prefix(&self, model: Symbol) -> Tokens {
        let warm = self.state.filter(|state| state.first_model == model).map(|state| state.warm);
        warm.filter(|_| self.shared != SharedPrefix::Cold).unwrap_or_default()
    }

    fn learn(&mut self, request: &AgentRequest, node: NodeId, opening: Option<Tokens>) {
        let state = self.state.get_or_insert(State {
            first: node,
            first_model: request.model,
            warm: opening.unwrap_or_default(),
            last: node,
            last_end: Tokens::ZERO,
        });
        state.last = node;
        // Codex sends reasoning again for the rest of its turn, others never do.
        let sent_again =
            if request.client == Client::Codex { request.usage.output } else { Tokens::ZERO };
        state.last_end = request.usage.prompt.total() + sent_again;
    }
}
