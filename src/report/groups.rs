//! Groups of requests.
//!
//! For people with a row for each and one for all, for programs (`cachesim.groups/v1`), and as CSV.

use std::io::{self, Write};

#[cfg(test)]
use schemars::JsonSchema;
use serde::Serialize;

use super::analyze_view::cost_cell;
use super::applicability::acts_without_markers;
use super::document::{Align, Document, Grid};
use super::inputs::Inputs;
use super::json::write_versioned;
use super::key_notes::key_notes;
use super::notes::notes;
use super::number::{counted, grouped, known_dollars, percent, share};
use super::report_json::{ByStrategy, Prices, TotalsObject, is_zero};
use super::rows::csv::{Cell as _, CsvCell, CsvFile};
use super::session_names::SessionNames;
use crate::base::client::Client;
use crate::base::order::Order as _;
use crate::base::units::Picodollars;
use crate::explain::analysis::{Group, Grouping, Groups};
use crate::simulate::ledger::{Ledger, Selection, Totals};

/// Strategies that are hidden last if there is not enough room.
const SHOWN_LAST: [&str; 3] = ["billed", "5m", "1h"];

/// Name of the group of requests without a known name.
const UNKNOWN: &str = "unknown";

/// Groups of a selection with their costs, or the `top` most expensive ones.
#[must_use]
pub fn groups_document(
    ledger: &Ledger<'_>,
    selection: &Selection,
    groups: &Groups,
    top: Option<usize>,
) -> Document {
    let mut document = Document::default();
    let count = groups.list.len() as u64;
    document.heading(counted(count, title(groups.grouping), &titles(groups.grouping)));
    let (listed, others) = most_expensive(groups, top);
    let names: Vec<&str> =
        ledger.columns.iter().map(|column| column.strategy.name.as_ref()).collect();
    let first = match groups.grouping {
        Grouping::Period(length) => format!("{} ({})", length.name(), ledger.history.zone.name()),
        other => other.name().to_owned(),
    };
    let mut header = vec![(first.as_str(), Align::Name), ("requests", Align::Right)];
    header.extend(names.iter().map(|name| (*name, Align::Right)));
    header.extend([("hit", Align::Right), ("breaks cost", Align::Right)]);
    let others_first: Vec<&str> =
        names.iter().copied().filter(|name| !SHOWN_LAST.contains(name)).collect();
    let mut grid =
        Grid::new(&header).hide_first(&[&others_first[..], &["hit", "breaks cost"]].concat());
    let sessions = SessionNames::of(ledger.history);
    for group in &listed {
        let name = name(groups.grouping, group, &sessions);
        grid.add(cells(ledger, name, &applied(ledger, group), groups.shown));
    }
    if listed.len() < groups.list.len() {
        let rest = counted(count - listed.len() as u64, "other", "others");
        grid.add(cells(ledger, rest, &applied(ledger, &others), groups.shown));
    }
    grid.add(cells(ledger, "total".to_owned(), &groups.total, groups.shown));
    document.grid(grid);
    document.text(meaning(names.get(groups.shown).copied().unwrap_or_default()));
    notes(&mut document, ledger, selection);
    document
}

/// Group without the figures of strategies that can do nothing to any of its requests.
///
/// A strategy that can do nothing to the whole input has no figures either.
fn applied(ledger: &Ledger<'_>, group: &Group) -> Group {
    let mut group = group.clone();
    let idle = ledger.columns.iter().zip(&mut group.by_strategy);
    let idle = idle.filter(|(column, _)| !acts_without_markers(&column.strategy));
    for (_, totals) in idle.filter(|_| !group.has_marked) {
        *totals = Totals::default();
        // This marks the strategy as idle for the cells of the group.
        totals.unrecorded = group.requests;
    }
    group
}

/// Meaning of the columns.
fn meaning(shown: &str) -> String {
    format!(
        "Dollars are what each strategy costs; `hit` is the share of the prompts that `{shown}` read \
         from cache, and `breaks cost` the extra cost of all its breaks, with expiries and compactions. “-” stands where a \
         strategy can do nothing to a group; sums of several groups have that as recorded."
    )
}

