//! Result of `check` in sentences that every output shares.

use std::cmp::Reverse;

use super::check_view::CheckView;
use super::{counted, dollar_difference, dollars, duration, grouped, tokens};
use crate::base::{ByKey, Order as _, Picodollars};
use crate::explain::budget::{Amount, Budget, Limit, Quantity};
use crate::explain::check::{
    BudgetOutcome, Change, Check, CountedSession, Exceeded, MatchedBy, Pairing, PromptChange,
    PromptChangeKind, PromptDifference, SettingChange, Status, TurnChange, TurnReason, TurnTokens,
    UsageFault, Verdict,
};
use crate::explain::lint::Finding;
use crate::explain::snapshot::{Snapshot, SnapshotSession, TurnBreak};
use crate::requests::conversation::History;

/// Number of listed names; further ones are counted.
const MOST_NAMES: usize = 3;

/// Verdict: `2 of 7 budgets exceeded, 1 exceeded (a warning), 1 kept as far as is known`.
pub(super) fn verdict_sentence(check: &Check) -> String {
    let count = |status: Status, is_exceeded: bool| {
        let is = |one: &&BudgetOutcome| (one.status, one.is_exceeded) == (status, is_exceeded);
        check.outcomes.iter().filter(is).count() as u64
    };
    // A budget that is left out is neither kept nor exceeded.
    let all = check.outcomes.len() as u64 - count(Status::LeftOut, false);
    let failed = count(Status::Failed, true);
    let (warned, partly) = (count(Status::Warned, true), count(Status::Warned, false));
    let budgets = counted(all, "budget", "budgets");
    let warns = match warned {
        0 => String::new(),
        1 => ", 1 exceeded (a warning)".to_owned(),
        warned => format!(", {} exceeded (warnings)", grouped(warned)),
    };
    let warns = match partly {
        0 => warns,
        partly => format!("{warns}, {} kept as far as is known", grouped(partly)),
    };
    match (check.verdict, failed) {
        (Verdict::Fail, failed) if failed == all => format!("{budgets} exceeded"),
        (Verdict::Fail, failed) => format!("{} of {budgets} exceeded{warns}", grouped(failed)),
        (Verdict::Warn, _) if all == 0 => "No budget could be checked".to_owned(),
        (Verdict::Warn, _) if warned == all => {
            format!("{budgets} exceeded ({})", if all == 1 { "a warning" } else { "warnings" })
        }
        (Verdict::Warn, _) if partly == all => format!("{budgets} kept as far as is known"),
        (Verdict::Warn, _) => {
            format!("{} of {budgets} kept{warns}", grouped(all - warned - partly))
        }
        (Verdict::Pass, _) => format!("{budgets} kept"),
    }
}

/// Figure, with enough decimals to distinguish it from its limit.
pub(super) fn figure_words(outcome: &BudgetOutcome) -> String {
    let Some(figure) = outcome.figure else { return "unknown".to_owned() };
    let others = match outcome.budget.limit {
        Limit::Max(amount) | Limit::Min(amount) => Some(amount),
        Limit::MaxIncrease(_) | Limit::MaxDecrease(_) => outcome.baseline,
    };
    // A figure just beyond its limit may round to it.
    let is_alike = |other: Amount| other.to_string() == figure.to_string() && other != figure;
    if others.is_some_and(is_alike) { figure.exact() } else { figure.to_string() }
}

/// Figure, limit, and the baseline's figure: `$0.6153, at most 5 % more than the baseline ($0.5753)`.
pub(super) fn outcome_sentence(outcome: &BudgetOutcome) -> String {
    let figure = figure_words(outcome);
    let baseline = outcome.baseline.map(|baseline| format!(" ({baseline})")).unwrap_or_default();
    format!("{figure}, {}{baseline}", outcome.budget.limit)
}

