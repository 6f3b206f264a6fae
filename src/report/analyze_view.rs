//! Ledger for people: one session turn by turn, several with a row each, and totals by strategy.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::applicability::acts_without_markers;
use super::domains::StrategySums;
use super::lifetime_view::lifetime_sentence;
use super::turns_view::{FoundBreaks, TurnDetail, TurnForm, turns_grid};
use super::{
    Columns, Document, Grid, SessionNames, Value, answer_grid, counted, grouped, notes, part,
    tokens,
};
use crate::base::{ByKey, Client, Order as _, Symbol, Tokens};
use crate::explain::analysis::{Answer, Lifetimes, Turn};
use crate::explain::breaks::Break;
use crate::requests::conversation::{History, RequestIndex, project_names};
use crate::requests::prompt::{Level, PromptTrace};
use crate::simulate::ledger::{Ledger, Selection, Session, StrategyColumn, Totals};

/// Length of the longest session that a terminal shows turn by turn, in turns.
const SHORT_SESSION: usize = 40;

/// Largest number of sessions whose turns are shown on request.
const MOST_SESSIONS_WITH_TURNS: usize = 3;

/// Options of the view.
#[derive(Clone, Copy, Debug, Default)]
pub struct AnalyzeViewOptions {
    /// Number of sessions listed, most expensive first; `None` for the default.
    pub top: Option<usize>,
    /// Turns to show; `None` for the default.
    pub turns: Option<TurnDetail>,
    /// True for the tokens of turns in all their digits.
    pub is_exact: bool,
    /// True for the events of every turn, and not only of breaks, if they have no column.
    pub has_all_events: bool,
    /// True if the output is a terminal.
    pub is_terminal: bool,
}

/// Sessions of a selection, with their costs and breaks.
pub fn analyze_document(
    (answer, breaks): (&Answer, &[Break]),
    ledger: &Ledger<'_>,
    trace: &PromptTrace,
    selection: &Selection,
    options: AnalyzeViewOptions,
) -> Document {
    let mut document = Document::default();
    document.grid(answer_grid(answer));
    // If the rules charge more than was billed, their lifetimes would be those of other sessions.
    let is_supported = answer.change.as_ref().is_none_or(|change| change.saving.is_some());
    let lifetimes = Lifetimes::of(ledger, selection).filter(|_| is_supported);
    if let Some(contradiction) = answer.contradiction {
        document.text(contradiction.sentence());
    } else if let Some(sentence) = lifetimes.as_ref().and_then(lifetime_sentence) {
        document.text(sentence);
    }
    let breaks = breaks.iter().map(|found| (found.request, found)).collect();
    if let Some((grid, shared)) = clients_grid(ledger, selection) {
        document.heading("By program");
        document.grid(grid);
        if shared > 0 {
            let has = if shared == 1 { "has" } else { "have" };
            document.text(format!(
                "{} of {} {has} requests of several programs, and counts under each.",
                counted(shared, "session", "sessions"),
                grouped(selection.sessions.len() as u64),
            ));
        }
    }
    match selection.sessions.as_slice() {
        [session] => {
            one_session(&mut document, (ledger, &breaks), session, options);
            sizes(&mut document, ledger, trace, session);
            totals(&mut document, ledger, selection);
        }
        sessions => {
            many_sessions(&mut document, ledger, sessions, options.top);
            totals(&mut document, ledger, selection);
            if options.turns.is_some() && sessions.len() <= MOST_SESSIONS_WITH_TURNS {
                for session in sessions {
                    one_session(&mut document, (ledger, &breaks), session, options);
                }
            }
        }
    }
    notes(&mut document, ledger, selection);
    document
}

