//! Facts about a file's entries that can be collected in the order of its lines, while the file is still
//! being read: the identities of entries, and the lines of each response.
//!
//! Also the merged lines of a response.

use std::collections::BTreeSet;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::between::{Call, Calls};
use super::{Between, FileResponse};
use crate::base::id::Moved;
use crate::base::{EntryId, HasSymbols, Millis, Ordinal, Symbol, Tokens, has_symbols};
use crate::read::input::{Diagnostics, Kind, Usage, UsageProblem};
use crate::read::transcript::{Entry, EntryKind, ResponseLine, ServerVerdict, Sign, StopReason};

/// Facts shown by the entries so far.
#[derive(Debug, Default)]
#[allow(clippy::struct_excessive_bools)] // independent facts, not states of one machine
pub(super) struct Gathered {
    /// First entry of each identity.
    pub(super) positions: FxHashMap<EntryId, usize>,
    /// For each entry, true if it repeats the identity of an earlier one and does not count.
    pub(super) is_duplicate: Vec<bool>,
    /// Responses in the order of their first lines.
    pub(super) responses: Vec<FileResponse>,
    /// Beginnings of the responses.
    pub(super) beginnings: Vec<Beginning>,
    /// For each entry, the response that it is a line of.
    response_of: Vec<Option<Ordinal>>,
    /// Calls that the responses make.
    pub(super) calls: Calls,
    /// Messages that have lines of their own but are not requests.
    pub(super) other_messages: Vec<Symbol>,
    /// `requestId` → the model that refused it first.
    pub(super) refusals: Vec<(Symbol, Symbol)>,
    /// True if progress lines hold messages.
    pub(super) has_nested: bool,
    /// Diagnostics for repeated entries.
    pub(super) diagnostics: Diagnostics,
    /// Newest message of the main conversation, with its time.
    pub(super) newest: Option<(Option<Millis>, usize)>,
    /// Last recorded tip of the live branch.
    pub(super) leaf: Option<EntryId>,
    /// Entries of the parents at which the file's forks begin, each with the fork's agent.
    pub(super) fork_contexts: Vec<(Option<Symbol>, EntryId)>,
    /// True if results were sent as previews.
    pub(super) has_replacements: bool,
    /// Entries beside the chain that change the part of it that the next request sends.
    pub(super) beside: Vec<usize>,
    /// Boundaries and summaries of parts of each agent's conversation.
    summaries: FxHashMap<Option<Symbol>, Summaries>,
    /// Context of hooks around tools' calls, which hangs off the call, beside its result: time and entry.
    pub(super) tool_hooks: BTreeSet<(Option<Millis>, usize)>,
    /// Results that were cleared or replaced, by their calls, with their lines once these are looked up.
    pub(super) changed_results: FxHashMap<EntryId, Option<u64>>,
    /// True if a later line changed the facts about an earlier entry: a response got its usage after its
    /// first line, so that it was not a request until then, or a hook comes after a later request, or a call
    /// after the line that cleared its result.
    has_late_lines: bool,
    /// True if a call was named after its result, or got another name.
    has_late_calls: bool,
    /// Results so far whose calls are on no line before them.
    unknown_calls: FxHashSet<EntryId>,
    /// Response of the newest line of one, until a message of the user's or a result comes.
    going_on: Option<Ordinal>,
    /// Newest time of a response's line.
    newest_response: Option<Millis>,
    by_key: FxHashMap<ResponseKey, Ordinal>,
    agent_setting: Option<Symbol>,
}

/// Places of an agent's boundaries of compactions, and of summaries that replaced parts, in the order of the file.
#[derive(Debug, Default)]
struct Summaries {
    boundaries: Vec<usize>,
    parts: Vec<usize>,
}

/// Number of responses or entries above which a file frees memory that it no longer needs, to lower the peak;
/// the next file allocates it again.
pub(super) const MOST_KEPT: usize = 20_000;

/// Beginning of a response.
#[derive(Debug)]
pub(super) struct Beginning {
    first: Ordinal,
    /// First of the response's lines that hangs off something else; `None` until it is known.
    pub(super) placed: Option<Ordinal>,
}

impl Beginning {
    /// Entry at which the response begins.
    pub(super) fn entry(&self) -> usize {
        self.placed.unwrap_or(self.first).index()
    }

    /// First entry of the response's lines.
    pub(super) fn first(&self) -> usize {
        self.first.index()
    }
}

