//! Session turn by turn: the bill of each turn and its cost under other strategies, side by side.
//!
//! Shows which turns expired, broke or were rewritten. Also words for events, and names for sub-agents.

use std::mem::discriminant;

use rustc_hash::FxHashMap;

use super::analyze_view::is_comparable;
use super::breaks_view::probable_cause;
use super::{Columns, Grid, Money, Tone, counted, duration, grouped, part, short_tokens, tokens};
use crate::base::{ByKey, Millis, Ordered as _, Picodollars, Symbol, Tokens, Ttl, side_by_side};
use crate::explain::analysis::{Event, Turn};
use crate::explain::breaks::Break;
use crate::requests::conversation::{History, RequestIndex};
use crate::simulate::cache::Refusal;
use crate::simulate::ledger::{Ledger, RowTokens, Session, StrategyColumn, Totals};
use crate::simulate::strategy::DEFAULT;

/// Strategies that are shown turn by turn by default: both lifetimes side by side, then the bill.
const SHOWN: [&str; 3] = ["5m", "1h", "billed"];

/// Number of strategies whose columns stay if there is no room for all.
const LEADING: usize = 2;

/// Number of the most expensive turns that are never folded.
const MOST_EXPENSIVE: usize = 5;

/// Fewest turns that are folded.
const LEAST_FOLDED: usize = 2;

/// Number of turns computed at a time.
// A batch limits the turns that are computed and not yet in the table.
const BATCH: usize = 4096;

/// Number of chunks of a batch, each computed on one thread.
const CHUNKS: usize = 8;

/// Turns to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnDetail {
    /// All turns.
    All,
    /// Turns with events and the most expensive ones; the others are folded into runs.
    Events,
    /// No turns.
    None,
}

/// Form of the rows of turns.
#[derive(Clone, Copy, Debug)]
pub(super) struct TurnForm {
    /// Turns that have a row of their own.
    pub(super) detail: TurnDetail,
    /// True for tokens in all their digits.
    pub(super) is_exact: bool,
    /// True for the events of every turn, and not only of breaks, if they have no column.
    pub(super) has_all_events: bool,
}

/// Breaks of a selection by request.
pub(super) type FoundBreaks<'a> = FxHashMap<RequestIndex, &'a Break>;

/// Turn under all shown strategies.
struct TurnLine {
    /// Number of the turn, from 1 on.
    number: u64,
    turn: Turn,
    /// Cost in the column of the base.
    cost: Option<Picodollars>,
    /// True if all columns have figures for the turn.
    is_known: bool,
    words: String,
    /// Most important event, in one word.
    word: &'static str,
    tone: Tone,
}

/// Turns that are shown, or may be folded.
enum TurnPart {
    /// Turns with rows of their own.
    Shown(Grid),
    /// Turn that may share a row with its neighbours.
    Foldable(TurnLine),
}

/// The turns of a session, with a row for each or for a run of them; `None` if none are wanted, or no
/// strategy has figures.
pub(super) fn turns_grid(
    ledger: &Ledger<'_>,
    breaks: &FoundBreaks<'_>,
    session: &Session,
    form: TurnForm,
) -> Option<Grid> {
    let columns = shown_columns(ledger, session);
    // The record comes first if it is shown: its costs say which turns are the most expensive.
    let base = *columns.iter().find(|one| one.strategy.is_record()).or(columns.first())?;
    if form.detail == TurnDetail::None {
        return None;
    }
    let agents = agent_names(ledger.history, session);
    let costs = MostExpensive::of(ledger, base, session);
    let sum = |column: &&StrategyColumn| ledger.totals(column, session.requests.iter().copied());
    let money = Money::of(columns.iter().filter_map(|column| sum(column).cost()));
    let rows = turn_columns(ledger, session, &columns, (!agents.is_empty(), money), form);
    let mut grid = rows.empty().dense();
    let table =
        TurnTable { ledger, breaks, agents, columns, base, costs, detail: form.detail, rows };
    // Turns that may share a row, until one comes that may not.
    let mut run: Vec<TurnLine> = Vec::new();
    for (number, batch) in session.requests.chunks(BATCH).enumerate() {
        let first = 1 + number * BATCH;
        let chunks: Vec<(usize, &[RequestIndex])> =
            (first..).step_by(BATCH / CHUNKS).zip(batch.chunks(BATCH / CHUNKS)).collect();
        let parts = side_by_side(&chunks, |(first, requests)| table.parts(requests, *first as u64));
        for part in parts.into_iter().flatten() {
            match part {
                TurnPart::Foldable(line) => run.push(line),
                TurnPart::Shown(rows) => {
                    table.add_run(&mut grid, &mut run);
                    grid.append(rows);
                }
            }
        }
    }
    table.add_run(&mut grid, &mut run);
    // The sums of one turn would only repeat it.
    if session.requests.len() > 1 {
        let sums = table.sums(&session.requests);
        table
            .rows
            .write(&TurnRow { number: "all".to_owned(), sums, ..TurnRow::default() }, &mut grid);
        grid.end_with_sums();
    }
    Some(grid)
}

