//! Differences of a design from the recorded requests.

use std::borrow::Cow;
use std::fmt::{self, Write as _};

use enumset::{EnumSet, EnumSetType};
use serde::Deserialize;

use super::file::{LayoutKeys, lifetimes, management};
use super::plan::SEARCH_OUTPUT;
use crate::base::bounded::Duration;
use crate::base::{ByKey, Lifetimes, TierTtl, TtlPlan, duration, grouped};
use crate::requests::conversation::RequestIndex;
use crate::requests::prompt::Repair;
use crate::simulate::design::{PromptDesign, set};
use crate::simulate::management::Management;

/// Design of an agent's requests; unset parts stay as recorded. Its fields are the keys of a strategy in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Design {
    /// Places of the markers; as recorded if missing.
    #[serde(rename = "markers")]
    #[cfg_attr(test, schemars(with = "LayoutKeys"))]
    pub layout: Layout,
    /// TTLs of the markers; as recorded if missing.
    #[serde(deserialize_with = "lifetimes::plan")]
    #[cfg_attr(test, schemars(with = "lifetimes::PlanKeys"))]
    pub ttl: Option<TtlPlan>,
    /// Keeps on every marker the TTL with which its conversation began.
    // A strategy of its own, which no file asks for.
    #[serde(skip)]
    pub latches_ttl: bool,
    /// Pings that keep the cache alive while nobody types.
    #[serde(rename = "keepalive")]
    pub keep_alive: Option<KeepAlive>,
    /// Sharing between the requests.
    pub sharing: Sharing,
    /// Layout of captured prompts; transcripts do not hold them.
    pub prompt: PromptDesign,
    /// Methods of keeping prompts small, in the order in which a client tries them.
    #[serde(rename = "context", deserialize_with = "management::read")]
    #[cfg_attr(test, schemars(with = "management::ContextKeys"))]
    pub management: Option<Box<Management>>,
    /// Recorded breaks that do not happen.
    #[serde(skip)]
    pub repairs: ByKey<RequestIndex, Repair>,
}

/// Sharing between requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
#[allow(clippy::struct_excessive_bools)] // independent choices, not states of one machine
pub struct Sharing {
    /// Makes sub-agents forks of the conversation that starts them.
    #[serde(rename = "forks")]
    pub forks_agents: bool,
    /// Lets forks decide again which results are replaced, so that they share tools and system prompt alone.
    #[serde(rename = "fresh_decisions")]
    pub decides_again: bool,
    /// Start of sub-agents that belong together.
    pub starts: Starts,
    /// Marks the message before the last one in side queries and forks of one request, as the client does.
    #[serde(rename = "skip_cache_write")]
    pub skips_cache_writes: bool,
    /// Marks the last message that side queries share with their conversation.
    #[serde(rename = "mark_shared")]
    pub marks_shared: bool,
    /// Gives every session a cache of its own.
    #[serde(rename = "sessions_apart")]
    pub isolates_sessions: bool,
}

/// Start of sub-agents that belong together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Starts {
    /// As recorded.
    #[default]
    AsRecorded,
    /// One first, and the others after its response began.
    Staggered,
    /// All before any response.
    AtOnce,
}

/// Places of the markers in each request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "LayoutKeys")]
pub enum Layout {
    /// Recorded places.
    #[default]
    AsRecorded,
    /// Nowhere: everything is sent in full.
    Nowhere,
    /// These places.
    At(EnumSet<Anchor>),
    /// Regular distance in blocks, with the latest four markers.
    ///
    /// The blocks of a transcript's prompt are unknown, so the end of each request counts as one.
    Every(u32),
    /// Number of markers at equal distances in blocks, with the last one at the end.
    Even(u32),
}

/// Place for a marker that every prompt has.
#[derive(Debug, Deserialize, EnumSetType)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Anchor {
    /// End of tools and system prompt.
    System,
    /// Block in the middle of the prompt.
    Half,
    /// End of the conversation's previous request, or of its unchanged part.
    Previous,
    /// End of the last message.
    Last,
}

/// Pings: the conversation as it was last sent, again, for one token of output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct KeepAlive {
    /// Time from the last request or ping to the next one, in milliseconds; below the TTL.
    #[serde(with = "Duration")]
    pub every: i64,
    /// Idle time after which pings stop, in milliseconds.
    // Zero if a file lacks it, so that its error can say what it is.
    #[serde(with = "Duration", default)]
    #[cfg_attr(test, schemars(!default))]
    pub limit: i64,
    /// Pings for sub-agents' conversations, too.
    #[serde(default)]
    pub agents: bool,
}

impl Design {
    /// Returns true if the prompts are sent as recorded, in the recorded order.
    pub fn keeps_content(&self) -> bool {
        self.sharing == Sharing::default()
            && self.prompt == PromptDesign::default()
            && self.management.is_none()
            && self.repairs.is_empty()
    }

    /// Returns true if every prompt has the recorded size and model, whatever the cache holds of it.
    pub fn keeps_prompts(&self) -> bool {
        let Sharing { forks_agents, decides_again, .. } = self.sharing;
        !forks_agents
            && !decides_again
            && self.prompt == PromptDesign::default()
            && self.management.is_none()
    }

