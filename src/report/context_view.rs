//! Contents of the prompts for people: by kind, by session, and the most expensive items.

use super::{Columns, Document, Grid, SessionNames, answer_grid, bytes, counted, percent};
use crate::base::{Order as _, Picodollars, Tokens};
use crate::explain::analysis::Answer;
use crate::explain::context::{
    Bill, CarriedItem, Carrying, Context, ContextKind, KindTotals, SessionContext,
};
use crate::requests::conversation::History;
use crate::simulate::ledger::Ledger;

/// Least share of the bill for a kind with a line of its own; the table shows it as 0.1 %.
const LEAST_SHARE: f64 = 0.0005;

/// Share of each kind of content in the prompts, and the cost of carrying it.
///
/// The tables have the `top` most expensive kinds, sessions and items; the JSON has all kinds and sessions.
pub fn context_document(
    answer: &Answer,
    ledger: &Ledger<'_>,
    context: &Context,
    top: usize,
) -> Document {
    let mut document = Document::default();
    document.grid(answer_grid(answer));
    let history = ledger.history;
    match context.sessions.as_slice() {
        [session] => {
            document.heading(format!("Session {}", history.symbols.text(session.id)));
        }
        sessions => document.heading(counted(sessions.len() as u64, "session", "sessions")),
    }
    let named = named(history, &context.kinds);
    contents(&mut document, &named, &context.bill, (top, summed(history)), "session");
    if context.sessions.len() > 1 {
        document.heading("Most expensive sessions");
        document.grid(sessions(history, &context.sessions, top));
    }
    if !context.items.is_empty() {
        document.heading("Most expensive items over their lives");
        document.grid(items(history, &context.items));
    }
    notes(&mut document, ledger, context);
    document
}

/// Adds the kinds of content, the `top` most expensive ones by themselves, with the basis of the figures.
///
/// `summed` requests are in sums alone. Sizes were summed up for each `part`, such as a session.
pub(super) fn contents(
    document: &mut Document,
    named: &[NamedKind],
    bill: &Bill,
    (top, summed): (usize, u64),
    part: &str,
) {
    document.grid(kinds(named, bill, top));
    document.text(format!(
        "The sums are measured: they are the recorded usage. How it is shared among the kinds is \
         estimated, from what the prompts grew by and the sizes of what came in between. “Size” \
         counts each piece once in each {part}, “sent” in every request that carried it.",
    ));
    if let Some(note) = unattributed(named, bill, summed) {
        document.text(note);
    }
}

/// Kind of content with its name.
pub(super) type NamedKind = (String, KindTotals);

/// Kinds with their names.
pub(super) fn named(history: &History, kinds: &[KindTotals]) -> Vec<NamedKind> {
    kinds.iter().map(|one| (kind_name(history, one.kind), *one)).collect()
}

/// Number of requests that the client keeps only sums of.
pub(super) fn summed(history: &History) -> u64 {
    let sums = history.requests.iter().filter(|request| request.sum_of > 1);
    sums.map(|request| u64::from(request.sum_of)).sum()
}

/// Name of a kind, with the tool for results.
pub(super) fn kind_name(history: &History, kind: ContextKind) -> String {
    let name = match kind {
        ContextKind::HiddenPrefix => "hidden prefix",
        ContextKind::Tools => "tools",
        ContextKind::SystemPrompt => "system prompt",
        ContextKind::UserText => "user text",
        ContextKind::Media => "images and documents",
        ContextKind::Files => "files read",
        ContextKind::AgentReports => "sub-agent reports",
        ContextKind::ToolResults(None) => "results of tools",
        ContextKind::ToolResults(Some(tool)) => {
            return format!("results of {}", history.symbols.text(tool));
        }
        ContextKind::Reminders => "reminders",
        ContextKind::Commands => "commands",
        ContextKind::Summaries => "summaries",
        ContextKind::Answers => "answers",
        ContextKind::Unattributed => "unattributed",
    };
    name.to_owned()
}

