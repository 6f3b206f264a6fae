//! Result of `check` for people: the answer, the budgets, and differences from the baseline.

use super::check_words::{
    beyond_lines, change_words, comparability, cost_change, figure_words, lacking_sentence,
    pairing_sentence, part_name, reasons, session_name, verdict_sentence,
};
use super::{
    Columns, Document, Grid, Inputs, Value, counted, dollars, grouped, percent_difference, relative,
};
use crate::base::Order as _;
use crate::explain::budget::Limit;
use crate::explain::check::{
    BudgetOutcome, Check, PromptDifference, RunDifference, SessionChange, SettingChange, Status,
    TurnChange, Unknown, Verdict,
};
use crate::explain::lint::Finding;
use crate::explain::snapshot::{Figures, Snapshot, SnapshotSession};
use crate::requests::conversation::History;
use crate::requests::difference::is_priced;

/// Input of a check, with its result.
#[derive(Clone, Copy, Debug)]
pub struct CheckView<'a> {
    /// Counts of the input read.
    pub inputs: &'a Inputs,
    /// Name of the price table, and the day on which it was last checked.
    pub prices: (&'a str, &'a str),
    /// Snapshot of the run.
    pub now: &'a Snapshot,
    /// Snapshot of the baseline, if there is one.
    pub before: Option<&'a Snapshot>,
    /// Findings of `lint` in captured prompts, with the history of their requests.
    pub findings: Option<(&'a History, &'a [Finding])>,
    /// Result of the check.
    pub check: &'a Check,
    /// Largest number of rows of a table.
    pub top: usize,
}

/// Result as a document.
pub fn check_document(view: CheckView<'_>) -> Document {
    let mut document = Document::default();
    document.heading(title(view.check));
    document.text(answer(view));
    for sentence in comparability(view.check, view.now) {
        document.text(sentence);
    }
    budgets(&mut document, view);
    if let (Some(difference), Some(before)) = (&view.check.difference, view.before) {
        changes(&mut document, view, difference, before);
    }
    if let Some(note) = other_prices(view) {
        document.text(note);
    }
    document.text(footer(view));
    document
}

/// Largest number of sessions, findings or breaks that a paragraph names; machine formats have all.
const MOST_BEYOND: usize = 5;

/// Limit of a comment.
///
/// The service counts characters, the page is counted in bytes, which are no fewer.
const COMMENT_BYTES: usize = 65_000;

/// Limit of a job summary: 1 MiB for all its steps together.
const SUMMARY_BYTES: usize = 1_000_000;

/// Result as a comment, after a marker that lets a job find the comment to update.
pub fn comment(view: CheckView<'_>, tag: &str) -> String {
    let page = check_document(view).to_markdown_within(COMMENT_BYTES);
    format!("<!-- cachesim-check:{tag} -->\n{page}")
}

/// Result as a job summary.
pub fn summary(view: CheckView<'_>) -> String {
    check_document(view).to_markdown_within(SUMMARY_BYTES)
}

fn title(check: &Check) -> String {
    let word = match check.verdict {
        Verdict::Pass => "passed",
        Verdict::Warn => "passed with warnings",
        Verdict::Fail => "failed",
    };
    format!("Prompt cache check {word}")
}

fn answer(view: CheckView<'_>) -> String {
    let check = view.check;
    let verdict = verdict_sentence(check);
    let costs = check.difference.as_ref().and_then(RunDifference::costs);
    // Only sessions on both sides compare, so their costs are not those of the whole run.
    let cost = if let Some((before, now)) = costs {
        format!(
            "The sessions of the baseline cost {}, {}.",
            cost_change(Some(before), Some(now)),
            percent_difference(relative(Some(now), Some(before)))
        )
    } else {
        let sessions = counted(view.now.sessions.len() as u64, "session cost", "sessions cost");
        format!("{sessions} {}{}.", dollars(check.total.known_cost()), check.by())
    };
    format!("{verdict}. {cost}")
}

fn status_word(status: Status) -> &'static str {
    match status {
        Status::Passed => "ok",
        Status::LeftOut => "left out",
        Status::Warned => "warns",
        Status::Failed => "FAILS",
    }
}

