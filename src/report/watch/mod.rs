//! Output of `watch`: events as lines for people and as `cachesim.event/v1` for programs, and a table of the open
//! sessions.

mod event;
mod event_json;
mod table;

pub use event::{WatchEvent, WatchEventKind, WatchedNames, WatchedSession};
#[cfg(test)]
pub(super) use event_json::{EventObject, SCHEMA};
pub use table::{OpenSession, WatchTable, watch_table};
