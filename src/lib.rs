//! Replays coding-agent sessions through the providers' prompt-cache rules: tokens that each request read from cache
//! and wrote to it, its cost, and the results of other policies.
//!
//! The rooms are listed in the order of the flow, and each uses only earlier ones. `ARCHITECTURE.md` has the picture and
//! the invariants.
//!
//! A program needs a [`Study`] and little else:
//!
//! ```
//! use cachesim::{BreakOptions, Strategy, Study, StudyOptions, Ttl};
//!
//! let study = Study::read(&["fixtures/first-look".into()], StudyOptions::default())?;
//! let lifetimes = [Ttl::FiveMinutes, Ttl::OneHour].map(Strategy::lifetime);
//! let costs = study.totals(&lifetimes)?;
//! let costs: Vec<String> =
//!     costs.iter().filter_map(|(_, totals)| Some(totals.cost()?.to_string())).collect();
//! // Worked out by hand in fixtures/first-look/expected.toml.
//! assert_eq!(costs, ["0.48221", "0.57531"]);
//! let findings = study.breaks(BreakOptions::default())?;
//! let places: Vec<String> = findings.list().iter().map(|found| study.place(found.request)).collect();
//! assert_eq!(places, ["session.jsonl:11", "session.jsonl:14"]);
//! # Ok::<(), cachesim::StudyError>(())
//! ```

#![forbid(unsafe_code)]
// Items that only the program or redaction needs stay in the room of their noun, and are unused without
// `cli`.
#![cfg_attr(not(feature = "cli"), allow(dead_code, unused_imports))]

pub mod base;

pub mod tokens;

pub mod read;

pub mod requests;

pub mod simulate;

pub mod explain;

pub mod study;

pub mod follow;

#[cfg(feature = "cli")]
pub mod settings;

#[cfg(feature = "redact")]
pub mod redact;

pub mod report;

#[cfg(feature = "cli")]
pub mod cli;

pub use base::ttl::Ttl;
pub use base::units::{Picodollars, Tokens};
pub use explain::breaks::Options as BreakOptions;
pub use simulate::strategy::Strategy;
pub use study::{Findings, Study, StudyError, StudyOptions};
