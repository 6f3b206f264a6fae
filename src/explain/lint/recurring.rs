//! Parts of an earlier prompt that come back in a later one although something before them changed. Only
//! these could have been read.

use rustc_hash::FxHashMap;

use crate::read::capture::WireNodeId;
use crate::requests::difference::{PromptView, common_end, same_ends, tool_name};

/// Block of the later prompt, with the number of its bytes that the earlier one had in the
/// corresponding place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Recurrence {
    pub(super) block: WireNodeId,
    pub(super) same: u64,
    /// Bytes of these that stand behind the first difference.
    pub(super) end: u64,
    pub(super) bytes: u64,
}

impl Recurrence {
    fn new(block: WireNodeId, before: &str, after: &str) -> Self {
        let bytes = after.len() as u64;
        if before == after {
            return Self { block, same: bytes, end: bytes, bytes };
        }
        let end = common_end(before.as_bytes(), after.as_bytes()) as u64;
        Self { block, same: same_ends(before, after) as u64, end, bytes }
    }
}

/// Blocks of the later prompt that the earlier one also had, after the first difference.
/// `until` is the end of the earlier one's cached part.
///
/// A tool corresponds to the one with its name, a block of the system prompt to the one at the same
/// distance from the beginning or the end, and a block of a message to the one in the same place.
/// From the first message without a match on, they are another conversation. Only if nothing before
/// the messages changed, the one block that changed is skipped.
pub(super) fn recurrences(
    before: &PromptView<'_>,
    after: &PromptView<'_>,
    until: WireNodeId,
) -> Vec<Recurrence> {
    let cached = |ids: &[WireNodeId]| -> Vec<WireNodeId> {
        ids.iter().copied().filter(|id| *id <= until).collect()
    };
    let mut recurring = tools(before, after, &cached(&before.tools));
    recurring.extend(settings(before, after, until));
    recurring.extend(system(before, after, &cached(&before.system)));
    recurring.extend(messages(before, after, &cached(&before.blocks)));
    // The common prefix was read, or could be.
    recurring.retain(|one| !is_same_prefix(before, one.block));
    recurring
}

/// Settings that write text into the prompt, such as that tools are there.
fn settings(
    before: &PromptView<'_>,
    after: &PromptView<'_>,
    until: WireNodeId,
) -> impl Iterator<Item = Recurrence> {
    let pairs = [
        (before.system_settings, after.system_settings),
        (before.message_settings, after.message_settings),
    ];
    let recurrence = move |(old, new): (Option<WireNodeId>, Option<WireNodeId>)| {
        let (old, new) = (old.filter(|old| *old <= until)?, new?);
        let (before, after) = (before.text(old), after.text(new));
        (old != new && before == after).then(|| Recurrence::new(new, before, after))
    };
    pairs.into_iter().filter_map(recurrence)
}

fn tools(
    before: &PromptView<'_>,
    after: &PromptView<'_>,
    cached: &[WireNodeId],
) -> Vec<Recurrence> {
    // Of several with one name the first one counts, so it is put in last.
    let known: FxHashMap<String, &str> =
        before.texts(cached).into_iter().rev().map(|text| (tool_name(text), text)).collect();
    let recurrence = |id: &WireNodeId| {
        let text = after.text(*id);
        let before = known.get(&tool_name(text))?;
        Some(Recurrence::new(*id, before, text))
    };
    after.tools.iter().filter_map(recurrence).collect()
}

fn system(
    before: &PromptView<'_>,
    after: &PromptView<'_>,
    cached: &[WireNodeId],
) -> Vec<Recurrence> {
    let (old, new) = (before.texts(cached), after.texts(&after.system));
    let is_whole = cached.len() == before.system.len();
    let recurrence = |(place, text): (usize, &&str)| {
        // Counting from the end finds blocks after an insertion. That needs the whole system prompt
        // to have been cached.
        let from_end = (new.len() - place <= old.len() && is_whole)
            .then(|| old[old.len() + place - new.len()])
            .filter(|before| before == text);
        let counterpart = from_end.or(old.get(place).copied())?;
        Some(Recurrence::new(after.system[place], counterpart, text))
    };
    new.iter().enumerate().filter_map(recurrence).collect()
}

fn messages(
    before: &PromptView<'_>,
    after: &PromptView<'_>,
    cached: &[WireNodeId],
) -> Vec<Recurrence> {
    let (old, new) = (before.texts(cached), after.texts(&after.blocks));
    let mut may_step_over = before.message_settings == after.message_settings;
    let mut recurring = Vec::new();
    for (place, (old, new)) in old.iter().zip(&new).enumerate() {
        if old != new && !std::mem::take(&mut may_step_over) {
            break;
        }
        recurring.push(Recurrence::new(after.blocks[place], old, new));
    }
    recurring
}

fn is_same_prefix(before: &PromptView<'_>, id: WireNodeId) -> bool {
    // Ids rise along a path.
    [&before.tools, &before.system, &before.blocks]
        .into_iter()
        .any(|ids| ids.binary_search(&id).is_ok())
}