/// Reason why some of the context has no kind, if that is a line of the table.
fn unattributed(kinds: &[NamedKind], bill: &Bill, summed: u64) -> Option<String> {
    let (_, found) = kinds.iter().find(|(_, one)| one.kind == ContextKind::Unattributed)?;
    if is_small(found, bill) {
        return None;
    }
    let of_sums = match summed {
        0 => String::new(),
        requests => format!(
            ", and all of the {} of which the client keeps only sums",
            counted(requests, "request", "requests")
        ),
    };
    Some(format!(
        "“unattributed”: what prompts grew by beyond the counted size of what came in between, or beyond twice \
         its size where that is estimated{of_sums}."
    ))
}

/// Returns true if a kind is too small for a line of its own: by its cost, or by its tokens if the cost is
/// unknown.
fn is_small(one: &KindTotals, bill: &Bill) -> bool {
    let by_cost = share(one.carried.cost(), bill.totals.cost());
    let share = by_cost.or_else(|| token_share(one.carried.tokens(), bill.prompts.tokens()));
    share.is_none_or(|share| share < LEAST_SHARE)
}

/// Kinds with lines of their own, and the others.
///
/// A single other kind has a line, too.
fn told_apart<'k>(
    kinds: &'k [NamedKind],
    bill: &Bill,
    top: usize,
) -> (Vec<&'k NamedKind>, Vec<&'k NamedKind>) {
    let (mut listed, small): (Vec<&NamedKind>, Vec<&NamedKind>) =
        kinds.iter().partition(|(_, one)| !is_small(one, bill));
    let mut others = listed.split_off(top.min(listed.len()));
    others.extend(small);
    // A line for one other kind would take as much room as the kind itself.
    if others.len() == 1 && listed.len() < top {
        listed.append(&mut others);
    }
    (listed, others)
}

/// A row for each of the `top` kinds of content, most expensive first, and one for the others.
pub(super) fn kinds(kinds: &[NamedKind], bill: &Bill, top: usize) -> Grid {
    let total = bill.totals.cost();
    let (listed, others) = told_apart(kinds, bill, top);
    let mut rows: Vec<KindRow> =
        listed.iter().map(|(name, one)| KindRow::of(name.clone(), &[one])).collect();
    if !others.is_empty() {
        let name = counted(others.len() as u64, "other", "others");
        rows.push(KindRow::of(name, &others.iter().map(|(_, one)| one).collect::<Vec<_>>()));
    }
    let row = |name: &str, cost| KindRow { name: name.to_owned(), cost, ..KindRow::default() };
    let prompts = Some(bill.prompts);
    rows.push(KindRow { carried: prompts, ..row("all prompts", bill.prompts.cost()) });
    // With no price at all an amount of zero would pass for free of charge.
    let known = |cost| total.map(|_| cost);
    rows.push(KindRow { size: Some(bill.output), ..row("output", known(bill.output_cost)) });
    if bill.searches_cost != Picodollars::ZERO {
        rows.push(row("web searches", known(bill.searches_cost)));
    }
    if bill.totals.apart != Picodollars::ZERO {
        // The prompts of separate samplings are in the bill's sum, and in no kind of content.
        let sent = Some(bill.totals.prompt().saturating_sub(bill.prompts.tokens()));
        rows.push(KindRow { sent, ..row("samplings billed apart", known(bill.totals.apart)) });
    }
    rows.push(KindRow { sent: Some(bill.totals.prompt()), ..row("billed", total) });
    kind_columns(total).grid(rows)
}

/// Row of a kind of content, or of a part of the bill.
#[derive(Default)]
struct KindRow {
    name: String,
    items: Option<u64>,
    size: Option<Tokens>,
    sent: Option<Tokens>,
    /// Tokens by their price.
    carried: Option<Carrying>,
    cost: Option<Picodollars>,
}

impl KindRow {
    /// Some kinds together.
    fn of(name: String, kinds: &[&KindTotals]) -> Self {
        let mut carried = Carrying::default();
        for one in kinds {
            carried += one.carried;
        }
        Self {
            name,
            items: Some(kinds.iter().map(|one| one.items).sum()),
            size: Some(kinds.iter().map(|one| one.tokens).sum()),
            sent: None,
            carried: Some(carried),
            cost: carried.cost(),
        }
    }
}

