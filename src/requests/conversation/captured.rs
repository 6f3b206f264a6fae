//! Requests of a history from captures, each once, in the order in which they were sent.
//!
//! A capture need not record which request another one continues. Within a session and agent it is the latest
//! that began with the same message, otherwise the latest of its model with the same tools and system prompt or
//! with as many of both; of several branches the one whose messages come back (`turns.rs`). A side query is a
//! dead end: its last message does not. The
//! first request of an agent that begins with another conversation's messages, or has the tag of a fork,
//! continues that conversation; a transcript's fork does so by its `fork-context-ref`. Prefixes do not depend
//! on it; breaks, openings and `lint` do.

use std::collections::BTreeSet;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::logged::Served;
use super::turns::Turns;
use super::{Answer, Between, History, InputFile, Request, RequestIndex, Trail};
use crate::base::{Client, Millis, Order as _, Symbol};
use crate::read::agent::Vendor;
use crate::read::capture::{Captures, TokenCounting, WireNodeId, WireRequest, WireTree};
use crate::read::input::Kind;

/// Prompts of captured requests, whose bytes are known.
#[derive(Debug, Default)]
pub struct CapturedPrompts {
    /// Method by which the tokens of the tree were counted.
    pub counting: TokenCounting,
    /// Tree of all prefixes.
    pub tree: WireTree,
    /// Captured requests, in the order of the history's: those to services without markers come last.
    pub requests: Vec<WireRequest>,
    /// Number of those to services without markers.
    pub elsewhere: usize,
}

impl CapturedPrompts {
    /// Requests that were sent under the rules of markers.
    pub fn marked(&self) -> &[WireRequest] {
        &self.requests[..self.requests.len() - self.elsewhere]
    }
}

/// Fields that are equal if a request was captured twice.
type Identity = (Option<Symbol>, Symbol, Option<Symbol>, Symbol, Millis, WireNodeId);

/// Most branches of a conversation that are remembered.
const MOST_BRANCHES: usize = 4;

/// Latest requests of each conversation, by their kinship.
///
/// A log does not record which request another one continues, and agents talk to several models and start
/// other agents in between. A request continues one of its session and agent that began with the same
/// message, of its own model if there is one; otherwise one of its model with the same tools and system
/// prompt, or with as many of both. Of several branches it is the one whose messages come back,
/// of equals the latest.
///
/// The first request of an agent continues one of another conversation of its session if it is a fork of
/// that: see [`Forks`].
#[derive(Default)]
struct Chains {
    branches: FxHashMap<(Symbol, Option<Symbol>, Kinship), Vec<Branch>>,
    forks: FxHashMap<Symbol, Forks>,
}

/// Latest request of a branch.
struct Branch {
    latest: Sent,
    /// Request that the latest one continues. A request that branches off after this one, such as a side
    /// query, leaves the conversation as it is.
    before: Option<Sent>,
}

/// Request, with its messages.
#[derive(Clone)]
struct Sent {
    index: RequestIndex,
    turns: Arc<Turns>,
}

/// Feature that two requests have in common, the strongest first.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Kinship {
    Conversation(Symbol, u64),
    OtherModel(u64),
    Head(Symbol, u64),
    Shape(Symbol, u32, u32),
}

impl Chains {
    /// Request that this one continues; it then becomes the latest of its branch itself.
    fn go_on(
        &mut self,
        tree: &WireTree,
        session: Symbol,
        request: &WireRequest,
        index: RequestIndex,
    ) -> Option<RequestIndex> {
        let (like, model) = (request.likeness, request.model);
        let kinships = [
            Kinship::Conversation(model, like.opening),
            Kinship::OtherModel(like.opening),
            Kinship::Head(model, like.head),
            Kinship::Shape(model, like.tools, like.system),
        ];
        let next = Sent { index, turns: Arc::new(Turns::new(tree, request.leaf)) };
        let mut nearest = None;
        // Every kinship is updated, also after a stronger one has found the predecessor.
        for kinship in kinships {
            let branches = self.branches.entry((session, request.agent, kinship)).or_default();
            nearest = go_on_in(branches, &next, nearest);
        }
        let forks = self.forks.entry(session).or_default();
        let predecessor = nearest.map(|nearest| nearest.sent.index);
        let predecessor = predecessor.or_else(|| forks.parent(tree, request));
        forks.add(request, index);
        predecessor
    }
}

/// Request that another one continues.
struct Nearest {
    sent: Sent,
    is_continued: bool,
}

/// Request that another one continues, if not `known` by a stronger kinship; the other one becomes the end of
/// its own branch.
fn go_on_in(branches: &mut Vec<Branch>, next: &Sent, known: Option<Nearest>) -> Option<Nearest> {
    let nearest = known.or_else(|| nearest(branches, &next.turns));
    let before = nearest.as_ref().filter(|nearest| nearest.is_continued);
    let before = before.map(|nearest| nearest.sent.clone());
    if let Some(before) = &before {
        branches.retain(|branch| branch.latest.index != before.index);
    }
    if branches.len() == MOST_BRANCHES {
        branches.remove(0);
    }
    branches.push(Branch { latest: next.clone(), before });
    nearest
}

