//! Changes that prevent breaks, by cause.

use std::collections::BTreeMap;

use super::seen::{Seen, confidence, counted_breaks, evidence};
use super::{Change, ChangeCandidate, Subject};
use crate::base::order::Ordered as _;
use crate::explain::breaks::{Break, Cause, Remedy, Who};
use crate::requests::conversation::RequestIndex;
use crate::requests::prompt::Repair;
use crate::simulate::strategy::Design;

/// A change for each cause with a remedy, even one that nobody can apply, and one for long pauses.
pub(super) fn candidates(seen: &Seen<'_>) -> Vec<ChangeCandidate> {
    let of_causes = Cause::ALL.into_iter().filter_map(|cause| of_cause(cause, seen));
    of_causes.chain(long_pauses(seen)).collect()
}

fn of_cause(cause: Cause, seen: &Seen<'_>) -> Option<ChangeCandidate> {
    let remedy = cause.remedy()?;
    let history = seen.ledger.history;
    let breaks = seen.breaks_that(|found| {
        // A repair finds an entry of the predecessor, so that it needs one.
        found.cause == cause && history.request(found.request).predecessor.is_some()
    });
    let counted = counted_breaks(&breaks, cause.meaning());
    let observation = match seen.observed(remedy.patterns) {
        Some(observed) => format!("{counted} {observed}"),
        None => counted,
    };
    let own = || remedy.advice.map_or_else(|| format!("{}.", remedy.label), str::to_owned);
    let advice = seen.advised(remedy.patterns).unwrap_or_else(own);
    let change = change(cause.name(), &remedy, observation, advice, &breaks);
    candidate(change, &breaks, Repair::Found)
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
    let repairs: BTreeMap<RequestIndex, Repair> =
        breaks.iter().map(|found| (found.request, repair)).ordered_map();
    let subject = Subject::Own(change.code);
    let design = Design { repairs, ..Design::default() };
    (!breaks.is_empty()).then_some(ChangeCandidate { change, subject, design })
}
