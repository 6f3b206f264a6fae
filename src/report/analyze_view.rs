//! The ledger for people: one session turn by turn, several in a line each, and the totals by
//! strategy.

use std::collections::{BTreeMap, BTreeSet};

use super::answer_view::answer_grid;
use super::applicability::{NOT_APPLICABLE, applicability_notes};
use super::bar::bar;
use super::document::{Align, Document, Grid};
use super::key_notes::key_notes;
use super::managed::managed;
use super::number::{
    bytes, counted, dollar_difference, dollars, duration, grouped, moment, part, percent,
    percent_difference, relative, short_moment, tokens, whole_percent,
};
use crate::analysis::{Answer, Event, Turn, turns, turns_under};
use crate::cache::Refusal;
use crate::conversation::{History, Request, RequestIndex};
use crate::id::Symbol;
use crate::ledger::{Ledger, Row, Selection, Session, StrategyColumn, Totals};
use crate::prompt::{Level, PromptTrace, Step};
use crate::units::{Picodollars, Tokens};

/// Ids are shown this short where they need only be told apart.
const SHORT_ID: usize = 8;

/// `6fe4e511-70ab-4c00-8000-00000000000a` and the like.
const UUID_LENGTH: usize = 36;

/// Ids of sub-agents up to this length are shown whole.
const WHOLE_ID: usize = 16;

/// Longer names of sessions are cut.
const LONGEST_NAME: usize = 28;

/// The sessions of a selection, and what they cost.
#[must_use]
pub fn analyze_document(
    answer: &Answer,
    ledger: &Ledger<'_>,
    steps: &[Step],
    trace: &PromptTrace,
    selection: &Selection,
) -> Document {
    let mut document = Document::default();
    document.grid(answer_grid(answer));
    match selection.sessions.as_slice() {
        [session] => {
            one_session(&mut document, ledger, session);
            sizes(&mut document, ledger.history, steps, trace, session);
        }
        sessions => many_sessions(&mut document, ledger, sessions),
    }
    totals(&mut document, ledger, selection);
    notes(&mut document, ledger, selection);
    document
}

fn short(id: &str) -> String {
    id.chars().take(SHORT_ID).collect()
}

/// A session's name, short where it is a UUID. Other names tell more at their end.
pub(super) fn session_name(id: &str) -> String {
    let length = id.chars().count();
    let is_uuid = length == UUID_LENGTH && id.matches('-').count() == 4;
    if is_uuid {
        short(id)
    } else if length <= LONGEST_NAME {
        id.to_owned()
    } else {
        format!("…{}", id.chars().skip(length + 1 - LONGEST_NAME).collect::<String>())
    }
}

fn one_session(document: &mut Document, ledger: &Ledger<'_>, session: &Session) {
    let history = ledger.history;
    let Some(column) = shown_column(ledger, session) else {
        return;
    };
    let shown = match column.strategy.name.as_ref() {
        "billed" => String::new(),
        name => format!(" under `{name}`"),
    };
    document.heading(format!("Session {}{shown}", history.symbols.text(session.id)));
    let agents = agent_names(history, session);
    let has_agents = !agents.is_empty();
    let mut header = vec![("#", Align::Right), ("sent (UTC)", Align::Left)];
    if has_agents {
        header.push(("agent", Align::Left));
    }
    header.extend([
        ("gap", Align::Right),
        ("prompt", Align::Right),
        ("read", Align::Right),
        ("written", Align::Right),
        ("input", Align::Right),
        ("output", Align::Right),
        ("hit", Align::Right),
        ("", Align::Bar),
        ("cost", Align::Right),
        ("what happened", Align::Wrapped),
    ]);
    let mut grid = Grid::new(&header);
    for (number, turn) in turns_under(ledger, column, &session.requests).enumerate() {
        let request = history.request(turn.request);
        let Some(row) = ledger.row(column, turn.request) else { continue };
        let split = &row.billing;
        let written = split.write_5m + split.write_1h;
        let mut totals = Totals::default();
        totals.add(&row);
        let mut cells = vec![grouped(number as u64 + 1), short_moment(request.start)];
        if has_agents {
            let agent = request.agent.and_then(|agent| agents.get(&agent));
            cells.push(agent.cloned().unwrap_or_else(|| "main".to_owned()));
        }
        cells.extend([
            turn.gap.map(duration).unwrap_or_default(),
            tokens(ledger.prompt_total(turn.request)),
            tokens(split.read),
            format!("{}{}", tokens(written), ttl_suffix(split.write_5m, split.write_1h)),
            tokens(split.input),
            output(request, &row),
            whole_percent(totals.hit_rate()),
            bar(totals.hit_rate()),
            dollars(row.cost),
            what_happened(history, request, &turn, row.refusal),
        ]);
        grid.add(cells);
    }
    document.grid(grid);
}

