//! Entries → chains: which lines are one response, which request came before which, and what the
//! client added between them.
//!
//! `Graph` links entries to their parents: across compact boundaries by `logicalParentUuid`,
//! through old progress lines, around dangling parents (continued at the line before, or in the
//! file that has them) and circles (cut). Walking that tree once from its roots gives every
//! response its predecessor and what lies between, whatever the shape of the file. Messages that a
//! compaction preserved stay where they were written, so following the logical parent finds them
//! without relinking. Results of parallel calls that hang off the linear path are added back. A
//! response inside a progress line counts where its message has no line of its own anywhere;
//! copies in resumed and forked sessions count where they began (`origin.rs`).
//!
//! When a request was sent is not recorded. It is taken to be the time of the newest user-side
//! entry before the answer, never earlier than the request before.
//!
//! Every request of the input, once, in the order in which they were sent.
//!
//! Names for projects: as much of a folder's path as tells it from the others, and never the whole
//! way from the root where less will do.
//!
//! The live branch: the one that a client would resume, followed back across compactions.
//!
//! Rewound, edited and retried turns are off it. They were paid all the same, so the ledger keeps
//! them; this is a second view of the same responses. A sub-agent belongs to the branch that started
//! it.
//!
//! The titles in all files → the title of each session.

mod agents;
mod between;
mod captured;
mod copilot;
mod file;
mod fold;
mod gathered;
mod graph;
mod join;
mod logged;
mod origin;
mod read;
mod results;
mod rewrite;

pub use between::{Between, Trail, TrailContent, TrailEntry, TrailIndex};
pub use captured::CapturedPrompts;
pub use file::{FileConversation, FileResponse, build};
pub use gathered::{ResponseKey, ResponseLines};
pub use join::join;
pub use read::{ReadOptions, read};
pub use rewrite::{Lines, Place, Rewrite};

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use gathered::{Gathered, is_message};
use graph::Graph;
use join::Files;
use origin::Copies;
use rustc_hash::FxHashMap;

use crate::base::client::Client;
use crate::base::id::{EntryId, Ordinal, Symbol, Symbols};
use crate::base::model::{Facts, Models};
use crate::base::order::Ordered as _;
use crate::base::project::ProjectNaming;
use crate::base::units::{Millis, Picodollars, Tokens};
use crate::base::zone::Zone;
use crate::read::agent::{AgentRequest, LimitReading, Vendor};
use crate::read::capture::WireRequest;
use crate::read::input::{Diagnostics, PriceTier, Usage};
use crate::read::transcript::{Entry, ServerVerdict, TitleKind, Titled};

/// The position of a request in [`History::requests`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestIndex(Ordinal);

impl RequestIndex {
    /// The position of the request at an index.
    #[must_use]
    pub fn new(index: usize) -> Self {
        Self(Ordinal::at(index))
    }

    /// Counted from 0.
    #[must_use]
    pub fn get(self) -> usize {
        self.0.index()
    }
}

/// What a program says that a request was charged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Charge {
    /// By a plan that counts credits, in billionths of an AI unit (0.01 USD).
    pub nano_aiu: Option<u64>,
    /// By the program's own list of prices.
    pub client_cost: Option<Picodollars>,
}

/// One request to the API, as its transcript recorded it.
#[allow(clippy::struct_excessive_bools)] // independent facts, not states of one machine
#[derive(Clone, Debug)]
pub struct Request {
    /// `message.id` of the answer; captures need not know it.
    pub message: Option<Symbol>,
    /// `requestId`.
    pub request: Option<Symbol>,
    /// The program that sent it.
    pub client: Client,
    /// How many requests it stands for, where a client keeps their sum alone; 1 of a request.
    pub sum_of: u32,
    /// `message.model`.
    pub model: Symbol,
    /// Whose cache rules it was sent under.
    pub vendor: Vendor,
    /// The session it began in.
    pub session: Symbol,
    /// The sub-agent; `None` on the main chain.
    pub agent: Option<Symbol>,
    /// The client's version.
    pub client_version: Option<Symbol>,
    /// The project's folder.
    pub project: Option<Symbol>,
    /// The branch of the project's repository.
    pub branch: Option<Symbol>,
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
    /// What the answer is made of, where it was counted.
    pub answer: Answer,
    /// Whether the answer holds thinking.
    pub has_thinking: bool,
    /// Whether the answer holds text; not known of a captured one.
    pub has_text: bool,
    /// Whether the answer was not streamed, as clients ask for where a stream failed.
    pub came_at_once: bool,
    /// How many positions of the next prompt the answer takes; not known of a captured one.
    pub answer_positions: u32,
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
    /// Of the first request of a fork, the line that replaces a result of its parent's which the
    /// parent had sent in full.
    pub fresh_replacement: Option<u64>,
    /// Tool results found beside the linear path.
    pub recovered_results: u32,
    /// Whether it is on the branch that its file ends on, across its compactions; of a sub-agent,
    /// whether what started it is.
    pub is_live: bool,
}

