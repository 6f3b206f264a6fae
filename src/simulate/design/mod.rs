//! Captured requests as another prompt design would have sent them: the same requests at the same times,
//! their blocks in another order or in place of others, under other markers.
//!
//! A design rewrites the trace and nothing after it: the requests keep their places, so that outcomes
//! under a design stand beside those of the requests as sent. What the model answered, and so every later
//! request, is taken to be the same.
//!
//! A trace is rewritten as if its captured requests had been sent by another design: tools sorted,
//! static text in front, scopes on or off, settings latched, the attribution line stable. Nothing
//! is parsed again: the blocks of a prompt as sent, known by their bytes (`blocks.rs`), are laid
//! out anew (`layout.rs`) and form a path through the same tree (`blocks.rs`), which grows by
//! prefixes that were never sent. Every block keeps its size, so a total changes only by what was
//! replaced. Where tools are deferred (`deferral.rs`), definitions move into the conversation, and
//! searches are added. A recorded break is kept unless differing bytes explain it and the design
//! has more of them in common. Bundles know the boundary of static text; with scopes on or off
//! they are placed once more.
//!
//! What a prompt design may do otherwise than the requests as they were sent.

mod blocks;
mod deferral;
mod latch;
mod layout;
mod redesign;
mod reminders;
mod stable_first;

pub use redesign::{Redesigned, ToolSearch, redesign};

use crate::base::units::Tokens;

/// A prompt design; the default one sends everything as it was sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct PromptDesign {
    /// The order of the tools.
    pub tools: Tools,
    /// The order of the blocks of the system prompt.
    pub system: SystemPrompt,
    /// Which markers have the scope `global`.
    pub scopes: Scopes,
    /// Whether settings may flip in the middle of a conversation.
    pub settings: Settings,
    /// What becomes of the attribution line.
    pub attribution: Attribution,
    /// Where reminders and notifications stand.
    pub reminders: Reminders,
    /// Which tools stand outside of the prefix until they are searched for; as sent where it is missing.
    pub deferral: Option<Deferral>,
}

impl PromptDesign {
    /// This design with all that another one does otherwise than the requests as sent, too.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self {
            tools: set(self.tools, other.tools),
            system: set(self.system, other.system),
            scopes: set(self.scopes, other.scopes),
            settings: set(self.settings, other.settings),
            attribution: set(self.attribution, other.attribution),
            reminders: set(self.reminders, other.reminders),
            deferral: set(self.deferral, other.deferral),
        }
    }

    /// What no simulation of it can know.
    #[must_use]
    pub fn unknowns(&self) -> Vec<&'static str> {
        let mut unknowns = Vec::new();
        if *self != Self::default() {
            unknowns.push("prompts of transcripts are not known and stay as they are");
        }
        if self.system == SystemPrompt::StableFirst {
            unknowns.push(
                "paragraphs are taken to say the same in another order, and a part of a block to have its \
                 share of the block's tokens",
            );
        }
        if self.reminders == Reminders::Last {
            unknowns.push(
                "the model is taken to answer the same to a reminder at the end of the messages",
            );
        }
        unknowns
    }
}

/// What another design sets, or else what this one does.
fn set<T: Default + PartialEq>(own: T, other: T) -> T {
    if other == T::default() { own } else { other }
}

/// Definitions of tools outside of the prefix (`defer_loading`). The model searches for a tool before its
/// first call, which takes a request more; the answer to that has the definition, which stands in the
/// conversation from there on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Deferral {
    /// Which tools.
    pub tools: Deferred,
    /// What stands in the prefix instead, after the other tools: the tool that searches, and the names.
    pub search: Tokens,
}

/// Which tools are deferred.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Deferred {
    /// Those of MCP servers, as Claude Code does it where tool search is on.
    Mcp,
    /// All.
    All,
}

impl Deferral {
    /// What the search tool and the names are taken to have, where nothing else is said.
    pub const SEARCH: Tokens = Tokens(600);
}

/// The order of the tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Tools {
    /// As sent.
    #[default]
    AsSent,
    /// Built-in ones by name, then those of MCP servers by name, as Claude Code orders them (2.1.88,
    /// as documented); tools of one name as sent. A marker stays at its position, so that one on
    /// the last tool is on the last tool again.
    Sorted,
}

/// The order of the blocks of the system prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SystemPrompt {
    /// As sent: static and changing blocks mixed.
    #[default]
    AsSent,
    /// Blocks that all requests of a conversation have, byte for byte, stand in front of the others; either
    /// kind is in the order as sent. A conversation is what went on from one request on one model; one
    /// whose blocks never change stays as sent, and so does a single request. The number of markers
    /// and the order of their TTLs stay; where none is on the last static block, the first one of
    /// the system prompt moves there.
    StaticFirst,
    /// Paragraphs instead of blocks: the text of a block is cut at its blank lines. What every request of the
    /// conversation has stands first, and of that what other conversations have, too; what changes
    /// stands last. Each of the three is in the order as sent and a block of its own where a block held
    /// several. A list (lines with bullets, none indented) that comes in several orders is sorted.
    /// Markers are as under [`Self::StaticFirst`]; where none is on the system prompt, one after the
    /// stable part is added to those of the request, with the TTL of the next one, if it has one to
    /// three.
    StableFirst,
}

/// Where reminders and notifications stand: blocks of a user's message that begin as such.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Reminders {
    /// As sent.
    #[default]
    AsSent,
    /// At the end of the messages, but for those that stay: which every later request of the conversation
    /// has, at the same place. A marker on one that moves goes to the block in front of it.
    Last,
}

/// Which markers have the scope `global`, so that what they cache is shared by all scopes.
///
/// This is about captures, whose system prompt stays cut as it was sent. A bundle knows the boundary
/// between static and dynamic text, and where the blocks are cut depends on the scopes: it is read once
/// more with [`global_scope`](crate::read::capture::CaptureOptions::global_scope) on or off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Scopes {
    /// As sent.
    #[default]
    AsSent,
    /// None: each scope caches for itself.
    Off,
    /// What is static over sessions is marked for everyone, as Claude Code does (2.1.88, as documented):
    /// one global marker after it takes the place of all markers on the system prompt, with the TTL
    /// of the first of them; what is dynamic has none. Static is what a request of another session
    /// has, too, tools included, up to the last such block of the system prompt. A request without
    /// one, without a marker on its system prompt, or with a global one stays as sent.
    On,
}

/// Whether settings may flip in the middle of a conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Settings {
    /// As sent.
    #[default]
    AsSent,
    /// Once on, always sent: `speed` other than `standard`, `thinking` that is not disabled, and a given
    /// `tool_choice` or effort keep the value with which they were first on. Beta features stay once they
    /// were asked for. Where those are no part of the key, and for the other fields of the body, which
    /// are none, this can prevent a recorded break that a counterfactual would keep. (Claude Code latches beta headers of modes
    /// in this way, as documented.) Latches end with the conversation, at a change of model and
    /// where the messages begin anew, as after a compaction. Citations, images and the format of
    /// the answer are what the request is about, and never latched.
    ///
    /// A latch is about the key of the cache: a request that had asked for standard speed still has
    /// the price of standard speed, since a client can send the header of a mode without using it.
    Latched,
}

/// What becomes of the attribution line that Claude Code puts in front of the system prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Attribution {
    /// As sent.
    #[default]
    AsSent,
    /// Every block of the system prompt that begins with the line is the one with which its session
    /// began. (Claude Code keeps the line stable for a conversation since 2.1.181; before, it changed
    /// from request to request and broke the caches behind gateways, as documented.)
    Stable,
}
