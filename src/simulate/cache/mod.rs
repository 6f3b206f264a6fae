//! The providers' caching rules: prompts → what each reads, writes and sends in full.
//!
//! This layer knows neither JSON nor money, and nothing of where a prompt came from.
//!
//! Entries exist where a marker stood. One lives for its TTL from the start of the request that
//! last used it, and can be read once the response to the request that wrote it has begun. A
//! marker looks for one at its own position and back over 20 positions, its own counted; the
//! longest prefix that any marker finds is read. A read refreshes every readable entry on its
//! path: entries that were read together share one clock for a piece of a path (`entries.rs`), so
//! this takes O(log nodes) steps however the conversations branch. A marker below the hit stores
//! an entry free of charge; siblings that write one prefix before it can be read keep the longer
//! TTL. Global markers have a cache of their own that all scopes share. Prefixes below the model's
//! minimum are not cached, and markers that the service would refuse make the request invalid. A
//! transcript's prompt has two markers: after the system prompt, whose size each request
//! estimates, and at the end of what it had cached.

mod automatic;
mod entries;
mod outcome;
mod policy;
mod simulate;

pub use crate::requests::prompt::LOOKBACK;
pub use automatic::{AutomaticCache, AutomaticPolicy, EntryPlaces, simulate_automatic};
pub use outcome::{Outcome, Refusal};
pub use policy::{
    BetaKey, Lookback, Markers, Policy, Reading, Sent, SentMarkers, TokenRatio, TtlChange,
    effective,
};
pub use simulate::simulate;
