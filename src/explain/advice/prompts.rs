//! Changes to the layout of captured prompts.

use super::seen::{Seen, confidence, counted_breaks, evidence};
use super::{Change, ChangeCandidate, Subject, Who};
use crate::explain::breaks::Cause;
use crate::simulate::design::{
    Attribution, Deferral, Deferred, PromptDesign, Reminders, Settings, SystemPrompt, Tools,
};
use crate::simulate::strategy::Design;

/// A layout of prompts.
struct PromptForm {
    /// The name of the strategy.
    code: &'static str,
    label: &'static str,
    design: PromptDesign,
    subject: Subject,
    setting: Option<&'static str>,
    field: &'static str,
    /// Causes that the layout may prevent.
    causes: &'static [Cause],
}

pub(super) fn candidates(seen: &Seen<'_>) -> Vec<ChangeCandidate> {
    // Only captures have the text of prompts that another layout would move.
    if !seen.has_captures() {
        return Vec::new();
    }
    forms().iter().map(|form| candidate(form, seen)).collect()
}

#[rustfmt::skip] // one field a line
fn forms() -> Vec<PromptForm> {
    let as_sent = PromptDesign::default();
    let sorted = PromptDesign { tools: Tools::Sorted, ..as_sent };
    vec![
        PromptForm {
            code: "tools-sorted",
            label: "Send the tools in order of their names",
            design: sorted,
            subject: Subject::Own("tools-sorted"),
            setting: None,
            field: "`tools`: sorted by `name`",
            causes: &[Cause::ToolsChanged],
        },
        PromptForm {
            code: "static-first",
            label: "Put unchanging blocks of the system prompt first",
            design: PromptDesign { system: SystemPrompt::StaticFirst, ..as_sent },
            subject: Subject::SystemPrompt,
            setting: None,
            field: "`system`: unchanging blocks first, the marker on the last of them",
            causes: &[Cause::SystemPromptChanged],
        },
        PromptForm {
            code: "stable-first",
            label: "Put stable paragraphs first, passing reminders last",
            design: PromptDesign { system: SystemPrompt::StableFirst, reminders: Reminders::Last, ..sorted },
            subject: Subject::SystemPrompt,
            setting: None,
            field: "`system`: stable paragraphs first; `messages`: reminders at the end",
            causes: &[Cause::SystemPromptChanged, Cause::MessagesRewritten],
        },
        PromptForm {
            code: "latched-settings",
            label: "Leave settings on once they were on",
            design: PromptDesign { settings: Settings::Latched, ..as_sent },
            subject: Subject::Own("latched-settings"),
            setting: None,
            field: "`anthropic-beta`, `thinking`, `speed`: the same for the whole conversation",
            causes: &[
                Cause::BetasChanged,
                Cause::AutoModeChanged,
                Cause::OverageChanged,
                Cause::FastModeChanged,
                Cause::CachedMicrocompactionChanged,
                Cause::ScopeChanged,
                Cause::TtlTierChanged,
            ],
        },
        PromptForm {
            code: "stable-attribution",
            label: "Keep the attribution line the same for a session",
            design: PromptDesign { attribution: Attribution::Stable, ..as_sent },
            subject: Subject::Own("stable-attribution"),
            setting: Some("CLAUDE_CODE_ATTRIBUTION_HEADER=0"),
            field: "`system[0]`: no text that changes from request to request",
            causes: &[Cause::SystemPromptChanged],
        },
        PromptForm {
            code: "deferred-tools",
            label: "Leave out MCP tools until they are searched for",
            design: PromptDesign {
                deferral: Some(Deferral { tools: Deferred::Mcp, search: Deferral::SEARCH }),
                ..as_sent
            },
            subject: Subject::Own("deferred-tools"),
            setting: Some("ENABLE_TOOL_SEARCH=true"),
            field: "`tools[].defer_loading`: true",
            causes: &[],
        },
    ]
}

fn candidate(form: &PromptForm, seen: &Seen<'_>) -> ChangeCandidate {
    let design = Design { prompt: form.design, ..Design::default() };
    let breaks = seen.breaks_that(|found| form.causes.contains(&found.cause));
    let observation = match breaks.first() {
        Some(first) => counted_breaks(&breaks, first.cause.meaning()),
        None => "Captured prompts are made otherwise.".to_owned(),
    };
    ChangeCandidate {
        change: Change {
            code: form.code,
            label: form.label,
            observation,
            advice: format!("{}.", form.label),
            // A layout without a setting is up to the agent's builder.
            who: if form.setting.is_some() { Who::User } else { Who::Builder },
            setting: form.setting,
            field: Some(form.field),
            assumption: format!("{}.", design.unknowns().join("; ")),
            confidence: confidence(&breaks),
            is_at_most: false,
            evidence: evidence(&breaks),
        },
        subject: form.subject,
        design,
    }
}
