//! The trace under a policy → what each request reads, writes and sends in full.
//!
//! Rules (Anthropic's prompt caching, as documented): an entry lives for its TTL from the start of
//! the request that last used it; a read refreshes every live entry on its path; a request reads
//! the longest live prefix its markers find, looking back at most 20 positions from the message
//! marker, and its system prompt from a marker of its own; what lies between the read and the last
//! marker is written; what lies behind is input. A prefix below the model's minimum is not cached.

use super::entries::{Entries, Place, SystemKey, Write};
use crate::basis::Basis;
use crate::prompt::{LARGEST_CONSTANT_TAIL, Node, NodeId, Prompt, PromptTrace, TierTtl, Ttl};
use crate::units::{Millis, Tokens};

/// How many positions a marker looks back for an entry, its own counted. A node is at least one
/// position, so no entry within reach is missed.
const LOOKBACK: usize = 20;

/// A caching policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Which markers there are.
    pub markers: Markers,
    /// Whether breaks that were recorded inside the TTL happen here, too.
    pub keeps_breaks: bool,
    /// How long entries are found beyond their TTL, in milliseconds: providers delete them promptly,
    /// though not immediately, and the starts of requests are known to seconds only.
    pub ttl_grace: i64,
    /// Whether a session keeps the entries of another one alive that it shares a prefix with.
    pub shares_sessions: bool,
}

/// The markers of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Markers {
    /// None: everything is sent in full.
    None,
    /// Those recorded.
    AsRecorded,
    /// On system prompt and last message, with these TTLs.
    Fixed(TierTtl),
}

impl Markers {
    fn ttl(self, prompt: &Prompt) -> Option<TierTtl> {
        match self {
            Self::None => None,
            Self::AsRecorded => prompt.recorded_ttl,
            Self::Fixed(ttl) => Some(ttl),
        }
    }
}

/// How one prompt is billed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Read from cache.
    pub read: Tokens,
    /// Written for five minutes.
    pub write_5m: Tokens,
    /// Written for an hour.
    pub write_1h: Tokens,
    /// Sent in full.
    pub input: Tokens,
    /// What the split rests on.
    pub basis: Basis,
}

impl Outcome {
    /// The whole prompt.
    #[must_use]
    pub fn total(&self) -> Tokens {
        self.read + self.write_5m + self.write_1h + self.input
    }

    fn add_written(&mut self, ttl: Ttl, tokens: Tokens) {
        match ttl {
            Ttl::FiveMinutes => self.write_5m += tokens,
            Ttl::OneHour => self.write_1h += tokens,
        }
    }
}

/// A live entry in front of a prompt.
#[derive(Clone, Copy, Debug)]
struct Hit {
    node: NodeId,
    end: Tokens,
    place: Place,
}

/// What the rules let a prompt read.
#[derive(Clone, Copy, Debug)]
struct Found {
    read: Tokens,
    place: Option<Place>,
    basis: Basis,
}

/// Applies the rules to every prompt, in order.
#[must_use]
pub fn simulate(trace: &PromptTrace, policy: &Policy) -> Vec<Outcome> {
    let mut cache = Cache { trace, policy, entries: Entries::new(policy.ttl_grace) };
    trace.prompts.iter().map(|prompt| cache.request(prompt)).collect()
}

struct Cache<'a> {
    trace: &'a PromptTrace,
    policy: &'a Policy,
    entries: Entries,
}

