//! Events of watched sessions, as lines for people.

use serde::{Serialize, Serializer};

use super::super::status_line::{StatusOfNext, cents, known_cents, left_for};
use super::super::{SessionNames, dollars, terminal_safe, tokens};
use crate::base::{ByKey, KnownSum, Millis, Picodollars, ProjectNaming, Symbols, Tokens, Zone};
use crate::explain::breaks::Cause;
use crate::follow::{About, FileChange};

/// An event of a watched session.
#[derive(Clone, Debug)]
pub struct WatchEvent<'a> {
    /// Start time of the request of a break; for other events the time at which they were noticed.
    pub at: Millis,
    /// Session of the event; `None` for an event of all sessions.
    pub session: Option<WatchedSession<'a>>,
    /// Kind of the event, with its figures.
    pub kind: WatchEventKind,
}

/// A session, or the file of a sub-agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatchedSession<'a> {
    /// Name of the file, without the ending.
    pub file: &'a str,
    /// Session and project by its requests; `None` before the first one.
    pub about: Option<&'a About>,
}

/// Kind of an event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "WhatObject"))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum WatchEventKind {
    /// The session continued, or exists at the start; its figures now.
    Session {
        /// Cost of the session.
        #[serde(flatten, serialize_with = "write_cost")]
        #[cfg_attr(test, schemars(with = "CostObject"))]
        cost: KnownSum,
        /// Number of requests.
        requests: u64,
        /// Tokens of the prompts that were read from cache.
        #[serde(rename = "read_tokens")]
        read: Tokens,
        /// Tokens of the prompts.
        #[serde(rename = "prompt_tokens")]
        prompt: Tokens,
        /// State for the next message, if it is known.
        next: Option<StatusOfNext>,
    },
    /// A request read less than it could have.
    Break {
        /// Cause of the break.
        cause: Cause,
        /// Cost beyond that of reading, in dollars; unknown if the model has no price.
        #[serde(rename = "excess_usd")]
        excess: Option<Picodollars>,
    },
    /// The cache entries of the session have expired.
    Cold {
        /// Cost that the next message would have had before, in dollars; unknown if the model has no price.
        #[serde(rename = "warm_usd")]
        warm: Option<Picodollars>,
        /// Cost of the next message now.
        #[serde(rename = "cold_usd")]
        cold: Option<Picodollars>,
    },
    /// Today's spending exceeds the budget.
    Budget {
        /// Cost of the watched sessions today, in dollars, without requests whose model has no price.
        #[serde(rename = "today_usd", serialize_with = "write_sum")]
        #[cfg_attr(test, schemars(with = "Picodollars"))]
        today: KnownSum,
        /// Budget of a day.
        #[serde(rename = "budget_usd")]
        budget: Picodollars,
    },
    /// The file changed other than by growth.
    File {
        /// Kind of the change.
        change: FileChange,
        /// Error if it cannot be read.
        error: Option<String>,
    },
}

/// Partly known cost.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct CostObject {
    /// Cost in dollars, without requests whose model has no price.
    cost_usd: Picodollars,
    /// True if requests whose model has no price are left out.
    is_partial: bool,
}

fn write_cost<S: Serializer>(cost: &KnownSum, serializer: S) -> Result<S::Ok, S::Error> {
    CostObject { cost_usd: cost.sum, is_partial: cost.unknown > 0 }.serialize(serializer)
}

fn write_sum<S: Serializer>(cost: &KnownSum, serializer: S) -> Result<S::Ok, S::Error> {
    cost.sum.serialize(serializer)
}

/// Short names of sessions and projects.
#[derive(Debug)]
pub struct WatchedNames {
    symbols: Symbols,
    naming: ProjectNaming,
}

impl WatchedNames {
    /// Names, with projects named in this way.
    pub fn by(naming: ProjectNaming) -> Self {
        Self { symbols: Symbols::default(), naming }
    }

