//! Origin of requests: the file in which a request began, if several have it.
//!
//! Resumed and forked sessions copy lines of the session that they continue. A request counts once, for the
//! file in which it began: one whose line is not marked as a copy, otherwise the file whose own requests
//! (those that no other file has) start first. A file without own requests was copied as a whole and comes
//! before the others.
//!
//! Also the types of sub-agents, from notes on lines.

use std::collections::hash_map::Entry;

use rustc_hash::{FxHashMap, FxHashSet};

use super::{FileResponse, ResponseKey};
use crate::base::{EntryId, Millis, Symbol};
use crate::read::transcript::AgentNote;

/// Response, by its index among those of all files.
type Place = usize;

/// Places of each response, by key.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// First place of each, in 32 bits, as there is one for every response.
    first: FxHashMap<ResponseKey, u32>,
    /// All places of the responses that are in several.
    several: FxHashMap<ResponseKey, Vec<Place>>,
    /// Keys of responses without a `requestId`, by their message and first line: a session that continues
    /// with copied lines has a name of its own.
    of_lines: FxHashMap<(Option<Symbol>, EntryId), ResponseKey>,
    /// The same by their message and time: some copies get new ids for their lines.
    of_moments: FxHashMap<(Option<Symbol>, Millis), ResponseKey>,
    /// Numbers of responses without a `requestId` so far, by the key of the first.
    numbers: FxHashMap<ResponseKey, u32>,
}

impl Places {
    /// Makes room for this number of places.
    pub(super) fn expect(&mut self, places: usize) {
        self.first.reserve(places);
    }

    /// Key of a response among those of all files.
    ///
    /// A message id alone is no proof, as some gateways give every answer the same; together with the same
    /// line or time it proves a copy.
    pub(super) fn key_of(&mut self, response: &FileResponse) -> ResponseKey {
        let ResponseKey::Session(_, message, ..) = response.key else { return response.key };
        let line = response.first_entry.map(|entry| (message, entry));
        let moment = response.lines.first_timestamp.map(|at| (message, at));
        let of_line = line.and_then(|line| self.of_lines.get(&line));
        let of_moment = || moment.and_then(|moment| self.of_moments.get(&moment));
        let known = of_line.or_else(of_moment).copied();
        let has_place = line.is_some() || moment.is_some();
        let key = known.unwrap_or_else(|| self.numbered(response.key, has_place));
        self.of_lines.extend(line.map(|line| (line, key)));
        self.of_moments.extend(moment.map(|moment| (moment, key)));
        key
    }

    /// Key of a response that no other file has. Without a place of its own nothing tells it from others.
    fn numbered(&mut self, key: ResponseKey, has_place: bool) -> ResponseKey {
        let ResponseKey::Session(session, message, model, number) = key else { return key };
        let first = ResponseKey::Session(session, message, model, 0);
        let next = self.numbers.entry(first).or_default();
        let number = if has_place { number.max(*next) } else { number };
        *next = number.saturating_add(1).max(*next);
        ResponseKey::Session(session, message, model, number)
    }

    /// Adds a place after those before.
    ///
    /// # Panics
    /// Never in practice: there would need to be 2³² responses.
    pub(super) fn add(&mut self, key: ResponseKey, place: Place) {
        match self.first.entry(key) {
            Entry::Vacant(first) => {
                first.insert(u32::try_from(place).expect("fewer than 2^32 responses"));
            }
            Entry::Occupied(first) => {
                let places = self.several.entry(key);
                places.or_insert_with(|| vec![*first.get() as usize]).push(place);
            }
        }
    }

    /// Places under the keys of their originals, for copies that lost their `requestId`.
    pub(super) fn with_lost_ids(self, responses: &mut [FileResponse]) -> Self {
        if self.of_lines.is_empty() && self.of_moments.is_empty() {
            return self;
        }
        let line = |response: &FileResponse| Some((response.lines.message, response.first_entry?));
        let moment = |response: &FileResponse| {
            Some((response.lines.message, response.lines.first_timestamp?))
        };
        let named = || responses.iter().filter(|one| matches!(one.key, ResponseKey::Request(..)));
        let of_lines = named().filter_map(|one| Some((line(one)?, one.key)));
        let of_lines: FxHashMap<_, _> = of_lines.collect();
        let of_moments = named().filter_map(|one| Some((moment(one)?, one.key)));
        let of_moments: FxHashMap<_, _> = of_moments.collect();
        let mut places = Self::default();
        for (place, response) in responses.iter_mut().enumerate() {
            if let ResponseKey::Session(..) = response.key {
                let of_line = line(response).and_then(|line| of_lines.get(&line));
                let of_moment = || moment(response).and_then(|moment| of_moments.get(&moment));
                let known = of_line.or_else(of_moment).copied();
                response.key = known.unwrap_or(response.key);
            }
            places.add(response.key, place);
        }
        places
    }

