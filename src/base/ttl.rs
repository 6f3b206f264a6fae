//! Lifetimes (TTLs) of cache entries.

use serde::Deserialize;

use crate::base::words::words;

const MINUTE: i64 = 60 * 1_000;

words! {
    /// Lifetimes that a marker can request. The clock starts with the start of the request that last used the entry.
    #[derive(Deserialize)]
    pub enum Ttl {
        /// `"5m"`, the default.
        FiveMinutes = "5m";
        /// `"1h"`.
        OneHour = "1h";
    }
}

impl Ttl {
    /// Lifetime in milliseconds at Anthropic's service.
    pub fn millis(self) -> i64 {
        Lifetimes::ANTHROPIC.of(self)
    }
}

/// Lifetimes of a service's entries, in milliseconds. A service with a choice has two: the usual one takes the place of
/// five minutes, the longer one that of an hour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lifetimes {
    /// Lifetime without a request for one, in milliseconds.
    pub usual: i64,
    /// Longer lifetime, in milliseconds. Equal to the usual one if the service has no other.
    pub long: i64,
}

impl Lifetimes {
    /// Lifetimes of Anthropic's service.
    pub const ANTHROPIC: Self = Self { usual: 5 * MINUTE, long: 60 * MINUTE };

    /// Lifetime of a TTL, in milliseconds.
    #[inline]
    pub fn of(self, ttl: Ttl) -> i64 {
        match ttl {
            Ttl::FiveMinutes => self.usual,
            Ttl::OneHour => self.long,
        }
    }

    /// Returns true if the service has a longer lifetime.
    pub fn has_choice(self) -> bool {
        self.usual != self.long
    }

    /// Name of a TTL's lifetime at the service: `30m`, `12h`.
    pub fn name(self, ttl: Ttl) -> String {
        let minutes = self.of(ttl) / MINUTE;
        if minutes < 60 { format!("{minutes}m") } else { format!("{}h", minutes / 60) }
    }
}

/// TTLs of a request's markers on tools and system prompt, and on messages. The API requires the longer one first, so
/// that of the messages is never longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TierTtl {
    /// TTL on tools and system prompt.
    pub system: Ttl,
    /// TTL on messages.
    pub messages: Ttl,
}

impl TierTtl {
    /// The same TTL for all markers.
    pub const fn uniform(ttl: Ttl) -> Self {
        Self { system: ttl, messages: ttl }
    }

    /// An hour for tools and system prompt, five minutes for messages.
    pub const MIXED: Self = Self { system: Ttl::OneHour, messages: Ttl::FiveMinutes };
}

/// TTLs of all markers of a design. Main conversations and sub-agents may differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TtlPlan {
    /// TTLs in main conversations.
    pub main: TierTtl,
    /// TTLs in the conversations of sub-agents.
    pub agents: TierTtl,
}

impl TtlPlan {
    /// The same TTLs in every conversation.
    pub const fn everywhere(ttl: TierTtl) -> Self {
        Self { main: ttl, agents: ttl }
    }

    /// TTLs of a conversation.
    pub fn of(&self, is_agent: bool) -> TierTtl {
        if is_agent { self.agents } else { self.main }
    }
}
