//! One file for each command.

mod analyze;
mod breaks;
mod compare;
mod context;
mod fork;
mod lint;
mod place;
mod prices;
mod redact;
mod verify;

pub(super) use analyze::analyze;
pub(super) use breaks::breaks;
pub(super) use compare::compare;
pub(super) use context::context;
pub(super) use fork::fork;
pub(super) use lint::lint;
pub(super) use place::place;
pub(super) use prices::prices;
pub(super) use redact::redact;
pub(super) use verify::verify;
