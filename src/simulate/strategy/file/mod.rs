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
//! A list is a sweep: one strategy for each of its values, and for each combination if several keys
//! have lists. It may be the value of any key and hold tables: `ttl = ["5m", { system = "1h",
//! messages = "5m" }]`. Only `markers.at`, whose value is itself a list, takes a list of lists. The
//! names of the strategies are followed by their values as written:
//! `hour-and-ping[keepalive.every=30m]`.
//!
//! `parameter.rs` and `context_parameter.rs` define the keys, their values and their changes to a
//! [`Design`](super::Design). `draft.rs` finds contradictions between them. A contradictory
//! combination is left out and named. If none remains, the file is refused.

mod context_parameter;
mod draft;
mod parameter;
mod parse;
mod value;

pub use parse::{
    Contradiction, LeftOut, StrategyFile, StrategyFileError, StrategyFileProblem, parse_strategies,
};
