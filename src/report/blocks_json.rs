//! `cachesim.blocks/v1`: windows of five hours and weeks, with the use of each.

use std::io::{self, Write};

use serde::Serialize;

use super::context_json::{ContextTotalsObject, KindObject, kinds};
use super::{Inputs, Prices, is_zero, write_versioned};
use crate::base::{Basis, Millis, Order as _, Picodollars, Tokens};
use crate::explain::blocks::{
    Block, BlockLength, BlockUse, Burn, LimitFit, Projection, Quota, Weight,
};
use crate::explain::breaks::Sum;
use crate::read::agent::LimitReading;
use crate::requests::conversation::History;
use crate::simulate::ledger::{Ledger, Totals};

pub(super) const SCHEMA: &str = "cachesim.blocks/v1";

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct BlocksObject<'a> {
    /// Table of list prices.
    prices: Prices<'a>,
    /// Input read.
    inputs: Inputs,
    /// Present time: a window that holds this moment is open.
    now: Millis,
    /// Requests sent after it, which are in no window; left out if there are none.
    #[serde(skip_serializing_if = "is_zero")]
    later_requests: u64,
    /// Windows by service and length, the most expensive service first.
    quotas: Vec<QuotaObject<'a>>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct QuotaObject<'a> {
    /// Service that limits the windows.
    service: &'static str,
    /// Length of a window.
    length: BlockLength,
    /// True if plans of the service are known to count over such windows.
    is_known: bool,
    /// Windows with selected requests, in order of time.
    blocks: Vec<BlockObject<'a>>,
    /// Outlook for the open window; null if none is open.
    burn: Option<BurnObject>,
    /// Use behind a per cent of each limit.
    fits: Vec<FitObject<'a>>,
}

