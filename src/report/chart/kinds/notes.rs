//! What charts say of what they leave out, and of what their figures rest on.

use crate::base::units::Picodollars;
use crate::report::applicability::applicability_notes;
use crate::report::number::{counted, dollars};
use crate::simulate::ledger::{Ledger, Selection, StrategyColumn, Totals};

/// Says what is measured, where there is anything measured.
pub(super) fn simulation_note(columns: &[&StrategyColumn]) -> Option<String> {
    let has_record = columns.iter().any(|column| column.simulated.is_none());
    let note = if has_record {
        "“billed” is measured; all others are simulated."
    } else {
        "All of these are simulated."
    };
    Some(note.to_owned()).filter(|_| !columns.is_empty())
}

/// Says what the record has and no simulation.
pub(super) fn apart_note(totals: &Totals) -> Option<String> {
    (totals.apart > Picodollars::ZERO).then(|| {
        let apart = dollars(Some(totals.apart));
        format!("“billed” has {apart} for samplings billed apart, which no simulation has.")
    })
}

/// Says which requests are in no sum of dollars.
pub(super) fn left_out_notes(totals: &Totals) -> Vec<String> {
    let counted = |count| counted(count, "request", "requests");
    let unrecorded = (totals.unrecorded > 0).then(|| {
        format!("{} without recorded usage are in none of the dollars.", counted(totals.unrecorded))
    });
    let output = (totals.without_output > 0).then(|| {
        format!(
            "The output of {} is not known, and in none of the dollars.",
            counted(totals.without_output)
        )
    });
    let unpriced = unpriced_note(totals.unpriced_requests);
    unrecorded.into_iter().chain(unpriced).chain(output).collect()
}

/// Says how many requests have no price.
pub(super) fn unpriced_note(requests: u64) -> Option<String> {
    (requests > 0).then(|| {
        let requests = counted(requests, "request", "requests");
        format!("{requests} of models without a price are in none of the dollars.")
    })
}

/// Says why columns without a known cost are not drawn.
pub(super) fn undrawn_notes(columns: &[&StrategyColumn]) -> Vec<String> {
    let (unknown, idle): (Vec<&StrategyColumn>, Vec<&StrategyColumn>) =
        columns.iter().partition(|column| column.applicability().is_applicable());
    let names: Vec<&str> = unknown.iter().map(|column| column.strategy.label()).collect();
    let unknown = (!names.is_empty())
        .then(|| format!("Not drawn, since their cost is not known: {}.", names.join(", ")));
    unknown.into_iter().chain(applicability_of(&idle)).collect()
}

fn applicability_of(columns: &[&StrategyColumn]) -> Vec<String> {
    let named = columns.iter().map(|column| (&*column.strategy.name, column.applicability()));
    applicability_notes(named)
}

/// Why there are no dollars.
pub(super) fn no_cost(
    ledger: &Ledger<'_>,
    columns: &[&StrategyColumn],
    selection: &Selection,
) -> String {
    if columns.iter().all(|column| !column.applicability().is_applicable()) {
        return applicability_of(columns).join(" ");
    }
    let unpriced = ledger.unpriced_models(selection.requests());
    if unpriced.is_empty() {
        return "Nothing is known of what these requests cost: their usage was not recorded."
            .to_owned();
    }
    let models: Vec<String> =
        unpriced.iter().map(|(model, requests)| format!("{model} ({requests})")).collect();
    format!("No price is known of {}. Give one with --prices FILE.", models.join(", "))
}
