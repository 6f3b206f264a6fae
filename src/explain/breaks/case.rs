//! A shortfall with everything that a rule may look at.

use super::cause::Evidence;
use super::find::NOISE;
use super::readable::{Landmarks, Readable, Reads};
use crate::base::units::Tokens;
use crate::base::wording::grouped;
use crate::read::input::PromptSplit;
use crate::read::transcript::{Sign, Signs};
use crate::requests::conversation::{History, Request, RequestIndex, TrailEntry};
use crate::requests::prompt::{Kept, Prompt, PromptTrace, Step};
use crate::simulate::cache::LOOKBACK;

/// The field that says how much was read.
const READ_FIELD: &str = "message.usage.cache_read_input_tokens";

/// A read up to so many percent above the known end of tools and system prompt is still theirs: a
/// tool or a word more.
const SYSTEM_WITHIN_PERCENT: u64 = 102;

/// How long ago the oldest write was sent that a request could not read.
fn unread_for(history: &History, request: &Request, readable: Readable) -> i64 {
    let writes = match readable {
        Readable::EarlierEnd(steps) => steps.saturating_sub(1),
        _ => 1,
    };
    let mut ancestors =
        std::iter::successors(history.predecessor(request), |one| history.predecessor(one));
    let oldest = writes.checked_sub(1).and_then(|place| ancestors.nth(place));
    oldest.map_or(i64::MAX, |oldest| request.start.since(oldest.start))
}

/// The requests that a case is about.
#[derive(Clone, Copy)]
pub(super) struct Requests {
    pub(super) index: RequestIndex,
    pub(super) previous: RequestIndex,
    /// An earlier request that went on from the same one.
    pub(super) earlier_branch: Option<RequestIndex>,
}

/// A request that fell short, and the one before it.
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
    /// What the rules read in its place.
    pub(super) replayed: Tokens,
    /// From the start of the oldest request whose write was not readable to this one's, in
    /// milliseconds.
    pub(super) unread_for: i64,
    /// An earlier request that went on from the same one.
    pub(super) earlier_branch: Option<RequestIndex>,
    /// Where tools and system prompt end at least, as far as reads show; zero where they do not.
    pub(super) system_end: Tokens,
    trail: Vec<TrailEntry>,
    signs: Signs,
}

impl<'a> Case<'a> {
    pub(super) fn new(
        reads: &Reads<'a>,
        trace: &'a PromptTrace,
        steps: &'a [Step],
        landmarks: &Landmarks,
        requests: Requests,
        readable: Readable,
    ) -> Self {
        let Requests { index, previous, earlier_branch } = requests;
        let history = reads.history();
        let request = history.request(index);
        let prompt = &trace.prompts[index.0];
        let file = &history.files[request.file];
        let mut trail: Vec<TrailEntry> =
            file.trail.back_from(request.between.trail).copied().collect();
        trail.reverse();
        Self {
            history,
            request,
            previous: history.request(previous),
            step: &steps[index.0],
            previous_step: &steps[previous.0],
            prompt,
            split: reads.split(index),
            previous_split: reads.split(previous),
            readable,
            replayed: reads.replayed(index),
            unread_for: unread_for(history, request, readable),
            earlier_branch,
            system_end: landmarks.system_end(request).max(prompt.system_prefix),
            signs: trail.iter().fold(Signs::new(), |signs, entry| signs | entry.signs),
            trail,
        }
    }

    /// Whether nothing was seen that could have changed a prompt, in the middle of a turn, where the
    /// client only appends.
    pub(super) fn is_undisturbed(&self) -> bool {
        !self.begins_turn() && !self.has_any(signs_of_change()) && !self.step.is_rewritten
    }

    pub(super) fn has(&self, sign: Sign) -> bool {
        self.signs.contains(sign)
    }

    pub(super) fn has_any(&self, signs: Signs) -> bool {
        !self.signs.is_disjoint(signs)
    }

    /// The lines that show one of some signs, the first of each.
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

    /// Evidence in what was still readable.
    pub(super) fn by_length(&self) -> Vec<Evidence> {
        self.answer_field(READ_FIELD, self.readable.meaning())
    }

    /// Whether a rewrite before it explains the loss: where lines tell how much of the messages was kept,
    /// that was read.
    pub(super) fn is_explained_by_rewrite(&self) -> bool {
        self.step.readable_place().is_none_or(|kept| self.split.read + NOISE >= kept)
    }

    /// Lines that tell of a rewrite, and how much they say was kept.
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

    /// A turn ended before it: the client looks at its settings anew.
    pub(super) fn begins_turn(&self) -> bool {
        self.request.between.has_prompt
    }

    /// Whether no more than tools and system prompt were readable, or less: the change was in front
    /// of the messages, or at their very beginning.
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

    /// Whether messages were still readable, so that tools and system prompt had not changed.
    pub(super) fn reaches_into_messages(&self) -> bool {
        if self.fell_to_system() {
            return false;
        }
        let is_behind_system = if self.system_end > Tokens::ZERO {
            !self.is_about_system(self.split.read)
        } else {
            // Unknown; but tools and system prompt are not most of a conversation that goes on.
            self.split.read.is_at_least_percent_of(50, self.previous_split.cached_end())
        };
        matches!(self.readable, Readable::EarlierEnd(_)) || is_behind_system
    }

    fn is_about_system(&self, read: Tokens) -> bool {
        u128::from(read.0) * 100
            <= u128::from(self.system_end.0) * u128::from(SYSTEM_WITHIN_PERCENT)
    }
}

/// Every sign of something that changes the prompt in front of the messages.
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
