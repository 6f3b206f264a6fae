//! What a design does differently from the recorded one.

use enumset::{EnumSet, EnumSetType};

use crate::ttl::TtlPlan;

/// A design of an agent's requests. What it does not set is as recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Design {
    /// Where its markers stand.
    pub layout: Layout,
    /// The TTLs of its markers.
    pub ttl: Option<TtlPlan>,
    /// Pings that keep the cache alive while nobody types.
    pub keep_alive: Option<KeepAlive>,
}

/// The most markers a request may have.
pub(super) const MOST_MARKERS: u32 = 4;

/// Where the markers of each request stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// Where they were recorded.
    #[default]
    AsRecorded,
    /// Nowhere: everything is sent in full.
    Nowhere,
    /// At these places.
    At(EnumSet<Anchor>),
    /// At every so many blocks, of which the latest four. What the blocks of a transcript's prompt
    /// are is not known; there the end of each request counts as one.
    Every(u32),
    /// So many, at the same distances in blocks, the last one at the end.
    Even(u32),
}

/// A place for a marker that every prompt has.
#[derive(Debug, EnumSetType)]
pub enum Anchor {
    /// The end of tools and system prompt.
    System,
    /// The block in the middle of the prompt.
    Half,
    /// Where the request before in the conversation ended, as far as it is still the same.
    Previous,
    /// The end of the last message.
    Last,
}

/// Pings: the conversation as it was sent last, again, for one token of output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeepAlive {
    /// From the last request or ping to the next, in milliseconds.
    pub every: i64,
    /// How long a conversation may be idle until pings stop, in milliseconds.
    pub limit: i64,
    /// Whether sub-agents' conversations get pings, too.
    pub agents: bool,
}
