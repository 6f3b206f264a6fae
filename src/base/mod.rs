//! Vocabulary of all other rooms: ids, units, lifetimes, money, wording, names of projects.

pub(crate) mod bounded;
pub mod by_key;
pub mod client;
pub mod id;
pub mod known;
pub mod model;
mod model_table;
pub(crate) mod order;
pub mod project;
pub mod refusal;
pub(crate) mod toml_table;
pub mod toml_text;
pub mod ttl;
pub mod units;
pub mod vocabulary;
pub mod wording;
pub(crate) mod words;
pub mod zone;
