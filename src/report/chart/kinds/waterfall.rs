//! Chart of the steps from the spending to the best caching.

use super::{selection_scope, unpriced_note};
use crate::base::Picodollars;
use crate::explain::analysis::Waterfall;
use crate::report::chart::axis::{Axis, AxisUnit};
use crate::report::chart::ink::Ink;
use crate::report::chart::{Bar, Bars, Chart, Panel};
use crate::report::{
    BREAKS_BEYOND_RULES, WaterfallKind, WaterfallStep, dollar_difference, dollars, part, percent,
    steps,
};
use crate::simulate::ledger::{Ledger, Selection};

const TITLE: &str = "From what was spent to the best caching";

const UNKNOWN: &str = "Some of these requests have no record or no price, or their tokens are not those of \
                       the record: what was spent cannot be held against a simulation.";

/// Steps of a waterfall below each other. Each step begins at the end of the previous one.
pub fn waterfall_chart(
    ledger: &Ledger<'_>,
    selection: &Selection,
    waterfall: Option<&Waterfall>,
) -> Chart {
    let scope = selection_scope(ledger.history, selection);
    let Some(waterfall) = waterfall else {
        return Chart::without_data(TITLE, &scope, UNKNOWN);
    };
    let steps = steps(waterfall);
    let mut chart = Chart::new(TITLE, format!("{scope}. {}", figures(waterfall)));
    let highest = steps.iter().map(|step| step.left).fold(waterfall.spent, Picodollars::max);
    let mut rows = vec![total("spent", waterfall.spent)];
    for step in &steps {
        rows.push(hanging(step));
        rows.extend(step.result.map(|result| total(result, step.left)));
    }
    chart.panels.push(Panel::Bars(Bars {
        heading: "dollars".to_owned(),
        x: Axis::amounts(highest.to_dollars_lossy(), AxisUnit::Dollars, 6),
        rows,
        rule: None,
    }));
    chart.explain(Ink::Record, "what is left");
    for kind in [WaterfallKind::Breaks, WaterfallKind::Apart, WaterfallKind::Saving] {
        if steps.iter().any(|step| step.kind == kind && step.amount != Picodollars::ZERO) {
            let (ink, name) = look(kind);
            chart.explain(ink, name);
        }
    }
    chart.note("Spent is measured. Expected is what the rules charge for the same requests.");
    if waterfall.best_caching().is_some() {
        chart.note(
            "Best caching is the least that any markers, lifetimes and pings could have cost for the \
             same prompts, without breaks.",
        );
    }
    let billed = ledger.billed();
    let totals = billed.map(|billed| ledger.totals(billed, selection.requests()));
    chart.notes.extend(totals.and_then(|totals| unpriced_note(totals.unpriced_requests)));
    chart
}

/// Ink and meaning of a step.
fn look(kind: WaterfallKind) -> (Ink, &'static str) {
    match kind {
        WaterfallKind::Breaks => (Ink::Unexpected, BREAKS_BEYOND_RULES),
        WaterfallKind::Apart => (Ink::Others, "in no simulation"),
        WaterfallKind::Saving => (Ink::Saving, "could be saved"),
    }
}

/// Figures of the subtitle.
fn figures(waterfall: &Waterfall) -> String {
    let spent = dollars(Some(waterfall.spent));
    let Some(best) = waterfall.best_caching() else {
        return format!("Spent: {spent}.");
    };
    let share = part(Some(waterfall.spent.minus(best)), Some(waterfall.spent));
    format!("Spent: {spent}; best caching: {}, {} less.", dollars(Some(best)), percent(share))
}

/// Remaining amount, as a bar from zero.
fn total(name: &str, amount: Picodollars) -> Bar {
    Bar {
        mark: None,
        label: name.to_owned(),
        value: dollars(Some(amount)),
        from: 0.0,
        parts: vec![(Ink::Record, amount.to_dollars_lossy())],
    }
}

/// Step from the previous amount to the remaining one.
fn hanging(step: &WaterfallStep) -> Bar {
    let (left, amount) = (step.left.to_dollars_lossy(), step.amount.to_dollars_lossy());
    Bar {
        mark: None,
        label: step.name.clone(),
        value: dollar_difference(Some(Picodollars(-step.amount.0))),
        // A step that adds to the cost ends at the remaining amount.
        from: left.min(left + amount),
        parts: vec![(look(step.kind).0, amount.abs())],
    }
}
