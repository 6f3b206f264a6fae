//! Prompts as paths through a tree of prefixes.
//!
//! A node is the end of a prefix that some request marked for caching. Requests of a conversation
//! share the nodes before them, and so do sessions that go on from one another; memory grows with
//! the number of requests, not with requests times history.
//!
//! A [`Prompt`] carries of its own recorded usage only what a simulation may know: the total, the
//! TTLs of its markers, and, for the first request of a chain or after a change of model, the read
//! that shows what was already warm. Its split into read, written and input is not here.

use super::ttl::TierTtl;
use crate::id::Symbol;
use crate::units::{Millis, Tokens};

/// A tail up to this is the constant overhead of a model, which repeats from request to request;
/// only a larger one is content.
pub const LARGEST_CONSTANT_TAIL: Tokens = Tokens(20);

/// A node of the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub usize);

/// The end of a prefix.
#[derive(Clone, Copy, Debug)]
pub enum Node {
    /// The end of tools and system prompt, in front of a conversation. Its size is an estimate
    /// that each prompt carries.
    System,
    /// The end of a prefix that reaches into the messages.
    Messages {
        /// The prefix that this one extends.
        parent: NodeId,
        /// The system prompt in front of it all.
        system: NodeId,
        /// The size of the whole prefix.
        end: Tokens,
    },
}

/// A request that the client sent without recording it, and that extended the cached prefix.
#[derive(Clone, Copy, Debug)]
pub struct BackgroundWrite {
    /// The prefix it wrote.
    pub node: NodeId,
    /// When it was sent.
    pub at: Millis,
}

/// One request, as far as a simulation may know it.
#[derive(Clone, Copy, Debug)]
pub struct Prompt {
    /// When it was sent.
    pub start: Millis,
    /// The model, of which each has caches of its own.
    pub model: Symbol,
    /// The session it belongs to.
    pub session: Symbol,
    /// The size of the whole prompt; measured.
    pub total: Tokens,
    /// What stands behind the last marker; calibrated on earlier requests.
    pub uncached_tail: Tokens,
    /// The TTLs of its markers as recorded; `None` where nothing was ever cached.
    pub recorded_ttl: Option<TierTtl>,
    /// The shortest prefix its model caches.
    pub minimum: Tokens,
    /// Where its own cached prefix ends.
    pub node: NodeId,
    /// A background request since the one before.
    pub background: Option<BackgroundWrite>,
    /// What was warm when its chain began or changed its model; measured.
    pub opening: Option<Tokens>,
    /// What was read in a break inside the TTL, for counterfactuals that keep it; measured.
    pub broken_read: Option<Tokens>,
    /// The size of tools and system prompt, which survive a rewritten conversation; calibrated.
    pub system_prefix: Tokens,
    /// What other traffic keeps warm when every entry of its own has expired; calibrated.
    pub shared_prefix: Tokens,
}

impl PromptTrace {
    /// The system prompt in front of a node, or the node itself where it is one.
    #[must_use]
    pub fn system_of(&self, node: NodeId) -> NodeId {
        match self.nodes[node.0] {
            Node::System => node,
            Node::Messages { system, .. } => system,
        }
    }
}

/// All requests of a run against one cache, in the order in which they were sent.
#[derive(Debug, Default)]
pub struct PromptTrace {
    /// The tree.
    pub nodes: Vec<Node>,
    /// The prompts, in the order of the history's requests.
    pub prompts: Vec<Prompt>,
}
