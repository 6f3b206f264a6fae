//! `check`, `init`, the action, and attacks on them.

#[cfg(unix)] // its steps are run by bash
pub(crate) mod action;
mod attacks;
mod check;
mod fields;
mod init;
mod pairs;