/// Cost of each program, most expensive first, and the number of sessions with requests of several programs.
///
/// `None` if all requests are of one program.
fn clients_grid(ledger: &Ledger<'_>, selection: &Selection) -> Option<(Grid, u64)> {
    let history = ledger.history;
    let column = ledger.billed().or(ledger.columns.first())?;
    let mut clients = selection.requests().map(|index| history.request(index).client);
    let first = clients.next()?;
    if clients.all(|client| client == first) {
        return None;
    }
    let mut by_client: ByKey<Client, (BTreeSet<Symbol>, u64, Vec<RequestIndex>)> = ByKey::new();
    for index in selection.requests() {
        let request = history.request(index);
        let (sessions, requests, indexes) = by_client.entry(request.client).or_default();
        sessions.insert(request.session);
        // A record that sums several requests counts as all of them.
        *requests += u64::from(request.sum_of);
        indexes.push(index);
    }
    let mut clients_of: ByKey<Symbol, u64> = ByKey::new();
    for session in by_client.values().flat_map(|(sessions, ..)| sessions) {
        *clients_of.entry(*session).or_default() += 1;
    }
    let shared = clients_of.values().filter(|clients| **clients > 1).count() as u64;
    let mut lines: Vec<_> = by_client
        .into_iter()
        .map(|(client, (sessions, requests, indexes))| {
            (client, ledger.totals(column, indexes), sessions.len() as u64, requests)
        })
        .collect();
    lines.order_by_key(|(client, totals, ..)| (Reverse(totals.cost()), *client));
    let mut columns = Columns::<(Client, Totals, u64, u64)>::new();
    columns.left("", |(client, ..)| client.label());
    columns.right("", |(_, totals, ..)| totals.all_costs());
    columns.left("", |(.., sessions, requests)| {
        let sessions = counted(*sessions, "session", "sessions");
        format!("{sessions}, {}", counted(*requests, "request", "requests"))
    });
    let grid = columns.grid(lines);
    Some((grid, shared))
}

/// One session turn by turn.
fn one_session(
    document: &mut Document,
    (ledger, breaks): (&Ledger<'_>, &FoundBreaks<'_>),
    session: &Session,
    options: AnalyzeViewOptions,
) {
    let is_long = session.requests.len() > SHORT_SESSION;
    let unasked = if options.is_terminal && is_long { TurnDetail::Events } else { TurnDetail::All };
    let detail = options.turns.unwrap_or(unasked);
    let AnalyzeViewOptions { is_exact, has_all_events, .. } = options;
    let form = TurnForm { detail, is_exact, has_all_events };
    let Some(grid) = turns_grid(ledger, breaks, session, form) else { return };
    document.lead(format!("Session {}", ledger.history.symbols.text(session.id)));
    document.grid(grid);
    if options.turns.is_none() && detail == TurnDetail::Events {
        document.text(
            "Runs of turns in which nothing happened stand in one line; --turns all shows each.",
        );
    }
}

/// Column for a session's turns: the bill if it is known for all of them, else the first simulation.
pub(super) fn shown_column<'l>(
    ledger: &'l Ledger<'_>,
    session: &Session,
) -> Option<&'l StrategyColumn> {
    let is_whole = |column: &&StrategyColumn| is_complete(ledger, column, session);
    ledger.billed().filter(is_whole).or_else(|| ledger.columns.iter().find(is_whole))
}

/// Returns true if a column covers all requests of a session, in tokens that compare with the other columns.
pub(super) fn is_complete(ledger: &Ledger<'_>, column: &StrategyColumn, session: &Session) -> bool {
    is_comparable(ledger, column)
        && session.requests.iter().all(|index| ledger.row_tokens(column, *index).is_some())
}

/// Returns true if the tokens of a column compare with those of the others.
///
/// If prompts are counted in bytes, recorded tokens are another unit.
pub(super) fn is_comparable(ledger: &Ledger<'_>, column: &StrategyColumn) -> bool {
    !ledger.history.is_counted_in_bytes() || column.strategy.name != "billed"
}

/// Sizes of the parts of the session's prompt, each with its basis.
fn sizes(document: &mut Document, ledger: &Ledger<'_>, trace: &PromptTrace, session: &Session) {
    let history = ledger.history;
    // Sub-agents have prompts of their own, so the last request of the main chain is the one to show.
    let main = |index: &&RequestIndex| history.request(**index).agent.is_none();
    let Some(last) = session.requests.iter().rev().find(main) else {
        return;
    };
    if history.is_captured(*last) {
        return captured_sizes(document, trace, *last);
    }
    let added: Vec<Tokens> = session
        .requests
        .iter()
        .filter_map(|index| Turn::recorded(ledger, *index, None).added)
        .collect();
    let usages = session.requests.iter().filter_map(|index| history.request(*index).usage.as_ref());
    let answers: Tokens = usages.map(|usage| usage.output).sum();
    // No prompt has an empty prefix: without a read that shows the size, it is unknown.
    let hidden = match trace.prompts[last.get()].system_prefix {
        Tokens::ZERO => "unknown (no read shows their size)".to_owned(),
        size => format!("about {} tokens (estimated)", tokens(size)),
    };
    let client = if added.is_empty() {
        "what the client added is unknown".to_owned()
    } else {
        format!(
            "the client added {} tokens in {} (derived; of the others it is unknown)",
            tokens(added.iter().copied().sum()),
            counted(added.len() as u64, "step", "steps"),
        )
    };
    document.text(format!(
        "Sizes: tools and system prompt {hidden}; {client}; the answers have {} tokens (measured).",
        tokens(answers),
    ));
}

