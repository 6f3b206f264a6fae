//! Each command from its arguments to its output; what only tells about the program stands in `about`.

mod about;
mod advise;
mod analyze;
mod breaks;
mod chart;
mod check;
mod compare;
mod context;
mod explain;
mod fork;
mod lint;
mod place;
mod redact;
mod report;
mod verify;

pub(super) use about::{completions, config, man, prices, schema, strategies};
pub(super) use advise::advise;
pub(super) use analyze::analyze;
pub(super) use breaks::breaks;
pub(super) use chart::chart;
pub(super) use check::check;
pub(super) use compare::compare;
pub(super) use context::context;
pub(super) use explain::explain;
pub(super) use fork::fork;
pub(super) use lint::lint;
pub(super) use place::place;
pub(super) use redact::redact;
pub(super) use report::report;
pub(super) use verify::verify;
