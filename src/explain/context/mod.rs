//! Context of sessions: the share of each kind of content in the prompts, and the cost of carrying it.
//!
//! A prompt is a path through a session's tree of segments (`segment.rs`), which add up to its
//! recorded total. Each segment is the part of one item (a result, a text, an answer) in the prompt,
//! and requests of a conversation and its branches share their common segments. A prompt grows
//! out of its predecessor's (`growth.rs`) by the answer's recorded output and by the client's
//! additions. Pieces share the latter by their counted sizes, or by their bytes. Tokens beyond a count of all, or
//! beyond twice an estimate, are unattributed.
//!
//! A prompt that shrank keeps the tokens that it read. Its other segments lose tokens (cleared results first
//! if results were cleared, answers if thinking was dropped), as new segments of the same
//! items. A compaction keeps the hidden prefix and the entries that its lines name. If lines name the
//! changes (`changes.rs`), only the named entries change. Another tokenizer scales everything. A sub-agent
//! whose first request read exactly the tokens that a request of its session had cached continues that one.
//!
//! The recorded split into read, written and input cuts the path by position (`carry.rs`), in O(log
//! n) by jump pointers. So the figures of the kinds add up to the usage and its cost exactly, and
//! no estimate can change that.

mod added;
mod captured;
mod carry;
mod changes;
mod growth;
mod segment;
mod walk;
mod window;

pub use carry::{Carrying, Charge};
pub use segment::ContextKind;
pub use window::{Window, Windows, windows};

use std::cmp::Reverse;

use captured::CapturedPaths;
use carry::Carrier;
use derive_more::AddAssign;
use growth::Growth;
use rustc_hash::{FxHashMap, FxHashSet};
use segment::{Item, ItemId, SegmentId, SegmentTree};
use walk::Walk;

use crate::base::{Basis, ByKey, Order as _, Picodollars, Symbol, Tokens, side_by_side};
use crate::read::input::PromptSplit;
use crate::requests::content::Ratios;
use crate::requests::conversation::RequestIndex;
use crate::requests::prompt::{PromptTrace, Step};
use crate::simulate::ledger::{Ledger, Selection, Session, StrategyColumn, Totals};
use crate::simulate::pricing::Rates;

/// Contents that a session's requests carried.
#[derive(Clone, Debug)]
pub struct SessionContext {
    /// Session, by its `sessionId`.
    pub id: Symbol,
    /// Bill of the session.
    pub bill: Bill,
    /// Kinds of content, most expensive first.
    pub kinds: Vec<KindTotals>,
    /// Most expensive items, most expensive first.
    pub items: Vec<CarriedItem>,
}

/// Contents that some requests carried in all.
#[derive(Clone, Debug, Default)]
pub struct Contents {
    /// Bill of these requests.
    pub bill: Bill,
    /// Kinds of content, most expensive first.
    pub kinds: Vec<KindTotals>,
}

impl Contents {
    /// Adds the contents of other requests.
    pub fn absorb(&mut self, other: &Self) {
        self.bill += other.bill;
        self.kinds = sum_of_kinds(self.kinds.iter().chain(&other.kinds).copied());
    }
}

/// Part of a division for each request of a history, in their order; `None` for a request in no part.
pub type Division = Vec<Option<usize>>;

/// Bill, in lines that add up to its cost.
#[derive(AddAssign, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bill {
    /// Totals as in the ledger.
    pub totals: Totals,
    /// Effort of all kinds in the prompts together.
    pub prompts: Carrying,
    /// Tokens of the answers.
    pub output: Tokens,
    /// Known cost of the answers.
    pub output_cost: Picodollars,
    /// Cost of web searches. Separate samplings are in [`Totals::apart`].
    pub searches_cost: Picodollars,
}

