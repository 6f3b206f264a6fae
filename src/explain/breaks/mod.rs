//! Cache misses that should not have been: what was lost, why, and what it cost.
//!
//! Every request is held against what the one before it had left in the cache. Where it read less,
//! rules look for causes in what lies between the two and in the length that was still readable.

mod analysis;
mod candidate;
mod captured;
mod case;
mod cause;
mod find;
mod landmarks;
mod patterns;
mod readable;
mod reads;
mod rules;
mod siblings;
mod summary;
mod verdict;
mod week;

pub use analysis::Analysis;
pub use candidate::{Candidate, Confidence, Evidence};
pub use cause::Cause;
pub use find::{Break, Breaks, DetectionRule, Options, find};
pub use patterns::{Ground, Pattern, patterns};
pub use readable::{Class, Readable};
pub use summary::{Agreement, Counted, Reconciliation, Sum, Summary};