/// Sizes of the parts of a captured prompt.
fn captured_sizes(document: &mut Document, trace: &PromptTrace, last: RequestIndex) {
    let prompt = &trace.prompts[last.get()];
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

/// Sums of each strategy.
fn totals(document: &mut Document, ledger: &Ledger<'_>, selection: &Selection) {
    document.heading("Totals by strategy");
    document.grid(StrategySums::of(ledger, selection, ledger.columns.len()).grid());
}

fn strategy_totals(ledger: &Ledger<'_>, requests: &[RequestIndex]) -> Vec<Totals> {
    ledger.columns.iter().map(|column| ledger.totals(column, requests.iter().copied())).collect()
}

/// Default number of listed sessions.
const MOST_SESSIONS: usize = 20;

/// Strategies that are hidden last if there is not enough room.
const SHOWN_LAST: [&str; 3] = ["billed", "5m", "1h"];

/// The most expensive sessions.
pub(super) fn many_sessions(
    document: &mut Document,
    ledger: &Ledger<'_>,
    sessions: &[Session],
    top: Option<usize>,
) {
    let history = ledger.history;
    // The bar is next to the bill, or without one next to the first strategy.
    let billed = ledger.columns.iter().position(|column| column.strategy.name == "billed");
    let shown = billed.unwrap_or_default();
    let of_sessions: Vec<Vec<Totals>> =
        sessions.iter().map(|session| strategy_totals(ledger, &session.requests)).collect();
    let cost = |of_session: &[Totals]| of_session.get(shown).and_then(Totals::cost);
    let dearest = of_sessions.iter().filter_map(|one| cost(one)).max();
    let mut rows: Vec<(&Session, &Vec<Totals>)> = sessions.iter().zip(&of_sessions).collect();
    let all = counted(sessions.len() as u64, "session", "sessions");
    rows.order_by_key(|(_, totals)| Reverse(cost(totals)));
    let top = top.unwrap_or(MOST_SESSIONS);
    let named = if top < rows.len() { format!("The most expensive {top} of {all}") } else { all };
    rows.truncate(top);
    let beginnings = Beginnings::of(history, rows.iter().map(|(session, _)| *session));
    document.lead(named + &beginnings.year());
    let is_marked = |session: &Session| session.requests.iter().any(|one| history.is_marked(*one));
    let all: Vec<RequestIndex> = sessions.iter().flat_map(|one| one.requests.clone()).collect();
    let all = strategy_totals(ledger, &all);
    // The sums of one session would only repeat it.
    let sums = (sessions.len() > 1).then(|| SessionRow {
        session: None,
        by_strategy: &all,
        began: "",
        is_marked: sessions.iter().any(is_marked),
    });
    let rows = rows.into_iter().zip(beginnings.moments());
    let rows = rows.map(|((session, by_strategy), began)| SessionRow {
        session: Some(session),
        by_strategy,
        began,
        is_marked: is_marked(session),
    });
    let has_sums = sums.is_some();
    let projects = project_names(history);
    let names = SessionNames::of(history);
    let mut columns = Columns::<SessionRow<'_>>::new();
    let name = |row: &SessionRow<'_>| row.session.map(|session| names.name(session.id));
    columns.left("session", move |row| name(row).unwrap_or_else(|| "all".to_owned()));
    if sessions.iter().any(|session| project(history, session).is_some()) {
        columns.name("project", |row| projects.get(&project(history, row.session?)?).cloned());
    }
    if !history.titles.is_empty() {
        columns.wrapped("title", |row| history.titles.get(&row.session?.id).cloned());
    }
    columns.left(format!("began ({})", history.zone.name()), |row| row.began.to_owned());
    columns.right("requests", |row| row.complete().requests).hidden(4);
    columns.right("prompt tokens", |row| row.complete().prompt()).hidden(1);
    columns.right("hit", |row| row.complete().hit_rate()).hidden(3);
    for (at, column) in ledger.columns.iter().enumerate() {
        let cost_under =
            columns.right(column.strategy.label(), move |row| row.cost_under(column, at));
        cost_under.unknown("-").hidden(hidden_place(ledger, &of_sessions, at));
        if at == shown {
            columns.bar(|row| row.session.and_then(|_| part(cost(row.by_strategy), dearest)));
        }
    }
    let mut grid = columns.grid(rows.chain(sums)).dense();
    if has_sums {
        grid.end_with_sums();
    }
    document.grid(grid);
}

/// Session in the table, or all of them.
struct SessionRow<'s> {
    session: Option<&'s Session>,
    by_strategy: &'s [Totals],
    began: &'s str,
    /// True if any request has a marker.
    is_marked: bool,
}

