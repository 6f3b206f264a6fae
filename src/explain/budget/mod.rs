//! Budgets: what a run may cost, and by how much it may change against a baseline.
//!
//! ```toml
//! [[budget]]
//! metric = "cost_per_session"
//! max = "0.80 USD"
//! level = "fail"                       # or "warn"
//! message = "Ask before a session costs more than this."
//! model = "claude-opus-*"              # only these; also project, files, strategy
//! ```

mod amount;
mod definition;
mod metric;
mod read;

pub use amount::{Amount, Unit};
pub use definition::{Budget, Change, Level, Limit, Pattern, Selector, defaults};
pub use metric::{BreakKinds, LintKinds, Metric, Quantity, Scope};
pub use read::KEYS as BUDGET_KEYS;
pub(crate) use read::read;
