//! Which requests are reported, and in which order. The cache is simulated over all requests.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::base::id::Symbol;
use crate::base::units::Millis;
use crate::requests::conversation::{History, Request, RequestIndex};

/// A session's reported requests.
#[derive(Clone, Debug)]
pub struct Session {
    /// `sessionId`.
    pub id: Symbol,
    /// Its requests in the order of their answers (captured ones of their starts), including those
    /// of sub-agents.
    pub requests: Vec<RequestIndex>,
}

impl Session {
    /// Its files, as indexes into those of the history, in the order of its requests.
    #[must_use]
    pub fn files(&self, history: &History) -> Vec<usize> {
        let mut known: FxHashSet<usize> = FxHashSet::default();
        let files = self.requests.iter().map(|index| history.request(*index).file);
        files.filter(|file| known.insert(*file)).collect()
    }
}

/// The reported requests by session, ordered by the start of the session.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// The sessions.
    pub sessions: Vec<Session>,
}

impl Selection {
    /// The requests answered from `since` on and before `until`.
    #[must_use]
    pub fn new(history: &History, since: Option<Millis>, until: Option<Millis>) -> Self {
        Self::of(history, |request| {
            let is_early = since.is_some_and(|since| request.time() < since);
            let is_late = until.is_some_and(|until| request.time() >= until);
            !is_early && !is_late
        })
    }

    /// The requests that meet a condition.
    #[must_use]
    pub fn of(history: &History, is_selected: impl Fn(&Request) -> bool) -> Self {
        let mut sessions: Vec<Session> = Vec::new();
        let mut by_id: FxHashMap<Symbol, usize> = FxHashMap::default();
        for (index, request) in history.requests.iter().enumerate() {
            if !is_selected(request) {
                continue;
            }
            let place = *by_id.entry(request.session).or_insert_with(|| {
                sessions.push(Session { id: request.session, requests: Vec::new() });
                sessions.len() - 1
            });
            sessions[place].requests.push(RequestIndex(index));
        }
        for session in &mut sessions {
            // Captured requests have a start. Those of transcripts only have the time of the
            // answer.
            session.requests.sort_by_key(|index| {
                let request = history.request(*index);
                let at = if history.is_captured(*index) { request.start } else { request.time() };
                (at, *index)
            });
        }
        Self { sessions }
    }

    /// Drops the requests of rewound branches, and sessions that have no others.
    #[must_use]
    pub fn live(mut self, history: &History) -> Self {
        for session in &mut self.sessions {
            session.requests.retain(|index| history.request(*index).is_live);
        }
        self.sessions.retain(|session| !session.requests.is_empty());
        self
    }

    /// Every reported request, by session.
    pub fn requests(&self) -> impl Iterator<Item = RequestIndex> + '_ {
        self.sessions.iter().flat_map(|session| session.requests.iter().copied())
    }

    /// Whether nothing is reported.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sessions.is_empty()
    }
}