impl Bill {
    /// Bill of a session's requests without the tokens of their prompts.
    fn beside_prompts(
        ledger: &Ledger<'_>,
        column: &StrategyColumn,
        requests: &[RequestIndex],
    ) -> Self {
        let totals = ledger.totals(column, requests.iter().copied());
        let mut bill = Self { totals, ..Self::default() };
        for index in requests {
            let Some(usage) = &ledger.history.request(*index).usage else { continue };
            bill.prompts.requests += 1;
            bill.output += usage.output;
            if let Some(rates) = ledger.rates_of(*index) {
                bill.prompts.priced += 1;
                bill.output_cost += rates.output.times(usage.output);
                bill.searches_cost += ledger.prices.web_searches(usage.web_searches);
            }
        }
        bill
    }
}

/// Totals of one kind of content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KindTotals {
    /// Kind of content.
    pub kind: ContextKind,
    /// Number of items that were carried.
    pub items: u64,
    /// Tokens of the items, each item counted once.
    pub tokens: Tokens,
    /// Effort of carrying them.
    pub carried: Carrying,
    /// Basis of the sizes.
    pub basis: Basis,
}

impl KindTotals {
    fn nothing(kind: ContextKind) -> Self {
        let carried = Carrying::default();
        Self { kind, items: 0, tokens: Tokens::ZERO, carried, basis: Basis::Measured }
    }

    /// Adds more of the same kind.
    pub fn add(&mut self, other: &Self) {
        self.items += other.items;
        self.tokens += other.tokens;
        self.carried += other.carried;
        self.basis = self.basis.max(other.basis);
    }
}

/// Piece of content, with its effort over its lifetime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CarriedItem {
    /// Session that carried it.
    pub session: Symbol,
    /// Kind of content.
    pub kind: ContextKind,
    /// File that it came in with, as an index into the history's files.
    pub file: usize,
    /// Line in that file.
    pub line: u64,
    /// Size in tokens; the largest one if prompts were rewritten.
    pub tokens: Tokens,
    /// Effort of carrying it.
    pub carried: Carrying,
    /// Basis of the size.
    pub basis: Basis,
}

/// Last segment of each prompt.
type LastSegments = FxHashMap<RequestIndex, Option<SegmentId>>;

/// Inputs for the analysis of a session.
struct Sources<'a> {
    ledger: &'a Ledger<'a>,
    /// Column of the record.
    column: &'a StrategyColumn,
    steps: &'a [Step],
    trace: &'a PromptTrace,
    ratios: &'a Ratios,
}

impl<'a> Sources<'a> {
    /// `None` if the ledger lacks the record.
    fn new(ledger: &'a Ledger<'a>, steps: &'a [Step], trace: &'a PromptTrace) -> Option<Self> {
        let column = ledger.billed()?;
        Some(Self { ledger, column, steps, trace, ratios: ledger.ratios() })
    }

    /// Contents of a session's requests, with the `top` most expensive items.
    fn session(&self, session: &Session, top: usize) -> SessionContext {
        let mut tree = SegmentTree::default();
        let last_of = self.prompts(&mut tree, session);
        let mut carrier = Carrier::new(&tree);
        for (last, split, rates) in self.charged(&last_of, &session.requests) {
            carrier.carry(last, split, rates);
        }
        let mut items = items(session.id, &tree, &carrier.finish());
        let Contents { bill, kinds } = self.contents(by_kind(&items), &session.requests);
        // The other kinds came in on no line that an item could be named by.
        items.retain(|item| item.kind.has_places());
        most_expensive(&mut items, top);
        SessionContext { id: session.id, bill, kinds, items }
    }

