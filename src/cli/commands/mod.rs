//! One file for each command.

mod analyze;
mod breaks;
mod chart;
mod check;
mod compare;
mod completions;
mod config;
mod context;
mod explain;
mod fork;
mod lint;
mod man;
mod place;
mod prices;
mod redact;
mod report;
mod schema;
mod verify;

pub(super) use analyze::analyze;
pub(super) use breaks::breaks;
pub(super) use chart::chart;
pub(super) use check::check;
pub(super) use compare::compare;
pub(super) use completions::completions;
pub(super) use config::config;
pub(super) use context::context;
pub(super) use explain::explain;
pub(super) use fork::fork;
pub(super) use lint::lint;
pub(super) use man::man;
pub(super) use place::place;
pub(super) use prices::prices;
pub(super) use redact::redact;
pub(super) use report::report;
pub(super) use schema::schema;
pub(super) use verify::verify;
