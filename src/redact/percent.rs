//! Percent escapes, in addresses and in names of folders that are made of paths.

/// Byte of the escape at a position, if there is one.
pub(super) fn escape_at(text: &[u8], at: usize) -> Option<u8> {
    let [b'%', digits @ ..] = text.get(at..at + 3)? else { return None };
    let digits = digits.iter().map(|digit| char::from(*digit).to_digit(16));
    let byte = digits.reduce(|high, low| Some(high? * 16 + low?))??;
    u8::try_from(byte).ok()
}

/// Lets `edit` replace a text with decoded escapes, each character by one of the same length, and writes the
/// result back with the same escapes.
pub(super) fn edit_escaped(text: &mut [u8], edit: impl FnOnce(&mut [u8])) {
    if memchr::memchr(b'%', text).is_none() {
        return edit(text);
    }
    let mut decoded = Vec::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        let escaped = escape_at(text, at);
        decoded.push(escaped.unwrap_or(text[at]));
        at += if escaped.is_some() { 3 } else { 1 };
    }
    edit(&mut decoded);
    at = 0;
    for byte in decoded {
        let Some(original) = escape_at(text, at) else {
            text[at] = byte;
            at += 1;
            continue;
        };
        if byte != original {
            let is_small = text[at..at + 3].iter().any(u8::is_ascii_lowercase);
            let written = if is_small { format!("%{byte:02x}") } else { format!("%{byte:02X}") };
            text[at..at + 3].copy_from_slice(written.as_bytes());
        }
        at += 3;
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
