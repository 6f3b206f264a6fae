//! The conversations of all files → one history in which every request stands once.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::between::{Between, Interruptions};
use super::captured::CapturedPrompts;
use super::file::{FileConversation, FileResponse};
use super::origin::{Copies, find_copies};
use super::titles::session_titles;
use super::trail::Trail;
use crate::capture::{TokenCounting, WireRequest};
use crate::id::{EntryId, Symbol, Symbols};
use crate::input::{Diagnostics, Kind, Usage, UsageProblem};
use crate::transcript::ServerVerdict;
use crate::units::{Millis, Tokens};

/// The position of a request in [`History::requests`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestIndex(pub usize);

/// One request to the API, as its transcript recorded it.
#[allow(clippy::struct_excessive_bools)] // independent facts, not states of one machine
#[derive(Clone, Debug)]
pub struct Request {
    /// `message.id` of the answer; captures need not know it.
    pub message: Option<Symbol>,
    /// `requestId`.
    pub request: Option<Symbol>,
    /// `message.model`.
    pub model: Symbol,
    /// The session it began in.
    pub session: Symbol,
    /// The sub-agent; `None` on the main chain.
    pub agent: Option<Symbol>,
    /// The client's version.
    pub client_version: Option<Symbol>,
    /// The project's folder.
    pub project: Option<Symbol>,
    /// The file it began in, as a position in [`History::files`].
    pub file: usize,
    /// The line of that file where the answer begins.
    pub line: u64,
    /// When the request was sent: the newest user-side entry before the answer, else the answer.
    pub start: Millis,
    /// The time of the answer's first line.
    pub answered: Option<Millis>,
    /// The time of the answer's last line.
    pub finished: Millis,
    /// What the answer reports; captures need not know it, transcripts do.
    pub usage: Option<Usage>,
    /// Whether the recorded output may be less than the real one.
    pub output_is_lower_bound: bool,
    /// Whether the answer ends a turn.
    pub ends_turn: bool,
    /// Whether the answer holds thinking.
    pub has_thinking: bool,
    /// `effort`; clients before 2.1.212 did not write it.
    pub effort: Option<Symbol>,
    /// The agent whose system prompt was set for the session.
    pub agent_setting: Option<Symbol>,
    /// The service's word on why it missed the cache.
    pub verdict: Option<ServerVerdict>,
    /// The request before it in its chain.
    pub predecessor: Option<RequestIndex>,
    /// What the client added since.
    pub between: Between,
    /// Tool results found beside the linear path.
    pub recovered_results: u32,
    /// Whether it is on the branch that its file ends on, across its compactions.
    pub is_live: bool,
}

/// A file that was read.
#[derive(Clone, Debug)]
pub struct InputFile {
    /// Its name, relative to the given path.
    pub label: Arc<str>,
    /// What lies between its requests.
    pub trail: Trail,
}

/// Every request of the input, once: those of transcripts in the order in which they were sent, then
/// the captured ones in theirs. (The bytes of a transcript's prompt are not known, so the two can
/// share no prefix.)
#[derive(Debug, Default)]
pub struct History {
    /// Requests by start, then by answer, file and line. A predecessor always comes first.
    pub requests: Vec<Request>,
    /// The prompts of the captured ones.
    pub captured: CapturedPrompts,
    /// The files read, in input order.
    pub files: Vec<InputFile>,
    /// The strings of the requests.
    pub symbols: Symbols,
    /// What was rejected or repaired.
    pub diagnostics: Diagnostics,
    /// `requestId` → the model that refused it first.
    pub refusals: FxHashMap<Symbol, Symbol>,
    /// Session → its title, where titles are kept. A title is text of a transcript and may hold any
    /// character.
    pub titles: FxHashMap<Symbol, String>,
    /// Bytes read, after decompression.
    pub bytes: u64,
    /// Lines read.
    pub lines: u64,
    /// Copies of requests in other files than their own, and replays in side conversations.
    pub duplicates: u64,
}

