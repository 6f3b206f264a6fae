//! Replays coding-agent sessions through the providers' prompt-cache rules: what each request
//! read from cache, wrote to it and cost, and what other policies would have made of it.
//!
//! The rooms stand in the order of the flow; each uses only those before it, and so does each module of
//! a room. `ARCHITECTURE.md` has the picture and the invariants.
//!
//! ```
//! use cachesim::requests::conversation::{build, join};
//! use cachesim::read::input::Source;
//! use cachesim::read::transcript::load;
//!
//! let line = br#"{"type":"assistant","uuid":"a","sessionId":"s","requestId":"r",
//!     "timestamp":"2026-08-03T10:00:00Z","message":{"id":"m","model":"claude-opus-5",
//!     "content":[],"usage":{"input_tokens":2,"cache_read_input_tokens":40895,
//!     "cache_creation_input_tokens":412,"output_tokens":96}}}"#;
//! let line: Vec<u8> = line.iter().copied().filter(|byte| *byte != b'\n').collect();
//! let history = join(vec![build(load(&Source::in_memory("session.jsonl", &line)))]);
//! assert_eq!(history.requests[0].prompt_total().0, 2 + 40_895 + 412);
//! ```

#![forbid(unsafe_code)]

pub mod base;

pub mod read;

pub mod requests;

pub mod simulate;

pub mod explain;

pub mod study;

pub mod redact;

pub mod report;

pub mod cli;
