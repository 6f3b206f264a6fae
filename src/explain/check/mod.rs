//! A run held against budgets and a baseline: which limits it keeps, and, where it differs from the
//! baseline, in which sessions, which turns and why.
//!
//! A run and its baseline are the same type: a `Snapshot` is made of the ledger, or of a report
//! that was saved from one, so a figure of either side is worked out by one function
//! (`explain/check/figure.rs`), exactly, in decimals. Changes are held against limits over the
//! sessions that both sides have: found by id, else by file, else by order where as many are left
//! (`explain/check/pairing.rs`). A question that has no answer is an error, never a pass: nothing
//! selected, nothing priced, no baseline. What differs is worked out whatever the budgets say
//! (`explain/check/difference.rs`): turns are paired by request id, else in their order; of
//! captured prompts a baseline has only fingerprints (length, digest, digests of fields of tools
//! and of up to 64 pieces of each block), which name the part, the field and the first bytes that
//! differ, and hold no text.

mod difference;
mod figure;
mod outcome;
mod pairing;
mod prompt_change;
mod question;
mod result;
mod turn_change;

pub use difference::{Difference, PromptDifference, SessionChange};
pub use figure::Unknown;
pub use outcome::{Exceeded, Outcome, Status};
pub use pairing::{MatchedBy, Pair, Pairing};
pub use prompt_change::{PromptChange, PromptChangeKind};
pub use result::{Check, CheckError, Checked, Verdict, check};
pub use turn_change::{TurnChange, TurnReason, TurnTokens};