    /// Places of the responses that are in several, without the dropped ones.
    fn shared(self, copies: &Copies) -> FxHashMap<ResponseKey, Vec<Place>> {
        let mut shared = self.several;
        shared.retain(|_, places| {
            places.retain(|place| copies.is_origin(*place));
            places.len() > 1
        });
        shared
    }
}

/// Copies of responses, with the place at which each counts.
#[derive(Debug, Default)]
pub(super) struct Copies {
    /// Origin of a response that is a copy.
    origin: FxHashMap<Place, Place>,
    /// Responses that are not requests of their own.
    dropped: FxHashSet<Place>,
    /// Number of responses that were dropped because they count elsewhere.
    pub(super) duplicates: u64,
    /// Responses of a side conversation that repeat one of the main conversation.
    pub(super) replays: Vec<Place>,
}

impl Copies {
    pub(super) fn is_origin(&self, place: Place) -> bool {
        !self.dropped.contains(&place)
    }

    pub(super) fn origin_of(&self, place: Place) -> Place {
        self.origin.get(&place).copied().unwrap_or(place)
    }
}

/// Finds the responses that count once though they occur several times.
///
/// `other_messages` have lines of their own but are not requests.
pub(super) fn find_copies(
    responses: &[FileResponse],
    places: Places,
    other_messages: &[Symbol],
    files: usize,
) -> Copies {
    let mut copies = Copies::default();
    drop_nested_copies(responses, other_messages, &mut copies);
    let shared = places.shared(&copies);
    drop_replays(responses, &mut copies);
    drop_later_copies(responses, &shared, files, &mut copies);
    copies
}

impl Copies {
    /// Completes answers of which a copy has more: a fork may begin in the middle of one.
    pub(super) fn complete(&self, responses: &mut [FileResponse]) {
        for (copy, origin) in &self.origin {
            let (copy, origin) = (*copy, *origin);
            if responses[copy].key != responses[origin].key {
                continue;
            }
            let (usage, stop) = (responses[copy].lines.usage.clone(), responses[copy].lines.stop);
            let lines = &mut responses[origin].lines;
            lines.stop = lines.stop.or(stop);
            if let (Ok(own), Ok(other)) = (&mut lines.usage, usage)
                && own.prompt == other.prompt
            {
                own.output = own.output.max(other.output);
            }
        }
    }
}

/// Drops responses inside progress lines whose message has a line of its own anywhere.
fn drop_nested_copies(responses: &[FileResponse], other_messages: &[Symbol], copies: &mut Copies) {
    if !responses.iter().any(|response| response.is_nested) {
        return;
    }
    let own = responses.iter().filter(|response| !response.is_nested);
    let own = own.filter_map(|response| response.lines.message);
    let own_messages: FxHashSet<Symbol> = own.chain(other_messages.iter().copied()).collect();
    for (place, response) in responses.iter().enumerate() {
        let message = response.lines.message.filter(|_| response.is_nested);
        if message.is_some_and(|message| own_messages.contains(&message)) {
            copies.dropped.insert(place);
        }
    }
}

/// Drops answers of side conversations that repeat one of the main conversation under request ids of their
/// own.
///
/// Some gateways give every answer the same message id, so this holds within one session only, and only if
/// the main conversation has that message once.
fn drop_replays(responses: &[FileResponse], copies: &mut Copies) {
    let side = side_messages(responses);
    let main = main_messages(responses, &side);
    for (place, response) in responses.iter().enumerate() {
        let ResponseKey::Request(Some(message), _) = response.key else { continue };
        if !response.is_sidechain || !copies.is_origin(place) {
            continue;
        }
        let original = main.get(&(response.session, message)).copied().flatten();
        if let Some((_, original)) = original.filter(|(key, _)| *key != response.key) {
            copies.dropped.insert(place);
            copies.origin.insert(place, original);
            copies.replays.push(place);
        }
    }
    copies.duplicates += copies.replays.len() as u64;
}