    /// Names of the sessions, each as short as is distinct.
    pub fn of(&self, sessions: &[WatchedSession<'_>]) -> Vec<String> {
        let ids = sessions.iter().map(WatchedSession::id);
        let names = SessionNames::of_ids(&self.symbols, ids);
        let projects = self.projects(sessions);
        let named = sessions.iter().map(|session| {
            let project = session.project().and_then(|path| projects.get(path));
            let name = names.of_id(session.id());
            let name = match session.agent() {
                Some(agent) => format!("{name} agent {agent}"),
                None => name,
            };
            let project = project.map(|project| format!(" {project}")).unwrap_or_default();
            terminal_safe(&(name + &project)).into_owned()
        });
        named.collect()
    }

    /// Names of the projects of these sessions, by their folders.
    pub(super) fn projects<'a>(&self, sessions: &[WatchedSession<'a>]) -> ByKey<&'a str, String> {
        let mut paths: Vec<&str> = sessions.iter().filter_map(WatchedSession::project).collect();
        // Names grow until paths differ, so that a path given twice would have a needlessly long one.
        paths.sort_unstable();
        paths.dedup();
        let names = self.naming.of_paths(&paths);
        paths.into_iter().zip(names).collect()
    }
}

impl<'a> WatchedSession<'a> {
    pub(super) fn id(&self) -> &'a str {
        // Before its first request only the name of the file is known.
        self.about.map_or(self.file, |about| &about.session)
    }

    pub(super) fn agent(&self) -> Option<&'a str> {
        self.about?.agent.as_deref()
    }

    pub(super) fn project(&self) -> Option<&'a str> {
        self.about?.project.as_deref()
    }
}

impl WatchEvent<'_> {
    /// The event on a line for people, with the name of its session, and its day if it is not that of `now`.
    pub fn line(&self, name: &str, zone: &Zone, now: Millis) -> String {
        let of = if name.is_empty() { String::new() } else { format!("{name}: ") };
        let is_of_today = zone.day(self.at) == zone.day(now);
        let at = if is_of_today { zone.time(self.at) } else { zone.short_moment(self.at) };
        let line = format!("{at} {of}{}", self.kind.text());
        terminal_safe(&line).into_owned()
    }
}

impl WatchEventKind {
    fn text(&self) -> String {
        match self {
            Self::Session { cost, next, .. } => {
                let mut parts = vec![format!("cost {}", known_cents(*cost))];
                if let Some(next) = next {
                    parts.push(next_text(next));
                    parts.push(format!("{} tokens", tokens(next.prompt)));
                }
                parts.join(" · ")
            }
            Self::Break { cause, excess } => format!(
                "the cache broke, {} more than reading: {}",
                dollars(*excess),
                cause.meaning()
            ),
            Self::Cold { warm, cold } => format!(
                "the cache expired; the next message costs {} instead of {}",
                dollars(*cold),
                dollars(*warm)
            ),
            Self::Budget { today, budget } => {
                format!("today cost {}, more than {}", known_cents(*today), cents(*budget))
            }
            Self::File { change, error } => match change {
                FileChange::Shortened => "its file became shorter, and was read again".to_owned(),
                FileChange::Replaced => {
                    "its file was replaced by another, which was read again".to_owned()
                }
                FileChange::Rewritten => "its file was rewritten, and was read again".to_owned(),
                FileChange::Gone => "its file is gone".to_owned(),
                FileChange::Unreadable => {
                    format!("its file cannot be read: {}", error.as_deref().unwrap_or_default())
                }
            },
        }
    }
}

/// State of the next message: `warm 41m, next $0.12 (cold $1.31)`.
fn next_text(next: &StatusOfNext) -> String {
    if next.left > 0 {
        let (warm, cold) = (dollars(next.warm), dollars(next.cold));
        format!("warm {}, next {warm} (cold {cold})", left_for(next.left))
    } else {
        format!("cold, next {}", dollars(next.cold))
    }
}
