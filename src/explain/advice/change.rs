//! A change that would have saved something.
//!
//! A change that may be worth it.

use schemars::JsonSchema;
use serde::Serialize;

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

/// Who can make a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Who {
    /// The user of a client, by a setting or by how it is used.
    User,
    /// Who builds the agent that sends the requests.
    Builder,
    /// Nobody but the service.
    Nobody,
}

impl Who {
    /// The word for people.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::User => "you",
            Self::Builder => "the agent's builder",
            Self::Nobody => "nobody",
        }
    }
}

/// A change that may be worth it, and how it is simulated.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) change: Change,
    /// What it is about; of rivals for one subject only one is made.
    pub(super) subject: Subject,
    /// What it does differently, and nothing else.
    pub(super) design: Design,
}

/// What a change is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subject {
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
