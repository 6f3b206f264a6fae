//! Turns of a session, column by column, for the page's script.

use std::borrow::Borrow;
use std::io;

use rustc_hash::FxHashMap;
use serde::Serialize;

use super::sessions::MicroDollars;
use super::{BreakIndex, PageView, data_block};
use crate::base::{Millis, Picodollars, Tokens, counted};
use crate::explain::analysis::{Event, Turn};
use crate::explain::breaks::Cause;
use crate::report::turns_view::{broke, what_happened_beside};
use crate::requests::conversation::{Request, RequestIndex};
use crate::simulate::cache::Refusal;
use crate::simulate::ledger::{Ledger, Row, Session, StrategyColumn};

/// Values for the turns. Most columns of a session have only one value.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
enum TurnColumn<T> {
    /// One value for all turns.
    Same(T),
    /// One value for each turn.
    Each(Vec<T>),
}

impl<T: PartialEq> FromIterator<T> for TurnColumn<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        let mut values: Vec<T> = values.into_iter().collect();
        if values.windows(2).all(|pair| pair[0] == pair[1])
            && let Some(value) = values.pop()
        {
            return Self::Same(value);
        }
        Self::Each(values)
    }
}

/// Remark on one turn: its index, and the words.
type Note = (usize, String);

/// Turns of a session. The tokens read are the rest of the prompt.
#[derive(Serialize)]
pub(super) struct SessionTurns {
    /// Number of turns.
    count: usize,
    /// Start of the first turn, in seconds since the Unix epoch.
    start: i64,
    /// Seconds from the previous turn to each, in the listed order.
    step: Vec<i64>,
    /// Ids of the sub-agents.
    agents: Vec<String>,
    /// Index of the sub-agent, or null in the main conversation.
    agent: TurnColumn<Option<usize>>,
    /// From the previous request of the conversation, in tenths of a second.
    gap: TurnColumn<Option<i64>>,
    /// Whole prompt.
    prompt: TurnColumn<Tokens>,
    /// Tokens of the answer, or null where unknown.
    output: TurnColumn<Option<Tokens>>,
    /// Turns whose recorded output may be too low.
    bounds: Vec<usize>,
    /// Events in words.
    words: Vec<Note>,
    /// Breaks, with their causes.
    breaks: Vec<(usize, &'static str)>,
    /// Turns before which the conversation was shortened.
    compactions: Vec<usize>,
    /// In the order of the strategies that the page shows.
    strategies: Vec<StrategyTurns>,
}

/// The same turns under a strategy. A turn without figures has null as its input.
#[derive(Serialize)]
struct StrategyTurns {
    /// The whole prompt, if it differs from the session's.
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt: Option<TurnColumn<Tokens>>,
    /// Sent in full.
    input: TurnColumn<Option<Tokens>>,
    /// Written for five minutes.
    write_5m: TurnColumn<Tokens>,
    /// Written for an hour.
    write_1h: TurnColumn<Tokens>,
    /// Tokens of the answer, if they differ from the session's.
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<TurnColumn<Option<Tokens>>>,
    /// Exact cost of the turn and everything that belongs to it, in micro-dollars, or null without a price.
    cost: TurnColumn<Option<MicroDollars>>,
    /// Refused turns with the reason. Nothing is then read, written or sent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    refused: Vec<(usize, &'static str)>,
    /// Other costs that are included in that of a turn.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    besides: Vec<Note>,
}

/// Turns of a session as the text of its data block.
///
/// # Errors
/// The turns cannot be JSON.
pub(super) fn turns_block(
    view: &PageView<'_>,
    breaks: &BreakIndex<'_>,
    session: &Session,
) -> io::Result<String> {
    data_block(&session_turns(view, breaks, session))
}

fn session_turns(view: &PageView<'_>, breaks: &BreakIndex<'_>, session: &Session) -> SessionTurns {
    let history = view.ledger.history;
    let requests: Vec<&Request> =
        session.requests.iter().map(|index| history.request(*index)).collect();
    let recorded: Vec<RecordedTokens> =
        session.requests.iter().map(|index| RecordedTokens::of(view.ledger, *index)).collect();
    let (agents, agent) = agents(requests.iter().map(|request| history.text(request.agent)));
    let (start, step) = times(requests.iter().map(|request| request.start));
    let turn = |index: &RequestIndex| Turn::recorded(view.ledger, *index, breaks.of(*index));
    let turns: Vec<Turn> = session.requests.iter().map(turn).collect();
    let is_bound = |request: &&Request| request.output_is_lower_bound;
    let is_compacted = |turn: &Turn| turn.events.iter().any(is_compaction);
    let figures = |column: &StrategyColumn| {
        let turns = session.requests.iter().zip(&recorded).map(|(index, recorded)| {
            let rows: Vec<Row<'_>> = view.ledger.rows(column, *index).collect();
            TurnFigures::of(&rows, *recorded)
        });
        StrategyTurns::of(&turns.collect::<Vec<_>>(), &recorded)
    };
    SessionTurns {
        count: requests.len(),
        start,
        step,
        agents,
        agent,
        gap: turns.iter().map(|turn| turn.gap.map(|gap| gap / 100)).collect(),
        prompt: recorded.iter().map(|one| one.prompt).collect(),
        output: recorded.iter().map(|one| one.output).collect(),
        bounds: places(requests.iter().map(is_bound)),
        words: words(view, breaks, &turns),
        breaks: causes(breaks, session),
        compactions: places(turns.iter().map(is_compacted)),
        strategies: view.shown().map(figures).collect(),
    }
}

/// A turn that is known from its rows alone.
pub(super) struct RowTurn {
    pub(super) agent: Option<String>,
    pub(super) start: Millis,
    pub(super) recorded: RecordedTokens,
    pub(super) is_lower_bound: bool,
    /// Tokens that a break did not read, its cause, and the word for the certainty of the cause.
    pub(super) lost: Option<(Tokens, Cause, &'static str)>,
    /// Figures under each shown strategy.
    pub(super) figures: Vec<TurnFigures>,
}

impl SessionTurns {
    /// Turns of a session that is known from its rows alone: without gaps, and without events other than breaks.
    pub(super) fn of_rows(turns: &[RowTurn], strategies: usize) -> Self {
        let recorded: Vec<RecordedTokens> = turns.iter().map(|turn| turn.recorded).collect();
        let (agents, agent) = agents(turns.iter().map(|turn| turn.agent.as_deref()));
        let (start, step) = times(turns.iter().map(|turn| turn.start));
        let broken = || turns.iter().enumerate().filter_map(|(at, turn)| Some((at, turn.lost?)));
        let figures = |strategy: usize| {
            let figures: Vec<&TurnFigures> =
                turns.iter().map(|turn| &turn.figures[strategy]).collect();
            StrategyTurns::of(&figures, &recorded)
        };
        Self {
            count: turns.len(),
            start,
            step,
            agents,
            agent,
            gap: TurnColumn::Same(None),
            prompt: recorded.iter().map(|one| one.prompt).collect(),
            output: recorded.iter().map(|one| one.output).collect(),
            bounds: places(turns.iter().map(|turn| turn.is_lower_bound)),
            words: broken()
                .map(|(at, (lost, cause, certainty))| {
                    (at, broke("", lost, &[certainty, cause.meaning()].concat()))
                })
                .collect(),
            breaks: broken().map(|(at, (_, cause, _))| (at, cause.meaning())).collect(),
            compactions: Vec::new(),
            strategies: (0..strategies).map(figures).collect(),
        }
    }
}

/// Recorded tokens, shared by every strategy that sends the requests as they were.
#[derive(Clone, Copy)]
pub(super) struct RecordedTokens {
    pub(super) prompt: Tokens,
    pub(super) output: Option<Tokens>,
}

impl RecordedTokens {
    fn of(ledger: &Ledger<'_>, index: RequestIndex) -> Self {
        let usage = ledger.history.request(index).usage.as_ref();
        Self { prompt: ledger.prompt_total(index), output: usage.map(|usage| usage.output) }
    }
}

/// Names of the sub-agents, and the index of each turn's one.
fn agents<'a>(
    of_turns: impl Iterator<Item = Option<&'a str>>,
) -> (Vec<String>, TurnColumn<Option<usize>>) {
    let mut places: FxHashMap<&str, usize> = FxHashMap::default();
    let mut names = Vec::new();
    let agent = of_turns.map(|agent| {
        let agent = agent?;
        Some(*places.entry(agent).or_insert_with(|| {
            names.push(agent.to_owned());
            names.len() - 1
        }))
    });
    let agent = agent.collect();
    (names, agent)
}

/// Time of the first turn, and the seconds between turns.
fn times(starts: impl Iterator<Item = Millis>) -> (i64, Vec<i64>) {
    let seconds: Vec<i64> = starts.map(|start| start.get().div_euclid(1_000)).collect();
    let start = seconds.first().copied().unwrap_or_default();
    let before = std::iter::once(start).chain(seconds.iter().copied());
    let steps = seconds.iter().zip(before).map(|(own, before)| own.saturating_sub(before));
    (start, steps.collect())
}

/// Events of each turn under the strategies shown side by side, if there are any.
fn words(view: &PageView<'_>, breaks: &BreakIndex<'_>, turns: &[Turn]) -> Vec<Note> {
    let beside = view.beside();
    let (ledger, mut notes) = (view.ledger, Vec::new());
    for (place, turn) in turns.iter().enumerate() {
        let under = |column: &&StrategyColumn| turn.under(ledger, column);
        let names = beside.iter().map(|column| column.strategy.label());
        let columns: Vec<(&str, Turn)> = names.zip(beside.iter().map(under)).collect();
        let found = breaks.of(turn.request);
        let happened = what_happened_beside(ledger.history, found, &columns, None);
        if !happened.is_empty() {
            notes.push((place, happened));
        }
    }
    notes
}

fn is_compaction(event: &Event) -> bool {
    matches!(event, Event::Compaction | Event::Microcompaction)
}

fn places(holds: impl Iterator<Item = bool>) -> Vec<usize> {
    holds.enumerate().filter_map(|(place, holds)| holds.then_some(place)).collect()
}

fn causes(breaks: &BreakIndex<'_>, session: &Session) -> Vec<(usize, &'static str)> {
    let cause = |index: &RequestIndex| breaks.of(*index).map(|found| found.cause.meaning());
    let turns = session.requests.iter().enumerate();
    turns.filter_map(|(place, index)| Some((place, cause(index)?))).collect()
}

/// A turn under a strategy.
pub(super) struct TurnFigures {
    prompt: Tokens,
    /// `None` if the strategy has no row.
    input: Option<Tokens>,
    write_5m: Tokens,
    write_1h: Tokens,
    output: Option<Tokens>,
    cost: Option<MicroDollars>,
    refusal: Option<Refusal>,
    besides: Option<String>,
}

impl TurnFigures {
    /// Figures of a turn by its rows.
    pub(super) fn of(rows: &[Row<'_>], recorded: RecordedTokens) -> Self {
        // Earlier samplings and added requests have rows of their own, and add to the cost alone.
        let own = rows.iter().find(|row| row.iteration.is_none() && row.added.is_none());
        let billing = own.map(|row| row.billing).unwrap_or_default();
        // A refused request has no tokens; its prompt stays the recorded one.
        let sent = own.filter(|row| row.refusal.is_none());
        Self {
            prompt: sent.map_or(recorded.prompt, |_| billing.prompt()),
            input: own.map(|row| row.billing.input),
            write_5m: billing.write_5m,
            write_1h: billing.write_1h,
            output: sent
                .map_or(recorded.output, |row| row.is_output_known.then_some(billing.output)),
            cost: cost(rows),
            refusal: own.and_then(|row| row.refusal),
            besides: besides(rows),
        }
    }
}

impl StrategyTurns {
    fn of(turns: &[impl Borrow<TurnFigures>], recorded: &[RecordedTokens]) -> Self {
        let turns = || turns.iter().map(Borrow::borrow);
        let differs = |is_same: fn(&TurnFigures, &RecordedTokens) -> bool| {
            turns().zip(recorded).any(|(turn, recorded)| !is_same(turn, recorded))
        };
        let has_other_prompts = differs(|turn, recorded| turn.prompt == recorded.prompt);
        let has_other_outputs = differs(|turn, recorded| turn.output == recorded.output);
        let noted = || turns().enumerate();
        Self {
            prompt: has_other_prompts.then(|| turns().map(|turn| turn.prompt).collect()),
            input: turns().map(|turn| turn.input).collect(),
            write_5m: turns().map(|turn| turn.write_5m).collect(),
            write_1h: turns().map(|turn| turn.write_1h).collect(),
            output: has_other_outputs.then(|| turns().map(|turn| turn.output).collect()),
            cost: turns().map(|turn| turn.cost).collect(),
            refused: noted().filter_map(|(at, turn)| Some((at, turn.refusal?.name()))).collect(),
            besides: noted().filter_map(|(at, turn)| Some((at, turn.besides.clone()?))).collect(),
        }
    }
}

/// Cost of the rows that have a price.
fn cost(rows: &[Row<'_>]) -> Option<MicroDollars> {
    let known = rows.iter().filter_map(|row| row.cost);
    known.reduce(|sum, cost| sum + cost).map(|cost: Picodollars| MicroDollars(cost))
}

/// Words for other requests in the cost of a turn, if there are any.
fn besides(rows: &[Row<'_>]) -> Option<String> {
    let earlier = rows.iter().filter(|row| row.iteration.is_some()).count() as u64;
    let added = rows.iter().filter(|row| row.added.is_some()).count() as u64;
    let earlier = (earlier > 0).then(|| counted(earlier, "earlier sampling", "earlier samplings"));
    let added = (added > 0).then(|| counted(added, "added request", "added requests"));
    let all: Vec<String> = earlier.into_iter().chain(added).collect();
    (!all.is_empty()).then(|| format!("cost with {}", all.join(" and ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_of_one_value_is_that_value() {
        let column = |values: &[Option<u8>]| values.iter().copied().collect::<TurnColumn<_>>();
        assert_eq!(column(&[Some(0), Some(0)]), TurnColumn::Same(Some(0)));
        assert_eq!(column(&[]), TurnColumn::Each(vec![]));
        let written = data_block(&[column(&[Some(1), None]), column(&[None, None])]).expect("JSON");
        assert_eq!(written, "[[1,null],null]");
    }
}
