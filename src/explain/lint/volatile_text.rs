//! Words that change by nature: timestamps, counters, random ids, hashes.

use super::Rule;

/// Least length of a random mixture of letters and digits. Shorter ones are names, such as `v2` or `utf8`.
const SHORTEST_RANDOM: usize = 6;

/// Lengths of common hashes in hexadecimal: MD5, SHA-1, SHA-256.
const HASH_LENGTHS: [usize; 3] = [32, 40, 64];

/// Text with escaped white space replaced by spaces, at the same positions.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        if character != '\\' {
            plain.push(character);
            continue;
        }
        match characters.next() {
            Some('n' | 'r' | 't') => plain.push_str("  "),
            Some(other) => plain.extend(['\\', other]),
            None => plain.push(character),
        }
    }
    plain
}

/// Word around a position: letters, digits, and the signs that join them in timestamps and ids.
fn word(text: &str, at: usize) -> &str {
    let is_part =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b':' | b'.' | b'_' | b'+');
    let bytes = text.as_bytes();
    let at = at.min(bytes.len());
    let from = bytes[..at].iter().rposition(|byte| !is_part(*byte)).map_or(0, |before| before + 1);
    let to =
        bytes[at..].iter().position(|byte| !is_part(*byte)).map_or(bytes.len(), |end| at + end);
    // Both ends are next to ASCII bytes, or at the ends of the text.
    text.get(from..to).unwrap_or_default().trim_matches(['.', ':', '-'])
}

/// Kind of the word that changes at a position.
pub(super) fn changing_word(before: &str, after: &str, at: usize) -> Option<Rule> {
    let (before, after) = (plain(before), plain(after));
    let (before, after) = (word(&before, at), word(&after, at));
    let both = |is: fn(&str) -> bool| is(before) && is(after);
    if both(is_moment) {
        Some(Rule::Timestamp)
    } else if both(is_counter) {
        Some(Rule::Counter)
    } else if both(is_hash) {
        Some(Rule::Hash)
    } else if both(is_random) {
        Some(Rule::RandomId)
    } else {
        None
    }
}

/// First word of a text that looks as if it changes, with its kind.
pub(super) fn volatile_word(text: &str) -> Option<(usize, Rule)> {
    let is_border =
        |character: char| !(character.is_ascii_alphanumeric() || "-:.+_".contains(character));
    let text = plain(text);
    let mut position = 0;
    for word in text.split(is_border) {
        let start = position;
        position += word.len();
        position += text[position..].chars().next().map_or(0, char::len_utf8);
        let word = word.trim_matches(['.', ':', '-']);
        if has_time_of_day(word) {
            return Some((start, Rule::Timestamp));
        }
        if is_uuid(word) {
            return Some((start, Rule::RandomId));
        }
    }
    None
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// A date, a time of day, both, or seconds or milliseconds since 1970.
fn is_moment(word: &str) -> bool {
    // Seconds that begin with 1 are from 2001 to 2033, and so are their milliseconds.
    has_date(word)
        || has_time_of_day(word)
        || (is_digits(word)
            && ((word.len() == 10 && word.starts_with('1'))
                || (word.len() == 13 && word.starts_with('1'))))
}

/// Returns true if it begins like `2026-08-03`.
fn has_date(word: &str) -> bool {
    let Some(date) = word.get(..10) else { return false };
    let parts: Vec<&str> = date.split('-').collect();
    matches!(parts.as_slice(), [year, month, day]
        if year.len() == 4 && month.len() == 2 && [year, month, day].iter().all(|part| is_digits(part)))
}

/// Returns true for `10:00` or `10:00:00`, alone or after a date and a `T`.
fn has_time_of_day(word: &str) -> bool {
    let time = if has_date(word) { word.get(11..).unwrap_or_default() } else { word };
    let mut parts = time.split(':');
    let (Some(hour), Some(minute)) = (parts.next(), parts.next()) else { return false };
    hour.len() == 2 && is_digits(hour) && minute.get(..2).is_some_and(is_digits)
}

fn is_counter(word: &str) -> bool {
    is_digits(word) && word.len() < 10
}

fn is_hexadecimal(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn is_hash(word: &str) -> bool {
    HASH_LENGTHS.contains(&word.len()) && is_hexadecimal(word)
}

fn is_uuid(word: &str) -> bool {
    let lengths: Vec<usize> = word.split('-').map(str::len).collect();
    lengths == [8, 4, 4, 4, 12] && word.split('-').all(is_hexadecimal)
}

/// A UUID, or a mixture of letters and digits that no word has.
fn is_random(word: &str) -> bool {
    let last = word.rsplit(['_', '-', ':']).next().unwrap_or(word);
    let has = |is: fn(&u8) -> bool| last.bytes().any(|byte| is(&byte));
    let is_mixed = has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic);
    is_uuid(word) || (last.len() >= SHORTEST_RANDOM && is_mixed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::requests::difference::first_difference;

    fn change(before: &str, after: &str) -> Option<Rule> {
        changing_word(before, after, first_difference(before, after))
    }

    #[test]
    fn words_that_change_are_known() {
        assert_eq!(
            change("at 2026-05-01T10:00:00Z go", "at 2026-05-01T10:00:07Z go"),
            Some(Rule::Timestamp)
        );
        assert_eq!(change("now 10:59.", "now 11:00."), Some(Rule::Timestamp));
        assert_eq!(change("turn 9 of", "turn 10 of"), Some(Rule::Counter));
        assert_eq!(
            change(
                "id 6fe4e511-70ab-4c00-8000-00000000000a",
                "id 0fe4e511-70ab-4c00-8000-00000000000b"
            ),
            Some(Rule::RandomId)
        );
        assert_eq!(change("cch=a1b2c3;", "cch=9f8e7d;"), Some(Rule::RandomId));
        assert_eq!(
            change("d41d8cd98f00b204e9800998ecf8427e", "c41d8cd98f00b204e9800998ecf8427e"),
            Some(Rule::Hash)
        );
        assert_eq!(change(r"a\n10:00 now", r"a\n10:01 now"), Some(Rule::Timestamp));
        assert_eq!(change(r"a\\n1", r"a\\n2"), None);
        assert_eq!(change("Use tabs here", "Use spaces here"), None);
    }

    #[test]
    fn texts_that_look_volatile_are_found() {
        assert_eq!(volatile_word("Started at 2026-05-01T10:00:00Z."), Some((11, Rule::Timestamp)));
        assert_eq!(volatile_word("Today is 2026-05-01."), None);
        assert_eq!(volatile_word("ratio 16:9, port host:8080"), None);
    }
}
