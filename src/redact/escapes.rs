//! Escapes: in addresses, in names of folders that are made of paths, and in cells of tables.

/// Byte of the percent escape at a position, if there is one.
pub(super) fn escape_at(text: &[u8], at: usize) -> Option<u8> {
    let [b'%', digits @ ..] = text.get(at..at + 3)? else { return None };
    let digits = digits.iter().map(|digit| char::from(*digit).to_digit(16));
    let byte = digits.reduce(|high, low| Some(high? * 16 + low?))??;
    u8::try_from(byte).ok()
}

/// Lets `edit` replace a text with decoded percent escapes, each character by one of the same length, and writes the
/// result back with the same escapes.
pub(super) fn edit_escaped(text: &mut [u8], edit: impl FnOnce(&mut [u8])) {
    if memchr::memchr(b'%', text).is_none() {
        return edit(text);
    }
    let escape = |text: &[u8], at| Some((escape_at(text, at)?, 3));
    let write = |escape: &mut [u8], byte| {
        let is_small = escape.iter().any(u8::is_ascii_lowercase);
        let written = if is_small { format!("%{byte:02x}") } else { format!("%{byte:02X}") };
        escape.copy_from_slice(written.as_bytes());
    };
    edit_decoded(text, escape, write, edit);
}

/// Lets `edit` replace a text in which quotes are written twice. They stay.
pub(super) fn edit_quoted(text: &mut [u8], edit: impl FnOnce(&mut [u8])) {
    let escape = |text: &[u8], at: usize| text[at..].starts_with(b"\"\"").then_some((b'"', 2));
    edit_decoded(text, escape, |_, _| {}, edit);
}

/// Lets `edit` replace a decoded text. `escape` gives the byte and the length of the escape at a position, if one is
/// there, and `write` another byte into an escape.
fn edit_decoded(
    text: &mut [u8],
    escape: impl Fn(&[u8], usize) -> Option<(u8, usize)>,
    write: impl Fn(&mut [u8], u8),
    edit: impl FnOnce(&mut [u8]),
) {
    let mut decoded = Vec::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        let (byte, length) = escape(text, at).unwrap_or((text[at], 1));
        decoded.push(byte);
        at += length;
    }
    edit(&mut decoded);
    at = 0;
    for byte in decoded {
        let (original, length) = escape(text, at).unwrap_or((byte, 1));
        if length == 1 {
            text[at] = byte;
        } else if byte != original {
            write(&mut text[at..at + length], byte);
        }
        at += length;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_stay_escapes() {
        let mut text = *b"a%2fb%C3%A9%zz%";
        edit_escaped(&mut text, |decoded| {
            assert_eq!(decoded, b"a/b\xc3\xa9%zz%");
            decoded.copy_from_slice(b"c/d\xc3\xa8%yy%");
        });
        assert_eq!(&text, b"c%2fd%C3%A8%yy%");
    }
}
