//! A budget.

use std::fmt;

use super::limit::Limit;
use super::metric::{BreakKinds, LintKinds, Metric};
use super::selector::Selector;

/// What happens where a limit is not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// It is said.
    Warn,
    /// The run fails.
    Fail,
}

impl Level {
    /// Every level.
    pub const ALL: [Self; 2] = [Self::Warn, Self::Fail];

    /// The word in files and outputs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Warn => "warn",
            Self::Fail => "fail",
        }
    }
}

/// A figure and what it is held to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Budget {
    /// What it is called in outputs; no other has the same name.
    pub name: String,
    /// The figure.
    pub metric: Metric,
    /// What it is held to.
    pub limit: Limit,
    /// What happens where it is not kept.
    pub level: Level,
    /// What to say then.
    pub message: Option<String>,
    /// Which requests it is about.
    pub selector: Selector,
    /// Which breaks count.
    pub breaks: BreakKinds,
    /// Which findings count.
    pub lint: LintKinds,
    /// Whether nobody asked for it: where it does not apply, it is left out.
    pub is_default: bool,
    /// Where it stands in its file, in bytes.
    pub offset: usize,
}

impl Budget {
    /// One on everything that fails the run.
    pub(super) fn new(metric: Metric, limit: Limit) -> Self {
        Self {
            name: String::new(),
            metric,
            limit,
            level: Level::Fail,
            message: None,
            selector: Selector::default(),
            breaks: BreakKinds::default(),
            lint: LintKinds::default(),
            is_default: false,
            offset: 0,
        }
    }
}

impl fmt::Display for Budget {
    /// The figure and the limit: `cost_per_session at most $0.8000 (model claude-opus-*)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.metric.name, self.limit)?;
        match self.selector.to_string() {
            selector if selector.is_empty() => Ok(()),
            selector => write!(f, " ({selector})"),
        }
    }
}
