//! Breaks in the record: requests that read much less than the one before had left for them.

use super::step::{Step, StepKind};
use crate::conversation::{History, Request};
use crate::units::Tokens;

/// What a request fell short of the end of its predecessor's cached prefix.
#[must_use]
pub fn recorded_shortfall(request: &Request, step: &Step) -> Tokens {
    step.previous_end.saturating_sub(request.recorded().prompt.read)
}

/// Whether a request is a break: inside the TTL, on the same model, with a prompt of at least 97 %
/// of what was cached, it read over 2,000 tokens and over 5 % less than that.
#[must_use]
pub fn is_break(request: &Request, step: &Step) -> bool {
    let is_alive = matches!(step.kind, StepKind::Continued | StepKind::Rewritten);
    let shortfall = recorded_shortfall(request, step);
    is_alive
        && step.predecessor_ttl.is_some()
        && request.prompt_total().is_at_least_percent_of(97, step.previous_end)
        && shortfall > Tokens(2_000)
        && shortfall.0 * 20 > step.previous_end.0
}

/// Whether a counterfactual has to keep what happened: a break, or a fall to just what was warm
/// when the chain began. Early in a chain that prefix is most of the prompt, so that the fall is
/// too small to be called a break, but it is one in kind.
#[must_use]
pub(super) fn is_kept(history: &History, request: &Request, step: &Step) -> bool {
    let opening = history.request(step.opening).recorded().prompt.read;
    let fell_to_opening = step.kind == StepKind::Continued
        && opening > Tokens::ZERO
        && request.recorded().prompt.read == opening
        && opening < step.previous_end;
    fell_to_opening || is_break(request, step)
}