fn title(grouping: Grouping) -> &'static str {
    match grouping {
        Grouping::AgentType => "type of agents",
        Grouping::Client => "client version",
        other => other.name(),
    }
}

fn titles(grouping: Grouping) -> String {
    match grouping {
        Grouping::AgentType => "types of agents".to_owned(),
        Grouping::Branch => "branches".to_owned(),
        other => format!("{}s", title(other)),
    }
}

/// Listed groups in order, and the sum of the others.
fn most_expensive(groups: &Groups, top: Option<usize>) -> (Vec<&Group>, Group) {
    let cost = |group: &Group| group.by_strategy.get(groups.shown).and_then(Totals::cost);
    let mut places: Vec<usize> = (0..groups.list.len()).collect();
    places.order_by_key(|place| (std::cmp::Reverse(cost(&groups.list[*place])), *place));
    let rest = places.split_off(top.unwrap_or(places.len()).min(places.len()));
    // Listed are the most expensive ones, but in their own order, as periods are by time.
    places.sort_unstable();
    let columns = groups.total.by_strategy.len();
    let mut others = Group { by_strategy: vec![Totals::default(); columns], ..Group::default() };
    for place in rest {
        others.absorb(&groups.list[place]);
    }
    (places.into_iter().map(|place| &groups.list[place]).collect(), others)
}

fn name(grouping: Grouping, group: &Group, sessions: &SessionNames<'_>) -> String {
    match (&group.name, grouping) {
        (Some(name), Grouping::Session) => sessions.of_id(name),
        (Some(name), Grouping::Source) => {
            Client::by_name(name).map_or_else(|| name.clone(), |client| client.label().to_owned())
        }
        (Some(name), _) => name.clone(),
        (None, Grouping::AgentType) => "sub-agents of unknown type".to_owned(),
        (None, _) => UNKNOWN.to_owned(),
    }
}

fn cells(ledger: &Ledger<'_>, name: String, group: &Group, shown: usize) -> Vec<String> {
    let mut cells = vec![name, grouped(group.requests)];
    let columns = ledger.columns.iter().zip(&group.by_strategy);
    cells.extend(columns.map(|(column, totals)| {
        // A simulation without a row can do nothing to the group.
        let is_idle = totals.requests == 0 && totals.unrecorded > 0;
        let is_idle = is_idle && !acts_without_markers(&column.strategy);
        if column.applicability().is_applicable() && !is_idle {
            cost_cell(totals)
        } else {
            "-".to_owned()
        }
    }));
    cells.push(percent(group.by_strategy.get(shown).and_then(Totals::hit_rate)));
    cells.push(known_dollars(group.lost.excess(), group.lost.costs.unknown));
    cells
}

pub(super) const SCHEMA: &str = "cachesim.groups/v1";

#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(super) struct GroupsObject<'a> {
    /// Table of list prices.
    prices: Prices<'a>,
    /// Input read.
    inputs: Inputs,
    /// Assumptions on the cache key if the documentation leaves it open, in words; left out if nothing in the
    /// input rests on it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    assumptions: Vec<String>,
    /// Common property of a group's requests.
    #[cfg_attr(test, schemars(with = "Grouping"))]
    by: &'static str,
    /// Time zone of the days, weeks and months.
    timezone: &'a str,
    /// Groups: days, weeks and months in the order of time, others with the most expensive first.
    groups: Vec<GroupObject<'a>>,
    /// All of them together.
    total: GroupObject<'a>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
struct GroupObject<'a> {
    /// Common name; null if it is not known, and of all together.
    name: Option<&'a str>,
    /// Number of requests.
    requests: u64,
    /// Share of the prompts that was read from cache, as billed if that is known of all requests, else under
    /// the first strategy for which it is.
    hit_rate: Option<f64>,
    /// Requests that read less than they could have.
    breaks: u64,
    /// Cost of breaks beyond reading, in dollars; null if nothing of it has a price.
    lost_usd: Option<Picodollars>,
    /// Breaks whose model has no price, which the dollars leave out; left out if there are none.
    #[serde(skip_serializing_if = "is_zero")]
    unpriced_breaks: u64,
    /// Sums of each strategy. One that can do nothing to any request of the group has none; the sums of all
    /// together have these requests as recorded.
    totals: ByStrategy<'a>,
}

