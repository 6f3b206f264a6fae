//! Windows of plans, five hours and weeks: the use of each and who caused it, the rate and projection of the
//! open one, and a comparison of use with the limits that sessions record.
//!
//! Use is reported at list prices, which are known for every request: no plan publishes what it counts.
//! Windows belong to an account, so each service has its own, over all sessions and projects of the input. A
//! request is in the window in which it was sent, even if its answer came after the end. (`span.rs` finds the
//! beginning of windows.) The use of windows covers the selected requests; rates, projections and limits
//! cover all.

mod burn;
mod fit;
mod limit;
mod service;
mod span;
mod usage;

pub use burn::{Burn, Projection};
pub use fit::Weight;
pub use limit::LimitFit;
pub use service::Service;
pub use span::{BlockLength, BlockSpan};
pub use usage::BlockUse;

use std::cmp::Reverse;

use service::services;
use usage::Spent;

use crate::base::{ByKey, Millis, Order as _, Picodollars, Symbol};
use crate::explain::breaks::Breaks;
use crate::explain::context::{Contents, Division, contents_of_parts};
use crate::read::agent::{LimitReading, Vendor};
use crate::requests::conversation::History;
use crate::requests::prompt::{PromptTrace, Step};
use crate::simulate::ledger::{Ledger, Selection, StrategyColumn};

/// Windows of one length of one account.
#[derive(Debug)]
pub struct Quota {
    /// Service of the account.
    pub service: Service,
    /// Length of a window.
    pub length: BlockLength,
    /// Windows with selected requests, in order of time.
    pub blocks: Vec<Block>,
    /// Rate and projection of the open window, which is the last, over all its requests.
    pub burn: Option<Burn>,
    /// Fits of each recorded limit of this length.
    pub fits: Vec<LimitFit>,
}

impl Quota {
    /// Time at which the newest recorded limit of the open window is used up at the latest rate.
    ///
    /// `None` if that is not before the window ends, if all is used already, if no limit is recorded, or if
    /// its per cents do not fit list prices.
    pub fn all_used(&self, now: Millis) -> Option<Millis> {
        let open = self.blocks.last().filter(|block| block.is_open(now))?;
        let burn = self.burn.as_ref()?;
        let [_, newest] = open.readings.filter(|[_, newest]| !newest.is_all())?;
        let is_of_reading = |fit: &&LimitFit| (fit.limit, fit.plan) == (newest.limit, newest.plan);
        let weight = self.fits.iter().find(is_of_reading)?.weight.of_a_dollar()?;
        let unread = weight * burn.since_reading.to_dollars_lossy();
        let left = 100.0 - f64::from(newest.used) / 100.0 - unread;
        let times = left.max(0.0) / (weight * burn.lately.to_dollars_lossy());
        // A wait beyond the window, or without an end, may be cut off: it is too long anyway.
        #[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)]
        let wait = (times * burn.lately_is as f64) as i64;
        (times.is_finite() && wait < burn.left).then(|| Millis::new(now.get() + wait))
    }
}

/// A window with its use.
#[derive(Debug)]
pub struct Block {
    /// Beginning and end of the window.
    pub span: BlockSpan,
    /// Time without a window before it, in milliseconds; zero before the first.
    pub idle_before: i64,
    /// Send time of the first selected request.
    pub first: Millis,
    /// Send time of the last selected request.
    pub last: Millis,
    /// Use by the selected requests.
    pub used: BlockUse,
    /// First and newest reading of its limit: of several limits the one that is read most often.
    pub readings: Option<[LimitReading; 2]>,
    /// First and newest reading of each other limit.
    pub other_readings: Vec<[LimitReading; 2]>,
}

impl Block {
    /// Returns true if the window is open at a moment.
    pub fn is_open(&self, now: Millis) -> bool {
        self.span.start <= now && now < self.span.end
    }
}

/// Inputs of the windows.
#[derive(Clone, Copy, Debug)]
pub struct BlockSources<'a> {
    /// Ledger with the record.
    pub ledger: &'a Ledger<'a>,
    /// Relation of each request to its predecessor.
    pub steps: &'a [Step],
    /// Prompts of the requests.
    pub trace: &'a PromptTrace,
    /// Requests whose use is reported; windows begin with any request.
    pub selection: &'a Selection,
    /// Breaks of these requests.
    pub breaks: &'a Breaks,
    /// Current moment: a window that holds it is open, and no later reading of a limit counts.
    pub now: Millis,
}

/// Windows of every service and of these lengths, most expensive service first.
///
/// Requests sent after `now` are in none. `None` if the ledger lacks the record.
pub fn blocks(sources: BlockSources<'_>, lengths: &[BlockLength]) -> Option<Vec<Quota>> {
    let column = sources.ledger.billed()?;
    let is_selected = selected(sources.ledger.history, sources.selection);
    let mut windows: Vec<Windows> = Vec::new();
    for (service, requests) in services(sources.ledger.history, sources.now) {
        let spent = requests
            .iter()
            .map(|index| Spent::new(sources.ledger, column, *index, is_selected[index.get()]));
        let spent: Vec<Spent> = spent.collect();
        windows
            .extend(lengths.iter().map(|length| Windows::new(sources, service, *length, &spent)));
    }
    let contents = contents(sources, lengths, &windows)?;
    let quotas = windows.into_iter().zip(contents);
    let quotas = quotas.map(|(windows, contents)| windows.quota(sources, column, contents));
    let mut quotas: Vec<Quota> = quotas.filter(|quota| !quota.blocks.is_empty()).collect();
    let cost = |quota: &Quota| {
        quota.blocks.iter().filter_map(|block| block.used.all.cost()).sum::<Picodollars>()
    };
    // The windows of a service stay together: each length has the same requests as the others.
    quotas.order_by_key(|quota| (Reverse(cost(quota)), quota.service, quota.length));
    Some(quotas)
}

