//! What reading any of the program's TOML files has in common: where something stands, in which order
//! keys were written, and how a value is called in a message.

mod position;
mod written;

pub(crate) use position::line_and_column;
pub(crate) use written::{entries, found, quoted, written};