fn nearest(branches: &[Branch], next: &Turns) -> Option<Nearest> {
    let of = |sent: &Sent| (sent.turns.returning_in(next), sent.index);
    let latest = branches.iter().map(|branch| (of(&branch.latest), &branch.latest));
    let before = branches.iter().filter_map(|branch| branch.before.as_ref());
    // A request that was continued before is left as it is by one that does not continue it.
    let before = before.map(|sent| (of(sent), sent)).filter(|((back, _), _)| back.is_continued);
    let ((back, _), sent) = latest.chain(before).max_by_key(|(key, _)| *key)?;
    Some(Nearest { sent: sent.clone(), is_continued: back.is_continued })
}

/// Most requests of the main conversation, and of all agents, that may be a fork's parent.
const MOST_PARENTS: usize = 8;

/// Fewest messages of a fork: its parent's first message, the parent's answer and a directive.
const LEAST_OF_A_FORK: u32 = 3;

/// Latest requests of a session, which forks may continue.
///
/// A fork's messages are its parent's, the parent's answer and a directive. So the first request of an agent
/// is a fork if it begins with the first message of an earlier request of another conversation and has more
/// messages than that one, or if it is marked as one by the tag of its directive. Of several such requests it
/// continues the one with which it shares the longest prefix, otherwise the latest of the main conversation.
/// An ordinary sub-agent has no history when it begins.
#[derive(Default)]
struct Forks {
    main: Vec<Parent>,
    agents: Vec<Parent>,
}

/// Request that a fork may continue.
#[derive(Clone, Copy)]
struct Parent {
    index: RequestIndex,
    leaf: WireNodeId,
    agent: Option<Symbol>,
    first_message: u64,
    messages: u32,
}

impl Forks {
    /// Request that the first one of an agent continues, if it is a fork.
    fn parent(&self, tree: &WireTree, request: &WireRequest) -> Option<RequestIndex> {
        let like = request.likeness;
        let has_directive = request.fork_messages > 0;
        if request.agent.is_none() || (like.messages < LEAST_OF_A_FORK && !has_directive) {
            return None;
        }
        let may_be = |parent: &&Parent| {
            parent.agent != request.agent
                && parent.messages < like.messages
                && (has_directive || parent.first_message == like.first_message)
        };
        let parents = self.agents.iter().chain(&self.main).filter(may_be);
        let nearest = parents.max_by_key(|parent| {
            let shared = tree.shared(parent.leaf, request.leaf);
            (shared, parent.agent.is_none(), parent.index)
        });
        nearest.map(|parent| parent.index)
    }

    fn add(&mut self, request: &WireRequest, index: RequestIndex) {
        let parents = if request.agent.is_none() { &mut self.main } else { &mut self.agents };
        if parents.len() == MOST_PARENTS {
            parents.remove(0);
        }
        parents.push(Parent {
            index,
            leaf: request.leaf,
            agent: request.agent,
            first_message: request.likeness.first_message,
            messages: request.likeness.messages,
        });
    }
}

/// Request with its file.
struct Placed {
    file: usize,
    client: Client,
    session: Symbol,
    request: WireRequest,
}

impl History {
    /// Adds the requests of files with known bytes after those of transcripts.
    pub fn add_captures(&mut self, files: Vec<Captures>) {
        if files.is_empty() {
            return;
        }
        let mut placed: Vec<Placed> = Vec::new();
        let mut own_sessions = BTreeSet::new();
        for file in files {
            let own_session = own_session(&file, &own_sessions);
            placed.extend(self.take_over(file, &own_session));
            own_sessions.insert(own_session);
        }
        let is_elsewhere = |placed: &Placed| placed.request.elsewhere.is_some();
        placed.order_by(|one, other| {
            let key =
                |one: &Placed| (is_elsewhere(one), one.request.start, one.file, one.request.line);
            key(one).cmp(&key(other))
        });
        let served = Served::of(self);
        let mut known: FxHashSet<Identity> = FxHashSet::default();
        let mut answered: FxHashMap<Symbol, usize> = FxHashMap::default();
        // A request comes after the one that it continues, and those to services without markers come last.
        let [mut marked, mut elsewhere] = [(); 2].map(|()| Chains::default());
        for one in placed {
            // A transcript has the request as well.
            if served.find(one.request.message, one.request.request).is_some() {
                self.duplicates += 1;
                continue;
            }
            // A service gives each answer an id of its own: the same one in two files is one request. An id
            // that one file repeats may be a gateway's invention.
            if let Some(message) = one.request.message
                && *answered.entry(message).or_insert(one.file) != one.file
            {
                self.duplicates += 1;
                continue;
            }
            let (session, start) = (one.session, one.request.start);
            let request = &one.request;
            let identity =
                (request.request, session, request.agent, request.scope, start, request.leaf);
            if request.request.is_some() && !known.insert(identity) {
                self.duplicates += 1;
                continue;
            }
            let index = RequestIndex::new(self.requests.len());
            let chains = if is_elsewhere(&one) { &mut elsewhere } else { &mut marked };
            let predecessor = chains.go_on(&self.captured.tree, session, request, index);
            let has_hole = self.follows_damage(&one, predecessor);
            self.captured.elsewhere += usize::from(is_elsewhere(&one));
            let vendor = self.vendor_of(&one.request);
            self.requests.push(Request { vendor, ..request_of(&one, predecessor, has_hole) });
            self.captured.requests.push(one.request);
        }
        self.grant_lifetimes();
    }