impl Gathered {
    /// Makes room for this number of entries.
    pub(super) fn expect(&mut self, entries: usize) {
        // Most responses have two lines and are answered by one.
        let responses = entries / 3;
        self.is_duplicate.reserve_exact(entries);
        self.response_of.reserve_exact(entries);
        self.responses.reserve_exact(responses);
        self.beginnings.reserve_exact(responses);
    }

    /// Clears everything but the allocated memory.
    pub(super) fn clear(&mut self) {
        self.positions.clear();
        self.is_duplicate.clear();
        self.responses.clear();
        self.beginnings.clear();
        self.response_of.clear();
        self.calls.clear();
        self.by_key.clear();
        // The maps and lists are emptied but keep their memory for the next file; all else starts from its
        // default.
        *self = Self {
            positions: std::mem::take(&mut self.positions),
            is_duplicate: std::mem::take(&mut self.is_duplicate),
            responses: std::mem::take(&mut self.responses),
            beginnings: std::mem::take(&mut self.beginnings),
            response_of: std::mem::take(&mut self.response_of),
            calls: std::mem::take(&mut self.calls),
            by_key: std::mem::take(&mut self.by_key),
            ..Self::default()
        };
    }

    /// Adds the next entry of a file, with the content of its line if it belongs to a response.
    pub(super) fn add(&mut self, entry: &Entry, line: Option<ResponseLine>, file: &Arc<str>) {
        let position = self.is_duplicate.len();
        let is_duplicate = self.is_known(entry, position);
        if is_duplicate {
            let detail = "the first of them counts";
            self.diagnostics.add(Kind::DuplicateLine, file, entry.line, detail);
        }
        self.is_duplicate.push(is_duplicate);
        self.note(entry, position, is_duplicate);
        let line = line.filter(|_| !is_duplicate);
        let response = line.map(|line| self.add_line(line, entry, position));
        self.response_of.push(response.map(Ordinal::at));
    }

    /// Response that an entry is a line of.
    pub(super) fn response_of(&self, position: usize) -> Option<usize> {
        self.response_of[position].map(Ordinal::index)
    }

    /// Frees the memory that only new lines need, if it is large.
    pub(super) fn expect_no_more(&mut self) {
        if self.by_key.len() > MOST_KEPT {
            self.by_key = FxHashMap::default();
        }
    }

    /// Request that an entry is a line of.
    ///
    /// A response without usage is not a request: the chain continues over it.
    pub(super) fn request_of(&self, position: usize) -> Option<usize> {
        let response = self.response_of(position)?;
        self.responses[response].lines.usage.is_ok().then_some(response)
    }

    /// Resets the places of the responses.
    pub(super) fn forget_places(&mut self) {
        for (beginning, response) in self.beginnings.iter_mut().zip(&mut self.responses) {
            beginning.placed = None;
            response.predecessor = None;
            response.continues = None;
            response.has_gap = false;
            response.between = Between::default();
        }
    }

    /// Last boundary of a compaction in front of an entry of an agent's conversation, in the order of the file: it
    /// voids the summaries of parts before it, which have no place in the chain.
    pub(super) fn boundary_before(&self, agent: Option<Symbol>, position: usize) -> Option<usize> {
        let boundaries = &self.summaries.get(&agent)?.boundaries;
        let before = boundaries.partition_point(|boundary| *boundary < position);
        boundaries.get(before.checked_sub(1)?).copied()
    }

    /// First summary of a part of an agent's conversation that a boundary voids.
    pub(super) fn voided_by(&self, agent: Option<Symbol>, boundary: usize) -> Option<usize> {
        let parts = &self.summaries.get(&agent)?.parts;
        let from = self.boundary_before(agent, boundary).unwrap_or_default();
        let first = parts.get(parts.partition_point(|part| *part < from)).copied()?;
        (first < boundary).then_some(first)
    }

