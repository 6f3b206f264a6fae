//! Charts of a run, whose rows do not record the cost of each class of tokens.

use std::cmp::Reverse;

use super::breaks::summary_chart;
use super::daily::{Calendar, MOST_DAYS};
use crate::base::{ByKey, Millis, Order as _, Picodollars, Zone};
use crate::explain::analysis::{Period, PeriodLength};
use crate::explain::compare::{Compared, Comparison};
use crate::explain::run::{QUARTER, RunSums};
use crate::report::chart::axis::{Axis, AxisUnit};
use crate::report::chart::ink::Ink;
use crate::report::chart::{Bar, Bars, Chart, Panel};
use crate::report::{counted, dollars, percent_difference, relative};

/// Charts of strategies, daily spending and breaks, each with the name of its kind.
pub fn run_charts(
    sums: &RunSums,
    comparison: &Comparison<'_>,
    domains: u64,
    zone: &Zone,
) -> Vec<(&'static str, Chart)> {
    let requests: usize = sums.sessions.iter().map(|session| session.requests).sum();
    let scope = format!(
        "{}, {}, {}",
        counted(domains, "domain", "domains"),
        counted(sums.sessions.len() as u64, "session", "sessions"),
        counted(requests as u64, "request", "requests"),
    );
    let billed: Picodollars = sums.billed.values().copied().sum();
    let breaks = summary_chart(&scope, &sums.summary(), sums.looked_at(), billed);
    let charts = [
        ("strategies", strategies(&scope, comparison)),
        ("daily", daily(&scope, &sums.billed, zone)),
        ("breaks", Some(breaks)),
    ];
    charts.into_iter().filter_map(|(id, chart)| Some((id, chart?))).collect()
}

/// Strategies whose costs are known for all requests, most expensive first. Without caching everything costs several
/// times as much, so that nothing else could be distinguished next to it.
fn strategies(scope: &str, comparison: &Comparison<'_>) -> Option<Chart> {
    let known = |one: &&Compared<'_>| {
        one.applicability.is_applicable()
            && one.totals.unrecorded == 0
            && one.strategy.name != "none"
    };
    let strategies = comparison.strategies.iter().filter(known);
    let mut costs: Vec<(&Compared<'_>, Picodollars)> =
        strategies.filter_map(|one| Some((one, one.totals.cost()?))).collect();
    let (base, base_cost) = *costs.first()?;
    costs.order_by_key(|(_, cost)| Reverse(*cost));
    let (_, highest) = *costs.first()?;
    let name = base.strategy.label();
    let mut chart = Chart::new(
        "What strategies cost",
        format!("{scope}. {name}: {}.", dollars(Some(base_cost))),
    );
    let bar = |(one, cost): &(&Compared<'_>, Picodollars)| {
        let value = dollars(Some(*cost));
        let difference = percent_difference(relative(Some(*cost), Some(base_cost)));
        let is_base = std::ptr::eq(*one, base);
        let ink = if one.strategy.is_record() { Ink::Record } else { Ink::Others };
        Bar {
            mark: None,
            label: one.strategy.label().to_owned(),
            value: if is_base { value } else { format!("{value}  {difference}") },
            from: 0.0,
            parts: vec![(ink, cost.to_dollars_lossy())],
        }
    };
    chart.panels.push(Panel::Bars(Bars {
        heading: format!("dollars, and the difference to {name}"),
        x: Axis::amounts(highest.to_dollars_lossy(), AxisUnit::Dollars, 6),
        rows: costs.iter().map(bar).collect(),
        rule: None,
    }));
    let has = |is_record| costs.iter().any(|(one, _)| one.strategy.is_record() == is_record);
    if has(true) {
        chart.explain(Ink::Record, "measured");
    }
    if has(false) {
        chart.explain(Ink::Others, "simulated");
    }
    Some(chart)
}

/// Billed costs of each day, week, month or year.
fn daily(scope: &str, billed: &ByKey<i64, Picodollars>, zone: &Zone) -> Option<Chart> {
    let moment = |quarter: &i64| Millis::new(quarter.saturating_mul(QUARTER));
    let (first, last) = (billed.keys().next()?, billed.keys().next_back()?);
    let length = PeriodLength::covering(moment(first), moment(last), MOST_DAYS);
    let mut costs: ByKey<Period, Picodollars> = ByKey::new();
    for (quarter, cost) in billed {
        if let Some(period) = Period::of(zone, moment(quarter), length) {
            *costs.entry(period).or_default() += *cost;
        }
    }
    let (first, last) = (*costs.keys().next()?, *costs.keys().next_back()?);
    // Periods without requests are shown as well.
    for period in first.until(last) {
        costs.entry(period).or_default();
    }
    let cost = billed.values().copied().sum();
    let calendar = Calendar { scope, name: "billed", cost, length, zone, inks: vec![Ink::Record] };
    let periods = costs.into_iter().map(|(period, cost)| (period, vec![cost]));
    let mut chart = calendar.chart(periods.collect());
    chart.explain(Ink::Record, "measured");
    Some(chart)
}
