//! Chains of requests, built from entries: the lines of one response, the predecessor of each request, and
//! the client's additions between them.
//!
//! `Graph` links entries to their parents: across compact boundaries by `logicalParentUuid`, through old
//! progress lines, around dangling parents (continued at the line before, or in the file that has them) and
//! circles (cut). One walk of that tree from its roots gives every response its predecessor and the entries
//! between, whatever the shape of the file. Messages that a compaction preserved stay where they were
//! written, so following the logical parent finds them without relinking. Results of parallel calls beside
//! the linear path are added back. A response inside a progress line counts if its message has no line of its
//! own anywhere; copies in resumed and forked sessions count in the file in which they began (`origin.rs`).
//!
//! The start time of a request is not recorded. It is taken to be the time of the newest user-side entry
//! before the answer, never earlier than the request before.
//!
//! A history has every request of the input once, in the order in which they were sent.
//!
//! A project is named by the end of its folder's path: the shortest part that no other project shares.
//!
//! The live branch is the one that a client would resume, followed back across compactions.
//!
//! Rewound, edited and retried turns are off it. They were paid all the same, so the ledger keeps them; the
//! branch is a second view of the same responses. A sub-agent belongs to the branch that started it.
//!
//! The titles in all files give the title of each session.

mod agents;
mod between;
mod captured;
mod copilot;
mod file;
mod fold;
mod gathered;
mod granted;
mod graph;
mod join;
mod logged;
mod origin;
mod read;
mod results;
mod rewrite;
mod turns;

pub use between::{Between, Trail, TrailContent, TrailEntry, TrailIndex};
pub use captured::CapturedPrompts;
pub use file::{FileConversation, FileResponse, build};
pub use gathered::{ResponseKey, ResponseLines};
pub(crate) use granted::got_hour;
pub use join::join;
pub use read::{ReadOptions, read};
pub use rewrite::{Lines, Place, Rewrite};

use std::sync::Arc;

use between::Interruptions;
use gathered::{Gathered, is_message};
use graph::Graph;
use join::Files;
use origin::Copies;
use rustc_hash::FxHashMap;

use crate::base::{
    ByKey, Client, EntryId, Facts, Millis, Models, Ordered as _, Ordinal, Picodollars,
    ProjectNaming, Symbol, Symbols, Tokens, Zone,
};
use crate::read::agent::{AgentRequest, LimitReading, Vendor};
use crate::read::capture::WireRequest;
use crate::read::input::{Diagnostics, PriceTier, Usage};
use crate::read::transcript::{CostState, Entry, Novelty, ServerVerdict, TitleKind, Titled};

/// Position of a request in [`History::requests`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestIndex(Ordinal);

impl RequestIndex {
    /// Position of the request at an index.
    pub fn new(index: usize) -> Self {
        Self(Ordinal::at(index))
    }

    /// Index, counted from 0.
    pub fn get(self) -> usize {
        self.0.index()
    }
}

/// Charge for a request, as a program reports it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Charge {
    /// Charge by a plan that counts credits, in billionths of an AI unit (0.01 USD).
    pub nano_aiu: Option<u64>,
    /// Charge by the program's own list of prices.
    pub client_cost: Option<Picodollars>,
}

