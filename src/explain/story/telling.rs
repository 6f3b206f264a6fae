//! One request: what it sent, what was cached before it, and what every policy made of it.

use std::collections::BTreeMap;

use super::locate::Located;
use crate::base::ttl::Ttl;
use crate::base::units::{Millis, Tokens};
use crate::explain::analysis::{Event, Turn};
use crate::explain::breaks::Break;
use crate::explain::context::Kind;
use crate::requests::conversation::{History, RequestIndex};
use crate::simulate::ledger::{Expiry, Ledger, Row, StrategyColumn, Totals};

/// All that is known of a request.
#[derive(Clone, Debug)]
pub struct Story<'a> {
    /// The request, in its session.
    pub located: Located<'a>,
    /// From the start of the request before to its own, in milliseconds.
    pub gap: Option<i64>,
    /// What the client added since, by kind, in the order of the lines; empty where no line tells.
    pub new_content: Vec<NewContent>,
    /// How many tokens that has; `None` where it cannot be told.
    pub added: Option<Tokens>,
    /// What the request before had left in the cache.
    pub cached: Option<Cached>,
    /// What each strategy made of it, in the order of the columns.
    pub under: Vec<Under<'a>>,
    /// What it could have read and did not, with the causes.
    pub lost: Option<&'a Break>,
}

/// Content of a kind that came in since the request before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewContent {
    /// The kind.
    pub kind: Kind,
    /// How many pieces there are.
    pub pieces: u64,
    /// Their size in bytes of JSON; of media it is not known, and zero.
    pub bytes: u64,
    /// The lines on which they stand.
    pub lines: Vec<u64>,
}

/// What a request has left in the cache.
#[derive(Clone, Copy, Debug)]
pub struct Cached {
    /// The request.
    pub by: RequestIndex,
    /// What it had read and written, less what was deleted since.
    pub tokens: Tokens,
    /// How long its messages live, and until when, where that is known.
    pub lifetime: Option<(Ttl, Millis)>,
}

/// What a strategy made of the request.
#[derive(Clone, Debug)]
pub struct Under<'a> {
    /// The strategy's name.
    pub strategy: &'a str,
    /// Its own row; `None` where it has none.
    pub row: Option<Row<'a>>,
    /// The sum of all rows: with earlier samplings, and with what the strategy sends besides.
    pub totals: Totals,
    /// What happened, the most important first.
    pub events: Vec<Event>,
    /// Whether its conversation's cache had expired.
    pub expiry: Option<Expiry>,
    /// How much less it reads than the request before had read and written under the strategy.
    pub shortfall: Option<Tokens>,
}

/// Tells the story of a request. `breaks` are those of the selection.
#[must_use]
pub fn story<'a>(ledger: &'a Ledger<'_>, located: Located<'a>, breaks: &'a [Break]) -> Story<'a> {
    let (history, steps) = (ledger.history, ledger.steps);
    let index = located.index;
    let turn = Turn::recorded(history, steps, index);
    Story {
        located,
        gap: steps[index.0].gap,
        new_content: new_content(history, index),
        added: turn.added,
        cached: cached(ledger, index),
        under: ledger.columns.iter().map(|column| under(ledger, column, index)).collect(),
        lost: breaks.iter().find(|found| found.request == index),
    }
}

fn new_content(history: &History, index: RequestIndex) -> Vec<NewContent> {
    let request = history.request(index);
    let trail = &history.files[request.file].trail;
    let mut by_kind: BTreeMap<Kind, NewContent> = BTreeMap::new();
    for (line, content) in trail.contents_back_from(request.between.trail) {
        let kind = Kind::of(content.source, &history.symbols);
        let empty = || NewContent { kind, pieces: 0, bytes: 0, lines: Vec::new() };
        let known = by_kind.entry(kind).or_insert_with(empty);
        known.pieces += 1;
        known.bytes += content.bytes;
        known.lines.push(line);
    }
    let mut all: Vec<NewContent> = by_kind.into_values().collect();
    for one in &mut all {
        one.lines.sort_unstable();
        one.lines.dedup();
    }
    all.sort_by_key(|one| one.lines.first().copied());
    all
}

fn cached(ledger: &Ledger<'_>, index: RequestIndex) -> Option<Cached> {
    let step = &ledger.steps[index.0];
    let by = step.predecessor?;
    let sent = ledger.history.request(by).start;
    let until = |ttl: Ttl| (ttl, Millis(sent.0.saturating_add(ttl.millis())));
    Some(Cached { by, tokens: step.previous_end, lifetime: step.predecessor_ttl.map(until) })
}

fn under<'a>(ledger: &'a Ledger<'_>, column: &'a StrategyColumn, index: RequestIndex) -> Under<'a> {
    let turn = Turn::recorded(ledger.history, ledger.steps, index).under(ledger, column);
    Under {
        strategy: &column.strategy.name,
        row: ledger.row(column, index),
        totals: ledger.totals(column, [index]),
        events: turn.events,
        expiry: ledger.expiry(column, index),
        shortfall: ledger.shortfall(column, index),
    }
}