/// Requested strategies that have figures for any turn, or the most informative ones by default.
fn shown_columns<'l>(ledger: &'l Ledger<'_>, session: &Session) -> Vec<&'l StrategyColumn> {
    let names = ledger.columns.iter().map(|column| column.strategy.name.as_ref());
    let meant: Vec<&StrategyColumn> = if names.eq(DEFAULT) {
        SHOWN.iter().filter_map(|name| ledger.column(name)).collect()
    } else {
        ledger.columns.iter().collect()
    };
    let has_figures = |column: &&StrategyColumn| {
        is_comparable(ledger, column)
            && column.applicability().is_applicable()
            && session.requests.iter().any(|index| ledger.row_tokens(column, *index).is_some())
    };
    meant.into_iter().filter(has_figures).collect()
}

impl TurnLine {
    /// Returns true if the turn has figures and no event.
    fn is_quiet(&self) -> bool {
        self.is_known && self.words.is_empty()
    }
}

/// Meaning of a turn's colour: breaks and expiries under any strategy are losses, of different kinds.
fn tone(columns: &[(&str, Turn)]) -> Tone {
    let is_loss = |event: &Event| matches!(event, Event::Break(_, cause) if !cause.is_expected());
    let is_expiry = |event: &Event| matches!(event, Event::Expired(..));
    let has = |is: fn(&Event) -> bool| columns.iter().any(|(_, turn)| turn.events.iter().any(is));
    if has(is_loss) {
        Tone::Loss
    } else if has(is_expiry) {
        Tone::Expiry
    } else {
        Tone::Plain
    }
}

/// Costs of the most expensive turns of a session under one strategy.
struct MostExpensive {
    /// Sorted, most expensive first.
    costs: Vec<Picodollars>,
}

impl MostExpensive {
    fn of(ledger: &Ledger<'_>, column: &StrategyColumn, session: &Session) -> Self {
        let cost = |index: &RequestIndex| ledger.totals(column, [*index]).cost();
        let chunks: Vec<&[RequestIndex]> = session.requests.chunks(BATCH).collect();
        let chunks = side_by_side(&chunks, |chunk| Self::among(chunk.iter().filter_map(cost)));
        Self::among(chunks.into_iter().flat_map(|chunk| chunk.costs))
    }

    // Few are kept, so that inserting into a sorted list is cheaper than sorting all.
    fn among(all: impl Iterator<Item = Picodollars>) -> Self {
        let mut costs: Vec<Picodollars> = Vec::with_capacity(MOST_EXPENSIVE + 1);
        for cost in all {
            let place = costs.partition_point(|more| *more >= cost);
            costs.insert(place, cost);
            costs.truncate(MOST_EXPENSIVE);
        }
        Self { costs }
    }

    fn first(&self) -> Option<Picodollars> {
        self.costs.first().copied()
    }

    /// Returns true if a turn is one of them; sessions with fewer turns have none.
    fn has(&self, line: &TurnLine) -> bool {
        self.costs.get(MOST_EXPENSIVE - 1).is_some_and(|least| line.cost >= Some(*least))
    }
}

struct TurnTable<'l> {
    ledger: &'l Ledger<'l>,
    breaks: &'l FoundBreaks<'l>,
    agents: ByKey<Symbol, String>,
    /// Columns in the order of the table.
    columns: Vec<&'l StrategyColumn>,
    /// Column whose events and costs are those of the turns.
    base: &'l StrategyColumn,
    costs: MostExpensive,
    detail: TurnDetail,
    rows: Columns<'l, TurnRow>,
}