/// Request to the API, as its transcript recorded it.
#[allow(clippy::struct_excessive_bools)] // independent facts, not states of one machine
#[derive(Clone, Debug)]
pub struct Request {
    /// `message.id` of the answer; captures need not know it.
    pub message: Option<Symbol>,
    /// `requestId`.
    pub request: Option<Symbol>,
    /// Program that sent the request.
    pub client: Client,
    /// Number of requests that a client's sum stands for; 1 for a single request.
    pub sum_of: u32,
    /// `message.model`.
    pub model: Symbol,
    /// Vendor under whose cache rules the request was sent.
    pub vendor: Vendor,
    /// Session in which the request began.
    pub session: Symbol,
    /// Sub-agent of the request; `None` on the main chain.
    pub agent: Option<Symbol>,
    /// Version of the client.
    pub client_version: Option<Symbol>,
    /// Folder of the project.
    pub project: Option<Symbol>,
    /// Branch of the project's repository.
    pub branch: Option<Symbol>,
    /// File in which the request began, as a position in [`History::files`].
    pub file: usize,
    /// Line of that file on which the answer begins.
    pub line: u64,
    /// Start time of the request: that of the newest user-side entry before the answer, otherwise of the
    /// answer.
    pub start: Millis,
    /// Time of the answer's first line.
    pub answered: Option<Millis>,
    /// Time of the answer's last line.
    pub finished: Millis,
    /// Usage that the answer reports; captures need not have it, transcripts do.
    pub usage: Option<Usage>,
    /// True if the recorded output may be less than the real one.
    pub output_is_lower_bound: bool,
    /// True if the answer ends a turn.
    pub ends_turn: bool,
    /// Content of the answer, if it was counted.
    pub answer: Answer,
    /// True if the answer holds thinking.
    pub has_thinking: bool,
    /// True if the answer holds text; unknown for a captured one.
    pub has_text: bool,
    /// True if the answer was not streamed, as clients request after a stream failed.
    pub came_at_once: bool,
    /// Number of positions that the answer takes in the next prompt; unknown for a captured one.
    pub answer_positions: u32,
    /// `effort`; clients before 2.1.212 did not write it.
    pub effort: Option<Symbol>,
    /// Mode of the client that decides on the instructions; only Codex writes it.
    pub mode: Option<Symbol>,
    /// Digest of the client's permissions and folders; only Codex writes them.
    pub permissions: Option<Symbol>,
    /// Agent whose system prompt was set for the session.
    pub agent_setting: Option<Symbol>,
    /// Service's reason for a cache miss.
    pub verdict: Option<ServerVerdict>,
    /// Request before this one in its chain.
    pub predecessor: Option<RequestIndex>,
    /// Client's additions since the predecessor.
    pub between: Between,
    /// In the first request of a fork, the line that replaces a result which the parent had sent in full.
    pub fresh_replacement: Option<u64>,
    /// Number of tool results found beside the linear path.
    pub recovered_results: u32,
    /// True if the request is on the branch with which its file ends, across its compactions; for a
    /// sub-agent, if the request that started it is.
    pub is_live: bool,
}

/// Files of folders that may have been sessions or logs by their names, but are not.
#[derive(Clone, Debug, Default)]
pub struct PassedOver {
    /// Number of such files.
    pub files: u64,
    /// First of them, with a description for people.
    pub first: Option<(Arc<str>, String)>,
}

impl PassedOver {
    fn add(&mut self, label: &Arc<str>, what: String) {
        self.files += 1;
        self.first.get_or_insert_with(|| (Arc::clone(label), what));
    }
}

/// File that was read.
#[derive(Clone, Debug)]
pub struct InputFile {
    /// Name of the file, relative to the given path.
    pub label: Arc<str>,
    /// Description for people, if the file is another agent's session or a log: "a rollout".
    pub what: Option<&'static str>,
    /// Entries between the file's requests.
    pub trail: Trail,
}

/// Content of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// Tokens of the answer's texts and calls, as counted; zero if they were not counted, and all ones if the
    /// answer holds something else.
    ///
    /// The line feed before each call is counted, the frame around the calls of a message is not.
    pub counted: u32,
    /// True if the answer calls tools.
    pub calls_tools: bool,
}

