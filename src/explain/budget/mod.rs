//! Budgets: limits of the figures of a run, and of their change against a baseline.
//!
//! ```toml
//! [[budget]]
//! metric = "cost_per_session"
//! max = "0.80 USD"
//! level = "fail"                       # or "warn"
//! message = "Ask before a session costs more than this."
//! model = "claude-opus-*"              # only these; also project, files, strategy
//! ```
//!
//! A budget has a metric, a limit, and a selection of requests. The budgets of a run without any of its own
//! are here, too.

mod amount;
mod metric;
mod read;

pub use amount::{Amount, Unit};
pub use metric::{BreakKinds, LintKinds, Metric, Quantity, Scope};
pub use read::KEYS as BUDGET_KEYS;
pub(crate) use read::read;

use std::collections::BTreeSet;
use std::fmt;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use rust_decimal::Decimal;
use serde::Serialize;

use crate::base::{Refusal, words};
use crate::explain::lint::Severity;

words! {
    /// Effect of an exceeded limit.
    pub enum BudgetLevel {
        /// It is reported.
        Warn = "warn";
        /// The run fails.
        Fail = "fail";
    }
}

/// A figure, with its limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Name in outputs, which no other budget has.
    pub name: String,
    /// Figure that is limited.
    pub metric: Metric,
    /// Limit of the figure.
    pub limit: Limit,
    /// Effect of an exceeded limit.
    pub level: BudgetLevel,
    /// Text to print if the limit is exceeded.
    pub message: Option<String>,
    /// Requests that the budget covers.
    pub selector: Selector,
    /// Breaks that count.
    pub breaks: BreakKinds,
    /// Findings that count.
    pub lint: LintKinds,
    /// Names of parts and settings that may change, for a budget on unlisted changes.
    pub listed: Vec<String>,
    /// Refusals that a budget on a cost allows.
    pub allow_refused: BTreeSet<Refusal>,
    /// True for a default, which is left out if it does not apply.
    pub is_default: bool,
    /// Offset in the file, in bytes.
    pub offset: usize,
}

impl Budget {
    /// A budget on everything, which fails the run.
    pub(crate) fn new(metric: Metric, limit: Limit) -> Self {
        Self {
            name: String::new(),
            metric,
            limit,
            level: BudgetLevel::Fail,
            message: None,
            selector: Selector::default(),
            breaks: BreakKinds::default(),
            lint: LintKinds::default(),
            listed: Vec::new(),
            allow_refused: BTreeSet::new(),
            is_default: false,
            offset: 0,
        }
    }
}

impl fmt::Display for Budget {
    /// Writes the figure and the limit: `cost_per_session at most $0.8000 (model claude-opus-*)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.metric.name, self.limit)?;
        match self.selector.to_string() {
            selector if selector.is_empty() => Ok(()),
            selector => write!(f, " ({selector})"),
        }
    }
}

/// A pattern for names: `*` is anything but a `/`, `**` anything, `?` one character, `{a,b}` either
/// of several.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(inline))]
#[serde(transparent)]
pub struct NamePattern {
    text: String,
    /// Set with one glob: unlike a single matcher, a set reports a glob that cannot be compiled.
    #[serde(skip)]
    matcher: GlobSet,
}

/// Length of the longest pattern in bytes, which limits how deeply braces can nest.
const MOST_BYTES: usize = 256;

/// A selection of requests: all of them if no field is set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "SelectorObject"))]
pub struct Selector {
    /// Pattern of projects: as much of the end of a folder as distinguishes it from others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<NamePattern>,
    /// Pattern of the ids of sessions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<NamePattern>,
    /// Pattern of models.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<NamePattern>,
    /// Pattern of files, relative to the given paths.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<NamePattern>,
    /// Strategy whose figures count: by default the record, or its replay if something is not recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strategy: Option<String>,
}

impl NamePattern {
    /// Parses a pattern.
    ///
    /// # Errors
    /// The text is longer than 256 bytes, or not a valid glob.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.len() > MOST_BYTES {
            return Err(format!("it is longer than {MOST_BYTES} bytes"));
        }
        let problem = |error: globset::Error| error.kind().to_string();
        let glob = GlobBuilder::new(text).literal_separator(true).build().map_err(problem)?;
        let matcher = GlobSetBuilder::new().add(glob).build().map_err(problem)?;
        Ok(Self { text: text.to_owned(), matcher })
    }

    /// Returns true if a name matches.
    pub fn matches(&self, name: &str) -> bool {
        self.matcher.is_match(name)
    }

    /// Pattern as written.
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl PartialEq for NamePattern {
    fn eq(&self, other: &Self) -> bool {
        // A `GlobSet` cannot be compared; equal texts match the same names.
        self.text() == other.text()
    }
}

