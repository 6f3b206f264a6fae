//! Windows of use for people.
//!
//! First the open window, then each window, the senders and contents that used them up, and the meaning of a
//! per cent of a limit.

use super::context_view::{contents, named, summed};
use super::{
    Columns, Document, Grid, Value, counted, dollars, duration, grouped, known_dollars, part,
    percent,
};
use crate::base::{Basis, Millis, Order as _, Picodollars};
use crate::explain::blocks::{
    Block, BlockLength, BlockUse, Burn, LimitFit, Projection, Quota, Service, Weight,
};
use crate::explain::breaks::Sum;
use crate::requests::conversation::History;
use crate::simulate::ledger::{Ledger, Totals};

/// Options of the view.
#[derive(Clone, Copy, Debug)]
pub struct BlocksView {
    /// Present time: the window that holds it is open.
    pub now: Millis,
    /// Number of listed windows of each kind, newest first, and of kinds of content.
    pub top: usize,
    /// True if a filter left out requests. Their use is in no figure.
    pub is_filtered: bool,
}

/// Windows of every service, as a document.
pub fn blocks_document(ledger: &Ledger<'_>, quotas: &[Quota], view: BlocksView) -> Document {
    let history = ledger.history;
    let mut document = Document::default();
    document.grid(answer(history, quotas, view));
    for quota in quotas {
        document.heading(format!("{} of {}", title(quota.length), quota.service.label()));
        document.grid(windows(history, quota, view));
    }
    for quota in first_of_services(quotas) {
        used_up(&mut document, history, quota, view);
    }
    if quotas.iter().any(|quota| !quota.fits.is_empty()) {
        document.heading("What one per cent of a limit is");
        document.grid(fits(history, quotas));
        document.text(
            "Estimated: the weights with which use fits the recorded readings best, in stretches without a pause of two \
             minutes. “off by” is how far readings are off, in points of per cent, and “left out” how far the growth \
             within a window is off where the weights come from the other windows. Use that is not in the input is in \
             readings, and in no weight.",
        );
    }
    notes(&mut document, ledger, quotas, view);
    document
}

/// Senders and contents that used up the open window, or all windows together if none is open.
fn used_up(document: &mut Document, history: &History, quota: &Quota, view: BlocksView) {
    let (service, length) = (quota.service.label(), quota.length);
    // Windows are in order of time, so the open one is the last.
    let open = quota.blocks.last().filter(|block| block.is_open(view.now));
    let (heading, used) = match open {
        Some(block) => {
            let since = history.zone.minute(block.span.start);
            (
                format!("What used up the {} of {service} since {since}", one(length)),
                block.used.clone(),
            )
        }
        None => {
            (format!("What used up the {} of {service}", plural(length)), together(&quota.blocks))
        }
    };
    document.heading(heading);
    document.grid(senders(history, &used));
    let kinds = named(history, &used.contents.kinds);
    // A piece counts once in each window that it was sent in.
    let is_one = open.is_some() || quota.blocks.len() == 1;
    let part = if is_one { "session" } else { "session and window" };
    contents(document, &kinds, &used.contents.bill, (view.top, summed(history)), part);
}

/// First length of each service's windows: all its lengths have the same requests.
fn first_of_services(quotas: &[Quota]) -> impl Iterator<Item = &Quota> {
    // The windows of a service stay together, so that the service before is enough to know.
    let mut latest: Option<Service> = None;
    quotas.iter().filter(move |quota| latest.replace(quota.service) != Some(quota.service))
}

fn title(length: BlockLength) -> &'static str {
    match length {
        BlockLength::FiveHours => "Five-hour windows",
        BlockLength::Week => "Weeks",
    }
}

fn plural(length: BlockLength) -> &'static str {
    match length {
        BlockLength::FiveHours => "five-hour windows",
        BlockLength::Week => "weeks",
    }
}

fn one(length: BlockLength) -> &'static str {
    match length {
        BlockLength::FiveHours => "five hours",
        BlockLength::Week => "week",
    }
}

