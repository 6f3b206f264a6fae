//! What is said after the figures: what they rest on, and of what nothing is known.

use std::collections::BTreeMap;

use super::analyze_view::is_comparable;
use super::applicability::{applicability_notes, managed};
use super::document::Document;
use super::key_notes::key_notes;
use super::money_notes::money_notes;
use super::number::{bytes, counted, dollars, grouped};
use crate::requests::conversation::{History, RequestIndex};
use crate::simulate::ledger::{Ledger, Selection, StrategyColumn};
use crate::simulate::provider::{NotSimulated, expectation};

pub(super) fn notes(document: &mut Document, ledger: &Ledger<'_>, selection: &Selection) {
    let history = ledger.history;
    let bounds =
        selection.requests().filter(|index| history.request(*index).output_is_lower_bound).count();
    let prices = ledger.prices;
    document.text(format!(
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
        document.text(
            "Captured prompts are counted in bytes: `billed`, which counts recorded tokens, is \
             another unit and not compared.",
        );
    }
    if has_partial_sums(ledger, selection) {
        document.text("A plus after a sum: requests without a price are in none of it.");
    }
    let unknown = selection.requests().filter(|index| history.request(*index).usage.is_none());
    let unknown = unknown.count() as u64;
    if unknown > 0 {
        document.text(format!(
            "The usage of {} was not recorded: what was billed is unknown, and the costs are those \
             of the prompts alone, without output.",
            counted(unknown, "request", "requests")
        ));
    }
    for note in money_notes(ledger, selection) {
        document.text(note);
    }
    for note in not_simulated(history, selection) {
        document.text(note);
    }
    for note in key_notes(history, ledger.steps, &ledger.assumptions) {
        document.text(note);
    }
    rewound(document, ledger, selection);
    let applicability =
        ledger.columns.iter().map(|column| (&*column.strategy.name, column.applicability()));
    for note in applicability_notes(applicability) {
        document.text(note);
    }
    for managed in managed(ledger) {
        document.text(managed.note());
    }
    if bounds > 0 {
        document.text(format!(
            "The output of {} is a snapshot in mid-stream: it and its cost are lower bounds.",
            counted(bounds as u64, "request", "requests")
        ));
    }
}

/// Whether some requests have a price and others have none.
fn has_partial_sums(ledger: &Ledger<'_>, selection: &Selection) -> bool {
    let mut has_price = selection.requests().map(|index| ledger.rates_of(index).is_some());
    has_price.next().is_some_and(|first| has_price.any(|other| other != first))
}

/// How much went to abandoned branches.
fn rewound(document: &mut Document, ledger: &Ledger<'_>, selection: &Selection) {
    let history = ledger.history;
    let is_rewound = |index: &RequestIndex| !history.request(*index).is_live;
    let rewound: Vec<RequestIndex> = selection.requests().filter(is_rewound).collect();
    let is_complete = |column: &&StrategyColumn| {
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
    document.text(format!(
        "Rewound branches: {} of {}, {cost} (`{}`); --live leaves them out.",
        grouped(part.requests),
        counted(all.requests, "request", "requests"),
        column.strategy.name,
    ));
}

/// Of which requests nothing is expected, and why.
fn not_simulated(history: &History, selection: &Selection) -> Vec<String> {
    let mut counts: BTreeMap<NotSimulated, (u64, u64)> = BTreeMap::new();
    for index in selection.requests().filter(|index| !history.is_marked(*index)) {
        if let Err(reason) = expectation(history, index) {
            let (rows, requests) = counts.entry(reason).or_default();
            *rows += 1;
            *requests += u64::from(history.request(index).sum_of);
        }
    }
    let note = |(reason, (rows, requests)): (NotSimulated, (u64, u64))| {
        let what = if reason == NotSimulated::Sum {
            let sums = counted(rows, "row", "rows");
            format!("{sums} with the sum of {}", counted(requests, "request", "requests"))
        } else {
            counted(rows, "request", "requests")
        };
        let label = reason.label();
        format!(
            "Not simulated, and as recorded under every strategy but `none`: {what}, since {label}."
        )
    };
    counts.into_iter().map(note).collect()
}
