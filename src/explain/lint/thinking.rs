//! Thinking that comes back although the prefix before it does not.
//!
//! Some models check that a block of thinking follows the prefix that it was made after: tools, system prompt
//! and messages, other thinking apart. If it does not, they refuse the request or leave the block out, as
//! `thinking.block_binding.prefix_mismatch_behavior` says, and otherwise as usual for the model
//! ([`PrefixCheck`]). A request that a service has answered was not refused.

use serde_json::Value;

use super::{Finding, Rule};
use crate::base::model::PrefixCheck;
use crate::read::capture::{BlockKind, WireNodeId};
use crate::requests::conversation::{History, RequestIndex};
use crate::requests::difference::{PromptView, is_attribution};

/// Finding of the first block of thinking that a request sends after another prefix than the request before it.
pub(super) fn invalidated_thinking(
    history: &History,
    index: RequestIndex,
    [before, after]: &[PromptView<'_>; 2],
) -> Option<Finding> {
    let request = history.request(index);
    let check = history.facts(request.model).prefix_check;
    if check == PrefixCheck::None || before.model != after.model {
        return None;
    }
    let change = first_change(before, after)?;
    let is_thinking = |id: &&WireNodeId| after.kind(**id) == BlockKind::Thinking;
    let kept = after.blocks[change.from..].iter().find(is_thinking)?;
    let (rule, effect) =
        verdict(check, mismatch_behavior(after).as_deref(), request.usage.is_some())?;
    let detail = format!("{} in front of it {}; {effect}", change.place, change.what);
    Some(Finding::new(rule, after.place(*kept), detail, index))
}

/// Rule and effect for the request. `None` if the service has answered a request that it would have refused: then
/// the prefix that it checks is the same, whatever differs here.
fn verdict(
    check: PrefixCheck,
    behavior: Option<&str>,
    is_answered: bool,
) -> Option<(Rule, &'static str)> {
    let refused = |effect| (!is_answered).then_some((Rule::ThinkingRefused, effect));
    let dropped = Some((Rule::ThinkingDropped, "the service leaves it out"));
    match (behavior, check) {
        (Some("error"), _) => refused("the request asks to be refused for that"),
        (Some("drop_block"), _) | (_, PrefixCheck::Drops | PrefixCheck::None) => dropped,
        (_, PrefixCheck::Refuses) => refused("the service refuses that"),
        (_, PrefixCheck::RefusesNewAccounts) => {
            let effect = "the service refuses that of accounts made since 2026-08-31, and else leaves it out";
            refused(effect).or(dropped)
        }
    }
}

/// Behavior that the request asks for.
fn mismatch_behavior(view: &PromptView<'_>) -> Option<String> {
    let settings: Value = serde_json::from_str(view.text(view.message_settings?)).ok()?;
    let behavior = &settings["thinking"]["block_binding"]["prefix_mismatch_behavior"];
    behavior.as_str().map(str::to_owned)
}

/// First difference of a prompt from the one before it.
struct Change {
    place: String,
    what: &'static str,
    /// First block of messages after the difference.
    from: usize,
}

/// First part of the earlier prompt, its thinking apart, that does not come back.
fn first_change(before: &PromptView<'_>, after: &PromptView<'_>) -> Option<Change> {
    let system = |view: &PromptView<'_>| -> Vec<WireNodeId> {
        let is_kept = |id: &WireNodeId| !is_attribution(view.text(*id));
        view.system.iter().copied().filter(is_kept).collect()
    };
    in_front((before, &before.tools), (after, &after.tools), "tools")
        .or_else(|| in_front((before, &system(before)), (after, &system(after)), "system"))
        .or_else(|| in_messages(before, after))
}

/// First tool, or block of the system prompt, that differs, is gone or is new.
fn in_front(
    (before, old): (&PromptView<'_>, &[WireNodeId]),
    (after, new): (&PromptView<'_>, &[WireNodeId]),
    part: &str,
) -> Option<Change> {
    let (old_texts, new_texts) = (before.texts(old), after.texts(new));
    if old_texts == new_texts {
        return None;
    }
    let same = old_texts.iter().zip(&new_texts).take_while(|(one, other)| one == other).count();
    let (place, what) = match (old.get(same), new.get(same)) {
        (Some(_), Some(id)) => (after.place(*id), "differs"),
        (None, Some(id)) => (after.place(*id), "is new"),
        _ => (format!("{part}[{same}]"), "is gone"),
    };
    Some(Change { place, what, from: 0 })
}

/// First block of the messages that differs or is gone. Blocks added after them are no change.
fn in_messages(before: &PromptView<'_>, after: &PromptView<'_>) -> Option<Change> {
    let spoken = |view: &PromptView<'_>| -> Vec<usize> {
        let is_spoken = |place: &usize| view.kind(view.blocks[*place]) != BlockKind::Thinking;
        (0..view.blocks.len()).filter(is_spoken).collect()
    };
    let (old, new) = (spoken(before), spoken(after));
    let is_same = |(one, other): &(&usize, &usize)| {
        before.text(before.blocks[**one]) == after.text(after.blocks[**other])
    };
    let same = old.iter().zip(&new).take_while(is_same).count();
    // If all of the later request comes back, nothing is left after the change.
    let from = *new.get(same).filter(|_| same < old.len())?;
    Some(Change { place: after.place(after.blocks[from]), what: "differs", from })
}
