//! Estimates of the facts about a prompt that its transcript lacks: for each request from earlier requests of
//! its chain and from other sessions, never from its own split or from later requests of its chain.
//!
//! This file has the estimate of a prompt's tail, which no marker covers and which is sent in full. Most of
//! it is a constant of the model and of the last message (a tool result or a prompt), and some clients put
//! reminders there. Both repeat, so the estimate is the tail of the last request of the same kind. Over a run
//! the errors cancel out, as the next request of the kind takes each one back.
//!
//! Tallies over all sessions can leave a session out, so that nothing is learned for a request from itself.
//! Client versions are compared as numbers.

use std::fmt;
use std::hash::Hash;

use rustc_hash::FxHashMap;

use super::background::{BackgroundHabits, BackgroundMemory, ExpectedBackground};
use super::shared_prefix::{PrefixMemory, SharedPrefixes, Siblings};
use super::{Kept, Step, StepKind};
use crate::base::{Symbol, Tokens};
use crate::requests::conversation::{History, Request};

/// Estimates for one request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Calibrated {
    /// Tokens after the last marker.
    pub(super) uncached_tail: Tokens,
    /// Background request before this one.
    pub(super) background: Option<ExpectedBackground>,
    /// Size of tools and system prompt, in tokens.
    pub(super) system_prefix: Tokens,
    /// Tokens that other traffic keeps warm.
    pub(super) shared_prefix: Tokens,
}

#[derive(Default)]
struct ChainMemory {
    background: BackgroundMemory,
    prefix: PrefixMemory,
}

/// Estimates for all requests, in the history's order.
pub(super) fn calibrate<'a>(
    history: &'a History,
    steps: &'a [Step],
) -> impl Iterator<Item = Calibrated> + 'a {
    let versions = ClientVersions::of_all(history);
    let (habits, prefixes) = rayon::join(
        || BackgroundHabits::collect(history, &versions, steps),
        || SharedPrefixes::collect(history, &versions, steps),
    );
    let (mut tails, mut siblings) = (Tails::default(), Siblings::default());
    let mut chains: FxHashMap<(Symbol, Option<Symbol>), ChainMemory> = FxHashMap::default();
    history.of_transcripts().iter().zip(steps).map(move |(request, step)| {
        let memory = chains.entry(request.conversation()).or_default();
        let prefix = &memory.prefix;
        let tail = tails.expect(request, step);
        let own = (request, step);
        let calibrated = Calibrated {
            uncached_tail: tail,
            background: habits.expect(history, &versions, own, tail, &memory.background),
            system_prefix: prefixes.system_prefix(
                history,
                &versions,
                request,
                step,
                (prefix, &siblings),
            ),
            shared_prefix: prefixes.shared_prefix(history, &versions, request, step, prefix),
        };
        // Learning comes after the estimate, so that no request sees its own split.
        tails.learn(request, step);
        BackgroundHabits::learn(history, &versions, own, &mut memory.background);
        SharedPrefixes::learn(history, request, step, &mut memory.prefix);
        siblings.learn(history, request, step);
        calibrated
    })
}

/// Largest tail that is the constant overhead of a model. Only a larger one is content.
pub const LARGEST_CONSTANT_TAIL: Tokens = Tokens(20);

/// Tail before any request was seen: that of most recent models.
pub(super) const COMMON_TAIL: Tokens = Tokens(2);

/// Circumstances on which the size of a tail depends.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct TailKind {
    model: Symbol,
    client_version: Option<Symbol>,
    is_opening: bool,
    has_prompt: bool,
    is_agent: bool,
}

/// Tails seen so far, in the order of the requests.
#[derive(Default)]
pub(super) struct Tails {
    latest: FxHashMap<TailKind, Tokens>,
    latest_of_model: FxHashMap<Symbol, Tokens>,
}

impl Tails {
    /// Expected tail of a request, in tokens.
    pub(super) fn expect(&self, request: &Request, step: &Step) -> Tokens {
        self.latest
            .get(&TailKind::of(request, step))
            .or_else(|| self.latest_of_model.get(&request.model))
            .copied()
            .unwrap_or(COMMON_TAIL)
            .min(request.prompt_total().saturating_sub(cached_before(request, step)))
    }

    /// Learns from a request, for later ones.
    pub(super) fn learn(&mut self, request: &Request, step: &Step) {
        let prompt = &request.recorded().prompt;
        if prompt.cached_end() > Tokens::ZERO {
            self.latest.insert(TailKind::of(request, step), prompt.input);
            self.latest_of_model.insert(request.model, prompt.input);
        }
    }
}

