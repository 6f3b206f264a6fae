//! What a hook tells the user of Claude Code: a message that the client shows and sends nowhere.

use serde_json::json;

use super::number::{dollars, duration};
use crate::base::units::{Picodollars, Tokens};
use crate::base::wording::grouped;
use crate::explain::breaks::Cause;

/// A warning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookNote {
    /// A message finds nothing of its prompt in the cache.
    Cold {
        /// Which one.
        message: ColdMessage,
        /// The size of the prompt.
        prompt: Tokens,
        /// What it would have cost.
        warm: Picodollars,
        /// What it costs.
        cold: Picodollars,
    },
    /// A request read less than it could have.
    Broke {
        /// Why.
        cause: Cause,
        /// What it cost more.
        excess: Picodollars,
        /// How long ago it was sent, in milliseconds.
        ago: i64,
    },
}

/// A message that finds nothing in the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColdMessage {
    /// The first one of a session that is resumed.
    Next,
    /// The one that is being sent.
    This,
    /// The request for a summary.
    Summary,
}

impl HookNote {
    /// The message in the form that the client shows.
    #[must_use]
    pub fn to_json(self) -> String {
        json!({ "systemMessage": self.text(), "suppressOutput": true }).to_string()
    }

    fn text(self) -> String {
        match self {
            Self::Cold { message, prompt, warm, cold } => {
                let (prompt, warm, cold) =
                    (grouped(prompt.0), dollars(Some(warm)), dollars(Some(cold)));
                let (what, instead) = match message {
                    ColdMessage::Next => {
                        ("the next message", "/clear or a new session starts small.")
                    }
                    ColdMessage::This => {
                        ("this message", "Next time, /clear or a new session starts small.")
                    }
                    ColdMessage::Summary => {
                        ("the summary", "/clear or a new session needs no summary.")
                    }
                };
                format!(
                    "cachesim: {what} finds nothing of this conversation in the cache: {prompt} tokens cost {cold} \
                     instead of {warm}. {instead}"
                )
            }
            Self::Broke { cause, excess, ago } => format!(
                "cachesim: the cache broke {} ago (as far as the session shows, {}); it cost {} more than reading.",
                duration(ago.max(0)),
                cause.meaning(),
                dollars(Some(excess)),
            ),
        }
    }
}
