//! The providers' caching rules: prompts → what each reads, writes and sends in full.
//!
//! This layer knows neither JSON nor money, and nothing of where a prompt came from.

mod entries;
mod simulate;

pub use simulate::{Markers, Outcome, Policy, simulate};
