//! Case of a shortfall, with everything that rules may look at, and sub-agents that were started side by
//! side.
//!
//! Each of the latter writes the prefix that they share, as none can read an entry that another is still
//! writing.

use rustc_hash::FxHashMap;

use super::readable::{LONGEST_WALK, ReadLandmarks, Readable, Reads};
use super::{Candidate, Cause, Confidence, Evidence};
use crate::base::{Client, Order as _, Symbol, Tokens, grouped};
use crate::read::input::PromptSplit;
use crate::read::transcript::{Sign, Signs};
use crate::requests::conversation::{History, Request, RequestIndex, TrailEntry};
use crate::requests::prompt::{ClientVersion, Kept, LARGE_MISS, NOISE, Prompt, PromptTrace, Step};
use crate::simulate::cache::LOOKBACK;
use crate::simulate::provider::expectation;

/// Field with the number of tokens read.
pub(super) const READ_FIELD: &str = "message.usage.cache_read_input_tokens";

/// Percentage of the known end of tools and system prompt up to which a read still counts as theirs: a tool
/// or a word more.
const SYSTEM_WITHIN_PERCENT: u64 = 102;

/// Time since the answer began whose request wrote the oldest part that could not be read, in milliseconds.
fn unread_for(history: &History, request: &Request, readable: Readable) -> i64 {
    let writes = match readable {
        Readable::EarlierEnd(steps) => steps.saturating_sub(1),
        _ => 1,
    };
    let mut ancestors =
        std::iter::successors(history.predecessor(request), |one| history.predecessor(one));
    let oldest = writes.checked_sub(1).and_then(|place| ancestors.nth(place));
    oldest.map_or(i64::MAX, |oldest| request.start.since(oldest.answered.unwrap_or(oldest.start)))
}

/// Requests of a case.
#[derive(Clone, Copy)]
pub(super) struct Requests {
    pub(super) index: RequestIndex,
    pub(super) previous: RequestIndex,
    /// Earlier request that continued the same one.
    pub(super) earlier_branch: Option<RequestIndex>,
}

/// A request that fell short, with the one before it.
pub(super) struct Case<'a> {
    pub(super) history: &'a History,
    pub(super) request: &'a Request,
    pub(super) previous: &'a Request,
    pub(super) step: &'a Step,
    pub(super) previous_step: &'a Step,
    pub(super) prompt: &'a Prompt,
    pub(super) split: PromptSplit,
    pub(super) previous_split: PromptSplit,
    pub(super) readable: Readable,
    /// Tokens that the rules read in its place.
    pub(super) replayed: Tokens,
    /// Time for which the service keeps entries after their last use, in milliseconds, if it alone decides
    /// that.
    pub(super) kept_for: Option<i64>,
    /// Time from the answer to the oldest request whose write was not readable to this one's start, in
    /// milliseconds.
    pub(super) unread_for: i64,
    /// True if the request begins one of several turns in a row that read the same.
    pub(super) is_pinned: bool,
    /// True if the request's cache is not Anthropic's.
    pub(super) is_own_cache: bool,
    /// Earlier request that continued the same one.
    pub(super) earlier_branch: Option<RequestIndex>,
    /// Least end of tools and system prompt that reads show, or zero.
    pub(super) system_end: Tokens,
    trail: Vec<TrailEntry>,
    signs: Signs,
}

impl<'a> Case<'a> {
    pub(super) fn new(
        reads: &Reads<'a>,
        trace: &'a PromptTrace,
        steps: &'a [Step],
        (landmarks, is_pinned): (&ReadLandmarks, bool),
        requests: Requests,
        readable: Readable,
    ) -> Self {
        let Requests { index, previous, earlier_branch } = requests;
        let history = reads.history();
        let request = history.request(index);
        let prompt = &trace.prompts[index.get()];
        let file = &history.files[request.file];
        let mut trail: Vec<TrailEntry> =
            file.trail.back_from(request.between.trail).copied().collect();
        // Evidence is the first line with a sign, and the trail is walked from its end.
        trail.reverse();
        Self {
            history,
            request,
            previous: history.request(previous),
            step: &steps[index.get()],
            previous_step: &steps[previous.get()],
            prompt,
            split: reads.split(index),
            previous_split: reads.split(previous),
            readable,
            replayed: reads.replayed(index),
            kept_for: kept_for(history, index),
            unread_for: unread_for(history, request, readable),
            is_pinned,
            is_own_cache: reads.ledger.has_own_cache(index),
            earlier_branch,
            system_end: landmarks.system_end(request).max(prompt.system_prefix),
            signs: trail.iter().fold(Signs::new(), |signs, entry| signs | entry.signs),
            trail,
        }
    }

