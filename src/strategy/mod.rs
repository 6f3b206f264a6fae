//! Strategies: what was recorded, what the rules make of it, and other designs of the same
//! requests.
//!
//! A strategy is a function on the trace: a design moves markers, changes TTLs, adds requests or
//! rewrites prompts, and hands the result to the same simulator.

mod assumptions;
mod built_in;
mod design;
mod keep_alive;
mod layout;
mod plan;
mod run;
mod search;

pub use assumptions::Assumptions;
pub use built_in::{ALL, DEFAULT};
pub use design::{Anchor, Design, KeepAlive, Layout};
pub use plan::Purpose;
pub use run::{Added, Material, Simulated, Strategy, StrategyKind};