/// All requests of the input, once: first those of transcripts in the order in which they were sent, then the
/// captured ones in theirs (those to services without markers after all others), then those of other agents.
///
/// (The bytes of a transcript's prompt are not known, and agents have prompts of their own, so that no two of
/// the three share a prefix.)
#[derive(Debug, Default)]
pub struct History {
    /// Requests by start, then by answer, file and line. A predecessor always comes first.
    pub requests: Vec<Request>,
    /// Prompts of the captured requests.
    pub captured: CapturedPrompts,
    /// Records of the other agents' requests, in the order of the history's.
    pub of_agents: Vec<AgentRequest>,
    /// Charges that programs report for requests, if they do.
    pub charged: FxHashMap<RequestIndex, Charge>,
    /// Readings of the used part of plans' limits, file by file, if sessions record them.
    pub limits: Vec<LimitReading>,
    /// Counts of clients, file by file, each with the number of its file.
    pub cost_states: Vec<(usize, CostState)>,
    /// Unknown names in lines of transcripts, file by file.
    pub novelties: Vec<Novelty>,
    /// Files read, in input order.
    pub files: Vec<InputFile>,
    /// Files of folders that were passed over without a diagnostic.
    pub passed_over: PassedOver,
    /// Strings of the requests.
    pub symbols: Symbols,
    /// Rejected or repaired lines.
    pub diagnostics: Diagnostics,
    /// `requestId` → the model that refused it first.
    pub refusals: FxHashMap<Symbol, Symbol>,
    /// Sub-agent → its type, if transcripts record it.
    pub agent_types: FxHashMap<Symbol, Symbol>,
    /// Session → its title, if titles are kept. A title is text of a transcript and may hold any character.
    pub titles: FxHashMap<Symbol, String>,
    /// Facts about the models of the requests.
    facts: FxHashMap<Symbol, Facts>,
    /// Facts about all other models.
    models: Models,
    /// Naming of the projects.
    pub naming: ProjectNaming,
    /// Time zone in which days begin and times are shown.
    pub zone: Zone,
    /// Bytes read, after decompression.
    pub bytes: u64,
    /// Lines read.
    pub lines: u64,
    /// Number of copies of requests in other files than their own, and of replays in side conversations.
    pub duplicates: u64,
}

impl History {
    /// Requests of Claude Code's transcripts, whose usage is known but not their prompts.
    pub fn of_transcripts(&self) -> &[Request] {
        // `requests` is in three parts: of transcripts, captured, of other agents.
        let others = self.captured.requests.len() + self.of_agents.len();
        &self.requests[..self.requests.len() - others]
    }

    /// Requests of transcripts and captures whose caches have markers.
    pub fn sent_with_markers(&self) -> &[Request] {
        &self.requests[..self.requests.len() - self.of_agents.len() - self.captured.elsewhere]
    }

    /// Requests to services without markers, captured ones first. They have usage.
    pub fn sent_elsewhere(&self) -> &[Request] {
        &self.requests[self.sent_with_markers().len()..]
    }

    /// Returns true if a request was sent under the rules of markers, which can be simulated.
    pub fn is_marked(&self, index: RequestIndex) -> bool {
        index.get() < self.sent_with_markers().len()
    }

    /// Returns true if the prompt of a request is known.
    pub fn is_captured(&self, index: RequestIndex) -> bool {
        self.wire(index).is_some()
    }

    /// Returns true if there are captured prompts, with sizes in bytes instead of tokens.
    pub fn is_counted_in_bytes(&self) -> bool {
        !self.captured.requests.is_empty() && self.captured.counting.is_bytes()
    }

    /// Captured form of a request; `None` if it is from a transcript.
    pub fn wire(&self, index: RequestIndex) -> Option<&WireRequest> {
        self.captured.requests.get(index.get().checked_sub(self.of_transcripts().len())?)
    }

    /// Price tier that a captured request asks for; the default if the request is from a transcript.
    pub fn asked_tier(&self, index: RequestIndex) -> PriceTier {
        self.wire(index).map_or_else(PriceTier::default, |wire| wire.asked_tier)
    }

    /// Record of another agent's request.
    pub fn of_agent(&self, index: RequestIndex) -> Option<&AgentRequest> {
        let first = self.requests.len() - self.of_agents.len();
        self.of_agents.get(index.get().checked_sub(first)?)
    }

    /// Returns true if the record of a request tells what it wrote.
    pub fn knows_writes(&self, index: RequestIndex) -> bool {
        let elsewhere = self.wire(index).and_then(|wire| wire.elsewhere);
        self.of_agent(index).is_none_or(|recorded| recorded.knows_writes)
            && elsewhere.is_none_or(|elsewhere| elsewhere.knows_writes)
    }

    /// Number of requests, including those in sums.
    pub fn count_requests(&self) -> u64 {
        self.requests.iter().map(|request| u64::from(request.sum_of)).sum()
    }

