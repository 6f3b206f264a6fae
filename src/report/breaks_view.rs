//! Breaks for people: first the three most important figures, then the changes to make, then the rest.

use std::cmp::Reverse;

use super::advice::{changes, place};
use super::answer_view::{answer_grid, waterfall_grid};
use super::columns::Columns;
use super::document::{Document, Grid};
use super::key_notes::{key_notes, steps_of_services};
use super::number::{counted, dollars, exact_percent, grouped, part, percent, share, tokens};
use super::session_names::SessionNames;
use crate::base::by_key::ByKey;
use crate::base::id::Symbol;
use crate::base::order::Order as _;
use crate::base::units::{Picodollars, Tokens};
use crate::explain::advice::Advice;
use crate::explain::analysis::Answer;
use crate::explain::breaks::{
    Analysis, Break, Candidate, Cause, Class, Confidence, Counted, Reconciliation, Sum, Summary,
};
use crate::requests::conversation::{History, project_names};
use crate::requests::prompt::Step;
use crate::simulate::strategy::Assumptions;

/// Number of changes shown.
pub(super) const MOST_CHANGES: usize = 5;

/// Number of groups shown, the most expensive ones.
const MOST_GROUPS: usize = 12;

/// Options of the view.
#[derive(Clone, Copy, Debug)]
pub struct BreaksViewOptions {
    /// Number of breaks listed one by one, most expensive first.
    pub top: usize,
    /// True if names and words of captured prompts are shown.
    pub shows_text: bool,
    /// True if the evidence of each break is below its row, and not only in `explain`.
    pub has_evidence: bool,
}

/// Breaks of a selection, as a document.
#[must_use]
pub fn breaks_document(
    history: &History,
    steps: &[Step],
    answer: &Answer,
    analysis: &Analysis,
    advice: Option<&Advice>,
    assumptions: &Assumptions,
    options: BreaksViewOptions,
) -> Document {
    let mut document = Document::default();
    document.grid(answer_grid(answer));
    let (breaks, summary) = (&analysis.breaks, &analysis.summary);
    let is_dropped = advice.is_some_and(|advice| advice.drops_markers);
    headlines(&mut document, breaks.compared, breaks.not_comparable, &summary.total, is_dropped);
    for note in key_notes(history, steps, assumptions) {
        document.note(note);
    }
    if let Some(note) = steps_of_services(history).filter(|_| summary.total.breaks > 0) {
        document.note(note);
    }
    if !summary.by_cause.is_empty() {
        document.heading("By cause");
        document.grid(causes(summary));
    }
    if let Some(advice) = advice.filter(|advice| !advice.changes.is_empty()) {
        document.heading("What to change first");
        document.grid(changes(history, advice, &advice.changes, MOST_CHANGES));
        document.text("`cachesim advise` says how, who can do it, and what each rests on.");
    }
    let listed = dearest_breaks(&breaks.list, options.top).into_iter();
    let rows = BreakRows::of(history, options.shows_text);
    let listed: Vec<BreakRow> = listed.map(|found| rows.row(found)).collect();
    dearest_grid(&mut document, &listed, breaks.list.len() as u64, options.has_evidence);
    by_place(&mut document, summary);
    if !is_dropped {
        explained(&mut document, answer, &summary.reconciliation);
    }
    document
}

/// Sums of breaks by project and by week.
pub(super) fn by_place(document: &mut Document, summary: &Summary) {
    groups(document, "By project", "project", &summary.by_project, false);
    groups(document, "By week", "week", &summary.by_week, true);
}

/// What breaks say about the rules: the service's verdicts, and sums by class and by client version.
pub(super) fn by_rule(document: &mut Document, summary: &Summary) {
    verdicts(document, summary);
    let by_class = summary.by_class.iter().map(|(class, sum)| (words_of(*class), *sum)).collect();
    groups(document, "Breaks by class", "class", &by_class, false);
    let by_client = &summary.by_client_version;
    groups(document, "Breaks by client version", "client", by_client, false);
}

