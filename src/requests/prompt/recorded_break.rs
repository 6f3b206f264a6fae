//! Breaks in the record: requests that read much less than the one before had left for them.
//!
//! A request that, inside the TTL, on the same model, with a prompt of at least 97 % of what was
//! cached, reads over 2,000 tokens and over 5 % less than that is a break. `replay` does not know
//! of it. A counterfactual keeps it (and falls to just the chain's opening prefix, which early in
//! a chain are too small to be called breaks), so that it differs from the record by its policy
//! alone. What was warm in front of the messages at a break is readable under every policy, since
//! the recorded read shows it; more than that is not.

use super::step::{Step, StepKind};
use crate::base::units::Tokens;
use crate::requests::conversation::{History, Request};

/// What a request fell short of the end of its predecessor's cached prefix.
#[must_use]
pub fn recorded_shortfall(request: &Request, step: &Step) -> Tokens {
    readable_end(step).saturating_sub(request.recorded().prompt.read)
}

/// What was still readable of what the one before had cached, as far as lines tell.
fn readable_end(step: &Step) -> Tokens {
    step.readable_place().unwrap_or(step.previous_end)
}

/// Whether a request is a break: inside the TTL, on the same model, with a prompt of at least 97 %
/// of what was cached, it read over 2,000 tokens and over 5 % less than that.
#[must_use]
pub fn is_break(request: &Request, step: &Step) -> bool {
    let is_alive = matches!(step.kind, StepKind::Continued | StepKind::Rewritten);
    let shortfall = recorded_shortfall(request, step);
    is_alive
        && step.predecessor_ttl.is_some()
        && request.prompt_total().is_at_least_percent_of(97, readable_end(step))
        && shortfall > Tokens(2_000)
        && shortfall.0 * 20 > readable_end(step).0
}

/// Whether a counterfactual has to keep what happened: a break, or a fall to just what was warm
/// when the chain began. Early in a chain that prefix is most of the prompt, so that the fall is
/// too small to be called a break, but it is one in kind.
#[must_use]
pub(super) fn is_kept(history: &History, request: &Request, step: &Step) -> bool {
    let opening = history.request(step.opening).recorded().prompt.read;
    let is_known = step.kind == StepKind::Continued
        || (step.kind == StepKind::Rewritten && step.readable_place().is_some());
    let fell_to_opening = is_known
        && opening > Tokens::ZERO
        && request.recorded().prompt.read == opening
        && opening < readable_end(step);
    fell_to_opening || is_break(request, step)
}