/// Contents of the prompts in each window, in the order of `windows`.
fn contents(
    sources: BlockSources<'_>,
    lengths: &[BlockLength],
    windows: &[Windows],
) -> Option<Vec<ByKey<usize, Contents>>> {
    let BlockSources { ledger, steps, trace, selection, .. } = sources;
    // A division for each length, with the windows of all services numbered in a row.
    let mut divisions: Vec<Division> =
        vec![vec![None; ledger.history.requests.len()]; lengths.len()];
    let mut firsts = Vec::with_capacity(windows.len());
    let mut counts = vec![0; lengths.len()];
    for (number, one) in windows.iter().enumerate() {
        let length = number % lengths.len();
        firsts.push(counts[length]);
        for (place, spent) in one.spent.iter().enumerate() {
            for spent in spent.iter().filter(|one| one.is_selected) {
                divisions[length][spent.index.get()] = Some(counts[length] + place);
            }
        }
        counts[length] += one.spans.len();
    }
    let mut parts = contents_of_parts(ledger, steps, trace, selection, &divisions)?;
    let of_windows = firsts.iter().enumerate().map(|(number, first)| {
        let parts = &mut parts[number % lengths.len()];
        let places = 0..windows[number].spans.len();
        places
            .filter_map(|place| Some((place, std::mem::take(parts.get_mut(&(first + place))?))))
            .collect()
    });
    Some(of_windows.collect())
}

/// Windows of one length of one service, before their use is summed.
struct Windows {
    service: Service,
    length: BlockLength,
    spans: Vec<BlockSpan>,
    /// Requests of each window.
    spent: Vec<Vec<Spent>>,
    /// Readings of limits of this length until now, in order of time.
    readings: Vec<LimitReading>,
}

impl Windows {
    fn new(
        sources: BlockSources<'_>,
        service: Service,
        length: BlockLength,
        requests: &[Spent],
    ) -> Self {
        // `Vendor::Other` is several services, so its readings belong to none of them.
        let is_of_quota = |one: &&LimitReading| {
            one.vendor == service.vendor()
                && one.vendor != Vendor::Other
                && one.length == length.millis()
                && one.at <= sources.now
        };
        let mut readings: Vec<LimitReading> =
            sources.ledger.history.limits.iter().filter(is_of_quota).copied().collect();
        readings.order_by_key(|one| (one.at, one.used));
        let sent: Vec<Millis> = requests.iter().map(|one| one.sent).collect();
        let recorded = BlockSpan::recorded(&readings);
        let (spans, places) = span::spans(&sent, &recorded, service.vendor(), length);
        let mut spent = vec![Vec::new(); spans.len()];
        for (one, place) in requests.iter().zip(places) {
            spent[place].push(*one);
        }
        Self { service, length, spans, spent, readings }
    }

    fn quota(
        self,
        sources: BlockSources<'_>,
        column: &StrategyColumn,
        mut contents: ByKey<usize, Contents>,
    ) -> Quota {
        let history = sources.ledger.history;
        let Self { service, length, spans, spent, readings } = self;
        let fits = limit::fits(&readings, &spent);
        let main = span::of_main_limit(&readings).map(|one| one.limit);
        let newest = readings.iter().rfind(|one| Some(one.limit) == main);
        let burn = burn::burn(length, (&spans, &spent), newest, sources.now);
        let mut used: Vec<BlockUse> = vec![BlockUse::default(); spans.len()];
        let mut place_of = vec![None; history.requests.len()];
        for (place, requests) in spent.iter().enumerate() {
            used[place].contents = contents.get_mut(&place).map(std::mem::take).unwrap_or_default();
            for one in requests.iter().filter(|one| one.is_selected) {
                let totals = sources.ledger.totals(column, [one.index]);
                used[place].add_request(history, one.index, totals);
                place_of[one.index.get()] = Some(place);
            }
        }
        for found in &sources.breaks.list {
            if let Some(place) = place_of[found.request.get()] {
                used[place].add_break(found);
            }
        }
        let of_span = |span: &BlockSpan| {
            let from = readings.partition_point(|one| one.at < span.start);
            let until = readings.partition_point(|one| one.at < span.end);
            let mut of_span: ByKey<Option<Symbol>, [LimitReading; 2]> = ByKey::new();
            for one in readings.get(from..until).unwrap_or_default() {
                of_span.entry(one.limit).or_insert([*one; 2])[1] = *one;
            }
            let own = main.and_then(|main| of_span.get(&main).copied());
            let others = of_span.into_iter().filter(|(limit, _)| Some(*limit) != main);
            (own, others.map(|(_, readings)| readings).collect())
        };
        let mut before: Option<Millis> = None;
        let blocks = spans.into_iter().zip(spent).zip(used).filter_map(|((span, spent), used)| {
            let idle_before = before.replace(span.end).map_or(0, |before| span.start.since(before));
            let is_selected = |one: &&Spent| one.is_selected;
            let first = spent.iter().find(is_selected)?.sent;
            let last = spent.iter().rfind(is_selected).map_or(first, |one| one.sent);
            let (readings, other_readings) = of_span(&span);
            Some(Block { span, idle_before, first, last, used, readings, other_readings })
        });
        Quota { service, length, blocks: blocks.collect(), burn, fits }
    }
}

/// Flag of each request: true if selected.
fn selected(history: &History, selection: &Selection) -> Vec<bool> {
    let mut is_selected = vec![false; history.requests.len()];
    for index in selection.requests() {
        is_selected[index.get()] = true;
    }
    is_selected
}
