//! What to change, in one ranked list: lifetimes, context size, causes of breaks, pings, sub-agents,
//! markers, prompts.
//!
//! Each change is a design of the requests. All begin from the record as it is simulated, with its
//! breaks; each is tried alone, and then one after the other on top of those before, so that no dollar
//! is saved twice and the sum is what all together save.

mod advise;
mod candidate;
mod causes;
mod change;
mod context;
mod lifetimes;
mod prompts;
mod remedy;
mod requests;
mod seen;
mod trials;

pub use advise::{Advice, Entry};
pub use change::{Change, Who};