fn kind_columns<'c>(total: Option<Picodollars>) -> Columns<'c, KindRow> {
    let mut columns = Columns::<KindRow>::new();
    columns.name("kind", |row| row.name.clone());
    columns.right("items", |row| row.items).hidden(3);
    columns.right("size", |row| row.size).hidden(5);
    let sent = |row: &KindRow| row.sent.or_else(|| Some(row.carried?.tokens()));
    columns.right("sent", sent).hidden(6);
    columns.right("read", |row| Some(row.carried?.read.tokens)).hidden(4);
    let written = |sums: Carrying| sums.write_5m.tokens + sums.write_1h.tokens;
    columns.right("written", move |row| row.carried.map(written)).hidden(2);
    columns.right("input", |row| Some(row.carried?.input.tokens)).hidden(1);
    columns.right("cost", |row| row.cost);
    columns.right("share", move |row| share(row.cost, total)).hidden(7);
    columns
}

fn share(cost: Option<Picodollars>, total: Option<Picodollars>) -> Option<f64> {
    let total = total.filter(|total| *total != Picodollars::ZERO)?;
    Some(cost?.to_dollars_lossy() / total.to_dollars_lossy())
}

fn sessions(history: &History, sessions: &[SessionContext], top: usize) -> Grid {
    let mut dearest: Vec<&SessionContext> = sessions.iter().collect();
    dearest
        .order_by_key(|one| std::cmp::Reverse((one.bill.totals.cost(), one.bill.prompts.tokens())));
    let names = SessionNames::of(history);
    let mut columns = Columns::<SessionContext>::new();
    columns.left("session", |one| names.name(one.id));
    columns.right("requests", |one| one.bill.prompts.requests).hidden(2);
    columns.right("sent", |one| one.bill.prompts.tokens()).hidden(1);
    columns.right("cost", |one| one.bill.totals.cost());
    columns.wrapped("mostly", |one| mostly(history, one)).hidden(3);
    columns.grid(dearest.into_iter().take(top))
}

/// The three most expensive kinds, with their shares of the tokens sent.
fn mostly(history: &History, session: &SessionContext) -> String {
    let all = session.bill.prompts.tokens();
    // Kinds come most expensive first.
    let named = session.kinds.iter().take(3).map(|one| {
        let share = token_share(one.carried.tokens(), all);
        format!("{} {}", kind_name(history, one.kind), percent(share))
    });
    named.collect::<Vec<_>>().join(", ")
}

#[allow(clippy::cast_precision_loss)] // a share for display
fn token_share(part: Tokens, whole: Tokens) -> Option<f64> {
    (whole > Tokens::ZERO).then(|| part.0 as f64 / whole.0 as f64)
}

fn items(history: &History, items: &[CarriedItem]) -> Grid {
    let mut columns = Columns::<CarriedItem>::new();
    columns.name("what", |item| kind_name(history, item.kind));
    columns
        .wrapped("came in at", |item| format!("{}:{}", history.files[item.file].label, item.line))
        .hidden(6);
    columns.right("tokens", |item| item.tokens).hidden(5);
    columns.right("requests", |item| item.carried.requests).hidden(4);
    columns.right("writing", |item| item.carried.write_cost()).hidden(2);
    columns.right("reading", |item| item.carried.read_cost()).hidden(3);
    columns.right("cost", |item| item.carried.cost());
    columns.left("size is", |item| item.basis.name()).hidden(1);
    columns.grid(items)
}

fn notes(document: &mut Document, ledger: &Ledger<'_>, context: &Context) {
    let history = ledger.history;
    document.note(format!(
        "Read {} in {}: {}, {} left out. Prices: {}, checked on {}.",
        bytes(history.bytes),
        counted(history.files.len() as u64, "file", "files"),
        counted(history.count_requests(), "request", "requests"),
        counted(history.duplicates, "copy", "copies"),
        ledger.prices.id,
        ledger.prices.as_of,
    ));
    let without_usage = context.bill.totals.unrecorded;
    if without_usage > 0 {
        document.note(format!(
            "The usage of {} was not recorded; nothing of them is counted.",
            counted(without_usage, "request", "requests")
        ));
    }
}
