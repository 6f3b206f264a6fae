//! Strategies: what was recorded, what the rules make of it, and other designs of the same
//! requests.
//!
//! A strategy is a function on the trace: a design moves markers, changes TTLs, adds requests or
//! rewrites prompts, and hands the result to the same simulator.

mod applicability;
mod assumptions;
mod bound;
mod built_in;
mod design;
mod file;
mod forks;
mod keep_alive;
mod kind;
mod latch;
mod layout;
mod plan;
mod reach;
mod run;
mod search;
mod sharing;

pub use applicability::{Applicability, Obstacle};
pub use assumptions::Assumptions;
pub use built_in::{ALL, DEFAULT};
pub use design::{Anchor, Design, KeepAlive, Layout, Sharing, Starts};
pub use file::{
    Contradiction, LeftOut, StrategyFile, StrategyFileError, StrategyFileProblem, parse_strategies,
};
pub use kind::{Strategy, StrategyKind};
pub use plan::Purpose;
pub use reach::Reach;
pub use run::{Added, Material, Sent, Simulated};