    /// Request at `index`.
    pub fn request(&self, index: RequestIndex) -> &Request {
        &self.requests[index.get()]
    }

    /// Model of a request.
    #[inline]
    pub fn model(&self, index: RequestIndex) -> &str {
        self.symbols.text(self.request(index).model)
    }

    /// Facts about a model.
    pub fn facts(&self, model: Symbol) -> &Facts {
        self.facts.get(&model).unwrap_or_else(|| self.models.usual())
    }

    /// Sets the facts about models, and looks up the models of all requests.
    pub fn set_models(&mut self, models: Models) {
        let Self { requests, facts, symbols, .. } = self;
        facts.clear();
        for request in requests {
            let look_up = || models.facts(symbols.text(request.model));
            facts.entry(request.model).or_insert_with(look_up);
        }
        self.models = models;
    }

    /// Names the projects, also in the labels of files. A name is given once.
    fn name_projects(&mut self, naming: ProjectNaming) {
        for file in &mut self.files {
            file.label = naming.label(&file.label).into();
        }
        if let Some((label, _)) = &mut self.passed_over.first {
            *label = naming.label(label).into();
        }
        self.diagnostics.name_files(|label| naming.label(label));
        self.naming = naming;
    }

    /// Request before `request` in its chain.
    pub fn predecessor(&self, request: &Request) -> Option<&Request> {
        request.predecessor.map(|index| self.request(index))
    }

    /// Client's additions before a request, newest first, each with its line.
    pub(crate) fn contents_before(
        &self,
        request: &Request,
    ) -> impl Iterator<Item = (u64, &TrailContent)> + use<'_> {
        self.files[request.file].trail.contents_back_from(request.between.trail)
    }

    /// Text of an optional symbol.
    #[inline]
    pub fn text(&self, symbol: Option<Symbol>) -> Option<&str> {
        symbol.map(|symbol| self.symbols.text(symbol))
    }
}

/// Conversation: its session, and its agent if it is not the main one.
pub type ConversationKey = (Symbol, Option<Symbol>);

impl Request {
    /// Conversation that the request belongs to.
    pub fn conversation(&self) -> ConversationKey {
        (self.session, self.agent)
    }

    /// Time at which the request is reported: that of the answer's first line.
    pub fn time(&self) -> Millis {
        self.answered.unwrap_or(self.start)
    }

    /// Returns true for the first request of a fork, if `previous` is the one that it continues: a request of
    /// another conversation of the same session.
    pub fn is_fork_of(&self, previous: &Self) -> bool {
        self.agent.is_some() && self.agent != previous.agent && self.session == previous.session
    }

    /// Recorded usage of a transcript's request.
    ///
    /// # Panics
    /// Never for a transcript: its requests without usage are left out when it is joined.
    pub fn recorded(&self) -> &Usage {
        self.usage.as_ref().expect("a request of a transcript has usage")
    }

    /// Tokens of the answer before this request, as this one sends it again.
    pub fn carried_output(&self, previous: &Self) -> Tokens {
        if self.between.drops_answer { Tokens::ZERO } else { previous.recorded().output }
    }

    /// Number of positions that the answer before this request takes.
    pub fn carried_positions(&self, previous: &Self) -> u32 {
        if self.between.drops_answer { 0 } else { previous.answer_positions }
    }

    /// Size of the whole prompt of a transcript's request, in tokens.
    #[inline]
    pub fn prompt_total(&self) -> Tokens {
        self.recorded().prompt.total()
    }
}

/// Names of all projects of a history.
pub(crate) fn project_names(history: &History) -> ByKey<Symbol, String> {
    let projects: Vec<Symbol> =
        history.requests.iter().filter_map(|request| request.project).ordered();
    let paths: Vec<&str> = projects.iter().map(|project| history.symbols.text(*project)).collect();
    projects.into_iter().zip(history.naming.of_paths(&paths)).collect()
}

/// Responses on the live branch of the main conversation, from its tip back.
fn live_responses(entries: &[Entry], graph: &Graph, gathered: &Gathered) -> Vec<usize> {
    let mut live = Vec::new();
    let mut position = tip(entries, graph, gathered);
    // Links have no circles: these were cut when the graph was made.
    while let Some(here) = position {
        live.extend(gathered.response_of(here));
        position = graph.links[here].parent();
    }
    live
}

