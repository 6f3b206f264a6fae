//! Where the context comes from: what each kind of content held of the prompts, and what carrying
//! it cost.
//!
//! Each prompt is a list of segments that add up to its recorded total. The recorded split into
//! read, written and input cuts that list by position, so the figures of the kinds add up to the
//! usage and to its cost, exactly.
//!
//! A prompt is a path through a tree of segments (`explain/context/segment.rs`), each what one
//! item (a result, a text, an answer) holds of it, so that the requests of a conversation and its
//! branches share what they have in common; a session has a tree of its own. A prompt grows out of
//! its predecessor's (`growth.rs`) by the answer's recorded output and by what the client added;
//! pieces share in that by their bytes, and where it is more than twice what they can have, the
//! rest is unattributed. What a prompt that shrank had read is as it was; after that its segments
//! lose (cleared results first where results were cleared, answers where thinking was dropped), as
//! new segments of the same items. A compaction keeps the hidden prefix and what its lines say it
//! kept; where lines name what changed (`changes.rs`), just that loses or goes; another tokenizer
//! scales everything; a sub-agent whose first request read just what a request of its session had
//! cached goes on from that one. The recorded split cuts the path by position (`carry.rs`): a
//! request leaves a note at the last segment of each class and takes it off at the one in front of
//! the first, found by far pointers in O(log n), and one pass adds the notes up. So the sums are
//! the usage exactly, and no estimate can change them.

mod captured;
mod carry;
mod changes;
mod growth;
mod segment;
mod session;
mod window;

pub use carry::{Carrying, Charge};
pub use segment::Kind;
pub use session::{Bill, CarriedItem, Context, KindTotals, SessionContext, context};
pub use window::{Window, Windows, windows};
