//! Prompt designs: captured requests as another client would have sent them, with tools sorted,
//! static text first, scopes on or off, settings latched, or a stable attribution line.
//!
//! A design rewrites the trace, and nothing after it. The requests keep their times and places, so
//! that outcomes under a design can be compared with those as sent. The answers of the model, and
//! so every later request, are assumed to be the same.
//!
//! Nothing is parsed again: the blocks of a prompt as sent, known by their bytes (`blocks.rs`), are
//! laid out again (`layout.rs`) and form a path through the same tree (`blocks.rs`), which grows by
//! prefixes that were never sent. Every block keeps its size, so a total changes only by
//! replacements. If tools are deferred (`deferral.rs`), definitions move into the conversation, and
//! searches are added. A recorded break is kept unless differing bytes explain it and the design
//! has more of them in common. Bundles know the boundary of static text; with scopes on or off they
//! are placed once more.

mod blocks;
mod deferral;
mod latch;
mod layout;
mod redesign;
mod reminders;
mod stable_first;

pub use redesign::{Redesigned, ToolSearch, redesign};

use serde::Deserialize;

use crate::base::Tokens;
use crate::base::bounded::SizeOrZero;

/// Prompt design; the default one sends everything as it was sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(extend("dependentRequired" = { "tool_search": ["deferred_tools"] })))]
#[serde(default, deny_unknown_fields)]
pub struct PromptDesign {
    /// Order of the tools.
    pub tools: Tools,
    /// Order of the blocks of the system prompt.
    pub system: SystemPrompt,
    /// Markers with the scope `global`.
    pub scopes: Scopes,
    /// Treatment of settings that flip within a conversation.
    pub settings: Settings,
    /// Treatment of the attribution line.
    pub attribution: Attribution,
    /// Place of reminders and notifications.
    pub reminders: Reminders,
    /// Tools outside of the prefix until they are searched for.
    pub deferred_tools: Deferred,
    /// Tokens of the search tool and the names of deferred tools; 600 if missing.
    #[serde(with = "SizeOrZero")]
    pub tool_search: Option<Tokens>,
}

impl PromptDesign {
    /// This design, with all changes of another one.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self {
            tools: set(self.tools, other.tools),
            system: set(self.system, other.system),
            scopes: set(self.scopes, other.scopes),
            settings: set(self.settings, other.settings),
            attribution: set(self.attribution, other.attribution),
            reminders: set(self.reminders, other.reminders),
            deferred_tools: set(self.deferred_tools, other.deferred_tools),
            tool_search: set(self.tool_search, other.tool_search),
        }
    }

    /// Deferred tools, with the size of their replacement.
    pub fn deferral(&self) -> Option<Deferral> {
        let search = self.tool_search.unwrap_or(Deferral::SEARCH);
        let tools = self.deferred_tools;
        (tools != Deferred::AsSent).then_some(Deferral { tools, search })
    }

    /// Facts that no simulation of the design can know.
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

/// Value of another design if it is set, else the own one.
pub(crate) fn set<T: Default + PartialEq>(own: T, other: T) -> T {
    if other == T::default() { own } else { other }
}

/// Tool definitions outside of the prefix (`defer_loading`).
///
/// The model searches for a tool before its first call, which takes another request. The answer to
/// that has the definition, which stays in the conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Deferral {
    /// Deferred tools.
    pub tools: Deferred,
    /// Size of the replacement in the prefix, after the other tools: the search tool, and the names.
    pub search: Tokens,
}

/// Selection of deferred tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Deferred {
    /// None: all as sent.
    #[default]
    AsSent,
    /// Tools of MCP servers, as Claude Code defers them if tool search is on.
    Mcp,
    /// All tools.
    All,
}

impl Deferral {
    /// Assumed size of the search tool and the names, unless set.
    pub const SEARCH: Tokens = Tokens(600);
}

/// Order of the tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Tools {
    /// As sent.
    #[default]
    AsSent,
    /// Built-in tools by name, then MCP servers' by name, as Claude Code orders them (2.1.88, as documented).
    ///
    /// Tools of the same name stay as sent. A marker keeps its position, so one on the last tool
    /// stays on the last tool.
    Sorted,
}

/// Order of the blocks of the system prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum SystemPrompt {
    /// As sent: static and changing blocks mixed.
    #[default]
    AsSent,
    /// Blocks that all requests of a conversation have, byte for byte, come before the others, both
    /// in the order as sent.
    ///
    /// A conversation is everything that continues one request on one model. A conversation whose
    /// blocks never change stays as sent, and so does a single request. The number of markers and
    /// the order of their TTLs stay. If none is on the last static block, the first one of the
    /// system prompt moves there.
    StaticFirst,
    /// Like [`Self::StaticFirst`], but with paragraphs instead of blocks: texts are cut at their blank lines.
    ///
    /// Paragraphs that every request of the conversation has come first, beginning with those that
    /// other conversations have, too, and changing ones last. Each of the three groups keeps the
    /// order as sent, and becomes a block of its own if a block held several. A list (lines with
    /// bullets, none indented) that comes in several orders is sorted. Markers are as under
    /// [`Self::StaticFirst`]. If none is on the system prompt and the request has one to three,
    /// another one is added after the stable part, with the TTL of the next one.
    StableFirst,
}

/// Place of reminders and notifications: blocks of a user message that begin as such.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Reminders {
    /// As sent.
    #[default]
    AsSent,
    /// At the end of the messages, except for reminders that every later request of the
    /// conversation has in the same place.
    ///
    /// A marker on one that moves goes to the block before it.
    Last,
}

/// Markers with the scope `global`, so that all scopes share their entries.
///
/// This is about captures, whose system prompt stays cut as it was sent. In a bundle the cuts
/// depend on the scopes, since it knows the boundary between static and dynamic text. It is read
/// once more with [`global_scope`](crate::read::capture::CaptureOptions::global_scope) on or off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Scopes {
    /// As sent.
    #[default]
    AsSent,
    /// None: each scope caches for itself.
    Off,
    /// One on the text that is static over sessions, as Claude Code does (2.1.88, as documented).
    ///
    /// One global marker after it replaces all markers on the system prompt, with the TTL of the
    /// first of them, and dynamic text has none. Static is everything that a request of another
    /// session also has, tools included, up to the last such block of the system prompt. A request
    /// without static text, without a marker on its system prompt, or with a global one stays as
    /// sent.
    On,
}

/// Treatment of settings that flip within a conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Settings {
    /// As sent.
    #[default]
    AsSent,
    /// Once on, always sent.
    ///
    /// `speed` other than `standard`, `thinking` that is not disabled, and a given `tool_choice` or
    /// effort keep their first value. Beta features stay once they were requested. If these are not
    /// part of the key, like the other fields of the body, a latch can prevent a recorded break
    /// that a counterfactual would keep. (Claude Code latches beta headers of modes in this way, as
    /// documented.) Latches end with the conversation, at a change of model, and if the messages
    /// begin again, as after a compaction. Citations, images and the answer format are the task of
    /// a request, and are never latched.
    ///
    /// A latch concerns the cache key only. A request for standard speed keeps the price of
    /// standard speed, since a client can send the header of a mode without using the mode.
    Latched,
}

/// Treatment of the attribution line that Claude Code puts before the system prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Attribution {
    /// As sent.
    #[default]
    AsSent,
    /// Every block of the system prompt that begins with the line becomes the first one of its session.
    ///
    /// (Claude Code keeps the line stable within a conversation since 2.1.181. Before, it changed
    /// from request to request and broke the caches behind gateways, as documented.)
    Stable,
}