fn budgets(document: &mut Document, view: CheckView<'_>) {
    let mut columns = Columns::<BudgetOutcome>::new();
    columns.left("budget", |outcome| outcome.budget.name.clone());
    columns.left("result", |outcome| status_word(outcome.status));
    let figure = |outcome: &BudgetOutcome| outcome.figure.map(|_| figure_words(outcome));
    columns.right("figure", figure).unknown("unknown");
    let baseline = |outcome: &BudgetOutcome| Some(outcome.baseline?.to_string());
    columns.right("baseline", baseline).unknown("–").hidden(1);
    columns.wrapped("limit", limit);
    let outcomes = || view.check.outcomes.iter();
    let checked = outcomes().filter(|outcome| outcome.status != Status::LeftOut);
    document.grid(columns.grid(checked));
    // A first run has no baseline yet, which is no lack of the input.
    let left_out = |is_first: bool| {
        let names: Vec<&str> = outcomes()
            .filter(|outcome| outcome.status == Status::LeftOut)
            .filter(|outcome| (outcome.left_out == Some(Unknown::NoBaselineYet)) == is_first)
            .map(|outcome| outcome.budget.name.as_str())
            .collect();
        (!names.is_empty()).then(|| names.join(", "))
    };
    if let Some(names) = left_out(false) {
        document.text(format!("Not checked, as the input has nothing for them: {names}."));
    }
    if let Some(names) = left_out(true) {
        document.text(format!("Not checked, since this run saves the first baseline: {names}."));
    }
    if outcomes().any(|outcome| outcome.budget.is_default) {
        document.text(
            "These limits are built in. [[budget]] tables of cachesim.toml replace them with your own.",
        );
    }
    for outcome in outcomes().filter(|outcome| outcome.status >= Status::Warned) {
        if let Some(text) = beyond(view, outcome) {
            document.text(text);
        }
    }
}

fn limit(outcome: &BudgetOutcome) -> String {
    let limit = match outcome.budget.limit {
        Limit::MaxIncrease(change) => format!("at most +{change}"),
        Limit::MaxDecrease(change) => format!("at most -{change}"),
        other => other.to_string(),
    };
    match outcome.budget.selector.to_string() {
        selector if selector.is_empty() => limit,
        selector => format!("{limit} ({selector})"),
    }
}

/// More about an exceeded budget than its row has.
fn beyond(view: CheckView<'_>, outcome: &BudgetOutcome) -> Option<String> {
    // A budget also warns if it is kept by its known figures alone.
    let message = outcome.budget.message.iter().filter(|_| outcome.is_exceeded);
    let mut sentences: Vec<String> = message.cloned().collect();
    let lines = beyond_lines(CheckView { top: view.top.min(MOST_BEYOND), ..view }, outcome);
    if !lines.is_empty() {
        sentences.push(format!("{}.", lines.join("; ")));
    }
    let lacking = lacking_sentence(outcome);
    if !lacking.is_empty() {
        sentences.push(format!("{lacking}."));
    }
    if sentences.is_empty() {
        return None;
    }
    let (word, name) = (status_word(outcome.status), &outcome.budget.name);
    Some(format!("{word}: {name}. {}", sentences.join(" ")))
}

fn changes(
    document: &mut Document,
    view: CheckView<'_>,
    difference: &RunDifference,
    before: &Snapshot,
) {
    document.heading("What changed");
    document.text(pairing_sentence(&difference.pairing));
    let changed: Vec<&SessionChange> = difference.changed().collect();
    if changed.is_empty() && difference.prompts.is_empty() && view.check.settings.is_empty() {
        document.text("Nothing differs in what both have.");
    }
    if !difference.prompts.is_empty() {
        document.grid(prompts(view, difference));
        document.text(
            "“Cost of these sessions” is what they cost more than in the baseline, for whatever reason.",
        );
    }
    if !view.check.settings.is_empty() {
        document.grid(settings(view));
    }
    if !changed.is_empty() {
        document.grid(sessions(view, &changed));
        let details = turns(view, &changed, before);
        if let Some(details) = details {
            document.folded("The requests that changed most", details);
        } else if !difference.has_turns {
            document.text(
                "The baseline has no single requests; save it with `cachesim check PATH --export \
                 report=FILE` to see which changed.",
            );
        }
    }
    alone(
        document,
        "Sessions in the run alone",
        view,
        &difference.pairing.new,
        view.now,
        difference,
    );
    alone(
        document,
        "Sessions in the baseline alone",
        view,
        &difference.pairing.gone,
        before,
        difference,
    );
}

fn prompts(view: CheckView<'_>, difference: &RunDifference) -> Grid {
    let first = |prompt: &PromptDifference| {
        let (session, turn) = prompt.first;
        let turn = view.now.sessions[session].turns.as_ref()?.get(turn)?;
        Some(format!("{}:{}", turn.file, turn.line))
    };
    let mut columns = Columns::<PromptDifference>::new();
    columns.left("part of the prompt", |prompt| part_name(&prompt.change));
    columns.wrapped("what happened", |prompt| change_words(&prompt.change));
    columns.left("first seen", first).hidden(1);
    columns.right("requests", |prompt| prompt.requests).hidden(3);
    columns.right("sessions", |prompt| prompt.sessions.len()).hidden(2);
    columns.right("cost of these sessions", |prompt| Value::difference(prompt.difference));
    columns.grid(difference.prompts.iter().take(view.top))
}

