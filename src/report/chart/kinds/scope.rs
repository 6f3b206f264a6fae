//! Which requests a chart is about, in words.

use crate::report::analyze_view::session_name;
use crate::report::number::counted;
use crate::requests::conversation::{History, RequestIndex};
use crate::simulate::ledger::{Ledger, Selection, Session};

/// The session that cost most, where a chart shows one of several: by what was billed, where nothing
/// has a price by its tokens.
#[must_use]
pub fn dearest_session<'s>(ledger: &Ledger<'_>, selection: &'s Selection) -> Option<&'s Session> {
    let column = ledger.billed().or(ledger.columns.first())?;
    let size = |session: &Session| {
        let totals = ledger.totals(column, session.requests.iter().copied());
        (totals.cost(), totals.prompt())
    };
    // Of several equal ones the first.
    selection.sessions.iter().rev().max_by_key(|session| size(session))
}

/// `session 5e1f0000, 6 requests on 2026-08-03`, and where it is one of several, which one.
pub(super) fn session_scope(history: &History, session: &Session, of: &Selection) -> String {
    let name = session_name(history.symbols.text(session.id));
    let requests = counted(session.requests.len() as u64, "request", "requests");
    let which = match of.sessions.len() {
        0 | 1 => String::new(),
        several => format!(", the most expensive of {several} sessions"),
    };
    format!("Session {name}{which}: {requests}{}", days(history, &session.requests))
}

/// `82 sessions, 9,513 requests from 2025-06-08 to 2026-10-20`.
pub(super) fn selection_scope(history: &History, selection: &Selection) -> String {
    if let [session] = selection.sessions.as_slice() {
        return session_scope(history, session, selection);
    }
    let requests: Vec<RequestIndex> = selection.requests().collect();
    format!(
        "{}, {}{}",
        counted(selection.sessions.len() as u64, "session", "sessions"),
        counted(requests.len() as u64, "request", "requests"),
        days(history, &requests),
    )
}

/// The days between which some requests were answered.
fn days(history: &History, requests: &[RequestIndex]) -> String {
    let times = requests.iter().map(|index| history.request(*index).time());
    let (Some(first), Some(last)) = (times.clone().min(), times.max()) else {
        return String::new();
    };
    let day = |at| history.zone.moment(at).chars().take(10).collect::<String>();
    let (first, last) = (day(first), day(last));
    if first == last { format!(" on {first}") } else { format!(" from {first} to {last}") }
}