/// Row of a turn, of a run of turns, or of all.
#[derive(Default)]
struct TurnRow {
    number: String,
    start: Option<Millis>,
    agent: Option<String>,
    gap: Option<i64>,
    /// Sums in each column; `None` without a figure.
    sums: Vec<Option<Totals>>,
    /// Cost as a part of the most expensive turn's.
    part: Option<f64>,
    words: String,
    word: String,
    tone: Tone,
}

/// Columns of turns: tokens read, tokens written and cost of each strategy, and the events.
fn turn_columns<'c>(
    ledger: &'c Ledger<'_>,
    session: &Session,
    strategies: &[&'c StrategyColumn],
    (has_agents, money): (bool, Money),
    form: TurnForm,
) -> Columns<'c, TurnRow> {
    let zone = &ledger.history.zone;
    let places = HidingOrder::of(ledger, session, strategies);
    let mut columns = Columns::<TurnRow>::new();
    columns.right("#", |row| row.number.clone());
    let sent = |row: &TurnRow| row.start.map(|start| zone.short_moment(start));
    columns.left(format!("sent ({})", zone.name()), sent).hidden(places.step(1));
    if has_agents {
        columns.left("agent", |row| row.agent.clone()).hidden(places.step(3));
    }
    columns.right("gap", |row| row.gap.map(duration)).hidden(places.step(7));
    let count = if form.is_exact { tokens } else { short_tokens };
    for (at, column) in strategies.iter().enumerate() {
        let name = column.strategy.label();
        let (tokens, dollars) = places.of_strategy(at);
        let read = move |row: &TurnRow| row.sums[at].map(|sums| count(sums.read));
        columns.right(format!("read {name}"), read).unknown("–").hidden(tokens + 1);
        let written = move |sums: Totals| count(sums.write_5m + sums.write_1h);
        let written = move |row: &TurnRow| row.sums[at].map(written);
        columns.right(format!("wrote {name}"), written).unknown("–").hidden(tokens);
        let cost = move |row: &TurnRow| Some(money.shown(Some(row.sums[at]?.cost()?)));
        columns.right(name, cost).unknown("unknown").hidden(dollars);
    }
    columns.bar(|row| row.part);
    let sentence = columns.wrapped("what happened", |row| row.words.clone());
    sentence.hidden(places.step(2)).below(form.has_all_events);
    columns.left("event", |row| row.word.clone()).in_their_place();
    columns.toned(|row| row.tone);
    columns
}

/// Order in which the columns of turns are hidden.
///
/// Both lifetimes are hidden last, tokens and dollars; of the two, the one that the bill already shows goes first.
struct HidingOrder {
    strategies: usize,
    /// True if the second of the leading strategies is hidden last, and not the first.
    is_second_last: bool,
}

impl HidingOrder {
    fn of(ledger: &Ledger<'_>, session: &Session, strategies: &[&StrategyColumn]) -> Self {
        let is_as_billed = |column| is_as_billed(ledger, column, session);
        let is_second_last =
            matches!(strategies, [one, other, ..] if is_as_billed(one) && !is_as_billed(other));
        Self { strategies: strategies.len(), is_second_last }
    }

    /// First place of a step, which has room for two columns of each strategy.
    fn step(&self, step: usize) -> usize {
        step * 2 * self.strategies
    }

    /// Place of a leading strategy among those, which are hidden in this order.
    fn place(&self, at: usize) -> usize {
        let last = LEADING.min(self.strategies) - 1;
        if self.is_second_last { at } else { last - at }
    }

    /// Places of a strategy's tokens, and of its dollars: those of the last one stay.
    fn of_strategy(&self, at: usize) -> (usize, Option<usize>) {
        let from_end = self.strategies - at;
        match at.checked_sub(LEADING) {
            None => {
                let place = self.place(at);
                let is_last = place + 1 == LEADING.min(self.strategies);
                (self.step(5 + place), Some(self.step(5 + place) + 2).filter(|_| !is_last))
            }
            Some(0) => (2 * from_end, Some(self.step(4))),
            Some(_) => (2 * from_end, Some(self.step(1) + from_end)),
        }
    }
}

/// Returns true if a strategy costs as much as the bill in nearly all requests, so that its columns add
/// little to it.
fn is_as_billed(ledger: &Ledger<'_>, column: &StrategyColumn, session: &Session) -> bool {
    let Some(billed) = ledger.billed() else { return false };
    let cost = |column, index: RequestIndex| ledger.totals(column, [index]).cost();
    let is_other = |index: &&RequestIndex| cost(column, **index) != cost(billed, **index);
    let others = session.requests.iter().filter(is_other).count();
    others * 10 <= session.requests.len()
}

