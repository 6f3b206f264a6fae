//! Bound: the lowest possible cost of the same prompts under any choice of markers, TTLs and pings,
//! with every gap known in advance.
//!
//! A dynamic program runs over each thread (the consecutive requests of one conversation). Its
//! states are the depth down to which the cache is alive, and the depth down to which it lives for
//! an hour. Each request reads the live part, and chooses how far to write and for how long. Each
//! gap chooses a prefix to keep alive by pings. Only a few ends are worth writing to: the prompt's
//! own, and those at which later requests diverge, since everything in between has the same future.
//!
//! A prefix that a thread shares with others (parallel branches, other sessions) is assumed to be
//! warm for free once another thread has sent it, and so is a prefix to which it returns from
//! another branch. So the bound may be lower than the reachable cost, but never higher.

mod ascent;
mod state;
mod stored;
mod thread;
mod ways;

pub(super) use stored::bound_stored;

use self::state::{Choice, cheapest_choices};
use self::thread::{Thread, threads};
use super::plan::Purpose;
use super::run::{Added, AddedRun, Material, Simulated};
use crate::base::{Basis, Millis, Order as _, Picodollars, Tokens, side_by_side};
use crate::requests::prompt::Prompt;
use crate::simulate::cache::Outcome;
use crate::simulate::pricing::Rates;

/// Cheapest choice for every request.
pub(super) fn bound(material: Material<'_>) -> Simulated {
    let threads = threads(material.trace);
    let solved: Vec<Vec<Choice>> =
        side_by_side(&threads, |thread| cheapest_choices(thread, material));
    let mut outcomes = before_choices(material);
    let mut added: Vec<AddedRun> = Vec::new();
    for (thread, choices) in threads.iter().zip(&solved) {
        for (request, choice) in thread.requests.iter().zip(choices) {
            outcomes[request.place] = choice.outcome(material.trace.prompts[request.place].total);
        }
        add_pings(thread, choices, material, &mut added);
    }
    added.order_by_key(|run| (run.first.after, run.first.at));
    Simulated { outcomes, added, ..Simulated::default() }
}

/// Outcomes before any choice. Requests that the service refuses whatever their markers are in no thread, and cost
/// nothing.
fn before_choices(material: Material<'_>) -> Vec<Outcome> {
    let outcome = |prompt: &Prompt| Outcome { refusal: prompt.refusal(), ..Outcome::default() };
    material.trace.prompts.iter().map(outcome).collect()
}

/// Adds the pings after each request, at equal intervals.
fn add_pings(
    thread: &Thread,
    choices: &[Choice],
    material: Material<'_>,
    added: &mut Vec<AddedRun>,
) {
    for (request, choice) in thread.requests.iter().zip(choices) {
        let start = material.trace.prompts[request.place].start;
        for pings in &choice.pings {
            let outcome =
                Outcome { read: pings.read, basis: Basis::Estimated, ..Outcome::default() };
            let first = Added {
                after: request.place,
                purpose: Purpose::KeepAlive,
                at: Millis::new(start.get().saturating_add(pings.delay + pings.every)),
                outcome,
                // The service has to answer something, and one token is the least.
                output: Tokens(1),
                storage: Picodollars::ZERO,
            };
            if pings.count > 0 {
                added.push(AddedRun { first, count: pings.count, every: pings.every });
            }
        }
    }
}

/// Weights for a model without a price, those of all current models: reads at a tenth of the input,
/// writes at 1.25 and 2 times it, output at 5 times.
const USUAL: Rates = Rates {
    input: Picodollars(100),
    cache_write_5m: Picodollars(125),
    cache_write_1h: Picodollars(200),
    cache_write_12h: None,
    cache_read: Picodollars(10),
    output: Picodollars(500),
};

/// Split of a prompt: the ends of the parts that are read, written for an hour, and written for five minutes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Split {
    read: Tokens,
    hour: Tokens,
    written: Tokens,
}

/// Prices of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Prices(Rates);

impl Prices {
    fn of(rates: Option<&Rates>) -> Self {
        Self(*rates.unwrap_or(&USUAL))
    }

    /// Cost of a prompt that is split in this way.
    fn prompt(&self, split: Split, total: Tokens) -> Picodollars {
        let hour = split.hour.saturating_sub(split.read);
        let five_minutes = split.written.saturating_sub(split.hour.max(split.read));
        let input = total.saturating_sub(split.written.max(split.hour).max(split.read));
        self.0.cache_read.times(split.read)
            + self.0.cache_write_1h.times(hour)
            + self.0.cache_write_5m.times(five_minutes)
            + self.0.input.times(input)
    }

    /// Returns true if writing these tokens now for five minutes and reading them at the next
    /// request, which counts them in its own way, is no more expensive than sending them in full
    /// twice.
    fn write_pays(&self, written: Tokens, next: &Self, read: Tokens) -> bool {
        let once = self.0.cache_write_5m.times(written) + next.0.cache_read.times(read);
        once <= self.0.input.times(written) + next.0.input.times(read)
    }

    /// Cost of pings that read a prefix and answer one token each.
    fn pings(&self, count: i64, read: Tokens) -> Picodollars {
        let one = self.0.cache_read.times(read) + self.0.output;
        Picodollars(one.0.saturating_mul(i128::from(count)))
    }
}