/// The names of a session's sub-agents: of long ids as few characters as tell all of them apart.
fn agent_names(history: &History, session: &Session) -> BTreeMap<Symbol, String> {
    let agents = session.requests.iter().filter_map(|index| history.request(*index).agent);
    let ids: BTreeMap<Symbol, Vec<char>> =
        agents.map(|agent| (agent, history.symbols.text(agent).chars().collect())).collect();
    let cut = |id: &[char], length: usize| -> String {
        let kept = if id.len() <= WHOLE_ID { id.len() } else { length.min(id.len()) };
        id[..kept].iter().collect()
    };
    let longest = ids.values().map(Vec::len).max().unwrap_or_default();
    let are_apart = |length: &usize| {
        let names: BTreeSet<String> = ids.values().map(|id| cut(id, *length)).collect();
        names.len() == ids.len()
    };
    let length = (SHORT_ID..longest).find(are_apart).unwrap_or(longest);
    ids.iter().map(|(agent, id)| (*agent, cut(id, length))).collect()
}

/// The column that a session's turns are shown with: what was billed, where that is known of all of
/// them, else the first simulation.
pub(super) fn shown_column<'l>(
    ledger: &'l Ledger<'_>,
    session: &Session,
) -> Option<&'l StrategyColumn> {
    let is_complete = |column: &&StrategyColumn| {
        is_comparable(ledger, column)
            && session.requests.iter().all(|index| ledger.row(column, *index).is_some())
    };
    ledger.column("billed").filter(is_complete).or_else(|| ledger.columns.iter().find(is_complete))
}

/// Where prompts are counted in bytes, the tokens of the record are another unit.
fn is_comparable(ledger: &Ledger<'_>, column: &StrategyColumn) -> bool {
    !ledger.history.is_counted_in_bytes() || column.strategy.name != "billed"
}

/// Where the session's prompts came from, each part with what it is known by.
fn sizes(
    document: &mut Document,
    history: &History,
    steps: &[Step],
    trace: &PromptTrace,
    session: &Session,
) {
    let main = |index: &&RequestIndex| history.request(**index).agent.is_none();
    let Some(last) = session.requests.iter().rev().find(main) else {
        return;
    };
    if history.is_captured(*last) {
        return captured_sizes(document, trace, *last);
    }
    let added: Vec<Tokens> =
        turns(history, steps, &session.requests).filter_map(|turn| turn.added).collect();
    let usages = session.requests.iter().filter_map(|index| history.request(*index).usage.as_ref());
    let answers: Tokens = usages.map(|usage| usage.output).sum();
    // Nothing is that small: where nothing was read that would show it, it is not known.
    let hidden = match trace.prompts[last.0].system_prefix {
        Tokens::ZERO => "unknown (no read shows their size)".to_owned(),
        size => format!("about {} tokens (estimated)", tokens(size)),
    };
    document.text(format!(
        "Sizes: tools and system prompt {hidden}; the client added {} tokens in {} (derived; in others \
         it cannot be told); the answers have {} tokens (measured).",
        tokens(added.iter().copied().sum()),
        counted(added.len() as u64, "step", "steps"),
        tokens(answers),
    ));
}

/// The parts of a captured prompt.
fn captured_sizes(document: &mut Document, trace: &PromptTrace, last: RequestIndex) {
    let prompt = &trace.prompts[last.0];
    let system = trace.path(prompt.node).find(|node| trace.node(*node).level == Level::System);
    let basis = system.map_or(prompt.basis, |node| trace.node(node).basis.max(prompt.basis));
    let system = system.map_or(Tokens::ZERO, |node| trace.node(node).end.min(prompt.total));
    document.text(format!(
        "Sizes of the last prompt: tools and system prompt {} tokens, messages {} ({}).",
        tokens(system),
        tokens(prompt.total.saturating_sub(system)),
        basis.name(),
    ));
}

fn ttl_suffix(write_5m: Tokens, write_1h: Tokens) -> &'static str {
    match (write_5m > Tokens::ZERO, write_1h > Tokens::ZERO) {
        (true, true) => " 5m+1h",
        (true, false) => " 5m",
        (false, true) => " 1h",
        (false, false) => "",
    }
}

/// An output that may be only the beginning of the real one says so.
fn output(request: &Request, row: &Row<'_>) -> String {
    if !row.is_output_known {
        return "unknown".to_owned();
    }
    let mark = if request.output_is_lower_bound { "≥ " } else { "" };
    format!("{mark}{}", tokens(row.billing.output))
}

