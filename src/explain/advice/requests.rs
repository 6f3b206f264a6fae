//! Changes to how requests are sent: pings, markers in other places, sub-agents that share more.

use enumset::{EnumSet, enum_set};

use super::seen::{Seen, counted_breaks, evidence};
use super::{Change, ChangeCandidate, Subject, Way, Who};
use crate::base::capitalized;
use crate::explain::breaks::{Break, Cause};
use crate::simulate::strategy::{Anchor, Design, KeepAlive, Layout, Sharing, Starts};

const MINUTE: i64 = 60_000;

pub(super) fn candidates(seen: &Seen<'_>) -> Vec<ChangeCandidate> {
    let mut candidates = pings(seen);
    candidates.extend(sharings(seen));
    if seen.has_captures() {
        candidates.extend(markers().map(|way| candidate(way, &missed_by_markers(seen))));
    }
    candidates
}

fn candidate(way: Way, breaks: &[&Break]) -> ChangeCandidate {
    let why = breaks.first().map_or("", |found| found.cause.meaning());
    let assumption = match way.design.unknowns() {
        unknowns if unknowns.is_empty() => {
            "Requests would have been sent at the same times.".to_owned()
        }
        unknowns => format!("{}.", capitalized(&unknowns.join("; "))),
    };
    way.candidate(counted_breaks(breaks, why), assumption, evidence(breaks))
}

fn pings(seen: &Seen<'_>) -> Vec<ChangeCandidate> {
    let way = |code, label, every, limit| Way {
        code,
        label,
        setting: None,
        subject: Subject::Pings,
        field: "a request more: the last one again with `max_tokens`: 1",
        design: Design {
            keep_alive: Some(KeepAlive { every, limit, agents: false }),
            ..Design::default()
        },
    };
    // Each interval ends shortly before a lifetime: five minutes, an hour.
    let ways = [
        way(
            "pings-4m30s",
            "Ping each 4.5 minutes for up to half an hour",
            4 * MINUTE + MINUTE / 2,
            30 * MINUTE,
        ),
        way("pings-55m", "Ping each 55 minutes for up to four hours", 55 * MINUTE, 240 * MINUTE),
    ];
    let expiries =
        seen.breaks_that(|found| matches!(found.cause, Cause::TtlExpired5m | Cause::TtlExpired1h));
    ways.into_iter().map(|way| candidate(way, &expiries)).collect()
}

fn sharings(seen: &Seen<'_>) -> Vec<ChangeCandidate> {
    let with = |sharing| Design { sharing, ..Design::default() };
    let none = Sharing::default();
    let way = |code, label, field, sharing| Way {
        code,
        label,
        setting: None,
        subject: Subject::Own(code),
        field,
        design: with(sharing),
    };
    let history = seen.ledger.history;
    // A break without a predecessor is a sub-agent's first request, sent while a sibling wrote their prefix.
    let siblings = seen.breaks_that(|found| {
        found.cause == Cause::WriteNotVisible
            && history.request(found.request).predecessor.is_none()
    });
    let staggered = candidate(
        way(
            "staggered-agents",
            "Start other sub-agents when one has begun to answer",
            "the order of requests: wait for the first `message_start`",
            Sharing { starts: Starts::Staggered, ..none },
        ),
        &siblings,
    );
    let staggered = ChangeCandidate { change: of_client(staggered.change, seen), ..staggered };
    let forked = way(
        "forked-agents",
        "Start sub-agents as forks of their parent",
        "`messages`: the parent's, then the task",
        Sharing { forks_agents: true, ..none },
    );
    let skipped = way(
        "skip-cache-write",
        "Leave the end of side queries unmarked",
        "`cache_control`: on the message before the last one",
        Sharing { skips_cache_writes: true, ..none },
    );
    let mut candidates = vec![staggered];
    candidates.extend(seen.has_agents().then(|| candidate(forked, &[])));
    candidates.push(candidate(skipped, &[]));
    candidates
}

/// Words for a change that a client makes by itself since some version.
fn of_client(change: Change, seen: &Seen<'_>) -> Change {
    let observation = seen.observed(&["siblings"]).unwrap_or(change.observation);
    let advice = seen.advised(&["siblings"]).unwrap_or(change.advice);
    let setting = Some("workflows of Claude Code do so since 2.1.229");
    Change { observation, advice, who: Who::User, setting, ..change }
}

fn markers() -> impl Iterator<Item = Way> {
    let at = |anchors: EnumSet<Anchor>| Layout::At(anchors);
    let field = "the places of `cache_control`";
    let layouts = [
        (
            "system-and-last",
            "Mark the system prompt and the last message",
            at(enum_set!(Anchor::System | Anchor::Last)),
        ),
        (
            "last-two",
            "Mark the ends of the last two requests",
            at(enum_set!(Anchor::Previous | Anchor::Last)),
        ),
        (
            "system-and-last-two",
            "Mark system prompt and ends of the last two requests",
            at(enum_set!(Anchor::System | Anchor::Previous | Anchor::Last)),
        ),
        ("every-10", "Mark every tenth block, the latest four", Layout::Every(10)),
        ("four-even", "Set four markers at equal distances", Layout::Even(4)),
    ];
    layouts.into_iter().map(move |(code, label, layout)| Way {
        code,
        label,
        setting: None,
        subject: Subject::Markers,
        field,
        design: Design { layout, ..Design::default() },
    })
}

fn missed_by_markers<'a>(seen: &Seen<'a>) -> Vec<&'a Break> {
    seen.breaks_that(|found| found.cause == Cause::LookbackExceeded)
}
