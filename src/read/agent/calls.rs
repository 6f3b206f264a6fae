//! Calls of models in a log, which become the requests of its file once the whole log is read.
//!
//! Logs are written as calls end, repeat records that may have been lost, and report one call from
//! several places. So each call counts once, and calls are sorted by the time they were sent.

use rustc_hash::{FxHashMap, FxHashSet};

use super::spans::Spans;
use super::{AgentFile, AgentRequest, Follows, Rejected};
use crate::base::{EntryId, Millis, Order as _, Symbol};
use crate::read::input::Kind;

/// Call, with the facts that decide whether it counts and which request it continues.
pub(super) struct Call {
    pub(super) line: u64,
    /// Span of the call, if its log is a trace.
    pub(super) span: Option<EntryId>,
    /// Key that all records of the call share.
    pub(super) identity: Option<EntryId>,
    /// Rank of the record's detail: the fuller one of two records counts.
    pub(super) fullness: u8,
    pub(super) place: Place,
    pub(super) turn: Turn,
    /// Request, or the reason why it is rejected.
    pub(super) request: Result<AgentRequest, Rejected>,
}

/// Key of the requests that continue each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Conversation {
    pub(super) session: Option<Symbol>,
    pub(super) agent: Option<Symbol>,
    /// Span in which a sub-agent worked: the same one may be called more than once.
    pub(super) at_work: Option<EntryId>,
}

/// Place of a call among the conversations.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    /// Inside a conversation.
    In(Conversation),
    /// Outside of all conversations.
    Beside,
    /// Outside of a conversation, which it compacts.
    Compacts(Conversation),
}

/// Turn of a call, as the log reports it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Turn {
    /// True if the call begins a turn.
    Begins(bool),
    /// Id of the user's prompt. A new id begins a turn.
    Prompt(Symbol),
}

/// Least overlap of two calls that were sent side by side, in milliseconds.
///
/// Starts and ends are not stamped at the same place, so a shorter overlap means nothing.
const LEAST_OVERLAP_MILLIS: i64 = 250;

/// Adds the requests of all calls to their file.
pub(super) fn place(calls: Vec<Call>, spans: &Spans, file: &mut AgentFile) {
    let calls = each_once(without_copies(calls, file), spans, file);
    let mut sent: Vec<(Place, Turn, AgentRequest)> = Vec::with_capacity(calls.len());
    for Call { line, place, turn, request, .. } in calls {
        match request {
            Ok(request) => sent.push((place, turn, request)),
            Err((kind, detail)) => file.reject(kind, line, detail),
        }
    }
    // Records are written as calls end, so file order is not sending order.
    sent.order_by_key(|(_, _, request)| request.start);
    let mut conversations = Conversations::default();
    for (place, turn, request) in sent {
        let request = conversations.put(place, turn, request, file.requests.len());
        file.requests.push(request);
    }
}

/// Keeps the fullest record of each call that is recorded more than once under one id.
fn without_copies(calls: Vec<Call>, file: &mut AgentFile) -> Vec<Call> {
    let mut known: FxHashMap<EntryId, usize> = FxHashMap::default();
    let mut kept: Vec<Call> = Vec::with_capacity(calls.len());
    for call in calls {
        let copied = call.identity.and_then(|id| known.get(&id)).copied();
        let Some(earlier) = copied.and_then(|place| kept.get_mut(place)) else {
            known.extend(call.identity.map(|id| (id, kept.len())));
            kept.push(call);
            continue;
        };
        let line = call.line;
        if call.fullness > earlier.fullness {
            *earlier = call;
        }
        file.reject(Kind::DuplicateLine, line, "a call that is told of twice counts once");
    }
    kept
}