impl Cache<'_> {
    fn request(&mut self, prompt: &Prompt) -> Outcome {
        let is_cacheable = prompt.total.saturating_sub(prompt.uncached_tail) >= prompt.minimum;
        let Some(ttl) = self.policy.markers.ttl(prompt).filter(|_| is_cacheable) else {
            return Outcome { input: prompt.total, basis: Basis::Derived, ..Outcome::default() };
        };
        self.send_background(prompt, ttl);
        let found = self.find(prompt);
        let (read, basis) = self.read(prompt, &found);
        self.store(prompt, ttl, found.place);
        split(prompt, ttl, read, basis)
    }

    /// What a request reads: the rules' answer, except where the record alone can tell.
    fn read(&self, prompt: &Prompt, found: &Found) -> (Tokens, Basis) {
        let kept = prompt.broken_read.filter(|_| self.policy.keeps_breaks);
        let (read, basis) = match (prompt.opening, kept) {
            (Some(opening), _) => (opening, Basis::Derived),
            // A break falls to what is warm in front of the messages, also where the policy has
            // let the chain itself expire: the recorded read shows that it was.
            (None, Some(broken)) if broken <= found.read.max(prompt.system_prefix) => {
                (broken, Basis::Derived)
            }
            (None, Some(_)) => (found.read.max(prompt.system_prefix), Basis::Estimated),
            (None, None) => (found.read, found.basis),
        };
        (read.min(prompt.total), basis)
    }

    /// A background request reads what it finds and stores its own end.
    fn send_background(&mut self, prompt: &Prompt, ttl: TierTtl) {
        let Some(background) = prompt.background else {
            return;
        };
        let hit = self.find_message(prompt, background.node, background.at).map(|hit| hit.place);
        self.use_system(prompt, background.node, ttl, background.at);
        self.write(prompt, background.node, ttl.messages, background.at, hit);
    }

    fn find(&self, prompt: &Prompt) -> Found {
        if let Some(hit) = self.find_message(prompt, prompt.node, prompt.start) {
            let is_background = prompt.background.is_some_and(|own| own.node == hit.node);
            let basis = if is_background { Basis::Estimated } else { Basis::Derived };
            return Found { read: hit.end, place: Some(hit.place), basis };
        }
        let key = self.system_key(prompt, prompt.node);
        let read = if self.entries.is_system_live(key, prompt.start) {
            prompt.system_prefix
        } else {
            prompt.shared_prefix
        };
        Found { read, place: None, basis: Basis::Estimated }
    }

    /// The nearest live entry in front of a node.
    fn find_message(&self, prompt: &Prompt, node: NodeId, now: Millis) -> Option<Hit> {
        self.nodes_before(node).find_map(|(node, end)| {
            let place = self.entries.live(node, prompt.model, now)?;
            Some(Hit { node, end, place })
        })
    }

    /// The message nodes in front of a node, with the sizes of their prefixes, as far back as a
    /// marker looks.
    fn nodes_before(&self, node: NodeId) -> impl Iterator<Item = (NodeId, Tokens)> + '_ {
        let parent = |node: NodeId| match self.trace.nodes[node.0] {
            Node::System => None,
            Node::Messages { parent, .. } => Some(parent),
        };
        std::iter::successors(parent(node), move |node| parent(*node))
            .filter_map(|node| match self.trace.nodes[node.0] {
                Node::System => None,
                Node::Messages { end, .. } => Some((node, end)),
            })
            .take(LOOKBACK)
    }

    fn store(&mut self, prompt: &Prompt, ttl: TierTtl, hit: Option<Place>) {
        self.use_system(prompt, prompt.node, ttl, prompt.start);
        self.write(prompt, prompt.node, ttl.messages, prompt.start, hit);
    }

    fn write(&mut self, prompt: &Prompt, node: NodeId, ttl: Ttl, at: Millis, hit: Option<Place>) {
        let write = Write { node, model: prompt.model, session: prompt.session, ttl, at };
        let before = hit.or_else(|| {
            self.nodes_before(node)
                .find_map(|(node, _)| self.entries.written_for(node, prompt.model))
        });
        self.entries.write(write, before, self.policy.shares_sessions);
    }

    fn use_system(&mut self, prompt: &Prompt, node: NodeId, ttl: TierTtl, at: Millis) {
        let node = self.trace.system_of(node);
        let session = (!self.policy.shares_sessions).then_some(prompt.session);
        let key = SystemKey { node, model: prompt.model, session };
        self.entries.use_system(key, ttl.system, at);
    }

    /// The system prompt's entry that a request may read: where sessions are taken apart, that of
    /// the session it goes on from.
    fn system_key(&self, prompt: &Prompt, node: NodeId) -> SystemKey {
        let writer = || {
            let (before, _) = self.nodes_before(node).next()?;
            self.entries.written(before).map(|place| place.session)
        };
        let session = (!self.policy.shares_sessions).then(|| writer().unwrap_or(prompt.session));
        SystemKey { node: self.trace.system_of(node), model: prompt.model, session }
    }
}

/// Bills a prompt: read, then what is written behind it up to the last marker, then input. With
/// two TTLs the longer one holds up to the end of the system prompt.
fn split(prompt: &Prompt, ttl: TierTtl, read: Tokens, basis: Basis) -> Outcome {
    let end = prompt.total.saturating_sub(prompt.uncached_tail).max(read);
    let written = end.saturating_sub(read);
    let written_for_system = prompt.system_prefix.min(end).saturating_sub(read);
    let is_split_by_estimate = ttl.system != ttl.messages && written_for_system > Tokens::ZERO;
    let is_estimated = is_split_by_estimate || prompt.uncached_tail > LARGEST_CONSTANT_TAIL;
    let mut outcome = Outcome {
        read,
        input: prompt.total.saturating_sub(end),
        basis: if is_estimated { Basis::Estimated } else { basis },
        ..Outcome::default()
    };
    outcome.add_written(ttl.system, written_for_system);
    outcome.add_written(ttl.messages, written.saturating_sub(written_for_system));
    outcome
}