impl Eq for NamePattern {}

impl Selector {
    /// Returns true if the selection has only some of the requests.
    pub fn is_partial(&self) -> bool {
        // `strategy` chooses other figures of the same requests.
        [&self.project, &self.session, &self.model, &self.files].iter().any(|part| part.is_some())
    }

    /// Returns true if a session is selected.
    pub fn has_session(&self, id: &str, project: Option<&str>) -> bool {
        let has_project = |pattern: &NamePattern| project.is_some_and(|name| pattern.matches(name));
        self.session.as_ref().is_none_or(|pattern| pattern.matches(id))
            && self.project.as_ref().is_none_or(has_project)
    }

    /// Returns true if a request of a selected session is selected.
    pub fn has_request(&self, model: &str, file: &str) -> bool {
        self.model.as_ref().is_none_or(|pattern| pattern.matches(model))
            && self.files.as_ref().is_none_or(|pattern| pattern.matches(file))
    }
}

impl fmt::Display for Selector {
    /// Writes the selection, as `model claude-opus-*, files a/**`, or nothing if everything is selected.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let patterns = [
            ("project", &self.project),
            ("session", &self.session),
            ("model", &self.model),
            ("files", &self.files),
        ];
        let mut parts: Vec<String> = patterns
            .into_iter()
            .filter_map(|(name, pattern)| Some(format!("{name} {}", pattern.as_ref()?.text())))
            .collect();
        parts.extend(self.strategy.iter().map(|strategy| format!("strategy {strategy}")));
        f.write_str(&parts.join(", "))
    }
}

/// Limit of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// At most this.
    Max(Amount),
    /// At least this.
    Min(Amount),
    /// At most this much above the baseline.
    MaxIncrease(LimitChange),
    /// At most this much below the baseline.
    MaxDecrease(LimitChange),
}

/// Change of a figure that a limit allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitChange {
    /// Per cent of the baseline's figure.
    Relative(Decimal),
    /// Change in the figure's own unit; for a share in percentage points.
    Absolute(Amount),
}

impl Limit {
    /// Key of each kind, for files and outputs.
    pub const KEYS: [&'static str; 4] = ["max", "min", "max_increase", "max_decrease"];

    /// Key of the limit in files and outputs.
    pub fn key(self) -> &'static str {
        match self {
            Self::Max(_) => "max",
            Self::Min(_) => "min",
            Self::MaxIncrease(_) => "max_increase",
            Self::MaxDecrease(_) => "max_decrease",
        }
    }

    /// Returns true if the limit refers to a baseline.
    pub fn needs_baseline(self) -> bool {
        matches!(self, Self::MaxIncrease(_) | Self::MaxDecrease(_))
    }

    /// Returns true if a figure keeps the limit, or `None` if the limit refers to a baseline and there is
    /// none.
    pub fn is_kept(self, figure: Decimal, baseline: Option<Decimal>) -> Option<bool> {
        Some(match self {
            Self::Max(most) => figure <= most.value,
            Self::Min(least) => figure >= least.value,
            Self::MaxIncrease(change) => {
                let baseline = baseline?;
                figure <= baseline.checked_add(change.of(baseline)?)?
            }
            Self::MaxDecrease(change) => {
                let baseline = baseline?;
                figure >= baseline.checked_sub(change.of(baseline)?)?
            }
        })
    }
}

impl LimitChange {
    /// Change in the figure's unit.
    fn of(self, baseline: Decimal) -> Option<Decimal> {
        match self {
            Self::Relative(percent) => {
                baseline.checked_mul(percent)?.checked_div(Decimal::ONE_HUNDRED)
            }
            Self::Absolute(amount) => Some(amount.value),
        }
    }
}

impl fmt::Display for LimitChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Relative(percent) => write!(f, "{} %", percent.normalize()),
            Self::Absolute(Amount { value, unit: Unit::Percent }) => {
                write!(f, "{} points", value.normalize())
            }
            Self::Absolute(amount) => f.write_str(&amount.exact()),
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Max(most) => write!(f, "at most {}", most.exact()),
            Self::Min(least) => write!(f, "at least {}", least.exact()),
            Self::MaxIncrease(change) => write!(f, "at most {change} more than the baseline"),
            Self::MaxDecrease(change) => write!(f, "at most {change} less than the baseline"),
        }
    }
}