    fn note(&mut self, entry: &Entry, position: usize, is_duplicate: bool) {
        match &entry.kind {
            EntryKind::AgentSetting(agent) => self.agent_setting = Some(*agent),
            EntryKind::LastPrompt { leaf } => self.leaf = Some(*leaf),
            EntryKind::ForkContext { up_to } => self.fork_contexts.push((entry.agent, *up_to)),
            EntryKind::ContentReplacement(results) => {
                self.has_replacements = true;
                self.beside.push(position);
                self.changed_results.extend(results.iter().map(|(call, _)| (*call, None)));
            }
            EntryKind::Collapse(_) => {
                self.beside.push(position);
                self.summaries.entry(entry.agent).or_default().parts.push(position);
            }
            EntryKind::CompactBoundary(_) => {
                self.summaries.entry(entry.agent).or_default().boundaries.push(position);
            }
            EntryKind::MicrocompactBoundary(cleared) => {
                self.changed_results.extend(cleared.calls.iter().map(|call| (*call, None)));
            }
            EntryKind::Synthetic { message } => self.other_messages.extend(message),
            EntryKind::RefusalFallback { request: Some(request), original_model: Some(model) } => {
                self.refusals.push((*request, *model));
            }
            EntryKind::Progress(Some(_)) => self.has_nested = true,
            EntryKind::User(user) => {
                self.going_on = None;
                let results = user.tool_results.iter().map(|(call, _)| *call);
                self.unknown_calls.extend(results.filter(|call| !self.calls.contains_key(call)));
            }
            _ => {}
        }
        if entry.signs.contains(Sign::ToolHookContext) {
            // The hook belongs before a response that was already placed without it.
            self.has_late_lines |= entry.timestamp <= self.newest_response;
            self.tool_hooks.insert((entry.timestamp, position));
        }
        if is_message(entry) && !is_duplicate {
            self.newest = self.newest.max(Some((entry.timestamp, position)));
        }
    }

    /// Returns true if later lines changed the facts about an earlier entry, or about the trail, if that is
    /// kept.
    pub(super) fn changes_the_past(&self, has_trail: bool) -> bool {
        let changes_trail = self.has_late_calls || !self.changed_results.is_empty();
        self.has_replacements || self.has_late_lines || has_trail && changes_trail
    }

    /// Returns true if an earlier entry has the same identity; otherwise registers this entry for it.
    fn is_known(&mut self, entry: &Entry, position: usize) -> bool {
        entry.id.is_some_and(|id| *self.positions.entry(id).or_insert(position) != position)
    }

    /// Finds the lines of the results that were cleared or replaced.
    pub(super) fn find_changed_results(&mut self, entries: &[Entry]) {
        if self.changed_results.is_empty() {
            return;
        }
        for entry in entries {
            let EntryKind::User(user) = &entry.kind else { continue };
            for (call, _) in &user.tool_results {
                if let Some(line) = self.changed_results.get_mut(call) {
                    line.get_or_insert(entry.line);
                }
            }
        }
    }

    fn add_line(&mut self, line: ResponseLine, entry: &Entry, position: usize) -> usize {
        let next = self.responses.len();
        let (response, key) = self.place(&line, entry.session);
        self.going_on = Some(Ordinal::at(response));
        self.note_calls(response, &line);
        if response == next {
            let agent_setting = self.agent_setting;
            self.responses.push(FileResponse { agent_setting, ..begin_response(key, line, entry) });
            self.beginnings.push(Beginning { first: Ordinal::at(position), placed: None });
        } else {
            let lines = &mut self.responses[response].lines;
            let had_usage = lines.usage.is_ok();
            lines.add(line, entry.timestamp);
            self.has_late_lines |= !had_usage && lines.usage.is_ok();
        }
        self.newest_response = self.newest_response.max(entry.timestamp);
        // Responses of sub-agents have no branches of their own.
        self.responses[response].is_live |= entry.is_sidechain;
        response
    }

    /// Response of a line, which may be the next one, and its key.
    fn place(&mut self, line: &ResponseLine, session: Option<Symbol>) -> (usize, ResponseKey) {
        let next = Ordinal::at(self.responses.len());
        let key = ResponseKey::of(line, session);
        if let Some(response) = self.other_half(line) {
            self.by_key.insert(key, Ordinal::at(response));
            return (response, key);
        }
        let known = *self.by_key.entry(key).or_insert(next);
        let is_known = known != next && self.is_one_answer(known, line);
        if known == next || is_known {
            return (known.index(), key);
        }
        self.by_key.insert(key, next);
        (next.index(), self.responses[known.index()].key.next())
    }

