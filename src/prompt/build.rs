//! A history → its prompt trace.

use super::calibrate::{Calibrated, calibrate};
use super::minimum::minimum_prefix;
use super::recorded_break::is_kept;
use super::step::{Step, StepKind};
use super::trace::{BackgroundWrite, Node, NodeId, Prompt, PromptTrace};
use crate::conversation::{History, Request};
use crate::model::canonical_name;
use crate::units::Tokens;

/// What is assumed of the prefix that other traffic keeps warm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SharedPrefix {
    /// As calibrated.
    #[default]
    Auto,
    /// Nothing is readable after an expiry; a compaction inside the TTL still finds what the
    /// chain's first request read. Sessions do not keep one another's entries alive.
    Cold,
    /// What the chain's first request read is always readable.
    Warm,
}

/// Builds the trace of all requests, in the history's order, from their [`steps`](super::steps).
#[must_use]
pub fn build(history: &History, steps: &[Step], shared: SharedPrefix) -> PromptTrace {
    let calibrated = calibrate(history, steps);
    let mut trace = PromptTrace::default();
    for ((request, step), calibrated) in history.requests.iter().zip(steps).zip(&calibrated) {
        let (system_prefix, shared_prefix) = prefixes(history, step, calibrated, shared);
        let (node, background) = add_nodes(&mut trace, request, step, calibrated);
        let read = request.usage.prompt.read;
        let is_opening = matches!(step.kind, StepKind::Opening | StepKind::ModelChange);
        let model = canonical_name(history.symbols.text(request.model));
        trace.prompts.push(Prompt {
            start: request.start,
            model: request.model,
            session: request.session,
            total: request.prompt_total(),
            uncached_tail: calibrated.uncached_tail,
            recorded_ttl: step.ttl,
            minimum: minimum_prefix(model, request.start),
            node,
            background,
            opening: is_opening.then_some(read),
            broken_read: is_kept(history, request, step).then_some(read),
            system_prefix: system_prefix.min(request.prompt_total()),
            shared_prefix: shared_prefix.min(request.prompt_total()),
        });
    }
    trace
}

/// The sizes of the system prefix and of the shared prefix under an assumption.
fn prefixes(
    history: &History,
    step: &Step,
    calibrated: &Calibrated,
    shared: SharedPrefix,
) -> (Tokens, Tokens) {
    let opening = history.request(step.opening).usage.prompt.read;
    match shared {
        // What is shared is a part of tools and system prompt, or all of it.
        SharedPrefix::Auto => {
            (calibrated.system_prefix.max(calibrated.shared_prefix), calibrated.shared_prefix)
        }
        SharedPrefix::Cold => (opening, Tokens::ZERO),
        SharedPrefix::Warm => (opening, opening),
    }
}

/// Adds the end of the request's cached prefix to the tree, and that of a background request in
/// front of it.
fn add_nodes(
    trace: &mut PromptTrace,
    request: &Request,
    step: &Step,
    calibrated: &Calibrated,
) -> (NodeId, Option<BackgroundWrite>) {
    let mut parent = match step.predecessor {
        None => push(trace, Node::System),
        Some(predecessor) => {
            let kept = step.dropped_thinking.unwrap_or(predecessor);
            let before = trace.prompts[kept.0].node;
            if step.is_rewritten { trace.system_of(before) } else { before }
        }
    };
    let background = calibrated.background.map(|expected| {
        let node = push_messages(trace, parent, expected.end);
        parent = node;
        BackgroundWrite { node, at: expected.at }
    });
    let recorded_end = request.usage.prompt.cached_end();
    let end = if recorded_end > Tokens::ZERO {
        recorded_end
    } else {
        request.prompt_total().saturating_sub(calibrated.uncached_tail)
    };
    (push_messages(trace, parent, end), background)
}

fn push_messages(trace: &mut PromptTrace, parent: NodeId, end: Tokens) -> NodeId {
    let system = trace.system_of(parent);
    push(trace, Node::Messages { parent, system, end })
}

fn push(trace: &mut PromptTrace, node: Node) -> NodeId {
    trace.nodes.push(node);
    NodeId(trace.nodes.len() - 1)
}
