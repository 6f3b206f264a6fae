//! Breaks that do not happen, cause by cause.
//!
//! What does away with a cause of breaks.

use std::collections::BTreeMap;

use super::seen::{Seen, confidence, counted_breaks, evidence};
use super::{Change, ChangeCandidate, Subject, Who};
use crate::explain::breaks::{Break, Cause};
use crate::requests::conversation::RequestIndex;
use crate::requests::prompt::Repair;
use crate::simulate::strategy::Design;

/// A change for each cause that somebody, or nobody, can do away with, and one for long pauses.
pub(super) fn candidates(seen: &Seen<'_>) -> Vec<ChangeCandidate> {
    let of_causes = Cause::ALL.into_iter().filter_map(|cause| of_cause(cause, seen));
    of_causes.chain(long_pauses(seen)).collect()
}

fn of_cause(cause: Cause, seen: &Seen<'_>) -> Option<ChangeCandidate> {
    let remedy = remedy(cause)?;
    let history = seen.ledger.history;
    let breaks = seen.breaks_that(|found| {
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

/// Pauses that no lifetime outlives: what was cached would have to be there still, or nobody to need it.
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
        breaks.iter().map(|found| (found.request, repair)).collect();
    let subject = Subject::Own(change.code);
    let design = Design { repairs, ..Design::default() };
    (!breaks.is_empty()).then_some(ChangeCandidate { change, subject, design })
}

/// What does away with a cause of breaks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Remedy {
    pub(super) label: &'static str,
    pub(super) who: Who,
    pub(super) setting: Option<&'static str>,
    pub(super) field: Option<&'static str>,
    /// Whether it avoids only a part of the breaks, of which nobody can tell how large it is.
    pub(super) is_at_most: bool,
    /// How to go about it, where the label does not say.
    pub(super) advice: Option<&'static str>,
    /// The patterns that are about the same.
    pub(super) patterns: &'static [&'static str],
}

/// Something that a user of a client does.
fn user(label: &'static str, setting: &'static str) -> Remedy {
    Remedy {
        label,
        who: Who::User,
        setting: Some(setting),
        field: None,
        is_at_most: false,
        advice: None,
        patterns: &[],
    }
}

/// Something that who builds an agent does.
fn builder(label: &'static str, field: &'static str) -> Remedy {
    Remedy { who: Who::Builder, setting: None, field: Some(field), ..user(label, "") }
}

/// Something that nobody but the service can do.
fn nobody(label: &'static str) -> Remedy {
    Remedy { who: Who::Nobody, setting: None, is_at_most: true, ..user(label, "") }
}

impl Remedy {
    fn at_most(self) -> Self {
        Self { is_at_most: true, ..self }
    }

    fn seen_in(self, patterns: &'static [&'static str]) -> Self {
        Self { patterns, ..self }
    }

    fn by(self, advice: &'static str) -> Self {
        Self { advice: Some(advice), ..self }
    }

    fn or_field(self, field: &'static str) -> Self {
        Self { field: Some(field), ..self }
    }
}

/// What does away with a cause; `None` of compactions, which are meant, and of expiries, for which there
/// are lifetimes and pings.
pub(super) fn remedy(cause: Cause) -> Option<Remedy> {
    let remedy = match cause {
        Cause::TtlExpired5m | Cause::TtlExpired1h | Cause::Compaction => return None,
        Cause::ModelChanged | Cause::EffortChanged | Cause::FastModeChanged => switch_of(cause),
        Cause::ThinkingChanged
        | Cause::AutoModeChanged
        | Cause::OverageChanged
        | Cause::TtlTierChanged
        | Cause::Rewound
        | Cause::Resumed
        | Cause::ClientVersionChanged
        | Cause::ThinkingStripped => habit(cause),
        Cause::LikelyServerSide | Cause::Unknown => nobody(if cause == Cause::Unknown {
            "Find what drops entries: nothing recorded tells"
        } else {
            "Wait for the service, which dropped entries of unchanged prompts"
        }),
        _ => form(cause),
    };
    Some(remedy)
}

