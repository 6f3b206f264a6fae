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
//!
//! A change that would have saved something.
//!
//! A change that may be worth it.

mod advise;
mod causes;
mod context;
mod lifetimes;
mod prompts;
mod requests;
mod seen;

pub use crate::explain::breaks::Who;
pub use advise::{Advice, AdviceEntry};

use crate::explain::breaks::Confidence;
use crate::requests::conversation::RequestIndex;
use crate::simulate::strategy::Design;

/// A change that would have saved something, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Its name in machine formats: a strategy's, a cause's, or one of its own.
    pub code: &'static str,
    /// Its name for people, verb first.
    pub label: &'static str,
    /// What was seen, in a sentence.
    pub observation: String,
    /// What to do, in a sentence.
    pub advice: String,
    /// Who can do it.
    pub who: Who,
    /// The setting, variable or command of Claude Code, with the version that has it.
    pub setting: Option<&'static str>,
    /// The field of the request, for who builds an agent.
    pub field: Option<&'static str>,
    /// What its saving takes for granted.
    pub assumption: String,
    /// How sure the cause is, of a change that is about one.
    pub confidence: Option<Confidence>,
    /// Whether it avoids only a part that nobody can tell of what is simulated.
    pub is_at_most: bool,
    /// The requests that show it most clearly.
    pub evidence: Vec<RequestIndex>,
}

/// A change that may be worth it, and how it is simulated.
#[derive(Clone, Debug)]
struct ChangeCandidate {
    change: Change,
    /// What it is about; of rivals for one subject only one is made.
    subject: Subject,
    /// What it does differently, and nothing else.
    design: Design,
}

/// What a change is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Subject {
    /// How long entries live.
    Lifetimes,
    /// How large contexts become.
    Context,
    /// Pings.
    Pings,
    /// Where markers stand.
    Markers,
    /// The order of the system prompt.
    SystemPrompt,
    /// Something that no other change is about.
    Own(&'static str),
}