    /// Contents of a session's requests, by the parts of each division.
    fn parts_of(&self, session: &Session, divisions: &[Division]) -> Vec<ByKey<usize, Contents>> {
        let mut tree = SegmentTree::default();
        let last_of = self.prompts(&mut tree, session);
        let mut walk = Walk::new(&tree);
        let mut contents = |requests: &Vec<RequestIndex>| {
            let kinds = walk.part(self.charged(&last_of, requests));
            self.contents(sum_of_kinds(kinds.into_iter()), requests)
        };
        let parts = |division: &Division| {
            let mut parts: ByKey<usize, Vec<RequestIndex>> = ByKey::new();
            for index in &session.requests {
                if let Some(part) = division[index.get()] {
                    parts.entry(part).or_default().push(*index);
                }
            }
            parts.iter().map(|(part, requests)| (*part, contents(requests))).collect()
        };
        divisions.iter().map(parts).collect()
    }

    /// Prompts of some of a session's requests that have any contents: each with its last segment, its usage and its
    /// prices.
    fn charged<'s>(
        &'s self,
        last_of: &'s LastSegments,
        requests: &'s [RequestIndex],
    ) -> impl Iterator<Item = (SegmentId, &'s PromptSplit, Option<&'s Rates>)> {
        requests.iter().filter_map(|index| {
            let usage = self.ledger.history.request(*index).usage.as_ref()?;
            let last = last_of.get(index).copied().flatten()?;
            Some((last, &usage.prompt, self.ledger.rates_of(*index)))
        })
    }

    /// Contents of these requests in all.
    fn contents(&self, kinds: Vec<KindTotals>, requests: &[RequestIndex]) -> Contents {
        let mut bill = Bill::beside_prompts(self.ledger, self.column, requests);
        for kind in &kinds {
            // Its requests are among those already counted.
            bill.prompts += Carrying { requests: 0, priced: 0, ..kind.carried };
        }
        Contents { bill, kinds }
    }

    /// Last segment of each of the session's prompts. Their predecessors are built, too, whatever their
    /// session.
    fn prompts(&self, tree: &mut SegmentTree, session: &Session) -> LastSegments {
        let history = self.ledger.history;
        let (of_transcripts, captured): (Vec<_>, Vec<_>) = self
            .with_predecessors(session)
            .into_iter()
            .partition(|index| !history.is_captured(*index));
        let mut last_of = LastSegments::default();
        let mut growth = Growth::new(history, self.steps, self.trace, self.ratios, tree);
        for index in of_transcripts {
            let predecessor = history.request(index).predecessor;
            let before = predecessor.and_then(|before| last_of.get(&before).copied().flatten());
            last_of.insert(index, growth.add(index, before));
        }
        let mut paths = CapturedPaths::new(history, self.trace);
        for index in captured {
            if let Some(usage) = &history.request(index).usage {
                last_of.insert(index, paths.add(tree, index, usage.prompt.total()));
            }
        }
        last_of
    }

    /// Requests of a session and all their predecessors, in the order of sending.
    fn with_predecessors(&self, session: &Session) -> Vec<RequestIndex> {
        let mut known: FxHashSet<RequestIndex> = FxHashSet::default();
        for index in &session.requests {
            let mut next = Some(*index);
            while let Some(here) = next.filter(|here| known.insert(*here)) {
                next = self.ledger.history.request(here).predecessor;
            }
        }
        let mut requests: Vec<RequestIndex> = known.into_iter().collect();
        requests.sort_unstable();
        requests
    }
}

/// Effort of each item, over all its carried segments, in the order of the tree.
fn items(session: Symbol, tree: &SegmentTree, carried: &[Carrying]) -> Vec<CarriedItem> {
    let mut items: FxHashMap<ItemId, CarriedItem> = FxHashMap::default();
    for (segment, carried) in tree.segments.iter().zip(carried) {
        if carried.requests == 0 {
            continue;
        }
        let new = || {
            let Item { kind, file, line } = tree.items[segment.item.0];
            let (tokens, carried) = (Tokens::ZERO, Carrying::default());
            CarriedItem { session, kind, file, line, tokens, carried, basis: Basis::Measured }
        };
        let item = items.entry(segment.item).or_insert_with(new);
        item.tokens = item.tokens.max(Tokens(segment.tokens()));
        item.carried += *carried;
        item.basis = item.basis.max(segment.basis);
    }
    // The map has no order; ids are in the order of the tree.
    let mut items: Vec<(ItemId, CarriedItem)> = items.into_iter().collect();
    items.sort_unstable_by_key(|(id, _)| *id);
    items.into_iter().map(|(_, item)| item).collect()
}

