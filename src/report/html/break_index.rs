//! Breaks by request and by session.

use rustc_hash::FxHashMap;

use crate::base::id::Symbol;
use crate::base::units::Picodollars;
use crate::explain::breaks::{Break, Cause};
use crate::requests::conversation::{History, RequestIndex};

/// Breaks by request and by session.
#[derive(Debug, Default)]
pub(super) struct BreakIndex {
    causes: FxHashMap<RequestIndex, Cause>,
    /// Session → what they lost; `None` where one of them has no price.
    lost: FxHashMap<Symbol, Option<Picodollars>>,
}

impl BreakIndex {
    pub(super) fn new(history: &History, breaks: &[Break]) -> Self {
        let mut index = Self::default();
        for found in breaks {
            index.causes.insert(found.request, found.cause);
            let session = history.request(found.request).session;
            let lost = index.lost.entry(session).or_insert(Some(Picodollars::ZERO));
            *lost = lost.zip(found.excess).map(|(lost, excess)| lost + excess);
        }
        index
    }

    /// Why a request is a break, if it is one.
    pub(super) fn cause(&self, request: RequestIndex) -> Option<Cause> {
        self.causes.get(&request).copied()
    }

    /// What the breaks of a session lost; unknown where one of them has no price.
    pub(super) fn lost(&self, session: Symbol) -> Option<Picodollars> {
        self.lost.get(&session).copied().unwrap_or(Some(Picodollars::ZERO))
    }
}
