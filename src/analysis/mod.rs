//! What the ledger shows: how well the rules reproduce the record, and what happened at each
//! request.

mod turn;
mod verify;

pub use turn::{Event, Turn, turns};
pub use verify::{Agreement, Coverage, Dollars, Expiries, Verification, Worst, verify};