/// Requests that a figure lacks, or nothing.
pub(super) fn lacking_sentence(outcome: &BudgetOutcome) -> String {
    let mut parts = Vec::new();
    if outcome.unpriced > 0 {
        let requests = counted(outcome.unpriced, "request", "requests");
        parts.push(format!("{requests} without a price not counted"));
    }
    if outcome.unrecorded > 0 {
        let requests = counted(outcome.unrecorded, "request", "requests");
        parts.push(format!("{requests} without a record not counted"));
    }
    if outcome.refused > 0 {
        let requests = counted(outcome.refused, "request", "requests");
        let are =
            if outcome.refused == 1 { "is refused and costs" } else { "are refused and cost" };
        parts.push(format!("{requests} {are} nothing, which `allow_refused` can allow"));
    }
    if outcome.one_sided > 0 {
        let requests = counted(outcome.one_sided, "request", "requests");
        parts.push(format!("{requests} on one side alone cannot be judged"));
    }
    parts.join(", ")
}

/// Session by its file and id.
pub(super) fn session_name(session: &SnapshotSession) -> String {
    match session.files.first() {
        Some(file) => format!("{} ({})", session.id, file),
        None => session.id.clone(),
    }
}

/// Session or request beyond its limit: `s1 (a.jsonl), request 3: $0.10, baseline $0.05`.
fn exceeded_sentence(now: &Snapshot, exceeded: &Exceeded) -> String {
    let session = &now.sessions[exceeded.session];
    let request = exceeded.turn.map(|turn| format!(", request {}", grouped(turn as u64 + 1)));
    let baseline = exceeded.baseline.map(|baseline| format!(", baseline {baseline}"));
    format!(
        "{}{}: {}{}",
        session_name(session),
        request.unwrap_or_default(),
        exceeded.figure,
        baseline.unwrap_or_default()
    )
}

/// Items beyond a limit, one per line: sessions or requests, findings of `lint`, breaks.
///
/// Of many only the most important.
pub(super) fn beyond_lines(view: CheckView<'_>, outcome: &BudgetOutcome) -> Vec<String> {
    let budget = &outcome.budget;
    // The findings themselves say more than the number of them.
    if budget.metric.quantity == Quantity::LintFindings {
        let counts = |finding: &&Finding| budget.lint.has(finding.rule, finding.severity());
        let Some((history, findings)) = view.findings else { return Vec::new() };
        let findings = findings.iter().filter(counts);
        return shortened(
            findings.map(|finding| finding_sentence(history, finding)).collect(),
            view.top,
        );
    }
    if budget.metric.quantity == Quantity::UnlistedChanges {
        return shortened(outcome.unlisted.iter().map(change_name).collect(), view.top);
    }
    if budget.metric.is_of_breaks() {
        return shortened(break_sentences(view, budget), view.top);
    }
    let exceeded = outcome.exceeded.iter();
    let lines = exceeded.map(|one| exceeded_sentence(view.now, one)).collect();
    let mut lines = shortened(lines, view.top);
    if budget.metric.is_size() {
        lines.extend(shortened(grown_parts(view, budget), view.top));
    }
    lines
}

/// Parts of prompts with more bytes than in the baseline, among those that a budget is about.
fn grown_parts(view: CheckView<'_>, budget: &Budget) -> Vec<String> {
    let of_tools = budget.metric.quantity == Quantity::ToolBytes;
    let prompts = view.check.difference.iter().flat_map(|difference| &difference.prompts);
    prompts
        .map(|prompt| &prompt.change)
        .filter(|change| change.tool.is_some() || !of_tools)
        .filter(|change| change.bytes_now > change.bytes_before)
        .map(|change| format!("{}: {}", part_name(change), change_words(change)))
        .collect()
}

fn shortened(mut lines: Vec<String>, most: usize) -> Vec<String> {
    let left = lines.len().saturating_sub(most) as u64;
    lines.truncate(most);
    lines.extend((left > 0).then(|| format!("and {} more", grouped(left))));
    lines
}

/// Finding of `lint`, without words of the prompt other than names of tools and fields.
fn finding_sentence(history: &History, finding: &Finding) -> String {
    let request = history.request(finding.request);
    let file = &history.files[request.file].label;
    format!("{} at {} ({file}:{})", finding.rule.name(), finding.place, request.line)
}

