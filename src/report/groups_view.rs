//! Groups of requests for people: a row each, and a row of all together.

use super::analyze_view::{notes, session_name};
use super::document::{Align, Document, Grid};
use super::number::{counted, dollars, grouped, percent};
use crate::explain::analysis::{Group, Grouping, Groups};
use crate::simulate::ledger::{Ledger, Selection, Totals};

/// Strategies that are shown as long as there is room; the others are hidden before them.
const SHOWN_LAST: [&str; 3] = ["billed", "5m", "1h"];

/// How a group is called of which nothing is known.
const UNKNOWN: &str = "unknown";

/// The groups of a selection, and what they cost; of many the `top` most expensive.
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
    let mut header = vec![(first.as_str(), Align::Left), ("requests", Align::Right)];
    header.extend(names.iter().map(|name| (*name, Align::Right)));
    header.extend([("hit", Align::Right), ("lost", Align::Right)]);
    let others_first: Vec<&str> =
        names.iter().copied().filter(|name| !SHOWN_LAST.contains(name)).collect();
    let mut grid = Grid::new(&header).hide_first(&[&others_first[..], &["requests"]].concat());
    for group in &listed {
        grid.add(cells(name(groups.grouping, group), group, groups.shown));
    }
    if others.requests > 0 {
        let rest = counted(count - listed.len() as u64, "other", "others");
        grid.add(cells(rest, &others, groups.shown));
    }
    grid.add(cells("total".to_owned(), &groups.total, groups.shown));
    document.grid(grid);
    document.text(meaning(names.get(groups.shown).copied().unwrap_or_default()));
    notes(&mut document, ledger, selection);
    document
}

/// What the columns say.
fn meaning(shown: &str) -> String {
    format!(
        "Dollars are what each strategy costs; `hit` is the share of the prompts that `{shown}` read \
         from cache, and `lost` the extra cost of its breaks, expiries and compactions."
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

/// So many groups in their order, and the sums of the others.
fn most_expensive(groups: &Groups, top: Option<usize>) -> (Vec<&Group>, Group) {
    let cost = |group: &Group| group.by_strategy.get(groups.shown).and_then(Totals::cost);
    let mut places: Vec<usize> = (0..groups.list.len()).collect();
    places.sort_by_key(|place| (std::cmp::Reverse(cost(&groups.list[*place])), *place));
    let rest = places.split_off(top.unwrap_or(places.len()).min(places.len()));
    places.sort_unstable();
    let columns = groups.total.by_strategy.len();
    let mut others = Group { by_strategy: vec![Totals::default(); columns], ..Group::default() };
    for place in rest {
        others.absorb(&groups.list[place]);
    }
    (places.into_iter().map(|place| &groups.list[place]).collect(), others)
}

fn name(grouping: Grouping, group: &Group) -> String {
    match (&group.name, grouping) {
        (Some(name), Grouping::Session) => session_name(name),
        (Some(name), _) => name.clone(),
        (None, Grouping::AgentType) => "sub-agents of unknown type".to_owned(),
        (None, _) => UNKNOWN.to_owned(),
    }
}

fn cells(name: String, group: &Group, shown: usize) -> Vec<String> {
    let mut cells = vec![name, grouped(group.requests)];
    cells.extend(group.by_strategy.iter().map(|totals| dollars(totals.cost())));
    cells.push(percent(group.by_strategy.get(shown).and_then(Totals::hit_rate)));
    cells.push(dollars(group.lost.known_cost()));
    cells
}
