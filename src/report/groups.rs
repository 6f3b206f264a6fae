//! Groups of requests.
//!
//! For people with a row for each and one for all, for programs (`cachesim.groups/v1`), and as CSV.

use std::borrow::Cow;
use std::io::{self, Write};

use serde::Serialize;

use super::applicability::acts_without_markers;
use super::rows::csv::Cell as _;
use super::{
    ByStrategy, Columns, Document, Inputs, Prices, SessionNames, TotalsObject, Value, counted,
    is_zero, key_notes, notes, share, write_versioned,
};
use crate::base::{Client, Order as _, Picodollars};
use crate::explain::analysis::{Group, Grouping, Groups};
use crate::simulate::ledger::{Ledger, Selection, StrategyColumn, Totals};

/// Strategies that are hidden last if there is not enough room.
const SHOWN_LAST: [&str; 3] = ["billed", "5m", "1h"];

/// Name of the group of requests without a known name.
const UNKNOWN: &str = "unknown";

/// Groups of a selection with their costs, or the `top` most expensive ones.
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
    let sessions = SessionNames::of(ledger.history);
    let mut rows: Vec<GroupRow<'_>> = Vec::new();
    for group in &listed {
        let name = name(groups.grouping, group, &sessions);
        rows.push(GroupRow { name, group: Cow::Owned(applied(ledger, group)) });
    }
    if listed.len() < groups.list.len() {
        let name = counted(count - listed.len() as u64, "other", "others");
        rows.push(GroupRow { name, group: Cow::Owned(applied(ledger, &others)) });
    }
    rows.push(GroupRow { name: "total".to_owned(), group: Cow::Borrowed(&groups.total) });
    document.grid(columns(ledger, groups).grid(rows));
    let shown = ledger.columns.get(groups.shown).map(|column| &*column.strategy.name);
    document.text(meaning(shown.unwrap_or_default()));
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

/// Row of a table, or line of a CSV file.
struct GroupRow<'g> {
    name: String,
    group: Cow<'g, Group>,
}

/// Columns of groups; the grouping and the strategies are those of the run.
fn columns<'c>(ledger: &'c Ledger<'_>, groups: &'c Groups) -> Columns<'c, GroupRow<'c>> {
    let mut columns = Columns::<GroupRow<'_>>::new();
    let first = match groups.grouping {
        Grouping::Period(length) => format!("{} ({})", length.name(), ledger.history.zone.name()),
        other => other.name().to_owned(),
    };
    let key = groups.grouping.name();
    columns.name(first, |row| row.name.clone()).csv(key, |row| row.group.name.as_deref().cell());
    columns
        .right("requests", |row| row.group.requests)
        .csv("requests", |row| row.group.requests.cell());
    for (at, column) in ledger.columns.iter().enumerate() {
        let name = &*column.strategy.name;
        let cost = columns.right(name, move |row| cost_of(column, &row.group.by_strategy[at]));
        let cost = cost.unknown("-").hidden(Some(1).filter(|_| !SHOWN_LAST.contains(&name)));
        cost.csv(format!("{name}_usd"), move |row| row.group.by_strategy[at].cost().cell());
    }
    let hit = columns.right("hit", |row| row.group.by_strategy.get(groups.shown)?.hit_rate());
    hit.hidden(2).csv("hit_rate", |row| hit_rate(&row.group, groups.shown).cell());
    columns.only_csv("breaks", |row| row.group.lost.breaks.cell());
    let lost = columns.right("breaks cost", |row| row.group.lost.costs);
    lost.hidden(3).csv("lost_usd", |row| row.group.lost.excess().cell());
    columns.only_csv("unpriced_requests", |row| {
        let shown = row.group.by_strategy.get(groups.shown);
        shown.map_or(0, |totals| totals.unpriced_requests).cell()
    });
    columns
}

/// Cost of a group under a strategy, if the strategy can do anything to it.
fn cost_of(column: &StrategyColumn, totals: &Totals) -> Option<Value> {
    // A simulation without a row can do nothing to the group.
    let is_idle = totals.requests == 0 && totals.unrecorded > 0;
    let is_idle = is_idle && !acts_without_markers(&column.strategy);
    (column.applicability().is_applicable() && !is_idle).then(|| totals.all_costs().into())
}

pub(super) const SCHEMA: &str = "cachesim.groups/v1";

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
    let rows = groups
        .list
        .iter()
        .map(|group| GroupRow { name: String::new(), group: Cow::Owned(applied(ledger, group)) });
    columns(ledger, groups).write_csv(rows, out)
}
