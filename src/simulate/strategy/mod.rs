//! Strategies: what was recorded, what the rules make of it, and other designs of the same
//! requests.
//!
//! A strategy is a function on the trace: a design moves markers, changes TTLs, adds requests or
//! rewrites prompts, and hands the result to the same simulator.
//!
//! A strategy is a function on the trace. A `Design` says what is done differently; in this order
//! captured prompts are made otherwise (`simulate/design/`), contexts kept small
//! (`simulate/management/`), requests share more or less (`simulate/strategy/{forks,sharing}.rs`),
//! markers placed (`layout.rs`) and pings added (`keep_alive.rs`); the result is a `Plan`, whose
//! prompts are recorded requests or added ones, and the same simulator runs over it. Where a
//! design does none of that the trace is borrowed; a copy shares the paths of the tree. Added
//! requests are rows of the ledger without ids. Searches simulate each candidate, for main
//! conversations and sub-agents apart. A part of a design that leaves every request as it was has
//! an obstacle; a design of nothing else is not applicable, and has no rows, so that no view can
//! show its figures. What a strategy looks at is read because the run is prepared with it
//! (`study.rs`), for all commands alike. Another provider is a strategy, too, with another
//! simulator (`simulate/cache/automatic.rs`), tokens in its vocabulary and prices of its own.

mod applicability;
mod bound;
mod built_in;
mod design;
mod file;
mod forks;
mod kind;
mod layout;
mod plan;
mod run;
mod search;

pub use applicability::{Applicability, Obstacle};
pub use built_in::{ALL, DEFAULT};
pub use design::{Anchor, Design, KeepAlive, Layout, Sharing, Starts};
pub use file::{
    Contradiction, LeftOut, StrategyFile, StrategyFileError, StrategyFileProblem, parse_strategies,
};
pub use kind::{Assumptions, Reach, Strategy, StrategyKind};
pub use plan::Purpose;
pub use run::{Added, Material, Sent, Simulated};
