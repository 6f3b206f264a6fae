//! What everything else speaks in: ids, units, lifetimes, money, words.

pub mod id;
pub mod model;
pub mod toml_text;
pub mod ttl;
pub mod units;
pub mod wording;
pub mod zone;
