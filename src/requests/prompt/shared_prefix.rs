//! Prefix before a conversation: the size of tools and system prompt, and the part of them that outlives the
//! conversation's own cache.
//!
//! A transcript has neither, but requests reveal them. A request after a rewrite reads just the tools and the
//! system prompt. A request after an expiry reads just the prefix that other traffic kept warm. The first of
//! a chain reads the prefix that was warm when it began. The estimate for a request comes from earlier
//! requests of its chain, otherwise from other sessions, first those of the same project and client.
//!
//! With `--shared-prefix cold` nothing is readable after an expiry, a rewrite inside the TTL finds the prefix
//! that the chain's first request read, and sessions do not keep one another's entries alive. Each chain is
//! on its own, as in the generator that the tests compare with.

use rustc_hash::FxHashMap;

use super::calibrate::{Tallies, Tally};
use super::observations::{Observation, Observations, Sample, kind};
use super::{ClientVersion, ClientVersions, Kept, Step, StepKind};
use crate::base::{Symbol, Tokens};
use crate::requests::content::Ratio;
use crate::requests::conversation::{History, Request};

/// First version whose static prompt is cached for all users together, so that it is nearly always warm.
const SHARED_BY_ALL_SINCE: ClientVersion = ClientVersion::new(2, 1, 84);

/// Percentage of the prompt above which a read was no rewrite: something unrecorded had cached it.
const TELLING_BELOW_PERCENT: u64 = 90;

/// Circumstances in which expiries are comparable, which include the client's version.
type ExpiryKind = (Symbol, bool, Option<Symbol>);

/// Prefixes that all sessions reveal.
#[derive(Default)]
pub(super) struct SharedPrefixes {
    rewrites: Observations,
    openings: Observations,
    /// Counts of expiries after which something was still readable, or not.
    survival: Tallies<ExpiryKind>,
}

/// Sub-agents with the same tools and system prompt: of one session, one type and one model.
type SiblingKind = (Symbol, Option<Symbol>, Symbol);

/// Largest first reads of the sub-agents so far.
#[derive(Default)]
pub(super) struct Siblings(FxHashMap<SiblingKind, Tokens>);

impl Siblings {
    fn kind(history: &History, request: &Request) -> Option<SiblingKind> {
        let kind = history.agent_types.get(&request.agent?).copied();
        Some((request.session, kind, request.model))
    }

    fn first_read(&self, history: &History, request: &Request) -> Option<Tokens> {
        self.0.get(&Self::kind(history, request)?).copied()
    }

    /// Learns from the first request of a chain. A cold one shows nothing.
    pub(super) fn learn(&mut self, history: &History, request: &Request, step: &Step) {
        let read = request.recorded().prompt.read;
        if step.kind == StepKind::Opening
            && read > Tokens::ZERO
            && let Some(kind) = Self::kind(history, request)
        {
            let known = self.0.entry(kind).or_default();
            *known = read.max(*known);
        }
    }
}

/// Tokens of the words that the client puts in front of a sub-agent's first message, on no line.
///
/// (Measured: 307 to 362 in 8 of 9 sub-agents of 2.1.15 to 2.1.92 whose tools and system prompt are known.)
const WORDS_IN_FRONT: u64 = 340;

/// Prompt of a sub-agent's first request without its messages, whose size is estimated from their bytes.
///
/// `None` if the prompt may hold more than its lines show.
fn counted_prefix(history: &History, request: &Request, step: &Step) -> Option<Tokens> {
    let between = &request.between;
    let is_opening = step.kind == StepKind::Opening && request.agent.is_some();
    let is_whole = between.user_bytes > 0 && between.attachments == 0 && between.media == 0;
    if !is_opening || !is_whole || between.has_hole {
        return None;
    }
    let ratio = Ratio::usual(&history.facts(request.model).tokenizer);
    let messages = Tokens(ratio.tokens(between.user_bytes) + WORDS_IN_FRONT);
    Some(request.prompt_total().saturating_sub(messages))
}

