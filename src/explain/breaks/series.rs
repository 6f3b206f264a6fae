//! Turns that begin with reads of one length, which only several requests together show.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::base::Tokens;
use crate::requests::conversation::{History, Request, RequestIndex};
use crate::requests::prompt::{NOISE, Step, StepKind};

/// Least number of turns that show a series: two may read the same after two changes of one part.
const LEAST_TURNS: u32 = 3;

/// First requests of consecutive turns that read the same, and less than the request before each had left.
///
/// A turn in which the cache ended for another reason ends their series.
pub(super) fn pinned(history: &History, steps: &[Step]) -> FxHashSet<RequestIndex> {
    let mut pinned = FxHashSet::default();
    let requests = history.of_transcripts().len();
    // For each request, the first one of its turn, and the turns of its series up to there.
    let mut turns: Vec<(RequestIndex, u32)> = Vec::with_capacity(requests);
    // For each first request of a turn, that of the turn before.
    let mut before: FxHashMap<RequestIndex, RequestIndex> = FxHashMap::default();
    for (index, request) in history.of_transcripts().iter().enumerate() {
        let own = RequestIndex::new(index);
        let has_other_end = has_other_end(history, request, &steps[index]);
        let (first, length) = match request.predecessor.map(|one| turns[one.get()]) {
            Some((first, length)) if !request.between.has_prompt => {
                turns.push((first, if has_other_end { 0 } else { length }));
                continue;
            }
            Some(turn) if !has_other_end => turn,
            _ => {
                turns.push((own, 0));
                continue;
            }
        };
        let read = |index| history.request(index).recorded().prompt.read;
        let is_short = fell_short(history, own) && read(own) > Tokens::ZERO;
        let goes_on = is_short && length > 0 && read(own) == read(first);
        let length = if goes_on { length + 1 } else { u32::from(is_short) };
        turns.push((own, length));
        if goes_on {
            before.insert(own, first);
        }
        if length >= LEAST_TURNS {
            let series = std::iter::successors(Some(own), |one| before.get(one).copied());
            // The earlier ones of a longer series are known.
            pinned.extend(series.take(LEAST_TURNS as usize));
        }
    }
    pinned
}

/// Returns true if the cache ended before a request for a reason that names itself.
fn has_other_end(history: &History, request: &Request, step: &Step) -> bool {
    matches!(step.kind, StepKind::Expired | StepKind::ModelChange)
        || request.between.rewrites_history()
        || history.predecessor(request).is_some_and(|before| request.is_fork_of(before))
}

fn fell_short(history: &History, index: RequestIndex) -> bool {
    let request = history.request(index);
    let left = history.predecessor(request).map(|before| before.recorded().prompt.cached_end());
    left.is_some_and(|left| request.recorded().prompt.read + NOISE < left)
}