/// Joins the conversations of all files.
#[must_use]
pub fn join(mut files: Vec<FileConversation>) -> History {
    let mut history = History::default();
    for file in &mut files {
        move_symbols(file, &mut history.symbols);
        history.bytes += file.bytes;
        history.lines += file.lines;
        let trail = std::mem::take(&mut file.trail);
        history.files.push(InputFile { label: Arc::clone(&file.label), trail });
        history.refusals.extend(file.refusals.iter().copied());
    }
    for file in &mut files {
        history.diagnostics.absorb(std::mem::take(&mut file.diagnostics));
    }
    let copies = find_copies(&files);
    history.duplicates = copies.duplicates;
    history.titles = session_titles(&files, &copies, &mut history.symbols);
    for &(file, response) in &copies.replays {
        let label = &history.files[file].label;
        let line = files[file].responses[response].lines.first_line;
        let detail = "the answer belongs to the main conversation";
        history.diagnostics.add(Kind::SidechainReplay, label, line, detail);
    }
    let continued = continued_responses(&files);
    let placed = Placer { files: &files, copies: &copies, continued }.place(&mut history);
    sort_by_time(&mut history, placed);
    history
}

fn move_symbols(file: &mut FileConversation, symbols: &mut Symbols) {
    let moved = symbols.absorb(&std::mem::take(&mut file.symbols));
    let to = |symbol: Symbol| moved[symbol.index()];
    for response in &mut file.responses {
        response.key = response.key.map(to);
        response.lines.message = to(response.lines.message);
        response.lines.model = to(response.lines.model);
        response.lines.request = response.lines.request.map(to);
        response.session = Some(response.session.map_or_else(|| symbols.intern(&file.stem), to));
        response.key = response.key.in_session(response.session);
        response.agent = response.agent.map(to);
        response.client_version = response.client_version.map(to);
        response.project = response.project.map(to);
        response.agent_setting = response.agent_setting.map(to);
        response.lines.effort = response.lines.effort.map(to);
        if let Some(verdict) = &mut response.lines.verdict {
            verdict.reason = to(verdict.reason);
        }
    }
    file.trail.move_symbols(to);
    file.entry_sessions.iter_mut().for_each(|(_, session)| *session = to(*session));
    file.other_messages.iter_mut().for_each(|message| *message = to(*message));
    for (request, model) in &mut file.refusals {
        (*request, *model) = (to(*request), to(*model));
    }
}

/// A response that another file goes on from, and what lies between it and the entry named.
#[derive(Clone, Copy)]
struct Continued {
    place: (usize, usize),
    interruptions: Interruptions,
}

/// Entries that some file goes on from → the response at or before them, in the file that has
/// them.
fn continued_responses(files: &[FileConversation]) -> FxHashMap<EntryId, Continued> {
    let mut wanted: FxHashMap<EntryId, Option<Continued>> = files
        .iter()
        .flat_map(|file| &file.responses)
        .filter_map(|response| Some((response.continues?, None)))
        .collect();
    if wanted.is_empty() {
        return FxHashMap::default();
    }
    for (number, file) in files.iter().enumerate() {
        for (entry, response, interruptions) in &file.index {
            if let Some(place) = wanted.get_mut(entry) {
                let interruptions = *interruptions;
                place.get_or_insert(Continued { place: (number, *response), interruptions });
            }
        }
    }
    wanted.into_iter().filter_map(|(entry, place)| Some((entry, place?))).collect()
}

/// A request before it has its final position.
struct Placed {
    request: Request,
    predecessor: Option<(usize, usize)>,
    place: (usize, usize),
}

struct Placer<'a> {
    files: &'a [FileConversation],
    copies: &'a Copies,
    continued: FxHashMap<EntryId, Continued>,
}

