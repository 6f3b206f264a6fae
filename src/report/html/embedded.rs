//! Which sessions' turns are in the page: as many as a browser opens in a second.

use rayon::prelude::*;

use super::PageView;
use super::break_index::BreakIndex;
use super::sessions::SessionFigures;
use super::turns::turns_block;
use crate::base::wording::counted;

/// The turns of so many requests are embedded …
const MOST_REQUESTS: usize = 60_000;

/// … as long as they take no more than this, in bytes: with many strategies a request takes more.
const MOST_BYTES: usize = 8_000_000;

/// The data blocks of the sessions whose turns are embedded.
pub(super) struct Embedded {
    /// The number of the session and its turns, in the order of the numbers.
    pub(super) blocks: Vec<(usize, String)>,
    /// What is missing, in a sentence.
    pub(super) note: Option<String>,
}

/// Embeds the turns of the most expensive sessions.
pub(super) fn embedded(
    view: &PageView<'_>,
    breaks: &BreakIndex,
    dearest: &[&SessionFigures<'_>],
) -> Embedded {
    let mut chosen = dearest.to_vec();
    keep_within(MOST_REQUESTS, &mut chosen, |session| session.session().requests.len());
    let block = |session: &&SessionFigures<'_>| {
        (session.number(), turns_block(view, breaks, session.session()))
    };
    let mut blocks: Vec<(usize, String)> = chosen.par_iter().map(block).collect();
    keep_within(MOST_BYTES, &mut blocks, |(_, block)| block.len());
    blocks.sort_by_key(|(number, _)| *number);
    let missing = (dearest.len() - blocks.len()) as u64;
    let note = (missing > 0).then(|| {
        format!(
            "The turns of {} are left out, so that this page stays small: it has those of the \
             most expensive sessions. `cachesim analyze FILE` shows the others.",
            counted(missing, "session", "sessions"),
        )
    });
    Embedded { blocks, note }
}

/// Keeps those in front for which there is room. What alone is too large does not keep out what
/// stands after it.
fn keep_within<T>(mut room: usize, all: &mut Vec<T>, size: impl Fn(&T) -> usize) {
    all.retain(|one| {
        let rest = room.checked_sub(size(one));
        room = rest.unwrap_or(room);
        rest.is_some()
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_in_front_is_kept() {
        // 40,000 of 60,000 leave 20,000: 30,000 are too many, 20,000 are not, and then one is.
        let mut sessions = vec![40_000, 30_000, 20_000, 1];
        keep_within(MOST_REQUESTS, &mut sessions, |requests| *requests);
        assert_eq!(sessions, [40_000, 20_000]);
        let mut sessions = vec![60_001, 60_000];
        keep_within(MOST_REQUESTS, &mut sessions, |requests| *requests);
        assert_eq!(sessions, [60_000]);
    }
}
