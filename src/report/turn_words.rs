//! What happened at a request, in a few words; and what its sub-agent is called.

use std::collections::{BTreeMap, BTreeSet};

use super::number::{duration, tokens};
use crate::analysis::{Event, Turn};
use crate::cache::Refusal;
use crate::conversation::{History, Request};
use crate::id::Symbol;
use crate::ledger::Session;
use crate::ttl::Ttl;

/// Ids of sub-agents up to this length are shown whole.
const WHOLE_ID: usize = 16;

/// Longer ones at least so far.
const SHORT_ID: usize = 8;

/// What stands in front of the id of a side conversation without a name.
const SIDECHAIN: &str = "sidechain:";

/// What happened at a request, the most important first, and whether it would be refused.
pub(super) fn what_happened(
    history: &History,
    request: &Request,
    turn: &Turn,
    refusal: Option<Refusal>,
) -> String {
    let refused = refusal.map(|refusal| format!("refused: {}", refusal.name()));
    let words = turn.events.iter().map(|event| match event {
        Event::Opening => "first of its chain".to_owned(),
        Event::ModelChange => format!("now {}", history.symbols.text(request.model)),
        Event::Compaction => "compaction".to_owned(),
        Event::Microcompaction => "old tool results cleared".to_owned(),
        Event::ThinkingDropped => "earlier thinking dropped".to_owned(),
        Event::Rewrite => "prompt shrank".to_owned(),
        Event::Restart => "another first message".to_owned(),
        Event::Expired(gap, ttl) => expired(*gap, *ttl),
        Event::Break(shortfall) => format!("break: {} not read", tokens(*shortfall)),
        Event::OneStepBehind(last) => format!("{} of the last write not read", tokens(*last)),
        Event::BackgroundWrite(extra) => format!("+{} by a background request", tokens(*extra)),
        Event::UncachedTail(tail) => format!("{} after the last marker", tokens(*tail)),
        Event::Rewound => "later rewound".to_owned(),
    });
    refused.into_iter().chain(words).collect::<Vec<_>>().join("; ")
}

/// What happened under the first of some columns, and which of the others expired otherwise. Each column
/// has a name, and the same turn as it makes it.
pub(super) fn what_happened_beside(
    history: &History,
    columns: &[(&str, Turn)],
    refusal: Option<Refusal>,
) -> String {
    let Some((_, turn)) = columns.first() else { return String::new() };
    let request = history.request(turn.request);
    let expired = || columns.iter().filter_map(|(name, turn)| Some((*name, expiry(turn)?)));
    // Where all expired alike, or one column is shown, the words of the first say it.
    let is_alike = expired().count() == columns.len();
    let Some((_, gap)) = expired().next().filter(|_| !is_alike) else {
        return what_happened(history, request, turn, refusal);
    };
    let is_expiry = |event: &&Event| matches!(event, Event::Expired(..));
    let others = turn.events.iter().filter(|event| !is_expiry(event)).cloned().collect();
    let rest = Turn { events: others, ..turn.clone() };
    let rest = what_happened(history, request, &rest, refusal);
    let names: Vec<&str> = expired().map(|(name, _)| name).collect();
    let expired = format!("expired under {} ({})", names.join(", "), duration(gap));
    let words = [expired, rest].into_iter().filter(|words| !words.is_empty());
    words.collect::<Vec<_>>().join("; ")
}

/// How long after the request before it came, where it came too late.
pub(super) fn expiry(turn: &Turn) -> Option<i64> {
    turn.events.iter().find_map(|event| match event {
        Event::Expired(gap, _) => Some(*gap),
        _ => None,
    })
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
