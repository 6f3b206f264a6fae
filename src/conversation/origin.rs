//! Which file a request began in, where several carry it.
//!
//! Resumed and forked sessions copy lines of the session they go on from. A request counts once,
//! for the file where it began: one whose line is not marked as a copy, else the file whose own
//! requests (those that no other file has) start first. A file without own requests was copied as
//! a whole and comes before the others.

use rustc_hash::{FxHashMap, FxHashSet};

use super::file::FileConversation;
use super::response::ResponseKey;
use crate::id::Symbol;
use crate::units::Millis;

/// A response of a file: the file, and its place there.
type Place = (usize, usize);

/// Session and message → the answer and where it stands.
type MainMessages = FxHashMap<(Option<Symbol>, Symbol), Option<(ResponseKey, Place)>>;

/// Where each response counts.
#[derive(Debug, Default)]
pub(super) struct Copies {
    /// The origin of a response that is a copy.
    origin: FxHashMap<Place, Place>,
    /// Responses that are no requests of their own.
    dropped: FxHashSet<Place>,
    /// How many responses were dropped because they count elsewhere.
    pub(super) duplicates: u64,
    /// Responses of a side conversation that repeat one of the main conversation.
    pub(super) replays: Vec<Place>,
}

impl Copies {
    pub(super) fn is_origin(&self, file: usize, index: usize) -> bool {
        !self.dropped.contains(&(file, index))
    }

    pub(super) fn origin_of(&self, file: usize, index: usize) -> Place {
        self.origin.get(&(file, index)).copied().unwrap_or((file, index))
    }
}

/// Finds what counts once though it occurs several times.
pub(super) fn find_copies(files: &[FileConversation]) -> Copies {
    let mut copies = Copies::default();
    drop_nested_copies(files, &mut copies);
    let mut by_key: FxHashMap<ResponseKey, Vec<Place>> = FxHashMap::default();
    for (place, key) in places(files).filter(|(place, _)| !copies.dropped.contains(place)) {
        by_key.entry(key).or_default().push(place);
    }
    drop_replays(files, &by_key, &mut copies);
    drop_later_copies(files, &by_key, &mut copies);
    copies
}

fn places(files: &[FileConversation]) -> impl Iterator<Item = (Place, ResponseKey)> {
    files.iter().enumerate().flat_map(|(file, conversation)| {
        let responses = conversation.responses.iter().enumerate();
        responses.map(move |(index, response)| ((file, index), response.key))
    })
}

/// A response inside a progress line counts only where its message has no line of its own
/// anywhere.
fn drop_nested_copies(files: &[FileConversation], copies: &mut Copies) {
    let own_messages: FxHashSet<Symbol> = files
        .iter()
        .flat_map(|file| {
            let own = file.responses.iter().filter(|response| !response.is_nested);
            own.map(|response| response.lines.message).chain(file.other_messages.iter().copied())
        })
        .collect();
    for (number, file) in files.iter().enumerate() {
        for (index, response) in file.responses.iter().enumerate() {
            if response.is_nested && own_messages.contains(&response.lines.message) {
                copies.dropped.insert((number, index));
            }
        }
    }
}

/// A side conversation may repeat answers of the main one under request ids of its own. Some
/// gateways give every answer the same message id, so this holds within one session only, and only
/// where the main conversation has that message once.
fn drop_replays(
    files: &[FileConversation],
    by_key: &FxHashMap<ResponseKey, Vec<Place>>,
    copies: &mut Copies,
) {
    let main = main_messages(files);
    for (key, places) in by_key {
        let ResponseKey::Request(message, _) = *key else { continue };
        for &(number, index) in places {
            let response = &files[number].responses[index];
            let original = main.get(&(response.session, message)).copied().flatten();
            if let Some((original, place)) = original.filter(|_| response.is_sidechain)
                && original != *key
            {
                copies.dropped.insert((number, index));
                copies.origin.insert((number, index), place);
                copies.replays.push((number, index));
            }
        }
    }
    copies.replays.sort_unstable();
    copies.duplicates += copies.replays.len() as u64;
}

/// The messages of the main conversations; `None` where several answers have the same id.
fn main_messages(files: &[FileConversation]) -> MainMessages {
    let mut main = MainMessages::default();
    for (number, file) in files.iter().enumerate() {
        for (index, response) in file.responses.iter().enumerate() {
            if response.is_sidechain {
                continue;
            }
            main.entry((response.session, response.lines.message))
                .and_modify(|known| {
                    *known = known.filter(|(key, _)| *key == response.key);
                })
                .or_insert(Some((response.key, (number, index))));
        }
    }
    main
}

fn drop_later_copies(
    files: &[FileConversation],
    by_key: &FxHashMap<ResponseKey, Vec<Place>>,
    copies: &mut Copies,
) {
    let first_own = first_own_times(files, by_key);
    for places in by_key.values() {
        let candidates = places.iter().copied().filter(|place| !copies.dropped.contains(place));
        let Some(origin) = candidates.clone().min_by_key(|&(file, index)| {
            let response = &files[file].responses[index];
            (response.lines.usage.is_err(), response.is_forked, first_own[file], file, index)
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

/// When each file's own requests begin; `None`, which comes first, where it has none.
fn first_own_times(
    files: &[FileConversation],
    by_key: &FxHashMap<ResponseKey, Vec<Place>>,
) -> Vec<Option<Millis>> {
    let is_shared = |key: &ResponseKey| by_key.get(key).is_some_and(|places| places.len() > 1);
    files
        .iter()
        .map(|file| {
            let own = file.responses.iter().filter(|response| !is_shared(&response.key));
            own.filter_map(|response| response.lines.first_timestamp).min()
        })
        .collect()
}