/// What happened at a request, the most important first, and whether it would be refused.
pub(super) fn what_happened(
    history: &History,
    request: &Request,
    turn: &Turn,
    refusal: Option<Refusal>,
) -> String {
    let refused = refusal.map(|refusal| format!("refused: {}", refusal.name()));
    let words = turn.events.iter().map(|event| match event {
        Event::Opening => "first of its chain".to_owned(),
        Event::ModelChange => format!("now {}", history.symbols.text(request.model)),
        Event::Compaction => "compaction".to_owned(),
        Event::Microcompaction => "old tool results cleared".to_owned(),
        Event::ThinkingDropped => "earlier thinking dropped".to_owned(),
        Event::Rewrite => "prompt shrank".to_owned(),
        Event::Restart => "another first message".to_owned(),
        Event::Expired(gap, ttl) => format!("expired ({} > {})", duration(*gap), ttl.name()),
        Event::Break(shortfall) => format!("break: {} not read", tokens(*shortfall)),
        Event::OneStepBehind(last) => format!("one step behind by {}", tokens(*last)),
        Event::BackgroundWrite(extra) => format!("+{} by a background request", tokens(*extra)),
        Event::UncachedTail(tail) => format!("{} behind the marker", tokens(*tail)),
        Event::Rewound => "later rewound".to_owned(),
    });
    refused.into_iter().chain(words).collect::<Vec<_>>().join("; ")
}

fn many_sessions(document: &mut Document, ledger: &Ledger<'_>, sessions: &[Session]) {
    let history = ledger.history;
    document.heading(counted(sessions.len() as u64, "session", "sessions"));
    let mut header = vec![
        ("session", Align::Left),
        ("began (UTC)", Align::Left),
        ("requests", Align::Right),
        ("prompt tokens", Align::Right),
        ("hit", Align::Right),
    ];
    header
        .extend(ledger.columns.iter().map(|column| (column.strategy.name.as_ref(), Align::Right)));
    // Beside what was billed, else beside the first strategy.
    let billed = ledger.columns.iter().position(|column| column.strategy.name == "billed");
    let shown = billed.unwrap_or_default();
    let bars = (header.len() - ledger.columns.len() + shown + 1).min(header.len());
    header.insert(bars, ("", Align::Bar));
    let mut grid = Grid::new(&header);
    let of_sessions: Vec<Vec<Totals>> =
        sessions.iter().map(|session| strategy_totals(ledger, &session.requests)).collect();
    let cost = |of_session: &Vec<Totals>| of_session.get(shown).and_then(Totals::cost);
    let dearest = of_sessions.iter().filter_map(cost).max();
    for (session, by_strategy) in sessions.iter().zip(&of_sessions) {
        let complete = by_strategy.iter().find(|totals| totals.unrecorded == 0);
        let Some(first) = complete.or(by_strategy.first()) else {
            continue;
        };
        let began = session.requests.first().map(|index| moment(history.request(*index).start));
        let mut cells = vec![
            session_name(history.symbols.text(session.id)),
            began.unwrap_or_default(),
            grouped(first.requests),
            tokens(first.prompt()),
            percent(first.hit_rate()),
        ];
        let costs = ledger.columns.iter().zip(by_strategy);
        cells.extend(costs.map(|(column, totals)| {
            let is_told = column.applicability().is_applicable();
            if is_told { dollars(totals.cost()) } else { "-".to_owned() }
        }));
        cells.insert(bars, bar(part(cost(by_strategy), dearest)));
        grid.add(cells);
    }
    document.grid(grid);
}

fn strategy_totals(ledger: &Ledger<'_>, requests: &[RequestIndex]) -> Vec<Totals> {
    ledger.columns.iter().map(|column| ledger.totals(column, requests.iter().copied())).collect()
}