/// What a user switches in a conversation.
fn switch_of(cause: Cause) -> Remedy {
    let remedy = match cause {
        Cause::ModelChanged => {
            user("Choose the model before the first prompt", "`/model`, or --model at the start")
                .at_most()
        }
        Cause::EffortChanged => user("Choose the effort before the first prompt", "`/effort`"),
        _ => user("Choose the speed before the first prompt", "`/fast`"),
    };
    remedy.seen_in(&["switches"])
}

/// How a user works with a client.
fn habit(cause: Cause) -> Remedy {
    match cause {
        Cause::Resumed => user(
            "Resume with a version that keeps the prompt",
            "`claude update`, or a session that stays open",
        )
        .seen_in(&["resume_misses"]),
        Cause::ClientVersionChanged => user(
            "Update the client between sessions",
            "DISABLE_AUTOUPDATER=1, and `claude update` between sessions",
        )
        .seen_in(&["updates"]),
        Cause::ThinkingStripped => user(
            "Use a model that keeps earlier thinking",
            "`/model` (Opus since 4.5, Sonnet since 4.6)",
        )
        .seen_in(&["stripped_thinking"]),
        Cause::ThinkingChanged => user(
            "Keep the thinking settings for a conversation",
            "`alwaysThinkingEnabled`, MAX_THINKING_TOKENS",
        )
        .or_field("`thinking`: the same for the whole conversation"),
        Cause::AutoModeChanged => user("Switch auto mode before the first prompt", "shift+tab"),
        Cause::OverageChanged => user(
            "Stay out of usage credits in a conversation",
            "`/usage` shows how far the limit is",
        )
        .at_most(),
        Cause::TtlTierChanged => {
            user("Fix the lifetime, so that it does not change", "`promptCacheTtl` (since 2.1.243)")
                .or_field("`cache_control.ttl`: the same for the whole conversation")
        }
        _ => user("Rewind to points that are still cached", "`/rewind`").at_most(),
    }
}

/// The form of requests, which the client's builder decides, or what a user loads into it.
fn form(cause: Cause) -> Remedy {
    match cause {
        Cause::ToolsChanged => user(
            "Load all tools before the first prompt",
            "ENABLE_TOOL_SEARCH=false, or `alwaysLoad` for a server",
        )
        .or_field("`tools`: the same list, in the same order, for the whole conversation")
        .at_most()
        .seen_in(&["loaded_tools", "changed_tools"]),
        Cause::SystemPromptChanged => builder(
            "Keep one system prompt for a conversation",
            "`system`: the same bytes; what changes goes into the last message",
        )
        .at_most()
        .by("Capture two such requests, and let `cachesim lint` name the first byte that differs."),
        Cause::MessagesRewritten => builder(
            "Send earlier messages again as they were sent",
            "`messages`: append only",
        )
        .at_most()
        .by("Look at what the client does between the turns that `cachesim breaks` lists: hooks, \
             reminders, results that come in once more."),
        Cause::ImageChanged => builder(
            "Send images again as they were sent",
            "`messages[].content[].source`: the same bytes",
        ),
        Cause::ToolChoiceChanged => {
            builder("Leave `tool_choice` the same", "`tool_choice`: the same for the conversation")
        }
        Cause::BetasChanged => builder(
            "Send the same beta features on every request",
            "`anthropic-beta`: the same set for the conversation",
        ),
        Cause::ScopeChanged => {
            builder("Leave the scope of markers the same", "`cache_control.scope`: the same")
        }
        Cause::CachedMicrocompactionChanged => builder(
            "Send each edit again where it was first",
            "`cache_edits`: pinned for the conversation",
        ),
        Cause::ExtraBodyChanged => {
            builder("Leave other fields of the body the same", "the body's other fields: the same")
        }
        Cause::Microcompaction => builder(
            "Clear old results seldom and many at once",
            "`clear_at_least` of `context_management.edits`",
        )
        .at_most(),
        Cause::LookbackExceeded => builder(
            "Set a marker for every 20 added positions",
            "`cache_control`: up to four a request",
        ),
        Cause::WriteNotVisible => builder(
            "Let an answer begin before the next request",
            "the order of requests: wait for `message_start`",
        )
        .at_most(),
        _ => builder(
            "Send prompts that are long enough to be cached",
            "`messages`: above the model's least length",
        )
        .at_most(),
    }
}
