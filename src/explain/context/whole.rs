//! All sessions together.

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::kind::Kind;
use super::session::{Bill, CarriedItem, KindTotals, SessionContext, Sources, dearest, sort_kinds};
use crate::requests::content::Ratios;
use crate::requests::prompt::{PromptTrace, Step};
use crate::simulate::ledger::{Ledger, Selection};

/// Where the context of some sessions comes from.
#[derive(Clone, Debug)]
pub struct Context {
    /// What was billed in all of them.
    pub bill: Bill,
    /// The kinds of content, the most expensive first.
    pub kinds: Vec<KindTotals>,
    /// The most expensive items of all of them, the most expensive first.
    pub items: Vec<CarriedItem>,
    /// The sessions, in the order of the selection.
    pub sessions: Vec<SessionContext>,
}

/// Looks at the selected sessions; `None` if the ledger does not have the record.
#[must_use]
pub fn context(
    ledger: &Ledger<'_>,
    steps: &[Step],
    trace: &PromptTrace,
    selection: &Selection,
    top: usize,
) -> Option<Context> {
    let column = ledger.billed()?;
    let ratios = Ratios::learn(ledger.history, steps);
    let sources = Sources { ledger, column, steps, trace, ratios };
    let sessions: Vec<SessionContext> =
        selection.sessions.par_iter().map(|session| sources.session(session, top)).collect();
    let totals = ledger.totals(column, selection.requests());
    let mut bill = Bill { totals, ..Bill::default() };
    for session in &sessions {
        bill.add_lines(&session.bill);
    }
    let mut items: Vec<CarriedItem> =
        sessions.iter().flat_map(|session| session.items.iter().copied()).collect();
    dearest(&mut items, top);
    Some(Context { bill, kinds: all_kinds(&sessions), items, sessions })
}

fn all_kinds(sessions: &[SessionContext]) -> Vec<KindTotals> {
    let mut by_kind: FxHashMap<Kind, KindTotals> = FxHashMap::default();
    for totals in sessions.iter().flat_map(|session| &session.kinds) {
        by_kind.entry(totals.kind).or_insert_with(|| KindTotals::nothing(totals.kind)).add(totals);
    }
    let mut kinds: Vec<KindTotals> = by_kind.into_values().collect();
    sort_kinds(&mut kinds);
    kinds
}
