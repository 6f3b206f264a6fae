//! Captured requests → requests of a history, each once, in the order in which they were sent.

use std::collections::BTreeSet;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::between::Between;
use super::history::{History, InputFile, Request, RequestIndex};
use super::trail::Trail;
use crate::capture::{Captures, TokenCounting, WireNodeId, WireRequest, WireTree};
use crate::id::Symbol;
use crate::input::Kind;
use crate::units::Millis;

/// The prompts of captured requests, whose bytes are known.
#[derive(Debug, Default)]
pub struct CapturedPrompts {
    /// How the tokens of the tree were counted.
    pub counting: TokenCounting,
    /// Every prefix.
    pub tree: WireTree,
    /// The captured requests, in the order of the history's.
    pub requests: Vec<WireRequest>,
}

/// What is the same where a request was captured twice.
type Identity = (Option<Symbol>, Symbol, Option<Symbol>, Symbol, Millis, WireNodeId);

/// So many branches of a conversation are remembered. Of what is less alike only the latest request
/// counts.
const MOST_BRANCHES: usize = 4;

/// The latest requests of each conversation, by what its requests have in common.
///
/// A log does not say which request goes on from which, and agents talk to several models and start
/// others in between. A request goes on from one of its session and agent that began with the same
/// message, of its own model if there is one; else from one of its model with the same tools and
/// system prompt, or with as many of both. Where such a conversation has branches, it is the one that
/// shares the longest prefix, of several the latest.
#[derive(Default)]
struct Chains {
    branches: FxHashMap<(Symbol, Option<Symbol>, Kinship), Vec<Branch>>,
}

/// The latest request of a branch.
#[derive(Clone, Copy)]
struct Branch {
    latest: RequestIndex,
    leaf: WireNodeId,
}

/// What two requests may have in common, the strongest first.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Kinship {
    Conversation(Symbol, u64),
    OtherModel(u64),
    Head(Symbol, u64),
    Shape(Symbol, u32, u32),
}

impl Chains {
    /// The request that this one goes on from; it is then the latest of its branch itself.
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
        let mut predecessor = None;
        let next = Branch { latest: index, leaf: request.leaf };
        for kinship in kinships {
            let branches = self.branches.entry((session, request.agent, kinship)).or_default();
            let nearest = if matches!(kinship, Kinship::Conversation(..)) {
                go_on_in(branches, tree, next)
            } else {
                std::mem::replace(branches, vec![next]).pop().map(|branch| branch.latest)
            };
            predecessor = predecessor.or(nearest);
        }
        predecessor
    }
}

/// The latest request of the branch that shares most with a request, which then stands at the end of
/// its own one.
fn go_on_in(branches: &mut Vec<Branch>, tree: &WireTree, next: Branch) -> Option<RequestIndex> {
    // Deeper nodes of one path have higher ids; of equals the last counts.
    let shared = |branch: &Branch| tree.shared(branch.leaf, next.leaf);
    let nearest = if branches.len() > 1 {
        let shared = branches.iter().map(shared).enumerate();
        shared.max_by_key(|(place, shared)| (*shared, *place)).map(|(place, _)| place)
    } else {
        branches.len().checked_sub(1)
    };
    let predecessor = nearest.map(|place| branches[place].latest);
    let continued =
        nearest.filter(|place| shared(&branches[*place]) == Some(branches[*place].leaf));
    if let Some(place) = continued {
        branches.remove(place);
    }
    if branches.len() == MOST_BRANCHES {
        branches.remove(0);
    }
    branches.push(next);
    predecessor
}

/// A request, and where it stands.
struct Placed {
    file: usize,
    session: Symbol,
    request: WireRequest,
}

impl History {
    /// Adds the requests of files with known bytes behind those of transcripts.
    pub fn add_captures(&mut self, files: Vec<Captures>) {
        let mut placed: Vec<Placed> = Vec::new();
        let mut own_sessions = BTreeSet::new();
        for file in files {
            let own_session = own_session(&file, &own_sessions);
            placed.extend(self.take_over(file, &own_session));
            own_sessions.insert(own_session);
        }
        placed.sort_by(|one, other| {
            let key = |placed: &Placed| (placed.request.start, placed.file, placed.request.line);
            key(one).cmp(&key(other))
        });
        let mut known: FxHashSet<Identity> = FxHashSet::default();
        let mut chains = Chains::default();
        for one in placed {
            let (session, start) = (one.session, one.request.start);
            let request = &one.request;
            let identity =
                (request.request, session, request.agent, request.scope, start, request.leaf);
            if request.request.is_some() && !known.insert(identity) {
                self.duplicates += 1;
                continue;
            }
            let index = RequestIndex(self.requests.len());
            let predecessor = chains.go_on(&self.captured.tree, session, request, index);
            let has_hole = self.follows_damage(&one, predecessor);
            self.requests.push(request_of(&one, predecessor, has_hole));
            self.captured.requests.push(one.request);
        }
    }

    /// Whether a request may be missing between this one and the one before it: a line of its file is
    /// damaged there.
    fn follows_damage(&self, placed: &Placed, predecessor: Option<RequestIndex>) -> bool {
        let first = self.of_transcripts().len();
        let earlier = predecessor
            .filter(|index| self.request(*index).file == placed.file)
            .map_or(0, |index| self.captured.requests[index.0 - first].lost_before);
        placed.request.lost_before > earlier
    }

    /// Moves a file's nodes and strings over to those of the history.
    fn take_over(&mut self, file: Captures, own_session: &str) -> Vec<Placed> {
        let nodes = self.captured.tree.absorb(file.tree);
        let symbols = self.symbols.absorb(file.symbols);
        let own_session = self.symbols.intern(own_session);
        self.bytes += file.bytes;
        self.lines += file.lines;
        self.diagnostics.absorb(file.diagnostics);
        self.files.push(InputFile { label: Arc::clone(&file.label), trail: Trail::default() });
        let number = self.files.len() - 1;
        self.note_repeated_ids(&file.label, &file.requests);
        let move_over = |mut request: WireRequest| {
            request.move_to(&nodes, &symbols);
            Placed { file: number, session: request.session.unwrap_or(own_session), request }
        };
        file.requests.into_iter().map(move_over).collect()
    }

    /// Names requests of one file and session that share an id and are different.
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

/// The session of a file's requests that name none: the file itself.
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
        model: captured.model,
        session: placed.session,
        agent: captured.agent,
        client_version: None,
        project: None,
        file: placed.file,
        line: captured.line,
        start: captured.start,
        answered: Some(answered),
        finished: answered,
        usage: captured.usage.clone(),
        output_is_lower_bound: false,
        ends_turn: false,
        has_thinking: false,
        has_text: false,
        effort: None,
        agent_setting: None,
        verdict: None,
        predecessor,
        between: Between { has_hole, ..Between::default() },
        recovered_results: 0,
        is_live: true,
    }
}
