//! Notes after the figures: their basis, and the requests without any.

use super::analyze_view::is_comparable;
use super::applicability::{applicability_notes, managed};
use super::caveats::Caveats;
use super::money_notes::money_notes;
use super::{Document, bytes, counted, dollars, grouped, key_notes};
use crate::requests::conversation::RequestIndex;
use crate::simulate::ledger::{Ledger, Selection, StrategyColumn};

pub(super) fn notes(document: &mut Document, ledger: &Ledger<'_>, selection: &Selection) {
    let history = ledger.history;
    let caveats = Caveats::of(ledger, selection);
    let prices = ledger.prices;
    document.note(format!(
        "Read {} in {}: {}, {} left out. Prices: {}, checked on {}. `billed` is measured; the \
         simulated strategies are derived or estimated, which --format jsonl says row by row.",
        bytes(history.bytes),
        counted(history.files.len() as u64, "file", "files"),
        counted(history.count_requests(), "request", "requests"),
        counted(history.duplicates, "copy", "copies"),
        prices.id,
        prices.as_of,
    ));
    if history.is_counted_in_bytes() && ledger.billed().is_some() {
        document.note(
            "Captured prompts are counted in bytes: `billed`, which counts recorded tokens, is \
             another unit and not compared.",
        );
    }
    for note in caveats.of_costs() {
        document.note(note);
    }
    for note in money_notes(ledger, selection) {
        document.note(note);
    }
    for note in caveats.not_simulated() {
        document.note(note);
    }
    for note in key_notes(history, ledger.steps, &ledger.assumptions) {
        document.note(note);
    }
    rewound(document, ledger, selection);
    let applicability =
        ledger.columns.iter().map(|column| (&*column.strategy.name, column.applicability()));
    for note in applicability_notes(applicability) {
        document.note(note);
    }
    for managed in managed(ledger) {
        document.note(managed.note());
    }
    if let Some(note) = caveats.snapshots() {
        document.note(note);
    }
}

/// Adds the cost of abandoned branches.
fn rewound(document: &mut Document, ledger: &Ledger<'_>, selection: &Selection) {
    let history = ledger.history;
    let is_rewound = |index: &RequestIndex| !history.request(*index).is_live;
    let rewound: Vec<RequestIndex> = selection.requests().filter(is_rewound).collect();
    let is_complete = |column: &&StrategyColumn| {
        // Gaps in a column would distort the share of the branches.
        is_comparable(ledger, column) && ledger.totals(column, selection.requests()).unrecorded == 0
    };
    let billed = ledger.billed().filter(is_complete);
    let shown = billed.or_else(|| ledger.columns.iter().find(is_complete));
    let Some(column) = shown.filter(|_| !rewound.is_empty()) else { return };
    let part = ledger.totals(column, rewound);
    let all = ledger.totals(column, selection.requests());
    let cost = match (part.cost(), all.cost()) {
        (None, _) => "of unknown cost".to_owned(),
        (part, None) => dollars(part),
        (part, all) => format!("{} of {}", dollars(part), dollars(all)),
    };
    document.note(format!(
        "Rewound branches: {} of {}, {cost} (`{}`); --live leaves them out.",
        grouped(part.requests),
        counted(all.requests, "request", "requests"),
        column.strategy.name,
    ));
}
