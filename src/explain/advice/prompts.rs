//! Changes to the layout of captured prompts.

use super::seen::{Seen, confidence, counted_breaks, evidence};
use super::{ChangeCandidate, Subject, Way};
use crate::explain::breaks::Cause;
use crate::simulate::design::{
    Attribution, Deferred, PromptDesign, Reminders, Settings, SystemPrompt, Tools,
};
use crate::simulate::strategy::Design;

/// A layout of prompts, and the causes that it may prevent.
type PromptForm = (Way, &'static [Cause]);

pub(super) fn candidates(seen: &Seen<'_>) -> Vec<ChangeCandidate> {
    // Only captures have the text of prompts that another layout would move.
    if !seen.has_captures() {
        return Vec::new();
    }
    forms().into_iter().map(|form| candidate(form, seen)).collect()
}

#[rustfmt::skip] // one field a line
fn forms() -> Vec<PromptForm> {
    let with = |prompt| Design { prompt, ..Design::default() };
    let as_sent = PromptDesign::default();
    let sorted = PromptDesign { tools: Tools::Sorted, ..as_sent };
    vec![
        (Way {
            code: "tools-sorted",
            label: "Send the tools in order of their names",
            design: with(sorted),
            subject: Subject::Own("tools-sorted"),
            setting: None,
            field: "`tools`: sorted by `name`",
        }, &[Cause::ToolsChanged]),
        (Way {
            code: "static-first",
            label: "Put unchanging blocks of the system prompt first",
            design: with(PromptDesign { system: SystemPrompt::StaticFirst, ..as_sent }),
            subject: Subject::SystemPrompt,
            setting: None,
            field: "`system`: unchanging blocks first, the marker on the last of them",
        }, &[Cause::SystemPromptChanged]),
        (Way {
            code: "stable-first",
            label: "Put stable paragraphs first, passing reminders last",
            design: with(PromptDesign {
                system: SystemPrompt::StableFirst,
                reminders: Reminders::Last,
                ..sorted
            }),
            subject: Subject::SystemPrompt,
            setting: None,
            field: "`system`: stable paragraphs first; `messages`: reminders at the end",
        }, &[Cause::SystemPromptChanged, Cause::MessagesRewritten]),
        (Way {
            code: "latched-settings",
            label: "Leave settings on once they were on",
            design: with(PromptDesign { settings: Settings::Latched, ..as_sent }),
            subject: Subject::Own("latched-settings"),
            setting: None,
            field: "`anthropic-beta`, `thinking`, `speed`: the same for the whole conversation",
        }, &[
            Cause::BetasChanged,
            Cause::AutoModeChanged,
            Cause::OverageChanged,
            Cause::FastModeChanged,
            Cause::CachedMicrocompactionChanged,
            Cause::ScopeChanged,
            Cause::TtlTierChanged,
        ]),
        (Way {
            code: "stable-attribution",
            label: "Keep the attribution line the same for a session",
            design: with(PromptDesign { attribution: Attribution::Stable, ..as_sent }),
            subject: Subject::Own("stable-attribution"),
            setting: Some("CLAUDE_CODE_ATTRIBUTION_HEADER=0"),
            field: "`system[0]`: no text that changes from request to request",
        }, &[Cause::SystemPromptChanged]),
        (Way {
            code: "deferred-tools",
            label: "Leave out MCP tools until they are searched for",
            design: with(PromptDesign { deferred_tools: Deferred::Mcp, ..as_sent }),
            subject: Subject::Own("deferred-tools"),
            setting: Some("ENABLE_TOOL_SEARCH=true"),
            field: "`tools[].defer_loading`: true",
        }, &[]),
    ]
}

fn candidate((way, causes): PromptForm, seen: &Seen<'_>) -> ChangeCandidate {
    let breaks = seen.breaks_that(|found| causes.contains(&found.cause));
    let why = breaks.first().map_or("", |first| first.cause.meaning());
    let observation = counted_breaks(&breaks, why);
    let assumption = format!("{}.", way.design.unknowns().join("; "));
    let mut candidate = way.candidate(observation, assumption, evidence(&breaks));
    candidate.change.confidence = confidence(&breaks);
    candidate
}
