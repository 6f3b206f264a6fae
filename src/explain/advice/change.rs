//! A change that would have saved something.

use schemars::JsonSchema;
use serde::Serialize;

use crate::explain::breaks::Confidence;
use crate::requests::conversation::RequestIndex;

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
