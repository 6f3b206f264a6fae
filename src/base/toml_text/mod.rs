//! What reading any of the program's TOML files has in common: where something stands, in which order
//! keys were written, and how a value is called in a message.

mod fault;
mod position;
mod written;

pub use fault::TomlError;
pub(crate) use fault::{Fault, refuse_unknown_keys, text, texts};
pub(crate) use position::line_and_column;
pub(crate) use written::{entries, found, quoted, written};