/// Newest message below the place that the file's last `last-prompt` names, otherwise the newest message of
/// the main chain.
///
/// The hint is written early, so it is nearly always an ancestor of the real end.
fn tip(entries: &[Entry], graph: &Graph, gathered: &Gathered) -> Option<usize> {
    let newest = gathered.newest.map(|(_, position)| position);
    let hint = gathered.leaf.and_then(|leaf| gathered.positions.get(&leaf).copied());
    // A hint into a side conversation says nothing about the main one.
    let Some(hint) = hint.filter(|hint| !entries[*hint].is_sidechain) else { return newest };
    let mut is_below_hint = vec![false; entries.len()];
    for position in graph.order() {
        let parent = graph.links[position].parent();
        is_below_hint[position] =
            position == hint || parent.is_some_and(|parent| is_below_hint[parent]);
    }
    let is_candidate = |position: &usize| {
        is_below_hint[*position]
            && !gathered.is_duplicate[*position]
            && is_message(&entries[*position])
    };
    let candidates = (0..entries.len()).filter(is_candidate);
    candidates.max_by_key(|position| (entries[*position].timestamp, *position)).or(newest)
}

/// Takes the sub-agents of rewound branches off the live one. `requests` are in the order in which they were
/// sent.
///
/// The starter of a sub-agent is taken to be the latest request of its session's main conversation; a
/// sub-agent that no such request comes before counts as live, with all its later requests.
fn settle_agents(requests: &mut [Request]) {
    let mut latest: FxHashMap<Symbol, bool> = FxHashMap::default();
    for index in 0..requests.len() {
        let Request { session, agent, predecessor, is_live, .. } = requests[index];
        if agent.is_none() {
            latest.insert(session, is_live);
            continue;
        }
        let before = predecessor.map(|before| &requests[before.get()]);
        let own = before.filter(|before| before.agent == agent).map(|before| before.is_live);
        let started_by = own.or_else(|| latest.get(&session).copied());
        requests[index].is_live = started_by.unwrap_or(is_live);
    }
}

/// Title of each session that has one: if it has several, the one whose author is nearest to the user, then
/// the last in the order of the files.
fn session_titles(
    files: &Files,
    copies: &Copies,
    symbols: &mut Symbols,
) -> FxHashMap<Symbol, String> {
    let leaves = sessions_of_leaves(files, copies);
    let mut best: FxHashMap<Symbol, (TitleKind, &str)> = FxHashMap::default();
    for title in &files.titles {
        let session = match &title.of {
            Titled::Session(name) => symbols.intern(name),
            Titled::Leaf(leaf) => match leaves.get(leaf) {
                Some(Some(session)) => *session,
                _ => continue,
            },
        };
        let known = best.entry(session).or_insert((title.kind, &title.text));
        // `>=` so that the later of two equal kinds wins.
        if title.kind >= known.0 {
            *known = (title.kind, &title.text);
        }
    }
    best.into_iter().map(|(session, (_, text))| (session, text.to_owned())).collect()
}

/// Leaves that titles name → the session in which the answer at or before each began, otherwise the one that
/// its own line names.
fn sessions_of_leaves(files: &Files, copies: &Copies) -> FxHashMap<EntryId, Option<Symbol>> {
    let mut sessions: FxHashMap<EntryId, Option<Symbol>> = files
        .titles
        .iter()
        .filter_map(|title| match title.of {
            Titled::Leaf(leaf) => Some((leaf, None)),
            Titled::Session(_) => None,
        })
        .collect();
    if sessions.is_empty() {
        return sessions;
    }
    for (entry, response, _) in &files.index {
        if let Some(session @ None) = sessions.get_mut(entry) {
            *session = files.responses[copies.origin_of(*response as usize)].session;
        }
    }
    for (entry, named) in &files.entry_sessions {
        if let Some(session @ None) = sessions.get_mut(entry) {
            *session = Some(*named);
        }
    }
    sessions
}
