//! Vocabulary that every other room uses: ids, units, lifetimes, money, wording.

pub mod id;
pub mod model;
pub mod toml_text;
pub mod ttl;
pub mod units;
pub mod wording;
pub mod zone;
