//! First lines of every command over sessions: six, and those of a client's own count.

use std::iter;

use super::{Columns, Grid, Tone, Value, counted, dollars, grouped, part, percent, tokens};
use crate::base::Picodollars;
use crate::explain::analysis::{Answer, BestChange, Waterfall};
use crate::explain::breaks::Cause;
use crate::explain::client_count::ClientCount;
use crate::simulate::ledger::Totals;

/// The most important figures, one on each line.
pub(super) fn answer_grid(answer: &Answer) -> Grid {
    let mut columns = Columns::<AnswerLine>::new();
    columns.left("", |line| line.name);
    columns.right("", |line| line.value.clone());
    columns.left("", |line| line.note.clone());
    columns.toned(|line| line.tone);
    let client = answer.client.as_ref().map(|count| client_count(count, answer.sessions));
    let lines = [
        (answer.agents().requests > 0).then(|| agents(answer)),
        Some(hit_rate(answer)),
        Some(breaks(answer)),
        answer.change.as_ref().map(|change| best_change(change, answer.unsimulated)),
        answer.waterfall.as_ref().and_then(best_caching),
    ];
    let count = client.into_iter().flatten();
    let first = iter::once(spent(answer)).chain(billed_apart(answer.spent()));
    columns.grid(first.chain(count).chain(lines.into_iter().flatten()))
}

/// A figure with its name, value and remark.
struct AnswerLine {
    name: &'static str,
    value: Value,
    note: String,
    tone: Tone,
}

impl AnswerLine {
    fn plain(name: &'static str, value: Value, note: String) -> Self {
        Self { name, value, note, tone: Tone::Plain }
    }
}

fn spent(answer: &Answer) -> AnswerLine {
    let of = |totals: &Totals| {
        let sessions = counted(answer.sessions as u64, "session", "sessions");
        format!("{}, {sessions}", counted(totals.requests, "request", "requests"))
    };
    let totals = answer.spent();
    let (name, basis) =
        if answer.is_recorded() { ("Spent", "") } else { ("Would cost", "; as the rules expect") };
    let note = format!("{}{}{basis}", of(totals), missing(totals));
    AnswerLine::plain(name, totals.cost().into(), note)
}

/// Samplings billed apart, if there are any.
fn billed_apart(totals: &Totals) -> Option<AnswerLine> {
    let note = "of it for samplings billed apart, under every strategy".to_owned();
    let is_any = totals.apart != Picodollars::ZERO;
    is_any.then(|| AnswerLine::plain("  apart", totals.apart.into(), note))
}

/// Clients' own count of the sessions, with the parts of its difference from the sum of their lines.
fn client_count(count: &ClientCount, sessions: usize) -> Vec<AnswerLine> {
    let mut parts: Vec<AnswerLine> = Vec::new();
    let mut add =
        |name, cost: Picodollars, note| parts.push(AnswerLine::plain(name, cost.into(), note));
    if !count.without_line.is_empty() {
        let models = listed(count.without_line.keys());
        add("  no line", count.beside_lines(), format!("requests that leave no line: {models}"));
    }
    if count.cut_output != Picodollars::ZERO {
        add("  cut output", count.cut_output, "output that the lines do not have".to_owned());
    }
    for found in count.differences.iter().take(SHOWN_DIFFERENCES) {
        let session = found.session.split('-').next().unwrap_or_default();
        let place = match found.line {
            Some(line) => format!("after line {line} of {session}"),
            None => format!("in {session}"),
        };
        add("  unexplained", found.cost, format!("{} {place}", found.model));
    }
    let lines = match () {
        () if parts.is_empty() => "the same as the lines of".to_owned(),
        () => format!("against {} by the lines of", dollars(Some(count.of_lines))),
    };
    let of_all = if count.sessions < sessions { format!(" in {sessions}") } else { String::new() };
    let of = counted(count.sessions as u64, "session", "sessions");
    let note = format!("{lines} {of}{of_all}");
    parts.insert(0, AnswerLine::plain("Client's count", count.counted.into(), note));
    parts
}

/// Differences listed in front of every answer; machine formats have all of them.
const SHOWN_DIFFERENCES: usize = 2;

/// First of some names, with the number of the others.
fn listed<'n>(mut names: impl Iterator<Item = &'n String>) -> String {
    let first = names.next().cloned().unwrap_or_default();
    match names.count() {
        0 => first,
        more => format!("{first} and {}", counted(more as u64, "other", "others")),
    }
}

/// Number of requests that a sum leaves out, by reason.
fn missing(totals: &Totals) -> String {
    let without = |count, what| match count {
        0 => String::new(),
        count => format!("; {} {what}", grouped(count)),
    };
    without(totals.unpriced_requests, "unpriced") + &without(totals.unrecorded, "unrecorded")
}

fn agents(answer: &Answer) -> AnswerLine {
    let share = part(answer.agents().cost(), answer.spent().cost());
    let requests = counted(answer.agents().requests, "request", "requests");
    let note = format!("{} of it, {requests}", percent(share));
    AnswerLine::plain("Sub-agents", answer.agents().cost().into(), note)
}