fn totals(document: &mut Document, ledger: &Ledger<'_>, selection: &Selection) {
    document.heading("Totals by strategy");
    let mut grid = Grid::new(&[
        ("strategy", Align::Left),
        ("read", Align::Right),
        ("written 5m", Align::Right),
        ("written 1h", Align::Right),
        ("input", Align::Right),
        ("output", Align::Right),
        ("hit", Align::Right),
        ("cost", Align::Right),
        ("", Align::Bar),
        ("difference", Align::Right),
        ("", Align::Right),
    ]);
    let all: Vec<RequestIndex> = selection.requests().collect();
    let by_strategy = strategy_totals(ledger, &all);
    // The first strategy that all requests have a row of.
    let is_base = |(column, totals): &(&StrategyColumn, &Totals)| {
        totals.unrecorded == 0 && is_comparable(ledger, column)
    };
    let first = ledger.columns.iter().zip(&by_strategy).position(|pair| is_base(&pair));
    let base = first.and_then(|first| by_strategy[first].cost());
    let bases = ledger.columns.iter().zip(&by_strategy).filter(is_base);
    let dearest = bases.filter_map(|(_, totals)| totals.cost()).max();
    for (number, (column, totals)) in ledger.columns.iter().zip(&by_strategy).enumerate() {
        let cost = totals.cost();
        let is_compared = Some(number) != first && is_base(&(column, totals));
        let difference = is_compared.then(|| difference_to(base, cost));
        let share = is_compared.then(|| percent_difference(relative(cost, base)));
        if !column.applicability().is_applicable() {
            let mut cells = vec![column.strategy.name.to_string()];
            cells.extend((0..6).map(|_| "-".to_owned()));
            cells.extend([NOT_APPLICABLE.to_owned(), String::new(), String::new(), String::new()]);
            grid.add(cells);
            continue;
        }
        grid.add(vec![
            column.strategy.name.to_string(),
            tokens(totals.read),
            tokens(totals.write_5m),
            tokens(totals.write_1h),
            tokens(totals.input),
            tokens(totals.output),
            percent(totals.hit_rate()),
            dollars(cost),
            bar(part(cost, dearest).filter(|_| is_base(&(column, totals)))),
            difference.map(dollar_difference).unwrap_or_default(),
            share.unwrap_or_default(),
        ]);
    }
    document.grid(grid);
}

/// How much went to branches that were left.
fn rewound(document: &mut Document, ledger: &Ledger<'_>, selection: &Selection) {
    let history = ledger.history;
    let is_rewound = |index: &RequestIndex| !history.request(*index).is_live;
    let rewound: Vec<RequestIndex> = selection.requests().filter(is_rewound).collect();
    let is_complete = |column: &&StrategyColumn| {
        is_comparable(ledger, column) && ledger.totals(column, selection.requests()).unrecorded == 0
    };
    let billed = ledger.column("billed").filter(is_complete);
    let shown = billed.or_else(|| ledger.columns.iter().find(is_complete));
    let Some(column) = shown.filter(|_| !rewound.is_empty()) else { return };
    let part = ledger.totals(column, rewound);
    let all = ledger.totals(column, selection.requests());
    document.text(format!(
        "Rewound branches: {} of {}, {} of {} (`{}`); --live leaves them out.",
        grouped(part.requests),
        counted(all.requests, "request", "requests"),
        dollars(part.cost()),
        dollars(all.cost()),
        column.strategy.name,
    ));
}

fn difference_to(base: Option<Picodollars>, cost: Option<Picodollars>) -> Option<Picodollars> {
    Some(cost?.minus(base?))
}

fn notes(document: &mut Document, ledger: &Ledger<'_>, selection: &Selection) {
    let history = ledger.history;
    let bounds =
        selection.requests().filter(|index| history.request(*index).output_is_lower_bound).count();
    let prices = ledger.prices;
    document.text(format!(
        "Read {} in {}: {}, {} left out. Prices: {}, checked on {}. `billed` is measured; the \
         simulated strategies are derived or estimated, which --format jsonl says row by row.",
        bytes(history.bytes),
        counted(history.files.len() as u64, "file", "files"),
        counted(history.requests.len() as u64, "request", "requests"),
        counted(history.duplicates, "copy", "copies"),
        prices.id,
        prices.as_of,
    ));
    if history.is_counted_in_bytes() && ledger.column("billed").is_some() {
        document.text(
            "Captured prompts are counted in bytes: `billed`, which counts recorded tokens, is \
             another unit and not compared.",
        );
    }
    let unknown = selection.requests().filter(|index| history.request(*index).usage.is_none());
    let unknown = unknown.count() as u64;
    if unknown > 0 {
        document.text(format!(
            "The usage of {} was not recorded: what was billed is unknown, and the costs are those \
             of the prompts alone, without output.",
            counted(unknown, "request", "requests")
        ));
    }
    for note in key_notes(history, &ledger.assumptions) {
        document.text(note);
    }
    rewound(document, ledger, selection);
    let applicability =
        ledger.columns.iter().map(|column| (&*column.strategy.name, column.applicability()));
    for note in applicability_notes(applicability) {
        document.text(note);
    }
    for managed in managed(ledger) {
        document.text(managed.note());
    }
    if bounds > 0 {
        document.text(format!(
            "The output of {} is a snapshot in mid-stream: it and its cost are lower bounds.",
            counted(bounds as u64, "request", "requests")
        ));
    }
}