    /// Response that goes on with this line, if only one of both has a request id.
    fn other_half(&mut self, line: &ResponseLine) -> Option<usize> {
        let response = self.going_on?.index();
        let FileResponse { key, lines, .. } = &mut self.responses[response];
        let is_half = lines.request.is_some() != line.request.is_some();
        let is_same = lines.message.is_some() && lines.message == line.message;
        if !(is_half && is_same && lines.model == line.model) {
            return None;
        }
        if let Some(request) = line.request {
            lines.request = Some(request);
            *key = ResponseKey::Request(line.message, request);
        }
        Some(response)
    }

    /// Returns true if a line belongs to the response that has its key.
    ///
    /// Some gateways give all answers the same message id, or none, and no request ids. Between two answers
    /// something is sent, and the prompt becomes another one.
    fn is_one_answer(&self, known: Ordinal, line: &ResponseLine) -> bool {
        if line.request.is_some() || self.going_on == Some(known) {
            return true;
        }
        let prompt = |usage: &Result<Usage, UsageProblem>| usage.as_ref().ok().map(|it| it.prompt);
        let before = prompt(&self.responses[known.index()].lines.usage);
        // The first line may come before the usage is known.
        let before = before.filter(|before| before.total() > Tokens::ZERO);
        let is_other = before.zip(prompt(&line.usage)).is_some_and(|(before, now)| before != now);
        !is_other && line.message.is_some()
    }

    /// Notes the calls of a response.
    ///
    /// A call that several responses make belongs to the first one, and has the tool that was named last.
    fn note_calls(&mut self, response: usize, line: &ResponseLine) {
        for call in &line.tool_uses {
            let noted = Call { tool: call.tool, caller: Some(Ordinal::at(response)) };
            self.has_late_calls |= self.unknown_calls.contains(&call.id);
            self.has_late_lines |= self.changed_results.contains_key(&call.id);
            self.calls
                .entry(call.id)
                .and_modify(|known| {
                    self.has_late_calls |= known.tool != call.tool;
                    known.tool = call.tool;
                    known.caller = known.caller.min(noted.caller);
                })
                .or_insert(noted);
        }
    }
}

/// Returns true for a message of the main conversation.
pub(super) fn is_message(entry: &Entry) -> bool {
    !entry.is_sidechain && matches!(entry.kind, EntryKind::User(_) | EntryKind::Response)
}

/// Response that begins with a line of an entry.
pub(super) fn begin_response(key: ResponseKey, line: ResponseLine, entry: &Entry) -> FileResponse {
    FileResponse {
        key,
        file: 0,
        lines: ResponseLines::begin(line, entry.line, entry.timestamp),
        first_entry: entry.id,
        session: entry.session,
        agent: entry.agent,
        is_sidechain: entry.is_sidechain,
        is_forked: entry.is_forked,
        client_version: entry.client_version,
        project: entry.project,
        branch: entry.branch,
        agent_setting: None,
        predecessor: None,
        continues: None,
        has_gap: false,
        is_fork: false,
        between: Between::default(),
        recovered_results: 0,
        is_live: false,
        is_cut: false,
        is_nested: false,
    }
}

/// Key of a response: its message and request, or, if a gateway gives no request ids, its session, message
/// and model, and its number among the answers of a file that have the same three.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ResponseKey {
    /// `message.id` and `requestId`.
    Request(Option<Symbol>, Symbol),
    /// `sessionId`, `message.id` and `message.model`.
    Session(Option<Symbol>, Option<Symbol>, Symbol, u32),
}

impl ResponseKey {
    pub(super) fn of(line: &ResponseLine, session: Option<Symbol>) -> Self {
        match line.request {
            Some(request) => Self::Request(line.message, request),
            None => Self::Session(session, line.message, line.model, 0),
        }
    }

    /// Key of the next answer that has the same ids.
    fn next(self) -> Self {
        match self {
            Self::Session(session, message, model, number) => {
                Self::Session(session, message, model, number.saturating_add(1))
            }
            known @ Self::Request(..) => known,
        }
    }

    /// The same key with the session's assigned name, if its lines give none.
    pub(super) fn in_session(self, session: Option<Symbol>) -> Self {
        match self {
            Self::Session(None, message, model, number) => {
                Self::Session(session, message, model, number)
            }
            known => known,
        }
    }
}

impl HasSymbols for ResponseKey {
    fn move_symbols(&mut self, moved: &Moved) {
        match self {
            Self::Request(message, request) => {
                message.move_symbols(moved);
                request.move_symbols(moved);
            }
            Self::Session(session, message, model, _) => {
                session.move_symbols(moved);
                message.move_symbols(moved);
                model.move_symbols(moved);
            }
        }
    }
}