/// Keeps one record of each call among nested records: the innermost ones that report as much as the
/// records around them.
///
/// The innermost records are the calls as they were billed. Each branch is judged by itself, since one
/// call around several others may repeat their sum.
fn each_once(calls: Vec<Call>, spans: &Spans, file: &mut AgentFile) -> Vec<Call> {
    let around: Vec<Vec<EntryId>> = calls
        .iter()
        .map(|call| call.span.map_or_else(Vec::new, |span| spans.calls_around(span)))
        .collect();
    let mut fullest_inside: FxHashMap<EntryId, u8> = FxHashMap::default();
    for (call, around) in calls.iter().zip(&around) {
        for outer in around {
            let fullest = fullest_inside.entry(*outer).or_default();
            *fullest = (*fullest).max(call.fullness);
        }
    }
    let is_repeated_inside = |call: &Call| {
        let inside = call.span.and_then(|span| fullest_inside.get(&span));
        inside.is_some_and(|fullest| *fullest >= call.fullness)
    };
    // A record that is not repeated inside is fuller than every record inside it.
    let fuller: FxHashSet<EntryId> = calls
        .iter()
        .filter(|call| !is_repeated_inside(call))
        .filter_map(|call| call.span)
        .collect();
    let mut kept = Vec::with_capacity(calls.len());
    for (call, around) in calls.into_iter().zip(around) {
        if is_repeated_inside(&call) || around.iter().any(|outer| fuller.contains(outer)) {
            file.reject(
                Kind::DuplicateLine,
                call.line,
                "a call around or inside of another record of it",
            );
        } else {
            kept.push(call);
        }
    }
    kept
}

/// State of the conversations between two requests.
#[derive(Default)]
struct Conversations {
    latest: FxHashMap<Conversation, Latest>,
    /// Conversations that were compacted since their latest request.
    compacted: FxHashSet<Conversation>,
}

/// Latest request of a conversation.
struct Latest {
    place: usize,
    finished: Millis,
    prompt: Option<Symbol>,
}

