//! Requests of a history from other agents' sessions, in the order in which they were sent.
//!
//! Requests to Anthropic's models with known writes are placed among those of transcripts: the same rules
//! hold for them. All others come last, with their records beside them.

use std::hash::Hash;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::copilot::each_once;
use super::logged::{Served, is_logged, without_repeated};
use super::{
    Answer, Between, Charge, History, InputFile, Request, RequestIndex, Trail, TrailIndex,
};
use crate::base::{Client, EntryId, HasSymbols, Millis, Symbol, Tokens};
use crate::read::agent::{
    AgentFile, AgentRequest, COPILOT_COMPACTION, Follows, Vendor, join_halves,
};
use crate::read::input::{Kind, Usage};

/// Position of a request: its file, and its index among the requests of that file.
pub(super) type At = (usize, usize);

/// Request with its position.
pub(super) struct Placed {
    pub(super) file: usize,
    /// Index among the requests of the file.
    place: usize,
    pub(super) session: Symbol,
    pub(super) request: AgentRequest,
    /// Request that this one continues. For a copy, the request that it is a copy of.
    pub(super) predecessor: Option<At>,
    ends_turn: bool,
}

impl Placed {
    pub(super) fn at(&self) -> At {
        (self.file, self.place)
    }

    /// Returns true if the rules of markers hold for the request and all facts that they need are known.
    fn is_marked(&self) -> bool {
        let AgentRequest { vendor, knows_writes, sum_of, .. } = self.request;
        vendor == Vendor::Anthropic && knows_writes && sum_of == 1
    }
}

/// Requests to caches without markers, in the order in which they were sent.
pub(super) struct UnmarkedRequests(Vec<Placed>);

/// Identity by which copies of a request in other files are recognised.
#[derive(PartialEq, Eq, Hash)]
enum Identity {
    Named(Client, EntryId),
    Alike(Client, Symbol, Option<Symbol>, [Millis; 2], [u64; 4]),
}

impl Identity {
    /// Returns true if the session does not matter.
    fn is_named(&self) -> bool {
        matches!(self, Self::Named(..))
    }

    /// Returns true if a file has the identity only once.
    ///
    /// Steps of opencode's messages may be alike, as may requests that are identified by their figures alone.
    fn is_unique_in_a_file(&self) -> bool {
        matches!(self, Self::Named(client, _) if *client != Client::OpenCode)
    }
}

impl History {
    /// Adds the requests of other agents' sessions that were sent under the rules of markers among those of
    /// transcripts, and returns the others, to be [added](Self::add_unmarked) after everything else.
    pub(super) fn add_agents(&mut self, mut files: Vec<AgentFile>) -> UnmarkedRequests {
        join_halves(&mut files);
        files.iter_mut().for_each(AgentFile::place_untimed);
        let mut placed = self.originals(files);
        let has_moved = self.join_logs(&mut placed);
        // The order matters: chains are linked by time, so starts must ascend first, and requests part into
        // two kinds of rules only once all of a session agree on their vendor.
        self.part_sessions(&mut placed);
        agree(&mut placed);
        move_starts_up(&mut placed);
        placed.sort_by_key(|one| (one.request.start, one.file, one.place));
        link_messages(&mut placed);
        stay_among_their_own(&mut placed);
        let (marked, unmarked): (Vec<Placed>, Vec<Placed>) =
            placed.into_iter().partition(Placed::is_marked);
        if has_moved || !marked.is_empty() {
            self.merge(&marked);
        }
        UnmarkedRequests(unmarked)
    }

    /// Leaves out requests that sessions and logs both have, and returns true if times of transcripts'
    /// requests were changed.
    fn join_logs(&mut self, placed: &mut Vec<Placed>) -> bool {
        if placed.iter().any(|one| one.request.client == Client::Copilot) {
            let compaction = self.symbols.intern(COPILOT_COMPACTION);
            let found = each_once(placed, compaction);
            self.duplicates += found.left_out;
            for (file, line) in found.contradictions {
                let detail = "single requests tell of more than this sum; both count";
                self.diagnostics.add(Kind::Contradiction, &self.files[file].label, line, detail);
            }
        }
        if !placed.iter().any(|one| is_logged(&one.request)) {
            return false;
        }
        self.duplicates += without_repeated(placed);
        let served = Served::of(self);
        let before = placed.len();
        placed.retain(|one| {
            let AgentRequest { message, request, .. } = one.request;
            let of_transcript = served.find(message, request).filter(|_| is_logged(&one.request));
            if let Some(index) = of_transcript {
                self.take_from_log(index, one);
            }
            of_transcript.is_none()
        });
        let joined = (before - placed.len()) as u64;
        self.duplicates += joined;
        self.keep_chains_in_order();
        joined > 0
    }