impl TurnTable<'_> {
    /// Computes some turns in order, numbered from `first`.
    fn parts(&self, requests: &[RequestIndex], first: u64) -> Vec<TurnPart> {
        let mut parts = Vec::new();
        let mut shown = self.rows.empty();
        for (index, number) in requests.iter().zip(first..) {
            let line = self.line(*index, number);
            if self.detail == TurnDetail::Events && line.is_quiet() && !self.costs.has(&line) {
                // Rows before a turn that may be folded end here, to keep the order.
                if !shown.is_empty() {
                    let rows = std::mem::replace(&mut shown, self.rows.empty());
                    parts.push(TurnPart::Shown(rows));
                }
                parts.push(TurnPart::Foldable(line));
            } else {
                self.rows.write(&self.row(line), &mut shown);
            }
        }
        if !shown.is_empty() {
            parts.push(TurnPart::Shown(shown));
        }
        parts
    }

    fn line(&self, index: RequestIndex, number: u64) -> TurnLine {
        let history = self.ledger.history;
        let found = self.breaks.get(&index).copied();
        let recorded = Turn::recorded(self.ledger, index, found);
        let under = self.columns.iter().map(|column| recorded.under(self.ledger, column));
        let names = self.columns.iter().map(|column| column.strategy.label());
        let mut columns: Vec<(&str, Turn)> = names.clone().zip(under).collect();
        // The events of the base are those of the turn; the other columns only add expiries.
        let base = self.columns.iter().position(|one| std::ptr::eq(*one, self.base));
        columns[..=base.unwrap_or_default()].rotate_right(1);
        let rows = self.columns.iter().map(|column| self.ledger.row_tokens(column, index));
        let rows: Vec<Option<RowTokens>> = rows.collect();
        let refusals = rows.iter().map(|row| row.as_ref().and_then(|row| row.refusal));
        let of_base = base.and_then(|base| rows[base].as_ref());
        let is_cold = of_base.is_some_and(|row| row.billing.read == Tokens::ZERO);
        let refused = refused_beside(&names.zip(refusals).collect::<Vec<_>>());
        TurnLine {
            number,
            cost: self.ledger.totals(self.base, [index]).cost(),
            is_known: rows.iter().all(Option::is_some),
            word: word(found, &columns, refused.is_some(), is_cold),
            words: what_happened_beside(history, found, &columns, refused),
            tone: tone(&columns),
            turn: recorded,
        }
    }

    /// Row of a turn.
    fn row(&self, line: TurnLine) -> TurnRow {
        let request = self.ledger.history.request(line.turn.request);
        let agent = request.agent.and_then(|agent| self.agents.get(&agent).cloned());
        TurnRow {
            number: grouped(line.number),
            start: Some(request.start),
            agent: Some(agent.unwrap_or_else(|| "main".to_owned())),
            gap: line.turn.gap,
            sums: self.sums(&[line.turn.request]),
            part: part(line.cost, self.costs.first()),
            words: line.words,
            word: line.word.to_owned(),
            tone: line.tone,
        }
    }

    /// Adds a run of turns without events, in one row if it is long enough, and empties it.
    fn add_run(&self, grid: &mut Grid, run: &mut Vec<TurnLine>) {
        if let [first, .., last] = run.as_slice()
            && run.len() >= LEAST_FOLDED
        {
            self.rows.write(&self.folded(run, first, last), grid);
            run.clear();
        }
        for line in run.drain(..) {
            self.rows.write(&self.row(line), grid);
        }
    }

    fn folded(&self, run: &[TurnLine], first: &TurnLine, last: &TurnLine) -> TurnRow {
        let requests: Vec<RequestIndex> = run.iter().map(|line| line.turn.request).collect();
        let added: Tokens = run.iter().filter_map(|line| self.growth(line)).sum();
        let turns = counted(run.len() as u64, "turn", "turns");
        TurnRow {
            number: format!("{}–{}", grouped(first.number), grouped(last.number)),
            start: Some(self.ledger.history.request(first.turn.request).start),
            sums: self.sums(&requests),
            words: format!("{turns}, +{} tokens", tokens(added)),
            word: "quiet".to_owned(),
            tone: Tone::Quiet,
            ..TurnRow::default()
        }
    }

    /// Sums of some turns in each column.
    fn sums(&self, requests: &[RequestIndex]) -> Vec<Option<Totals>> {
        let sums = self.columns.iter().map(|column| {
            let totals = self.ledger.totals(column, requests.iter().copied());
            Some(totals).filter(|totals| totals.unrecorded != requests.len() as u64)
        });
        sums.collect()
    }

    /// Growth of a prompt beyond the one that it continues.
    fn growth(&self, line: &TurnLine) -> Option<Tokens> {
        let request = self.ledger.history.request(line.turn.request);
        let before = self.ledger.prompt_total(request.predecessor?);
        Some(self.ledger.prompt_total(line.turn.request).saturating_sub(before))
    }
}