impl Placer<'_> {
    fn place(&self, history: &mut History) -> Vec<Placed> {
        let mut placed = Vec::new();
        for (number, file) in self.files.iter().enumerate() {
            for (index, response) in file.responses.iter().enumerate() {
                if !self.copies.is_origin(number, index) {
                    continue;
                }
                match request_of(number, response) {
                    Ok(mut request) => {
                        let elsewhere = self.continued_elsewhere(response);
                        match elsewhere {
                            Some(continued) => {
                                request.between.goes_on_from(continued.interruptions);
                            }
                            None => request.between.has_hole |= response.has_gap,
                        }
                        let here = response.predecessor.map(|before| (number, before));
                        let predecessor = elsewhere
                            .map(|continued| continued.place)
                            .or(here)
                            .map(|(file, index)| self.copies.origin_of(file, index));
                        placed.push(Placed { request, predecessor, place: (number, index) });
                    }
                    Err((kind, detail)) => {
                        let line = response.lines.first_line;
                        history.diagnostics.add(kind, &file.label, line, detail);
                    }
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

fn request_of(file: usize, response: &FileResponse) -> Result<Request, (Kind, &'static str)> {
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
        file,
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
    let by_place: FxHashMap<(usize, usize), usize> =
        placed.iter().enumerate().map(|(index, one)| (one.place, index)).collect();
    let predecessors: Vec<Option<usize>> = placed
        .iter()
        .map(|one| one.predecessor.and_then(|place| by_place.get(&place).copied()))
        .collect();
    let depths = move_starts_up(&mut placed, &predecessors);
    let mut order: Vec<usize> = (0..placed.len()).collect();
    order.sort_by_key(|&index| {
        let one = &placed[index];
        (one.request.start, depths[index], one.request.answered, one.place)
    });
    let mut position_of = vec![0; placed.len()];
    for (position, &index) in order.iter().enumerate() {
        position_of[index] = position;
    }
    let mut requests: Vec<Option<Request>> =
        placed.into_iter().map(|one| Some(one.request)).collect();
    history.requests = order
        .into_iter()
        .filter_map(|index| {
            let mut request = requests[index].take()?;
            request.predecessor = predecessors[index]
                .map(|before| RequestIndex(position_of[before]))
                .filter(|before| before.0 < position_of[index]);
            Some(request)
        })
        .collect();
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

impl History {
    /// Those whose prompts are not known, only their usage.
    #[must_use]
    pub fn of_transcripts(&self) -> &[Request] {
        let captured = self.captured.requests.len();
        &self.requests[..self.requests.len() - captured]
    }

    /// Whether the prompt of a request is known.
    #[must_use]
    pub fn is_captured(&self, index: RequestIndex) -> bool {
        index.0 >= self.of_transcripts().len()
    }

    /// Whether there are captured prompts, and their sizes are bytes and no tokens.
    #[must_use]
    pub fn is_counted_in_bytes(&self) -> bool {
        !self.captured.requests.is_empty() && self.captured.counting != TokenCounting::Estimated
    }

    /// A request as it was captured; `None` of one of a transcript.
    #[must_use]
    pub fn wire(&self, index: RequestIndex) -> Option<&WireRequest> {
        self.captured.requests.get(index.0.checked_sub(self.of_transcripts().len())?)
    }

    /// Whether a captured request asks for `speed: fast`.
    #[must_use]
    pub fn is_sent_fast(&self, index: RequestIndex) -> bool {
        self.wire(index).is_some_and(|wire| wire.is_fast)
    }

    /// The request at `index`.
    #[must_use]
    pub fn request(&self, index: RequestIndex) -> &Request {
        &self.requests[index.0]
    }

    /// The model of a request.
    #[must_use]
    pub fn model(&self, index: RequestIndex) -> &str {
        self.symbols.text(self.request(index).model)
    }

    /// The request before `request` in its chain.
    #[must_use]
    pub fn predecessor(&self, request: &Request) -> Option<&Request> {
        request.predecessor.map(|index| self.request(index))
    }

    /// The text behind an optional symbol.
    #[must_use]
    pub fn text(&self, symbol: Option<Symbol>) -> Option<&str> {
        symbol.map(|symbol| self.symbols.text(symbol))
    }
}

/// A conversation: its session, and its agent if it is not the main one.
pub type ConversationKey = (Symbol, Option<Symbol>);

impl Request {
    /// The conversation it belongs to.
    #[must_use]
    pub fn conversation(&self) -> ConversationKey {
        (self.session, self.agent)
    }

    /// When it is reported to have happened: the time of the answer's first line.
    #[must_use]
    pub fn time(&self) -> Millis {
        self.answered.unwrap_or(self.start)
    }

    /// The recorded usage of a request of a transcript.
    ///
    /// # Panics
    /// Never for a transcript: its requests without usage are left out when it is joined.
    #[must_use]
    pub fn recorded(&self) -> &Usage {
        self.usage.as_ref().expect("a request of a transcript has usage")
    }

    /// The whole prompt of a request of a transcript.
    #[must_use]
    pub fn prompt_total(&self) -> Tokens {
        self.recorded().prompt.total()
    }
}