    /// Gives sessions names of their own if several programs use the same name. Logs are left out, as they
    /// report the sessions of other programs.
    fn part_sessions(&mut self, placed: &mut [Placed]) {
        let mut programs: FxHashMap<Symbol, Client> = FxHashMap::default();
        for one in placed.iter().filter(|one| !is_logged(&one.request)) {
            programs.entry(one.session).or_insert(one.request.client);
        }
        let mut names: FxHashMap<(Symbol, Client), Symbol> = FxHashMap::default();
        for one in placed.iter_mut().filter(|one| !is_logged(&one.request)) {
            let client = one.request.client;
            if programs[&one.session] == client {
                continue;
            }
            one.session = *names.entry((one.session, client)).or_insert_with(|| {
                let name = format!("{} ({})", self.symbols.text(one.session), client.label());
                self.symbols.intern(&name)
            });
        }
    }

    /// Requests of all files without copies, by file and place.
    ///
    /// A request that continues a copy continues the original, which is in an earlier file.
    fn originals(&mut self, files: Vec<AgentFile>) -> Vec<Placed> {
        let mut placed: Vec<Placed> = Vec::new();
        let mut known: FxHashMap<Identity, usize> = FxHashMap::default();
        for file in files {
            let of_file = self.take_over_agent(file);
            let mut origins: Vec<Option<At>> = Vec::with_capacity(of_file.len());
            let mut own: Vec<(Identity, usize)> = Vec::new();
            for mut one in of_file {
                // Steps may be alike in one session; what another session of the file has as well is a fork's copy.
                if own.last().is_some_and(|(_, number)| placed[*number].session != one.session) {
                    known.extend(own.extract_if(.., |(identity, _)| identity.is_named()));
                }
                let identity = identity(&one);
                let origin = known.get(&identity).copied();
                origins.push(origin.map(|number| placed[number].at()));
                if let Some(original) = origin.and_then(|number| placed.get_mut(number)) {
                    self.duplicates += 1;
                    take_lifetimes(&mut original.request, &one.request);
                    continue;
                }
                let before = one.predecessor.and_then(|(_, place)| origins.get(place).copied());
                one.predecessor = before.flatten().or(one.predecessor);
                // Alike requests of one file are different ones: their identities count for later files only.
                if identity.is_unique_in_a_file() {
                    known.insert(identity, placed.len());
                } else {
                    own.push((identity, placed.len()));
                }
                placed.push(one);
            }
            known.extend(own);
        }
        placed
    }

    /// Adds the requests that [`add_agents`](Self::add_agents) returned.
    pub(super) fn add_unmarked(&mut self, UnmarkedRequests(placed): UnmarkedRequests) {
        let mut indexes: FxHashMap<At, RequestIndex> = FxHashMap::default();
        for one in placed {
            let index = RequestIndex::new(self.requests.len());
            let predecessor = one.predecessor.and_then(|at| indexes.get(&at));
            let request = self.request_of(&one, predecessor.copied());
            self.requests.push(request);
            self.note_charge(index, &one.request);
            indexes.insert(one.at(), index);
            self.of_agents.push(one.request);
        }
    }

    /// Inserts requests among those of transcripts, by their start times.
    fn merge(&mut self, marked: &[Placed]) {
        let of_transcripts = std::mem::take(&mut self.requests);
        let starts = of_transcripts.iter().map(|request| request.start);
        let starts: Vec<Millis> =
            starts.chain(marked.iter().map(|one| one.request.start)).collect();
        let mut order: Vec<usize> = (0..starts.len()).collect();
        // Stable: of equal starts, transcripts' requests come first.
        order.sort_by_key(|number| starts[*number]);
        let mut position_of = vec![0; order.len()];
        for (position, number) in order.iter().enumerate() {
            position_of[*number] = position;
        }
        let first_marked = of_transcripts.len();
        let mut indexes: FxHashMap<At, RequestIndex> = FxHashMap::default();
        for (number, one) in marked.iter().enumerate() {
            let index = RequestIndex::new(position_of[first_marked + number]);
            indexes.insert(one.at(), index);
        }
        let mut all: Vec<(usize, Request)> = Vec::with_capacity(order.len());
        for (number, mut request) in of_transcripts.into_iter().enumerate() {
            request.predecessor =
                request.predecessor.map(|one| RequestIndex::new(position_of[one.get()]));
            request.between.rewrite = request
                .between
                .rewrite
                .renumbered(|place| u32::try_from(*position_of.get(place as usize)?).ok());
            all.push((position_of[number], request));
        }
        for (number, one) in marked.iter().enumerate() {
            let predecessor = one.predecessor.and_then(|at| indexes.get(&at));
            let request = self.request_of(one, predecessor.copied());
            let position = position_of[first_marked + number];
            self.note_charge(RequestIndex::new(position), &one.request);
            all.push((position, request));
        }
        all.sort_by_key(|(position, _)| *position);
        self.requests = all.into_iter().map(|(_, request)| request).collect();
    }

