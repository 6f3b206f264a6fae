//! What to change, in one ranked list: lifetimes, context size, causes of breaks, pings,
//! sub-agents, markers, prompts.
//!
//! A candidate is a `Design` of only what it changes, with words. Two are merged by `Design::with`.
//! All start from the simulated record with its breaks (`as-recorded`), and one ledger tries each
//! alone. Those that save enough are ranked, then tried again on top of the changes before them,
//! subject by subject, and the best of several rivals is applied. So an entry's saving is the
//! difference of two simulations, no dollar is saved twice, and the sum is what all changes save
//! together.
//!
//! A prevented break is a `Repair` (`requests/prompt/trace.rs`): the request also looks for the
//! last entry of its predecessor, on a path that is not its own, and loses what was recorded of the
//! break. It does so under any policy and context management, unless the management itself changes
//! the prefix there. Patterns only contribute words.

mod advise;
mod bill;
mod causes;
mod context;
mod lifetimes;
mod prompts;
mod requests;
mod seen;
mod setting;

pub use crate::explain::breaks::Who;
pub use advise::{Advice, AdviceEntry, FirstAdvice};
pub use bill::Bill;
pub use setting::{ClientSetting, SettingValue};

use crate::explain::breaks::Confidence;
use crate::requests::conversation::RequestIndex;
use crate::simulate::strategy::Design;

/// A change that would have saved something, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Its name in machine formats: a strategy's, a cause's, or one of its own.
    pub code: &'static str,
    /// Its name for people, beginning with a verb.
    pub label: &'static str,
    /// What was seen, in a sentence.
    pub observation: String,
    /// What to do, in a sentence.
    pub advice: String,
    /// Who can do it.
    pub who: Who,
    /// The setting, variable or command of Claude Code, with the version that has it.
    pub setting: Option<&'static str>,
    /// The field of the request, for builders of agents.
    pub field: Option<&'static str>,
    /// What its saving assumes.
    pub assumption: String,
    /// How certain the cause is, for a change about one.
    pub confidence: Option<Confidence>,
    /// Whether only an unknown part of what is simulated can be avoided.
    pub is_at_most: bool,
    /// The requests that show it most clearly.
    pub evidence: Vec<RequestIndex>,
}

/// A change that may be worth it, and how it is simulated.
#[derive(Clone, Debug)]
struct ChangeCandidate {
    change: Change,
    /// What it is about. Only one of several rivals for a subject is applied.
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
    /// A subject without rivals.
    Own(&'static str),
}
