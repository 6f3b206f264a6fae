//! Tool results beside the path: of the lines that answer parallel calls, only one is on the path to the next
//! request; the others belong to that request as well.

use std::ops::Range;

use rustc_hash::FxHashSet;

use super::{FileResponse, Gathered, Graph, Trail};
use crate::base::{EntryId, Millis};
use crate::read::transcript::{Entry, EntryKind};

/// Most results and most entries that a search for results beside the path looks at.
///
/// Real answers call a few dozen tools at most; the limit keeps hostile files linear.
const LONGEST_STEP: usize = 1_000;

/// Entries that answer the calls of each response.
pub(super) struct Results {
    entries: Vec<usize>,
    /// For each response, its range in `entries`.
    of: Vec<Range<usize>>,
}

impl Results {
    /// Collects the results of a file.
    pub(super) fn of(entries: &[Entry], gathered: &Gathered) -> Self {
        let mut results: Vec<(usize, usize)> = Vec::new();
        for (position, entry) in entries.iter().enumerate() {
            let EntryKind::User(user) = &entry.kind else {
                continue;
            };
            if gathered.is_duplicate[position] {
                continue;
            }
            let caller_of = |(call, _): &(EntryId, _)| gathered.calls.get(call)?.caller;
            let caller = user.tool_results.iter().find_map(caller_of);
            results.extend(caller.map(|caller| (caller.index(), position)));
        }
        // A stable sort keeps the results of one response in the order of the file.
        results.sort_by_key(|(caller, _)| *caller);
        let mut of = vec![0..0; gathered.responses.len()];
        let mut start = 0;
        for of_one in results.chunk_by(|one, next| one.0 == next.0) {
            of[of_one[0].0] = start..start + of_one.len();
            start += of_one.len();
        }
        Self { entries: results.into_iter().map(|(_, position)| position).collect(), of }
    }

    /// Adds the results beside the paths to the entries between requests.
    pub(super) fn recover(
        &self,
        entries: &[Entry],
        graph: &Graph,
        gathered: &mut Gathered,
        trail: &mut Trail,
    ) {
        for index in 0..gathered.responses.len() {
            let Some(predecessor) = gathered.responses[index].predecessor else { continue };
            let results = &self.entries[self.of[predecessor.index()].clone()];
            let missing = missing_before(index, results, entries, graph, gathered);
            let response = &mut gathered.responses[index];
            for result in missing {
                response.between.add_recovered(&entries[result], trail, &gathered.calls);
                response.recovered_results += 1;
            }
        }
    }

    /// Finds the answers that the next request does not send again: those of nothing but thinking or white
    /// space, and those whose calls have no result anywhere when the session is resumed.
    ///
    /// An answer with text besides its calls keeps the text.
    pub(super) fn find_dropped_answers(&self, gathered: &mut Gathered) {
        for index in 0..gathered.responses.len() {
            let Some(before) = gathered.responses[index].predecessor else { continue };
            let answer = &gathered.responses[before.index()].lines;
            let between = &gathered.responses[index].between;
            let is_unanswered = self.of[before.index()].is_empty() && between.resumes();
            let is_dropped = !answer.has_text && (!answer.calls_tools || is_unanswered);
            gathered.responses[index].between.drops_answer = is_dropped;
        }
    }
}

/// Results that answer the response before another one, and are not on the path between them.
fn missing_before(
    index: usize,
    results: &[usize],
    entries: &[Entry],
    graph: &Graph,
    gathered: &Gathered,
) -> Vec<usize> {
    let response = &gathered.responses[index];
    // A step with as many result messages as there are results lacks none.
    if results.len() <= response.between.tool_result_messages as usize
        || results.len() > LONGEST_STEP
    {
        return Vec::new();
    }
    let step = step_to(gathered.beginnings[index].entry(), graph, gathered);
    let answered: FxHashSet<EntryId> =
        step.into_iter().flat_map(|entry| answered_by(&entries[entry])).collect();
    results
        .iter()
        .copied()
        .filter(|result| answered_by(&entries[*result]).all(|tool| !answered.contains(&tool)))
        .filter(|result| is_not_later(entries[*result].timestamp, response))
        .collect()
}

/// Tool calls that an entry answers.
fn answered_by(entry: &Entry) -> impl Iterator<Item = EntryId> + '_ {
    let results = match &entry.kind {
        EntryKind::User(user) => user.tool_results.as_slice(),
        _ => &[],
    };
    results.iter().map(|(tool, _)| *tool)
}

/// Entries between a response's first line and its predecessor.
fn step_to(first: usize, graph: &Graph, gathered: &Gathered) -> Vec<usize> {
    let mut step = Vec::new();
    let mut position = first;
    while let Some(parent) = graph.links[position].parent() {
        if gathered.request_of(parent).is_some() || step.len() >= LONGEST_STEP {
            break;
        }
        step.push(parent);
        position = parent;
    }
    step
}

fn is_not_later(time: Option<Millis>, response: &FileResponse) -> bool {
    match (time, response.lines.first_timestamp) {
        (Some(time), Some(answer)) => time <= answer,
        _ => true,
    }
}
