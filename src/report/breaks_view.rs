//! Breaks for people: the three figures that count first, then what to change, then the rest.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::document::{Align, Document, Grid};
use super::key_notes::key_notes;
use super::number::{
    counted, dollar_difference, dollars, exact_percent, grouped, part, percent, share, tokens,
};
use crate::breaks::{Analysis, Break, Candidate, Ground, Pattern, Reconciliation, Sum, Summary};
use crate::conversation::History;
use crate::strategy::Assumptions;
use crate::units::Picodollars;

/// Groups are cut to the dearest so many.
const MOST_GROUPS: usize = 12;

/// How breaks are shown.
#[derive(Clone, Copy, Debug)]
pub struct BreaksViewOptions {
    /// How many are listed one by one, the dearest first.
    pub top: usize,
    /// Whether names and words of captured prompts are shown.
    pub shows_text: bool,
}

/// The breaks of a selection.
#[must_use]
pub fn breaks_document(
    history: &History,
    analysis: &Analysis,
    assumptions: &Assumptions,
    options: BreaksViewOptions,
) -> Document {
    let mut document = Document::default();
    headlines(&mut document, analysis);
    for note in key_notes(history, assumptions) {
        document.text(note);
    }
    if !analysis.summary.by_cause.is_empty() {
        document.heading("By cause");
        document.grid(causes(&analysis.summary));
    }
    if !analysis.patterns.is_empty() {
        document.heading("What to change");
        document.grid(changes(&analysis.patterns));
        document.text(CHANGES_NOTE);
    }
    dearest(&mut document, history, &analysis.breaks.list, options);
    let summary = &analysis.summary;
    let by_class =
        summary.by_class.iter().map(|(class, sum)| (class.name().to_owned(), *sum)).collect();
    groups(&mut document, "By class", "class", &by_class, false);
    groups(&mut document, "By project", "project", &summary.by_project, false);
    groups(&mut document, "By client version", "client", &summary.by_client_version, false);
    groups(&mut document, "By week", "week", &summary.by_week, true);
    verdicts(&mut document, summary);
    reconciliation(&mut document, &summary.reconciliation);
    document
}

/// What was lost, why most of it, and what to do first.
fn headlines(document: &mut Document, analysis: &Analysis) {
    let (breaks, summary) = (&analysis.breaks, &analysis.summary);
    let total = &summary.total;
    document.heading("Cache breaks");
    if total.breaks == 0 {
        document.text(format!(
            "None: {} compared read all that the one before had left.",
            counted(breaks.compared, "request", "requests"),
        ));
        left_out(document, analysis);
        return;
    }
    let billed = summary.reconciliation.billed;
    let of_billed = part(total.excess(), Some(billed)).map_or_else(String::new, |part| {
        format!(" ({} of the {} billed)", percent(Some(part)), dollars(Some(billed)))
    });
    document.text(format!(
        "Lost: {}{of_billed} by sending {} tokens again instead of reading them, in {} among {} \
         compared.",
        dollars(total.excess()),
        tokens(total.rewritten),
        counted(total.breaks, "break", "breaks"),
        counted(breaks.compared, "request", "requests"),
    ));
    if let Some((cause, sum)) = summary.by_cause.first() {
        document.text(format!(
            "Biggest cause: {} ({}): {}, {}.",
            cause.name(),
            cause.meaning(),
            counted(sum.breaks, "break", "breaks"),
            dollars(sum.excess()),
        ));
    }
    if let Some(pattern) = analysis.best_change() {
        document.text(format!(
            "Change first: {} It would have saved {} here.",
            pattern.advice,
            saving(pattern),
        ));
    }
    left_out(document, analysis);
}

