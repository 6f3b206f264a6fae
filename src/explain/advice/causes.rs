//! Changes that prevent breaks, by cause.

use super::seen::{Seen, confidence, counted_breaks, evidence};
use super::{Change, ChangeCandidate, Subject, bodies};
use crate::base::ByKey;
use crate::explain::breaks::{Break, Cause, Remedy, Who, shows_lost_tools};
use crate::requests::conversation::RequestIndex;
use crate::requests::difference::Alteration;
use crate::requests::prompt::Repair;
use crate::simulate::strategy::Design;

/// A change for each cause with a remedy, even one that nobody can apply, and one for long pauses.
pub(super) fn candidates(seen: &Seen<'_>) -> Vec<ChangeCandidate> {
    let of_causes = Cause::ALL.into_iter().filter_map(|cause| of_cause(cause, seen));
    of_causes.chain(long_pauses(seen)).collect()
}

fn of_cause(cause: Cause, seen: &Seen<'_>) -> Option<ChangeCandidate> {
    let history = seen.ledger.history;
    let breaks = seen.breaks_that(|found| {
        // A repair finds an entry of the predecessor, so that it needs one.
        found.cause == cause && history.request(found.request).predecessor.is_some()
    });
    let drops = |found: &&Break| {
        let alteration = found.changed.as_ref().and_then(|changed| changed.alteration);
        cause == Cause::ThinkingStripped
            && history.facts(history.request(found.request).model).drops_thinking
            && alteration.is_none_or(Alteration::is_of_earlier_thinking)
    };
    // A model that drops the thinking of earlier turns does so whatever is sent.
    let of_body = bodies::remedy(cause, &breaks).filter(|_| !breaks.iter().any(drops));
    let of_record = || lost_tools(cause, &breaks);
    let remedy = of_body.or_else(of_record).or_else(|| cause.remedy())?;
    let counted = counted_breaks(&breaks, &reason(cause, &breaks));
    let observation = match seen.observed(remedy.patterns) {
        Some(observed) => format!("{counted} {observed}"),
        None => counted,
    };
    // Instructions to look for what differs are of no use where a capture shows it.
    let is_shown = breaks.iter().all(|found| found.changed.is_some());
    let told = remedy.advice.filter(|_| !is_shown);
    let own = || told.map_or_else(|| format!("{}.", remedy.label), str::to_owned);
    let advice = seen.advised(remedy.patterns).unwrap_or_else(own);
    let change = change(cause.name(), &remedy, observation, advice, &breaks);
    candidate(change, &breaks, Repair::Found)
}

/// Remedy if the client's records show that tools went away, which had been there from the first prompt on.
fn lost_tools(cause: Cause, breaks: &[&Break]) -> Option<Remedy> {
    let evidence = &breaks.first()?.candidates.first()?.evidence;
    let is_lost = cause == Cause::ToolsChanged && evidence.iter().any(shows_lost_tools);
    let own = cause.remedy().filter(|_| is_lost)?;
    Some(Remedy {
        label: "Keep the tools of a session until it ends",
        setting: Some("`/mcp`, which shows lost servers"),
        advice: Some(
            "Tools went away while the session ran, as when an MCP server ends or a plugin is switched off: keep \
             servers running until the session ends. `cachesim breaks` names the tools.",
        ),
        patterns: &[],
        ..own
    })
}

/// Meaning of a cause, with what changed in the body of the most expensive break.
fn reason(cause: Cause, breaks: &[&Break]) -> String {
    let changed = breaks.first().and_then(|found| found.changed.as_deref());
    match changed.filter(|changed| Cause::from(changed.kind) == cause) {
        Some(changed) => {
            format!("{}: {} at {}", cause.meaning(), changed.detail, changed.place)
        }
        None => cause.meaning().to_owned(),
    }
}

/// Change for pauses longer than any lifetime: the entries would have to live on, or not be needed.
fn long_pauses(seen: &Seen<'_>) -> Option<ChangeCandidate> {
    const NAME: &str = "long_pauses";
    let remedy = Remedy {
        label: "Finish or compact before a pause over an hour",
        who: Who::User,
        setting: Some("`/compact` before the pause, `/clear` after it"),
        field: None,
        is_at_most: true,
        advice: None,
        patterns: &[NAME],
    };
    let breaks = seen.expiries(true);
    let observation = seen.observed(remedy.patterns)?;
    let advice = seen.advised(remedy.patterns)?;
    let change = change(NAME, &remedy, observation, advice, &breaks);
    let assumption =
        "At most: nothing would have been sent again after these pauses; a summary or a \
                      new session costs a part of that."
            .to_owned();
    candidate(Change { assumption, ..change }, &breaks, Repair::KeptAlive)
}

fn change(
    code: &'static str,
    remedy: &Remedy,
    observation: String,
    advice: String,
    breaks: &[&Break],
) -> Change {
    let assumption = if remedy.is_at_most {
        "At most: each of these requests would have read what the one before had cached; how many can be \
         avoided is not known."
    } else {
        "Each of these requests would have read what the one before had cached, where that was alive."
    };
    Change {
        code,
        label: remedy.label,
        observation,
        advice,
        who: remedy.who,
        setting: remedy.setting,
        field: remedy.field,
        assumption: assumption.to_owned(),
        confidence: confidence(breaks),
        is_at_most: remedy.is_at_most,
        evidence: evidence(breaks),
    }
}

fn candidate(change: Change, breaks: &[&Break], repair: Repair) -> Option<ChangeCandidate> {
    let repairs: ByKey<RequestIndex, Repair> =
        breaks.iter().map(|found| (found.request, repair)).collect();
    let subject = Subject::Own(change.code);
    let design = Design { repairs, ..Design::default() };
    (!breaks.is_empty()).then_some(ChangeCandidate { change, subject, design })
}
