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
//! The keys of a strategy are the fields of a [`Design`](super::Design) and of what it consists of, with their doc
//! comments as descriptions in the JSON schema. `sweep.rs` makes one table of each combination, serde a design of it, and
//! `check.rs` finds contradictions. A contradictory combination is left out and named. If none remains, the file is
//! refused.

mod check;
pub(super) mod lifetimes;
pub(super) mod management;
mod markers;
mod parse;
mod sweep;
mod word_or;

pub use check::Contradiction;
pub(super) use markers::LayoutKeys;
#[cfg(test)]
pub(crate) use parse::SCHEMA;
pub use parse::{LeftOut, StrategyFile, parse_strategies};