fn left_out(document: &mut Document, analysis: &Analysis) {
    let breaks = &analysis.breaks;
    if breaks.not_comparable > 0 {
        document.text(format!(
            "Not comparable: {}; something is missing in front of them, or a usage sums several \
             samplings up.",
            counted(breaks.not_comparable, "request", "requests"),
        ));
    }
    if analysis.summary.total.unpriced > 0 {
        document.text(format!(
            "{} of models without a price are in none of the dollars.",
            counted(analysis.summary.total.unpriced, "break", "breaks"),
        ));
    }
}

/// What a change would have saved.
pub(super) fn saving(pattern: &Pattern) -> String {
    let amount = dollars(pattern.saving);
    match pattern.ground {
        Ground::AtMostExcess => format!("at most {amount}"),
        Ground::Excess | Ground::Simulated => amount,
    }
}

/// The causes, the dearest first.
pub(super) fn causes(summary: &Summary) -> Grid {
    let mut grid = Grid::new(&[
        ("cause", Align::Left),
        ("what it means", Align::Wrapped),
        ("breaks", Align::Right),
        ("sent again", Align::Right),
        ("excess", Align::Right),
        ("share", Align::Right),
    ])
    .hide_first(&["what it means", "sent again", "share"]);
    for (cause, sum) in &summary.by_cause {
        let expected = if cause.is_expected() { " (expected)" } else { "" };
        grid.add(vec![
            cause.name().to_owned(),
            format!("{}{expected}", cause.meaning()),
            grouped(sum.breaks),
            tokens(sum.rewritten),
            dollars(sum.excess()),
            percent(part(sum.excess(), summary.total.excess())),
        ]);
    }
    grid
}

/// How the savings of patterns are to be read.
pub(super) const CHANGES_NOTE: &str = "Each by itself: what several would save overlaps. “At most” is \
                                       the excess of all these breaks; the rest is simulated, or the \
                                       excess that the change avoids.";

/// What recurs, with what to do about it.
pub(super) fn changes(patterns: &[Pattern]) -> Grid {
    let mut grid = Grid::new(&[
        ("pattern", Align::Left),
        ("seen, and what to do", Align::Wrapped),
        ("sessions", Align::Right),
        ("would save", Align::Right),
    ])
    .hide_first(&["pattern", "sessions"]);
    for pattern in patterns {
        grid.add(vec![
            pattern.name.to_owned(),
            format!("{} {}", pattern.observation, pattern.advice),
            grouped(pattern.sessions),
            saving(pattern),
        ]);
    }
    grid
}

/// The dearest so many.
pub(super) fn dearest_breaks(breaks: &[Break], most: usize) -> Vec<&Break> {
    let mut dearest: Vec<&Break> = breaks.iter().collect();
    dearest.sort_by_key(|found| (Reverse((found.excess, found.rewritten)), found.request));
    dearest.truncate(most);
    dearest
}

fn dearest(
    document: &mut Document,
    history: &History,
    breaks: &[Break],
    options: BreaksViewOptions,
) {
    if breaks.is_empty() || options.top == 0 {
        return;
    }
    let dearest = dearest_breaks(breaks, options.top);
    document.heading(format!("The dearest {} of {}", dearest.len(), grouped(breaks.len() as u64)));
    let mut grid = Grid::new(&[
        ("where", Align::Wrapped),
        ("cause", Align::Left),
        ("why", Align::Wrapped),
        ("read", Align::Right),
        ("could", Align::Right),
        ("excess", Align::Right),
    ])
    .hide_first(&["could", "read", "cause", "why"]);
    for found in dearest {
        let request = history.request(found.request);
        grid.add(vec![
            format!("{}:{}", history.files[request.file].label, request.line),
            found.cause.name().to_owned(),
            why(history, found, options.shows_text),
            tokens(found.read),
            tokens(found.expected),
            dollars(found.excess),
        ]);
    }
    document.grid(grid);
}

