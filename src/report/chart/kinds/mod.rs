//! What each kind of chart shows: the ledger and its analyses → charts as data.

mod breaks;
mod context;
mod cost;
mod daily;
mod gaps;
mod notes;
mod strategies;
mod turns;
mod waterfall;

pub use breaks::breaks_chart;
pub use context::{WINDOW_KINDS, context_chart};
pub use cost::cost_chart;
pub use daily::daily_chart;
pub use gaps::gaps_chart;
pub use notes::dearest_session;
pub use strategies::{UNDRAWN_STRATEGY, strategies_chart};
pub use turns::turns_chart;
pub use waterfall::waterfall_chart;