/// Breaks that a budget counts, most expensive first.
fn break_sentences(view: CheckView<'_>, budget: &Budget) -> Vec<String> {
    let now = view.now;
    let pairing = view.check.difference.as_ref().map(|difference| &difference.pairing);
    // A limit without reference to a baseline also counts sessions that the baseline lacks.
    let pairing = pairing.filter(|_| budget.limit.needs_baseline());
    let is_counted = |at: usize| pairing.is_none_or(|pairing| pairing.before(at).is_some());
    let mut breaks = Vec::new();
    let sessions = now.sessions.iter().enumerate().filter(|(at, session)| {
        is_counted(*at) && budget.selector.has_session(&session.id, session.project.as_deref())
    });
    for (_, session) in sessions {
        for (at, turn) in session.turns.iter().flatten().enumerate() {
            let is_selected = budget.selector.has_request(&turn.model, &turn.file);
            let broken = turn.broken.as_ref().filter(|broken| budget.breaks.has(broken.cause));
            breaks.extend(broken.filter(|_| is_selected).map(|broken| (session, at, broken)));
        }
    }
    breaks.order_by_key(|(_, _, broken)| Reverse(broken.excess));
    let sentence = |(session, at, broken): &(&SnapshotSession, usize, &TurnBreak)| {
        format!(
            "{}, request {}: {}, {}",
            session_name(session),
            grouped(*at as u64 + 1),
            broken.cause.meaning(),
            dollars(broken.excess)
        )
    };
    breaks.iter().map(sentence).collect()
}

/// Name of a part of a prompt: ``tools[1] `search` ``.
pub(super) fn part_name(change: &PromptChange) -> String {
    match &change.tool {
        Some(tool) => format!("{} `{tool}`", change.place),
        None => change.place.clone(),
    }
}

/// Name of a change: that of a setting, or of a part with its tool.
fn change_name(change: &Change) -> String {
    match &change.tool {
        Some(tool) => format!("{} `{tool}`", change.place),
        None => change.place.clone(),
    }
}

/// Change of a part of a prompt, with the bytes.
pub(super) fn change_words(change: &PromptChange) -> String {
    let size = |bytes: Option<u64>| grouped(bytes.unwrap_or_default());
    let (before, now) = (size(change.bytes_before), size(change.bytes_now));
    match change.kind {
        PromptChangeKind::Added => format!("new, {now} bytes"),
        PromptChangeKind::Removed => format!("gone, {before} bytes"),
        PromptChangeKind::Moved => "stands elsewhere".to_owned(),
        PromptChangeKind::Changed => {
            let fields = if change.fields.is_empty() {
                String::new()
            } else {
                format!("{} ", listed(&change.fields))
            };
            // Baselines have digests of pieces, so a difference may be known to the piece alone.
            let first = change.bytes.map(|(from, to)| match to - from {
                0 | 1 => format!(", from byte {} on", grouped(from)),
                _ => format!(", first in bytes {} to {}", grouped(from), grouped(to - 1)),
            });
            let first = first.unwrap_or_default();
            let sizes = if before == now {
                format!("still {now} bytes")
            } else {
                format!("{before} bytes became {now}")
            };
            format!("{fields}changed{first}; {sizes}")
        }
    }
}

fn listed(names: &[String]) -> String {
    let shown = names.iter().take(MOST_NAMES).cloned().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(MOST_NAMES) {
        0 => shown,
        left => format!("{shown} and {left} more"),
    }
}

/// Difference of prompts in a sentence: the part, the change, its place, and the extra cost of its sessions.
pub(super) fn prompt_sentence(now: &Snapshot, prompt: &PromptDifference) -> String {
    let sessions: Vec<String> =
        prompt.sessions.iter().map(|at| now.sessions[*at].id.clone()).collect();
    format!(
        "{}: {}; in {} of {}, which cost {} against the baseline",
        part_name(&prompt.change),
        change_words(&prompt.change),
        counted(prompt.requests, "request", "requests"),
        listed(&sessions),
        dollar_difference(prompt.difference)
    )
}