    /// This design, with all settings of another one.
    #[must_use]
    pub fn with(mut self, other: &Self) -> Self {
        if other.layout != Layout::AsRecorded {
            self.layout = other.layout;
        }
        self.ttl = other.ttl.or(self.ttl);
        self.latches_ttl |= other.latches_ttl;
        self.keep_alive = other.keep_alive.or(self.keep_alive);
        self.sharing = self.sharing.with(other.sharing);
        self.prompt = self.prompt.with(other.prompt);
        self.management = other.management.clone().or(self.management);
        self.repairs.extend(other.repairs.iter().map(|(index, repair)| (*index, *repair)));
        self
    }
}

impl Sharing {
    /// This sharing, with all settings of another one.
    fn with(self, other: Self) -> Self {
        Self {
            forks_agents: self.forks_agents || other.forks_agents,
            decides_again: self.decides_again || other.decides_again,
            starts: set(self.starts, other.starts),
            skips_cache_writes: self.skips_cache_writes || other.skips_cache_writes,
            marks_shared: self.marks_shared || other.marks_shared,
            isolates_sessions: self.isolates_sessions || other.isolates_sessions,
        }
    }
}

impl Design {
    /// Returns true if the design changes prompts, sends no additional request, and changes nothing
    /// else in requests.
    pub fn changes_prompts_alone(&self) -> bool {
        let prompts_as_sent = Self { prompt: PromptDesign::default(), ..self.clone() };
        let makes_prompts = self.prompt != PromptDesign::default();
        makes_prompts && self.prompt.deferral().is_none() && prompts_as_sent.keeps_content()
    }

    /// Facts that no simulation of the design can know, with the assumptions in their place.
    pub fn unknowns(&self) -> Vec<Cow<'static, str>> {
        let mut unknowns: Vec<&'static str> = Vec::new();
        if matches!(self.layout, Layout::Every(_) | Layout::Even(_)) {
            unknowns.push(
                "the blocks of a transcript's prompts are not known; the end of each request counts \
                 as one",
            );
        }
        if self.sharing.forks_agents {
            unknowns.push(
                "a fork knows its parent's conversation and may have had less to read or write; its \
                 answers are those recorded",
            );
        }
        if self.sharing.decides_again {
            unknowns.push(
                "the first result that a fork replaces otherwise is taken to stand at the beginning \
                 of the messages, so this is the most that fresh decisions cost",
            );
        }
        if self.sharing.skips_cache_writes || self.sharing.marks_shared {
            unknowns.push(
                "in a transcript a turn that was rewound looks like a side query, and counts as one",
            );
        }
        if self.sharing.skips_cache_writes {
            unknowns.push(
                "of a transcript's messages only the ends of requests are known, so that there the \
                 last one that is shared is marked",
            );
        }
        if self.sharing.starts != Starts::AsRecorded {
            unknowns.push(
                "of a transcript's sub-agents only their recorded reads show what they have in \
                 common",
            );
        }
        unknowns.extend(self.prompt.unknowns());
        if let Some(management) = &self.management {
            unknowns.extend(management.unknowns());
        }
        if self.keep_alive.is_some() {
            unknowns.push("a client that was closed sends no pings; here it does until the limit");
        }
        let mut assumptions: Vec<String> =
            self.management.iter().flat_map(|management| management.assumptions()).collect();
        if let Some(deferral) = self.prompt.deferral() {
            unknowns.push(
                "each search for deferred tools is a request more, which finds what is called next; \
                 the words of the search have no size",
            );
            assumptions.push(format!(
                "the search tool and the names of deferred tools have {} tokens; a search costs {} \
                 tokens of output, which the next prompt does not carry",
                grouped(deferral.search.0),
                grouped(SEARCH_OUTPUT.0),
            ));
        }
        let assumptions = assumptions.into_iter().map(Cow::Owned);
        unknowns.into_iter().map(Cow::Borrowed).chain(assumptions).collect()
    }
}

impl Anchor {
    /// Name in files and outputs.
    pub fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Half => "half",
            Self::Previous => "previous",
            Self::Last => "last",
        }
    }
}

impl Design {
    /// Markers, lifetimes and pings in words, with the lifetimes as a service calls them.
    pub fn in_words(&self, lifetimes: Lifetimes) -> String {
        let mut words = format!("markers {}", self.layout);
        if let Some(plan) = self.ttl.filter(|_| lifetimes.has_choice()) {
            words.push_str(", ");
            words.push_str(&words_of(plan, lifetimes));
        }
        if let Some(pings) = self.keep_alive.filter(|pings| pings.limit >= pings.every) {
            let (every, limit) = (duration(pings.every), duration(pings.limit));
            let _ = write!(words, ", a ping each {every} for up to {limit}"); // never fails
        }
        words
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AsRecorded => f.write_str("as recorded"),
            Self::Nowhere => f.write_str("nowhere"),
            Self::At(anchors) => {
                let names: Vec<&str> = anchors.iter().map(Anchor::name).collect();
                write!(f, "at {}", names.join(" + "))
            }
            Self::Every(blocks) => write!(f, "every {blocks} blocks"),
            Self::Even(count) => write!(f, "at {count} equal distances"),
        }
    }
}

fn words_of(plan: TtlPlan, lifetimes: Lifetimes) -> String {
    let tier = |ttl: TierTtl| {
        let is_uniform = ttl.system == ttl.messages;
        if is_uniform { lifetimes.name(ttl.messages) } else { "mixed TTLs".to_owned() }
    };
    if plan.main == plan.agents {
        tier(plan.main)
    } else {
        format!("{} in main conversations, {} in sub-agents'", tier(plan.main), tier(plan.agents))
    }
}
