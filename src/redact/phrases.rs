//! Phrases that stay in texts because readers look for them. Each is defined in the module that looks for it.

use std::ops::Range;

use super::vocabulary::model_ranges;
use crate::base::Order as _;
use crate::read::agent::{COMPRESSIONS, TASK_PHRASES, TASK_TOOLS, task_marks, task_model};
use crate::read::capture::{ATTRIBUTION, FORK_TAG};
use crate::read::harness::{BOUNDARY, IDENTITIES};
use crate::read::transcript::{BEGINNINGS, NAME_TAG, beginning_of, command_name, known_commands};
use crate::requests::difference::CLEARED;

/// All phrases, except the names of models.
pub(super) fn known_phrases() -> impl Iterator<Item = &'static str> {
    let beginnings = BEGINNINGS.iter().map(|(beginning, _)| *beginning);
    let inside = [ATTRIBUTION, BOUNDARY, CLEARED, FORK_TAG, NAME_TAG];
    let of_tasks = TASK_PHRASES.into_iter().chain(TASK_TOOLS);
    beginnings
        .chain(known_commands())
        .chain(IDENTITIES)
        .chain(inside)
        .chain(COMPRESSIONS)
        .chain(of_tasks)
}

/// Ranges of a client's text that report a shortened history.
pub(super) fn notice_phrases(text: &str) -> Vec<Range<usize>> {
    ranges_of(text, COMPRESSIONS)
}

/// Ranges of a message text that show its kind.
pub(super) fn spoken_phrases(text: &str) -> Vec<Range<usize>> {
    let mut phrases: Vec<Range<usize>> = beginning_of(text).map(|end| 0..end).into_iter().collect();
    phrases.extend(command_name(text));
    phrases.extend(ranges_of(text, [CLEARED, FORK_TAG]));
    phrases.extend(task_marks(text));
    if let Some(name) = task_model(text) {
        let inside = |range: Range<usize>| name.start + range.start..name.start + range.end;
        phrases.extend(model_ranges(&text[name.clone()]).into_iter().map(inside));
    }
    phrases.order_by_key(|phrase| phrase.start);
    phrases
}

/// Ranges of a system prompt text that show its kind.
pub(super) fn system_phrases(text: &str) -> Vec<Range<usize>> {
    // The whole text is a constant of the client, so nothing of it is private.
    if text == BOUNDARY || IDENTITIES.contains(&text) {
        return std::iter::once(0..text.len()).collect();
    }
    ranges_of(text, [ATTRIBUTION])
}

/// Ranges of some phrases in a text, in order.
pub(super) fn ranges_of(
    text: &str,
    phrases: impl IntoIterator<Item = &'static str>,
) -> Vec<Range<usize>> {
    let found = phrases.into_iter().flat_map(|phrase| text.match_indices(phrase));
    let mut ranges: Vec<Range<usize>> = found.map(|(at, found)| at..at + found.len()).collect();
    ranges.order_by_key(|range| range.start);
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_are_known_where_they_tell_something() {
        let kept = |text: &str| -> Vec<String> {
            spoken_phrases(text).into_iter().map(|range| text[range].to_owned()).collect()
        };
        assert_eq!(kept("<command-name>/mcp</command-name>"), ["<command-", "<command-name>/mcp"]);
        assert_eq!(kept("<command-name>/mine</command-name>"), ["<command-", "<command-name>"]);
        assert_eq!(kept("see <command-name>/mcp</command-name>"), [""; 0]);
        assert_eq!(system_phrases("x-anthropic-billing-header: a"), std::slice::from_ref(&(0..26)));
    }
}