/// Files of folders that may have been sessions or logs by their names, and are none.
#[derive(Clone, Debug, Default)]
pub struct PassedOver {
    /// How many there are.
    pub files: u64,
    /// The first of them, with what it is for people.
    pub first: Option<(Arc<str>, String)>,
}

impl PassedOver {
    fn add(&mut self, label: &Arc<str>, what: String) {
        self.files += 1;
        self.first.get_or_insert_with(|| (Arc::clone(label), what));
    }
}

/// A file that was read.
#[derive(Clone, Debug)]
pub struct InputFile {
    /// Its name, relative to the given path.
    pub label: Arc<str>,
    /// What it is, for people, where it is another agent's session or a log: "a rollout".
    pub what: Option<&'static str>,
    /// What lies between its requests.
    pub trail: Trail,
}

/// What an answer is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The tokens of its texts and calls, as counted; zero where they were not, and all ones where it holds something
    /// else. Each call has a line feed before
    /// it, and not what is around the calls of a message.
    pub counted: u32,
    /// Whether it calls tools.
    pub calls_tools: bool,
}

/// Every request of the input, once: those of transcripts in the order in which they were sent, then
/// the captured ones in theirs, then those of other agents. (The bytes of a transcript's prompt are not
/// known, and agents have prompts of their own, so that no two of the three share a prefix.)
#[derive(Debug, Default)]
pub struct History {
    /// Requests by start, then by answer, file and line. A predecessor always comes first.
    pub requests: Vec<Request>,
    /// The prompts of the captured ones.
    pub captured: CapturedPrompts,
    /// What is known of the requests of other agents, in the order of the history's.
    pub of_agents: Vec<AgentRequest>,
    /// What programs say that requests were charged, as far as they do.
    pub charged: FxHashMap<RequestIndex, Charge>,
    /// How much of the limits of plans was used, file by file, as far as sessions record it.
    pub limits: Vec<LimitReading>,
    /// The files read, in input order.
    pub files: Vec<InputFile>,
    /// The files of folders that were left without a word.
    pub passed_over: PassedOver,
    /// The strings of the requests.
    pub symbols: Symbols,
    /// What was rejected or repaired.
    pub diagnostics: Diagnostics,
    /// `requestId` → the model that refused it first.
    pub refusals: FxHashMap<Symbol, Symbol>,
    /// Sub-agent → its type, as far as transcripts tell it.
    pub agent_types: FxHashMap<Symbol, Symbol>,
    /// Session → its title, where titles are kept. A title is text of a transcript and may hold any
    /// character.
    pub titles: FxHashMap<Symbol, String>,
    /// What is known of the models of its requests.
    facts: FxHashMap<Symbol, Facts>,
    /// What is known of others.
    models: Models,
    /// How its projects are named.
    pub naming: ProjectNaming,
    /// In which time zone its days begin, and people read its times.
    pub zone: Zone,
    /// Bytes read, after decompression.
    pub bytes: u64,
    /// Lines read.
    pub lines: u64,
    /// Copies of requests in other files than their own, and replays in side conversations.
    pub duplicates: u64,
}

impl History {
    /// Those of Claude Code's transcripts: their prompts are not known, only their usage.
    #[must_use]
    pub fn of_transcripts(&self) -> &[Request] {
        &self.requests[..self.sent_with_markers().len() - self.captured.requests.len()]
    }

    /// Those of transcripts and captures, whose caches have markers.
    #[must_use]
    pub fn sent_with_markers(&self) -> &[Request] {
        &self.requests[..self.requests.len() - self.of_agents.len()]
    }

    /// Whether a request was sent under the rules of markers, as far as those can be simulated.
    #[must_use]
    pub fn is_marked(&self, index: RequestIndex) -> bool {
        index.get() < self.sent_with_markers().len()
    }

    /// Whether the prompt of a request is known.
    #[must_use]
    pub fn is_captured(&self, index: RequestIndex) -> bool {
        (self.of_transcripts().len()..self.sent_with_markers().len()).contains(&index.get())
    }

    /// Whether there are captured prompts, and their sizes are bytes and no tokens.
    #[must_use]
    pub fn is_counted_in_bytes(&self) -> bool {
        !self.captured.requests.is_empty() && self.captured.counting.is_bytes()
    }

    /// A request as it was captured; `None` of one of a transcript.
    #[must_use]
    pub fn wire(&self, index: RequestIndex) -> Option<&WireRequest> {
        self.captured.requests.get(index.get().checked_sub(self.of_transcripts().len())?)
    }

    /// What a captured request asks for that changes its price; nothing of one of a transcript.
    #[must_use]
    pub fn asked_tier(&self, index: RequestIndex) -> PriceTier {
        self.wire(index).map_or_else(PriceTier::default, |wire| wire.asked_tier)
    }

    /// The record of a request that was sent without markers.
    #[must_use]
    pub fn unmarked(&self, index: RequestIndex) -> Option<&AgentRequest> {
        self.of_agents.get(index.get().checked_sub(self.sent_with_markers().len())?)
    }

    /// How many requests there are, those in sums among them.
    #[must_use]
    pub fn count_requests(&self) -> u64 {
        self.requests.iter().map(|request| u64::from(request.sum_of)).sum()
    }