    fn note_charge(&mut self, index: RequestIndex, recorded: &AgentRequest) {
        let AgentRequest { nano_aiu, client_cost, .. } = *recorded;
        if nano_aiu.is_some() || client_cost.is_some() {
            self.charged.insert(index, Charge { nano_aiu, client_cost });
        }
    }

    /// Moves a file's strings over to those of the history.
    fn take_over_agent(&mut self, mut file: AgentFile) -> Vec<Placed> {
        let symbols = self.symbols.absorb(file.symbols);
        let own_session = self.symbols.intern(&file.stem);
        self.bytes += file.extent.bytes;
        self.lines += file.extent.lines;
        self.diagnostics.absorb(file.diagnostics);
        for piece in &mut file.pieces {
            piece.move_symbols(&symbols);
        }
        for reading in &mut file.limits {
            reading.move_symbols(&symbols);
        }
        self.limits.append(&mut file.limits);
        let trail = Trail::of_pieces(&file.pieces);
        self.files.push(InputFile { label: Arc::clone(&file.label), what: file.what, trail });
        let number = self.files.len() - 1;
        for request in &mut file.requests {
            request.move_symbols(&symbols);
        }
        let predecessors = predecessors(&file.requests, own_session);
        // A turn has ended if nothing follows, or if the next request begins another one.
        let mut ends_turn = vec![true; file.requests.len()];
        for (place, predecessor) in predecessors.iter().enumerate() {
            if let Some(before) = predecessor {
                ends_turn[*before] = file.requests[place].begins_turn;
            }
        }
        let place = |(place, request): (usize, AgentRequest)| Placed {
            file: number,
            place,
            session: request.session.unwrap_or(own_session),
            predecessor: predecessors[place].map(|before| (number, before)),
            ends_turn: ends_turn[place],
            request,
        };
        file.requests.into_iter().enumerate().map(place).collect()
    }

    fn request_of(&mut self, placed: &Placed, predecessor: Option<RequestIndex>) -> Request {
        let recorded = &placed.request;
        Request {
            message: recorded.message,
            request: recorded.request,
            client: recorded.client,
            sum_of: recorded.sum_of,
            model: recorded.model,
            vendor: recorded.vendor,
            session: placed.session,
            agent: recorded.agent,
            client_version: Some(self.version(recorded)),
            project: recorded.project,
            branch: None,
            file: placed.file,
            line: recorded.line,
            start: recorded.start,
            answered: None,
            finished: recorded.finished,
            usage: Some(usage_of(recorded)),
            output_is_lower_bound: false,
            ends_turn: placed.ends_turn,
            answer: Answer::default(),
            has_thinking: recorded.reasoning.0 > 0,
            came_at_once: false,
            has_text: false,
            answer_positions: 0,
            effort: recorded.effort,
            mode: recorded.mode,
            permissions: recorded.permissions,
            agent_setting: None,
            verdict: None,
            predecessor,
            between: Between {
                has_prompt: recorded.begins_turn,
                has_compaction: recorded.is_after_compaction,
                has_interruption: recorded.is_after_interruption,
                trail: recorded.brought.map(TrailIndex),
                ..Between::default()
            },
            fresh_replacement: None,
            recovered_results: 0,
            is_live: true,
        }
    }

    /// Client's version with its name, so that it is not taken for another client's.
    fn version(&mut self, request: &AgentRequest) -> Symbol {
        let label = request.client.label();
        let version = self.text(request.client_version);
        let text = version.map_or_else(|| label.to_owned(), |version| format!("{label} {version}"));
        self.symbols.intern(&text)
    }
}

/// Takes the lifetimes of writes from a copy of a request, if the request itself lacks them.
fn take_lifetimes(request: &mut AgentRequest, copy: &AgentRequest) {
    let (own, copied) = (&mut request.usage.prompt, copy.usage.prompt);
    let knows_more = copy.knows_lifetime && !request.knows_lifetime;
    if knows_more && own.written() == copied.written() {
        (own.write_5m, own.write_1h) = (copied.write_5m, copied.write_1h);
        request.knows_lifetime = true;
    }
}

