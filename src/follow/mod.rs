//! A session while it is written: what of it is settled, and what its file adds when it grows.
//!
//! A file of 150 MB is read once. After that its end is: from a line a good part of a megabyte before the first
//! request that may still change. What a part of a file says is what the whole file says only where nothing in it
//! depends on earlier lines. So a part is believed where
//!
//! - the file is the one that was read (its inode), and the bytes from there to the first open request are the same (their
//!   hash),
//! - it shows the settled requests in it with the figures that are settled, and mends as many lines,
//! - every open request follows one in it, of the same model, and is no second answer to a settled one,
//! - it shows no break that the whole file was not asked about.
//!
//! So a file that is cut, replaced or written anew is read anew. One that is edited in place, before that line and without
//! becoming shorter, is not noticed: no client does that.
//!
//! Everywhere else the whole file is read again. Where reading goes on later is moved only to a line from which the
//! part says what more of the file says.

mod follower;
mod part;
mod seen;
mod state;
mod watched;

pub use follower::{FollowError, Follower, WindowSize};
pub use seen::{About, Billed, FoundBreak, Next};
pub use state::Followed;
pub use watched::{FileChange, Happening, Look, Watched};
