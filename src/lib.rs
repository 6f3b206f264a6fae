//! Replays coding-agent sessions through the providers' prompt-cache rules.

pub mod analysis;
pub mod basis;
pub mod cache;
pub mod cli;
pub mod conversation;
pub mod id;
pub mod ledger;
pub mod model;
pub mod pricing;
pub mod prompt;
pub mod report;
pub mod strategy;
pub mod transcript;
pub mod units;
