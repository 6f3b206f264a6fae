//! Construction of the requests of a plan that is forked in one way.

use super::{ForkPlan, Part, Shares, Start, Variant};
use crate::base::{Basis, Millis, Symbol, Symbols, Tokens};
use crate::requests::prompt::{Marker, Node, NodeId, Prompt, PromptTrace};

/// Start of the first child, in milliseconds: late enough for every earlier request.
const FIRST_CHILD: i64 = 24 * 60 * 60 * 1_000;

/// Age of a warm parent at the start of the first child, in milliseconds.
const SINCE_WARM_PARENT: i64 = 10_000;

/// Time from a request to its response, in milliseconds.
const UNTIL_RESPONSE: i64 = 1_000;

/// Trace of the parent's request, followed by one for each child.
pub(super) fn trace(plan: &ForkPlan, variant: &Variant) -> PromptTrace {
    let mut forks = Forks::new(plan, variant);
    forks.add_parent();
    for (index, directive) in plan.directives.iter().enumerate() {
        let is_waiting = index > 0 && variant.start == Start::Staggered;
        // An entry can be read once the response that wrote it has begun, so waiting as long as
        // that is enough.
        let delay = if is_waiting { UNTIL_RESPONSE } else { 0 };
        forks.add_child(*directive, Millis::new(FIRST_CHILD + delay));
    }
    forks.trace
}

struct Forks<'a> {
    plan: &'a ForkPlan,
    variant: &'a Variant,
    trace: PromptTrace,
    model: Symbol,
    /// Prefixes that all children share, the parent's first.
    common: Vec<NodeId>,
}

impl<'a> Forks<'a> {
    fn new(plan: &'a ForkPlan, variant: &'a Variant) -> Self {
        // One model for all: the sizes alone decide, and any symbol will do.
        let model = Symbols::default().intern("");
        Self { plan, variant, trace: PromptTrace::default(), model, common: Vec::new() }
    }

    /// Adds the parent's own request, which marked its whole prompt.
    ///
    /// A parent whose entry has just expired is like a missing one.
    fn add_parent(&mut self) {
        let age = if self.plan.parent_is_warm { SINCE_WARM_PARENT } else { self.plan.ttl.millis() };
        let kept = match self.variant.shares {
            Shares::Kept => self.plan.kept,
            Shares::Nothing | Shares::Everything => Tokens::ZERO,
        };
        let before = (kept > Tokens::ZERO).then(|| self.extend(None, kept));
        let rest = self.plan.parent.saturating_sub(kept);
        let node = self.extend(before, rest);
        let marked = before.into_iter().chain([node]);
        self.add_prompt(node, marked.collect(), Millis::new(FIRST_CHILD - age));
        // The rest again, as a node of its own: same size, but other bytes than the parent's.
        let begin = match self.variant.shares {
            Shares::Kept => self.extend(before, rest),
            Shares::Nothing | Shares::Everything => node,
        };
        self.common.push(begin);
    }

    fn add_child(&mut self, directive: Tokens, start: Millis) {
        let mut is_common = self.variant.shares != Shares::Nothing;
        let mut node = if is_common { self.common[0] } else { self.extend(None, self.plan.parent) };
        let mut marked = None;
        for (index, part) in self.variant.parts.into_iter().enumerate() {
            // Nothing after a directive is common, as directives differ between siblings.
            is_common &= part != Part::Directive;
            let known = self.common.get(index + 1).filter(|_| is_common).copied();
            node = known.unwrap_or_else(|| self.extend(Some(node), self.size(part, directive)));
            if is_common && known.is_none() {
                self.common.push(node);
            }
            if self.variant.marker == Some(part) {
                marked = Some(node);
            }
        }
        self.add_prompt(node, marked.into_iter().collect(), start);
    }

    fn size(&self, part: Part, directive: Tokens) -> Tokens {
        match part {
            Part::Assistant => self.plan.assistant,
            Part::Placeholders => self.plan.placeholders,
            Part::Directive => directive,
        }
    }

    /// Adds a prefix that extends another one.
    fn extend(&mut self, parent: Option<NodeId>, tokens: Tokens) -> NodeId {
        let before = parent.map(|parent| *self.trace.node(parent));
        let blocks = before.map_or(1, |before| before.blocks + 1);
        let end = before.map_or(Tokens::ZERO, |before| before.end) + tokens;
        self.trace.nodes.push(Node { positions: blocks, blocks, ..Node::new(parent, end) });
        NodeId::at(self.trace.nodes.len() - 1)
    }

    /// Adds a request whose prompt ends at `node`.
    fn add_prompt(&mut self, node: NodeId, marked: Vec<NodeId>, start: Millis) {
        let first_marker = self.trace.markers.len();
        for marked in marked {
            let end = self.trace.node(marked).end;
            let marker = Marker::new(marked, end, Basis::Derived);
            self.trace.markers.push(Marker { ttl: Some(self.plan.ttl), ..marker });
        }
        self.trace.prompts.push(Prompt {
            readable_from: Millis::new(start.get() + UNTIL_RESPONSE),
            minimum: self.plan.minimum,
            markers: first_marker..self.trace.markers.len(),
            ..Prompt::new(self.model, start, node, self.trace.node(node).end)
        });
    }
}