/// What happened, how sure its cause is, and what speaks for it, with the lines that show it.
fn why(history: &History, found: &Break, shows_text: bool) -> String {
    let of_fork = if found.is_fork { "a fork against its parent: " } else { "" };
    let class = format!("{of_fork}{}", found.class.name().replace('_', " "));
    let Some(first) = found.candidates.first() else { return class };
    let evidence = evidence(history, found, first, shows_text);
    format!("{class}; {} confidence: {evidence}", first.confidence.name())
}

/// What speaks for a cause of a break, with the lines that show it.
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
        let place =
            if is_own { format!("line {}", one.line) } else { format!("{file}:{}", one.line) };
        format!("{}{text} ({place})", one.meaning)
    });
    evidence.collect::<Vec<_>>().join("; ")
}

/// Sums by name: in the order of the names, or the dearest of many.
fn groups(
    document: &mut Document,
    heading: &str,
    name: &'static str,
    sums: &BTreeMap<String, Sum>,
    is_in_time_order: bool,
) {
    if sums.len() < 2 {
        return;
    }
    let mut rows: Vec<(&String, &Sum)> = sums.iter().collect();
    let is_cut = rows.len() > MOST_GROUPS && !is_in_time_order;
    if is_cut {
        rows.sort_by_key(|(name, sum)| (Reverse((sum.excess, sum.rewritten)), *name));
        rows.truncate(MOST_GROUPS);
        document.heading(format!("{heading}, the dearest {MOST_GROUPS} of {}", sums.len()));
    } else {
        document.heading(heading);
    }
    let mut grid = Grid::new(&[
        (name, Align::Left),
        ("breaks", Align::Right),
        ("sent again", Align::Right),
        ("excess", Align::Right),
    ])
    .hide_first(&["sent again"]);
    for (name, sum) in rows {
        grid.add(vec![
            name.clone(),
            grouped(sum.breaks),
            tokens(sum.rewritten),
            dollars(sum.excess()),
        ]);
    }
    document.grid(grid);
}

fn verdicts(document: &mut Document, summary: &Summary) {
    let agreement = &summary.agreement;
    if agreement.table.is_empty() {
        return;
    }
    document.heading("The service's verdicts and the inferred causes");
    let mut grid = Grid::new(&[
        ("verdict", Align::Left),
        ("inferred without it", Align::Left),
        ("misses", Align::Right),
        ("inside the TTL", Align::Right),
        ("agrees", Align::Left),
    ])
    .hide_first(&["misses"]);
    for ((reason, cause), count) in &agreement.table {
        let agrees = match cause.agrees_with(reason) {
            Some(true) => "yes",
            Some(false) => "no",
            None => "–",
        };
        grid.add(vec![
            reason.clone(),
            cause.name().to_owned(),
            grouped(count.all),
            grouped(count.inside_ttl),
            agrees.to_owned(),
        ]);
    }
    document.grid(grid);
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

fn reconciliation(document: &mut Document, sums: &Reconciliation) {
    if sums.billed == Picodollars(0) {
        return;
    }
    document.heading("What the breaks explain");
    let mut grid = Grid::new(&[("amount", Align::Left), ("dollars", Align::Right)]);
    let difference = sums.billed.minus(sums.replay);
    let mut add = |name: &str, amount: String| grid.add(vec![name.to_owned(), amount]);
    add("billed", dollars(Some(sums.billed)));
    add("replay: what the rules charge", dollars(Some(sums.replay)));
    add("billed − replay", dollar_difference(Some(difference)));
    add("= excess of all breaks", dollar_difference(Some(sums.excess)));
    add("− of which the rules charge, too", dollars(Some(sums.predicted)));
    add("+ unexplained", dollar_difference(Some(sums.unexplained())));
    document.grid(grid);
    let unexplained = part(Some(sums.unexplained()), Some(sums.billed));
    document.text(format!("Unexplained is {} of what was billed.", exact_percent(unexplained)));
    if sums.left_out > 0 {
        document.text(format!(
            "{} without a price or a record are in none of these sums.",
            counted(sums.left_out, "request", "requests"),
        ));
    }
}
