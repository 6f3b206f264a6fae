//! `cachesim.event/v1`: a line for each event of `watch`.

use std::io::{self, Write};

#[cfg(test)]
use schemars::JsonSchema;
use serde::Serialize;

use super::super::json::write_line;
use super::super::status_line::{Amount, StatusOfNext};
use super::event::{WatchEvent, WatchEventKind, WatchedNames};
use crate::base::units::{Millis, Picodollars, Tokens};
use crate::explain::breaks::Cause;
use crate::follow::FileChange;

pub(in crate::report) const SCHEMA: &str = "cachesim.event/v1";

#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(in crate::report) struct EventObject<'a> {
    /// The format and its version.
    schema: &'static str,
    /// When the request of a break was sent; of all else when it was noticed.
    at: Millis,
    /// The session; null of what is of all sessions.
    session_id: Option<&'a str>,
    /// The sub-agent; null in a main conversation.
    agent_id: Option<&'a str>,
    /// The name of the project, as far as it is recorded.
    project: Option<&'a str>,
    /// What happened.
    event: WhatObject,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
enum WhatObject {
    /// The session went on, or is there at the start. These are its figures now.
    Session {
        /// What it cost, in dollars, without requests whose model has no price.
        cost_usd: Picodollars,
        /// Whether requests whose model has no price are left out.
        is_partial: bool,
        /// Its requests.
        requests: u64,
        /// The tokens of its prompts that were read from the cache.
        read_tokens: Tokens,
        /// The tokens of its prompts.
        prompt_tokens: Tokens,
        /// What the next message finds; null where that is not known.
        next: Option<NextObject>,
    },
    /// A request read less than it could have.
    Break {
        /// Why.
        cause: Cause,
        /// What that cost beyond reading, in dollars; null where the model has no price.
        excess_usd: Option<Picodollars>,
    },
    /// What the session left in the cache is not found any more.
    Cold {
        /// What the next message would have cost, in dollars; null where the model has no price.
        warm_usd: Option<Picodollars>,
        /// What it costs; null where the model has no price.
        cold_usd: Option<Picodollars>,
    },
    /// More was spent today than is planned.
    Budget {
        /// What the watched sessions cost today, in dollars, without requests whose model has no price.
        today_usd: Picodollars,
        /// What is planned.
        budget_usd: Picodollars,
    },
    /// The file became another.
    File {
        /// How.
        change: ChangeObject,
        /// Why it cannot be read; null of other changes.
        error: Option<String>,
    },
}

/// What the next message finds, and what it costs.
#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
struct NextObject {
    /// For how many more seconds its prompt can be read, down to 0.
    warm_s: u64,
    /// The tokens of the next prompt, without what is typed.
    tokens: Tokens,
    /// The most tokens that the model takes; null where that is not known.
    window_tokens: Option<Tokens>,
    /// What it costs as long as the prompt can be read, in dollars; null where the model has no price.
    warm_usd: Option<Picodollars>,
    /// What it costs after that; null where the model has no price.
    cold_usd: Option<Picodollars>,
    /// What a request for a summary costs as long as the prompt can be read, with a summary of an assumed size; null where
    /// the model has no price.
    compact_warm_usd: Option<Picodollars>,
    /// What it costs after that; null where the model has no price.
    compact_cold_usd: Option<Picodollars>,
}

/// What became of a file.
#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
enum ChangeObject {
    Shortened,
    Replaced,
    Rewritten,
    Gone,
    Unreadable,
}

impl WatchEvent<'_> {
    /// Writes the event for programs, as a line.
    ///
    /// # Errors
    /// Writing fails.
    pub fn write_json(&self, names: &WatchedNames, out: &mut dyn Write) -> io::Result<()> {
        let session = self.session.as_slice();
        let projects = names.projects(session);
        let [session] = session else { return write_line(&self.object(None), out) };
        let project = session.project().and_then(|path| projects.get(path));
        write_line(&self.object(project.map(String::as_str)), out)
    }

    fn object<'a>(&'a self, project: Option<&'a str>) -> EventObject<'a> {
        let session = self.session;
        EventObject {
            schema: SCHEMA,
            at: self.at,
            session_id: session.map(|session| session.id()),
            agent_id: session.and_then(|session| session.agent()),
            project,
            event: what(&self.kind),
        }
    }
}

fn what(kind: &WatchEventKind) -> WhatObject {
    match kind {
        WatchEventKind::Session { cost, requests, read_of_prompts, next } => WhatObject::Session {
            cost_usd: cost.known,
            is_partial: cost.is_partial,
            requests: *requests,
            read_tokens: read_of_prompts.0,
            prompt_tokens: read_of_prompts.1,
            next: next.map(next_object),
        },
        WatchEventKind::Break { cause, excess } => {
            WhatObject::Break { cause: *cause, excess_usd: *excess }
        }
        WatchEventKind::Cold { warm, cold } => {
            WhatObject::Cold { warm_usd: *warm, cold_usd: *cold }
        }
        WatchEventKind::Budget { today: Amount { known, .. }, budget } => {
            WhatObject::Budget { today_usd: *known, budget_usd: *budget }
        }
        WatchEventKind::File(change) => file(change),
    }
}

fn next_object(next: StatusOfNext) -> NextObject {
    let StatusOfNext { left, prompt, warm, cold, compaction: [compact_warm, compact_cold], window } =
        next;
    NextObject {
        warm_s: u64::try_from(left / 1_000).unwrap_or(0),
        tokens: prompt,
        window_tokens: window,
        warm_usd: warm,
        cold_usd: cold,
        compact_warm_usd: compact_warm,
        compact_cold_usd: compact_cold,
    }
}

fn file(change: &FileChange) -> WhatObject {
    let (change, error) = match change {
        FileChange::Shortened => (ChangeObject::Shortened, None),
        FileChange::Replaced => (ChangeObject::Replaced, None),
        FileChange::Rewritten => (ChangeObject::Rewritten, None),
        FileChange::Gone => (ChangeObject::Gone, None),
        FileChange::Unreadable(why) => (ChangeObject::Unreadable, Some(why.clone())),
    };
    WhatObject::File { change, error }
}
