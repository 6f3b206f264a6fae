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

pub use by_key::ByKey;
pub use client::Client;
pub(crate) use id::has_symbols;
pub use id::{EntryId, HasSymbols, Ordinal, Symbol, Symbols};
pub use known::KnownSum;
pub(crate) use model::UNKNOWN_MODEL;
pub use model::{Facts, Models, Platform, Tokenizer};
pub(crate) use order::{Order, Ordered, side_by_side};
pub use project::ProjectNaming;
pub use refusal::Refusal;
pub use ttl::{Lifetimes, TierTtl, Ttl, TtlPlan};
pub use units::{Basis, Millis, Picodollars, TextSize, Tokens};
pub use vocabulary::Vocabulary;
pub(crate) use wording::capitalized;
pub use wording::{counted, duration, grouped, nearest, suggestion};
pub(crate) use words::{names, words};
pub use zone::Zone;
