//! The turns of a session, column by column, for the page's script.

use std::io;

use rustc_hash::FxHashMap;
use serde::Serialize;

use super::PageView;
use super::break_lines::BreakIndex;
use super::safe_text::data_block;
use super::sessions::MicroDollars;
use crate::base::id::Symbol;
use crate::base::units::{Picodollars, Tokens};
use crate::base::wording::counted;
use crate::explain::analysis::{Event, Turn};
use crate::explain::breaks::Cause;
use crate::report::turns_view::what_happened_beside;
use crate::requests::conversation::{History, Request, RequestIndex};
use crate::simulate::cache::Refusal;
use crate::simulate::ledger::{Ledger, Row, Session, StrategyColumn};

/// A value for each turn. Most columns of a session have only one value.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
enum TurnColumn<T> {
    /// The same for every turn.
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

/// A remark on one turn: its index, and the words.
type Note = (usize, String);

/// A session's turns. What was read is the rest of the prompt.
#[derive(Serialize)]
struct SessionTurns {
    /// The number of turns.
    count: usize,
    /// When the first was sent, in seconds since the Unix epoch.
    start: i64,
    /// Seconds from the previous turn to each, in the listed order.
    step: Vec<i64>,
    /// The sub-agents.
    agents: Vec<String>,
    /// The index of the sub-agent, or null in the main conversation.
    agent: TurnColumn<Option<usize>>,
    /// From the previous request of the conversation, in tenths of a second.
    gap: TurnColumn<Option<i64>>,
    /// The whole prompt.
    prompt: TurnColumn<Tokens>,
    /// Tokens of the answer, or null where unknown.
    output: TurnColumn<Option<Tokens>>,
    /// The turns whose recorded output may be too low.
    bounds: Vec<usize>,
    /// What happened, if anything did.
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
    /// The whole prompt, where it differs from the session's.
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt: Option<TurnColumn<Tokens>>,
    /// Sent in full.
    input: TurnColumn<Option<Tokens>>,
    /// Written for five minutes.
    write_5m: TurnColumn<Tokens>,
    /// Written for an hour.
    write_1h: TurnColumn<Tokens>,
    /// Tokens of the answer, where they differ from the session's.
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<TurnColumn<Option<Tokens>>>,
    /// The exact cost of the turn and everything that belongs to it, in micro-dollars, or null
    /// without a price.
    cost: TurnColumn<Option<MicroDollars>>,
    /// Turns that the service refuses, and why. Nothing is then read, written or sent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    refused: Vec<(usize, &'static str)>,
    /// What else is included in the cost of a turn.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    besides: Vec<Note>,
}

/// The turns of a session as the text of its data block.
///
/// # Errors
/// Where they cannot be JSON.
pub(super) fn turns_block(
    view: &PageView<'_>,
    breaks: &BreakIndex,
    session: &Session,
) -> io::Result<String> {
    data_block(&session_turns(view, breaks, session))
}

fn session_turns(view: &PageView<'_>, breaks: &BreakIndex, session: &Session) -> SessionTurns {
    let history = view.ledger.history;
    let requests: Vec<&Request> =
        session.requests.iter().map(|index| history.request(*index)).collect();
    let recorded: Vec<RecordedTokens> =
        session.requests.iter().map(|index| RecordedTokens::of(view.ledger, *index)).collect();
    let (agents, agent) = agents(history, &requests);
    let (start, step) = times(&requests);
    let turn = |index: &RequestIndex| Turn::recorded(history, view.steps, *index);
    let turns: Vec<Turn> = session.requests.iter().map(turn).collect();
    let is_bound = |request: &&Request| request.output_is_lower_bound;
    let is_compacted = |turn: &Turn| turn.events.iter().any(is_compaction);
    let strategies =
        view.shown().map(|column| strategy_turns(view.ledger, column, session, &recorded));
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
        words: words(view, session),
        breaks: causes(breaks, session),
        compactions: places(turns.iter().map(is_compacted)),
        strategies: strategies.collect(),
    }
}

/// What every strategy that sends the requests as recorded shares.
#[derive(Clone, Copy)]
struct RecordedTokens {
    prompt: Tokens,
    output: Option<Tokens>,
}

impl RecordedTokens {
    fn of(ledger: &Ledger<'_>, index: RequestIndex) -> Self {
        let usage = ledger.history.request(index).usage.as_ref();
        Self { prompt: ledger.prompt_total(index), output: usage.map(|usage| usage.output) }
    }
}

/// The sub-agents by name, and the one that each turn belongs to.
fn agents(history: &History, requests: &[&Request]) -> (Vec<String>, TurnColumn<Option<usize>>) {
    let mut places: FxHashMap<Symbol, usize> = FxHashMap::default();
    let mut names = Vec::new();
    let agent = requests.iter().map(|request| {
        let agent = request.agent?;
        Some(*places.entry(agent).or_insert_with(|| {
            names.push(history.symbols.text(agent).to_owned());
            names.len() - 1
        }))
    });
    let agent = agent.collect();
    (names, agent)
}