impl Conversations {
    /// Adds the predecessor to the request, which gets the index `number` in its file.
    fn put(
        &mut self,
        place: Place,
        turn: Turn,
        request: AgentRequest,
        number: usize,
    ) -> AgentRequest {
        let beside = Follows::Nothing;
        let conversation = match place {
            Place::In(conversation) => conversation,
            Place::Beside => return AgentRequest { follows: beside, ..request },
            Place::Compacts(conversation) => {
                self.compacted.insert(conversation);
                return AgentRequest { follows: beside, ..request };
            }
        };
        let before = self.latest.get(&conversation);
        // A parallel call is not the latest request: the next one continues the call that was sent
        // first.
        if before.is_some_and(|before| before.finished.since(request.start) > LEAST_OVERLAP_MILLIS)
        {
            return AgentRequest { follows: beside, ..request };
        }
        let known_prompt = before.and_then(|before| before.prompt);
        let (begins_turn, prompt) = match turn {
            Turn::Begins(begins) => (begins, known_prompt),
            Turn::Prompt(prompt) => (known_prompt != Some(prompt), Some(prompt)),
        };
        let request = AgentRequest {
            follows: before.map_or(Follows::Nothing, |before| Follows::Request(before.place)),
            begins_turn,
            is_after_compaction: self.compacted.remove(&conversation),
            ..request
        };
        let latest = Latest { place: number, finished: request.finished, prompt };
        self.latest.insert(conversation, latest);
        request
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Client;
    use crate::read::agent::Vendor;
    use crate::read::agent::spans::Role;
    use crate::read::agent::testing::read;
    use crate::read::input::Usage;

    /// File with a session's name and nothing else.
    fn empty() -> (AgentFile, Symbol) {
        let mut file = read(r#"{"resourceMetrics":[]}"#);
        let session = file.symbols.intern("s");
        (file, session)
    }

    fn call(session: Symbol, line: u64, (start, end): (i64, i64)) -> Call {
        let times = (Millis::new(start), Millis::new(end));
        let model = (session, Vendor::Other);
        let client = (Client::OpenTelemetry, line);
        Call {
            line,
            span: None,
            identity: None,
            fullness: 1,
            place: Place::In(Conversation { session: Some(session), agent: None, at_work: None }),
            turn: Turn::Begins(false),
            request: Ok(AgentRequest::new(client, model, times, Usage::default())),
        }
    }

    #[test]
    fn requests_stand_in_the_order_in_which_they_were_sent() {
        let (mut file, session) = empty();
        let calls = vec![
            call(session, 1, (5_000, 6_000)),
            call(session, 2, (0, 1_000)),
            // Parallel to the call on line 2.
            call(session, 3, (500, 9_000)),
            // Begins 100 ms before the end of line 2: a clock that is a little off.
            call(session, 4, (900, 4_000)),
        ];
        place(calls, &Spans::default(), &mut file);
        let lines: Vec<(u64, Follows)> =
            file.requests.iter().map(|request| (request.line, request.follows)).collect();
        let (nothing, after) = (Follows::Nothing, Follows::Request);
        assert_eq!(lines, [(2, nothing), (3, nothing), (4, after(0)), (1, after(2))]);
    }

    #[test]
    fn the_fullest_record_of_a_call_counts() {
        let (mut file, session) = empty();
        let id = Some(EntryId::of("a"));
        let calls = vec![
            Call { identity: id, fullness: 0, ..call(session, 1, (0, 1)) },
            Call { identity: id, fullness: 2, ..call(session, 2, (0, 1)) },
            Call { identity: id, fullness: 2, ..call(session, 3, (0, 1)) },
        ];
        place(calls, &Spans::default(), &mut file);
        assert_eq!(file.requests.iter().map(|one| one.line).collect::<Vec<_>>(), [2]);
        assert_eq!(file.diagnostics.count(Kind::DuplicateLine), 2);
    }

    #[test]
    fn of_a_call_in_a_call_the_inner_ones_count_where_they_tell_as_much() {
        let (mut file, session) = empty();
        let ids = ["outer", "inner", "retry", "alone", "silent"].map(EntryId::of);
        let [outer, inner, retry, alone, silent] = ids;
        let mut spans = Spans::default();
        for (id, parent) in [
            (outer, None),
            (inner, Some(outer)),
            (retry, Some(outer)),
            (alone, None),
            (silent, Some(alone)),
        ] {
            spans.add(id, parent, Role::Call);
        }
        let full = [2, 2, 2, 2, 0];
        let calls = (1..).zip(ids.into_iter().zip(full)).map(|(line, (id, fullness))| Call {
            span: Some(id),
            fullness,
            ..call(session, line, (0, 1))
        });
        place(calls.collect(), &spans, &mut file);
        assert_eq!(file.requests.iter().map(|one| one.line).collect::<Vec<_>>(), [2, 3, 4]);
        assert_eq!(file.diagnostics.count(Kind::DuplicateLine), 2);
    }

    #[test]
    fn each_branch_of_calls_in_a_call_counts_for_itself() {
        let (mut file, session) = empty();
        let ids =
            ["outer", "left", "left of left", "right", "told less", "silent"].map(EntryId::of);
        let [outer, left, inner, right, less, silent] = ids;
        let mut spans = Spans::default();
        for (id, parent) in [
            (outer, None),
            (left, Some(outer)),
            (inner, Some(left)),
            (right, Some(outer)),
            (less, Some(right)),
            (silent, Some(less)),
        ] {
            spans.add(id, parent, Role::Call);
        }
        let full = [2, 2, 2, 2, 1, 0];
        let calls = (1..).zip(ids.into_iter().zip(full)).map(|(line, (id, fullness))| Call {
            span: Some(id),
            fullness,
            ..call(session, line, (0, 1))
        });
        place(calls.collect(), &spans, &mut file);
        assert_eq!(file.requests.iter().map(|one| one.line).collect::<Vec<_>>(), [3, 4]);
        assert_eq!(file.diagnostics.count(Kind::DuplicateLine), 4);
    }

    #[test]
    fn a_new_prompt_begins_a_turn_and_a_compaction_is_told_to_the_next_request() {
        let (mut file, session) = empty();
        let [first, second] = ["p1", "p2"].map(|prompt| file.symbols.intern(prompt));
        let conversation = Conversation { session: Some(session), agent: None, at_work: None };
        let with = |prompt, call: Call| Call { turn: Turn::Prompt(prompt), ..call };
        let calls = vec![
            with(first, call(session, 1, (0, 1))),
            with(first, call(session, 2, (2, 3))),
            Call { place: Place::Compacts(conversation), ..call(session, 3, (4, 5)) },
            Call { place: Place::Beside, ..with(second, call(session, 4, (6, 7))) },
            with(second, call(session, 5, (8, 9))),
        ];
        place(calls, &Spans::default(), &mut file);
        let begin: Vec<bool> = file.requests.iter().map(|one| one.begins_turn).collect();
        assert_eq!(begin, [true, false, false, false, true]);
        let last = file.requests.last().expect("requests");
        assert_eq!((last.follows, last.is_after_compaction), (Follows::Request(1), true));
    }
}
