//! Entries that name their parents, and the state at each of them.
//!
//! Going back in a session leaves the other branch in the file. Messages and compactions of one branch
//! did not happen on another.

use rustc_hash::FxHashMap;
use serde::de::{Deserialize, Deserializer};

use super::{AgentFile, AgentRequest, Follows, Happened};
use crate::base::{EntryId, Millis};
use crate::read::input::Text;

/// State at a point of a conversation.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Branch {
    /// Index of the last request in the file.
    pub(super) request: Option<usize>,
    /// Time of the newest client entry.
    pub(super) sent: Option<Millis>,
    /// Events since the last request.
    pub(super) happened: Happened,
}

impl Branch {
    /// Records an entry of the client's.
    pub(super) fn client_entry(&mut self, at: Option<Millis>) {
        self.sent = at.or(self.sent);
    }

    /// Adds the request that continues the conversation.
    pub(super) fn add(&mut self, request: AgentRequest, file: &mut AgentFile) {
        let request = AgentRequest {
            follows: self.request.map_or(Follows::Nothing, Follows::Request),
            ..request.after(self.happened)
        };
        let place = file.requests.len();
        // Without a client entry in between, the next request was sent at once.
        *self = Self { request: Some(place), sent: Some(request.finished), ..Self::default() };
        file.requests.push(request);
    }
}

/// Entries of a file so far.
#[derive(Default)]
pub(super) struct Tree {
    known: FxHashMap<EntryId, Branch>,
    /// State after the newest entry.
    last: Branch,
}

impl Tree {
    /// Returns true if an entry has this id.
    pub(super) fn has(&self, id: &Text<'_>) -> bool {
        id.as_str().is_some_and(|id| self.known.contains_key(&EntryId::of(id)))
    }

    /// State before an entry.
    ///
    /// An entry without the key, or whose parent is not in the file, continues the entry before it.
    pub(super) fn branch(&self, parent: &Parent<'_>) -> Branch {
        match parent {
            Parent::Root => Branch::default(),
            Parent::Untold => self.last,
            Parent::Entry(id) => {
                let id = id.as_str().map(EntryId::of);
                id.and_then(|id| self.known.get(&id)).copied().unwrap_or(self.last)
            }
        }
    }

    /// Adds an entry with the state after it.
    pub(super) fn add(&mut self, id: &Text<'_>, branch: Branch) {
        self.known.extend(id.as_str().map(|id| (EntryId::of(id), branch)));
        self.last = branch;
    }
}

/// Parent that an entry names.
#[derive(Debug, Default)]
pub(super) enum Parent<'a> {
    /// Missing key, or a value of another type.
    #[default]
    Untold,
    /// `null`: the entry begins a conversation.
    Root,
    /// Id of an entry.
    Entry(Text<'a>),
}

impl<'de: 'a, 'a> Deserialize<'de> for Parent<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match Option::<Text<'a>>::deserialize(deserializer)? {
            None => Self::Root,
            Some(id) if id.as_str().is_some() => Self::Entry(id),
            Some(_) => Self::Untold,
        })
    }
}