/// Loss, and the number of requests it is from. Markers that are `dropped` never had an effect.
pub(super) fn headlines(
    document: &mut Document,
    compared: u64,
    not_comparable: u64,
    total: &Sum,
    dropped: bool,
) {
    document.heading("Cache breaks");
    let requests = counted(compared, "request", "requests");
    document.text(match (compared, total.breaks) {
        (0, _) => "No request can be compared with one before it.".to_owned(),
        (_, 0) if dropped => format!(
            "None: {requests} compared read nothing, and nothing was ever written. They have markers, which a gateway \
             drops (`cachesim lint`).",
        ),
        (_, 0) => format!("None: {requests} compared read all that the one before had left."),
        _ => format!(
            "{} among {requests} compared sent {} tokens again instead of reading them.",
            counted(total.breaks, "break", "breaks"),
            tokens(total.rewritten),
        ),
    });
    if not_comparable > 0 {
        document.text(format!(
            "Not comparable: {}; something is missing in front of them, or a usage sums several \
             samplings up.",
            counted(not_comparable, "request", "requests"),
        ));
    }
    if total.costs.unknown > 0 {
        document.text(format!(
            "{} of models without a price are in none of the dollars.",
            counted(total.costs.unknown, "break", "breaks"),
        ));
    }
}

/// Causes, most expensive first.
pub(super) fn causes(summary: &Summary) -> Grid {
    let mut columns = Columns::<(Cause, Sum)>::new();
    columns.wrapped("cause", |(cause, _)| {
        let expected = if cause.is_expected() { " (expected)" } else { "" };
        format!("{}{expected}", cause.meaning())
    });
    columns.right("breaks", |(_, sum)| sum.breaks);
    columns.right("sent again", |(_, sum)| sum.rewritten).hidden(1);
    columns.right("extra cost", |(_, sum)| sum.excess());
    columns.right("share", |(_, sum)| part(sum.excess(), summary.total.excess())).hidden(2);
    columns.grid(&summary.by_cause)
}

/// The `most` most expensive breaks.
pub(super) fn dearest_breaks(breaks: &[Break], most: usize) -> Vec<&Break> {
    let mut dearest: Vec<&Break> = breaks.iter().collect();
    // Breaks may cost the same or have no price; tokens and then places make their order definite.
    dearest.order_by_key(|found| (Reverse((found.excess, found.rewritten)), found.request));
    dearest.truncate(most);
    dearest
}

/// Table of the most expensive breaks out of `breaks`, one for each row given.
///
/// The evidence of each is below its row, if it is asked for.
pub(super) fn dearest_grid(
    document: &mut Document,
    listed: &[BreakRow],
    breaks: u64,
    has_evidence: bool,
) {
    if listed.is_empty() {
        return;
    }
    document.lead(format!("The most expensive {} of {}", listed.len(), grouped(breaks)));
    let mut columns = Columns::<BreakRow>::new();
    columns.left("sent", |row| row.sent.clone());
    columns.name("project", |row| row.project.clone()).hidden(4);
    columns.left("session", |row| row.session.clone()).hidden(3);
    columns.name("model", |row| row.model.clone()).hidden(2);
    columns.wrapped("cause", |row| row.cause.clone());
    columns.right("sent again", |row| row.rewritten).hidden(5);
    columns.right("extra cost", |row| row.excess);
    if has_evidence {
        columns.wrapped("evidence", |row| row.evidence.clone()).hidden(1).below(true);
    }
    document.grid(columns.grid(listed).dense());
}

/// A break in the list.
#[derive(Clone, Debug)]
pub(super) struct BreakRow {
    sent: String,
    project: Option<String>,
    session: String,
    model: String,
    cause: String,
    pub(super) rewritten: Tokens,
    pub(super) excess: Option<Picodollars>,
    evidence: String,
}

