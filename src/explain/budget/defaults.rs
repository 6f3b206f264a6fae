//! What is checked where nobody has said what.

use rust_decimal::Decimal;

use super::amount::{Amount, Unit};
use super::definition::{Budget, Level};
use super::limit::{Change, Limit};
use super::metric::{BreakKinds, LintKinds, Metric};
use crate::explain::lint::Severity;

/// The budgets of a run without any of its own: requests that the service refuses fail it; with a
/// baseline, sessions that cost over 5 % more do. The rest warns: unstable prefixes, and breaks that
/// nobody expects and that make up more than a tenth of the cost.
#[must_use]
pub fn defaults(has_baseline: bool) -> Vec<Budget> {
    let percent = |percent: u32| Change::Relative(Decimal::from(percent));
    let none = Amount { value: Decimal::ZERO, unit: Unit::Count };
    let tenth = Amount { value: Decimal::TEN, unit: Unit::Percent };
    let points = Amount { value: Decimal::TWO, unit: Unit::Percent };
    let mut budgets = vec![
        Budget {
            lint: LintKinds { severity: Severity::Error, ..LintKinds::default() },
            message: Some("The service refuses these requests.".to_owned()),
            ..budget("refused requests", "lint_findings", Limit::Max(none), Level::Fail)
        },
        Budget {
            lint: LintKinds { severity: Severity::Warning, ..LintKinds::default() },
            ..budget("unstable prefixes", "lint_findings", Limit::Max(none), Level::Warn)
        },
        Budget {
            breaks: BreakKinds::unexpected(),
            ..budget("cost of unexpected breaks", "breaks_share", Limit::Max(tenth), Level::Warn)
        },
    ];
    if has_baseline {
        let increase = |change| Limit::MaxIncrease(change);
        budgets.extend([
            budget("cost", "cost", increase(percent(5)), Level::Fail),
            budget("cost of a session", "cost_per_session", increase(percent(5)), Level::Fail),
            budget(
                "hit rate",
                "hit_rate",
                Limit::MaxDecrease(Change::Absolute(points)),
                Level::Warn,
            ),
            Budget {
                breaks: BreakKinds::unexpected(),
                ..budget(
                    "unexpected breaks",
                    "breaks",
                    increase(Change::Absolute(none)),
                    Level::Warn,
                )
            },
            budget(
                "prefix variants",
                "prefix_variants",
                increase(Change::Absolute(none)),
                Level::Warn,
            ),
        ]);
    }
    budgets
}

/// # Panics
/// Never: the names above are those of metrics.
fn budget(name: &str, metric: &str, limit: Limit, level: Level) -> Budget {
    let metric = Metric::by_name(metric).expect("the name of a metric");
    Budget { name: name.to_owned(), level, is_default: true, ..Budget::new(metric, limit) }
}
