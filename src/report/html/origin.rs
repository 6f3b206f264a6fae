//! Where the figures come from: what was read, what was wrong with it, and what was assumed.

use super::PageView;
use crate::report::document::{Align, Grid};
use crate::report::number::{bytes, counted, grouped};
use crate::requests::prompt::SharedPrefix;
use crate::simulate::cache::Lookback;

/// What was rejected or repaired, by kind.
pub(super) fn diagnostics(view: &PageView<'_>) -> Grid {
    let mut grid =
        Grid::new(&[("what", Align::Left), ("how often", Align::Right), ("effect", Align::Left)]);
    for (kind, count) in view.ledger.history.diagnostics.counts() {
        let effect = if kind.is_damage() { "left out" } else { "repaired or passed over" };
        grid.add(vec![kind.name().replace('_', " "), grouped(count), effect.to_owned()]);
    }
    grid
}

/// What was read.
pub(super) fn inputs(view: &PageView<'_>) -> String {
    let history = view.ledger.history;
    format!(
        "Read {} in {}: {}, {} left out; {} of them are in this report.",
        bytes(history.bytes),
        counted(history.files.len() as u64, "file", "files"),
        counted(history.requests.len() as u64, "request", "requests"),
        counted(history.duplicates, "copy", "copies"),
        grouped(view.selection.requests().count() as u64),
    )
}

/// What the simulations assume, a sentence each.
pub(super) fn assumptions(view: &PageView<'_>) -> Vec<String> {
    let assumed = view.assumptions;
    let mut sentences = vec![
        if assumed.keeps_breaks {
            "Counterfactual strategies keep the recorded breaks inside the TTL, so that they differ \
             by themselves alone."
        } else {
            "Recorded breaks inside the TTL do not happen under counterfactual strategies."
        }
        .to_owned(),
        match assumed.shared_prefix {
            SharedPrefix::Auto => {
                "What other traffic keeps warm of a chain's first read is calibrated from expiries, \
                 rewrites and first requests."
            }
            SharedPrefix::Cold => "Nothing is readable after an expiry.",
            SharedPrefix::Warm => "Tools and system prompt are always readable.",
        }
        .to_owned(),
    ];
    if assumed.lookback == Lookback::Blocks {
        sentences.push("A marker that looks back counts every block.".to_owned());
    }
    if assumed.ttl_grace > 0 {
        let seconds = grouped((assumed.ttl_grace / 1_000).unsigned_abs());
        sentences.push(format!("Entries are still found {seconds} s beyond their TTL."));
    }
    sentences.push(
        "Breaks and the verification rest on the rules as documented, by the letter, with nothing \
         kept of the record."
            .to_owned(),
    );
    sentences
}
