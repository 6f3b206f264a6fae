//! Contexts that a client stores at another provider: the choice of contexts and lifetimes, and the
//! cost of keeping them.

use super::plan::Purpose;
use super::run::{Added, AddedRun, Material, Simulated};
use crate::base::{Basis, Millis, Picodollars, Tokens, duration, grouped, side_by_side};
use crate::simulate::cache::{Outcome, Storing, simulate_stored};
use crate::simulate::provider::Writes;

const MINUTE: i64 = 60 * 1_000;
const HOUR: i64 = 60 * MINUTE;

/// Lifetimes after the last use from which a client may choose, in milliseconds.
const LIFETIMES: [i64; 5] = [5 * MINUTE, 15 * MINUTE, HOUR, 4 * HOUR, 24 * HOUR];

/// Largest numbers of tokens after a stored context from which a client may choose.
const MOST_AFTER: [Option<Tokens>; 6] = [
    None,
    Some(Tokens(8_000)),
    Some(Tokens(16_000)),
    Some(Tokens(32_000)),
    Some(Tokens(64_000)),
    Some(Tokens(128_000)),
];

/// Price of keeping a token for an hour, in picodollars.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Storage(Picodollars);

impl Storage {
    /// Price of a service.
    pub(super) fn of(writes: Writes) -> Self {
        match writes {
            Writes::AnHour(price) => Self(price),
            _ => Self(Picodollars::ZERO),
        }
    }

    /// Cost of keeping tokens for a time in milliseconds, rounded down: parts of a time cost no
    /// more than all of it.
    pub(super) fn cost(self, tokens: Tokens, millis: i64) -> Picodollars {
        let token_millis = i128::from(tokens.0) * i128::from(millis.max(0));
        Picodollars(self.0.0.saturating_mul(token_millis) / i128::from(HOUR))
    }
}

/// Simulates the storing of a client; the trace is in the service's counts.
pub(super) fn simulate(storing: Storing, storage: Storage, material: Material<'_>) -> Simulated {
    let (outcomes, contexts) = simulate_stored(material.trace, storing);
    let added = contexts.iter().map(|context| {
        let cost = storage.cost(context.tokens, context.kept());
        stored(context.place, context.from, context.tokens, cost)
    });
    Simulated { outcomes, added: added.collect(), ..Simulated::default() }
}

/// Cheapest of several ways to store contexts, the first one of equals.
pub(super) fn cheapest(storage: Storage, material: Material<'_>) -> Simulated {
    let ways = LIFETIMES.into_iter().flat_map(|lifetime| {
        MOST_AFTER.into_iter().map(move |most_after| Storing { lifetime, most_after })
    });
    let ways: Vec<Storing> = ways.collect();
    let cost = |storing: &Storing| {
        let costs = material.costs(&simulate(*storing, storage, material));
        costs.main + costs.agents
    };
    let costs: Vec<Picodollars> = side_by_side(&ways, cost);
    let cheapest = ways.into_iter().zip(costs).min_by_key(|(_, cost)| *cost);
    let Some((storing, _)) = cheapest else { return Simulated::default() };
    Simulated { choices: vec![in_words(storing)], ..simulate(storing, storage, material) }
}

fn in_words(storing: Storing) -> String {
    let kept = duration(storing.lifetime);
    storing.most_after.map_or_else(
        || format!("the beginning of each conversation stored, kept for {kept} without use"),
        |most| {
            let most = grouped(most.0);
            format!(
                "all of a prompt stored once {most} tokens are not, kept for {kept} without use"
            )
        },
    )
}

/// Request that stores a prefix before another one.
pub(super) fn stored(place: usize, at: Millis, tokens: Tokens, storage: Picodollars) -> AddedRun {
    let outcome = Outcome { input: tokens, basis: Basis::Estimated, ..Outcome::default() };
    let purpose = Purpose::Store;
    AddedRun::one(Added { after: place, purpose, at, outcome, output: Tokens::ZERO, storage })
}