    /// Returns true in the middle of a turn, where the client only appends, if nothing was seen that could
    /// have changed the prompt.
    pub(super) fn is_undisturbed(&self) -> bool {
        self.is_within_turn() && !self.has_any(signs_of_change()) && !self.step.is_rewritten
    }

    /// Returns true in the middle of a turn.
    fn is_within_turn(&self) -> bool {
        !self.begins_turn() && !self.previous.ends_turn
    }

    /// Returns true if the prompt became shorter in the middle of a turn, and no line tells why.
    pub(super) fn shrank_within_turn(&self) -> bool {
        let is_told = self.step.rule.is_some() || self.request.between.rewrites_history();
        self.step.is_rewritten && !is_told && self.is_within_turn()
    }

    /// Requests before this one in its chain, the nearest first.
    pub(super) fn ancestors(&self) -> impl Iterator<Item = &'a Request> + use<'a> {
        let history = self.history;
        let before = move |one: &&'a Request| history.predecessor(one);
        std::iter::successors(history.predecessor(self.request), before).take(LONGEST_WALK)
    }

    /// Nearest request at or before this one that was sent after a pause.
    pub(super) fn first_after_pause(&self, least: i64) -> Option<&'a Request> {
        let history = self.history;
        std::iter::once(self.request).chain(self.ancestors()).find(|one| {
            history.predecessor(one).is_some_and(|before| one.start.since(before.start) >= least)
        })
    }

    /// First answer with thinking of the last turn before this request that has any.
    pub(super) fn last_thinking(&self) -> Option<&'a Request> {
        let mut first = None;
        for one in self.ancestors() {
            first = if one.has_thinking { Some(one) } else { first };
            if one.between.has_prompt && first.is_some() {
                break;
            }
        }
        first
    }

    /// Size of the first prompt of the conversation, which holds all that a client says before it begins.
    pub(super) fn first_prompt(&self) -> Tokens {
        self.history.request(self.step.opening).prompt_total()
    }

    /// Returns true if the request read beyond a place of its prompt, so that the place had not changed.
    pub(super) fn reads_beyond(&self, place: Tokens) -> bool {
        self.split.read > place + NOISE
    }

    /// Returns true if thinking that was taken out at a place does not explain the miss: the request read beyond the
    /// place, and sent much behind it again.
    ///
    /// (All but new content is read where the client had sent the shorter prompt before, as for a suggestion.)
    pub(super) fn kept_thinking(&self, place: Tokens) -> bool {
        let end = self.previous_split.cached_end().min(self.prompt.total);
        self.reads_beyond(place) && end.saturating_sub(self.split.read) > LARGE_MISS
    }

    /// Version of Claude Code; `None` for another client.
    pub(super) fn version(&self) -> Option<ClientVersion> {
        let is_own = self.request.client == Client::ClaudeCode;
        let version = self.history.text(self.request.client_version).filter(|_| is_own)?;
        Some(ClientVersion::parse(version))
    }

    pub(super) fn has(&self, sign: Sign) -> bool {
        self.signs.contains(sign)
    }

    pub(super) fn has_any(&self, signs: Signs) -> bool {
        !self.signs.is_disjoint(signs)
    }

    /// First line with each of some signs, as evidence.
    pub(super) fn evidence_of(&self, signs: Signs) -> Vec<Evidence> {
        let first = |sign: Sign| self.trail.iter().find(|entry| entry.signs.contains(sign));
        signs
            .iter()
            .filter_map(|sign| Some((sign, first(sign)?)))
            .map(|(sign, entry)| Evidence::of_sign(self.request.file, entry.line, sign))
            .collect()
    }

    /// Evidence in a field of this request's answer.
    pub(super) fn answer_field(
        &self,
        field: &'static str,
        meaning: impl Into<String>,
    ) -> Vec<Evidence> {
        vec![Evidence::of_field(self.request, field, meaning)]
    }

    /// Candidate with evidence in a field of this request's answer.
    pub(super) fn candidate(
        &self,
        cause: Cause,
        confidence: Confidence,
        field: &'static str,
        meaning: impl Into<String>,
    ) -> Candidate {
        Candidate::new(cause, confidence, self.answer_field(field, meaning))
    }

    /// Evidence in the readable length.
    pub(super) fn by_length(&self) -> Vec<Evidence> {
        self.answer_field(READ_FIELD, self.readable.meaning())
    }

    /// Returns true if a rewrite explains the loss: lines show the part of the messages that was kept, and
    /// that part was read.
    pub(super) fn is_explained_by_rewrite(&self) -> bool {
        self.step.readable_place().is_none_or(|kept| self.split.read + NOISE >= kept)
    }

    /// Lines that show a rewrite, with the part that they say was kept.
    pub(super) fn evidence_of_rewrite(&self, signs: Signs) -> Vec<Evidence> {
        let mut evidence = self.evidence_of(signs);
        let Kept::Until { request, .. } = self.step.kept else { return evidence };
        if self.step.is_rewritten && !evidence.is_empty() {
            let kept = grouped(self.step.kept_end.0);
            let distance = if self.step.readable_place().is_some() {
                String::new()
            } else {
                format!(", further than the {LOOKBACK} positions that a marker looks back over")
            };
            let meaning =
                format!("what was cached here stands in front of it: {kept} tokens{distance}");
            let request = self.history.request(request);
            evidence.push(Evidence::of_field(request, "message.usage", meaning));
        }
        evidence
    }

    /// Returns true if a turn ended before the request.
    ///
    /// The client then reads its settings again.
    pub(super) fn begins_turn(&self) -> bool {
        self.request.between.has_prompt
    }

    /// Returns true if at most tools and system prompt were readable: something changed before the messages,
    /// or at their very beginning.
    pub(super) fn fell_to_system(&self) -> bool {
        match self.readable {
            Readable::Nothing | Readable::SharedPrefix | Readable::WholeSystem => true,
            Readable::PreviousRead
            | Readable::EarlierEnd(_)
            | Readable::EarlierRead
            | Readable::NewLength => {
                self.system_end > Tokens::ZERO && self.is_about_system(self.split.read)
            }
        }
    }

    /// Returns true if messages were readable, so that tools and system prompt had not changed.
    pub(super) fn reaches_into_messages(&self) -> bool {
        if self.fell_to_system() {
            return false;
        }
        let is_behind_system = if self.system_end > Tokens::ZERO {
            !self.is_about_system(self.split.read)
        } else {
            // Unknown, but tools and system prompt are rarely most of a continued conversation.
            self.split.read.is_at_least_percent_of(50, self.previous_split.cached_end())
        };
        matches!(self.readable, Readable::EarlierEnd(_)) || is_behind_system
    }

    fn is_about_system(&self, read: Tokens) -> bool {
        u128::from(read.0) * 100
            <= u128::from(self.system_end.0) * u128::from(SYSTEM_WITHIN_PERCENT)
    }
}

