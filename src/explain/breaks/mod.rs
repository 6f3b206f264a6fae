//! Cache misses that should not have been: what was lost, why, and what it cost.
//!
//! Every request is held against what the one before it had left in the cache. Where it read less,
//! rules look for causes in what lies between the two and in the length that was still readable.
//!
//! Every request is held against the end of the cached prefix of its predecessor, recorded or,
//! where no usage was, replayed. What was still readable (`readable.rs`) is compared with the
//! landmarks of its chain and of other sessions: what first requests and expiries left (the shared
//! prefix), what compactions left (all of tools and system prompt), the ends and reads of earlier
//! requests. Rules (`rules/`) then each look for one cause in the step, the signs between the two
//! requests and that length, and say how sure it is; the surest wins, the order of the rules
//! decides among equals. A rule names a mechanism (tools are rendered first; a process renders its
//! prompt anew; an entry lives so long), never a session. Of captured requests the differences of
//! the bodies take the place of signs (`captured.rs`). The service's verdict is joined last, so
//! that what is inferred without it is known. The excess of a break is the price of what was sent
//! again less that of reading it; the part that the replay pays too is kept apart, so that billed
//! − replay = (excess − predicted) + unexplained. What lies after a hole (`Between::has_hole`) is
//! not compared. A captured branch, or another conversation, whose bytes do not come back is held
//! against the longest prefix of its own that had been marked.

mod captured;
mod case;
mod cause;
mod find;
mod patterns;
mod readable;
mod rules;
mod siblings;
mod summary;

pub use cause::{Candidate, Cause, Confidence, Evidence};
pub use find::{Break, Breaks, DetectionRule, Options, find};
pub use patterns::{Ground, Pattern, patterns};
pub use readable::{Class, Readable};
pub use summary::{Agreement, Analysis, Counted, Reconciliation, Sum, Summary};
