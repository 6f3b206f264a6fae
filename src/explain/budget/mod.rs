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
mod defaults;
mod definition;
mod limit;
mod metric;
mod read;
mod selector;

pub use amount::{Amount, Unit};
pub use defaults::defaults;
pub use definition::{Budget, Level};
pub use limit::{Change, Limit};
pub use metric::{BreakKinds, LintKinds, Metric, Quantity, Scope};
pub use read::KEYS as BUDGET_KEYS;
pub(crate) use read::read;
pub use selector::{Pattern, Selector};