fn settings(view: CheckView<'_>) -> Grid {
    let first = |change: &SettingChange| {
        let turn = view.now.sessions[change.session].turns.as_ref()?.get(change.turn)?;
        Some(format!("{}:{}", turn.file, turn.line))
    };
    let cost = |change: &SettingChange| match change.unshown {
        0 if is_priced(&change.name) => "as asked for",
        0 => "in the recorded usage",
        _ => "not recorded",
    };
    let mut columns = Columns::<SettingChange>::new();
    columns.left("setting that changed", |change| change.name.clone());
    columns.left("first seen", first).hidden(1);
    columns.right("requests", |change| change.requests);
    columns.left("what it costs", cost);
    columns.grid(view.check.settings.iter().take(view.top))
}

fn sessions(view: CheckView<'_>, changed: &[&SessionChange]) -> Grid {
    let mut columns = Columns::<&SessionChange>::new();
    columns.wrapped("session", |one| session_name(&view.now.sessions[one.pair.now]));
    columns.left("found by", |one| one.pair.by.name()).hidden(1);
    columns.right("baseline", |one| one.cost_before()).hidden(3);
    columns.right("now", |one| one.cost_now());
    columns.right("difference", |one| Value::difference(one.difference()));
    columns.right("", |one| Value::relative(relative(one.cost_now(), one.cost_before())));
    columns.wrapped("mostly", |one| one.turns.first().map(reasons)).hidden(2);
    columns.grid(changed.iter().take(view.top))
}

/// The turns of all sessions that changed most; `None` if none is known to have changed.
fn turns(view: CheckView<'_>, changed: &[&SessionChange], before: &Snapshot) -> Option<Document> {
    let mut turns: Vec<_> = changed
        .iter()
        .flat_map(|session| session.turns.iter().map(move |turn| (*session, turn)))
        .collect();
    // A turn that became cheaper counts like one that became more expensive.
    turns.order_by_key(|(_, turn)| std::cmp::Reverse(turn.difference().0.unsigned_abs()));
    if turns.is_empty() {
        return None;
    }
    let rows = turns.iter().take(view.top).map(|(session, change)| {
        let (now, old) =
            (&view.now.sessions[session.pair.now], &before.sessions[session.pair.before]);
        // A request that is gone has a place in the baseline alone.
        let here = change.now.map(|at| (now, at)).or(change.before.map(|at| (old, at)));
        (here.map(|(session, at)| request_name(session, at)).unwrap_or_default(), *change)
    });
    let mut columns = Columns::<((String, String), &TurnChange)>::new();
    columns.left("request", |((name, _), _)| name.clone());
    columns.left("line", |((_, line), _)| line.clone()).hidden(1);
    columns.right("baseline", |(_, change)| change.cost_before).hidden(2);
    columns.right("now", |(_, change)| change.cost_now);
    columns.right("difference", |(_, change)| Value::difference(Some(change.difference())));
    columns.wrapped("why", |(_, change)| reasons(change));
    let mut details = Document::default();
    details.grid(columns.grid(rows));
    let left = turns.len().saturating_sub(view.top) as u64;
    if left > 0 {
        details.text(format!("… and {}.", counted(left, "more request", "more requests")));
    }
    Some(details)
}

/// Request by its number in the session, and its line.
fn request_name(session: &SnapshotSession, at: usize) -> (String, String) {
    let turn = session.turns.as_ref().and_then(|turns| turns.get(at));
    let line = turn.map(|turn| format!("{}:{}", turn.file, turn.line)).unwrap_or_default();
    (format!("{} of {}", grouped(at as u64 + 1), session.id), line)
}

/// Sessions of one side only.
fn alone(
    document: &mut Document,
    heading: &str,
    view: CheckView<'_>,
    places: &[usize],
    side: &Snapshot,
    difference: &RunDifference,
) {
    if places.is_empty() {
        return;
    }
    let mut columns = Columns::<SnapshotSession>::new();
    columns.wrapped("session", session_name);
    columns.right("cost", |session| {
        session.totals.get(&difference.strategy).and_then(Figures::known_cost)
    });
    let mut details = Document::default();
    details.grid(columns.grid(places.iter().take(view.top).map(|at| &side.sessions[*at])));
    document.folded(format!("{heading} ({})", grouped(places.len() as u64)), details);
}

/// Note on other prices than the baseline's, which may be a part of the difference.
fn other_prices(view: CheckView<'_>) -> Option<String> {
    let before = view.before?.prices.as_deref()?;
    let now = view.now.prices.as_deref()?;
    let note = format!(
        "The baseline was priced with {before}, this run with {now}: some of the difference may be the \
         prices'. Save the baseline again."
    );
    (before != now).then_some(note)
}

fn footer(view: CheckView<'_>) -> String {
    let figures = match view.check.strategy {
        "billed" if view.check.counted.is_empty() && view.check.unrecorded == 0 => {
            "as billed (measured)"
        }
        "billed" => "as billed (measured) where the recorded usage counts",
        _ => "by the rules (`replay`), since not every request has recorded usage",
    };
    format!(
        "Figures {figures}, unless a budget names a strategy. {} in {}. Prices: {}, checked on {}.",
        counted(view.inputs.requests, "request", "requests"),
        counted(view.inputs.files, "file", "files"),
        view.prices.0,
        view.prices.1
    )
}