/// Formatter of a history's breaks as rows.
pub(super) struct BreakRows<'h> {
    history: &'h History,
    projects: ByKey<Symbol, String>,
    sessions: SessionNames<'h>,
    shows_text: bool,
}

impl<'h> BreakRows<'h> {
    pub(super) fn of(history: &'h History, shows_text: bool) -> Self {
        let (projects, sessions) = (project_names(history), SessionNames::of(history));
        Self { history, projects, sessions, shows_text }
    }

    /// Row of a break.
    pub(super) fn row(&self, found: &Break) -> BreakRow {
        let request = self.history.request(found.request);
        let project = request.project.and_then(|project| self.projects.get(&project));
        BreakRow {
            sent: self.history.zone.short_moment(request.start),
            project: project.cloned(),
            session: self.sessions.name(request.session),
            model: self.history.model(found.request).to_owned(),
            cause: probable_cause(self.history, found),
            rewritten: found.rewritten,
            excess: found.excess,
            evidence: why(self.history, found, self.shows_text),
        }
    }
}

/// Place of a break, its class, and the evidence for its cause with its lines.
fn why(history: &History, found: &Break, shows_text: bool) -> String {
    let of_fork = if found.is_fork { "a fork against its parent: " } else { "" };
    let class = words_of(found.class);
    let first = found.candidates.first();
    let evidence = first.map(|first| evidence(history, found, first, shows_text));
    let evidence = evidence.filter(|evidence| !evidence.is_empty());
    let rest = evidence.map_or_else(String::new, |evidence| format!(": {evidence}"));
    format!("{}: {of_fork}{class}{rest}", place(history, found.request))
}

/// Cause of a break, after a word for its certainty.
pub(super) fn probable_cause(history: &History, found: &Break) -> String {
    let first = found.candidates.first();
    let certainty = first.map_or("", |first| certainty(history, found, first));
    format!("{certainty}{}", found.cause.meaning())
}

/// Certainty of a cause, in front of its meaning.
///
/// A verdict of the service leaves no doubt. `docs/accuracy.md` says how often the words are right, measured
/// on such verdicts.
fn certainty(history: &History, found: &Break, candidate: &Candidate) -> &'static str {
    let verdict = history.request(found.request).verdict;
    let named = verdict.map(|verdict| history.symbols.text(verdict.reason));
    if named.and_then(|reason| found.cause.agrees_with(reason)) == Some(true) {
        return "";
    }
    // No sign names the change: the cause is concluded from sizes alone.
    let rests_on_length = candidate.evidence.iter().all(|one| one.sign.is_none());
    match candidate.confidence {
        Confidence::Medium if rests_on_length && candidate.cause == Cause::SystemPromptChanged => {
            certainty_of(Confidence::Low)
        }
        confidence => certainty_of(confidence),
    }
}

/// Word for a confidence, in front of a cause.
pub(super) fn certainty_of(confidence: Confidence) -> &'static str {
    match confidence {
        Confidence::High => "",
        Confidence::Medium => "probably ",
        Confidence::Low => "possibly ",
    }
}

/// Evidence for a cause of a break, with its lines.
pub(super) fn evidence(
    history: &History,
    found: &Break,
    candidate: &Candidate,
    shows_text: bool,
) -> String {
    let evidence = candidate.evidence.iter().map(|one| {
        let text = one.text.as_ref().filter(|_| shows_text);
        let text = text.map(|text| format!(" {text}")).unwrap_or_default();
        let file = &history.files[one.file].label;
        let is_own = one.file == history.request(found.request).file;
        evidence_words(&format!("{}{text}", one.meaning), (file, one.line), is_own)
    });
    evidence.collect::<Vec<_>>().join("; ")
}

/// An observation with the line that shows it, and the file if it is not the request's own.
pub(super) fn evidence_words(seen: &str, (file, line): (&str, u64), is_own: bool) -> String {
    if is_own { format!("{seen} (line {line})") } else { format!("{seen} ({file}:{line})") }
}

