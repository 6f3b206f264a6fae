//! What Codex recorded as cached against what the rules of its provider give.

use super::document::{Align, Document, Grid};
use super::number::{exact_percent, grouped, share};
use crate::simulate::provider::{Agreement, Provider};

/// Adds a line for each provider that has requests to compare.
pub(super) fn agreements(document: &mut Document, agreements: &[(&Provider, Agreement)]) {
    let compared = agreements.iter().filter(|(_, agreement)| agreement.requests > 0);
    if compared.clone().next().is_none() {
        return;
    }
    document.heading("Codex rollouts: recorded cached tokens against the rules");
    let mut grid = Grid::new(&[
        ("provider", Align::Left),
        ("compared", Align::Right),
        ("within 1 %", Align::Right),
        ("within a step", Align::Right),
        ("within its session's step", Align::Right),
        ("read error", Align::Right),
        ("lost in both", Align::Right),
        ("only in the record", Align::Right),
        ("only under the rules", Align::Right),
    ])
    .hide_first(&[
        "only under the rules",
        "only in the record",
        "lost in both",
        "within its session's step",
        "within a step",
    ]);
    for (provider, agreement) in compared {
        let of_requests = |count| exact_percent(share(count, agreement.requests));
        grid.add(vec![
            provider.name.to_owned(),
            grouped(agreement.requests),
            of_requests(agreement.within_1_percent),
            of_requests(agreement.within_step),
            of_requests(agreement.within_recorded_step),
            exact_percent(share(agreement.error.0, agreement.recorded.0)),
            grouped(agreement.both_lost),
            grouped(agreement.only_recorded_lost),
            grouped(agreement.only_simulated_lost),
        ]);
    }
    document.grid(grid);
    document.text(
        "The first request of each session is left out: its recorded read is an input of the \
         simulation. Lost is a read below half of what the request before had sent.",
    );
}