/// The time of the first turn, and the seconds between turns.
fn times(requests: &[&Request]) -> (i64, Vec<i64>) {
    let seconds = |request: &&Request| request.start.get().div_euclid(1_000);
    let start = requests.first().map_or(0, seconds);
    let before = std::iter::once(start).chain(requests.iter().map(seconds));
    let steps = requests.iter().map(seconds).zip(before);
    (start, steps.map(|(own, before)| own.saturating_sub(before)).collect())
}

/// What happened under the strategies shown side by side, if anything did.
fn words(view: &PageView<'_>, session: &Session) -> Vec<Note> {
    let beside = view.beside();
    let (ledger, mut notes) = (view.ledger, Vec::new());
    for (place, index) in session.requests.iter().enumerate() {
        let turn = Turn::recorded(ledger.history, ledger.steps, *index);
        let under = |column: &&StrategyColumn| turn.under(ledger, column);
        let names = beside.iter().map(|column| column.strategy.label());
        let columns: Vec<(&str, Turn)> = names.zip(beside.iter().map(under)).collect();
        let happened = what_happened_beside(ledger.history, &columns, None);
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

fn causes(breaks: &BreakIndex, session: &Session) -> Vec<(usize, &'static str)> {
    let cause = |index: &RequestIndex| breaks.cause(*index).map(Cause::meaning);
    let turns = session.requests.iter().enumerate();
    turns.filter_map(|(place, index)| Some((place, cause(index)?))).collect()
}

/// A turn under a strategy.
struct TurnFigures {
    prompt: Tokens,
    /// `None` where the strategy has no row.
    input: Option<Tokens>,
    write_5m: Tokens,
    write_1h: Tokens,
    output: Option<Tokens>,
    cost: Option<MicroDollars>,
    refusal: Option<Refusal>,
    besides: Option<String>,
}

impl TurnFigures {
    fn of(
        ledger: &Ledger<'_>,
        column: &StrategyColumn,
        index: RequestIndex,
        recorded: RecordedTokens,
    ) -> Self {
        let rows: Vec<Row<'_>> = ledger.rows(column, index).collect();
        let own = rows.iter().find(|row| row.iteration.is_none() && row.added.is_none());
        let billing = own.map(|row| row.billing).unwrap_or_default();
        let sent = own.filter(|row| row.refusal.is_none());
        Self {
            prompt: sent.map_or(recorded.prompt, |_| {
                billing.read + billing.write_5m + billing.write_1h + billing.input
            }),
            input: own.map(|row| row.billing.input),
            write_5m: billing.write_5m,
            write_1h: billing.write_1h,
            output: sent
                .map_or(recorded.output, |row| row.is_output_known.then_some(billing.output)),
            cost: cost(&rows),
            refusal: own.and_then(|row| row.refusal),
            besides: besides(&rows),
        }
    }
}

fn strategy_turns(
    ledger: &Ledger<'_>,
    column: &StrategyColumn,
    session: &Session,
    recorded: &[RecordedTokens],
) -> StrategyTurns {
    let turns: Vec<TurnFigures> = session
        .requests
        .iter()
        .zip(recorded)
        .map(|(index, recorded)| TurnFigures::of(ledger, column, *index, *recorded))
        .collect();
    let differs = |is_same: fn(&TurnFigures, &RecordedTokens) -> bool| {
        turns.iter().zip(recorded).any(|(turn, recorded)| !is_same(turn, recorded))
    };
    let has_other_prompts = differs(|turn, recorded| turn.prompt == recorded.prompt);
    let has_other_outputs = differs(|turn, recorded| turn.output == recorded.output);
    let noted = || turns.iter().enumerate();
    StrategyTurns {
        prompt: has_other_prompts.then(|| turns.iter().map(|turn| turn.prompt).collect()),
        input: turns.iter().map(|turn| turn.input).collect(),
        write_5m: turns.iter().map(|turn| turn.write_5m).collect(),
        write_1h: turns.iter().map(|turn| turn.write_1h).collect(),
        output: has_other_outputs.then(|| turns.iter().map(|turn| turn.output).collect()),
        cost: turns.iter().map(|turn| turn.cost).collect(),
        refused: noted().filter_map(|(at, turn)| Some((at, turn.refusal?.name()))).collect(),
        besides: noted().filter_map(|(at, turn)| Some((at, turn.besides.clone()?))).collect(),
    }
}

/// The cost of the rows that have one.
fn cost(rows: &[Row<'_>]) -> Option<MicroDollars> {
    let known = rows.iter().filter_map(|row| row.cost);
    known.reduce(|sum, cost| sum + cost).map(|cost: Picodollars| MicroDollars(cost))
}

/// What else is included in the cost of a turn, if anything.
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
