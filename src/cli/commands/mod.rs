//! One file for each command.

mod analyze;
mod prices;
mod verify;

pub(super) use analyze::analyze;
pub(super) use prices::prices;
pub(super) use verify::verify;
