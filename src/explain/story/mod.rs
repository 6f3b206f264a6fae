//! The story of one request: what it sent, what was cached before it, and what every policy made of it.

mod locate;
mod telling;

pub use locate::{LocateError, Located, locate};
pub use telling::{Cached, NewContent, Story, Under, story};
