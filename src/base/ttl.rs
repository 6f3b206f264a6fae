//! Lifetimes (TTLs) of cache entries.

use serde::Deserialize;

use crate::base::words::words;

const MINUTE: i64 = 60 * 1_000;

words! {
    /// The lifetimes that a marker can ask for. The clock starts when the request that last used the
    /// entry started.
    #[derive(Deserialize)]
    pub enum Ttl {
        /// `"5m"`, the default.
        FiveMinutes = "5m";
        /// `"1h"`.
        OneHour = "1h";
    }
}

impl Ttl {
    /// The lifetime in milliseconds.
    #[must_use]
    pub fn millis(self) -> i64 {
        Lifetimes::ANTHROPIC.of(self)
    }
}

/// How long entries of each TTL live at a service, in milliseconds. Services with two lifetimes all ask for one
/// of two: the usual one stands for five minutes, the longer one for an hour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lifetimes {
    /// The lifetime that nobody has to ask for.
    pub usual: i64,
    /// The longer one. The same where a service has no other.
    pub long: i64,
}

impl Lifetimes {
    /// Those of Anthropic's service.
    pub const ANTHROPIC: Self = Self { usual: 5 * MINUTE, long: 60 * MINUTE };

    /// The lifetime of a TTL.
    #[must_use]
    #[inline]
    pub fn of(self, ttl: Ttl) -> i64 {
        match ttl {
            Ttl::FiveMinutes => self.usual,
            Ttl::OneHour => self.long,
        }
    }

    /// Whether there is a longer one to ask for.
    #[must_use]
    pub fn has_choice(self) -> bool {
        self.usual != self.long
    }

    /// What the service calls the lifetime of a TTL: `30m`, `12h`.
    #[must_use]
    pub fn name(self, ttl: Ttl) -> String {
        let minutes = self.of(ttl) / MINUTE;
        if minutes < 60 { format!("{minutes}m") } else { format!("{}h", minutes / 60) }
    }
}

/// The TTLs of a request's markers: those on tools and system prompt, and those on messages. The
/// API requires the longer one first, so the messages' TTL is never longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TierTtl {
    /// On tools and system prompt.
    pub system: Ttl,
    /// On messages.
    pub messages: Ttl,
}

impl TierTtl {
    /// The same TTL everywhere.
    #[must_use]
    pub const fn uniform(ttl: Ttl) -> Self {
        Self { system: ttl, messages: ttl }
    }

    /// An hour for tools and system prompt, five minutes for messages.
    pub const MIXED: Self = Self { system: Ttl::OneHour, messages: Ttl::FiveMinutes };
}

/// The TTLs of all markers of a design. Main conversations and sub-agents may differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TtlPlan {
    /// In main conversations.
    pub main: TierTtl,
    /// In the conversations of sub-agents.
    pub agents: TierTtl,
}

impl TtlPlan {
    /// The same TTLs in every conversation.
    #[must_use]
    pub const fn everywhere(ttl: TierTtl) -> Self {
        Self { main: ttl, agents: ttl }
    }

    /// The TTLs of a conversation.
    #[must_use]
    pub fn of(&self, is_agent: bool) -> TierTtl {
        if is_agent { self.agents } else { self.main }
    }
}
