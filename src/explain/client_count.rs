//! Clients' own counts of what sessions cost, beside the sums of their lines.
//!
//! A count has the requests that leave no line, too, and output of which the lines only have a part. Any other difference
//! is a finding. Counts are at the client's prices, and never take the place of the sums.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::base::model::canonical_name;
use crate::base::{ByKey, Order as _, Picodollars, Symbol, Tokens};
use crate::read::transcript::{CostOfModel, CostState};
use crate::requests::conversation::{History, RequestIndex};
use crate::simulate::ledger::{Ledger, Selection, Session, Totals};

/// Counts of the sessions that have one, summed up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ClientCount {
    /// Number of sessions with a count.
    pub sessions: usize,
    /// Cost by the clients' counts.
    #[serde(rename = "counted_usd")]
    pub counted: Picodollars,
    /// Cost of the lines of the same sessions, at list prices.
    #[serde(rename = "of_lines_usd")]
    pub of_lines: Picodollars,
    /// True if a client had no price for a model, so that its count is too low.
    pub is_partial: bool,
    /// Cost of requests that leave no line, by model.
    #[serde(rename = "without_line_usd")]
    pub without_line: ByKey<String, Picodollars>,
    /// Cost of output that lines do not have, as they were written before the end of an answer.
    #[serde(rename = "cut_output_usd")]
    pub cut_output: Picodollars,
    /// All other differences, the largest first.
    pub differences: Vec<CountDifference>,
}

/// Difference between a client's count and the lines of a session, without a known reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CountDifference {
    /// Session.
    #[serde(rename = "session_id")]
    pub session: String,
    /// Model.
    pub model: String,
    /// Count minus lines, in dollars.
    #[serde(rename = "cost_usd")]
    pub cost: Picodollars,
    /// File of the first count that differs.
    pub file: Arc<str>,
    /// Line of the last request before that count; `None` if there is none in its file.
    pub line: Option<u64>,
}

/// Sums of a model: tokens in full, read, written and of output, and their cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sums {
    prompt: [Tokens; 3],
    output: Tokens,
    cost: Picodollars,
}

impl Sums {
    fn of_client(count: &CostOfModel) -> Self {
        let CostOfModel { model: _, input, read, written, output, cost } = *count;
        Self { prompt: [input, read, written], output, cost }
    }

    /// Sums of lines; `None` if some have no price or no record.
    fn of_lines(totals: &Totals) -> Option<Self> {
        let cost = totals.whole_cost()?;
        let prompt = [totals.input, totals.read, totals.write_5m + totals.write_1h];
        Some(Self { prompt, output: totals.output, cost })
    }

    fn add(&mut self, other: Self) {
        for (own, other) in self.prompt.iter_mut().zip(other.prompt) {
            *own += other;
        }
        self.output += other.output;
        self.cost += other.cost;
    }
}

/// Reason for the difference between a client's sums of a model and those of the lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reason {
    Same,
    WithoutLine,
    CutOutput,
    Unknown,
}

/// Largest difference at equal tokens that counts as rounding, in picodollars: a hundredth of a cent, the least that a
/// screen shows. Clients add up floats.
const ROUNDING: i128 = 100_000_000;

fn reason(client: Sums, lines: Sums) -> Reason {
    let has_all = client.prompt.iter().zip(lines.prompt).all(|(one, other)| *one >= other);
    if !has_all || client.output < lines.output {
        Reason::Unknown
    } else if client.prompt != lines.prompt {
        Reason::WithoutLine
    } else if client.output != lines.output {
        Reason::CutOutput
    } else if client.cost.minus(lines.cost).0.abs() <= ROUNDING {
        Reason::Same
    } else {
        Reason::Unknown
    }
}

impl ClientCount {
    /// Compares the counts of the sessions that are selected as a whole; `None` if none of them has one.
    pub fn of(ledger: &Ledger<'_>, selection: &Selection) -> Option<Self> {
        let mut all = Self::default();
        for count in Self::by_session(ledger, selection).values() {
            all.absorb(count);
        }
        (all.sessions > 0).then_some(all)
    }

    /// Count of each session that is selected as a whole and has one.
    pub fn by_session(ledger: &Ledger<'_>, selection: &Selection) -> ByKey<String, Self> {
        let history = ledger.history;
        if history.cost_states.is_empty() {
            return ByKey::new();
        }
        let counted = |session: &Session| {
            let id = history.symbols.text(session.id).to_owned();
            Some((id, of_session(ledger, session)?))
        };
        whole_sessions(history, selection).filter_map(counted).collect()
    }

    /// Sum of all differences without a known reason, in either direction.
    pub fn unexplained(&self) -> Picodollars {
        self.differences.iter().map(|found| Picodollars(found.cost.0.abs())).sum()
    }

    /// Adds the counts of other sessions.
    pub fn absorb(&mut self, other: &Self) {
        self.sessions += other.sessions;
        self.counted += other.counted;
        self.of_lines += other.of_lines;
        self.is_partial |= other.is_partial;
        self.cut_output += other.cut_output;
        for (model, cost) in &other.without_line {
            *self.without_line.entry(model.clone()).or_default() += *cost;
        }
        self.differences.extend(other.differences.iter().cloned());
        self.differences.order_by_key(|one| std::cmp::Reverse(one.cost.0.abs()));
    }

    /// Cost of all requests that leave no line.
    pub fn beside_lines(&self) -> Picodollars {
        self.without_line.values().copied().sum()
    }
}