/// The newest window of each kind, with the outlook if it is open.
fn answer(history: &History, quotas: &[Quota], view: BlocksView) -> Grid {
    let mut rows: Vec<(String, Value, String)> = Vec::new();
    let mut add = |name: &str, value: Value, note: String| {
        rows.push((name.to_owned(), value, note));
    };
    for quota in quotas {
        let Some(block) = quota.blocks.last() else { continue };
        let name = match quota.length {
            BlockLength::FiveHours => "Five hours",
            BlockLength::Week => "Week",
        };
        add(name, cost(&block.used.all), newest(history, quota.service, block, view.now));
        // If a filter leaves out the open window, the last one is another.
        if let Some(burn) = quota.burn.as_ref().filter(|_| block.is_open(view.now)) {
            let (value, note) = at_its_end(burn, lately(quota.length));
            add("At its end", value.into(), note);
            let name = format!("Last {}", lately(quota.length));
            add(&name, spent(burn, burn.lately).into(), String::new());
        }
        if let Some((value, note)) = limit(history, quota, block, view.now) {
            add("Limit", value.into(), note);
        }
    }
    let mut columns = Columns::<(String, Value, String)>::new();
    columns.left("", |(name, ..)| name.clone());
    columns.right("", |(_, value, _)| value.clone());
    columns.wrapped("", |(.., note)| note.clone());
    columns.grid(rows)
}

fn newest(history: &History, service: Service, block: &Block, now: Millis) -> String {
    let zone = &history.zone;
    let of =
        format!("{}, {}", service.label(), counted(block.used.all.requests, "request", "requests"));
    let start = zone.minute(block.span.start);
    if block.is_open(now) {
        return format!(
            "{of} since {start}; open for {} more",
            duration(block.span.end.since(now))
        );
    }
    format!("{of} from {start} to {}; closed", zone.minute(block.span.end))
}

/// Time over which the newest rate is measured.
fn lately(length: BlockLength) -> &'static str {
    match length {
        BlockLength::FiveHours => "hour",
        BlockLength::Week => "day",
    }
}

/// Amount of an open window, with a plus if some of its requests have no price.
fn spent(burn: &Burn, amount: Picodollars) -> String {
    known_dollars(Some(amount), burn.so_far.unknown)
}

/// Expected use at the end of a window, and the confidence in it.
fn at_its_end(burn: &Burn, lately: &str) -> (String, String) {
    let at_last_rate = spent(burn, burn.at_last_rate());
    match burn.projection {
        None => {
            let told = match burn.earlier_windows {
                0 => "no earlier window like it tells how sure".to_owned(),
                1 => "1 earlier window like it is too few to tell how sure".to_owned(),
                more => format!("{more} earlier windows like it are too few to tell how sure"),
            };
            (at_last_rate, format!("at the rate of the last {lately}; {told}"))
        }
        Some(Projection { low, middle, high, held }) => {
            let [low, middle, high] = [low, middle, high].map(|amount| spent(burn, amount));
            let windows = grouped(burn.earlier_windows as u64);
            let note = format!(
                "as {windows} earlier windows like it went on, likely {low} to {high}: that would have held for {held} of \
                 them; {at_last_rate} at the rate of the last {lately}"
            );
            (middle, note)
        }
    }
}

/// Newest reading of the window's limit, with the time at which all of it is used at the latest rate.
fn limit(history: &History, quota: &Quota, block: &Block, now: Millis) -> Option<(String, String)> {
    let [_, newest] = block.readings?;
    let zone = &history.zone;
    let all = if newest.is_all() { "all of it is used, " } else { "" };
    let then = quota.all_used(now).map_or_else(String::new, |at| {
        let (at, lately) = (zone.minute(at), lately(quota.length));
        format!("; all of it at {at} at the rate of the last {lately}")
    });
    Some((per_cent(newest.used), format!("{all}as recorded at {}{then}", zone.minute(newest.at))))
}

/// Formats hundredths of a per cent.
fn per_cent(used: u32) -> String {
    percent(Some(f64::from(used) / 10_000.0))
}

