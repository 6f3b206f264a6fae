//! `cachesim.event/v1`: a line for each event of `watch`.

use std::io::{self, Write};

#[cfg(test)]
use schemars::JsonSchema;
use serde::Serialize;

use super::super::json::write_line;
use super::super::status_line::StatusOfNext;
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
    /// Start of a break's request; for other events the time of notice.
    at: Millis,
    /// Session id; null for events of all sessions.
    session_id: Option<&'a str>,
    /// Sub-agent id; null in a main conversation.
    agent_id: Option<&'a str>,
    /// Name of the project, if recorded.
    project: Option<&'a str>,
    /// The event.
    event: WhatObject,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
enum WhatObject {
    /// The session continued, or is there at the start, with its figures now.
    Session {
        /// Its cost in dollars, without requests whose model has no price.
        cost_usd: Picodollars,
        /// True if requests whose model has no price are left out.
        is_partial: bool,
        /// Its requests.
        requests: u64,
        /// Tokens of its prompts that were read from the cache.
        read_tokens: Tokens,
        /// Tokens of its prompts.
        prompt_tokens: Tokens,
        /// State for the next message; null if that is not known.
        next: Option<NextObject>,
    },
    /// A request read less than it could have.
    Break {
        /// Why.
        cause: Cause,
        /// Cost beyond reading, in dollars; null if the model has no price.
        excess_usd: Option<Picodollars>,
    },
    /// The cache entries of the session have expired.
    Cold {
        /// Cost of the next message before, in dollars; null if the model has no price.
        warm_usd: Option<Picodollars>,
        /// Its cost now; null if the model has no price.
        cold_usd: Option<Picodollars>,
    },
    /// Today's spending exceeds the plan.
    Budget {
        /// Cost of the watched sessions today, in dollars, without requests whose model has no price.
        today_usd: Picodollars,
        /// Planned amount.
        budget_usd: Picodollars,
    },
    /// The file was changed.
    File {
        /// Kind.
        change: ChangeObject,
        /// Read error; null for other changes.
        error: Option<String>,
    },
}

/// State and costs of the next message.
#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
struct NextObject {
    /// Seconds for which its prompt can still be read, down to 0.
    warm_s: u64,
    /// Tokens of the next prompt, without new text.
    tokens: Tokens,
    /// Most tokens that the model takes; null if that is not known.
    window_tokens: Option<Tokens>,
    /// Its cost as long as the prompt can be read, in dollars; null if the model has no price.
    warm_usd: Option<Picodollars>,
    /// Its cost after that; null if the model has no price.
    cold_usd: Option<Picodollars>,
    /// Cost of a request for a summary as long as the prompt can be read, with a summary of an assumed size; null if
    /// the model has no price.
    compact_warm_usd: Option<Picodollars>,
    /// Its cost after that; null if the model has no price.
    compact_cold_usd: Option<Picodollars>,
}

/// Change of a file.
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
            cost_usd: cost.sum,
            is_partial: cost.unknown > 0,
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
        WatchEventKind::Budget { today, budget } => {
            WhatObject::Budget { today_usd: today.sum, budget_usd: *budget }
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