/// Length of the longest ids of sub-agents that are shown whole.
const WHOLE_ID: usize = 16;

/// Least length of longer ids after the cut.
const SHORT_ID: usize = 8;

/// Prefix of the id of an unnamed side conversation.
const SIDECHAIN: &str = "sidechain:";

/// Events of a request under columns shown side by side, most important first: refusals, expiries, its break,
/// and the rest.
///
/// Each column has a name and its own version of the turn. Events of only some columns name these.
pub(super) fn what_happened_beside(
    history: &History,
    found: Option<&Break>,
    columns: &[(&str, Turn)],
    refused: Option<String>,
) -> String {
    let Some((_, first)) = columns.first() else { return String::new() };
    let (expiries, others): (Vec<&Event>, Vec<&Event>) =
        events_beside(columns).into_iter().partition(|one| matches!(one, Event::Expired(..)));
    let expired = expiries.into_iter().map(|event| match (event, under(columns, event)) {
        (Event::Expired(gap, _), Some(under)) => format!("expired{under} ({})", duration(*gap)),
        _ => words_of(history, first.request, event),
    });
    let broke = found.map(|found| {
        let event = Event::Break(found.shortfall(), found.cause);
        let is_shown = columns.iter().any(|(_, turn)| turn.events.contains(&event));
        // A break that no shown column has is one of the record.
        let under = if is_shown { under(columns, &event) } else { Some(" as sent".to_owned()) };
        broke(&under.unwrap_or_default(), found.shortfall(), &probable_cause(history, found))
    });
    let others = others.into_iter().map(|event| words_of(history, first.request, event));
    refused.into_iter().chain(expired).chain(broke).chain(others).collect::<Vec<_>>().join("; ")
}

/// Most important event of a request, in a word of at most seven letters.
fn word(
    found: Option<&Break>,
    columns: &[(&str, Turn)],
    is_refused: bool,
    is_cold: bool,
) -> &'static str {
    let events = events_beside(columns);
    let rank = |event: &&&Event| match event {
        Event::Expired(..) => 0,
        Event::Compaction => 1,
        Event::Opening => 2,
        _ => 3,
    };
    match events.iter().min_by_key(rank) {
        _ if is_refused => "refused",
        _ if found.is_some_and(|found| !found.cause.is_expected()) => "break",
        Some(Event::Expired(..)) => "expired",
        Some(Event::Compaction) => "compact",
        Some(Event::Opening) if is_cold => "cold",
        Some(Event::Opening) => "first",
        // An expected break comes after the event that explains it.
        _ if found.is_some() => "break",
        Some(Event::ModelChange) => "model",
        Some(Event::Microcompaction) => "cleared",
        Some(Event::ThinkingDropped) => "dropped",
        Some(Event::Shrunk) => "shrank",
        Some(Event::Rewrite) => "rewrite",
        Some(Event::Restart) => "restart",
        Some(Event::Rewound) => "rewound",
        Some(Event::Sum(_)) => "sum",
        Some(Event::UncachedTail(_)) => "tail",
        Some(Event::Break(..) | Event::BackgroundWrite(_)) | None => "",
    }
}

/// Names of the columns that have an event of the cache; `None` if all have it.
fn under(columns: &[(&str, Turn)], event: &Event) -> Option<String> {
    let has_it = |turn: &Turn| turn.events.iter().any(|one| is_like(one, event));
    let having = columns.iter().filter(|(_, turn)| has_it(turn)).map(|(name, _)| *name);
    let names: Vec<&str> = having.collect();
    (names.len() < columns.len()).then(|| format!(" under {}", names.join(", ")))
}

