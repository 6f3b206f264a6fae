//! The conversations of all files → one history in which every request stands once.

use rustc_hash::FxHashMap;

use super::between::Interruptions;
use super::file::{FileConversation, FileResponse};
use super::files::Files;
use super::history::{History, Request, RequestIndex};
use super::origin::{Copies, find_copies};
use super::titles::session_titles;
use crate::id::EntryId;
use crate::input::{Kind, UsageProblem};

/// Joins the conversations of all files.
#[must_use]
pub fn join(conversations: Vec<FileConversation>) -> History {
    let mut files = Files::default();
    for conversation in conversations {
        files.add(conversation);
    }
    files.join()
}

impl Files {
    /// The history that the files make together.
    pub(super) fn join(mut self) -> History {
        let mut history = std::mem::take(&mut self.history);
        let copies = find_copies(&self.responses, &self.other_messages, history.files.len());
        history.duplicates = copies.duplicates;
        history.titles = session_titles(&self, &copies, &mut history.symbols);
        for &replay in &copies.replays {
            let response = &self.responses[replay];
            let label = &history.files[response.file].label;
            let detail = "the answer belongs to the main conversation";
            let line = response.lines.first_line;
            history.diagnostics.add(Kind::SidechainReplay, label, line, detail);
        }
        let continued = self.continued_responses();
        // What was large is given back before the requests are made.
        self.index = Vec::new();
        let placed =
            Placer { responses: &self.responses, copies: &copies, continued }.place(&mut history);
        drop(self);
        sort_by_time(&mut history, placed);
        history
    }

    /// Entries that some file goes on from → the response at or before them, in the file that has
    /// them.
    fn continued_responses(&self) -> FxHashMap<EntryId, Continued> {
        let continues = self.responses.iter().filter_map(|response| response.continues);
        let mut wanted: FxHashMap<EntryId, Option<Continued>> =
            continues.map(|entry| (entry, None)).collect();
        if wanted.is_empty() {
            return FxHashMap::default();
        }
        for (entry, response, interruptions) in &self.index {
            if let Some(known) = wanted.get_mut(entry) {
                let interruptions = *interruptions;
                known.get_or_insert(Continued { place: *response as usize, interruptions });
            }
        }
        wanted.into_iter().filter_map(|(entry, place)| Some((entry, place?))).collect()
    }
}

/// A response that another file goes on from, and what lies between it and the entry named.
#[derive(Clone, Copy)]
struct Continued {
    place: usize,
    interruptions: Interruptions,
}

/// A request before it has its final position.
struct Placed {
    request: Request,
    /// The response before it, by its place among all.
    predecessor: Option<usize>,
    /// Its own place among all responses.
    place: usize,
    /// Which of the requests it is in the order of the files.
    number: usize,
}

struct Placer<'a> {
    responses: &'a [FileResponse],
    copies: &'a Copies,
    continued: FxHashMap<EntryId, Continued>,
}

impl Placer<'_> {
    fn place(&self, history: &mut History) -> Vec<Placed> {
        let mut placed = Vec::with_capacity(self.responses.len());
        for (place, response) in self.responses.iter().enumerate() {
            if !self.copies.is_origin(place) {
                continue;
            }
            match request_of(response) {
                Ok(mut request) => {
                    let elsewhere = self.continued_elsewhere(response);
                    match elsewhere {
                        Some(continued) => request.between.goes_on_from(continued.interruptions),
                        None => request.between.has_hole |= response.has_gap,
                    }
                    let before = elsewhere.map(|continued| continued.place);
                    let before = before.or(response.predecessor);
                    let predecessor = before.map(|before| self.copies.origin_of(before));
                    let number = placed.len();
                    placed.push(Placed { request, predecessor, place, number });
                }
                Err((kind, detail)) => {
                    let label = &history.files[response.file].label;
                    history.diagnostics.add(kind, label, response.lines.first_line, detail);
                }
            }
        }
        placed
    }

    /// The response of another file that this one goes on from.
    fn continued_elsewhere(&self, response: &FileResponse) -> Option<Continued> {
        response.continues.and_then(|entry| self.continued.get(&entry)).copied()
    }
}