/// Lifetime of the entries of a request without markers, in milliseconds, if its rules are known.
pub(super) fn kept_for(history: &History, index: RequestIndex) -> Option<i64> {
    if history.is_marked(index) {
        return None;
    }
    Some(expectation(history, index).ok()?.rules.lifetime())
}

/// Every sign of a change before the messages.
fn signs_of_change() -> Signs {
    Sign::ToolsLoaded
        | Sign::ToolsAdded
        | Sign::ToolsRemoved
        | Sign::ToolCommand
        | Sign::BridgeConnected
        | Sign::AgentsChanged
        | Sign::SettingsCommand
        | Sign::McpInstructionsChanged
        | Sign::SessionResumed
        | Sign::SessionStarted
        | Sign::Exit
        | Sign::SkillLoaded
        | Sign::OtherCommand
}

/// First request of a sub-agent, sent before a sibling's write could be read.
pub(super) struct Sibling {
    pub(super) request: RequestIndex,
    /// Time from the start of the sibling that first wrote the prefix, in milliseconds.
    pub(super) gap: i64,
    /// Length of the prefix that they share.
    pub(super) shared: Tokens,
    pub(super) candidate: Candidate,
}

/// Largest difference in per cent of the prompts of one kind of agent, which differ only by their task.
const SAME_KIND_WITHIN_PERCENT: u64 = 2;