/// Ways of finding sessions in the baseline, with the sessions that were not found.
pub(super) fn pairing_sentence(pairing: &Pairing) -> String {
    let ways = [(MatchedBy::Id, "id"), (MatchedBy::File, "file"), (MatchedBy::Order, "order")];
    let found: Vec<String> = ways
        .into_iter()
        .filter(|(by, _)| pairing.count(*by) > 0)
        .map(|(by, name)| format!("{} by {name}", grouped(pairing.count(by) as u64)))
        .collect();
    let all = counted(pairing.pairs.len() as u64, "session is", "sessions are");
    let mut parts = vec![format!("{all} in the baseline, too ({})", found.join(", "))];
    let others =
        [(pairing.new.len(), "in the run alone"), (pairing.gone.len(), "in the baseline alone")];
    let others = others.into_iter().filter(|(count, _)| *count > 0);
    parts.extend(others.map(|(count, words)| format!("{} {words}", grouped(count as u64))));
    parts.join("; ") + "."
}

/// Figures of another kind than the record, and sessions and requests that are in no comparison.
pub(super) fn comparability(check: &Check, now: &Snapshot) -> Vec<String> {
    let mut groups: ByKey<(UsageFault, bool), Vec<&CountedSession>> = ByKey::new();
    for session in &check.counted {
        groups.entry((session.fault, session.has_output)).or_default().push(session);
    }
    let groups = groups.into_iter();
    let is_alone = check.difference.is_none() && check.unrecorded > 0;
    let mut sentences: Vec<String> = groups
        .map(|((fault, has_output), sessions)| counted_words(fault, has_output, &sessions, now))
        .collect();
    if is_alone {
        let sessions = counted(check.unrecorded as u64, "session", "sessions");
        sentences.push(format!(
            "Not every request of {sessions} has recorded usage: these figures come from the rules."
        ));
    }
    if check.gone > 0 {
        sentences.push(format!(
            "{} of the baseline's sessions cannot be judged, since the run lacks {}.",
            counted(check.gone as u64, "request", "requests"),
            them(check.gone)
        ));
    }
    if check.edited > 0 {
        sentences.push(format!(
            "{} cannot be judged: the same id has another usage in the baseline.",
            counted(check.edited as u64, "request", "requests"),
        ));
    }
    let unshown: Vec<&SettingChange> =
        check.settings.iter().filter(|change| change.unshown > 0).collect();
    if let Some(first) = unshown.iter().min_by_key(|one| (one.session, one.turn)) {
        sentences.push(settings_words(&unshown, first, now));
    }
    if check.unknown_settings > 0 {
        sentences.push(format!(
            "The baseline does not know the settings of {}; save it again.",
            counted(check.unknown_settings as u64, "request", "requests"),
        ));
    }
    if check.damage > 0 {
        let beyond = if check.difference.is_some() { " more than in the baseline" } else { "" };
        sentences.push(format!(
            "Input was lost in {}{beyond}, and what it held cannot be judged.",
            counted(check.damage, "place", "places"),
        ));
    }
    let pairing = check.difference.as_ref().map(|difference| &difference.pairing);
    let sides = [
        ("baseline", "run", pairing.map_or(0, |pairing| pairing.gone.len())),
        ("run", "baseline", pairing.map_or(0, |pairing| pairing.new.len())),
    ];
    let lacking = sides.into_iter().filter(|(_, _, sessions)| *sessions > 0);
    sentences.extend(lacking.map(|(of, lacks, sessions)| {
        format!(
            "{} of the {of} cannot be judged, since the {lacks} lacks {}.",
            counted(sessions as u64, "session", "sessions"),
            them(sessions)
        )
    }));
    sentences
}

/// Settings that changed and whose cost is known, in a sentence.
pub(super) fn shown_settings(check: &Check) -> Option<String> {
    let shown = check.settings.iter().filter(|change| change.unshown == 0);
    let named = |change: &SettingChange| {
        format!("{} in {}", change.name, counted(change.requests, "request", "requests"))
    };
    let names: Vec<String> = shown.map(named).collect();
    let words = || format!("Other settings than in the baseline: {}.", names.join(", "));
    (!names.is_empty()).then(words)
}

fn settings_words(all: &[&SettingChange], first: &SettingChange, now: &Snapshot) -> String {
    let named = |one: &&SettingChange| {
        // Fields of the service's interface have names without a space.
        let quote = if one.name.contains(' ') { "" } else { "`" };
        format!("{quote}{}{quote} in {}", one.name, counted(one.unshown, "request", "requests"))
    };
    let turn = now.sessions[first.session].turns.as_ref().and_then(|turns| turns.get(first.turn));
    let place = turn.map(|turn| format!(", first in {}:{}", turn.file, turn.line));
    format!(
        "Other settings than in the baseline: {}{}. Nothing recorded shows what they cost: record the sessions \
         again, or save the baseline again if that is meant.",
        listed(&all.iter().map(named).collect::<Vec<_>>()),
        place.unwrap_or_default(),
    )
}

