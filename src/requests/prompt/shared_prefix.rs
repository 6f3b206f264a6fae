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

use super::calibrate::{ClientVersion, ClientVersions, Tallies, Tally};
use super::observations::{Observation, Observations, Sample, kind};
use super::{Step, StepKind};
use crate::base::id::Symbol;
use crate::base::units::Tokens;
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

/// Prefixes that one chain has revealed so far.
#[derive(Clone, Copy, Default)]
pub(super) struct PrefixMemory {
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
    // A read of kept messages reveals their end, and not the prefix before them.
    if step.readable_place().is_some_and(|kept| request.recorded().prompt.read >= kept) {
        return false;
    }
    let cached = request.prompt_total().min(step.previous_end);
    u128::from(request.recorded().prompt.read.0) * 100
        <= u128::from(cached.0) * u128::from(TELLING_BELOW_PERCENT)
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
        memory: &PrefixMemory,
    ) -> Tokens {
        if let Some(own) = memory.rewrite {
            return own;
        }
        let rewrites = self.rewrites.of_client(request);
        let openings = self.openings.of_client(request);
        let same_project = |one: &&Observation| one.project == request.project;
        let opening = history.request(step.opening).recorded().prompt.read;
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
    pub(super) fn learn(request: &Request, step: &Step, memory: &mut PrefixMemory) {
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

fn median<'a>(observations: impl Iterator<Item = &'a Observation>) -> Option<Tokens> {
    let mut reads: Vec<Tokens> = observations.map(|one| one.read).collect();
    reads.sort_unstable();
    reads.get(reads.len() / 2).copied()
}