fn request_of(response: &FileResponse) -> Result<Request, (Kind, &'static str)> {
    let lines = &response.lines;
    let usage = lines.usage.clone().map_err(|problem| match problem {
        UsageProblem::Missing => (Kind::MissingUsage, "the response is left out"),
        UsageProblem::Invalid => (Kind::InvalidUsage, "the response is left out"),
        UsageProblem::WithoutCacheCounters => (
            Kind::UsageWithoutCacheCounters,
            "what it read from cache is unknown; the response is left out",
        ),
    })?;
    let answered = lines.first_timestamp;
    let sent = match (response.between.newest_user_entry, answered) {
        (Some(sent), Some(answered)) => Some(sent.min(answered)),
        (one, None) | (None, one) => one,
    };
    let start = sent.ok_or((Kind::MissingTimestamp, "no line of it has a time; it is left out"))?;
    let session = response.session.expect("`move_symbols` names every session");
    Ok(Request {
        message: Some(lines.message),
        request: lines.request,
        model: lines.model,
        session,
        agent: response.agent,
        client_version: response.client_version,
        project: response.project,
        file: response.file,
        line: lines.first_line,
        start,
        answered,
        finished: lines.last_timestamp.unwrap_or(start).max(start),
        usage: Some(usage),
        output_is_lower_bound: lines.output_is_lower_bound(),
        ends_turn: lines.ends_turn(),
        has_thinking: lines.has_thinking,
        effort: lines.effort,
        agent_setting: response.agent_setting,
        verdict: lines.verdict,
        predecessor: None,
        between: response.between,
        recovered_results: response.recovered_results,
        is_live: response.is_live,
    })
}

/// Puts the requests in the order in which they were sent.
///
/// A request cannot have been sent before its predecessor, whatever a clock that was set back
/// says; its start is moved up to that one's.
fn sort_by_time(history: &mut History, mut placed: Vec<Placed>) {
    let predecessors = predecessors(&placed);
    let depths = move_starts_up(&mut placed, &predecessors);
    placed.sort_by_cached_key(|one| {
        (one.request.start, depths[one.number], one.request.answered, one.place)
    });
    let mut position_of = vec![0; placed.len()];
    for (position, one) in placed.iter().enumerate() {
        position_of[one.number] = position;
    }
    for (position, one) in placed.iter_mut().enumerate() {
        let before = predecessors[one.number].map(|before| RequestIndex(position_of[before]));
        one.request.predecessor = before.filter(|before| before.0 < position);
    }
    history.requests = placed.into_iter().map(|one| one.request).collect();
    // They took over the room of what was larger.
    history.requests.shrink_to_fit();
}

/// The predecessor of each request, by its place in the list. Requests are in the order of their
/// files and places there.
fn predecessors(placed: &[Placed]) -> Vec<Option<usize>> {
    let position = |place| placed.binary_search_by_key(&place, |one| one.place).ok();
    let before = |index: usize, place| {
        // Nearly always the request before.
        let neighbour = index.checked_sub(1).filter(|before| placed[*before].place == place);
        neighbour.or_else(|| position(place))
    };
    placed.iter().enumerate().map(|(index, one)| before(index, one.predecessor?)).collect()
}

/// Makes starts ascend along every chain and returns each request's distance from its chain's
/// beginning.
fn move_starts_up(placed: &mut [Placed], predecessors: &[Option<usize>]) -> Vec<u32> {
    let mut depths: Vec<Option<u32>> = vec![None; placed.len()];
    let mut path = Vec::new();
    for start in 0..placed.len() {
        let mut here = Some(start);
        while let Some(index) = here.filter(|index| depths[*index].is_none()) {
            // Marks the request as being on the path; files that continue each other in a circle
            // end it here.
            depths[index] = Some(0);
            path.push(index);
            here = predecessors[index];
        }
        while let Some(index) = path.pop() {
            let before = predecessors[index].filter(|before| depths[*before].is_some());
            if let Some(before) = before {
                depths[index] = Some(depths[before].unwrap_or(0) + 1);
                let earliest = placed[before].request.start;
                let request = &mut placed[index].request;
                request.start = request.start.max(earliest);
                request.finished = request.finished.max(request.start);
            }
        }
    }
    depths.into_iter().map(Option::unwrap_or_default).collect()
}
