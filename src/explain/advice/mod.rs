//! What to change, in one ranked list: lifetimes, context size, causes of breaks, pings, sub-agents,
//! markers, prompts.
//!
//! Each change is a design of the requests. All begin from the record as it is simulated, with its
//! breaks; each is tried alone, and then one after the other on top of those before, so that no dollar
//! is saved twice and the sum is what all together save.
//!
//! A candidate is a `Design` of what it changes alone, with words; two are merged by
//! `Design::with`. All begin from `as-recorded`, and are tried alone by one ledger of all of them;
//! those that save enough are ranked, and then tried once more on top of what stands, subject by
//! subject, of rivals the one that saves most at its turn. So an entry's saving is a difference of
//! two simulations, and the sum is that of the first and the last. A break that does not happen is
//! a `Repair` (`requests/prompt/trace.rs`): the request also looks for the last entry of the one
//! before it, on a path that is not its own, and loses what was recorded of the break. It does so
//! under any policy and context management, save where the management itself changes the prefix
//! there. Patterns lend their words, and have no figures here.

mod advise;
mod causes;
mod change;
mod context;
mod lifetimes;
mod prompts;
mod requests;
mod seen;

pub use advise::{Advice, Entry};
pub use change::{Change, Who};
