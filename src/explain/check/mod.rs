//! A run held against budgets and a baseline: which limits it keeps, and, where it differs from the
//! baseline, in which sessions, which turns and why.

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
