//! Applicability of a strategy to an input, with the reasons against it.
//!
//! A design consists of parts (tools sorted, five-minute markers, pings). A part that leaves every
//! request as it was recorded has an obstacle. A strategy whose parts all have one is not
//! applicable: its figures would be those of the record, and their difference from another strategy
//! would look like a saving.

use crate::base::words;
use crate::requests::conversation::History;
use crate::requests::prompt::{Marker, Prompt, PromptTrace};
use crate::simulate::provider::OWN_CACHE;

words! {
    /// Reason for which a part of a strategy does nothing to an input.
    pub enum Obstacle {
        /// A prompt design, but there are only transcripts.
        NoCapturedPrompt = "no_captured_prompt",
            "there is no captured prompt; a transcript does not hold system prompt and tools";
        /// A prompt design, but the bytes of the captures were not kept.
        NoPromptBytes = "no_prompt_bytes", "the captures were read without their bytes";
        /// A prompt design, but the captured prompts already follow it.
        PromptsAsDesigned = "prompts_as_designed", "every captured prompt is so already";
        /// Context management, but there are only captures.
        NoTranscript = "no_transcript",
            "there is no transcript; captured requests do not tell what lies between them";
        /// Context management, but nothing calls for it.
        NothingToTakeOut = "nothing_to_take_out",
            "no conversation reaches the point at which it acts";
        /// Forks, but no sub-agent has a known parent.
        NoKnownParent = "no_known_parent",
            "no sub-agent has a known parent that it does not go on from already";
        /// Decisions of forks, but there is no fork.
        NoFork = "no_fork", "no sub-agent goes on from its parent's results";
        /// Starts of sub-agents, but none start together.
        NoAgentsTogether = "no_agents_together",
            "no sub-agents start together and find different prefixes";
        /// Side queries that write nothing, but none writes anything.
        NoSideQuery = "no_side_query", "no side query marks an end of its own";
        /// Separate sessions, but they share nothing.
        NothingShared = "nothing_shared", "no session reads what another one has written";
        /// TTLs or other prompts, but no request has a marker.
        NoMarker = "no_marker",
            "no request has a marker of Claude's; those to other services stay as they were sent";
        /// Any change, but every request used a cache that is not Anthropic's.
        OwnCache = "own_cache", OWN_CACHE;
        /// A TTL that stays, but none changes.
        NoTtlChange = "no_ttl_change", "no conversation changes the TTL of its markers";
        /// Pings, but nothing waits with a cache.
        NothingToKeepAlive = "nothing_to_keep_alive", "no conversation waits with a cached prompt";
        /// Requests at their own services, but no rules are expected of any.
        NothingExpected = "nothing_expected", "no rules are known that a request would follow";
    }
    /// Reason in words.
    pub fn reason;
}

/// Applicability of a strategy to an input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Applicability {
    /// Every part can act, at least on some requests.
    #[default]
    Whole,
    /// Some parts can act; these are the obstacles of the others.
    Part(Vec<Obstacle>),
    /// No part can act.
    None(Vec<Obstacle>),
}

impl Applicability {
    /// Applicability of a design with this number of parts.
    pub(super) fn of(parts: usize, obstacles: Vec<Obstacle>) -> Self {
        match obstacles.len() {
            0 => Self::Whole,
            idle if idle < parts => Self::Part(obstacles),
            _ => Self::None(obstacles),
        }
    }

    /// Returns true if any part can act.
    pub fn is_applicable(&self) -> bool {
        !matches!(self, Self::None(_))
    }

    /// Obstacles of the idle parts.
    pub fn obstacles(&self) -> &[Obstacle] {
        match self {
            Self::Whole => &[],
            Self::Part(obstacles) | Self::None(obstacles) => obstacles,
        }
    }

    /// Reasons of the obstacles, in words.
    pub fn reasons(&self) -> String {
        let reasons: Vec<&str> = self.obstacles().iter().map(|one| one.reason()).collect();
        reasons.join("; ")
    }
}

/// Returns true if any request of a trace is sent differently; the nodes of both traces belong to one tree.
pub(super) fn differs(before: &PromptTrace, after: &PromptTrace) -> bool {
    // Nothing was copied, so nothing was changed.
    if std::ptr::eq(before, after) {
        return false;
    }
    let is_same = |one: &Prompt, other: &Prompt| {
        sent(one) == sent(other)
            && before
                .markers_of(one)
                .iter()
                .map(marked)
                .eq(after.markers_of(other).iter().map(marked))
    };
    !before.prompts.iter().zip(&after.prompts).all(|(one, other)| is_same(one, other))
}

/// Fields of a prompt that a simulation uses, apart from its markers.
fn sent(prompt: &Prompt) -> impl PartialEq {
    (
        (prompt.node, prompt.total, prompt.deleted, prompt.model, prompt.scope, prompt.betas),
        (prompt.start, prompt.readable_from),
        (prompt.opening().unwrap_or_default(), prompt.shared_prefix, prompt.broken_read()),
    )
}

fn marked(marker: &Marker) -> impl PartialEq {
    (marker.node, marker.end, marker.ttl, marker.is_global)
}

/// Returns true if there are several sessions.
pub(super) fn has_several_sessions(history: &History) -> bool {
    let mut sessions = history.requests.iter().map(|request| request.session);
    sessions.next().is_some_and(|first| sessions.any(|session| session != first))
}
