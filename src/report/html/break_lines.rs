//! The most expensive breaks one by one, with the evidence for their causes, and breaks by request and by session.

use rustc_hash::FxHashMap;

use super::PageView;
use crate::base::{KnownSum, Picodollars, Symbol};
use crate::explain::breaks::Break;
use crate::report::breaks_view::{dearest_breaks, evidence};
use crate::report::turns_view::FoundBreaks;
use crate::report::{SessionNames, dollars, tokens};
use crate::requests::conversation::{History, RequestIndex, project_names};

/// Number of listed breaks.
const MOST_BREAKS: usize = 100;

/// A break in the table.
pub(super) struct BreakLine {
    /// Number of the session.
    pub(super) session: usize,
    pub(super) session_name: String,
    /// Name of the project, or empty.
    pub(super) project: String,
    pub(super) sent: String,
    /// File and line of the request.
    pub(super) place: String,
    pub(super) cause: &'static str,
    /// Effect on the cache.
    pub(super) class: String,
    pub(super) confidence: &'static str,
    pub(super) evidence: String,
    pub(super) read: String,
    pub(super) could: String,
    pub(super) excess: String,
}

/// Lines of the most expensive breaks.
pub(super) fn break_lines(view: &PageView<'_>) -> Vec<BreakLine> {
    let history = view.ledger.history;
    let sessions = view.selection.sessions.iter().enumerate();
    let numbers: FxHashMap<Symbol, usize> =
        sessions.map(|(number, session)| (session.id, number)).collect();
    let (names, projects) = (SessionNames::of(history), project_names(history));
    let dearest = dearest_breaks(&view.analysis.breaks.list, MOST_BREAKS);
    let line = |found: &Break| {
        let request = history.request(found.request);
        let first = found.candidates.first();
        BreakLine {
            session: numbers.get(&request.session).copied().unwrap_or_default(),
            session_name: names.name(request.session),
            project: request
                .project
                .and_then(|project| projects.get(&project).cloned())
                .unwrap_or_default(),
            sent: history.zone.moment(request.start),
            place: format!("{}:{}", history.files[request.file].label, request.line),
            cause: found.cause.meaning(),
            class: found.class.name().replace('_', " "),
            confidence: first.map_or("–", |first| first.confidence.name()),
            evidence: first
                .map_or_else(String::new, |first| evidence(history, found, first, view.shows_text)),
            read: tokens(found.read),
            could: tokens(found.expected),
            excess: dollars(found.excess),
        }
    };
    dearest.into_iter().map(line).collect()
}

/// Breaks by request and by session.
#[derive(Debug, Default)]
pub(super) struct BreakIndex<'a> {
    breaks: FoundBreaks<'a>,
    /// Loss of each session.
    lost: FxHashMap<Symbol, KnownSum>,
}

impl<'a> BreakIndex<'a> {
    pub(super) fn new(history: &History, breaks: &'a [Break]) -> Self {
        let mut index = Self::default();
        for found in breaks {
            index.breaks.insert(found.request, found);
            let session = history.request(found.request).session;
            index.lost.entry(session).or_default().add(found.excess);
        }
        index
    }

    /// Break of a request, if there is one.
    pub(super) fn of(&self, request: RequestIndex) -> Option<&'a Break> {
        self.breaks.get(&request).copied()
    }

    /// Loss of a session by breaks, or `None` if one of them has no price.
    pub(super) fn lost(&self, session: Symbol) -> Option<Picodollars> {
        self.lost.get(&session).copied().unwrap_or_default().whole()
    }
}
