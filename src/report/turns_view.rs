//! A session turn by turn: what each cost as billed and would have cost under other strategies, side by
//! side, and which of them expired, broke or was rewritten.

use std::collections::BTreeMap;

use super::analyze_view::is_comparable;
use super::bar::bar;
use super::document::{Align, Grid};
use super::number::{counted, dollars, duration, grouped, part, tokens};
use super::table::Tone;
use super::turn_words::{agent_names, expiry, refused_beside, what_happened_beside};
use crate::analysis::{Event, Turn, turns_under};
use crate::conversation::RequestIndex;
use crate::id::Symbol;
use crate::ledger::{Ledger, Session, StrategyColumn};
use crate::strategy::DEFAULT;
use crate::units::{Picodollars, Tokens};

/// Of the strategies that nobody asked for by name, those that are shown turn by turn.
const SHOWN: [&str; 3] = ["billed", "5m", "1h"];

/// So many of the most expensive turns are never folded.
const MOST_EXPENSIVE: usize = 5;

/// Fewer turns than this are not folded.
const LEAST_FOLDED: usize = 2;

/// Which turns are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnDetail {
    /// Each.
    All,
    /// Those at which something happened, and the most expensive; the others by runs.
    Events,
    /// None.
    None,
}

/// A turn under all shown strategies.
struct Line {
    /// Counted from 1.
    number: u64,
    turn: Turn,
    /// What it costs in the first column.
    cost: Option<Picodollars>,
    /// Whether all columns have figures of it.
    is_known: bool,
    words: String,
    tone: Tone,
}

/// The turns of a session, a row each, or a row for a run of them. `None` where none are asked for, and
/// where no strategy has figures.
pub(super) fn turns_grid(
    ledger: &Ledger<'_>,
    session: &Session,
    detail: TurnDetail,
) -> Option<Grid> {
    let columns = shown_columns(ledger, session);
    if columns.is_empty() || detail == TurnDetail::None {
        return None;
    }
    let table = Table { ledger, agents: agent_names(ledger.history, session), columns };
    let mut grid = table.empty_grid();
    let costs = MostExpensive::of(ledger, table.columns[0], session);
    // Turns that may become one line, until one comes that may not.
    let mut run: Vec<Line> = Vec::new();
    for line in table.lines(session) {
        let is_foldable = detail == TurnDetail::Events && line.is_quiet() && !costs.has(&line);
        if is_foldable {
            run.push(line);
        } else {
            table.add_run(&mut grid, &mut run, &costs);
            table.add_turn(&mut grid, &line, &costs);
        }
    }
    table.add_run(&mut grid, &mut run, &costs);
    Some(grid)
}

/// The strategies that are asked for, as far as they have figures for any turn; of those that nobody named
/// the ones that say most.
fn shown_columns<'l>(ledger: &'l Ledger<'_>, session: &Session) -> Vec<&'l StrategyColumn> {
    let names = ledger.columns.iter().map(|column| column.strategy.name.as_ref());
    let is_unasked = names.eq(DEFAULT);
    let is_meant =
        |column: &&StrategyColumn| !is_unasked || SHOWN.contains(&column.strategy.name.as_ref());
    let has_figures = |column: &&StrategyColumn| {
        is_comparable(ledger, column)
            && column.applicability().is_applicable()
            && session.requests.iter().any(|index| ledger.row(column, *index).is_some())
    };
    ledger.columns.iter().filter(is_meant).filter(has_figures).collect()
}

impl Line {
    /// Whether it has figures and nothing happened.
    fn is_quiet(&self) -> bool {
        self.is_known && self.words.is_empty()
    }
}

/// What the most expensive turns of a session cost in the first column.
struct MostExpensive {
    /// The most expensive first.
    costs: Vec<Picodollars>,
}

impl MostExpensive {
    fn of(ledger: &Ledger<'_>, column: &StrategyColumn, session: &Session) -> Self {
        let cost = |index: &RequestIndex| ledger.totals(column, [*index]).cost();
        let mut costs: Vec<Picodollars> = Vec::with_capacity(MOST_EXPENSIVE + 1);
        for cost in session.requests.iter().filter_map(cost) {
            let place = costs.partition_point(|more| *more >= cost);
            costs.insert(place, cost);
            costs.truncate(MOST_EXPENSIVE);
        }
        Self { costs }
    }

    fn first(&self) -> Option<Picodollars> {
        self.costs.first().copied()
    }

    /// Whether a turn is one of them; of a session with fewer turns none is.
    fn has(&self, line: &Line) -> bool {
        self.costs.get(MOST_EXPENSIVE - 1).is_some_and(|least| line.cost >= Some(*least))
    }
}

struct Table<'l> {
    ledger: &'l Ledger<'l>,
    agents: BTreeMap<Symbol, String>,
    columns: Vec<&'l StrategyColumn>,
}

