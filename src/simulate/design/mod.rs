//! Captured requests as another prompt design would have sent them: tools sorted, static text
//! first, scopes on or off, settings latched, a stable attribution line.
//!
//! A design rewrites the trace, and nothing after it. The requests keep their times and places, so
//! that outcomes under a design stand next to those as sent. What the model answered, and so every
//! later request, is assumed to be the same.
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

/// A prompt design. The default one sends everything as it was sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct PromptDesign {
    /// The order of the tools.
    pub tools: Tools,
    /// The order of the blocks of the system prompt.
    pub system: SystemPrompt,
    /// Which markers have the scope `global`.
    pub scopes: Scopes,
    /// Whether settings may flip within a conversation.
    pub settings: Settings,
    /// What happens to the attribution line.
    pub attribution: Attribution,
    /// Where reminders and notifications stand.
    pub reminders: Reminders,
    /// Which tools are outside of the prefix until they are searched for. `None` leaves all as
    /// sent.
    pub deferral: Option<Deferral>,
}

impl PromptDesign {
    /// This design, with everything that another one changes.
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

/// The value that another design sets, else the own one.
fn set<T: Default + PartialEq>(own: T, other: T) -> T {
    if other == T::default() { own } else { other }
}

/// Tool definitions outside of the prefix (`defer_loading`). The model searches for a tool before
/// its first call, which takes another request. The answer to that has the definition, which stays
/// in the conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Deferral {
    /// Which tools.
    pub tools: Deferred,
    /// What stands in the prefix instead, after the other tools: the search tool, and the names.
    pub search: Tokens,
}

/// Which tools are deferred.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Deferred {
    /// Those of MCP servers, as Claude Code defers them where tool search is on.
    Mcp,
    /// All.
    All,
}

impl Deferral {
    /// The assumed size of the search tool and the names, unless set.
    pub const SEARCH: Tokens = Tokens(600);
}

/// The order of the tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Tools {
    /// As sent.
    #[default]
    AsSent,
    /// Built-in tools by name, then those of MCP servers by name, as Claude Code orders them
    /// (2.1.88, as documented). Tools of the same name stay as sent. A marker keeps its position,
    /// so one on the last tool stays on the last tool.
    Sorted,
}

/// The order of the blocks of the system prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SystemPrompt {
    /// As sent: static and changing blocks mixed.
    #[default]
    AsSent,
    /// Blocks that all requests of a conversation have, byte for byte, come before the others, both
    /// in the order as sent. A conversation is everything that continues one request on one model.
    /// One whose blocks never change stays as sent, and so does a single request. The number of
    /// markers and the order of their TTLs stay. Where none is on the last static block, the first
    /// one of the system prompt moves there.
    StaticFirst,
    /// Like [`Self::StaticFirst`], but with paragraphs instead of blocks: texts are cut at their
    /// blank lines. First comes what every request of the conversation has, beginning with what
    /// other conversations have, too, and last what changes. Each of the three keeps the order as
    /// sent, and becomes a block of its own where a block held several. A list (lines with bullets,
    /// none indented) that comes in several orders is sorted. Markers are as under
    /// [`Self::StaticFirst`]. Where none is on the system prompt and the request has one to three,
    /// another one is added after the stable part, with the TTL of the next one.
    StableFirst,
}

/// Where reminders and notifications stand: blocks of a user message that begin as such.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Reminders {
    /// As sent.
    #[default]
    AsSent,
    /// At the end of the messages, save for those that every later request of the conversation has
    /// in the same place. A marker on one that moves goes to the block before it.
    Last,
}

/// Which markers have the scope `global`, so that all scopes share what they cache.
///
/// This is about captures, whose system prompt stays cut as it was sent. In a bundle the cuts
/// depend on the scopes, since it knows the boundary between static and dynamic text. It is read
/// once more with [`global_scope`](crate::read::capture::CaptureOptions::global_scope) on or off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Scopes {
    /// As sent.
    #[default]
    AsSent,
    /// None: each scope caches for itself.
    Off,
    /// What is static over sessions is marked for everyone, as Claude Code does (2.1.88, as
    /// documented). One global marker after it replaces all markers on the system prompt, with the
    /// TTL of the first of them, and dynamic text has none. Static is what a request of another
    /// session also has, tools included, up to the last such block of the system prompt. A request
    /// without static text, without a marker on its system prompt, or with a global one stays as
    /// sent.
    On,
}

/// Whether settings may flip within a conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Settings {
    /// As sent.
    #[default]
    AsSent,
    /// Once on, always sent. `speed` other than `standard`, `thinking` that is not disabled, and a
    /// given `tool_choice` or effort keep their first value. Beta features stay once they were
    /// requested. Where these are not part of the key, as the other fields of the body are not, a
    /// latch can prevent a recorded break that a counterfactual would keep. (Claude Code latches
    /// beta headers of modes in this way, as documented.) Latches end with the conversation, at a
    /// change of model, and where the messages begin anew, as after a compaction. Citations, images
    /// and the answer format are what the request is about, and are never latched.
    ///
    /// A latch concerns the cache key only. A request for standard speed keeps the price of
    /// standard speed, since a client can send the header of a mode without using the mode.
    Latched,
}

/// What happens to the attribution line that Claude Code puts before the system prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Attribution {
    /// As sent.
    #[default]
    AsSent,
    /// Every block of the system prompt that begins with the line becomes the one with which its
    /// session began. (Claude Code keeps the line stable within a conversation since 2.1.181.
    /// Before, it changed from request to request and broke the caches behind gateways, as
    /// documented.)
    Stable,
}