impl<'a> QuotaObject<'a> {
    fn of(history: &'a History, quota: &'a Quota, now: Millis) -> Self {
        let Quota { service, length, blocks, burn, fits } = quota;
        Self {
            service: service.label(),
            length: *length,
            is_known: service.has_known_windows(),
            blocks: blocks.iter().map(|block| BlockObject::of(history, block, now)).collect(),
            burn: burn.as_ref().map(|burn| BurnObject::of(quota, burn, now)),
            fits: fits.iter().map(|fit| FitObject::of(history, fit)).collect(),
        }
    }
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct BlockObject<'a> {
    /// Start of the window.
    start: Millis,
    /// End, exclusive.
    end: Millis,
    /// Measured if the client recorded its end.
    basis: Basis,
    /// Time without a window before it, in milliseconds.
    idle_before_ms: i64,
    /// True if open now.
    is_open: bool,
    /// Time of its first request.
    first_request: Millis,
    /// Time of the last one.
    last_request: Millis,
    /// All requests.
    totals: UsedObject,
    /// Sums of main conversations.
    main: UsedObject,
    /// Sums of sub-agents by type, the most expensive first. With `main` they add up to `totals`.
    agents: Vec<AgentObject<'a>>,
    /// Breaks that are neither of the next two, which something can be done about. All three are part of the
    /// totals.
    breaks: LossObject,
    /// Entries that expired in pauses.
    expiries: LossObject,
    /// Compactions, and old tool results that were cleared.
    compactions: LossObject,
    /// Contents of the prompts.
    contents: ContentsObject<'a>,
    /// First and newest reading of the limit in the window; null if none was recorded.
    limit: Option<[ReadingObject<'a>; 2]>,
    /// Same for each other recorded limit.
    other_limits: Vec<[ReadingObject<'a>; 2]>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct UsedObject {
    /// Requests in these sums.
    requests: u64,
    /// Tokens neither read from cache nor written to it.
    input_tokens: Tokens,
    /// Tokens read from cache.
    cache_read_input_tokens: Tokens,
    /// Tokens written for five minutes, or for the usual lifetime of another service.
    ephemeral_5m_input_tokens: Tokens,
    /// Tokens written for an hour, or for the longer lifetime of another service.
    ephemeral_1h_input_tokens: Tokens,
    /// Tokens of the answers.
    output_tokens: Tokens,
    /// Cost of all of it at list prices, in dollars; null if nothing has a price.
    cost_usd: Option<Picodollars>,
    /// Requests whose model has no price, which the cost leaves out; left out if there are none.
    #[serde(skip_serializing_if = "is_zero")]
    unpriced_requests: u64,
    /// Requests without recorded usage, which are left out of the sums; left out if there are none.
    #[serde(skip_serializing_if = "is_zero")]
    requests_without_usage: u64,
}

impl From<Totals> for UsedObject {
    fn from(totals: Totals) -> Self {
        Self {
            requests: totals.requests,
            input_tokens: totals.input,
            cache_read_input_tokens: totals.read,
            ephemeral_5m_input_tokens: totals.write_5m,
            ephemeral_1h_input_tokens: totals.write_1h,
            output_tokens: totals.output,
            cost_usd: totals.cost(),
            unpriced_requests: totals.unpriced_requests,
            requests_without_usage: totals.unrecorded,
        }
    }
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct AgentObject<'a> {
    /// Type of the sub-agents; null if it is not known.
    agent_type: Option<&'a str>,
    /// Their requests.
    totals: UsedObject,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct LossObject {
    /// Their number.
    count: u64,
    /// Tokens that were sent again.
    rewritten_tokens: Tokens,
    /// Cost beyond reading them, in dollars; null if nothing has a price.
    lost_usd: Option<Picodollars>,
    /// Losses without a price; left out if none.
    #[serde(skip_serializing_if = "is_zero")]
    unpriced: u64,
}

impl From<Sum> for LossObject {
    fn from(sum: Sum) -> Self {
        Self {
            count: sum.breaks,
            rewritten_tokens: sum.rewritten,
            lost_usd: sum.excess(),
            unpriced: sum.costs.unknown,
        }
    }
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ContentsObject<'a> {
    /// Every kind of content, the most expensive first.
    kinds: Vec<KindObject<'a>>,
    /// Sums of the requests.
    totals: ContextTotalsObject,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ReadingObject<'a> {
    /// Time of the record.
    at: Millis,
    /// Used part of the limit, in per cent.
    used_percent: f64,
    /// Limit; null if it has no name.
    limit: Option<&'a str>,
    /// Plan of the limit; null if unknown.
    plan: Option<&'a str>,
}

impl<'a> ReadingObject<'a> {
    fn pair(history: &'a History, both: [LimitReading; 2]) -> [Self; 2] {
        both.map(|one| Self::of(history, &one))
    }

    fn of(history: &'a History, reading: &LimitReading) -> Self {
        Self {
            at: reading.at,
            // Readings are in hundredths of a per cent.
            used_percent: f64::from(reading.used) / 100.0,
            limit: history.text(reading.limit),
            plan: history.text(reading.plan),
        }
    }
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct BurnObject {
    /// Use so far, in dollars at list prices. All figures here are of all requests, selected or not.
    so_far_usd: Picodollars,
    /// Requests so far without a price, which no amount has; left out if there are none.
    #[serde(skip_serializing_if = "is_zero")]
    unpriced_requests: u64,
    /// Latest use, in dollars.
    lately_usd: Picodollars,
    /// Its length, in milliseconds: an hour, of a week a day.
    lately_ms: i64,
    /// Rest of the open window, in milliseconds.
    left_ms: i64,
    /// Use at its end at that rate, in dollars.
    at_last_rate_usd: Picodollars,
    /// Time at which all of the recorded limit is used at that rate; null if not before the window ends, or
    /// no limit is recorded whose per cents fit list prices.
    all_used_at: Option<Millis>,
    /// Likely use at its end, by earlier windows; null if these are too few.
    projection: Option<Projection>,
    /// Number of earlier windows to go by: those that were in use, or were not, for the same time into them.
    earlier_windows: usize,
}

impl BurnObject {
    fn of(quota: &Quota, burn: &Burn, now: Millis) -> Self {
        Self {
            so_far_usd: burn.so_far.sum,
            unpriced_requests: burn.so_far.unknown,
            lately_usd: burn.lately,
            lately_ms: burn.lately_is,
            left_ms: burn.left,
            at_last_rate_usd: burn.at_last_rate(),
            all_used_at: quota.all_used(now),
            projection: burn.projection,
            earlier_windows: burn.earlier_windows,
        }
    }
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct FitObject<'a> {
    /// Limit; null if it has no name.
    limit: Option<&'a str>,
    /// Plan of the limit; null if unknown.
    plan: Option<&'a str>,
    /// Number of readings compared to use.
    readings: usize,
    /// Number of their windows.
    windows: usize,
    /// Per cent of the limit that a dollar at list prices takes; null if classes of tokens fit better.
    percent_per_dollar: Option<f64>,
    /// Per cent of the limit that a million tokens take, by class; null if list prices fit better.
    percent_per_million_tokens: Option<ClassesObject>,
    /// Error of the readings, as the root of the mean square, in points of per cent.
    error_points: f64,
    /// Error of the growth within a window if the weights come from the other windows, in points; null with
    /// one window.
    held_out_points: Option<f64>,
    /// Basis of the figures.
    basis: Basis,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ClassesObject {
    /// Neither read from cache nor written to it.
    input: f64,
    /// Read from cache.
    cache_read: f64,
    /// Written to cache.
    cache_write: f64,
    /// Answers.
    output: f64,
}

impl<'a> FitObject<'a> {
    fn of(history: &'a History, fit: &LimitFit) -> Self {
        // Only the better fit is reported.
        let (percent_per_dollar, percent_per_million_tokens) = match fit.weight {
            Weight::Dollar(weight) => (Some(rounded(weight)), None),
            Weight::Classes(weights) => {
                let [input, cache_read, cache_write, output] = weights.map(rounded);
                (None, Some(ClassesObject { input, cache_read, cache_write, output }))
            }
        };
        Self {
            limit: history.text(fit.limit),
            plan: history.text(fit.plan),
            readings: fit.readings,
            windows: fit.windows,
            percent_per_dollar,
            percent_per_million_tokens,
            error_points: rounded(fit.error),
            held_out_points: fit.held_out.map(rounded),
            basis: Basis::Estimated,
        }
    }
}

/// Estimate rounded to six significant digits.
fn rounded(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

impl<'a> BlockObject<'a> {
    fn of(history: &'a History, block: &'a Block, now: Millis) -> Self {
        let BlockUse { all, main, agents, contents, breaks, expiries, compactions } = &block.used;
        // Symbols are numbered as they were read, so types of equal cost are sorted by name.
        let mut agents: Vec<_> = agents.iter().collect();
        agents.order_by_key(|(kind, totals)| {
            (std::cmp::Reverse(totals.cost()), history.text(**kind))
        });
        let agent = |(kind, totals): (&Option<_>, &_)| AgentObject {
            agent_type: history.text(*kind),
            totals: UsedObject::from(*totals),
        };
        Self {
            start: block.span.start,
            end: block.span.end,
            basis: block.span.basis,
            idle_before_ms: block.idle_before,
            is_open: block.is_open(now),
            first_request: block.first,
            last_request: block.last,
            totals: (*all).into(),
            main: (*main).into(),
            agents: agents.into_iter().map(agent).collect(),
            breaks: (*breaks).into(),
            expiries: (*expiries).into(),
            compactions: (*compactions).into(),
            contents: ContentsObject {
                kinds: kinds(history, &contents.kinds),
                totals: (&contents.bill).into(),
            },
            limit: block.readings.map(|both| ReadingObject::pair(history, both)),
            other_limits: block
                .other_readings
                .iter()
                .map(|both| ReadingObject::pair(history, *both))
                .collect(),
        }
    }
}

/// Writes the windows of every service as JSON.
///
/// # Errors
/// Writing to `out` fails.
pub fn write_blocks(
    ledger: &Ledger<'_>,
    quotas: &[Quota],
    now: Millis,
    out: &mut dyn Write,
) -> io::Result<()> {
    let history = ledger.history;
    let object = BlocksObject {
        prices: Prices::of(ledger.prices),
        inputs: Inputs::of(history),
        now,
        // `now` may be before the end of the input.
        later_requests: history.requests.iter().filter(|one| one.start > now).count() as u64,
        quotas: quotas.iter().map(|quota| QuotaObject::of(history, quota, now)).collect(),
    };
    write_versioned(SCHEMA, &object, out)
}
