//! The calls of models that a log tells of, when all of it is there → the requests of its file.
//!
//! Logs are written as calls end, send again what may have been lost, and tell of one call from several
//! places. So calls are counted once, and put in the order in which they were sent.

use rustc_hash::{FxHashMap, FxHashSet};

use super::spans::Spans;
use super::{AgentFile, AgentRequest, Follows, Rejected};
use crate::base::id::{EntryId, Symbol};
use crate::base::order::Order as _;
use crate::base::units::Millis;
use crate::read::input::Kind;

/// A call, with what decides whether it counts and what it goes on from.
pub(super) struct Call {
    pub(super) line: u64,
    /// Its span, if its log is a trace.
    pub(super) span: Option<EntryId>,
    /// By what another record of the same call is known.
    pub(super) identity: Option<EntryId>,
    /// How much is told of it: the fuller one of two records counts.
    pub(super) fullness: u8,
    pub(super) place: Place,
    pub(super) turn: Turn,
    /// Its request, or why there is none.
    pub(super) request: Result<AgentRequest, Rejected>,
}

/// Whose requests go on from each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Conversation {
    pub(super) session: Option<Symbol>,
    pub(super) agent: Option<Symbol>,
    /// The span in which a sub-agent was at work: it may be called more than once.
    pub(super) at_work: Option<EntryId>,
}

/// Where a call stands.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    /// In a conversation.
    In(Conversation),
    /// Beside all of them.
    Beside,
    /// Beside a conversation, which it makes shorter.
    Compacts(Conversation),
}

/// What is told of the turn that a call belongs to.
#[derive(Clone, Copy, Debug)]
pub(super) enum Turn {
    /// Whether it begins one.
    Begins(bool),
    /// The id of the user's prompt. A new one begins a turn.
    Prompt(Symbol),
}

/// A call that begins so long before the one in front of it has ended was sent beside that one. What ends
/// and what begins are not stamped at the same place, so a little earlier means nothing.
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
    sent.order_by_key(|(_, _, request)| request.start);
    let mut conversations = Conversations::default();
    for (place, turn, request) in sent {
        let request = conversations.put(place, turn, request, file.requests.len());
        file.requests.push(request);
    }
}

/// Keeps the fullest record of each call that is told of more than once under one id.
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

/// Of calls that are told of inside of each other, keeps the innermost ones that tell as much as those around
/// them: these are the calls as they were billed. Each branch is looked at for itself, since one call around
/// several others may repeat their sum.
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
    // What is not repeated inside of it is fuller than all that stands there.
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

/// What is known of the conversations between two requests.
#[derive(Default)]
struct Conversations {
    latest: FxHashMap<Conversation, Latest>,
    /// Those that were made shorter since their latest request.
    compacted: FxHashSet<Conversation>,
}

/// The latest request of a conversation.
struct Latest {
    place: usize,
    finished: Millis,
    prompt: Option<Symbol>,
}

impl Conversations {
    /// The request with what it goes on from. It will stand at `number` in its file.
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
    use crate::base::client::Client;
    use crate::read::agent::Vendor;
    use crate::read::agent::spans::Role;
    use crate::read::agent::testing::read;
    use crate::read::input::Usage;

    /// A file in which nothing is but a session's name.
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
            // Beside the first one.
            call(session, 3, (500, 9_000)),
            // A clock is a little off.
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