fn hit_rate(answer: &Answer) -> AnswerLine {
    let totals = answer.spent();
    let note = format!("{} of {} prompt tokens", tokens(totals.read), tokens(totals.prompt()));
    AnswerLine::plain("Hit rate", totals.hit_rate().into(), note)
}

fn breaks(answer: &Answer) -> AnswerLine {
    const NAME: &str = "Breaks cost";
    let sum = &answer.breaks;
    let Some((cause, of_cause)) = answer.by_cause.first() else {
        // Without a comparison no break can be found, so the cost is unknown and not zero.
        let note = match answer.compared {
            0 => "no request can be compared with one before it".to_owned(),
            compared => format!("none in {} compared", counted(compared, "request", "requests")),
        };
        return AnswerLine::plain(NAME, sum.excess().filter(|_| answer.compared > 0).into(), note);
    };
    let count = counted(sum.breaks, "break", "breaks");
    let note = if of_cause.breaks == sum.breaks {
        format!("{count}: {}", cause.meaning())
    } else {
        let because = if *cause == Cause::Unknown { "where" } else { "as" };
        format!("{count}; {} {because} {}", dollars(of_cause.excess()), cause.meaning())
    };
    AnswerLine { name: NAME, value: sum.excess().into(), note, tone: Tone::Loss }
}

fn best_change(change: &BestChange, unsimulated: Option<Picodollars>) -> AnswerLine {
    const NAME: &str = "Best change";
    let Some(saving) = change.saving else {
        let beyond = unsimulated.map(|unsimulated| Picodollars::ZERO.minus(unsimulated));
        // The saving may be money that nobody paid, so none is shown.
        let note = format!("the rules charge {} more than was billed", dollars(beyond));
        return AnswerLine::plain(NAME, Value::unknown("unknown"), note);
    };
    let most = if change.is_at_most { "at most: " } else { "" };
    let note = format!("{most}{}", change.label);
    let saving = Picodollars(-saving.0);
    AnswerLine { name: NAME, value: Some(saving).into(), note, tone: Tone::Saving }
}

fn best_caching(waterfall: &Waterfall) -> Option<AnswerLine> {
    waterfall.cheapest?;
    let best = waterfall.best_caching();
    let note = match best {
        Some(_) => "the same prompts, no breaks, best markers, TTLs, pings",
        None => "more was read than the record tells was written",
    };
    Some(AnswerLine::plain("Best caching", best.into(), note.to_owned()))
}

/// Steps from the amount spent to the best caching, with the rest after each.
pub(super) fn waterfall_grid(waterfall: &Waterfall) -> Grid {
    let mut columns = Columns::<(String, Option<Picodollars>, Picodollars)>::new();
    columns.left("from spent to best caching", |(name, ..)| name.clone());
    columns.right("step", |(_, step, _)| step.map(|step| Value::difference(Some(step))));
    columns.right("left", |(.., left)| Some(*left));
    let spent = std::iter::once(("spent".to_owned(), None, waterfall.spent));
    let steps =
        steps(waterfall).into_iter().map(|WaterfallStep { name, amount, left, result, .. }| {
            let name =
                result.map_or_else(|| name.clone(), |result| format!("{name}; leaves {result}"));
            (name, Some(Picodollars(-amount.0)), left)
        });
    columns.grid(spent.chain(steps))
}

/// Cost of breaks beyond the rules' charge for them.
///
/// The rules charge for expiries, compactions, and whatever else they foresee.
pub(super) const BREAKS_BEYOND_RULES: &str = "breaks beyond the rules";

/// Step of a [`Waterfall`].
pub(super) struct WaterfallStep {
    pub(super) name: String,
    pub(super) kind: WaterfallKind,
    /// Reduction by the step.
    pub(super) amount: Picodollars,
    /// Amount left after the step.
    pub(super) left: Picodollars,
    /// Name of the amount left.
    pub(super) result: Option<&'static str>,
}

/// Kind of reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WaterfallKind {
    /// An amount that no simulation has.
    Apart,
    Breaks,
    /// Saving of another way of caching.
    Saving,
}

/// The steps.
pub(super) fn steps(waterfall: &Waterfall) -> Vec<WaterfallStep> {
    let mut steps: Vec<WaterfallStep> = Vec::new();
    let mut add = |kind, name: &str, amount, result| {
        let before = steps.last().map_or(waterfall.spent, |step| step.left);
        let (name, left) = (name.to_owned(), before.minus(amount));
        steps.push(WaterfallStep { name, kind, amount, left, result });
    };
    add(WaterfallKind::Breaks, BREAKS_BEYOND_RULES, waterfall.breaks, None);
    // A step even if it is zero, as its result is the rules' expectation.
    add(WaterfallKind::Apart, "unexplained", waterfall.unexplained, Some("expected by the rules"));
    if let Some(better) = &waterfall.lifetime {
        add(
            WaterfallKind::Saving,
            &format!("{} for every marker", better.strategy),
            better.saving,
            None,
        );
    }
    if let Some(rest) = waterfall.rest() {
        add(WaterfallKind::Saving, "best markers, lifetimes and pings", rest, Some("best caching"));
    }
    steps
}
