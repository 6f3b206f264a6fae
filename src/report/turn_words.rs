//! What happened at a request, in a few words; and what its sub-agent is called.

use std::collections::{BTreeMap, BTreeSet};
use std::mem::discriminant;

use super::number::{duration, tokens};
use crate::base::id::Symbol;
use crate::base::ttl::Ttl;
use crate::explain::analysis::{Event, Turn};
use crate::requests::conversation::{History, RequestIndex};
use crate::simulate::cache::Refusal;
use crate::simulate::ledger::Session;

/// Ids of sub-agents up to this length are shown whole.
const WHOLE_ID: usize = 16;

/// Longer ones at least so far.
const SHORT_ID: usize = 8;

/// What stands in front of the id of a side conversation without a name.
const SIDECHAIN: &str = "sidechain:";

/// What happened at a request under some columns that stand side by side, the most important first. Each
/// column has a name, and the same turn as it makes it. What happened under some of them alone says which.
pub(super) fn what_happened_beside(
    history: &History,
    columns: &[(&str, Turn)],
    refused: Option<String>,
) -> String {
    let Some((_, first)) = columns.first() else { return String::new() };
    let mut words: Vec<String> = refused.into_iter().collect();
    for event in events_beside(columns) {
        let names =
            columns.iter().filter(|(_, turn)| turn.events.iter().any(|one| is_like(one, event)));
        let names: Vec<&str> = names.map(|(name, _)| *name).collect();
        let is_alike = !is_of_cache(event) || names.len() == columns.len();
        let under = if is_alike { String::new() } else { format!(" under {}", names.join(", ")) };
        words.push(match event {
            Event::Expired(gap, _) if !is_alike => format!("expired{under} ({})", duration(*gap)),
            Event::Break(shortfall) => {
                format!("break{under}: {} tokens not read", tokens(*shortfall))
            }
            Event::OneStepBehind(last) => {
                format!("{} tokens of the last write not read{under}", tokens(*last))
            }
            event => words_of(history, first.request, event),
        });
    }
    words.join("; ")
}

/// That a request would be refused, and why; of several columns, under which.
pub(super) fn refused_beside(columns: &[(&str, Option<Refusal>)]) -> Option<String> {
    let refused = || columns.iter().filter_map(|(name, refusal)| Some((*name, (*refusal)?)));
    let (_, refusal) = refused().next()?;
    let names: Vec<&str> = refused().map(|(name, _)| name).collect();
    if names.len() == columns.len() {
        return Some(format!("refused: {}", refusal.label()));
    }
    Some(format!("refused under {}: {}", names.join(", "), refusal.label()))
}

/// What the first column has, and what the cache made of the request in others. What expired comes first.
fn events_beside<'c>(columns: &'c [(&str, Turn)]) -> Vec<&'c Event> {
    let mut events: Vec<&Event> = Vec::new();
    for (place, (_, turn)) in columns.iter().enumerate() {
        for event in &turn.events {
            let is_meant = place == 0 || is_of_cache(event);
            if is_meant && !events.iter().any(|one| is_like(one, event)) {
                events.push(event);
            }
        }
    }
    events.sort_by_key(|event| !matches!(event, Event::Expired(..)));
    events
}

/// Whether the cache did it and not the conversation, so that columns may differ in it.
fn is_of_cache(event: &Event) -> bool {
    matches!(event, Event::Expired(..) | Event::Break(_) | Event::OneStepBehind(_))
}

/// Whether two columns have the same happen, however much of it.
fn is_like(one: &Event, other: &Event) -> bool {
    discriminant(one) == discriminant(other)
}

/// What happened, in a few words.
fn words_of(history: &History, index: RequestIndex, event: &Event) -> String {
    match event {
        Event::Opening => "first of its chain".to_owned(),
        Event::ModelChange => format!("now {}", history.model(index)),
        Event::Compaction => "compaction".to_owned(),
        Event::Microcompaction => "old tool results cleared".to_owned(),
        Event::ThinkingDropped => "earlier thinking dropped".to_owned(),
        Event::Rewrite => "prompt shrank".to_owned(),
        Event::Restart => "another first message".to_owned(),
        Event::Expired(gap, ttl) => expired(*gap, *ttl),
        Event::Break(shortfall) => format!("break: {} tokens not read", tokens(*shortfall)),
        Event::OneStepBehind(last) => {
            format!("{} tokens of the last write not read", tokens(*last))
        }
        Event::BackgroundWrite(extra) => {
            format!("+{} tokens by a background request", tokens(*extra))
        }
        Event::UncachedTail(tail) => format!("{} tokens after the last marker", tokens(*tail)),
        Event::Rewound => "later rewound".to_owned(),
    }
}

/// A gap that was longer than a lifetime.
pub(super) fn expired(gap: i64, ttl: Ttl) -> String {
    format!("expired ({} > {})", duration(gap), ttl.name())
}

/// The names of a session's sub-agents: of long ids as few characters as tell all of them apart.
pub(super) fn agent_names(history: &History, session: &Session) -> BTreeMap<Symbol, String> {
    let agents = session.requests.iter().filter_map(|index| history.request(*index).agent);
    let ids: BTreeMap<Symbol, Vec<char>> =
        agents.map(|agent| (agent, name_of(history, agent).chars().collect())).collect();
    let cut = |id: &[char], length: usize| -> String {
        let kept = if id.len() <= WHOLE_ID { id.len() } else { length.min(id.len()) };
        id[..kept].iter().collect()
    };
    let longest = ids.values().map(Vec::len).max().unwrap_or_default();
    let are_apart = |length: &usize| {
        let names: BTreeSet<String> = ids.values().map(|id| cut(id, *length)).collect();
        names.len() == ids.len()
    };
    let length = (SHORT_ID..longest).find(are_apart).unwrap_or(longest);
    ids.iter().map(|(agent, id)| (*agent, cut(id, length))).collect()
}

/// The name of a sub-agent. That of a side conversation is its own id.
fn name_of(history: &History, agent: Symbol) -> &str {
    let name = history.symbols.text(agent);
    name.strip_prefix(SIDECHAIN).unwrap_or(name)
}
