//! The verification for people.

use std::collections::BTreeMap;

use super::answer_view::answer_grid;
use super::document::{Align, Document, Grid};
use super::number::{
    bytes, counted, dollar_difference, dollars, exact_percent, grouped, percent, share, tokens,
};
use crate::base::units::Picodollars;
use crate::explain::analysis::{Agreement, Answer, Verification};
use crate::requests::conversation::History;
use crate::requests::prompt::StepKind;

/// The word for a kind of step in every output.
pub(super) fn kind_name(kind: StepKind) -> &'static str {
    match kind {
        StepKind::Opening => "opening",
        StepKind::ModelChange => "model_change",
        StepKind::Continued => "continued",
        StepKind::Rewritten => "rewritten",
        StepKind::Expired => "expired",
    }
}

/// How well the rules reproduce the record.
#[must_use]
pub fn verify_document(
    history: &History,
    answer: &Answer,
    verification: &Verification,
) -> Document {
    let mut document = Document::default();
    document.grid(answer_grid(answer));
    document.heading("How well the rules reproduce the record");
    document.text(coverage(history, verification));
    document.grid(figures(verification));
    if let Some(note) = unpriced(verification) {
        document.text(note);
    }
    document.heading("By client version");
    document.grid(groups("client", &verification.by_client_version));
    document.heading("By model");
    document.grid(groups("model", &verification.by_model));
    worst(&mut document, history, verification);
    document
}

/// Which requests were compared.
pub(super) fn coverage(history: &History, verification: &Verification) -> String {
    let coverage = &verification.coverage;
    format!(
        "{} in {} ({}); {} of them simulated. {} are compared; left out are {} of a chain and {} after a \
         change of model, whose recorded read is an input of the simulation. A \
         large miss is a read of over 2,000 tokens and over 5 % less than was left, inside the \
         lifetime.",
        counted(coverage.requests, "request", "requests"),
        counted(history.files.len() as u64, "file", "files"),
        bytes(history.bytes),
        percent(share(coverage.simulated, coverage.requests)),
        grouped(coverage.compared),
        counted(coverage.openings, "first request", "first requests"),
        counted(coverage.model_changes, "request", "requests"),
    )
}

/// How far the rules and the record agree.
pub(super) fn figures(verification: &Verification) -> Grid {
    let mut grid =
        Grid::new(&[("figure", Align::Left), ("value", Align::Right), ("of", Align::Wrapped)]);
    let mut add = |name: &str, value: String, of: String| {
        grid.add(vec![name.to_owned(), value, of]);
    };
    let all = &verification.all;
    let outside = &verification.without_large_misses;
    let share_of = |part, whole| exact_percent(share(part, whole));
    let requests = |count| format!("{} requests", grouped(count));
    add(
        "read within 1 % of the prompt",
        share_of(all.within, all.requests),
        requests(all.requests),
    );
    let misses = all.requests - outside.requests;
    add(
        "  without large misses",
        share_of(outside.within, outside.requests),
        format!("{}, {} left out", requests(outside.requests), counted(misses, "miss", "misses")),
    );
    add("read to the token", share_of(all.exact, all.requests), requests(all.requests));
    add(
        "read error without large misses",
        share_of(outside.error.0, outside.prompt.0),
        format!("{} tokens", tokens(outside.prompt)),
    );
    let expiries = &verification.expiries;
    add(
        "expiries: precision",
        share_of(expiries.both, expiries.simulated),
        format!("{} simulated", grouped(expiries.simulated)),
    );
    add(
        "expiries: recall",
        share_of(expiries.both, expiries.recorded),
        format!("{} recorded", grouped(expiries.recorded)),
    );
    let money = &verification.dollars;
    let known = |amount| Some(amount).filter(|_| money.is_known());
    add(
        "dollars explained",
        exact_percent(money.explained()),
        format!("{} billed", dollars(known(money.billed))),
    );
    if money.apart != Picodollars::ZERO {
        let apart = dollar_difference(Some(Picodollars(-money.apart.0)));
        add("  samplings billed apart", apart, "in no simulation".to_owned());
    }
    add("  expected (no breaks)", dollars(known(money.replay)), String::new());
    add(
        "  breaks beyond expiries and compactions",
        dollar_difference(known(money.beyond_rules())),
        "extra cost".to_owned(),
    );
    add("  unexplained", dollar_difference(known(money.unexplained())), String::new());
    add(
        "tokens conserved",
        share_of(
            verification.conserved_rows - verification.violations,
            verification.conserved_rows,
        ),
        format!("{} rows", grouped(verification.conserved_rows)),
    );
    grid
}

/// What the dollars leave out, if anything.
pub(super) fn unpriced(verification: &Verification) -> Option<String> {
    let count = verification.unpriced();
    (count > 0).then(|| {
        format!("{} requests of models without a price are in none of the dollars.", grouped(count))
    })
}

/// The agreement by a name.
pub(super) fn groups(name: &'static str, agreements: &BTreeMap<String, Agreement>) -> Grid {
    let mut grid = Grid::new(&[
        (name, Align::Left),
        ("requests", Align::Right),
        ("within 1 %", Align::Right),
        ("exact", Align::Right),
        ("read error", Align::Right),
    ]);
    for (name, agreement) in agreements {
        grid.add(vec![
            name.clone(),
            grouped(agreement.requests),
            percent(share(agreement.within, agreement.requests)),
            percent(share(agreement.exact, agreement.requests)),
            exact_percent(share(agreement.error.0, agreement.prompt.0)),
        ]);
    }
    grid
}

fn worst(document: &mut Document, history: &History, verification: &Verification) {
    if verification.worst.is_empty() {
        return;
    }
    document.heading("The worst requests");
    let mut grid = Grid::new(&[
        ("where", Align::Wrapped),
        ("step", Align::Left),
        ("prompt", Align::Right),
        ("recorded read", Align::Right),
        ("simulated", Align::Right),
    ])
    .hide_first(&["prompt", "step"]);
    for one in &verification.worst {
        let request = history.request(one.request);
        let step = if one.is_break { "break" } else { kind_name(one.kind) };
        grid.add(vec![
            format!("{}:{}", history.files[request.file].label, request.line),
            step.replace('_', " "),
            tokens(request.prompt_total()),
            tokens(one.recorded),
            tokens(one.simulated),
        ]);
    }
    document.grid(grid);
}
