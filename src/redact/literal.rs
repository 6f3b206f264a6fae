//! Inside of a JSON string: decoded for a replacement, and written back with the same escapes.

use std::ops::Range;

use super::mapping::character_at;

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
            Piece::Short(byte) => decoded.push(byte),
            Piece::Unicode(unit) => {
                let utf8 = utf8_of(unit);
                decoded.extend_from_slice(&utf8.bytes[..utf8.length]);
            }
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
            Piece::Unicode(unit) => {
                // Half a pair is no character and has no replacement, so it stays.
                if let Some(image) = character_at(decoded, at).filter(|_| !unit.is_half()) {
                    write_unicode(&mut literal[range], unit, image);
                }
                at += utf8_of(unit).length;
            }
        }
    }
}

/// Piece of the inside of a string.
#[derive(Clone, Copy)]
enum Piece {
    /// Text without escapes.
    Plain,
    /// Escape of two bytes, and its byte.
    Short(u8),
    /// Escape `\uXXXX`, or two of them that form a pair.
    Unicode(Unit),
    /// Backslash that begins no valid escape.
    Invalid,
}

/// Code point of a Unicode escape, or half of a surrogate pair.
#[derive(Clone, Copy)]
struct Unit(u32);

impl Unit {
    /// Returns true for half of a surrogate pair.
    fn is_half(self) -> bool {
        matches!(self.0, 0xd800..=0xdfff)
    }
}

/// UTF-8 bytes of one unit.
struct Utf8 {
    bytes: [u8; 4],
    length: usize,
}

fn utf8_of(unit: Unit) -> Utf8 {
    let mut bytes = [0; 4];
    if let Some(character) = char::from_u32(unit.0) {
        let length = character.encode_utf8(&mut bytes).len();
        return Utf8 { bytes, length };
    }
    // Not valid UTF-8, so no reader takes it for a character.
    Utf8 { bytes: [0xed, 0xa0, 0x80, 0], length: 3 }
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
    let byte = match literal.get(at + 1) {
        Some(byte @ (b'"' | b'\\' | b'/')) => *byte,
        Some(b'b') => 0x08,
        Some(b'f') => 0x0c,
        Some(b'n') => b'\n',
        Some(b'r') => b'\r',
        Some(b't') => b'\t',
        Some(b'u') => return unicode_at(literal, at),
        Some(other) if other.is_ascii() => return (Piece::Invalid, 2),
        // Only the backslash: a character of several bytes is replaced as text.
        _ => return (Piece::Invalid, 1),
    };
    (Piece::Short(byte), 2)
}

fn unicode_at(literal: &[u8], at: usize) -> (Piece, usize) {
    let Some(unit) = unit_at(literal, at) else {
        // As many bytes as may be meant for the four digits.
        let behind = literal[at + 2..].iter().take(4);
        let length = behind.take_while(|byte| byte.is_ascii() && **byte != b'\\').count();
        return (Piece::Invalid, 2 + length);
    };
    match (unit, unit_at(literal, at + 6)) {
        (0xd800..=0xdbff, Some(low @ 0xdc00..=0xdfff)) => {
            let character = 0x1_0000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
            (Piece::Unicode(Unit(character)), 12)
        }
        _ => (Piece::Unicode(Unit(unit)), 6),
    }
}

fn unit_at(literal: &[u8], at: usize) -> Option<u32> {
    let escape = literal.get(at..at + 6)?;
    if !escape.starts_with(b"\\u") || !escape[2..].iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    u32::from_str_radix(std::str::from_utf8(&escape[2..]).ok()?, 16).ok()
}

/// Writes another character into an escape. An unchanged one keeps its spelling.
fn write_unicode(escape: &mut [u8], unit: Unit, image: char) {
    if u32::from(image) == unit.0 {
        return;
    }
    let has_capitals = escape.iter().any(u8::is_ascii_uppercase);
    let mut units = [0; 2];
    for (place, unit) in image.encode_utf16(&mut units).iter().enumerate() {
        let written =
            if has_capitals { format!("\\u{unit:04X}") } else { format!("\\u{unit:04x}") };
        if let Some(target) = escape.get_mut(place * 6..place * 6 + 6) {
            target.copy_from_slice(written.as_bytes());
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