/// Part of a prompt that was surely cached when it was sent. No tail reaches into it.
fn cached_before(request: &Request, step: &Step) -> Tokens {
    match step.kind {
        StepKind::Opening | StepKind::ModelChange => request.recorded().prompt.read,
        StepKind::Continued | StepKind::Rewritten | StepKind::Expired => match step.kept {
            Kept::System | Kept::Nothing => Tokens::ZERO,
            Kept::All | Kept::Until { .. } => step.kept_end,
        },
    }
}

impl TailKind {
    fn of(request: &Request, step: &Step) -> Self {
        Self {
            model: request.model,
            client_version: request.client_version,
            is_opening: step.kind == StepKind::Opening,
            has_prompt: request.between.has_prompt,
            is_agent: request.agent.is_some(),
        }
    }
}

/// Numbers of cases seen and not seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) seen: u32,
    pub(super) not_seen: u32,
}

impl Tally {
    fn add(&mut self, was_seen: bool) {
        if was_seen {
            self.seen += 1;
        } else {
            self.not_seen += 1;
        }
    }
}

/// Tallies by the circumstances.
pub(super) struct Tallies<K> {
    all: FxHashMap<K, Tally>,
    by_session: FxHashMap<(K, Symbol), Tally>,
}

impl<K> Default for Tallies<K> {
    fn default() -> Self {
        Self { all: FxHashMap::default(), by_session: FxHashMap::default() }
    }
}

impl<K: Copy + Eq + Hash> Tallies<K> {
    pub(super) fn add(&mut self, kind: K, session: Symbol, was_seen: bool) {
        self.all.entry(kind).or_default().add(was_seen);
        self.by_session.entry((kind, session)).or_default().add(was_seen);
    }

    /// Tally of all other sessions.
    pub(super) fn elsewhere(&self, kind: K, session: Symbol) -> Tally {
        let all = self.all.get(&kind).copied().unwrap_or_default();
        let own = self.by_session.get(&(kind, session)).copied().unwrap_or_default();
        Tally { seen: all.seen - own.seen, not_seen: all.not_seen - own.not_seen }
    }
}

/// Client version as `major.minor.patch`. Missing or other parts count as 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ClientVersion(u32, u32, u32);

impl fmt::Display for ClientVersion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}.{}", self.0, self.1, self.2)
    }
}

impl ClientVersion {
    pub(crate) const fn new(major: u32, minor: u32, patch: u32) -> Self {
        Self(major, minor, patch)
    }

    /// Version later than every real one.
    pub(super) const LAST: Self = Self(u32::MAX, u32::MAX, u32::MAX);

    pub(crate) fn parse(text: &str) -> Self {
        let mut parts = text.split('.').map(|part| part.parse().unwrap_or(0));
        let mut next = || parts.next().unwrap_or(0);
        Self(next(), next(), next())
    }

    /// Distance of two versions, most significant part first.
    pub(super) fn distance(self, other: Self) -> (u32, u32, u32) {
        (self.0.abs_diff(other.0), self.1.abs_diff(other.1), self.2.abs_diff(other.2))
    }
}

/// Versions of the clients that sent the requests of a history.
pub(super) struct ClientVersions(FxHashMap<Option<Symbol>, ClientVersion>);

impl ClientVersions {
    /// Versions of all requests.
    pub(super) fn of_all(history: &History) -> Self {
        let mut versions = FxHashMap::default();
        for request in history.of_transcripts() {
            versions.entry(request.client_version).or_insert_with(|| {
                ClientVersion::parse(history.text(request.client_version).unwrap_or_default())
            });
        }
        Self(versions)
    }

    /// Version of a request's client.
    pub(super) fn of(&self, request: &Request) -> ClientVersion {
        self.0.get(&request.client_version).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Symbols;

    #[test]
    fn a_session_does_not_learn_from_itself() {
        let mut symbols = Symbols::default();
        let (a, b) = (symbols.intern("a"), symbols.intern("b"));
        let mut tallies = Tallies::default();
        for (session, was_seen) in [(a, true), (a, false), (b, true)] {
            tallies.add("kind", session, was_seen);
        }
        assert_eq!(tallies.elsewhere("kind", a), Tally { seen: 1, not_seen: 0 });
        assert_eq!(tallies.elsewhere("kind", b), Tally { seen: 1, not_seen: 1 });
        assert_eq!(tallies.elsewhere("other", a), Tally::default());
    }

    #[test]
    fn versions_compare_as_numbers() {
        assert!(ClientVersion::parse("2.1.9") < ClientVersion::parse("2.1.84"));
        assert!(ClientVersion::parse("2.1.150") > ClientVersion::parse("2.1.84"));
        assert_eq!(ClientVersion::parse("x.1"), ClientVersion::new(0, 1, 0));
    }
}