impl SessionRow<'_> {
    /// Totals of the first strategy with all requests: one that lacks records has fewer tokens.
    fn complete(&self) -> Totals {
        let complete = self.by_strategy.iter().find(|totals| totals.unrecorded == 0);
        complete.or(self.by_strategy.first()).copied().unwrap_or_default()
    }

    /// Cost under a strategy, if it can do anything to the session.
    fn cost_under(&self, column: &StrategyColumn, at: usize) -> Option<Value> {
        // Without a marker such a strategy only repeats the record.
        let acts = self.is_marked || acts_without_markers(&column.strategy);
        (acts && column.applicability().is_applicable())
            .then(|| self.by_strategy[at].all_costs().into())
    }
}

/// Place of a strategy's column in the order of hiding: before the hit rate, unless it is one of the usual ones.
///
/// A lifetime that costs as much as the bill says less than the other one, so it is hidden first.
fn hidden_place(ledger: &Ledger<'_>, of_sessions: &[Vec<Totals>], at: usize) -> Option<usize> {
    let label = |at: usize| ledger.columns[at].strategy.label();
    let billed = (0..ledger.columns.len()).find(|at| label(*at) == "billed");
    let cost = |of: &[Totals], at: Option<usize>| of.get(at?).and_then(Totals::cost);
    if label(at) == "billed" {
        return None;
    }
    let Some(place) = SHOWN_LAST.iter().position(|name| *name == label(at)) else { return Some(2) };
    let is_other = |of: &&Vec<Totals>| cost(of, Some(at)) != cost(of, billed);
    let others = of_sessions.iter().filter(is_other).count();
    Some(5 + others * SHOWN_LAST.len() + place)
}

/// Start times of sessions, as text.
struct Beginnings(Vec<String>);

impl Beginnings {
    fn of<'s>(history: &History, sessions: impl Iterator<Item = &'s Session>) -> Self {
        let first = |session: &Session| session.requests.first().copied();
        let moment = |index| history.zone.moment(history.request(index).start);
        Self(sessions.map(|session| first(session).map(moment).unwrap_or_default()).collect())
    }

    /// Year that all of them have in common, with the hyphen after it.
    fn common_year(&self) -> Option<&str> {
        let year = self.0.first()?.get(..5).filter(|year| year.ends_with('-'))?;
        self.0.iter().all(|moment| moment.starts_with(year)).then_some(year)
    }

    /// Year for the heading.
    fn year(&self) -> String {
        let year = self.common_year().map(|year| year.trim_end_matches('-'));
        year.map(|year| format!(", begun in {year}")).unwrap_or_default()
    }

    /// Moments to the minute, without the year that the heading has.
    fn moments(&self) -> impl Iterator<Item = &str> {
        let year = self.common_year().unwrap_or_default();
        let seconds = |moment: &str| moment.rfind(':').unwrap_or(moment.len());
        self.0.iter().map(move |moment| &moment[year.len()..seconds(moment)])
    }
}

/// Project of a session: that of its first request with one.
fn project(history: &History, session: &Session) -> Option<Symbol> {
    session.requests.iter().find_map(|index| history.request(*index).project)
}
