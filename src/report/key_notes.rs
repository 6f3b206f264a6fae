//! Assumptions about the cache key in words, if the input makes them relevant.

use std::collections::BTreeSet;

use crate::read::capture::AttributionPart;
use crate::requests::conversation::{History, RequestIndex};
use crate::requests::prompt::Step;
use crate::simulate::cache::{BetaKey, TtlChange};
use crate::simulate::provider::{kept_by_service, measured_step};
use crate::simulate::strategy::Assumptions;

use super::{counted, grouped};

/// Assumptions behind the figures of these requests, one sentence each.
pub(super) fn key_notes(
    history: &History,
    steps: &[Step],
    assumptions: &Assumptions,
) -> Vec<String> {
    let parts = [
        // Captures of both kinds may be in one input.
        attribution(history, AttributionPart::Neutral),
        attribution(history, AttributionPart::Literal),
        betas(history, assumptions.betas),
        deletions(history),
        ttl_change(steps, assumptions.ttl_change),
    ];
    parts.into_iter().flatten().collect()
}

/// Steps in which services without markers keep prompts, which decide what a request could have read.
pub(super) fn steps_of_services(history: &History) -> Option<String> {
    let first = history.sent_with_markers().len();
    let requests = (first..history.requests.len()).map(RequestIndex::new);
    let of_request = |index| {
        let step = kept_by_service(history, index)?.step;
        let model = history.model(index);
        let known =
            if measured_step(model).is_some() { "measured" } else { "documented or assumed" };
        Some(format!("{} tokens for {model} ({known})", grouped(step.0)))
    };
    let steps: BTreeSet<String> = requests.filter_map(of_request).collect();
    let steps = Vec::from_iter(steps).join(", ");
    (!steps.is_empty()).then(|| {
        format!(
            "Services other than Claude's keep whole prompts, in steps: {steps}. A request could have read those of the \
             prompt before it."
        )
    })
}

fn attribution(history: &History, part: AttributionPart) -> Option<String> {
    let requests = history.captured.requests.iter();
    let count = requests.filter(|request| request.attribution == Some(part)).count() as u64;
    let meaning = match part {
        AttributionPart::Neutral => {
            "is no part of the cache key: they are taken to have been sent to Anthropic's own \
             service, which replaces it, or --assume attribution=… says so"
        }
        AttributionPart::Literal => {
            "is part of the cache key: they show a gateway or another platform, or --assume \
             attribution=… says so"
        }
    };
    let requests = counted(count, "captured request", "captured requests");
    (count > 0).then(|| format!("The attribution line of {requests} {meaning}."))
}

/// Assumption about beta features, if captured requests ever differ in them.
fn betas(history: &History, betas: BetaKey) -> Option<String> {
    let mut sets = history.captured.requests.iter().filter_map(|request| request.betas);
    let first = sets.next()?;
    let meaning = match betas {
        BetaKey::Key => {
            "another set is taken to be another cache key, in front of everything (--assume betas=key)"
        }
        BetaKey::Beside => "another set is taken to change no cache key (--assume betas=beside)",
    };
    sets.any(|set| set != first)
        .then(|| format!("Captured requests ask for different beta features; {meaning}."))
}

fn deletions(history: &History) -> Option<String> {
    let requests = history.captured.requests.iter();
    let count = requests.filter(|request| !request.deleted.is_empty()).count() as u64;
    let requests = counted(count, "captured request", "captured requests");
    (count > 0).then(|| {
        format!(
            "The edits of {requests} (cache_edits) are taken to have no size and no position: what \
             they delete comes off prompt and read at no cost, and where one is not sent again, \
             nothing that was cached from its result on is found."
        )
    })
}

/// Assumption about other lifetimes, if the TTL of a conversation's markers ever changes.
fn ttl_change(steps: &[Step], ttl_change: TtlChange) -> Option<String> {
    let is_change = |step: &&Step| {
        step.ttl.zip(step.predecessor_ttl).is_some_and(|(ttl, before)| ttl.messages != before)
    };
    let count = steps.iter().filter(is_change).count() as u64;
    let meaning = match ttl_change {
        TtlChange::Keeps => {
            "an entry is taken to be found by markers of any TTL, and to keep its own \
             (--assume ttl-change=keeps)"
        }
        TtlChange::Loses => {
            "an entry is taken to be found by markers of its own TTL alone (--assume ttl-change=loses)"
        }
    };
    let requests = counted(count, "request", "requests");
    (count > 0).then(|| {
        format!(
            "In {requests} the markers have another TTL than in the request before: {meaning}. \
             `latched-ttl` shows what that does to the bill."
        )
    })
}