/// Break in a few words.
pub(super) fn broke(under: &str, shortfall: Tokens, cause: &str) -> String {
    format!("break{under}: {} tokens not read ({cause})", tokens(shortfall))
}

/// Refusal of a request, with its reason and the columns it is under; `None` without one.
pub(super) fn refused_beside(columns: &[(&str, Option<Refusal>)]) -> Option<String> {
    let refused = || columns.iter().filter_map(|(name, refusal)| Some((*name, (*refusal)?)));
    let (_, refusal) = refused().next()?;
    let names: Vec<&str> = refused().map(|(name, _)| name).collect();
    if names.len() == columns.len() {
        return Some(format!("refused: {}", refusal.label()));
    }
    Some(format!("refused under {}: {}", names.join(", "), refusal.label()))
}

/// Events of the first column and expiries of the others, without breaks.
fn events_beside<'c>(columns: &'c [(&str, Turn)]) -> Vec<&'c Event> {
    let mut events: Vec<&Event> = Vec::new();
    for (place, (_, turn)) in columns.iter().enumerate() {
        for event in &turn.events {
            let is_meant = match event {
                // The break of a request has words of its own, with its cause.
                Event::Break(..) => false,
                Event::Expired(..) => true,
                _ => place == 0,
            };
            if is_meant && !events.iter().any(|one| is_like(one, event)) {
                events.push(event);
            }
        }
    }
    events
}

/// Returns true if two columns have the same event, whatever its size.
fn is_like(one: &Event, other: &Event) -> bool {
    discriminant(one) == discriminant(other)
}

/// Event in a few words.
fn words_of(history: &History, index: RequestIndex, event: &Event) -> String {
    match event {
        Event::Sum(requests) => {
            format!("sum of {}", counted(u64::from(*requests), "request", "requests"))
        }
        Event::Opening => "first of its chain".to_owned(),
        Event::ModelChange => format!("now {}", history.model(index)),
        Event::Compaction => "compaction".to_owned(),
        Event::Microcompaction => "old tool results cleared".to_owned(),
        Event::ThinkingDropped => "earlier thinking dropped".to_owned(),
        Event::Shrunk => "prompt shrank".to_owned(),
        Event::Rewrite => "earlier messages rewritten".to_owned(),
        Event::Restart => "another first message".to_owned(),
        Event::Expired(gap, ttl) => expired(*gap, *ttl),
        Event::Break(shortfall, cause) => broke("", *shortfall, cause.meaning()),
        Event::BackgroundWrite(extra) => {
            format!("+{} tokens by a background request", tokens(*extra))
        }
        Event::UncachedTail(tail) => format!("{} tokens after the last marker", tokens(*tail)),
        Event::Rewound => "later rewound".to_owned(),
    }
}

/// Gap that exceeded a lifetime, in a few words.
pub(super) fn expired(gap: i64, ttl: Ttl) -> String {
    format!("expired ({} > {})", duration(gap), ttl.name())
}

/// Names of a session's sub-agents.
///
/// Long ids keep as many characters as needed to distinguish all of them.
pub(super) fn agent_names(history: &History, session: &Session) -> ByKey<Symbol, String> {
    let agents = session.requests.iter().filter_map(|index| history.request(*index).agent);
    let ids: ByKey<Symbol, Vec<char>> =
        agents.map(|agent| (agent, name_of(history, agent).chars().collect())).collect();
    let cut = |id: &[char], length: usize| -> String {
        let kept = if id.len() <= WHOLE_ID { id.len() } else { length.min(id.len()) };
        id[..kept].iter().collect()
    };
    let longest = ids.values().map(Vec::len).max().unwrap_or_default();
    let are_apart = |length: &usize| {
        let names: Vec<String> = ids.values().map(|id| cut(id, *length)).ordered();
        names.len() == ids.len()
    };
    let length = (SHORT_ID..longest).find(are_apart).unwrap_or(longest);
    ids.iter().map(|(agent, id)| (*agent, cut(id, length))).collect()
}

/// Name of a sub-agent; for a side conversation its own id.
fn name_of(history: &History, agent: Symbol) -> &str {
    let name = history.symbols.text(agent);
    name.strip_prefix(SIDECHAIN).unwrap_or(name)
}
