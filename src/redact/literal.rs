//! Inside of a JSON string: decoded for a replacement, and written back with the same escapes.

use std::ops::Range;

use super::mapping::character_at;
use crate::read::input::{CODE, Escaped, escape};

/// Lets `edit` replace the decoded string in place, each character by one of the same length, and
/// writes the result back. Every escape stays an escape, and invalid ones stay invalid.
pub(super) fn edit_literal(
    literal: &mut [u8],
    scratch: &mut Vec<u8>,
    edit: impl FnOnce(&mut [u8]),
) {
    if memchr::memchr(b'\\', literal).is_none() {
        return edit(literal);
    }
    decode(literal, scratch);
    edit(scratch);
    encode(literal, scratch);
}

/// Decodes a string. Half a surrogate pair becomes three bytes, as if it were a character.
pub(super) fn decode(literal: &[u8], decoded: &mut Vec<u8>) {
    decoded.clear();
    let mut at = 0;
    while let Some((piece, range)) = piece_at(literal, at) {
        at = range.end;
        match piece {
            Piece::Plain => decoded.extend_from_slice(&literal[range]),
            Piece::Short(character) | Piece::Code(Escaped::Character(character)) => {
                decoded.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            }
            Piece::Code(Escaped::Half(_)) => decoded.extend_from_slice(HALF),
            Piece::Invalid => decoded.push(b'\\'),
        }
    }
}

fn encode(literal: &mut [u8], decoded: &[u8]) {
    let (mut place, mut at) = (0, 0);
    while let Some((piece, range)) = piece_at(literal, place) {
        place = range.end;
        match piece {
            Piece::Plain => {
                let length = range.len();
                literal[range].copy_from_slice(&decoded[at..at + length]);
                at += length;
            }
            Piece::Short(_) => at += 1,
            Piece::Invalid => {
                blur_digits(&mut literal[range]);
                at += 1;
            }
            Piece::Code(Escaped::Character(character)) => {
                if let Some(image) = character_at(decoded, at) {
                    write_code(&mut literal[range], character, image);
                }
                at += character.len_utf8();
            }
            // No character, so it has no replacement and stays.
            Piece::Code(Escaped::Half(_)) => at += HALF.len(),
        }
    }
}

/// Half a surrogate pair in a decoded string: not valid UTF-8, so no reader takes it for a character.
const HALF: &[u8] = b"\xed\xa0\x80";

/// Piece of the inside of a string.
#[derive(Clone, Copy)]
enum Piece {
    /// Text without escapes.
    Plain,
    /// Escape of two bytes.
    Short(char),
    /// Escape `\uXXXX`, or two of them that form a pair.
    Code(Escaped),
    /// Backslash that begins no valid escape.
    Invalid,
}

/// Piece that begins at a position, or `None` at the end.
fn piece_at(literal: &[u8], at: usize) -> Option<(Piece, Range<usize>)> {
    if *literal.get(at)? == b'\\' {
        let (piece, length) = escape_at(literal, at);
        return Some((piece, at..at + length));
    }
    let end = memchr::memchr(b'\\', &literal[at..]).map_or(literal.len(), |found| at + found);
    Some((Piece::Plain, at..end))
}

/// Escape that begins with the backslash at a position, and its length.
fn escape_at(literal: &[u8], at: usize) -> (Piece, usize) {
    match (escape(&literal[at..]), literal.get(at + 1)) {
        (Some((escaped, length)), Some(b'u')) => (Piece::Code(escaped), length),
        (Some((Escaped::Character(character), length)), _) => (Piece::Short(character), length),
        (None, Some(b'u')) => {
            // As many bytes as may be meant for the four digits.
            let behind = literal[at + 2..].iter().take(CODE - 2);
            let digits = behind.take_while(|byte| byte.is_ascii() && **byte != b'\\').count();
            (Piece::Invalid, 2 + digits)
        }
        (None, Some(other)) if other.is_ascii() => (Piece::Invalid, 2),
        // Only the backslash: a character of several bytes is replaced as text.
        _ => (Piece::Invalid, 1),
    }
}

/// Writes another character into an escape. An unchanged one keeps its spelling.
fn write_code(escape: &mut [u8], character: char, image: char) {
    if image == character {
        return;
    }
    let has_capitals = escape.iter().any(u8::is_ascii_uppercase);
    let mut units = [0; 2];
    let written = image.encode_utf16(&mut units).iter();
    for (target, unit) in escape.chunks_exact_mut(CODE).zip(written) {
        for (digit, shift) in target[2..].iter_mut().zip([12, 8, 4, 0]) {
            let value = usize::from(unit >> shift & 0xf);
            *digit =
                if has_capitals { b"0123456789ABCDEF"[value] } else { b"0123456789abcdef"[value] };
        }
    }
}

/// Replaces whatever may be meant as digits in an invalid escape: each byte becomes a fixed one of
/// its kind.
fn blur_digits(escape: &mut [u8]) {
    for byte in escape.iter_mut().skip(2) {
        *byte = match *byte {
            b'0'..=b'9' => b'0',
            b'a'..=b'f' => b'a',
            b'A'..=b'F' => b'A',
            b'g'..=b'z' => b'x',
            b'G'..=b'Z' => b'X',
            other => other,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edited(literal: &str, edit: impl FnOnce(&mut [u8])) -> String {
        let mut bytes = literal.as_bytes().to_vec();
        edit_literal(&mut bytes, &mut Vec::new(), edit);
        String::from_utf8(bytes).expect("text")
    }

    #[test]
    fn escapes_stay_escapes() {
        let swap = |text: &mut [u8]| {
            assert_eq!(text, "aé\n\"𐐀z".as_bytes());
            text.copy_from_slice("bè\n\"𐐁y".as_bytes());
        };
        assert_eq!(
            edited(r#"\u0061\u00e9\n\"\ud801\uDC00z"#, swap),
            r#"\u0062\u00e8\n\"\uD801\uDC01y"#
        );
    }

    #[test]
    fn what_is_no_escape_stays_none() {
        let nothing = |_: &mut [u8]| {};
        for literal in [r"\x", r"\", r"\u12", r"\ud800", r"\udc00\ud800", "\\é"] {
            let after = edited(literal, nothing);
            assert_eq!(after.len(), literal.len());
            let is_json =
                |text: &str| serde_json::from_str::<String>(&format!("\"{text}\"")).is_ok();
            assert_eq!(is_json(&after), is_json(literal), "{literal}");
        }
        assert_eq!(edited(r"\users", nothing), r"\uxaxx");
        assert_eq!(edited(r"\ud83d!", nothing), r"\ud83d!");
    }
}
