//! What a run was, in a form that can be saved and held against a later one: each session's turns
//! with their figures, and of captured prompts a fingerprint of every block, without its text.
//!
//! The same form is made of a ledger and of a saved report, so that a figure of either side is worked
//! out in one way.

mod baseline;
mod fingerprint;
mod session;

pub use baseline::{BaselineError, parse_baseline};
pub use fingerprint::{Block, BlockId, Blocks, Fingerprint, Pieces, Prefix};
pub use session::{Figures, LintCount, Session, Snapshot, Turn, TurnBreak, TurnMarker, snapshot};
