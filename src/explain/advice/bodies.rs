//! Remedies against changes in the body of a captured request, by the part that changed: builders make them.

use crate::explain::breaks::{Break, Cause, Remedy, Who};
use crate::requests::difference::{Alteration, Difference, DifferenceKind};

/// Remedy against the difference behind most of the lost money; `None` if the remedy of the cause fits it.
pub(super) fn remedy(cause: Cause, breaks: &[&Break]) -> Option<Remedy> {
    // The most expensive break comes first.
    let changed = breaks.first()?.changed.as_deref()?;
    if Cause::from(changed.kind) != cause {
        return None;
    }
    let (label, field) = label(changed)?;
    Some(Remedy {
        label,
        who: Who::Builder,
        setting: None,
        field: Some(field),
        // How much of a window has to go is not known.
        is_at_most: matches!(changed.alteration, Some(Alteration::MessagesGone(..))),
        advice: None,
        patterns: &[],
    })
}

const THINKING: (&str, &str) =
    ("Send thinking back as it came", "`messages`: answers with their blocks of thinking");

fn label(changed: &Difference) -> Option<(&'static str, &'static str)> {
    let is_order =
        matches!(changed.alteration, Some(Alteration::LineOrder | Alteration::WordOrder));
    Some(match changed.kind {
        DifferenceKind::ToolMoved => ("Send the tools in one order", "`tools`: sorted by `name`"),
        DifferenceKind::ToolChanged if is_order => {
            ("Sort the lists in definitions of tools", "`tools[].description`: one order")
        }
        DifferenceKind::ToolChanged => (
            "Freeze the definitions of tools",
            "`tools`: made once for a conversation; what varies goes into the last message",
        ),
        DifferenceKind::ToolRespelled => {
            ("Serialise tools in a fixed way", "`tools`: the same bytes, keys in one order")
        }
        DifferenceKind::ToolAdded | DifferenceKind::ToolRemoved => (
            "Keep the list of tools for a conversation",
            "`tools`: the same list; rare tools with `defer_loading`",
        ),
        DifferenceKind::SystemPrompt if is_order => {
            ("Sort the lists in the system prompt", "`system`: lists in one order")
        }
        DifferenceKind::ThinkingStripped => THINKING,
        DifferenceKind::Thinking => {
            ("Keep `thinking` for a conversation", "`thinking`: the same on every request")
        }
        DifferenceKind::Effort => {
            ("Keep the effort for a conversation", "`output_config.effort`: the same")
        }
        DifferenceKind::FastMode => ("Keep the speed for a conversation", "`speed`: the same"),
        DifferenceKind::Image => (
            "Keep images where they were sent",
            "`messages[].content[]`: the same blocks, images and all",
        ),
        DifferenceKind::MessageRewritten => return rewritten(changed.alteration?),
        _ => return None,
    })
}

fn rewritten(alteration: Alteration) -> Option<(&'static str, &'static str)> {
    Some(match alteration {
        Alteration::KeyOrder | Alteration::Spelling => {
            ("Send calls and results back byte for byte", "`messages`: keys in the order received")
        }
        Alteration::Moved { .. } => {
            ("Leave text of a turn where it was first sent", "`messages`: append only")
        }
        Alteration::MessagesGone(..) => (
            "Drop old messages seldom, and many at once",
            "`messages`: append only until the window is full",
        ),
        Alteration::Field("signature") => THINKING,
        Alteration::Cut(..) => {
            ("Cut results before they are first sent", "`tool_result.content`: the same each time")
        }
        _ => return None,
    })
}