/// Prefixes that one chain has revealed so far.
#[derive(Clone, Copy, Default)]
pub(super) struct PrefixMemory {
    /// First prompt without its messages.
    counted: Option<Tokens>,
    rewrite: Option<Tokens>,
    expiry: Option<Tokens>,
    /// Tokens that were read the last time that the rest was lost inside the TTL.
    loss: Option<Tokens>,
}

fn expiry_kind(request: &Request) -> ExpiryKind {
    (request.model, request.agent.is_some(), request.client_version)
}

/// Returns true if a read reveals the prefix alone, and not a conversation that something had kept warm.
fn is_telling(request: &Request, step: &Step) -> bool {
    let read = request.recorded().prompt.read;
    // A read of kept messages reveals their end, and not the prefix before them.
    if step.readable_place().is_some_and(|kept| read >= kept) {
        return false;
    }
    // A summary leaves no message that anything could have cached, however much of the prompt was read.
    if request.between.has_compaction && step.kept == Kept::System {
        return read > Tokens::ZERO;
    }
    let cached = request.prompt_total().min(step.previous_end);
    u128::from(read.0) * 100 <= u128::from(cached.0) * u128::from(TELLING_BELOW_PERCENT)
}

impl SharedPrefixes {
    /// Collects the observations of all sessions.
    pub(super) fn collect(history: &History, versions: &ClientVersions, steps: &[Step]) -> Self {
        let (mut rewrites, mut openings) = (Sample::default(), Sample::default());
        let mut survival = Tallies::default();
        for (place, (request, step)) in history.of_transcripts().iter().zip(steps).enumerate() {
            let read = request.recorded().prompt.read;
            let observed = || {
                let opening = history.request(step.opening).recorded().prompt.read;
                Observation::new((history, place), versions.of(request), opening, read)
            };
            match step.kind {
                StepKind::Opening if read > Tokens::ZERO => openings.add(kind(request), observed()),
                StepKind::Rewritten if is_telling(request, step) => {
                    rewrites.add(kind(request), observed());
                }
                StepKind::Expired => {
                    survival.add(expiry_kind(request), request.session, read > Tokens::ZERO);
                }
                _ => {}
            }
        }
        Self { rewrites: rewrites.finish(), openings: openings.finish(), survival }
    }

    /// Size of a request's tools and system prompt.
    pub(super) fn system_prefix(
        &self,
        history: &History,
        versions: &ClientVersions,
        request: &Request,
        step: &Step,
        (memory, siblings): (&PrefixMemory, &Siblings),
    ) -> Tokens {
        if let Some(own) = memory.rewrite {
            return own;
        }
        let opening = history.request(step.opening).recorded().prompt.read;
        let counted = memory.counted.or_else(|| counted_prefix(history, request, step));
        let is_cold = opening == Tokens::ZERO;
        // A first read is exact, but may be of an earlier form of the same agent.
        let of_siblings = siblings.first_read(history, request);
        let of_siblings = of_siblings.filter(|read| counted.is_none_or(|own| is_about(*read, own)));
        if let Some(own) = of_siblings.or(counted).filter(|_| is_cold) {
            return own;
        }
        let rewrites = self.rewrites.of_client(request);
        let openings = self.openings.of_client(request);
        let same_project = |one: &&Observation| one.project == request.project;
        // Chains that found the same prefix warm at their start have the same tools.
        let same_opening = |one: &&Observation| one.opening == opening && opening > Tokens::ZERO;
        // In order from the most to the least specific evidence.
        median(rewrites.clone().filter(same_project))
            .or_else(|| median(rewrites.clone().filter(same_opening)))
            .or_else(|| self.grown(versions, request, opening))
            .or((opening > Tokens::ZERO).then_some(opening))
            .or_else(|| median(rewrites))
            .or_else(|| median(openings.clone().filter(same_project)))
            .or_else(|| median(openings))
            .or_else(|| self.nearest_rewrite(versions, request))
            .unwrap_or(Tokens::ZERO)
    }

