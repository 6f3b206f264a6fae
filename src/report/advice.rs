//! Advice for people and for programs (`cachesim.advice/v1`).
//!
//! People get the answer, the ranked list, and instructions for the first few changes.

use std::io;
use std::io::Write;

#[cfg(test)]
use schemars::JsonSchema;
use serde::Serialize;

use super::answer_view::answer_grid;
use super::columns::Columns;
use super::document::{Document, Grid};
use super::inputs::Inputs;
use super::json::write_versioned;
use super::number::{counted, dollars, part, percent};
use super::table::{Tone, Value};
use crate::base::units::Picodollars;
use crate::explain::advice::{Advice, AdviceEntry, Change, ClientSetting, Who};
use crate::explain::analysis::Answer;
use crate::explain::breaks::{Confidence, Contradiction};
use crate::requests::conversation::{History, RequestIndex};
use crate::simulate::provider::OWN_CACHE;

/// Reading instruction for the savings.
pub(super) const CHANGES_NOTE: &str = "Each is simulated on top of those before it, so the savings add \
                                       up. “At most” says that only a part may be possible.";

/// Advice as text.
#[must_use]
pub fn advice_document(
    history: &History,
    first: &Answer,
    advice: Option<&Advice>,
    top: usize,
) -> Document {
    let mut document = Document::default();
    document.grid(answer_grid(first));
    let Some(advice) = advice else {
        document.text(if history.sent_with_markers().is_empty() {
            "No request is under the rules of markers: each went to a service whose caches need none, or its \
             record does not tell what was written. No change is known that would save there."
        } else {
            "No model of these requests has a price, so nothing can be ranked."
        });
        return document;
    };
    document.text(answer(advice));
    let base = base(advice);
    if advice.unsupported.is_none() && advice.withheld.is_none() && !base.is_empty() {
        document.note(base);
    }
    if !advice.changes.is_empty() && top > 0 {
        document.lead(heading(advice, top));
        document.grid(changes(history, advice, &advice.changes, top));
        for (number, entry) in advice.changes.iter().take(top).enumerate() {
            explain(&mut document, history, advice, number + 1, entry);
        }
    }
    if !advice.out_of_reach.is_empty() {
        document.heading("What nobody but the service could change");
        document.grid(changes(history, advice, &advice.out_of_reach, top));
        // Nobody can act on these, so they have a list of their own and no instructions.
        document.text(
            "As above, each is simulated on top of all changes before it, so it is less than the same cause \
             costs alone.",
        );
    }
    document
}

fn heading(advice: &Advice, top: usize) -> String {
    let all = advice.changes.len();
    if top < all { format!("The best {top} of {all} changes") } else { "What to change".to_owned() }
}

/// Saving of all changes together, in a sentence.
pub(super) fn answer(advice: &Advice) -> String {
    if let Some(best) = &advice.unsupported {
        return unsupported(advice, best);
    }
    if let Some(contradiction) = advice.withheld {
        return format!("No change is advised. {}", contradiction.sentence());
    }
    if advice.bill.spent() == Picodollars::ZERO {
        return "Nothing is charged for these requests, so no change would save anything. `cachesim lint` names those \
                that the service refuses."
            .to_owned();
    }
    let spent = dollars(Some(advice.bill.spent()));
    let would = match (advice.bill.billed, advice.bill.unrecorded) {
        (None, _) => "the rules charge",
        (Some(_), Picodollars::ZERO) => "was spent",
        (Some(_), _) => "was spent, or that the rules charge where nothing was recorded,",
    };
    let beyond = advice.bill.unexplained().filter(|beyond| *beyond > Picodollars::ZERO);
    if let Some(beyond) = beyond.filter(|_| advice.drops_markers && advice.changes.is_empty()) {
        let share = percent(part(Some(beyond), Some(advice.bill.spent())));
        return format!(
            "Of {spent} that {would} the markers would have saved {} ({share}): nothing was written and nothing read, \
             as a gateway drops `cache_control`.",
            dollars(Some(beyond)),
        );
    }
    let Some(first) = advice.changes.first() else {
        let least = advice.bill.least_words();
        return format!("Of {spent} that {would} no change would have saved as much as {least}.");
    };
    let most = if advice.is_at_most() { "at most " } else { "" };
    let saving = dollars(Some(advice.supported()));
    let share = percent(part(Some(advice.supported()), Some(advice.bill.spent())));
    // The longest wording ends in a comma of its own.
    let comma = would.strip_suffix(',').map_or(",", |_| "");
    let by_rules = by_rules(advice.saving(), advice.supported());
    match advice.changes.len() {
        1 => format!(
            "Of {spent} that {would}{comma} one change would have saved {most}{saving} ({share}{by_rules}): {}.",
            lower(first.change.label)
        ),
        count => format!(
            "Of {spent} that {would}{comma} {count} changes together would have saved {most}{saving} \
             ({share}{by_rules}). The first, {}: {}.",
            lower(first.change.label),
            saving_of(first, advice.bill.supported(first.alone)),
        ),
    }
}

