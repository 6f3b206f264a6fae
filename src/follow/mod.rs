//! Sessions that are still being written: settled requests, and the additions when a file grows.
//!
//! A file of 150 MB is read once. Later looks read its end only, from a line a good part of a megabyte before the first
//! request that may still change. A part of a file gives the same figures as the whole only if nothing in it depends on
//! earlier lines. So a part is believed if
//!
//! - the file is the one that was read (its inode), and the bytes from there to the first open request are the same (their
//!   hash),
//! - its settled requests have the figures that were recorded before, and as many of its lines are mended,
//! - every open request follows one in it, of the same model, and is not a second answer to a settled one,
//! - it shows no break that needs the whole file to judge.
//!
//! So a file that is cut, replaced or rewritten is read again as a whole. An edit in place, before that line and
//! without making the file shorter, is not noticed: no client does that.
//!
//! In all other cases the whole file is read again. The start for later looks moves only to a line from which the part
//! gives the same figures as a longer part.

mod follower;
mod part;
mod seen;
mod state;
mod watched;

pub use follower::{FollowError, Follower, WindowSize};
pub use seen::{About, Billed, FoundBreak, Next};
pub use state::Followed;
pub use watched::{FileChange, Happening, Look, Watched};
