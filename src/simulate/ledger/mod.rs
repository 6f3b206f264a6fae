//! The one table everything after the simulator reads: for each request and strategy, its tokens
//! and their exact cost. Rollups add up its rows and nothing else.

mod book;
mod expiry;
mod filter;
mod selection;
mod totals;

pub use book::{Ledger, ManagedColumn, StrategyColumn};
pub use expiry::Expiry;
pub use filter::{Filter, FilterError, MAIN_AGENT};
pub use selection::{Selection, Session};
pub use totals::{Breakdown, Row, Totals};
