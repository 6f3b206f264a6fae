//! Codex rollouts: what a session's lines say of its requests, and the trace they make.
//!
//! The ordinary reading takes rollouts for another program's files; only [`load()`] reads them.
//! Reading never fails a run: requests and diagnostics come back together, and no text is kept.
//!
//! Rollouts are read only when asked for; the ordinary reading takes them for another program's
//! files. A prompt goes on from its predecessor's, except where the record shows that something
//! was left out: after a compaction, and where a new turn drops the reasoning of the one before.

mod parse;
mod trace;

pub use parse::{Rollout, RolloutRequest, load};
pub use trace::{RolloutTrace, build};
