//! Replays coding-agent sessions through the providers' prompt-cache rules: what each request
//! read from cache, wrote to it and cost, and what other policies would have made of it.
//!
//! The modules stand in the order of the flow; each uses only those before it. `ARCHITECTURE.md`
//! has the picture and the invariants.
//!
//! ```
//! use cachesim::conversation::{build, join};
//! use cachesim::input::Source;
//! use cachesim::transcript::load;
//!
//! let line = br#"{"type":"assistant","uuid":"a","sessionId":"s","requestId":"r",
//!     "timestamp":"2026-08-03T10:00:00Z","message":{"id":"m","model":"claude-opus-5",
//!     "content":[],"usage":{"input_tokens":2,"cache_read_input_tokens":40895,
//!     "cache_creation_input_tokens":412,"output_tokens":96}}}"#;
//! let line: Vec<u8> = line.iter().copied().filter(|byte| *byte != b'\n').collect();
//! let history = join(vec![build(load(&Source::in_memory("session.jsonl", &line)))]);
//! assert_eq!(history.requests[0].prompt_total().0, 2 + 40_895 + 412);
//! ```

pub mod basis;
pub mod id;
pub mod model;
pub mod nearest;
pub mod toml_text;
pub mod ttl;
pub mod units;
pub mod wording;
pub mod zone;

pub mod input;

pub mod transcript;

pub mod harness;

pub mod capture;

pub mod conversation;

pub mod difference;

pub mod prompt;

mod content;

pub mod management;

pub mod cache;

pub mod design;

pub mod pricing;

pub mod rollout;

pub mod provider;

pub mod strategy;

pub mod ledger;

pub mod compare;

pub mod context;

pub mod lint;

pub mod breaks;

pub mod advice;

pub mod snapshot;

pub mod budget;

pub mod config;

pub mod check;

pub mod analysis;

pub mod explain;

pub mod fork;

pub mod redact;

pub mod report;

pub mod cli;
