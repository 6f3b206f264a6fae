//! Measured rules for clients' changes to the messages that they had sent: no documentation has them.
//!
//! Each rule holds for a range of client versions and looks at lines and at other requests only. A step names
//! the rule that decided it, so that `verify --rules` can count for any sessions whether the record agrees. A
//! rule that a newer client breaks shows there first.

use super::{ClientVersion, Kept, LOOKBACK, Step};
use crate::base::words;
use crate::requests::conversation::{History, Request, RequestIndex};

words! {
    /// Rule that was found in recorded sessions.
    pub enum MeasuredRule {
        /// Context of hooks that moves at the next prompt.
        HookContextMoves = "hook_context_moves",
            "After a turn in which a PreToolUse or PostToolUse hook gave context, the next prompt \
             differs from the first request that carried it on: what stands in front is read where \
             it is within the lookback, else tools and system prompt.";
        /// First tools that a search loads, which change the prefix.
        FirstLoadedTools = "first_loaded_tools",
            "The first result of a chain that loads deferred tools leaves tools and system prompt \
             alone to be read.";
        /// Entries for five minutes that are found for some seconds more.
        LateExpiry = "late_expiry",
            "An entry for five minutes is still found up to 310 seconds after the start of the \
             request that used it last.";
        /// Request that the user interrupted and that had written its prompt.
        InterruptedRequest = "interrupted_request",
            "A request that the user interrupted after two seconds or so, before anything was \
             answered, had written its prompt.";
        /// Failed stream that had written the prompt.
        FailedStream = "failed_stream",
            "An answer that was not streamed follows a stream that failed: that had written the \
             whole prompt, unless the service refused it.";
        /// Step that adds more than a marker looks back over.
        ///
        /// (A lookback of 20 is documented, and holds for every client; it was measured that it counts blocks,
        /// and that lines show up to two more than were sent.)
        LongStep = "long_step",
            "Where an answer and what the client added after it have 22 blocks or more, thinking \
             not counted, the marker at their end finds no entry before them: tools and system \
             prompt alone are read.";
    }
    /// Meaning of the rule, in one sentence.
    pub fn meaning;
}

/// Versions from the first to the last, both included.
type Versions = (ClientVersion, ClientVersion);

impl MeasuredRule {
    fn range(self) -> Versions {
        let version = ClientVersion::new;
        match self {
            Self::HookContextMoves => (version(2, 1, 210), version(2, 1, 227)),
            Self::FirstLoadedTools => (version(2, 1, 119), version(2, 1, 206)),
            // Later clients ask for an hour, except for sub-agents, for which no such gap was seen.
            Self::LateExpiry => (version(2, 1, 0), version(2, 1, 16)),
            // The newest client whose sessions were available.
            Self::InterruptedRequest => (version(2, 1, 0), version(2, 1, 237)),
            Self::FailedStream => (version(2, 1, 123), version(2, 1, 237)),
            Self::LongStep => (version(1, 0, 0), ClientVersion::LAST),
        }
    }

    /// Range of client versions for which the rule was measured.
    pub fn versions(self) -> String {
        let (first, last) = self.range();
        if last == ClientVersion::LAST {
            return format!("{first} and later");
        }
        format!("{first}-{last}")
    }

    fn holds_for(self, version: ClientVersion) -> bool {
        let (first, last) = self.range();
        (first..=last).contains(&version)
    }
}

/// Time beyond their TTL for which entries for five minutes live for a client, in milliseconds.
///
/// (Measured: alive after 301.5, 304.5, 306.1, 308.0 and 308.5 seconds, dead from 316 on.)
pub(super) fn grace(version: ClientVersion) -> i64 {
    if MeasuredRule::LateExpiry.holds_for(version) { 10_000 } else { 0 }
}

/// State that the requests of a chain leave to its later ones.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LaterKept {
    /// Last request of this turn before a hook around a tool's call gave context.
    before_hook: Option<RequestIndex>,
    /// True if a tool search has loaded tools.
    has_loaded_tools: bool,
}

impl LaterKept {
    /// State after the first request of a chain.
    pub(super) fn at_first(request: &Request) -> Self {
        Self { before_hook: None, has_loaded_tools: request.between.loads_tools }
    }

    /// State after the next request.
    pub(super) fn after(
        self,
        request: &Request,
        predecessor: RequestIndex,
        is_rewritten: bool,
    ) -> Self {
        let between = &request.between;
        // A rewrite sends everything again, with the context in its place.
        let continues = !between.has_prompt && !is_rewritten;
        let own = (between.has_tool_hook && continues).then_some(predecessor);
        Self {
            before_hook: self.before_hook.filter(|_| continues).or(own),
            has_loaded_tools: self.has_loaded_tools || between.loads_tools,
        }
    }
}