impl<'a> GroupObject<'a> {
    fn new(ledger: &'a Ledger<'_>, group: &'a Group, shown: usize) -> Self {
        let names = ledger.columns.iter().map(|column| column.strategy.name.as_ref());
        let totals = group.by_strategy.iter().map(|totals| TotalsObject::from(*totals));
        Self {
            name: group.name.as_deref(),
            requests: group.requests,
            hit_rate: hit_rate(group, shown),
            breaks: group.lost.breaks,
            lost_usd: group.lost.excess(),
            unpriced_breaks: group.lost.costs.unknown,
            totals: names.zip(totals).collect(),
        }
    }
}

fn hit_rate(group: &Group, shown: usize) -> Option<f64> {
    group.by_strategy.get(shown).and_then(|totals| share(totals.read.0, totals.prompt().0))
}

/// Writes the groups as JSON.
///
/// # Errors
/// Writing to `out` fails.
pub fn write_groups(ledger: &Ledger<'_>, groups: &Groups, out: &mut dyn Write) -> io::Result<()> {
    let object = |group| GroupObject::new(ledger, group, groups.shown);
    let list: Vec<Group> = groups.list.iter().map(|group| applied(ledger, group)).collect();
    let document = GroupsObject {
        prices: Prices::of(ledger.prices),
        inputs: Inputs::of(ledger.history),
        assumptions: key_notes(ledger.history, ledger.steps, &ledger.assumptions),
        by: groups.grouping.name(),
        timezone: ledger.history.zone.name(),
        groups: list.iter().map(object).collect(),
        // The total keeps the sums of idle groups, as recorded.
        total: object(&groups.total),
    };
    write_versioned(SCHEMA, &document, out)
}

/// Writes a row for each group as CSV, and none for the total.
///
/// # Errors
/// Writing to `out` fails.
pub fn write_groups_csv(
    ledger: &Ledger<'_>,
    groups: &Groups,
    out: &mut dyn Write,
) -> io::Result<()> {
    let columns = csv_columns(ledger, groups);
    let names: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
    let mut csv = CsvFile::new(&names, out)?;
    for group in groups.list.iter().map(|group| applied(ledger, group)) {
        csv.write(columns.iter().map(|(_, cell)| cell(&group)))?;
    }
    csv.finish()
}

/// Number of requests that are in no cost, under the strategy that is shown.
fn unpriced(group: &Group, shown: usize) -> u64 {
    group.by_strategy.get(shown).map_or(0, |totals| totals.unpriced_requests)
}

type GroupCell<'a> = Box<dyn Fn(&Group) -> CsvCell + 'a>;

/// Columns of groups; the grouping and the strategies are those of the run.
fn csv_columns<'a>(ledger: &Ledger<'_>, groups: &'a Groups) -> Vec<(String, GroupCell<'a>)> {
    let mut columns: Vec<(String, GroupCell<'a>)> = vec![
        (groups.grouping.name().to_owned(), Box::new(|group| group.name.as_deref().cell())),
        ("requests".to_owned(), Box::new(|group| group.requests.cell())),
    ];
    for (at, column) in ledger.columns.iter().enumerate() {
        let cost = move |group: &Group| group.by_strategy.get(at).and_then(Totals::cost).cell();
        columns.push((format!("{}_usd", column.strategy.name), Box::new(cost)));
    }
    columns.push(("hit_rate".to_owned(), Box::new(|group| hit_rate(group, groups.shown).cell())));
    columns.push(("breaks".to_owned(), Box::new(|group| group.lost.breaks.cell())));
    columns.push(("lost_usd".to_owned(), Box::new(|group| group.lost.excess().cell())));
    let unpriced = |group: &Group| unpriced(group, groups.shown).cell();
    columns.push(("unpriced_requests".to_owned(), Box::new(unpriced)));
    columns
}
