//! Requests that two sources tell of: a session and a log, or a program's sums and its rows. Each counts
//! once, in the session; what the log knows better is taken over.

use rustc_hash::{FxHashMap, FxHashSet};

use super::agents::Placed;
use super::{History, RequestIndex};
use crate::base::client::Client;
use crate::base::id::Symbol;
use crate::base::units::{Millis, Tokens};
use crate::read::agent::{AgentRequest, Follows};
use crate::read::input::{PromptSplit, Usage};

/// A program may write its report so long after the last row that is in it.
const LATEST_REPORT_MILLIS: i64 = 60_000;

/// The requests of transcripts, by the ids that the service gave them.
#[derive(Default)]
pub(super) struct Served {
    by_message: FxHashMap<Symbol, RequestIndex>,
    by_request: FxHashMap<Symbol, RequestIndex>,
}

impl Served {
    pub(super) fn of(history: &History) -> Self {
        let mut served = Self::default();
        for (number, request) in history.requests.iter().enumerate() {
            let index = RequestIndex(number);
            served.by_message.extend(request.message.map(|message| (message, index)));
            served.by_request.extend(request.request.map(|request| (request, index)));
        }
        served
    }

    /// The request that these ids name.
    pub(super) fn find(
        &self,
        message: Option<Symbol>,
        request: Option<Symbol>,
    ) -> Option<RequestIndex> {
        let by_request = request.and_then(|id| self.by_request.get(&id));
        by_request.or_else(|| message.and_then(|id| self.by_message.get(&id))).copied()
    }
}

/// Whether a request is one that a log tells of, whichever program sent it. (Of Claude Code's own sessions
/// transcripts tell.)
pub(super) fn is_logged(request: &AgentRequest) -> bool {
    matches!(
        request.client,
        Client::ClaudeCode
            | Client::LiteLlm
            | Client::OpenTelemetry
            | Client::Langfuse
            | Client::Helicone
    )
}

/// Leaves out requests that other agents' sessions have too, which stand in front of those of logs, and
/// gives how many they were.
pub(super) fn without_repeated(placed: &mut Vec<Placed>) -> u64 {
    let mut known: FxHashSet<Symbol> = FxHashSet::default();
    let before = placed.len();
    placed.retain(|one| {
        let AgentRequest { message, request, .. } = one.request;
        let ids = || message.into_iter().chain(request);
        let is_known = is_logged(&one.request) && ids().any(|id| known.contains(&id));
        if !is_known {
            known.extend(ids());
        }
        !is_known
    });
    (before - placed.len()) as u64
}

/// Leaves out what both Copilot's events and its rows tell of, and takes out of the sums of the events what
/// rows tell of; gives how many requests were left out. The sums have no compactions, which stand beside them.
pub(super) fn without_reports(placed: &mut Vec<Placed>, compaction: Symbol) -> u64 {
    let is_copilots = |one: &Placed| one.request.client == Client::Copilot;
    let is_sum = |one: &Placed| is_copilots(one) && one.request.sum_of > 1;
    let before = placed.len();
    let mut known: FxHashSet<(Symbol, Symbol, [Tokens; 4])> = FxHashSet::default();
    let may_be_report = |one: &Placed| {
        let AgentRequest { follows, query_source, .. } = one.request;
        follows == Follows::Nothing && query_source.is_none_or(|source| source == compaction)
    };
    // Rows tell more, and come first.
    placed.sort_by_key(|one| is_copilots(one) && may_be_report(one));
    placed.retain(|one| {
        let Usage { prompt, output, .. } = one.request.usage;
        let figures = [prompt.input, prompt.read, prompt.written(), output];
        let is_new = !is_copilots(one) || known.insert((one.session, one.request.model, figures));
        is_new || !may_be_report(one)
    });
    let mut rows: FxHashMap<(Symbol, Symbol), Vec<Row>> = FxHashMap::default();
    for one in placed.iter().filter(|one| is_copilots(one) && !is_sum(one)) {
        if one.request.query_source != Some(compaction) {
            let key = (one.session, one.request.model);
            rows.entry(key).or_default().push(Row::of(&one.request));
        }
    }
    placed.retain_mut(|one| {
        let own = rows.get_mut(&(one.session, one.request.model)).filter(|_| is_sum(one));
        own.is_none_or(|rows| subtract(rows, &mut one.request))
    });
    (before - placed.len()) as u64
}

/// A request of which a row tells.
struct Row {
    finished: Millis,
    prompt: PromptSplit,
    output: Tokens,
}

impl Row {
    fn of(request: &AgentRequest) -> Self {
        let Usage { prompt, output, .. } = request.usage;
        Self { finished: request.finished, prompt, output }
    }
}

/// Takes the rows up to a sum out of it, each once, and says whether anything is left. What they tell beyond it
/// shows that they are of something else.
fn subtract(rows: &mut Vec<Row>, sum: &mut AgentRequest) -> bool {
    let latest = Millis(sum.finished.0.saturating_add(LATEST_REPORT_MILLIS));
    let (own, later): (Vec<Row>, Vec<Row>) =
        std::mem::take(rows).into_iter().partition(|row| row.finished <= latest);
    *rows = later;
    let rest = own.iter().try_fold(sum.usage.clone(), |mut rest, row| {
        let less = |now: &mut Tokens, row: Tokens| {
            *now = Tokens(now.0.checked_sub(row.0)?);
            Some(())
        };
        less(&mut rest.prompt.input, row.prompt.input)?;
        less(&mut rest.prompt.read, row.prompt.read)?;
        less(&mut rest.prompt.write_5m, row.prompt.write_5m)?;
        less(&mut rest.output, row.output)?;
        Some(rest)
    });
    let Some(rest) = rest else { return true };
    let requests = u32::try_from(own.len()).unwrap_or(u32::MAX);
    sum.sum_of = sum.sum_of.saturating_sub(requests).max(1);
    sum.reasoning = sum.reasoning.min(rest.output);
    let is_left = rest.prompt.total() + rest.output > Tokens::ZERO;
    sum.usage = rest;
    is_left
}

impl History {
    /// Takes over what a log knows better of a transcript's request: when it was sent and answered, and for
    /// how long was written.
    pub(super) fn take_from_log(&mut self, index: RequestIndex, logged: &AgentRequest) {
        let Some(request) = self.requests.get_mut(index.0) else { return };
        request.start = logged.start;
        request.finished = logged.finished.max(logged.start);
        let told = logged.usage.prompt;
        if let Some(usage) = &mut request.usage
            && usage.prompt.write_1h == Tokens::ZERO
            && usage.prompt.written() == told.written()
        {
            usage.prompt.write_5m = told.write_5m;
            usage.prompt.write_1h = told.write_1h;
        }
    }

    /// Makes starts ascend along the chains of transcripts again. A request stands after the one that it goes
    /// on from.
    pub(super) fn keep_chains_in_order(&mut self) {
        for number in 0..self.requests.len() {
            let before = self.requests[number].predecessor;
            let earliest = before.map(|before| self.requests[before.0].start);
            let request = &mut self.requests[number];
            request.start = earliest.map_or(request.start, |earliest| request.start.max(earliest));
            request.finished = request.finished.max(request.start);
        }
    }
}
