//! The providers' caching rules: prompts → what each reads, writes and sends in full.
//!
//! This layer knows neither JSON nor money, and nothing of where a prompt came from.

mod automatic;
mod entries;
mod outcome;
mod policy;
mod prefixes;
mod refusal;
mod simulate;
mod token_ratio;

pub use crate::requests::prompt::LOOKBACK;
pub use automatic::{AutomaticCache, AutomaticPolicy, EntryPlaces, simulate_automatic};
pub use outcome::Outcome;
pub use policy::{
    BetaKey, Lookback, Markers, Policy, Reading, Sent, SentMarkers, TtlChange, effective,
};
pub use refusal::Refusal;
pub use simulate::simulate;
pub use token_ratio::TokenRatio;