/// Response, merged from all of its lines.
#[derive(Clone, Debug)]
#[allow(clippy::struct_excessive_bools)] // independent facts
pub struct ResponseLines {
    /// `message.id`; some gateways give none.
    pub message: Option<Symbol>,
    /// `requestId`.
    pub request: Option<Symbol>,
    /// `message.model`.
    pub model: Symbol,
    /// Line on which the response begins.
    pub first_line: u64,
    /// Time of its first line that has one.
    pub first_timestamp: Option<Millis>,
    /// Latest time of its lines.
    pub last_timestamp: Option<Millis>,
    /// Reason for its end; `None` if no line has one, so that the output is a snapshot.
    pub stop: Option<StopReason>,
    /// True if the response calls tools.
    pub calls_tools: bool,
    /// Tokens of its texts and calls, as counted; zero if they were not counted.
    pub counted: u32,
    /// True if it holds thinking.
    pub has_thinking: bool,
    /// True if it holds more than thinking, white space and calls.
    pub has_text: bool,
    /// True if it was not streamed.
    pub came_at_once: bool,
    /// Number of positions that it takes in a prompt: its blocks without thinking.
    pub positions: u32,
    /// `effort`.
    pub effort: Option<Symbol>,
    /// Service's reason for a cache miss.
    pub verdict: Option<ServerVerdict>,
    /// Usage: the prompt from the last line that has any, the output the largest of all lines.
    pub usage: Result<Usage, UsageProblem>,
}

has_symbols!(ResponseLines { message, request, model, effort, verdict } beside {
    first_line, first_timestamp, last_timestamp, stop, calls_tools, counted, has_thinking, has_text, came_at_once,
    positions, usage
});

impl ResponseLines {
    pub(super) fn begin(line: ResponseLine, number: u64, timestamp: Option<Millis>) -> Self {
        Self {
            message: line.message,
            request: line.request,
            model: line.model,
            first_line: number,
            first_timestamp: timestamp,
            last_timestamp: timestamp,
            stop: line.stop,
            calls_tools: !line.tool_uses.is_empty(),
            counted: line.counted,
            has_thinking: line.has_thinking,
            has_text: line.has_text,
            came_at_once: line.came_at_once,
            positions: positions_of(&line),
            effort: line.effort,
            verdict: line.verdict,
            usage: line.usage,
        }
    }

    pub(super) fn add(&mut self, line: ResponseLine, timestamp: Option<Millis>) {
        self.first_timestamp = self.first_timestamp.or(timestamp);
        self.last_timestamp = self.last_timestamp.max(timestamp);
        self.stop = line.stop.or(self.stop);
        self.counted = self.counted.saturating_add(line.counted);
        self.has_thinking |= line.has_thinking;
        self.has_text |= line.has_text;
        self.came_at_once |= line.came_at_once;
        self.positions = self.positions.saturating_add(positions_of(&line));
        self.effort = line.effort.or(self.effort);
        self.verdict = line.verdict.or(self.verdict);
        self.calls_tools |= !line.tool_uses.is_empty();
        let known = std::mem::replace(&mut self.usage, Err(UsageProblem::Missing));
        self.usage = merge_usage(known, line.usage);
    }

    /// Returns true if the recorded output may be less than the real one.
    pub fn output_is_lower_bound(&self) -> bool {
        self.stop.is_none()
    }

    /// Returns true if the answer ends the turn, by the lines.
    pub fn ends_turn(&self) -> bool {
        match self.stop {
            Some(stop) => stop == StopReason::Other,
            None => !self.calls_tools,
        }
    }
}

/// Number of positions of a line, which as a rule holds one block, so that its text counts once.
fn positions_of(line: &ResponseLine) -> u32 {
    u32::try_from(line.tool_uses.len()).unwrap_or(u32::MAX).saturating_add(line.has_text.into())
}

fn merge_usage(
    known: Result<Usage, UsageProblem>,
    later: Result<Usage, UsageProblem>,
) -> Result<Usage, UsageProblem> {
    match (known, later) {
        (Ok(known), Ok(later)) => {
            // Lines repeat the usage while the output grows.
            Ok(Usage { output: Tokens::max(known.output, later.output), ..later })
        }
        (Ok(usage), Err(_)) | (Err(_), Ok(usage)) => Ok(usage),
        (Err(known), Err(later)) => Err(known.max(later)),
    }
}