/// Addition to a saving: its size by the rules, if the bill supports less.
pub(super) fn by_rules(saving: Picodollars, supported: Picodollars) -> String {
    if supported == saving {
        return String::new();
    }
    let never_billed = dollars(Some(saving.minus(supported)));
    format!("; by the rules {}, of which {never_billed} was never billed", dollars(Some(saving)))
}

/// Reason why nothing is advised although a change would save by the rules.
pub(super) fn unsupported(advice: &Advice, best: &AdviceEntry) -> String {
    format!(
        "No change is advised. The rules charge {} for these requests, {} more than was billed. The best change by \
         these rules, {}, would save {}: it may save only what nobody paid. `cachesim verify` shows where the \
         record and the rules differ.",
        dollars(Some(advice.bill.recorded)),
        dollars(Some(advice.bill.overcharged())),
        lower(best.change.label),
        saved(best),
    )
}

/// Start of the savings, if there are any, and the amounts that none of them includes.
fn base(advice: &Advice) -> String {
    let zero = Picodollars(0);
    let has_pings = advice.changes.iter().any(|entry| entry.change.code.starts_with("pings"));
    let less = if has_pings { " (pings a tenth less: they are requests more)" } else { "" };
    let begin = format!(
        "The changes stand in the order of what each saves alone{less}. Each is simulated on top of those before \
         it, so the savings add up. They begin with the record as it is simulated, breaks included: {}.",
        dollars(Some(advice.bill.recorded))
    );
    let apart = (advice.bill.apart > zero)
        .then(|| format!("Samplings billed apart cost {} more.", dollars(Some(advice.bill.apart))));
    let own_caches = (advice.own_caches > 0).then(|| {
        format!(
            "{} stay as recorded, and are in no saving: {OWN_CACHE}.",
            counted(advice.own_caches as u64, "request", "requests")
        )
    });
    let unexplained = advice.bill.unexplained().filter(|amount| *amount != zero).map(|amount| {
        if amount > zero {
            format!("{} was billed beyond that, and is in no saving.", dollars(Some(amount)))
        } else {
            let beyond = dollars(Some(zero.minus(amount)));
            if advice.bill.is_far_from_rules() {
                format!("That is {beyond} more than was billed, which is taken off what they save together.")
            } else {
                format!("That is {beyond} more than was billed, and in no saving.")
            }
        }
    });
    let has_changes = !advice.changes.is_empty() || !advice.out_of_reach.is_empty();
    let of_changes = |words: Option<String>| words.filter(|_| has_changes);
    let parts = [of_changes(Some(begin)), apart, own_caches, of_changes(unexplained)];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// Amount that savings by the rules are shares of.
///
/// It is the amount spent, or the rules' charge if not everything was billed or if the bill supports less
/// than the sum.
struct Whole {
    amount: Picodollars,
    column: &'static str,
    words: &'static str,
}

impl Whole {
    fn of(advice: &Advice) -> Self {
        let is_billed = advice.bill.unrecorded == Picodollars::ZERO;
        if is_billed && advice.supported() == advice.saving() {
            Self { amount: advice.bill.spent(), column: "of spent", words: "of what was spent" }
        } else {
            // A share of the amount spent could exceed 100 % here.
            let amount = advice.bill.recorded;
            Self { amount, column: "of charge", words: "of what the rules charge" }
        }
    }

    fn share(&self, saving: Picodollars) -> Option<f64> {
        part(Some(saving), Some(self.amount))
    }
}

/// Ranked list of changes.
pub(super) fn changes(
    history: &History,
    advice: &Advice,
    entries: &[AdviceEntry],
    top: usize,
) -> Grid {
    let whole = Whole::of(advice);
    // The change and its saving stay on the narrowest terminal.
    let mut columns = Columns::<(usize, &AdviceEntry)>::new();
    columns.right("#", |(number, _)| number.to_string());
    columns.wrapped("change", |(_, entry)| entry.change.label);
    columns.right("would save", |(_, entry)| Value::at_most(entry.saving, entry.change.is_at_most));
    columns.right(whole.column, |(_, entry)| whole.share(entry.saving)).hidden(3);
    columns.left("who", |(_, entry)| entry.change.who.label()).hidden(4);
    columns.left("how sure", |(_, entry)| how_sure(&entry.change)).hidden(2);
    columns
        .left("evidence", |(_, entry)| Some(place(history, *entry.change.evidence.first()?)))
        .hidden(1);
    columns.toned(|(_, entry)| tone(entry.change.who));
    columns.grid((1..).zip(entries.iter().take(top)))
}

/// Colour of a change: what nobody can make saves nothing.
pub(super) fn tone(who: Who) -> Tone {
    if who == Who::Nobody { Tone::Quiet } else { Tone::Saving }
}

/// Saving of a change by the rules.
fn saved(entry: &AdviceEntry) -> String {
    saving_of(entry, entry.saving)
}

fn saving_of(entry: &AdviceEntry, saving: Picodollars) -> String {
    let saving = dollars(Some(saving));
    if entry.change.is_at_most { format!("at most {saving}") } else { saving }
}

fn how_sure(change: &Change) -> String {
    match change.confidence {
        None => "simulated".to_owned(),
        Some(confidence) => format!("simulated; cause: {}", confidence.name()),
    }
}

fn explain(
    document: &mut Document,
    history: &History,
    advice: &Advice,
    number: usize,
    entry: &AdviceEntry,
) {
    let change = &entry.change;
    document.heading(format!("{number}. {}", change.label));
    // The first change has nothing before it, so both amounts are one.
    let alone = if entry.alone == entry.saving {
        String::new()
    } else {
        format!("; alone {}", dollars(Some(entry.alone)))
    };
    let whole = Whole::of(advice);
    let share = percent(whole.share(entry.saving));
    document.text(format!("Would have saved {} ({share} {}{alone}).", saved(entry), whole.words));
    document.text(change.observation.clone());
    let who = match change.who {
        Who::User => "You can do it",
        Who::Builder => "Who builds the agent can do it",
        Who::Nobody => "Nobody but the service can do it",
    };
    // Some advice only repeats the heading.
    let is_said = change.advice.trim_end_matches('.') == change.label;
    let advice = (!is_said).then(|| change.advice.clone());
    let mut how: Vec<String> = advice.into_iter().collect();
    how.push(format!("{who}."));
    how.extend(change.setting.map(|setting| format!("Claude Code: {setting}.")));
    let keys: Vec<String> =
        change.settings().iter().map(|one| format!("`{}`", one.key.join("."))).collect();
    if !keys.is_empty() {
        how.push(format!("`cachesim advise --apply {}` sets {}.", change.code, keys.join(" and ")));
    }
    how.extend(change.field.map(|field| format!("Request: {field}.")));
    document.text(how.join(" "));
    let evidence: Vec<String> =
        change.evidence.iter().map(|index| place(history, *index)).collect();
    let evidence = (!evidence.is_empty()).then(|| format!(" Evidence: {}.", evidence.join(", ")));
    document.text(format!("{}{}", change.assumption, evidence.unwrap_or_default()));
}

/// Saving of a change made alone, in a sentence.
#[must_use]
pub fn promised(advice: &Advice, change: &Change, alone: Picodollars) -> String {
    let most = if change.is_at_most { "at most " } else { "" };
    let whole = Whole::of(advice);
    let (share, saving) = (percent(whole.share(alone)), dollars(Some(alone)));
    format!("{}: alone it would have saved {most}{saving} ({share} {}).", change.label, whole.words)
}

/// File and line of a request.
pub(super) fn place(history: &History, index: RequestIndex) -> String {
    let request = history.request(index);
    format!("{}:{}", history.files[request.file].label, request.line)
}

/// Label with a small first letter, for use within a sentence.
fn lower(label: &str) -> String {
    let mut letters = label.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

pub(super) const SCHEMA: &str = "cachesim.advice/v1";

#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(super) struct AdviceDocument<'a> {
    /// Input read.
    inputs: Inputs,
    /// Changes to make; null if no model has a price.
    advice: Option<AdviceObject<'a>>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(super) struct AdviceObject<'a> {
    /// Amount billed, in dollars; null if no usage was recorded.
    billed_usd: Option<Picodollars>,
    /// Part of it billed for samplings apart, which no change concerns.
    apart_usd: Picodollars,
    /// Cost of the simulated record, with breaks: start of all savings.
    recorded_usd: Picodollars,
    /// Amount billed beyond that for requests with recorded usage, which is in no saving.
    unexplained_usd: Option<Picodollars>,
    /// Saving of all changes together: the sum of their savings.
    saving_usd: Picodollars,
    /// Part of that supported by the bill, at most the amount spent. If the rules charge more than one and a
    /// half times the bill, it is the amount spent beyond what the requests would have cost.
    supported_usd: Picodollars,
    /// True if that is a maximum, since only a part of a change may be possible.
    at_most: bool,
    /// Changes in the order of making them, each on top of the earlier ones.
    changes: Vec<ChangeObject<'a>>,
    /// Change that saves most by the rules, if they charge as much more than was billed as it saves: it may
    /// save only what nobody paid. Then no change is listed, of no kind. Null otherwise.
    unsupported: Option<ChangeObject<'a>>,
    /// Reason why nothing is advised at all; null otherwise.
    withheld: Option<Contradiction>,
    /// Changes for the service alone, on top of all these; in no sum.
    out_of_reach: Vec<ChangeObject<'a>>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
struct ChangeObject<'a> {
    /// Change: the name of a strategy, of a cause, or one of its own.
    code: &'static str,
    /// Label for people.
    label: &'static str,
    /// Saving on top of the earlier changes, in dollars.
    saving_usd: Picodollars,
    /// Saving of the change alone.
    alone_usd: Picodollars,
    /// True if only a part of that may be possible.
    at_most: bool,
    /// Confidence in the cause, if a change has one.
    confidence: Option<Confidence>,
    /// Assumption of the saving.
    assumption: &'a str,
    /// Who can do it.
    who: Who,
    /// Setting, variable or command of Claude Code.
    setting: Option<&'static str>,
    /// Keys of Claude Code's settings that make it, which `advise --apply` sets. Empty if it takes more than
    /// keys.
    settings: &'static [ClientSetting],
    /// Field of the request.
    field: Option<&'static str>,
    /// Observation.
    observation: &'a str,
    /// Advice.
    advice: &'a str,
    /// Requests that show it most clearly.
    evidence: Vec<PlaceObject<'a>>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
struct PlaceObject<'a> {
    /// File.
    file: &'a str,
    /// Line, from 1 on.
    line: u64,
    /// Id of the request, if known.
    request_id: Option<&'a str>,
}

/// Advice as an object within another document.
pub(super) fn advice_object<'a>(history: &'a History, advice: &'a Advice) -> AdviceObject<'a> {
    let all =
        |entries: &'a [AdviceEntry]| entries.iter().map(|entry| change(history, entry)).collect();
    AdviceObject {
        billed_usd: advice.bill.billed,
        apart_usd: advice.bill.apart,
        recorded_usd: advice.bill.recorded,
        unexplained_usd: advice.bill.unexplained(),
        saving_usd: advice.saving(),
        supported_usd: advice.supported(),
        at_most: advice.is_at_most(),
        changes: all(&advice.changes),
        unsupported: advice.unsupported.as_ref().map(|entry| change(history, entry)),
        withheld: advice.withheld,
        out_of_reach: all(&advice.out_of_reach),
    }
}

fn change<'a>(history: &'a History, entry: &'a AdviceEntry) -> ChangeObject<'a> {
    let change = &entry.change;
    let place = |index: &_| {
        let request = history.request(*index);
        PlaceObject {
            file: &history.files[request.file].label,
            line: request.line,
            request_id: history.text(request.request),
        }
    };
    ChangeObject {
        code: change.code,
        label: change.label,
        saving_usd: entry.saving,
        alone_usd: entry.alone,
        at_most: change.is_at_most,
        confidence: change.confidence,
        assumption: &change.assumption,
        who: change.who,
        setting: change.setting,
        settings: change.settings(),
        field: change.field,
        observation: &change.observation,
        advice: &change.advice,
        evidence: change.evidence.iter().map(place).collect(),
    }
}

/// Writes advice as JSON.
///
/// # Errors
/// Writing to `out` fails.
pub fn write_advice(
    history: &History,
    advice: Option<&Advice>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let document = AdviceDocument {
        inputs: Inputs::of(history),
        advice: advice.map(|advice| advice_object(history, advice)),
    };
    write_versioned(SCHEMA, &document, out)
}
