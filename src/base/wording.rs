//! Counts and durations in words, and suggestions for misspelled names.

use std::cmp::Reverse;

use super::order::Order as _;

/// Number with separators: `1234567` → `1,234,567`.
pub fn grouped(value: u64) -> String {
    grouped_digits(&value.to_string())
}

/// Groups the digits of a whole number of any size by threes.
pub(crate) fn grouped_digits(digits: &str) -> String {
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    // The first group has the one to three digits that do not fill a group.
    let (first, mut rest) = digits.split_at(digits.len() - digits.len().saturating_sub(1) / 3 * 3);
    text.push_str(first);
    while let Some((three, more)) = rest.split_at_checked(3) {
        text.push(',');
        text.push_str(three);
        rest = more;
    }
    text
}

/// Count with its noun: `1 file`, `2 files`.
pub fn counted(value: u64, singular: &str, plural: &str) -> String {
    let noun = if value == 1 { singular } else { plural };
    format!("{} {noun}", grouped(value))
}

/// A text with its first letter in upper case, as at the start of a sentence.
pub(crate) fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Duration in two units: `83000` ms → `1m23s`.
pub fn duration(millis: i64) -> String {
    let seconds = millis / 1_000;
    match seconds {
        0..60 => format!("{}.{}s", seconds, millis % 1_000 / 100),
        60..3_600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        3_600..86_400 => format!("{}h{:02}m", seconds / 3_600, seconds % 3_600 / 60),
        _ => format!("{}d{:02}h", seconds / 86_400, seconds % 86_400 / 3_600),
    }
}

/// Number of suggested names.
const SUGGESTED: usize = 3;

/// Most characters of a name that are compared, so that long text costs nothing.
const COMPARED: usize = 64;

/// The three candidates nearest to a name by optimal string alignment distance, nearest first. Ties go to the longer
/// common prefix, then to the first. A candidate that only begins like the name counts as near, too.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let name: String = name.chars().take(COMPARED).flat_map(char::to_lowercase).collect();
    let length = name.chars().count();
    if length == 0 {
        return Vec::new();
    }
    let mut ranked: Vec<((usize, Reverse<usize>), &str)> = candidates
        .into_iter()
        .map(|candidate| {
            let own: String =
                candidate.chars().take(COMPARED).flat_map(char::to_lowercase).collect();
            let beginning: String = own.chars().take(length).collect();
            let common = name.chars().zip(own.chars()).take_while(|(one, other)| one == other);
            let edits = strsim::osa_distance(&name, &own);
            let is_part = own.contains(&name);
            // One more, so that a match of the whole name comes before one of its beginning.
            let edits_of_part =
                if is_part { 0 } else { strsim::osa_distance(&name, &beginning) } + 1;
            ((edits.min(edits_of_part), Reverse(common.count())), candidate)
        })
        .collect();
    ranked.order_by_key(|(rank, _)| *rank);
    let mut names: Vec<&str> = Vec::new();
    for (_, candidate) in ranked {
        if names.len() < SUGGESTED && !names.contains(&candidate) {
            names.push(candidate);
        }
    }
    names
}

/// Names as alternatives: `` `a`, `b` or `c` ``.
pub fn alternatives(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        Some((last, before)) if !before.is_empty() => format!("{} or {last}", before.join(", ")),
        _ => quoted.concat(),
    }
}

/// Words to put after an unknown name. Empty without a suggestion.
pub fn suggestion(nearest: &[&str]) -> String {
    if nearest.is_empty() {
        return String::new();
    }
    format!(" (did you mean {}?)", alternatives(nearest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_spans_read_well() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_000), "1,000");
        assert_eq!(grouped(100_000), "100,000");
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(duration(2_950), "2.9s");
        assert_eq!(duration(83_000), "1m23s");
        assert_eq!(duration(3_720_000), "1h02m");
        assert_eq!(duration(183_600_000), "2d03h");
        assert_eq!(counted(1, "entry", "entries"), "1 entry");
        assert_eq!(counted(2_000, "entry", "entries"), "2,000 entries");
    }

    #[test]
    fn a_slip_of_the_finger_is_understood() {
        let known = ["5m", "1h", "mixed", "last-two", "last-message"];
        let first = |name: &str| nearest(name, known)[0];
        assert_eq!(first("mixd"), "mixed");
        assert_eq!(first("imxed"), "mixed", "two letters changed places");
        assert_eq!(first("last_two"), "last-two");
        assert_eq!(first("2h"), "1h");
        assert_eq!(first("LAST-MESAGE"), "last-message");
        assert_eq!(first("message"), "last-message", "a part of it");
        assert_eq!(nearest("last", known)[..2], ["last-two", "last-message"]);
        assert_eq!(nearest("mixd", known).len(), 3);
        assert_eq!(nearest("x", ["y"]), ["y"]);
        assert_eq!(nearest("x", ["y", "y"]), ["y"]);
        assert!(nearest("x", []).is_empty() && nearest("", known).is_empty());
        assert_eq!(nearest(&"x".repeat(1_000_000), known).len(), 3);
    }

    #[test]
    fn suggestions_are_a_question() {
        assert_eq!(suggestion(&[]), "");
        assert_eq!(suggestion(&["a"]), " (did you mean `a`?)");
        assert_eq!(suggestion(&["a", "b", "c"]), " (did you mean `a`, `b` or `c`?)");
    }
}
