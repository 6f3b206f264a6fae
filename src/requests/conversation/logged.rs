//! Deduplication of requests that two sources report: a session and a log, or a program's sums and its rows.
//!
//! Each counts once, in the session; better facts of the log are taken over.

use rustc_hash::FxHashMap;

use super::agents::{At, Placed};
use super::{History, RequestIndex};
use crate::base::{Client, Order as _, Symbol, Tokens};
use crate::read::agent::AgentRequest;
use crate::read::input::Kind;

/// Most milliseconds by which two clocks may differ.
const CLOCKS_DIFFER_MILLIS: i64 = 120_000;

/// Requests of transcripts, by the ids that the service gave them.
#[derive(Default)]
pub(super) struct Served {
    by_message: FxHashMap<Symbol, RequestIndex>,
    by_request: FxHashMap<Symbol, RequestIndex>,
}

impl Served {
    pub(super) fn of(history: &History) -> Self {
        let mut served = Self::default();
        for (number, request) in history.requests.iter().enumerate() {
            let index = RequestIndex::new(number);
            served.by_message.extend(request.message.map(|message| (message, index)));
            served.by_request.extend(request.request.map(|request| (request, index)));
        }
        served
    }

    /// Request with these ids.
    pub(super) fn find(
        &self,
        message: Option<Symbol>,
        request: Option<Symbol>,
    ) -> Option<RequestIndex> {
        // Some gateways give every answer the same message id, so the request id comes first.
        let by_request = request.and_then(|id| self.by_request.get(&id));
        by_request.or_else(|| message.and_then(|id| self.by_message.get(&id))).copied()
    }
}

/// Returns true if a request comes from a log, whichever program sent it.
///
/// (Transcripts report Claude Code's own sessions, and a HAR file reports captured exchanges.)
pub(super) fn is_logged(request: &AgentRequest) -> bool {
    matches!(
        request.client,
        Client::ClaudeCode
            | Client::Capture
            | Client::LiteLlm
            | Client::OpenTelemetry
            | Client::Langfuse
            | Client::LangSmith
            | Client::Helicone
    )
}

/// Leaves out requests that other agents' sessions also have, or a log with more facts, and returns their
/// number.
pub(super) fn without_repeated(placed: &mut Vec<Placed>) -> u64 {
    let mut known: FxHashMap<Symbol, usize> = FxHashMap::default();
    let mut copies = Copies::of(placed);
    let mut order: Vec<usize> = (0..placed.len()).collect();
    // Sessions come first, then logs that know lifetimes: the first source of a request is the one that
    // counts.
    order.order_by_key(|number| {
        let request = &placed[*number].request;
        (is_logged(request), !request.knows_lifetime)
    });
    for number in order {
        let AgentRequest { message, request, .. } = placed[number].request;
        let ids = || message.into_iter().chain(request);
        let original = ids().find_map(|id| known.get(&id).copied());
        match original.filter(|_| is_logged(&placed[number].request)) {
            Some(original) => copies.note(number, original),
            None => known.extend(ids().map(|id| (id, number))),
        }
    }
    copies.leave_out(placed)
}

/// Requests that are reported twice, each with its original.
pub(super) struct Copies(Vec<Option<usize>>);

impl Copies {
    /// Creates the list without any copies.
    pub(super) fn of(placed: &[Placed]) -> Self {
        Self(vec![None; placed.len()])
    }

    /// Notes that a request is another one's copy.
    pub(super) fn note(&mut self, copy: usize, original: usize) {
        self.0[copy] = Some(original);
    }

    /// Leaves out the copies, and returns their number.
    ///
    /// Charges of plans are taken over. A request that continues a copy continues the original, if that comes
    /// before it.
    pub(super) fn leave_out(self, placed: &mut Vec<Placed>) -> u64 {
        let Self(originals) = self;
        let mut moved: FxHashMap<At, At> = FxHashMap::default();
        for (copy, original) in originals.iter().enumerate() {
            if let Some(original) = *original {
                moved.insert(placed[copy].at(), placed[original].at());
                let charge = placed[copy].request.nano_aiu;
                let kept = &mut placed[original].request;
                kept.nano_aiu = kept.nano_aiu.or(charge);
            }
        }
        let before = placed.len();
        let mut is_copy = originals.iter().map(Option::is_some);
        placed.retain(|_| !is_copy.next().unwrap_or_default());
        if !moved.is_empty() {
            for one in placed.iter_mut() {
                let original = one.predecessor.and_then(|at| moved.get(&at)).copied();
                let own = one.at();
                one.predecessor = original.filter(|at| *at < own).or(one.predecessor);
            }
        }
        (before - placed.len()) as u64
    }
}

impl History {
    /// Takes over the facts that a log has better than a transcript: start, end, and the lifetime of writes.
    ///
    /// Contradictions to the transcript get a diagnostic, and do not count.
    pub(super) fn take_from_log(&mut self, index: RequestIndex, logged: &Placed) {
        let (file, line) = (logged.file, logged.request.line);
        let sent = &logged.request;
        let Some(request) = self.requests.get_mut(index.get()) else { return };
        let earliest = request.start.get().saturating_sub(CLOCKS_DIFFER_MILLIS);
        let latest = request.finished.get().saturating_add(CLOCKS_DIFFER_MILLIS);
        let is_other_time = sent.finished.get() < earliest || sent.start.get() > latest;
        if !is_other_time {
            request.start = sent.start;
            request.finished = sent.finished.max(sent.start);
        }
        let prompt = sent.usage.prompt;
        let mut is_other_size = false;
        if let Some(usage) = &mut request.usage {
            is_other_size = usage.prompt.total() != prompt.total();
            if sent.knows_lifetime
                && usage.prompt.write_1h == Tokens::ZERO
                && usage.prompt.written() == prompt.written()
            {
                usage.prompt.write_5m = prompt.write_5m;
                usage.prompt.write_1h = prompt.write_1h;
                usage.lifetime_is_assumed = false;
            }
        }
        let label = &self.files[file].label;
        for (is_other, what) in [(is_other_time, "time"), (is_other_size, "size of the prompt")] {
            if is_other {
                let detail = format!("another {what} than the transcript's, which is used");
                self.diagnostics.add(Kind::Contradiction, label, line, detail);
            }
        }
    }

    /// Makes starts ascend along the chains of transcripts again. A request comes after the one that it
    /// continues.
    pub(super) fn keep_chains_in_order(&mut self) {
        for number in 0..self.requests.len() {
            let before = self.requests[number].predecessor;
            let earliest = before.map(|before| self.requests[before.get()].start);
            let request = &mut self.requests[number];
            request.start = earliest.map_or(request.start, |earliest| request.start.max(earliest));
            request.finished = request.finished.max(request.start);
        }
    }
}
