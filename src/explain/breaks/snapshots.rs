//! Changes of tools and system prompt by the client's own records of them.

use super::case::Case;
use super::{Cause, Evidence};
use crate::base::{Symbol, counted};
use crate::read::transcript::{PromptSnapshot, Sign, SnapshotTool};

/// Most tools that are named.
const MOST_NAMED: usize = 3;

/// Part of the prompt that is in front of the messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FrontPart {
    Tools,
    System,
}

impl FrontPart {
    /// Every part, with the cause that a change of it is.
    pub(super) const CAUSES: [(Self, Cause); 2] =
        [(Self::Tools, Cause::ToolsChanged), (Self::System, Cause::SystemPromptChanged)];

    fn field(self) -> &'static str {
        match self {
            Self::Tools => "attachment.tools",
            Self::System => "attachment.systemPrompt",
        }
    }

    /// Difference in words, with the sign that it is; `None` if there is none.
    fn difference(
        self,
        case: &Case<'_>,
        before: &PromptSnapshot,
        after: &PromptSnapshot,
    ) -> Option<(String, Option<Sign>)> {
        match self {
            Self::Tools => {
                let name = |tool| case.history.symbols.text(tool);
                let meaning = difference_of_tools(&before.tools, &after.tools, name)?;
                let is_lost = before.tools.iter().any(|tool| lacks(&after.tools, tool));
                Some((meaning, is_lost.then_some(Sign::ToolsRemoved)))
            }
            Self::System => Some((difference_of_system(&before.system, &after.system)?, None)),
        }
    }
}

/// Returns true for evidence by the client's records that tools went away.
pub(crate) fn shows_lost_tools(evidence: &Evidence) -> bool {
    evidence.field == FrontPart::Tools.field() && evidence.sign == Some(Sign::ToolsRemoved)
}

/// Result of comparing a part at a request with the same at the request before.
pub(super) enum Comparison {
    /// No record was written in between, so nothing is known.
    Unknown,
    /// The part is the same.
    Same,
    /// The part differs.
    Changed(Evidence),
}

/// Compares the records that hold at the request of a case and at the one before it.
pub(super) fn compared(case: &Case<'_>, part: FrontPart) -> Comparison {
    let (request, previous) = (case.request, case.previous);
    if (request.file, request.agent) != (previous.file, previous.agent) {
        return Comparison::Unknown;
    }
    let trail = &case.history.files[request.file].trail;
    let at = |line: u64| match part {
        FrontPart::Tools => trail.tools_at(line),
        FrontPart::System => trail.system_at(line),
    };
    let (Some(before), Some(after)) = (at(previous.line), at(request.line)) else {
        return Comparison::Unknown;
    };
    match part.difference(case, before, after) {
        None if before.line == after.line => Comparison::Unknown,
        None => Comparison::Same,
        Some((meaning, sign)) => Comparison::Changed(Evidence {
            line: after.line,
            sign,
            ..Evidence::of_field(request, part.field(), meaning)
        }),
    }
}

/// Returns true if no tool of a list has the name of another.
fn lacks(tools: &[SnapshotTool], tool: &SnapshotTool) -> bool {
    tools.iter().all(|other| other.name != tool.name)
}

fn difference_of_tools<'s>(
    before: &[SnapshotTool],
    after: &[SnapshotTool],
    name: impl Fn(Symbol) -> &'s str,
) -> Option<String> {
    let is_other = |tool: &&SnapshotTool| {
        before.iter().any(|other| other.name == tool.name && other.digest != tool.digest)
    };
    let named = |verb: &str, tools: Vec<&SnapshotTool>| {
        let first: Vec<&str> = tools.iter().take(MOST_NAMED).map(|tool| name(tool.name)).collect();
        let more = match tools.len().saturating_sub(MOST_NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        (!tools.is_empty()).then(|| format!("{verb}: {}{more}", first.join(", ")))
    };
    let parts = [
        named("gone", before.iter().filter(|tool| lacks(after, tool)).collect()),
        named("new", after.iter().filter(|tool| lacks(before, tool)).collect()),
        named("changed", after.iter().filter(is_other).collect()),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() {
        return (before != after).then(|| "the same tools, in another order".to_owned());
    }
    Some(format!("tools {}", parts.join("; ")))
}

fn difference_of_system<T: PartialEq>(before: &[Vec<T>], after: &[Vec<T>]) -> Option<String> {
    if before.len() != after.len() {
        let blocks = |count: usize| counted(count as u64, "block", "blocks");
        return Some(format!(
            "a system prompt of {} before, {} now",
            blocks(before.len()),
            blocks(after.len())
        ));
    }
    let (place, (old, new)) =
        before.iter().zip(after).enumerate().find(|(_, (old, new))| old != new)?;
    let line = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    Some(format!("block {} of the system prompt differs from its line {} on", place + 1, line + 1))
}
