//! The tail of a prompt that no marker covers and that is sent in full.
//!
//! Most of it is a constant of the model and of what came last (a tool result or a prompt); some
//! clients also put reminders there. Both repeat from request to request, so the estimate is what
//! the last request of the same kind had. Over a run the errors of such an estimate cancel out:
//! each is taken back by the next request of the kind.

use rustc_hash::FxHashMap;

use super::kept::Kept;
use super::step::{Step, StepKind};
use crate::base::id::Symbol;
use crate::base::units::Tokens;
use crate::requests::conversation::Request;

/// A tail up to this is the constant overhead of a model, which repeats from request to request;
/// only a larger one is content.
pub const LARGEST_CONSTANT_TAIL: Tokens = Tokens(20);

/// Before any request was seen: what most recent models have.
pub(super) const COMMON_TAIL: Tokens = Tokens(2);

/// What a tail depends on.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct TailKind {
    model: Symbol,
    client_version: Option<Symbol>,
    is_opening: bool,
    has_prompt: bool,
    is_agent: bool,
}

/// The tails seen so far, in the order in which requests were sent.
#[derive(Default)]
pub(super) struct Tails {
    latest: FxHashMap<TailKind, Tokens>,
    latest_of_model: FxHashMap<Symbol, Tokens>,
}

impl Tails {
    /// The tail to expect of a request.
    pub(super) fn expect(&self, request: &Request, step: &Step) -> Tokens {
        self.latest
            .get(&TailKind::of(request, step))
            .or_else(|| self.latest_of_model.get(&request.model))
            .copied()
            .unwrap_or(COMMON_TAIL)
            .min(request.prompt_total().saturating_sub(cached_before(request, step)))
    }

    /// Learns from a request, for those that come after it.
    pub(super) fn learn(&mut self, request: &Request, step: &Step) {
        let prompt = &request.recorded().prompt;
        if prompt.cached_end() > Tokens::ZERO {
            self.latest.insert(TailKind::of(request, step), prompt.input);
            self.latest_of_model.insert(request.model, prompt.input);
        }
    }
}

/// What was surely cached of a prompt when it was sent: no tail reaches into it.
fn cached_before(request: &Request, step: &Step) -> Tokens {
    match step.kind {
        StepKind::Opening | StepKind::ModelChange => request.recorded().prompt.read,
        StepKind::Continued | StepKind::Rewritten | StepKind::Expired => match step.kept {
            Kept::System => Tokens::ZERO,
            Kept::All | Kept::Until { .. } => step.kept_end,
        },
    }
}

impl TailKind {
    fn of(request: &Request, step: &Step) -> Self {
        Self {
            model: request.model,
            client_version: request.client_version,
            is_opening: step.kind == StepKind::Opening,
            has_prompt: request.between.has_prompt,
            is_agent: request.agent.is_some(),
        }
    }
}