/// Billed usage, with a note if the lifetime of its writes is assumed.
fn usage_of(recorded: &AgentRequest) -> Usage {
    let usage = recorded.usage.clone();
    let has_lifetime =
        recorded.vendor == Vendor::Anthropic && usage.prompt.written() > Tokens::ZERO;
    Usage { lifetime_is_assumed: has_lifetime && !recorded.knows_lifetime, ..usage }
}

fn identity(placed: &Placed) -> Identity {
    let Placed { session, request, .. } = placed;
    let AgentRequest { client, agent, start, finished, ref usage, .. } = *request;
    let prompt = usage.prompt;
    request.identity.map_or_else(
        || {
            let tokens = [prompt.input, prompt.read, prompt.written(), usage.output];
            let tokens = tokens.map(|tokens| tokens.0);
            Identity::Alike(client, *session, agent, [start, finished], tokens)
        },
        |identity| Identity::Named(client, identity),
    )
}

/// Lets all requests of a session to one model share the facts that any of them shows: its vendor, and that
/// writes are recorded.
fn agree(placed: &mut [Placed]) {
    let key = |one: &Placed| (one.session, one.request.model, one.request.route);
    let mut seen: FxHashMap<_, (bool, bool)> = FxHashMap::default();
    for one in &*placed {
        let (writes, is_anthropic) = seen.entry(key(one)).or_default();
        *writes |= one.request.usage.prompt.written() > Tokens::ZERO;
        *is_anthropic |= one.request.vendor == Vendor::Anthropic;
    }
    for one in placed {
        let (writes, is_anthropic) = seen[&key(one)];
        // Other services give zero if they do not report writes.
        let is_of_others = !is_anthropic && one.request.vendor != Vendor::Anthropic;
        one.request.knows_writes = writes || (one.request.knows_writes && !is_of_others);
        if is_anthropic {
            one.request.vendor = Vendor::Anthropic;
        }
    }
}

/// Makes starts ascend along every conversation, even if a clock was set back. A request comes after the one
/// that it continues.
fn move_starts_up(placed: &mut [Placed]) {
    let mut starts: FxHashMap<At, Millis> = FxHashMap::default();
    for one in placed {
        let before = one.predecessor.and_then(|before| starts.get(&before));
        let request = &mut one.request;
        request.start = before.map_or(request.start, |before| request.start.max(*before));
        request.finished = request.finished.max(request.start);
        starts.insert((one.file, one.place), request.start);
    }
}

/// Lets messages that are files of their own continue each other, by their start times.
fn link_messages(placed: &mut [Placed]) {
    let mut latest: FxHashMap<(Symbol, Option<Symbol>), At> = FxHashMap::default();
    for one in placed {
        let is_message = one.request.client == Client::OpenCode;
        if !is_message || one.request.follows == Follows::Nothing {
            continue;
        }
        let before = latest.insert((one.session, one.request.agent), one.at());
        one.predecessor = one.predecessor.or(before);
    }
}

/// Lets each request continue the last one before it in its conversation that is under the same kind of
/// rules. A request comes after the one that it continues.
fn stay_among_their_own(placed: &mut [Placed]) {
    // The last request without markers, and the last one with them, up to each request.
    let mut nearest: FxHashMap<At, [Option<At>; 2]> = FxHashMap::default();
    for one in placed {
        let own = usize::from(one.is_marked());
        let before = one.predecessor.and_then(|before| nearest.get(&before));
        let mut near = before.copied().unwrap_or_default();
        one.predecessor = near[own];
        near[own] = Some(one.at());
        nearest.insert(one.at(), near);
    }
}

/// Predecessors of the requests of a file, each earlier in the file.
fn predecessors(requests: &[AgentRequest], own_session: Symbol) -> Vec<Option<usize>> {
    let mut latest: FxHashMap<(Symbol, Option<Symbol>), usize> = FxHashMap::default();
    let mut predecessors = Vec::with_capacity(requests.len());
    for (place, request) in requests.iter().enumerate() {
        let conversation = (request.session.unwrap_or(own_session), request.agent);
        let before = latest.get(&conversation).copied();
        let predecessor = match request.follows {
            Follows::Previous => before,
            // A format may name a later request; only earlier ones are predecessors.
            Follows::Request(other) => Some(other).filter(|other| *other < place),
            Follows::Nothing => None,
        };
        // A request beside a conversation is not continued.
        if before.is_none() || request.follows != Follows::Nothing {
            latest.insert(conversation, place);
        }
        predecessors.push(predecessor);
    }
    predecessors
}