/// A row for each listed window, without columns that are empty for all.
fn windows(history: &History, quota: &Quota, view: BlocksView) -> Grid {
    let first = quota.blocks.len().saturating_sub(view.top);
    let (earlier, listed) = quota.blocks.split_at(first);
    let mut rows: Vec<WindowRow> = Vec::new();
    // Unlisted windows share a row, so that the rows still add up to the last one.
    if !earlier.is_empty() {
        rows.push(WindowRow::of(format!("{} earlier", grouped(earlier.len() as u64)), earlier));
    }
    for block in listed {
        let name = history.zone.minute(block.span.start);
        rows.push(WindowRow {
            name: if block.is_open(view.now) { format!("{name} open") } else { name },
            idle: Some(block.idle_before).filter(|idle| *idle > 0),
            in_use: Some(block.last.since(block.first)),
            used: block.used.clone(),
            limit: block.readings.map(|[_, newest]| newest.used),
        });
    }
    // The sum of one window would only repeat its row.
    if quota.blocks.len() > 1 {
        rows.push(WindowRow::of("all".to_owned(), &quota.blocks));
    }
    window_columns(history).without_empty(&rows).grid(rows)
}

/// Row of a window, or of several.
struct WindowRow {
    name: String,
    /// Time without a window before.
    idle: Option<i64>,
    in_use: Option<i64>,
    used: BlockUse,
    /// Newest reading of the limit.
    limit: Option<u32>,
}

impl WindowRow {
    /// Some windows together.
    fn of(name: String, blocks: &[Block]) -> Self {
        Self { name, idle: None, in_use: None, used: together(blocks), limit: None }
    }
}

fn window_columns(history: &History) -> Columns<'_, WindowRow> {
    let mut columns = Columns::<WindowRow>::new();
    // The header names the time zone, so that the cells need not.
    columns.name(format!("begins ({})", history.zone.name()), |row| row.name.clone());
    columns.right("idle before", |row| row.idle.map(duration)).hidden(2);
    columns.right("in use", |row| row.in_use.map(duration)).hidden(1);
    columns.right("requests", |row| row.used.all.requests).hidden(3);
    columns.right("cost", |row| cost(&row.used.all));
    let agents = |row: &WindowRow| Some(row.used.all_agents()).filter(|all| all.requests > 0);
    columns.right("sub-agents", move |row| agents(row).as_ref().map(cost)).hidden(5);
    columns.right("expiries", |row| lost(row.used.expiries)).hidden(4);
    columns.right("compaction", |row| lost(row.used.compactions));
    columns.right("other breaks", |row| lost(row.used.breaks));
    columns.right("limit", |row| row.limit.map(per_cent));
    columns
}

/// Cost of breaks, if there are any.
fn lost(sum: Sum) -> Option<Value> {
    (sum.breaks > 0).then(|| sum.costs.into())
}

fn together(blocks: &[Block]) -> BlockUse {
    let mut all = BlockUse::default();
    for block in blocks {
        all.absorb(&block.used);
    }
    all
}

fn cost(totals: &Totals) -> Value {
    Value::known_dollars(totals.cost(), totals.costs.unknown)
}

/// Requests by sender: the main conversation, and each type of sub-agents.
fn senders(history: &History, used: &BlockUse) -> Grid {
    let total = used.all.cost();
    let mut agents: Vec<_> = used.agents.iter().collect();
    agents
        .order_by_key(|(agent, totals)| (std::cmp::Reverse(totals.cost()), history.text(**agent)));
    let agents = agents.into_iter().map(|(agent, totals)| {
        let name = history
            .text(*agent)
            .map_or("sub-agents of unknown type".to_owned(), |name| format!("sub-agents: {name}"));
        (name, totals)
    });
    let main = std::iter::once(("main conversations".to_owned(), &used.main));
    let rows = main.chain(agents).chain([("all".to_owned(), &used.all)]);
    let mut columns = Columns::<(String, &Totals)>::new();
    columns.name("sent by", |(name, _)| name.clone());
    columns.right("requests", |(_, totals)| totals.requests);
    columns.right("cost", |(_, totals)| cost(totals));
    columns.right("share", |(_, totals)| part(totals.cost(), total));
    columns.grid(rows)
}

