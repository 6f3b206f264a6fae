//! Chart of the costs of breaks, by cause.

use super::{selection_scope, unpriced_note};
use crate::base::Picodollars;
use crate::explain::breaks::{Analysis, Cause, Sum, Summary};
use crate::report::chart::axis::{Axis, AxisUnit};
use crate::report::chart::ink::Ink;
use crate::report::chart::{Bar, Bars, Chart, Panel};
use crate::report::{counted, dollars, part, percent, tokens};
use crate::requests::conversation::History;
use crate::simulate::ledger::Selection;

const TITLE: &str = "What breaks of the cache cost";

/// Excess of the breaks of a selection.
pub fn breaks_chart(history: &History, selection: &Selection, analysis: &Analysis) -> Chart {
    let scope = selection_scope(history, selection);
    let billed = analysis.summary.reconciliation.billed;
    summary_chart(&scope, &analysis.summary, analysis.breaks.compared, billed)
}

/// Sums of breaks among `compared` requests that have a predecessor, next to the billed total.
pub(super) fn summary_chart(
    scope: &str,
    summary: &Summary,
    compared: u64,
    billed: Picodollars,
) -> Chart {
    let total = &summary.total;
    if total.breaks == 0 {
        let reason = match compared {
            0 => "No request could be compared with one before it.".to_owned(),
            compared => format!(
                "None: {} compared read all that the one before had left.",
                counted(compared, "request", "requests")
            ),
        };
        return Chart::without_data(TITLE, scope, &reason);
    }
    let is_priced = total.excess().is_some();
    let sums = &summary.reconciliation;
    // Captures without usage have breaks as well, but no bill.
    let billed = Some(billed).filter(|_| total.excess() == Some(sums.excess));
    let share = part(total.excess(), billed).map_or_else(String::new, |share| {
        format!(" ({} of what was billed)", percent(Some(share)))
    });
    let mut chart = Chart::new(
        TITLE,
        format!(
            "{scope}. {} cost {}{share}: {} tokens were sent again.",
            counted(total.breaks, "break", "breaks"),
            dollars(total.excess()),
            tokens(total.rewritten),
        ),
    );
    let size = |sum: &Sum| if is_priced { sum.costs.sum.to_dollars_lossy() } else { whole(sum) };
    let rows: Vec<Bar> = summary
        .by_cause
        .iter()
        .map(|(cause, sum)| Bar {
            mark: None,
            label: cause.meaning().to_owned(),
            value: figures(sum, is_priced),
            from: 0.0,
            parts: vec![(ink(*cause), size(sum).max(0.0))],
        })
        .collect();
    let highest = summary.by_cause.iter().map(|(_, sum)| size(sum)).fold(0.0, f64::max);
    let (heading, unit) = if is_priced {
        ("dollars more than reading would have cost", AxisUnit::Dollars)
    } else {
        ("tokens sent again (no price is known)", AxisUnit::Tokens)
    };
    chart.panels.push(Panel::Bars(Bars {
        heading: heading.to_owned(),
        x: Axis::amounts(highest, unit, 6),
        rows,
        rule: None,
    }));
    let has =
        |is_expected| summary.by_cause.iter().any(|(cause, _)| cause.is_expected() == is_expected);
    if has(false) {
        chart.explain(Ink::Unexpected, "unexpected");
    }
    if has(true) {
        chart.explain(Ink::Expected, "expected");
        chart.note(
            "Expected: what was done has this price, an expiry after a pause or a compaction.",
        );
    }
    if is_priced {
        chart.notes.extend(unpriced_note(total.costs.unknown));
    }
    chart
}

fn ink(cause: Cause) -> Ink {
    if cause.is_expected() { Ink::Expected } else { Ink::Unexpected }
}

fn figures(sum: &Sum, is_priced: bool) -> String {
    let breaks = counted(sum.breaks, "break", "breaks");
    match sum.excess().filter(|_| is_priced) {
        Some(Picodollars(0)) | None => format!("{} tokens, {breaks}", tokens(sum.rewritten)),
        excess => format!("{}, {breaks}", dollars(excess)),
    }
}

#[allow(clippy::cast_precision_loss)] // places in a picture
fn whole(sum: &Sum) -> f64 {
    sum.rewritten.0 as f64
}