/// Most later siblings examined, as hostile sessions may have any number.
const MOST_LATER: usize = 64;

/// Siblings of all sessions that could not read each other's writes.
///
/// A later sibling shows that agents share a prefix: it reads more than the first ones found. If none came
/// later inside the TTL, nothing is reported.
pub(super) fn siblings(history: &History, steps: &[Step]) -> Vec<Sibling> {
    let mut families: FxHashMap<(Symbol, Symbol), Vec<RequestIndex>> = FxHashMap::default();
    for (index, request) in history.of_transcripts().iter().enumerate() {
        let is_first = request.predecessor.is_none() && !request.between.has_hole;
        if request.agent.is_some() && is_first {
            families
                .entry((request.session, request.model))
                .or_default()
                .push(RequestIndex::new(index));
        }
    }
    let mut found: Vec<Sibling> =
        families.values().flat_map(|family| of_family(history, steps, family)).collect();
    // A hash map has no order, and the same input gives the same bytes.
    found.order_by_key(|sibling| sibling.request);
    found
}

/// Siblings of one family, whose requests are sorted by their starts.
fn of_family(history: &History, steps: &[Step], family: &[RequestIndex]) -> Vec<Sibling> {
    let mut found = Vec::new();
    let mut first = 0;
    while first < family.len() {
        let writer = history.request(family[first]);
        let together = family[first + 1..]
            .iter()
            .take_while(|index| !is_visible(writer, history.request(**index)))
            .count();
        let (side_by_side, later) = family[first + 1..].split_at(together);
        let later = later.iter().take(MOST_LATER);
        let mut shown = later.filter_map(|later| reads_of(history, steps, family[first], *later));
        if let Some(later) = shown.next() {
            let unseen = side_by_side.iter().filter(|index| {
                let own = history.request(**index);
                is_of_one_kind(writer, own)
                    && own.recorded().prompt.cached_end() >= later.shared
                    && later.shared.saturating_sub(own.recorded().prompt.read) > LARGE_MISS
            });
            found.extend(unseen.map(|index| sibling(history, writer, *index, &later)));
        }
        first += together + 1;
    }
    found
}

/// Returns true if two agents have prompts of about the same length, like agents of one kind.
fn is_of_one_kind(one: &Request, other: &Request) -> bool {
    let (one, other) = (one.prompt_total(), other.prompt_total());
    one.abs_diff(other) <= one.max(other).share(SAME_KIND_WITHIN_PERCENT, 100)
}

/// Returns true if a request could read a write: by the lines, the response to the writer had begun.
fn is_visible(writer: &Request, reader: &Request) -> bool {
    writer.answered.is_none_or(|answered| reader.start >= answered)
}

/// Read of a later sibling.
struct Later {
    request: RequestIndex,
    shared: Tokens,
}

fn reads_of(
    history: &History,
    steps: &[Step],
    writer: RequestIndex,
    later: RequestIndex,
) -> Option<Later> {
    let (wrote, read) = (history.request(writer), history.request(later));
    let ttl = steps[writer.get()].ttl?.messages;
    let shared = read.recorded().prompt.read;
    let written = wrote.recorded().prompt;
    let shows_it = read.start.since(wrote.start) < ttl.millis()
        && shared > written.read
        && shared <= written.cached_end();
    shows_it.then_some(Later { request: later, shared })
}

fn sibling(history: &History, writer: &Request, index: RequestIndex, later: &Later) -> Sibling {
    let request = history.request(index);
    let reader = history.request(later.request);
    let evidence = vec![
        Evidence::of_field(
            writer,
            "timestamp",
            "a sibling that was started before had not been answered yet",
        ),
        Evidence::of_field(
            reader,
            "message.usage.cache_read_input_tokens",
            format!("a later sibling read {} tokens of what they share", later.shared.0),
        ),
    ];
    Sibling {
        request: index,
        gap: request.start.since(writer.start),
        shared: later.shared,
        candidate: Candidate::new(Cause::WriteNotVisible, Confidence::Medium, evidence),
    }
}
