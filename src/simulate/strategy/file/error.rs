//! Why a strategy file cannot be used. What is quoted of the file is shortened and has its control
//! characters escaped.

use jiff::SignedDuration;

use super::parse::{MOST_STRATEGIES, SCHEMA};
use crate::base::nearest::suggestion;
use crate::base::toml_text::quoted;
use crate::base::ttl::Ttl;
use crate::simulate::cache::Refusal;
use crate::simulate::strategy::design::MOST_MARKERS;

/// Why a strategy file cannot be used, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}:{column}: {problem}")]
pub struct StrategyFileError {
    /// The file.
    pub file: String,
    /// From 1 on.
    pub line: usize,
    /// In characters, from 1 on.
    pub column: usize,
    /// What is wrong.
    pub problem: StrategyFileProblem,
}

/// What is wrong in a strategy file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StrategyFileProblem {
    /// The text is no TOML.
    #[error("{0}")]
    Toml(String),
    /// The file does not say what it is.
    #[error("`schema` is missing; begin with schema = \"{SCHEMA}\"")]
    NoSchema,
    /// The file is something else, or of another version.
    #[error("the schema is `{}`; this version reads `{SCHEMA}`", quoted(.0))]
    OtherSchema(String),
    /// There is nothing in it.
    #[error("there is no [[strategy]]")]
    NoStrategy,
    /// A key that means nothing.
    #[error("`{}` is no key{}", quoted(key), suggestion(nearest))]
    UnknownKey {
        /// With those of the tables around it.
        key: String,
        /// What may have been meant.
        nearest: Vec<&'static str>,
    },
    /// A value of another type, or out of range.
    #[error("`{key}` is {expected}, not {found}")]
    Type {
        /// The key.
        key: &'static str,
        /// What it takes.
        expected: &'static str,
        /// What stands there.
        found: String,
    },
    /// A sweep over nothing.
    #[error("`{0}` is a sweep without values")]
    EmptySweep(&'static str),
    /// A strategy without a name.
    #[error("the strategy has no `name`")]
    NoName,
    /// A name that cannot be used in options and outputs.
    #[error(
        "`{}` is no name: up to 64 letters, digits and . _ + -, the first a letter or digit",
        quoted(.0)
    )]
    Name(String),
    /// A name that another strategy of the file has.
    #[error("two strategies are called `{0}`")]
    DuplicateName(String),
    /// The name of a built-in strategy.
    #[error("`{0}` is the name of a built-in strategy")]
    BuiltInName(String),
    /// Two combinations of a sweep that are the same.
    #[error("the sweep makes `{0}` twice")]
    DuplicateCombination(String),
    /// More strategies than anyone can want to compare.
    #[error("the sweeps make {0} strategies; the most is {MOST_STRATEGIES}")]
    TooManyStrategies(u128),
    /// Keys that cannot be together, or that the service would refuse.
    #[error("`{strategy}`: {contradiction}")]
    Contradiction {
        /// The strategy, with the swept values.
        strategy: String,
        /// What contradicts what.
        contradiction: Contradiction,
    },
}

/// Why a design makes no sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Contradiction {
    /// Two keys say the same thing.
    #[error("`{0}` says again what another key has said")]
    SetTwice(&'static str),
    /// Some TTLs are given, and others are not.
    #[error("`ttl` does not say all of main and agents, or of system and messages")]
    TtlOpen,
    /// A marker for five minutes in front of one for an hour.
    #[error(
        "the service refuses an hour on messages after five minutes on the system prompt ({})",
        Refusal::TtlOrder.name()
    )]
    TtlOrder,
    /// More than four markers.
    #[error(
        "the service refuses {count} markers, the most is {MOST_MARKERS} ({})",
        Refusal::TooManyBreakpoints.name()
    )]
    TooManyMarkers {
        /// So many.
        count: u64,
    },
    /// A key that is about what is cached, where nothing is.
    #[error("`{0}` has nothing to act on, since `markers` is \"none\"")]
    NothingCached(&'static str),
    /// Two ways of managing the context.
    #[error("a conversation is kept small in one way; `context` names several")]
    SeveralManagements,
    /// What a threshold follows from, where one is given.
    #[error("`{0}` has nothing to act on, since `threshold` is given")]
    ThresholdGiven(&'static str),
    /// A window that is full before anything was said.
    #[error(
        "a window of {window} tokens has no room left beside `reserve` and `buffer`; give a larger \
         `window`, or smaller ones of these"
    )]
    NothingFits {
        /// The window.
        window: u64,
    },
    /// What stands for deferred tools, where none is.
    #[error("`{0}` needs `prompt.deferred_tools`")]
    NothingDeferred(&'static str),
    /// A key about pings without the one that says how often.
    #[error("`{0}` needs `keepalive.every`")]
    NoInterval(&'static str),
    /// Pings without an end.
    #[error("`keepalive.every` needs `keepalive.limit`: how long a conversation may be idle")]
    NoLimit,
    /// Pings that end before the first.
    #[error("`keepalive.limit` is below `keepalive.every`: there would be no ping")]
    LimitBelowInterval,
    /// Pings that find nothing.
    #[error(
        "each ping would be a full write: `keepalive.every` is {:#}, and entries live for {}",
        SignedDuration::from_millis(*every), ttl.name()
    )]
    IntervalBeyondTtl {
        /// From ping to ping, in milliseconds.
        every: i64,
        /// The TTL of what is pinged; the longest there is where it is as recorded.
        ttl: Ttl,
    },
    /// A flood of pings.
    #[error("{0} pings while a conversation is idle; the most is {MOST_PINGS}")]
    TooManyPings(i64),
}

/// The most pings of an idle conversation: about one a minute for a week.
pub(super) const MOST_PINGS: i64 = 10_080;

impl Contradiction {
    /// The key that the error points at, where it is given.
    pub(super) fn key(self) -> &'static str {
        match self {
            Self::SetTwice(key)
            | Self::NothingCached(key)
            | Self::ThresholdGiven(key)
            | Self::NothingDeferred(key)
            | Self::NoInterval(key) => key,
            Self::TtlOpen | Self::TtlOrder => "ttl",
            Self::SeveralManagements | Self::NothingFits { .. } => "context",
            Self::TooManyMarkers { .. } => "markers",
            Self::NoLimit | Self::IntervalBeyondTtl { .. } => "keepalive.every",
            Self::LimitBelowInterval | Self::TooManyPings(_) => "keepalive.limit",
        }
    }
}
