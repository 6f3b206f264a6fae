//! Messages of a hook to the user of Claude Code.
//!
//! The client shows them and sends them nowhere.

use serde_json::json;

use super::{dollars, duration};
use crate::base::{Picodollars, Tokens, grouped};
use crate::explain::breaks::Cause;

/// A warning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookNote {
    /// A message finds nothing of its prompt in the cache.
    Cold {
        /// The message.
        message: ColdMessage,
        /// Size of the prompt.
        prompt: Tokens,
        /// Cost if the prompt were cached.
        warm: Picodollars,
        /// Cost now.
        cold: Picodollars,
    },
    /// A request read less than it could have.
    Broke {
        /// Cause of the break.
        cause: Cause,
        /// Extra cost of the break.
        excess: Picodollars,
        /// Time since the request was sent, in milliseconds.
        ago: i64,
    },
}

/// Message that finds nothing in the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColdMessage {
    /// First message of a resumed session.
    Next,
    /// Message that is being sent.
    This,
    /// Request for a summary.
    Summary,
}

impl HookNote {
    /// Message in the JSON form that the client shows.
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
