//! Entries that name their parents, and what is known at each of them.
//!
//! Going back in a session leaves the other branch in the file. What was said or compacted on one branch
//! did not happen on another one.

use rustc_hash::FxHashMap;
use serde::de::{Deserialize, Deserializer};

use super::request::Happened;
use super::{AgentFile, AgentRequest, Follows};
use crate::base::id::EntryId;
use crate::base::units::Millis;
use crate::read::input::Text;

/// What is known where a conversation has come to.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Branch {
    /// The last request, by its place in the file.
    pub(super) request: Option<usize>,
    /// The newest entry of the client's.
    pub(super) sent: Option<Millis>,
    /// What happened since the last request.
    pub(super) happened: Happened,
}

impl Branch {
    /// Takes in an entry of the client's.
    pub(super) fn client_entry(&mut self, at: Option<Millis>) {
        self.sent = at.or(self.sent);
    }

    /// Adds the request with which the conversation goes on.
    pub(super) fn add(&mut self, request: AgentRequest, file: &mut AgentFile) {
        let request = AgentRequest {
            follows: self.request.map_or(Follows::Nothing, Follows::Request),
            ..request.after(self.happened)
        };
        let place = file.requests.len();
        // What has no entry of the client's in between was sent at once.
        *self = Self { request: Some(place), sent: Some(request.finished), ..Self::default() };
        file.requests.push(request);
    }
}

/// The entries of a file so far.
#[derive(Default)]
pub(super) struct Tree {
    known: FxHashMap<EntryId, Branch>,
    /// The newest entry's.
    last: Branch,
}

impl Tree {
    /// Whether an entry of this id is there already.
    pub(super) fn has(&self, id: &Text<'_>) -> bool {
        id.as_str().is_some_and(|id| self.known.contains_key(&EntryId::of(id)))
    }

    /// What is known where an entry begins. One that names no parent, or none that is in the file, goes on
    /// from the entry before it.
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

    /// Adds an entry with what is known after it.
    pub(super) fn add(&mut self, id: &Text<'_>, branch: Branch) {
        self.known.extend(id.as_str().map(|id| (EntryId::of(id), branch)));
        self.last = branch;
    }
}

/// The parent that an entry names.
#[derive(Debug, Default)]
pub(super) enum Parent<'a> {
    /// The key is not there, or another value stands.
    #[default]
    Untold,
    /// `null`: it begins a conversation.
    Root,
    /// An entry.
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