/// Selected sessions whose every request is selected.
fn whole_sessions<'s>(
    history: &History,
    selection: &'s Selection,
) -> impl Iterator<Item = &'s Session> {
    let mut requests: ByKey<Symbol, usize> = ByKey::new();
    for request in &history.requests {
        *requests.entry(request.session).or_default() += 1;
    }
    selection.sessions.iter().filter(move |session| {
        requests.get(&session.id).is_some_and(|all| *all == session.requests.len())
    })
}

/// Counts of a session, in the order of its file, each with the number of the file.
fn states_of<'h>(history: &'h History, session: &Session) -> Vec<(usize, &'h CostState)> {
    let of_session = |state: &CostState| state.session == Some(session.id);
    let states = history.cost_states.iter().filter(|(_, state)| of_session(state));
    states.map(|(file, state)| (*file, state)).collect()
}

fn of_session(ledger: &Ledger<'_>, session: &Session) -> Option<ClientCount> {
    let history = ledger.history;
    let states = states_of(history, session);
    let (_, last) = states.last()?;
    let client = sums_of_client(history, &states);
    let lines = sums_of_lines(ledger, session, &session.requests)?;
    let mut count = ClientCount {
        sessions: 1,
        counted: total(&states),
        of_lines: lines.values().map(|sums| sums.cost).sum(),
        is_partial: last.is_partial,
        ..ClientCount::default()
    };
    for model in client.keys().chain(lines.keys().filter(|model| !client.contains_key(*model))) {
        let of = |sums: &ByKey<String, Sums>| sums.get(model).copied().unwrap_or_default();
        let (client, lines) = (of(&client), of(&lines));
        let cost = client.cost.minus(lines.cost);
        match reason(client, lines) {
            Reason::Same => {}
            Reason::WithoutLine => {
                count.without_line.insert(model.clone(), cost);
            }
            Reason::CutOutput => count.cut_output += cost,
            Reason::Unknown => {
                count.differences.push(difference(ledger, session, &states, model, cost));
            }
        }
    }
    Some(count)
}

/// Counts that a client began anew after, and the last one: their sum is the count of the session.
///
/// A count falls only if the client began another.
fn ends<'s, 'h>(
    states: &'s [(usize, &'h CostState)],
) -> impl Iterator<Item = &'h CostState> + use<'s, 'h> {
    states.iter().enumerate().filter_map(|(at, (_, state))| {
        let next = states.get(at + 1);
        next.is_none_or(|(_, next)| next.total < state.total).then_some(*state)
    })
}

fn total(states: &[(usize, &CostState)]) -> Picodollars {
    ends(states).map(|state| state.total).sum()
}

/// Sums by model, under the names that prices know.
fn sums_of_client(history: &History, states: &[(usize, &CostState)]) -> ByKey<String, Sums> {
    let mut sums: ByKey<String, Sums> = ByKey::new();
    for count in ends(states).flat_map(|state| &state.models) {
        let model = canonical_name(history.symbols.text(count.model)).into_owned();
        sums.entry(model).or_default().add(Sums::of_client(count));
    }
    sums
}

/// Sums of some requests of a session by model; `None` if they are not known for all.
fn sums_of_lines(
    ledger: &Ledger<'_>,
    session: &Session,
    requests: &[RequestIndex],
) -> Option<ByKey<String, Sums>> {
    let part = Session { id: session.id, requests: requests.to_vec() };
    let breakdown = ledger.breakdown(ledger.billed()?, &Selection { sessions: vec![part] });
    let mut sums: ByKey<String, Sums> = ByKey::new();
    for (model, totals) in &breakdown.models {
        let model = canonical_name(model).into_owned();
        sums.entry(model).or_default().add(Sums::of_lines(totals)?);
    }
    Some(sums)
}

/// Difference of a model, at the first count that has one without a known reason.
fn difference(
    ledger: &Ledger<'_>,
    session: &Session,
    states: &[(usize, &CostState)],
    model: &str,
    cost: Picodollars,
) -> CountDifference {
    let history = ledger.history;
    let differs = |until: &usize| {
        let client = sums_of_client(history, &states[..=*until]);
        let before = requests_before(history, session, states[*until]);
        let lines = sums_of_lines(ledger, session, &before).unwrap_or_default();
        let of = |sums: &ByKey<String, Sums>| sums.get(model).copied().unwrap_or_default();
        reason(of(&client), of(&lines)) == Reason::Unknown
    };
    // The last one differs. A request whose answer is not yet counted makes no lasting difference, so the search is
    // among those after which all differ.
    let first = (0..states.len()).collect::<Vec<_>>().partition_point(|until| !differs(until));
    let (file, state) = states[first.min(states.len() - 1)];
    let lines = requests_before(history, session, (file, state)).into_iter();
    let in_file = lines.map(|index| history.request(index)).filter(|request| request.file == file);
    CountDifference {
        session: history.symbols.text(session.id).to_owned(),
        model: model.to_owned(),
        cost,
        file: Arc::clone(&history.files[file].label),
        line: in_file.map(|request| request.line).max(),
    }
}

/// Requests of a session before a count: those on earlier lines of its file, and those of other files that ended before
/// the last of them did.
fn requests_before(
    history: &History,
    session: &Session,
    (file, state): (usize, &CostState),
) -> Vec<RequestIndex> {
    let is_above = |index: &RequestIndex| {
        let request = history.request(*index);
        request.file == file && request.line < state.line
    };
    let last = session.requests.iter().filter(|index| is_above(index));
    let end = last.map(|index| history.request(*index).finished).max();
    let is_before = |index: &&RequestIndex| {
        let request = history.request(**index);
        if request.file == file { request.line < state.line } else { Some(request.finished) <= end }
    };
    session.requests.iter().filter(is_before).copied().collect()
}
