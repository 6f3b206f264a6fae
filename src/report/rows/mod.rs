//! Rows: what the ledger and the breaks are for programs, and the files that hold rows.

pub(super) mod breaks;
pub(super) mod csv;
pub(super) mod ledger;