    /// The request at `index`.
    #[must_use]
    pub fn request(&self, index: RequestIndex) -> &Request {
        &self.requests[index.get()]
    }

    /// The model of a request.
    #[must_use]
    #[inline]
    pub fn model(&self, index: RequestIndex) -> &str {
        self.symbols.text(self.request(index).model)
    }

    /// What is known of a model.
    #[must_use]
    pub fn facts(&self, model: Symbol) -> &Facts {
        self.facts.get(&model).unwrap_or_else(|| self.models.usual())
    }

    /// Says what is known of models, and looks those of all requests up.
    pub fn set_models(&mut self, models: Models) {
        let Self { requests, facts, symbols, .. } = self;
        facts.clear();
        for request in requests {
            let look_up = || models.facts(symbols.text(request.model));
            facts.entry(request.model).or_insert_with(look_up);
        }
        self.models = models;
    }

    /// Names projects, in the labels of files, too. A name is given once.
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

    /// The request before `request` in its chain.
    #[must_use]
    pub fn predecessor(&self, request: &Request) -> Option<&Request> {
        request.predecessor.map(|index| self.request(index))
    }

    /// What the client added before a request, newest first, each with its line.
    pub(crate) fn contents_before(
        &self,
        request: &Request,
    ) -> impl Iterator<Item = (u64, &TrailContent)> + use<'_> {
        self.files[request.file].trail.contents_back_from(request.between.trail)
    }

    /// The text after an optional symbol.
    #[must_use]
    #[inline]
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

    /// Whether it is the first request of a fork, of which `previous` is the one it goes on from:
    /// that is another conversation's, of the same session.
    #[must_use]
    pub fn is_fork_of(&self, previous: &Self) -> bool {
        self.agent.is_some() && self.agent != previous.agent && self.session == previous.session
    }

    /// The recorded usage of a request of a transcript.
    ///
    /// # Panics
    /// Never for a transcript: its requests without usage are left out when it is joined.
    #[must_use]
    pub fn recorded(&self) -> &Usage {
        self.usage.as_ref().expect("a request of a transcript has usage")
    }

    /// The tokens of the answer before this request, as this one sends it again.
    #[must_use]
    pub fn carried_output(&self, previous: &Self) -> Tokens {
        if self.between.drops_answer { Tokens::ZERO } else { previous.recorded().output }
    }

    /// How many positions that answer takes.
    #[must_use]
    pub fn carried_positions(&self, previous: &Self) -> u32 {
        if self.between.drops_answer { 0 } else { previous.answer_positions }
    }

    /// How many positions the prompt has beyond that of the request before, as far as lines tell: those
    /// of its answer, and what the client added.
    #[must_use]
    pub fn positions_after(&self, previous: &Self) -> u32 {
        self.carried_positions(previous).saturating_add(self.between.positions)
    }

    /// The whole prompt of a request of a transcript.
    #[must_use]
    #[inline]
    pub fn prompt_total(&self) -> Tokens {
        self.recorded().prompt.total()
    }
}

/// The name of every project of a history.
pub(crate) fn project_names(history: &History) -> BTreeMap<Symbol, String> {
    let projects: BTreeSet<Symbol> =
        history.requests.iter().filter_map(|request| request.project).ordered();
    let projects: Vec<Symbol> = projects.into_iter().collect();
    let paths: Vec<&str> = projects.iter().map(|project| history.symbols.text(*project)).collect();
    projects.into_iter().zip(history.naming.of_paths(&paths)).collect()
}

/// The responses on the live branch of the main conversation, from its tip back.
fn live_responses(entries: &[Entry], graph: &Graph, gathered: &Gathered) -> Vec<usize> {
    let mut live = Vec::new();
    let mut position = tip(entries, graph, gathered);
    // Links have no circles: they were cut when the graph was made.
    while let Some(here) = position {
        live.extend(gathered.response_of(here));
        position = graph.links[here].parent();
    }
    live
}

/// The newest message below the place that the file's last `last-prompt` names, else the newest
/// message of the main chain. The hint is written early, so it is nearly always an ancestor of the
/// real end.
fn tip(entries: &[Entry], graph: &Graph, gathered: &Gathered) -> Option<usize> {
    let newest = gathered.newest.map(|(_, position)| position);
    let hint = gathered.leaf.and_then(|leaf| gathered.positions.get(&leaf).copied());
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

/// Takes the sub-agents of rewound branches off the live one. `requests` are in the order in which they
/// were sent. What started a sub-agent is taken to be the latest request of its session's main
/// conversation; one that no such request comes before counts as live, with all that it sends later.
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

/// The title of each session that has one: of several the one whose author is nearest to the user,
/// then the last in the order of the files.
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
        if title.kind >= known.0 {
            *known = (title.kind, &title.text);
        }
    }
    best.into_iter().map(|(session, (_, text))| (session, text.to_owned())).collect()
}

/// Leaves that titles name → the session in which the answer at or before each began, else the one
/// that its own line names.
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
