//! Escapes of strings in JSON.

/// Bytes of an escape `\uXXXX`.
pub(crate) const CODE: usize = 6;

/// Meaning of an escape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Escaped {
    Character(char),
    /// Half of a surrogate pair, without the other one.
    Half(u32),
}

/// Meaning and length of the escape at the beginning of a text, or `None` if it is invalid.
pub(crate) fn escape(text: &[u8]) -> Option<(Escaped, usize)> {
    let byte = match text.get(1)? {
        byte @ (b'"' | b'\\' | b'/') => *byte,
        b'b' => 0x08,
        b'f' => 0x0c,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        _ => return code(text),
    };
    Some((Escaped::Character(char::from(byte)), 2))
}

/// One code, or two of them that form a pair.
fn code(text: &[u8]) -> Option<(Escaped, usize)> {
    let first = unit(text)?;
    if let Some(character) = char::from_u32(first) {
        return Some((Escaped::Character(character), CODE));
    }
    let second = text.get(CODE..).and_then(unit).filter(|unit| matches!(unit, 0xdc00..=0xdfff));
    let pair = second
        .filter(|_| first < 0xdc00)
        .and_then(|second| char::from_u32(0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00)));
    Some(pair.map_or((Escaped::Half(first), CODE), |one| (Escaped::Character(one), 2 * CODE)))
}

/// UTF-16 code unit of one code.
fn unit(text: &[u8]) -> Option<u32> {
    let [b'\\', b'u', digits @ ..] = text.get(..CODE)? else { return None };
    digits.iter().try_fold(0, |unit, digit| Some(unit << 4 | char::from(*digit).to_digit(16)?))
}

/// Text of the inside of a string that is valid JSON. Half of a pair, which is no character, becomes the replacement
/// character.
pub(crate) fn decoded(inside: &str) -> String {
    let mut text = String::with_capacity(inside.len());
    let mut rest = inside;
    while let Some(place) = memchr::memchr(b'\\', rest.as_bytes()) {
        let Some((escaped, length)) = escape(&rest.as_bytes()[place..]) else { break };
        text.push_str(&rest[..place]);
        text.push(match escaped {
            Escaped::Character(character) => character,
            Escaped::Half(_) => char::REPLACEMENT_CHARACTER,
        });
        rest = &rest[place + length..];
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn halves_of_pairs_are_replaced() {
        assert_eq!(decoded(r"a\ud83d\ude00\ud83d b\ude00\ud83d"), "a😀\u{fffd} b\u{fffd}\u{fffd}");
    }

    proptest! {
        /// With every character as a code, in letters of both sizes, or as `serde_json` writes it.
        #[test]
        fn texts_are_those_of_serde_json(text in any::<String>(), is_large in any::<bool>()) {
            let code = |unit| if is_large { format!("\\u{unit:04X}") } else { format!("\\u{unit:04x}") };
            let codes: Vec<String> = text.encode_utf16().map(code).collect();
            let json = serde_json::to_string(&text).expect("JSON");
            prop_assert_eq!(decoded(&json[1..json.len() - 1]), &text[..]);
            prop_assert_eq!(decoded(&codes.concat()), text);
        }
    }
}
