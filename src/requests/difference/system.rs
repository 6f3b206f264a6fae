//! How the system prompts of two requests differ.

use serde::Deserialize;

use super::compare::{Difference, Pair};
use super::kind::DifferenceKind;
use super::overlap::differing;
use super::value::{SAME_IN_OTHER_BYTES, says_the_same};
use crate::read::capture::ATTRIBUTION;
use crate::read::input::Text;

/// Whether a block of the system prompt is the client's attribution line.
pub(crate) fn is_attribution(text: &str) -> bool {
    text.contains(ATTRIBUTION)
}

/// A text block, as far as it matters.
#[derive(Default, Deserialize)]
#[serde(default)]
struct TextBlock<'a> {
    #[serde(borrow)]
    text: Text<'a>,
}

/// Whether a block of the system prompt, given by its canonical bytes, begins with the client's
/// attribution line.
pub(crate) fn begins_with_attribution(block: &str) -> bool {
    let read = || serde_json::from_str::<TextBlock<'_>>(block).unwrap_or_default();
    is_attribution(block) && read().text.as_str().is_some_and(|text| text.starts_with(ATTRIBUTION))
}

/// Each block that is another one now; where their number differs, all of them as one difference.
pub(super) fn system_differences(pair: Pair<'_>) -> Vec<Difference> {
    let before = pair.before.texts(&pair.before.system);
    let after = pair.after.texts(&pair.after.system);
    let Some((old, new)) = differing(&before, &after) else { return Vec::new() };
    if old.len() == new.len() {
        let changed = new.filter(|place| before[*place] != after[*place]);
        return changed
            .map(|place| {
                let (kind, detail) = block_change(before[place], after[place]);
                block_difference(pair, kind, place, detail)
            })
            .collect();
    }
    let detail = format!("{} blocks before, {} now", before.len(), after.len());
    vec![block_difference(pair, DifferenceKind::SystemPrompt, new.start, detail)]
}

fn block_change(before: &str, after: &str) -> (DifferenceKind, &'static str) {
    if is_attribution(before) && is_attribution(after) {
        (DifferenceKind::Attribution, "the attribution line differs")
    } else if says_the_same(before, after) {
        (DifferenceKind::SystemPrompt, SAME_IN_OTHER_BYTES)
    } else {
        (DifferenceKind::SystemPrompt, "the text differs")
    }
}

fn block_difference(
    pair: Pair<'_>,
    kind: DifferenceKind,
    place: usize,
    detail: impl Into<String>,
) -> Difference {
    let (before, after) = (pair.before.system.get(place), pair.after.system.get(place));
    Difference::new(kind, format!("system[{place}]"), detail)
        .between(before.copied(), after.copied())
        .with_bytes(before.map(|id| pair.before.text(*id)), after.map(|id| pair.after.text(*id)))
}