fn them(number: usize) -> &'static str {
    if number == 1 { "it" } else { "them" }
}

fn counted_words(
    fault: UsageFault,
    has_output: bool,
    sessions: &[&CountedSession],
    now: &Snapshot,
) -> String {
    let first = sessions[0];
    let session = &now.sessions[first.session];
    let turn = session.turns.as_ref().and_then(|turns| turns.get(first.turn));
    let place = turn.map(|turn| format!(" ({}:{})", turn.file, turn.line)).unwrap_or_default();
    let why = match fault {
        UsageFault::Stale => "has changed and its recorded usage has not",
        UsageFault::RulesDiffer => {
            "reads and writes otherwise by the rules, and its usage is the same"
        }
        UsageFault::Edited => "has the bytes and the id of the baseline's and another usage",
        UsageFault::Contradicted => "has a recorded usage that its bytes contradict",
        UsageFault::Warm => "reads on one side what no request there can have written",
        UsageFault::OneSided => "has a recorded usage on one side alone",
        UsageFault::Unrecorded => "has no recorded usage",
    };
    let output = if has_output { "" } else { ", without output" };
    let (which, their) = match sessions.len() {
        1 => (format!("session {}", session.id), "its"),
        all => (format!("{} sessions", grouped(all as u64)), "their"),
    };
    format!(
        "The figures of {which} come from the rules and the bytes of {their} prompts on both \
         sides{output}: request {} of {}{place} {why}.",
        grouped(first.turn as u64 + 1),
        session.id,
    )
}

/// Differences of a turn.
pub(super) fn reasons(change: &TurnChange) -> String {
    let reasons: Vec<String> = change.reasons.iter().map(reason).collect();
    if reasons.is_empty() { cache_words(change) } else { reasons.join("; ") }
}

fn reason(reason: &TurnReason) -> String {
    let signed = |value: i128| {
        let sign = if value < 0 { "−" } else { "+" };
        format!("{sign}{}", grouped(u64::try_from(value.unsigned_abs()).unwrap_or(u64::MAX)))
    };
    match reason {
        TurnReason::Broken(cause, None) => format!("the cache broke: {}", cause.meaning()),
        TurnReason::Broken(cause, Some(evidence)) => {
            format!("the cache broke: {} ({evidence})", cause.meaning())
        }
        TurnReason::NoLongerBroken(cause) => format!("no longer a break: {}", cause.meaning()),
        TurnReason::Model(before, now) => format!("{before} became {now}"),
        TurnReason::Prompt => "the prompt has other bytes".to_owned(),
        TurnReason::Markers => "other markers".to_owned(),
        TurnReason::Settings => "other settings".to_owned(),
        TurnReason::Pause(before, now) => {
            format!("a pause of {} instead of {}", duration(*now), duration(*before))
        }
        TurnReason::PromptSize(size) => format!("prompt {} tokens", signed(*size)),
        TurnReason::OutputSize(size) => format!("output {} tokens", signed(*size)),
        TurnReason::Gone => "only in the baseline".to_owned(),
        TurnReason::New => "only in the run".to_owned(),
    }
}

/// Difference of a turn whose request is the same: the cache responded differently.
fn cache_words(change: &TurnChange) -> String {
    let words = |side: Option<TurnTokens>| {
        side.map_or_else(
            || "nothing".to_owned(),
            |side| format!("{} read, {} written", tokens(side.read), tokens(side.written)),
        )
    };
    format!("{} instead of {}", words(change.tokens_now), words(change.tokens_before))
}

/// Cost on both sides: `$0.5753 → $0.6153 (+$0.0400)`.
pub(super) fn cost_change(before: Option<Picodollars>, now: Option<Picodollars>) -> String {
    let difference = before.zip(now).map(|(before, now)| now.minus(before));
    format!("{} → {} ({})", dollars(before), dollars(now), dollar_difference(difference))
}
