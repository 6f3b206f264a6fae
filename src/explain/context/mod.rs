//! Where the context comes from: what each kind of content held of the prompts, and what carrying
//! it cost.
//!
//! Each prompt is a list of segments that add up to its recorded total. The recorded split into
//! read, written and input cuts that list by position, so the figures of the kinds add up to the
//! usage and to its cost, exactly.

mod captured;
mod carry;
mod changes;
mod growth;
mod kind;
mod segment;
mod session;
mod whole;
mod window;

pub use carry::{Carrying, Charge};
pub use kind::Kind;
pub use session::{Bill, CarriedItem, KindTotals, SessionContext};
pub use whole::{Context, context};
pub use window::{Window, Windows, windows};
