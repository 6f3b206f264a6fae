//! Strategy files: designs with parameters and sweeps, in TOML.
//!
//! ```toml
//! schema = "cachesim.strategy/v1"
//!
//! [[strategy]]
//! name = "hour-and-ping"
//! ttl = "1h"
//! keepalive.every = ["30m", "55m"]
//! keepalive.limit = "2h"
//! ```
//!
//! A list is a sweep: one strategy for each of its values, and for each combination where several
//! keys have one. It may stand at any key, in any table, and list tables, too:
//! `ttl = ["5m", { system = "1h", messages = "5m" }]`. Only at `markers.at`, whose value is a list
//! already, it is a list of lists. The names of the strategies have the values after them, as
//! they are written: `hour-and-ping[keepalive.every=30m]`.
//!
//! Which keys there are, what they take and what they do to a [`Design`](super::Design) stands in
//! `parameter.rs` and `context_parameter.rs` and nowhere else; which of them contradict each other, in `draft.rs`. A
//! combination that contradicts itself is left out and named; where none remains, the file is
//! refused.

mod context_parameter;
mod draft;
mod parameter;
mod parse;
mod value;

pub use parse::{
    Contradiction, LeftOut, StrategyFile, StrategyFileError, StrategyFileProblem, parse_strategies,
};
