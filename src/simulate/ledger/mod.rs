//! The one table everything after the simulator reads: for each request and strategy, its tokens
//! and their exact cost. Rollups add up its rows and nothing else.

mod book;
mod breakdown;
mod expiry;
mod filter;
mod names;
mod row;
mod selection;
mod totals;

pub use book::{Ledger, ManagedColumn, StrategyColumn};
pub use breakdown::Breakdown;
pub use expiry::Expiry;
pub use filter::{Filter, FilterError, MAIN_AGENT};
pub use row::Row;
pub use selection::{Selection, Session};
pub use totals::Totals;