/// Budgets of a run without any of its own.
///
/// Refused requests fail it, and so do, with a baseline, costs over 5 % higher, of all sessions or of one.
/// Unstable prefixes, and unexpected breaks that make up more than a tenth of the cost, give a warning.
pub fn defaults(has_baseline: bool) -> Vec<Budget> {
    let (fail, warn) = (BudgetLevel::Fail, BudgetLevel::Warn);
    let none = Amount { value: Decimal::ZERO, unit: Unit::Count };
    let tenth = Amount { value: Decimal::TEN, unit: Unit::Percent };
    let points = Amount { value: Decimal::TWO, unit: Unit::Percent };
    let mut budgets = vec![
        Budget {
            lint: LintKinds { severity: Severity::Error, ..LintKinds::default() },
            message: Some("The service refuses these requests.".to_owned()),
            ..budget("refusals", Metric::LINT_FINDINGS, Limit::Max(none), fail)
        },
        Budget {
            lint: LintKinds { severity: Severity::Warning, ..LintKinds::default() },
            ..budget("unstable prefixes", Metric::LINT_FINDINGS, Limit::Max(none), warn)
        },
        Budget {
            breaks: BreakKinds::unexpected(),
            ..budget("cost of unexpected breaks", Metric::BREAKS_SHARE, Limit::Max(tenth), warn)
        },
    ];
    if has_baseline {
        let dearer = Limit::MaxIncrease(LimitChange::Relative(Decimal::from(5_u32)));
        let more = Limit::MaxIncrease(LimitChange::Absolute(none));
        let lower = Limit::MaxDecrease(LimitChange::Absolute(points));
        budgets.extend([
            budget("cost", Metric::COST, dearer, fail),
            budget("cost of a session", Metric::COST_PER_SESSION, dearer, fail),
            budget("hit rate", Metric::HIT_RATE, lower, warn),
            Budget {
                breaks: BreakKinds::unexpected(),
                ..budget("unexpected breaks", Metric::BREAKS, more, warn)
            },
            budget("prefix variants", Metric::PREFIX_VARIANTS, more, warn),
        ]);
    }
    budgets
}

/// Budget against lost input that the baseline has not.
pub(crate) fn no_more_damage() -> Budget {
    let none = LimitChange::Absolute(Amount { value: Decimal::ZERO, unit: Unit::Count });
    let limit = Limit::MaxIncrease(none);
    Budget {
        message: Some("What was lost may be what costs more.".to_owned()),
        ..budget("damaged input", Metric::DAMAGED_PLACES, limit, BudgetLevel::Fail)
    }
}

fn budget(name: &str, metric: Metric, limit: Limit, level: BudgetLevel) -> Budget {
    Budget { name: name.to_owned(), level, is_default: true, ..Budget::new(metric, limit) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(text: &str) -> Decimal {
        Decimal::from_str_exact(text).expect("a number")
    }

    #[test]
    fn limits_hold_to_the_last_digit() {
        let most = Limit::Max(Amount::parse("$0.80").expect("an amount"));
        assert_eq!(most.is_kept(decimal("0.80"), None), Some(true));
        assert_eq!(most.is_kept(decimal("0.800000000001"), None), Some(false));
        let seven = Limit::MaxIncrease(LimitChange::Relative(decimal("7")));
        assert_eq!(seven.is_kept(decimal("1.07"), Some(Decimal::ONE)), Some(true));
        assert_eq!(seven.is_kept(decimal("1.070000000001"), Some(Decimal::ONE)), Some(false));
        assert_eq!(seven.is_kept(decimal("0.1"), Some(Decimal::ZERO)), Some(false), "from nothing");
        assert_eq!(seven.is_kept(Decimal::ONE, None), None, "nobody knows");
        let points = Amount::parse("2 points").expect("an amount");
        let points = Limit::MaxDecrease(LimitChange::Absolute(points));
        assert_eq!(points.is_kept(decimal("68"), Some(decimal("70"))), Some(true));
        assert_eq!(points.is_kept(decimal("67.9"), Some(decimal("70"))), Some(false));
        assert_eq!(points.to_string(), "at most 2 points less than the baseline");
    }
}