/// Size of a per cent of each limit, with its error.
fn fits(history: &History, quotas: &[Quota]) -> Grid {
    let points = |off: f64| format!("{off:.1}");
    let mut columns = Columns::<(&Quota, &LimitFit)>::new();
    columns.left("of the", |(quota, _)| one(quota.length));
    columns.name("limit", |(quota, fit)| {
        history.text(fit.limit).unwrap_or(quota.service.label()).to_owned()
    });
    columns.name("plan", |(_, fit)| history.text(fit.plan).map(str::to_owned));
    columns.wrapped("one per cent is", |(_, fit)| one_per_cent(&fit.weight));
    columns.right("readings", |(_, fit)| fit.readings).hidden(2);
    columns.right("windows", |(_, fit)| fit.windows).hidden(1);
    columns.right("off by", move |(_, fit)| points(fit.error));
    columns.right("left out", move |(_, fit)| fit.held_out.map(points));
    columns.grid(quotas.iter().flat_map(|quota| quota.fits.iter().map(move |fit| (quota, fit))))
}

fn one_per_cent(weight: &Weight) -> String {
    match weight {
        Weight::Dollar(weight) if *weight > 0.0 => {
            format!("{} at list prices", dollars(Some(dollars_of(*weight))))
        }
        // With a weight of zero the readings grow without the use in the input.
        Weight::Dollar(_) => "unknown: it grows without what was used".to_owned(),
        Weight::Classes(weights) => {
            let names = ["sent in full", "read", "written", "of output"];
            let of = weights.iter().zip(names).filter(|(weight, _)| **weight > 0.0);
            let of: Vec<String> =
                of.map(|(weight, name)| format!("{} tokens {name}", tokens_of(*weight))).collect();
            of.join(", or ")
        }
    }
}

/// Dollars in a per cent, from the per cent that one dollar takes.
fn dollars_of(weight: f64) -> Picodollars {
    #[allow(clippy::cast_possible_truncation)] // positive; more has no end
    Picodollars((1e12 / weight).round() as i128)
}

/// Tokens in a per cent, from the per cent that a million tokens take.
fn tokens_of(weight: f64) -> String {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // positive; more has no end
    let tokens = (1e6 / weight).round() as u64;
    grouped(tokens)
}

fn notes(document: &mut Document, ledger: &Ledger<'_>, quotas: &[Quota], view: BlocksView) {
    let blocks = || quotas.iter().flat_map(|quota| &quota.blocks);
    let recorded = blocks().filter(|block| block.span.basis == Basis::Measured).count();
    let all = blocks().count() as u64;
    document.note(format!(
        "A window begins with the first request after the one before has ended, of any session that was read, as if all \
         were one account's. Clients recorded {} of {}; use that is not in the input may have begun others earlier. \
         “idle before” is the time since the window before ended. An earlier window is like the current one if, by the same \
         time into them, both had been used or neither had. Costs are list prices, whatever a plan costs. “expiries”, \
         “compaction” and “other breaks” are what they cost beyond reading, and part of the cost.",
        grouped(recorded as u64),
        counted(all, "window", "windows"),
    ));
    let unknown: Vec<&str> = first_of_services(quotas)
        .map(|quota| quota.service)
        .filter(|service| !service.has_known_windows())
        .map(Service::label)
        .collect();
    if !unknown.is_empty() {
        document.note(format!(
            "How plans of {} count is not documented; their windows are as if they counted over five hours and weeks.",
            unknown.join(", ")
        ));
    }
    if view.is_filtered {
        // A window is of the whole account, so a filter cannot move its ends.
        document.note(
            "Windows begin with any request, and what used them up are the selected ones. Rates, what windows come to, and \
             limits are of all requests.",
        );
    }
    let later = ledger.history.requests.iter().filter(|request| request.start > view.now).count();
    if later > 0 {
        document.note(format!(
            "{} sent after {}, which is taken for now; they are in no figure.",
            counted(later as u64, "request was", "requests were"),
            ledger.history.zone.minute(view.now),
        ));
    }
    let unrecorded: u64 = first_of_services(quotas)
        .flat_map(|quota| &quota.blocks)
        .map(|block| block.used.all.unrecorded)
        .sum();
    if unrecorded > 0 {
        document.note(format!(
            "The usage of {} was not recorded; nothing of them is counted.",
            counted(unrecorded, "request", "requests")
        ));
    }
    document.note(format!("Prices: {}, checked on {}.", ledger.prices.id, ledger.prices.as_of));
}
