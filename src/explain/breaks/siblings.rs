//! Sub-agents started side by side: each writes the prefix that they share, as none can read what
//! another is still writing.

use rustc_hash::FxHashMap;

use super::cause::{Candidate, Cause, Confidence, Evidence};
use crate::base::id::Symbol;
use crate::base::units::Tokens;
use crate::requests::conversation::{History, Request, RequestIndex};
use crate::requests::prompt::Step;

/// A shared prefix of fewer tokens is not worth a word.
const LEAST_SHARED: Tokens = Tokens(2_000);

/// The first request of a sub-agent that a sibling's write came too late for.
pub(super) struct Sibling {
    pub(super) request: RequestIndex,
    /// From the start of the sibling that wrote the prefix first, in milliseconds.
    pub(super) gap: i64,
    /// The prefix that they share.
    pub(super) shared: Tokens,
    pub(super) candidate: Candidate,
}

/// Prompts of one kind of agent differ by no more than their task: so many percent.
const SAME_KIND_WITHIN_PERCENT: u64 = 2;

/// So many later siblings are looked at; hostile sessions have any number.
const MOST_LATER: usize = 64;

/// The siblings of all sessions that could not see each other.
///
/// That agents share a prefix shows in a later sibling: it reads more than the first ones found. Where
/// no sibling came later inside the TTL, nothing is said.
pub(super) fn siblings(history: &History, steps: &[Step]) -> Vec<Sibling> {
    let mut families: FxHashMap<(Symbol, Symbol), Vec<RequestIndex>> = FxHashMap::default();
    for (index, request) in history.of_transcripts().iter().enumerate() {
        let is_first = request.predecessor.is_none() && !request.between.has_hole;
        if request.agent.is_some() && is_first {
            families.entry((request.session, request.model)).or_default().push(RequestIndex(index));
        }
    }
    let mut found: Vec<Sibling> =
        families.values().flat_map(|family| of_family(history, steps, family)).collect();
    found.sort_by_key(|sibling| sibling.request);
    found
}

/// The requests of a family are in the order of their starts.
fn of_family(history: &History, steps: &[Step], family: &[RequestIndex]) -> Vec<Sibling> {
    let mut found = Vec::new();
    let mut first = 0;
    while first < family.len() {
        let writer = history.request(family[first]);
        let together = family[first + 1..]
            .iter()
            .take_while(|index| !is_visible(writer, history.request(**index)))
            .count();
        let (side_by_side, later) = family[first + 1..].split_at(together);
        let later = later.iter().take(MOST_LATER);
        let mut shown = later.filter_map(|later| reads_of(history, steps, family[first], *later));
        if let Some(later) = shown.next() {
            let unseen = side_by_side.iter().filter(|index| {
                let own = history.request(**index);
                is_of_one_kind(writer, own)
                    && own.recorded().prompt.cached_end() >= later.shared
                    && later.shared.saturating_sub(own.recorded().prompt.read) > LEAST_SHARED
            });
            found.extend(unseen.map(|index| sibling(history, writer, *index, &later)));
        }
        first += together + 1;
    }
    found
}

/// Whether two agents have prompts of about the same length, as those of one kind do.
fn is_of_one_kind(one: &Request, other: &Request) -> bool {
    let (one, other) = (one.prompt_total(), other.prompt_total());
    one.abs_diff(other) <= one.max(other).share(SAME_KIND_WITHIN_PERCENT, 100)
}

/// Whether a write could be read by a request: its response had begun, as far as lines tell.
fn is_visible(writer: &Request, reader: &Request) -> bool {
    writer.answered.is_none_or(|answered| reader.start >= answered)
}

/// What a later sibling read.
struct Later {
    request: RequestIndex,
    shared: Tokens,
}

fn reads_of(
    history: &History,
    steps: &[Step],
    writer: RequestIndex,
    later: RequestIndex,
) -> Option<Later> {
    let (wrote, read) = (history.request(writer), history.request(later));
    let ttl = steps[writer.0].ttl?.messages;
    let shared = read.recorded().prompt.read;
    let written = wrote.recorded().prompt;
    let shows_it = read.start.since(wrote.start) < ttl.millis()
        && shared > written.read
        && shared <= written.cached_end();
    shows_it.then_some(Later { request: later, shared })
}

fn sibling(history: &History, writer: &Request, index: RequestIndex, later: &Later) -> Sibling {
    let request = history.request(index);
    let reader = history.request(later.request);
    let evidence = vec![
        Evidence::of_field(
            writer,
            "timestamp",
            "a sibling that was started before had not been answered yet",
        ),
        Evidence::of_field(
            reader,
            "message.usage.cache_read_input_tokens",
            format!("a later sibling read {} tokens of what they share", later.shared.0),
        ),
    ];
    Sibling {
        request: index,
        gap: request.start.since(writer.start),
        shared: later.shared,
        candidate: Candidate::new(Cause::WriteNotVisible, Confidence::Medium, evidence),
    }
}