/// Class in words.
fn words_of(class: Class) -> String {
    class.name().replace('_', " ")
}

/// Sums by name: in the order of the names, or most expensive first and only the top of many.
fn groups(
    document: &mut Document,
    heading: &str,
    name: &'static str,
    sums: &ByKey<String, Sum>,
    is_in_time_order: bool,
) {
    // A single group would only repeat the total.
    if sums.len() < 2 {
        return;
    }
    let mut rows: Vec<(&String, &Sum)> = sums.iter().collect();
    if !is_in_time_order {
        rows.order_by_key(|(name, sum)| (Reverse((sum.costs.sum, sum.rewritten)), *name));
    }
    // Weeks are not cut: a series with gaps would mislead.
    if rows.len() > MOST_GROUPS && !is_in_time_order {
        rows.truncate(MOST_GROUPS);
        document.heading(format!("{heading}, the most expensive {MOST_GROUPS} of {}", sums.len()));
    } else {
        document.heading(heading);
    }
    let mut columns = Columns::<(&String, &Sum)>::new();
    columns.left(name, |(name, _)| (*name).clone());
    columns.right("breaks", |(_, sum)| sum.breaks);
    columns.right("sent again", |(_, sum)| sum.rewritten).hidden(1);
    columns.right("extra cost", |(_, sum)| sum.excess());
    document.grid(columns.grid(rows));
}

fn verdicts(document: &mut Document, summary: &Summary) {
    let agreement = &summary.agreement;
    if agreement.table.is_empty() {
        return;
    }
    document.heading("The service's verdicts and the inferred causes");
    let mut columns = Columns::<(&(String, Cause), &Counted)>::new();
    columns.left("verdict", |((reason, _), _)| reason.replace('_', " "));
    columns.wrapped("inferred without it", |((_, cause), _)| cause.meaning());
    columns.right("misses", |(_, count)| count.all).hidden(1);
    columns.right("inside the TTL", |(_, count)| count.inside_ttl);
    let agrees = columns.left("agrees", |((reason, cause), _)| {
        cause.agrees_with(reason).map(|agrees| if agrees { "yes" } else { "no" })
    });
    agrees.unknown("–");
    document.grid(columns.grid(&agreement.table));
    let (named, agreeing) = (agreement.named, agreement.agreeing);
    document.text(format!(
        "The inferred cause agrees with {} of {} verdicts that name one ({}), inside the TTL with {} \
         of {} ({}).",
        grouped(agreeing.all),
        grouped(named.all),
        percent(share(agreeing.all, named.all)),
        grouped(agreeing.inside_ttl),
        grouped(named.inside_ttl),
        percent(share(agreeing.inside_ttl, named.inside_ttl)),
    ));
}

/// Steps from the amount spent to the best caching, and the part of breaks in them.
pub(super) fn explained(document: &mut Document, answer: &Answer, sums: &Reconciliation) {
    let Some(waterfall) = &answer.waterfall else { return };
    document.heading("From spent to the best caching of the same prompts");
    document.grid(waterfall_grid(waterfall));
    // The amount may be negative; its share says how large it is either way.
    let unexplained = Picodollars(waterfall.unexplained.0.abs());
    let unexplained = part(Some(unexplained), Some(waterfall.spent));
    document.text(format!(
        "All breaks together cost {} extra. The rules charge {} more than reading for the same requests, \
         so only the rest is beyond the rules; where they charge more than was billed, it is negative. {} of \
         what was spent is unexplained.",
        dollars(Some(sums.excess)),
        dollars(Some(sums.predicted)),
        exact_percent(unexplained),
    ));
    if sums.left_out > 0 {
        document.text(format!(
            "{} without a price or a record are in none of these sums.",
            counted(sums.left_out, "request", "requests"),
        ));
    }
}