/// Message in its session.
type SessionMessage = (Option<Symbol>, Symbol);

/// Messages of side conversations.
fn side_messages(responses: &[FileResponse]) -> FxHashSet<SessionMessage> {
    let side = responses.iter().filter(|response| response.is_sidechain);
    side.filter_map(|response| Some((response.session, response.lines.message?))).collect()
}

/// Messages of the main conversations that side conversations have as well; `None` if several answers have
/// the same id.
fn main_messages(
    responses: &[FileResponse],
    side: &FxHashSet<SessionMessage>,
) -> FxHashMap<SessionMessage, Option<(ResponseKey, Place)>> {
    let mut main: FxHashMap<SessionMessage, Option<(ResponseKey, Place)>> = FxHashMap::default();
    if side.is_empty() {
        return main;
    }
    for (place, response) in responses.iter().enumerate() {
        let Some(message) = response.lines.message else { continue };
        let message = (response.session, message);
        if response.is_sidechain || !side.contains(&message) {
            continue;
        }
        main.entry(message)
            .and_modify(|known| {
                *known = known.filter(|(key, _)| *key == response.key);
            })
            .or_insert(Some((response.key, place)));
    }
    main
}

/// Drops all but one of the responses with the same key.
fn drop_later_copies(
    responses: &[FileResponse],
    shared: &FxHashMap<ResponseKey, Vec<Place>>,
    files: usize,
    copies: &mut Copies,
) {
    let first_own = first_own_times(responses, shared, files);
    for places in shared.values() {
        let candidates = places.iter().copied().filter(|place| !copies.dropped.contains(place));
        let Some(origin) = candidates.clone().min_by_key(|&place| {
            let response = &responses[place];
            let first_own = first_own[response.file];
            (response.lines.usage.is_err(), response.is_forked, first_own, place)
        }) else {
            continue;
        };
        let others: Vec<Place> = candidates.filter(|place| *place != origin).collect();
        for place in others {
            copies.dropped.insert(place);
            copies.origin.insert(place, origin);
            copies.duplicates += 1;
        }
    }
}

/// Start of each file's own requests; `None`, which comes first, if it has none.
fn first_own_times(
    responses: &[FileResponse],
    shared: &FxHashMap<ResponseKey, Vec<Place>>,
    files: usize,
) -> Vec<Option<Millis>> {
    let mut first: Vec<Option<Millis>> = vec![None; files];
    if shared.is_empty() {
        return first;
    }
    for response in responses {
        let first = &mut first[response.file];
        let Some(time) = response.lines.first_timestamp else { continue };
        if first.is_none_or(|first| time < first) && !shared.contains_key(&response.key) {
            *first = Some(time);
        }
    }
    first
}

/// Type of each sub-agent that has one: the one in its result, otherwise the one that the call asked for.
pub(super) fn agent_types(notes: &[AgentNote]) -> FxHashMap<Symbol, Symbol> {
    let called: FxHashMap<EntryId, Symbol> = notes
        .iter()
        .filter_map(|note| match note {
            AgentNote::Called { call, kind } => Some((*call, *kind)),
            AgentNote::Started { .. } => None,
        })
        .collect();
    let mut types = FxHashMap::default();
    for note in notes {
        let AgentNote::Started { agent, call, kind } = note else { continue };
        let asked = || call.and_then(|call| called.get(&call).copied());
        if let Some(kind) = kind.or_else(asked) {
            types.insert(*agent, kind);
        }
    }
    types
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Symbols;

    #[test]
    fn a_result_counts_before_the_call() {
        let mut symbols = Symbols::default();
        let [one, two, explore, plan] = ["a1", "a2", "Explore", "Plan"].map(|s| symbols.intern(s));
        let call = EntryId::of("toolu_1");
        let started = |agent, kind| AgentNote::Started { agent, call: Some(call), kind };
        let called = AgentNote::Called { call, kind: plan };
        let types = agent_types(&[started(one, Some(explore)), called, started(two, None)]);
        assert_eq!((types[&one], types[&two]), (explore, plan));
        assert!(agent_types(&[started(one, None)]).is_empty());
    }
}
