//! What a transcript does not say of a prompt, estimated for each request from earlier requests
//! and from other sessions; never from its own split or from what came after it in its chain.

use rustc_hash::FxHashMap;

use super::background::{BackgroundHabits, BackgroundMemory, ExpectedBackground};
use super::shared_prefix::{PrefixMemory, SharedPrefixes};
use super::step::Step;
use super::tail::Tails;
use super::version::ClientVersions;
use crate::base::id::Symbol;
use crate::base::units::Tokens;
use crate::requests::conversation::History;

/// The estimates for one request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Calibrated {
    /// What stands after the last marker.
    pub(super) uncached_tail: Tokens,
    /// A background request before it.
    pub(super) background: Option<ExpectedBackground>,
    /// The size of tools and system prompt.
    pub(super) system_prefix: Tokens,
    /// What other traffic keeps warm.
    pub(super) shared_prefix: Tokens,
}

#[derive(Default)]
struct ChainMemory {
    background: BackgroundMemory,
    prefix: PrefixMemory,
}

/// The estimates for all requests, in the history's order.
pub(super) fn calibrate<'a>(
    history: &'a History,
    steps: &'a [Step],
) -> impl Iterator<Item = Calibrated> + 'a {
    let versions = ClientVersions::of_all(history);
    let (habits, prefixes) = rayon::join(
        || BackgroundHabits::collect(history, steps),
        || SharedPrefixes::collect(history, &versions, steps),
    );
    let mut tails = Tails::default();
    let mut chains: FxHashMap<(Symbol, Option<Symbol>), ChainMemory> = FxHashMap::default();
    history.of_transcripts().iter().zip(steps).map(move |(request, step)| {
        let memory = chains.entry((request.session, request.agent)).or_default();
        let prefix = &memory.prefix;
        let calibrated = Calibrated {
            uncached_tail: tails.expect(request, step),
            background: habits.expect(history, &versions, request, step, &memory.background),
            system_prefix: prefixes.system_prefix(history, &versions, request, step, prefix),
            shared_prefix: prefixes.shared_prefix(history, &versions, request, step, prefix),
        };
        tails.learn(request, step);
        BackgroundHabits::learn(history, request, step, &mut memory.background);
        SharedPrefixes::learn(request, step, &mut memory.prefix);
        calibrated
    })
}
