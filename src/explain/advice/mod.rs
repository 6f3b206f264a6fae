//! Advice: changes in one ranked list, to lifetimes, context size, causes of breaks, pings, sub-agents,
//! markers and prompts.
//!
//! A candidate is a `Design` with nothing but its own change, and words. Two are merged by `Design::with`.
//! All start from the simulated record with its breaks (`as-recorded`), and one ledger tries each alone. The
//! search is greedy: candidates that save enough are ranked, then tried again on top of the changes before
//! them, subject by subject, and the best of several rivals is applied. So an entry's saving is the
//! difference of two simulations, no dollar is saved twice, and the sum is the saving of all changes
//! together.
//!
//! A prevented break is a `Repair` (`requests/prompt/trace.rs`): the request also looks for the last entry of
//! its predecessor, on a path that is not its own, and loses the record of the break. It does so under any
//! policy and context management, unless the management itself changes the prefix there. Patterns only
//! contribute words.

mod advise;
mod bill;
mod bodies;
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
    /// Name in machine formats: a strategy's, a cause's, or one of its own.
    pub code: &'static str,
    /// Name for people, beginning with a verb.
    pub label: &'static str,
    /// Observation in the requests, in a sentence.
    pub observation: String,
    /// Action to take, in a sentence.
    pub advice: String,
    /// Role that can make the change.
    pub who: Who,
    /// Setting, variable or command of Claude Code, with the version that has it.
    pub setting: Option<&'static str>,
    /// Field of the request, for builders of agents.
    pub field: Option<&'static str>,
    /// Assumption of the saving.
    pub assumption: String,
    /// Confidence in the cause, for a change about one.
    pub confidence: Option<Confidence>,
    /// True if only an unknown part of the simulated loss can be avoided.
    pub is_at_most: bool,
    /// Requests that show it most clearly.
    pub evidence: Vec<RequestIndex>,
}

/// A change that may be worth a line, with its simulation.
#[derive(Clone, Debug)]
struct ChangeCandidate {
    change: Change,
    /// Subject of the change: of several rivals for one, only one is applied.
    subject: Subject,
    /// Design with this change and nothing else.
    design: Design,
}

/// A change that somebody can choose, before it is looked for in the requests.
struct Way {
    /// Name of the strategy.
    code: &'static str,
    label: &'static str,
    /// Setting of Claude Code that makes the change; without one it is up to the agent's builder.
    setting: Option<&'static str>,
    field: &'static str,
    subject: Subject,
    design: Design,
}

impl Way {
    fn candidate(
        self,
        observation: String,
        assumption: String,
        evidence: Vec<RequestIndex>,
    ) -> ChangeCandidate {
        let change = Change {
            code: self.code,
            label: self.label,
            observation,
            advice: format!("{}.", self.label),
            who: if self.setting.is_some() { Who::User } else { Who::Builder },
            setting: self.setting,
            field: Some(self.field),
            assumption,
            confidence: None,
            is_at_most: false,
            evidence,
        };
        ChangeCandidate { change, subject: self.subject, design: self.design }
    }
}

/// Subject of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Subject {
    /// Lifetimes of entries.
    Lifetimes,
    /// Size of contexts.
    Context,
    Pings,
    /// Places of markers.
    Markers,
    /// Order of the system prompt.
    SystemPrompt,
    /// A subject without rivals.
    Own(&'static str),
}