impl Table<'_> {
    fn lines<'t>(&'t self, session: &'t Session) -> impl Iterator<Item = Line> + 't {
        let under = |column| turns_under(self.ledger, column, &session.requests);
        let mut others: Vec<_> = self.columns[1..].iter().map(|column| under(column)).collect();
        let first = under(self.columns[0]).zip(1..);
        first.map(move |(turn, number)| {
            let others: Vec<Turn> = others.iter_mut().filter_map(Iterator::next).collect();
            let cost = self.ledger.totals(self.columns[0], [turn.request]).cost();
            let is_known =
                self.columns.iter().all(|column| self.ledger.row(column, turn.request).is_some());
            let (words, tone) = self.words(&turn, &others);
            Line { number, turn, cost, is_known, words, tone }
        })
    }

    /// What happened, and in which columns where they differ.
    fn words(&self, turn: &Turn, others: &[Turn]) -> (String, Tone) {
        let all = [std::slice::from_ref(turn), others].concat();
        let is_break = |event: &Event| matches!(event, Event::Break(_));
        let tone = if all.iter().any(|turn| turn.events.iter().any(is_break)) {
            Tone::Loss
        } else if all.iter().any(|turn| expiry(turn).is_some()) {
            Tone::Expiry
        } else {
            Tone::Plain
        };
        let names = self.columns.iter().map(|column| column.strategy.label());
        let refusals = self.columns.iter().map(|column| {
            let refusal = self.ledger.row(column, turn.request).and_then(|row| row.refusal);
            (column.strategy.label(), refusal)
        });
        let refused = refused_beside(&refusals.collect::<Vec<_>>());
        let columns: Vec<(&str, Turn)> = names.zip(all).collect();
        (what_happened_beside(self.ledger.history, &columns, refused), tone)
    }

    fn empty_grid(&self) -> Grid {
        let sent = format!("sent ({})", self.ledger.history.zone.name());
        let names: Vec<[String; 3]> = self
            .columns
            .iter()
            .map(|column| {
                let name = column.strategy.label();
                [format!("read {name}"), format!("wrote {name}"), name.to_owned()]
            })
            .collect();
        let mut header = vec![("#", Align::Right), (sent.as_str(), Align::Left)];
        if !self.agents.is_empty() {
            header.push(("agent", Align::Left));
        }
        header.push(("gap", Align::Right));
        for name in names.iter().flatten() {
            header.push((name.as_str(), Align::Right));
        }
        header.extend([("", Align::Bar), ("what happened", Align::Wrapped)]);
        // The dollars of the first and what happened go last.
        let mut hidden = Vec::new();
        for [read, written, _] in names.iter().rev() {
            hidden.extend([written.as_str(), read.as_str()]);
        }
        hidden.push("gap");
        hidden.push(sent.as_str());
        hidden.extend((!self.agents.is_empty()).then_some("agent"));
        hidden.extend(names.iter().skip(SHOWN.len()).rev().map(|[.., dollars]| dollars.as_str()));
        Grid::new(&header).hide_first(&hidden)
    }

    fn add_turn(&self, grid: &mut Grid, line: &Line, costs: &MostExpensive) {
        let history = self.ledger.history;
        let request = history.request(line.turn.request);
        let mut cells = vec![grouped(line.number), history.zone.short_moment(request.start)];
        if !self.agents.is_empty() {
            let agent = request.agent.and_then(|agent| self.agents.get(&agent));
            cells.push(agent.cloned().unwrap_or_else(|| "main".to_owned()));
        }
        cells.push(line.turn.gap.map(duration).unwrap_or_default());
        cells.extend(self.figures(std::slice::from_ref(line)));
        cells.push(bar(part(line.cost, costs.first())));
        cells.push(line.words.clone());
        grid.add_toned(cells, line.tone);
    }

    /// Adds a run of turns in which nothing happened, in one line where it is long enough, and empties it.
    fn add_run(&self, grid: &mut Grid, run: &mut Vec<Line>, costs: &MostExpensive) {
        if run.len() >= LEAST_FOLDED {
            self.add_folded(grid, run);
        } else {
            for line in run.iter() {
                self.add_turn(grid, line, costs);
            }
        }
        run.clear();
    }

    fn add_folded(&self, grid: &mut Grid, run: &[Line]) {
        let ([first, .., last], history) = (run, self.ledger.history) else { return };
        let start = history.request(first.turn.request).start;
        let numbers = format!("{}–{}", grouped(first.number), grouped(last.number));
        let mut cells = vec![numbers, history.zone.short_moment(start)];
        cells.extend((!self.agents.is_empty()).then(String::new));
        cells.push(String::new());
        cells.extend(self.figures(run));
        let added: Tokens = run.iter().filter_map(|line| self.growth(line)).sum();
        let turns = counted(run.len() as u64, "turn", "turns");
        cells.extend([String::new(), format!("{turns}, +{} tokens", tokens(added))]);
        grid.add_toned(cells, Tone::Quiet);
    }

    /// What some turns read and wrote, and what that cost, in each column.
    fn figures(&self, lines: &[Line]) -> impl Iterator<Item = String> {
        self.columns.iter().flat_map(|column| {
            let requests = lines.iter().map(|line| line.turn.request);
            let totals = self.ledger.totals(column, requests);
            if totals.unrecorded == lines.len() as u64 {
                return ["–".to_owned(), "–".to_owned(), dollars(None)];
            }
            let written = totals.write_5m + totals.write_1h;
            [tokens(totals.read), tokens(written), dollars(totals.cost())]
        })
    }

    /// By how much a prompt is longer than the one that it goes on from.
    fn growth(&self, line: &Line) -> Option<Tokens> {
        let request = self.ledger.history.request(line.turn.request);
        let before = self.ledger.prompt_total(request.predecessor?);
        Some(self.ledger.prompt_total(line.turn.request).saturating_sub(before))
    }
}
