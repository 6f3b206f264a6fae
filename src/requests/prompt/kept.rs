//! What a rewrite leaves of the prefix that was cached: all in front of the first entry that changed.
//!
//! Entries of the cache exist only where a marker stood, at the ends of prompts. So of what stands in
//! front of the change the prompt of an earlier request can be read, and no part of a later one's.

use super::step::Step;
use super::trace::LOOKBACK;
use crate::base::units::Tokens;
use crate::requests::conversation::{History, Place, Request, RequestIndex, Rewrite};

/// So many requests are gone back over; hostile files have any number.
const LONGEST_WALK: usize = 10_000;

/// Each request after the kept ones whose messages are sent again has this many positions at least:
/// an answer, and a message after it.
const POSITIONS_OF_REQUEST: u32 = 2;

/// What of the predecessor's cached prefix a prompt begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// All of it.
    All,
    /// The prompt of an earlier request, as far as that was cached.
    Until {
        /// The request.
        request: RequestIndex,
        /// How many positions at least stand between its end and this prompt's.
        positions: u32,
    },
    /// Tools and system prompt.
    System,
}

/// What is left where lines tell that messages were rewritten, and from which entry on: everything where
/// nothing that had been sent changed. `None` where they do not tell, and where the prompt is too short
/// for what should stand in it.
pub(super) fn kept_of_rewrite(
    history: &History,
    request: &Request,
    predecessor: RequestIndex,
    steps: &[Step],
) -> Option<Kept> {
    let Rewrite::At(Place { kept, goes_on }) = request.between.rewrite else { return None };
    let index = |number: u32| RequestIndex(number as usize);
    let Some(kept) = kept.map(index) else { return Some(Kept::System) };
    // What an earlier rewrite has changed does not come back.
    let mut path = path(predecessor, steps).take(LONGEST_WALK);
    let kept = path.find(|one| *one <= kept);
    if kept == Some(predecessor) {
        let end = history.request(predecessor).recorded().prompt.cached_end();
        return (end <= request.prompt_total()).then_some(Kept::All);
    }
    let Some(kept) = kept else { return Some(Kept::System) };
    let positions = positions_between(predecessor, goes_on.map(index), steps);
    let end = history.request(kept).recorded().prompt.cached_end();
    let fits = Tokens::ZERO < end && end <= request.prompt_total();
    fits.then_some(Kept::Until { request: kept, positions })
}

/// The requests whose cached prefixes stand one in another, from the longest on.
fn path(last: RequestIndex, steps: &[Step]) -> impl Iterator<Item = RequestIndex> {
    std::iter::successors(Some(last), |one| {
        let step = &steps[one.0];
        match step.kept {
            Kept::All => step.predecessor,
            Kept::Until { request, .. } => Some(request),
            Kept::System => None,
        }
    })
}

/// How many positions at least stand between the end of what was kept and the end of the prompt, where the
/// messages after a request are sent again. More than a marker looks back over are not counted.
fn positions_between(last: RequestIndex, behind: Option<RequestIndex>, steps: &[Step]) -> u32 {
    let Some(behind) = behind else { return 1 };
    let most = (LOOKBACK / POSITIONS_OF_REQUEST) as usize;
    let requests = path(last, steps).take_while(|one| *one > behind).take(most).count();
    1 + POSITIONS_OF_REQUEST * u32::try_from(requests).unwrap_or(LOOKBACK)
}