fn by_kind(items: &[CarriedItem]) -> Vec<KindTotals> {
    let of_one = |item: &CarriedItem| {
        let CarriedItem { kind, tokens, carried, basis, .. } = *item;
        KindTotals { kind, items: 1, tokens, carried, basis }
    };
    sum_of_kinds(items.iter().map(of_one))
}

/// Keeps the `top` most expensive items, most expensive first.
fn most_expensive(items: &mut Vec<CarriedItem>, top: usize) {
    items.order_by_key(|one| {
        let size = (one.carried.priced_cost(), one.carried.tokens());
        (Reverse(size), one.file, one.line, one.kind)
    });
    items.truncate(top);
}

/// Context of some sessions.
#[derive(Clone, Debug)]
pub struct Context {
    /// Bill of all sessions together.
    pub bill: Bill,
    /// Kinds of content, most expensive first.
    pub kinds: Vec<KindTotals>,
    /// Most expensive items of all sessions, most expensive first.
    pub items: Vec<CarriedItem>,
    /// Sessions, in the order of the selection.
    pub sessions: Vec<SessionContext>,
}

/// Analyses the selected sessions. `None` if the ledger lacks the record.
pub fn context(
    ledger: &Ledger<'_>,
    steps: &[Step],
    trace: &PromptTrace,
    selection: &Selection,
    top: usize,
) -> Option<Context> {
    let sources = Sources::new(ledger, steps, trace)?;
    let sessions: Vec<SessionContext> =
        side_by_side(&selection.sessions, |session| sources.session(session, top));
    let mut bill = Bill::default();
    for session in &sessions {
        bill += session.bill;
    }
    let mut items: Vec<CarriedItem> =
        sessions.iter().flat_map(|session| session.items.iter().copied()).collect();
    most_expensive(&mut items, top);
    let kinds = sum_of_kinds(sessions.iter().flat_map(|session| &session.kinds).copied());
    Some(Context { bill, kinds, items, sessions })
}

/// Contents of the selected requests, by the parts of each division. `None` if the ledger lacks the record.
pub fn contents_of_parts(
    ledger: &Ledger<'_>,
    steps: &[Step],
    trace: &PromptTrace,
    selection: &Selection,
    divisions: &[Division],
) -> Option<Vec<ByKey<usize, Contents>>> {
    let sources = Sources::new(ledger, steps, trace)?;
    let of_sessions: Vec<Vec<ByKey<usize, Contents>>> =
        side_by_side(&selection.sessions, |one| sources.parts_of(one, divisions));
    let mut all = vec![ByKey::<usize, Contents>::new(); divisions.len()];
    for of_session in of_sessions {
        for (parts, of_session) in all.iter_mut().zip(of_session) {
            for (part, contents) in of_session {
                parts.entry(part).or_default().absorb(&contents);
            }
        }
    }
    Some(all)
}

/// Sums by kind, highest cost first, and without prices by tokens sent.
fn sum_of_kinds(kinds: impl Iterator<Item = KindTotals>) -> Vec<KindTotals> {
    let mut by_kind: FxHashMap<ContextKind, KindTotals> = FxHashMap::default();
    for totals in kinds {
        by_kind.entry(totals.kind).or_insert_with(|| KindTotals::nothing(totals.kind)).add(&totals);
    }
    let mut kinds: Vec<KindTotals> = by_kind.into_values().collect();
    kinds
        .order_by_key(|one| (Reverse((one.carried.priced_cost(), one.carried.tokens())), one.kind));
    kinds
}