    /// Vendor under whose rules a request was sent.
    fn vendor_of(&self, request: &WireRequest) -> Vendor {
        match request.elsewhere {
            None => Vendor::Anthropic,
            Some(_) => Vendor::of(self.symbols.text(request.model)),
        }
    }

    /// Returns true if a request may be missing between this one and the one before it: a line of its file is
    /// damaged there.
    fn follows_damage(&self, placed: &Placed, predecessor: Option<RequestIndex>) -> bool {
        let first = self.of_transcripts().len();
        let earlier = predecessor
            .filter(|index| self.request(*index).file == placed.file)
            .map_or(0, |index| self.captured.requests[index.get() - first].lost_before);
        placed.request.lost_before > earlier
    }

    /// Moves a file's nodes and strings over to those of the history.
    fn take_over(&mut self, file: Captures, own_session: &str) -> Vec<Placed> {
        let number = self.file_of(&file.label, file.bytes == 0);
        let nodes = self.captured.tree.absorb(file.tree);
        let symbols = self.symbols.absorb(file.symbols);
        let own_session = self.symbols.intern(own_session);
        self.bytes += file.bytes;
        self.lines += file.lines;
        self.diagnostics.absorb(file.diagnostics);
        self.note_repeated_ids(&file.label, &file.requests);
        let client = file.client;
        let move_over = |mut request: WireRequest| {
            request.move_to(&nodes, &symbols);
            let session = request.session.unwrap_or(own_session);
            Placed { file: number, client, session, request }
        };
        file.requests.into_iter().map(move_over).collect()
    }

    /// Index of a capture's file. A log's file is there already: its usage was taken over with all of its
    /// bytes.
    fn file_of(&mut self, label: &Arc<str>, may_be_there: bool) -> usize {
        let is_same = |one: &InputFile| Arc::ptr_eq(&one.label, label);
        let known = if may_be_there { self.files.iter().rposition(is_same) } else { None };
        known.unwrap_or_else(|| {
            let label = Arc::clone(label);
            self.files.push(InputFile { label, what: None, trail: Trail::default() });
            self.files.len() - 1
        })
    }

    /// Reports different requests of one file and session that share an id.
    fn note_repeated_ids(&mut self, label: &Arc<str>, requests: &[WireRequest]) {
        let mut known: FxHashMap<(Symbol, Option<Symbol>), (WireNodeId, Millis)> =
            FxHashMap::default();
        for request in requests {
            let Some(id) = request.request else { continue };
            let own = (request.leaf, request.start);
            let first = known.entry((id, request.session)).or_insert(own);
            if *first != own {
                let detail = "an earlier request of the file has the same id; both count";
                self.diagnostics.add(Kind::DuplicateRequestId, label, request.line, detail);
            }
        }
    }
}

/// Session of a file's requests that name none: the file itself.
fn own_session(file: &Captures, taken: &BTreeSet<String>) -> String {
    let numbered = (2..).map(|number| format!("{} ({number})", file.label));
    [file.stem.clone(), file.label.to_string()]
        .into_iter()
        .chain(numbered)
        .find(|name| !taken.contains(name))
        .unwrap_or_default()
}

fn request_of(placed: &Placed, predecessor: Option<RequestIndex>, has_hole: bool) -> Request {
    let captured = &placed.request;
    let answered = captured.response_started.unwrap_or(captured.start).max(captured.start);
    Request {
        message: captured.message,
        request: captured.request,
        client: placed.client,
        sum_of: 1,
        model: captured.model,
        vendor: Vendor::Anthropic,
        session: placed.session,
        agent: captured.agent,
        client_version: None,
        project: None,
        branch: None,
        file: placed.file,
        line: captured.line,
        start: captured.start,
        answered: Some(answered),
        finished: answered,
        usage: captured.usage.clone(),
        output_is_lower_bound: false,
        ends_turn: false,
        answer: Answer::default(),
        has_thinking: captured.elsewhere.is_some_and(|elsewhere| elsewhere.has_reasoning),
        came_at_once: false,
        has_text: false,
        answer_positions: 0,
        effort: None,
        mode: None,
        permissions: None,
        agent_setting: None,
        verdict: None,
        predecessor,
        between: Between { has_hole, ..Between::default() },
        fresh_replacement: None,
        recovered_results: 0,
        is_live: true,
    }
}
