//! Codex rollouts: what a session's lines say of its requests, and the trace they make.
//!
//! The ordinary reading takes rollouts for another program's files; only [`load()`] reads them.
//! Reading never fails a run: requests and diagnostics come back together, and no text is kept.

mod load;
mod parse;
mod request;
mod trace;
mod wire;

pub use load::load;
pub use request::{Rollout, RolloutRequest};
pub use trace::{RolloutTrace, build};
