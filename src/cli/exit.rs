//! The exit codes, which scripts rely on.

/// Done. Damage in the input without `--strict`, and a closed pipe, are done, too.
pub(super) const DONE: u8 = 0;
/// A gate failed: an expression of `compare --fail-if` holds.
pub(super) const GATE_FAILED: u8 = 1;
/// The command line cannot be understood, or what it names cannot be written.
pub(super) const USAGE: u8 = 2;
/// There was no usable input.
pub(super) const NO_INPUT: u8 = 3;
/// Input was damaged, under `--strict`.
pub(super) const DAMAGED_INPUT: u8 = 4;
/// A model had no price, under `--strict-prices`.
pub(super) const NO_PRICE: u8 = 5;
/// A bug in this program.
pub(super) const BUG: u8 = 70;
