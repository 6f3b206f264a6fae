//! Chart of the gaps between requests, and of the costs of breaks after them.

use super::{selection_scope, unpriced_note};
use crate::base::{Tokens, Ttl};
use crate::explain::analysis::{GapBin, Gaps};
use crate::explain::breaks::Sum;
use crate::report::chart::axis::{Axis, AxisUnit, logarithm};
use crate::report::chart::ink::Ink;
use crate::report::chart::{AxisRule, Chart, Column, Columns, Panel, Plot};
use crate::report::{counted, dollars, grouped, tokens};
use crate::requests::conversation::History;
use crate::simulate::ledger::Selection;

const TITLE: &str = "How long requests waited, and what breaks after it cost";

/// Label of a column whose amount is unknown.
const UNKNOWN: &str = "?";

/// Least range of the axis in milliseconds, ten seconds to four hours, so that both lifetimes are on it.
const SHORTEST_AXIS: (f64, f64) = (10_000.0, 14_400_000.0);

/// Gaps of a selection and the breaks after them.
pub fn gaps_chart(history: &History, selection: &Selection, gaps: &Gaps) -> Chart {
    let scope = selection_scope(history, selection);
    let bins = &gaps.bins;
    let (Some(first), Some(last)) = (bins.first(), bins.last()) else {
        let reason = "No request follows another one: there are no gaps.";
        return Chart::without_data(TITLE, &scope, reason);
    };
    let lost = lost(bins);
    // In tokens only if no break has a price.
    let is_priced = lost.excess().is_some();
    let mut chart = Chart::new(TITLE, format!("{scope}. {}", figures(bins, &lost)));
    let ends = (first.from.min(SHORTEST_AXIS.0), last.to.max(SHORTEST_AXIS.1));
    chart.panels.push(Panel::Plot(counts(bins, ends)));
    chart.panels.push(Panel::Plot(if is_priced {
        lost_dollars(bins, ends)
    } else {
        lost_tokens(bins, ends)
    }));
    if is_priced {
        chart.notes.extend(unpriced_note(lost.costs.unknown));
    }
    chart
}

/// Breaks after all gaps.
fn lost(bins: &[GapBin]) -> Sum {
    let mut all = Sum::default();
    for bin in bins {
        all += bin.lost;
    }
    all
}

fn figures(bins: &[GapBin], lost: &Sum) -> String {
    let from_on = |ttl: Ttl| sum(bins, |bin| if bin.from >= millis(ttl) { bin.gaps } else { 0 });
    format!(
        "{}: {} of 5 minutes or more, {} of an hour or more. Breaks after them cost {} ({} tokens sent \
         again).",
        counted(sum(bins, |bin| bin.gaps), "gap", "gaps"),
        grouped(from_on(Ttl::FiveMinutes)),
        grouped(from_on(Ttl::OneHour)),
        dollars(lost.excess()),
        tokens(lost.rewritten),
    )
}

fn sum(bins: &[GapBin], count: impl Fn(&GapBin) -> u64) -> u64 {
    bins.iter().map(count).sum()
}

/// Number of gaps, with the names of the lifetimes.
fn counts(bins: &[GapBin], (from, to): (f64, f64)) -> Plot {
    let label = |bin: &GapBin| if bin.gaps > 0 { grouped(bin.gaps) } else { String::new() };
    let columns = columns(bins, Ink::Read, |bin| whole(bin.gaps), label);
    Plot {
        heading: "gaps, from the start of a request to the start of the next one of its \
                  conversation"
            .to_owned(),
        height: 210,
        x: Axis::durations(from, to, ""),
        y: Axis::amounts(columns.highest(), AxisUnit::Count, 4),
        columns,
        lines: Vec::new(),
        rules: lifetimes(["TTL of 5 minutes", "TTL of an hour"]),
    }
}

fn lost_dollars(bins: &[GapBin], ends: (f64, f64)) -> Plot {
    let label = |bin: &GapBin| match bin.lost.excess() {
        _ if bin.lost.rewritten == Tokens::ZERO => String::new(),
        None => UNKNOWN.to_owned(),
        excess => dollars(excess),
    };
    // A column has no negative height.
    let amount = |bin: &GapBin| bin.lost.costs.sum.to_dollars_lossy().max(0.0);
    let columns = columns(bins, Ink::Unexpected, amount, label);
    losses(
        "dollars that breaks cost, by sending again what could have been read",
        columns,
        AxisUnit::Dollars,
        ends,
    )
}

/// Tokens that were sent again, for models without prices.
fn lost_tokens(bins: &[GapBin], ends: (f64, f64)) -> Plot {
    let label = |bin: &GapBin| match bin.lost.rewritten {
        Tokens::ZERO => String::new(),
        rewritten => tokens(rewritten),
    };
    let columns = columns(bins, Ink::Unexpected, |bin| whole(bin.lost.rewritten.0), label);
    losses("tokens sent again (no price is known)", columns, AxisUnit::Tokens, ends)
}

fn losses(heading: &str, columns: Columns, unit: AxisUnit, (from, to): (f64, f64)) -> Plot {
    Plot {
        heading: heading.to_owned(),
        height: 170,
        x: Axis::durations(from, to, "gap (logarithmic)"),
        y: Axis::amounts(columns.highest(), unit, 4),
        columns,
        lines: Vec::new(),
        rules: lifetimes(["", ""]),
    }
}

fn columns(
    bins: &[GapBin],
    ink: Ink,
    amount: impl Fn(&GapBin) -> f64,
    label: impl Fn(&GapBin) -> String,
) -> Columns {
    let column = |bin: &GapBin| Column {
        from: logarithm(bin.from),
        to: logarithm(bin.to),
        parts: vec![amount(bin)],
        label: label(bin),
    };
    Columns { inks: vec![ink], columns: bins.iter().map(column).collect() }
}

fn lifetimes(names: [&str; 2]) -> Vec<AxisRule> {
    let rule =
        |(ttl, name): (Ttl, &str)| AxisRule { at: logarithm(millis(ttl)), label: name.to_owned() };
    [Ttl::FiveMinutes, Ttl::OneHour].into_iter().zip(names).map(rule).collect()
}

#[allow(clippy::cast_precision_loss)] // places in a picture
fn whole(count: u64) -> f64 {
    count as f64
}

#[allow(clippy::cast_precision_loss)] // an hour has few milliseconds
fn millis(ttl: Ttl) -> f64 {
    ttl.millis() as f64
}