    /// Prefix that was warm when the chain began, plus the same growth as in the session of the nearest
    /// client that is no newer: the project's own part of the system prompt.
    fn grown(
        &self,
        versions: &ClientVersions,
        request: &Request,
        opening: Tokens,
    ) -> Option<Tokens> {
        if opening == Tokens::ZERO {
            return None;
        }
        let version = versions.of(request);
        let is_telling = |one: &Observation| {
            one.version <= version && one.opening > Tokens::ZERO && one.read >= one.opening
        };
        let nearest = self.rewrites.nearest_in_project(request, version, is_telling)?;
        Some(opening + nearest.read.saturating_sub(nearest.opening))
    }

    /// Prefix that the nearest client revealed, if possible in the same project.
    fn nearest_rewrite(&self, versions: &ClientVersions, request: &Request) -> Option<Tokens> {
        let version = versions.of(request);
        let in_project = self.rewrites.nearest_in_project(request, version, |_| true);
        in_project.or_else(|| self.rewrites.nearest(request, version)).map(|one| one.read)
    }

    /// Part of a request's prefix that other traffic keeps warm after its own cache has expired.
    pub(super) fn shared_prefix(
        &self,
        history: &History,
        versions: &ClientVersions,
        request: &Request,
        step: &Step,
        memory: &PrefixMemory,
    ) -> Tokens {
        let found = memory.expiry.unwrap_or_else(|| {
            let opening = history.request(step.opening).recorded().prompt.read;
            self.first_shared_prefix(versions, request, opening, memory)
        });
        // A prefix that was lost once, as the system prompt changed, is no longer sent.
        memory.loss.map_or(found, |loss| found.min(loss))
    }

    /// The same part before the chain has shown an expiry, by the read of its first request.
    fn first_shared_prefix(
        &self,
        versions: &ClientVersions,
        request: &Request,
        opening: Tokens,
        memory: &PrefixMemory,
    ) -> Tokens {
        // The warm prefix at the start says more than other sessions, some of which had nothing. (Measured:
        // 24 of 27 first expiries.)
        let is_warm = opening > Tokens::ZERO && versions.of(request) >= SHARED_BY_ALL_SINCE;
        if !is_warm && !self.survives(versions, request) {
            return Tokens::ZERO;
        }
        if opening > Tokens::ZERO { opening } else { memory.rewrite.unwrap_or(Tokens::ZERO) }
    }

    fn survives(&self, versions: &ClientVersions, request: &Request) -> bool {
        let Tally { seen, not_seen } =
            self.survival.elsewhere(expiry_kind(request), request.session);
        if seen + not_seen > 0 {
            seen > not_seen
        } else {
            versions.of(request) >= SHARED_BY_ALL_SINCE
        }
    }

    /// Learns from a request, for later ones in its chain.
    pub(super) fn learn(
        history: &History,
        request: &Request,
        step: &Step,
        memory: &mut PrefixMemory,
    ) {
        memory.counted = counted_prefix(history, request, step).or(memory.counted);
        if !is_telling(request, step) {
            return;
        }
        let read = request.recorded().prompt.read;
        let loss = Some(read).filter(|read| *read > Tokens::ZERO).or(memory.loss);
        match step.kind {
            StepKind::Rewritten => (memory.rewrite, memory.loss) = (Some(read), loss),
            StepKind::Continued => memory.loss = loss,
            StepKind::Expired => (memory.expiry, memory.loss) = (Some(read), None),
            StepKind::Opening | StepKind::ModelChange => {}
        }
    }
}

/// Percentage within which two estimates are of the same tools and system prompt.
const SAME_WITHIN_PERCENT: u64 = 1;

fn is_about(one: Tokens, other: Tokens) -> bool {
    one.abs_diff(other) <= one.max(other).share(SAME_WITHIN_PERCENT, 100)
}

fn median<'a>(observations: impl Iterator<Item = &'a Observation>) -> Option<Tokens> {
    let mut reads: Vec<Tokens> = observations.map(|one| one.read).collect();
    reads.sort_unstable();
    reads.get(reads.len() / 2).copied()
}
