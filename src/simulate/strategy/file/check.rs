//! Contradictions between the keys of a strategy.

use jiff::SignedDuration;
use toml::de::DeTable;

use crate::base::toml_table::place;
use crate::base::{TierTtl, Tokens, Ttl, TtlPlan};
use crate::simulate::cache::Refusal;
use crate::simulate::management::Trigger;
use crate::simulate::strategy::design::{Anchor, Design, KeepAlive, Layout};

/// Largest number of pings of an idle conversation: about one a minute for a week.
const MOST_PINGS: i64 = 10_080;

/// Keys that determine a threshold, and so say nothing beside one that is given.
const OF_THRESHOLDS: [&str; 9] = [
    "context.compact.max_output",
    "context.compact.reserve",
    "context.compact.buffer",
    "context.compact.percent",
    // Without a request for a summary, a window has no other use than to derive the threshold.
    "context.session_memory.window",
    "context.session_memory.max_output",
    "context.session_memory.reserve",
    "context.session_memory.buffer",
    "context.session_memory.percent",
];

/// Reason for which a design is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Contradiction {
    /// A five-minute marker before a one-hour marker.
    #[error(
        "the service refuses an hour on messages after five minutes on the system prompt ({})",
        Refusal::TtlOrder.name()
    )]
    TtlOrder,
    /// A key about cached prefixes in a design without markers.
    #[error("`{0}` has nothing to act on, since `markers` is \"none\"")]
    NothingCached(&'static str),
    /// A determinant of a threshold that is given itself.
    #[error("`{0}` has nothing to act on, since `threshold` is given")]
    ThresholdGiven(&'static str),
    /// A window without room for a conversation.
    #[error(
        "a window of {window} tokens has no room left beside `reserve` and `buffer`; give a larger \
         `window`, or smaller ones of these"
    )]
    NothingFits {
        /// Size of the window in tokens.
        window: u64,
    },
    /// A size for deferred tools in a design that defers none.
    #[error("`{0}` needs `prompt.deferred_tools`")]
    NothingDeferred(&'static str),
    /// Pings without a limit.
    #[error("`keepalive.every` needs `keepalive.limit`: how long a conversation may be idle")]
    NoLimit,
    /// Pings that end before the first one.
    #[error("`keepalive.limit` is below `keepalive.every`: there would be no ping")]
    LimitBelowInterval,
    /// Pings that come after the entry has expired.
    #[error(
        "each ping would be a full write: `keepalive.every` is {:#}, and entries live for {}",
        SignedDuration::from_millis(*every), ttl.name()
    )]
    IntervalBeyondTtl {
        /// Interval, in milliseconds.
        every: i64,
        /// TTL of the prefix that is pinged, or the longest one if it is as recorded.
        ttl: Ttl,
    },
    /// Too many pings.
    #[error("{0} pings while a conversation is idle; the most is {MOST_PINGS}")]
    TooManyPings(i64),
}

impl Contradiction {
    /// Key to which the error points.
    pub(super) fn key(self) -> &'static str {
        match self {
            Self::NothingCached(key) | Self::ThresholdGiven(key) | Self::NothingDeferred(key) => {
                key
            }
            Self::TtlOrder => "ttl",
            Self::NothingFits { .. } => "context",
            Self::NoLimit | Self::IntervalBeyondTtl { .. } => "keepalive.every",
            Self::LimitBelowInterval | Self::TooManyPings(_) => "keepalive.limit",
        }
    }
}

/// Refuses a contradictory design. `keys` is its table.
pub(super) fn check(design: &Design, keys: &DeTable<'_>) -> Result<(), Contradiction> {
    check_lifetimes(design)?;
    if design.prompt.tool_search.is_some() && design.prompt.deferral().is_none() {
        return Err(Contradiction::NothingDeferred("prompt.tool_search"));
    }
    if let Some(pings) = design.keep_alive {
        check_pings(pings, design.layout, design.ttl)?;
    }
    check_threshold(design, keys)
}

fn check_lifetimes(design: &Design) -> Result<(), Contradiction> {
    let Some(TtlPlan { main, agents }) = design.ttl else { return Ok(()) };
    if [main, agents].iter().any(|ttl| ttl.system < ttl.messages) {
        return Err(Contradiction::TtlOrder);
    }
    if design.layout == Layout::Nowhere {
        return Err(Contradiction::NothingCached("ttl"));
    }
    Ok(())
}

fn check_threshold(design: &Design, keys: &DeTable<'_>) -> Result<(), Contradiction> {
    let is_given = |key: &str| place(keys, key).is_some();
    let is_beside_threshold = |key: &str| {
        let table = key.rsplit_once('.').map_or("", |(table, _)| table);
        is_given(key) && is_given(&format!("{table}.threshold"))
    };
    if let Some(key) = OF_THRESHOLDS.iter().find(|key| is_beside_threshold(key)) {
        return Err(Contradiction::ThresholdGiven(key));
    }
    match design.management.as_ref().and_then(|management| management.trigger()) {
        Some(Trigger::Below(end)) if Trigger::Below(end).threshold() == Tokens::ZERO => {
            Err(Contradiction::NothingFits { window: end.window.0 })
        }
        _ => Ok(()),
    }
}

fn check_pings(
    pings: KeepAlive,
    layout: Layout,
    ttl: Option<TtlPlan>,
) -> Result<(), Contradiction> {
    if layout == Layout::Nowhere {
        return Err(Contradiction::NothingCached("keepalive.every"));
    }
    if pings.limit == 0 {
        return Err(Contradiction::NoLimit);
    }
    if pings.limit < pings.every {
        return Err(Contradiction::LimitBelowInterval);
    }
    let count = pings.limit.checked_div(pings.every).unwrap_or(i64::MAX);
    if count > MOST_PINGS {
        return Err(Contradiction::TooManyPings(count));
    }
    let agents = pings.agents.then_some(true);
    let shortest = std::iter::once(false)
        .chain(agents)
        .map(|is_agent| pinged_ttl(layout, ttl.map(|ttl| ttl.of(is_agent))))
        .min();
    match shortest {
        // An entry has expired once it reaches its TTL.
        Some(ttl) if pings.every >= ttl.millis() => {
            Err(Contradiction::IntervalBeyondTtl { every: pings.every, ttl })
        }
        _ => Ok(()),
    }
}

/// TTL of the end of the cached prefix, which a ping reads; as recorded, it may be the longest TTL.
fn pinged_ttl(layout: Layout, ttl: Option<TierTtl>) -> Ttl {
    match ttl {
        None => Ttl::OneHour,
        Some(ttl) if layout == Layout::At(Anchor::System.into()) => ttl.system,
        Some(ttl) => ttl.messages,
    }
}