/// Rule that decides how much of its predecessor's prefix a request keeps, with that part.
pub(super) fn of_step(
    history: &History,
    version: ClientVersion,
    request: &Request,
    predecessor: RequestIndex,
    steps: &[Step],
) -> Option<(MeasuredRule, Kept)> {
    let previous = history.request(predecessor);
    let is_own = request.model == previous.model && !request.is_fork_of(previous);
    let later = steps[predecessor.get()].later;
    let loaded = MeasuredRule::FirstLoadedTools;
    if loaded.holds_for(version)
        && is_own
        && request.agent.is_none()
        && request.between.loads_tools
        && !later.has_loaded_tools
    {
        return Some((loaded, Kept::System));
    }
    let moved = MeasuredRule::HookContextMoves;
    let kept = later.before_hook.filter(|_| {
        moved.holds_for(version)
            && is_own
            && request.between.has_prompt
            && !request.between.drops_answer
    })?;
    let end = history.request(kept).recorded().prompt.cached_end();
    (end <= request.prompt_total()).then(|| {
        let positions = positions_since(history, kept, request, predecessor);
        (moved, Kept::Until { request: kept, positions })
    })
}

/// Least time that the user waited for an answer whose prompt was written, in milliseconds: if most of it was
/// read from cache, and if nothing was.
///
/// (Measured: of requests that ran for 1.9 to 4.2 seconds six had written their prompts and one had not, of
/// five that ran for 1.4 seconds or less none. After an expiry, one that ran for 5.7 seconds had, and one
/// that ran for 3.2 had not.)
const LEAST_WAIT: u32 = 1_900;
const LEAST_WAIT_WHEN_COLD: u32 = 5_000;

/// Rule by which an unrecorded attempt had written this prompt, or the beginning of it.
pub(super) fn of_attempt(
    version: ClientVersion,
    request: &Request,
    is_expired: bool,
) -> Option<MeasuredRule> {
    let between = &request.between;
    if between.drops_answer || between.has_compaction {
        return None;
    }
    let least_wait = if is_expired { LEAST_WAIT_WHEN_COLD } else { LEAST_WAIT };
    let has_waited = between.unanswered.as_ref().is_some_and(|one| one.waited >= least_wait);
    let rules = [
        (MeasuredRule::FailedStream, request.came_at_once && !between.has_api_error),
        (MeasuredRule::InterruptedRequest, has_waited),
    ];
    rules
        .into_iter()
        .find(|(rule, is_shown)| *is_shown && rule.holds_for(version))
        .map(|(rule, _)| rule)
}

/// Positions by the lines from which nothing before a step is within reach of its marker.
///
/// (Measured: of 9 requests with 20 or 21 none had lost the messages, of 8 with more seven. Captures
/// have exact positions, for which the documented lookback holds.)
pub(crate) const LONG_STEP: u32 = 22;

/// Rule by which nothing before a step is within reach of its marker.
pub(super) fn of_long_step(
    version: ClientVersion,
    request: &Request,
    previous: &Request,
) -> Option<MeasuredRule> {
    let rule = MeasuredRule::LongStep;
    let is_long = blocks_at_once(request, previous) >= LONG_STEP;
    (is_long && rule.holds_for(version)).then_some(rule)
}

/// Blocks by the lines that a step surely adds without a marker between them.
pub(crate) fn blocks_at_once(request: &Request, previous: &Request) -> u32 {
    let (answer, added) = (request.carried_positions(previous), request.between.positions);
    // At a prompt, a suggestion may have cached the answer: then each part counts for itself.
    if request.between.has_prompt { answer.max(added) } else { answer.saturating_add(added) }
}

/// Lower bound on the positions between the end of an earlier request of the chain and the end of this one,
/// from the lines.
///
/// Positions beyond the lookback of a marker are not counted.
fn positions_since(
    history: &History,
    earlier: RequestIndex,
    request: &Request,
    predecessor: RequestIndex,
) -> u32 {
    let mut positions = request.between.positions;
    let mut here = predecessor;
    while positions < LOOKBACK {
        let one = history.request(here);
        positions = positions.saturating_add(one.answer_positions);
        match one.predecessor {
            Some(before) if here > earlier => {
                positions = positions.saturating_add(one.between.positions);
                here = before;
            }
            _ => break,
        }
    }
    positions.clamp(1, LOOKBACK)
}
