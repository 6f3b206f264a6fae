//! The providers' caching rules: prompts → what each reads, writes and sends in full.
//!
//! This layer knows neither JSON nor money, and nothing of where a prompt came from.

mod entries;
mod outcome;
mod policy;
mod refusal;
mod simulate;

pub use outcome::Outcome;
pub use policy::{Lookback, Markers, Policy, Reading, Sent, effective};
pub use refusal::Refusal;
pub use simulate::{LOOKBACK, simulate};
