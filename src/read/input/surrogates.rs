//! Halves of surrogate pairs in JSON, which stand for no character.

/// Replaces every `\uD800`–`\uDFFF` escape that is no half of a pair; `None` where there is none.
pub(crate) fn replace_lone_surrogates(text: &str) -> Option<String> {
    let mut repaired = String::new();
    let mut copied = 0;
    let mut position = 0;
    let bytes = text.as_bytes();
    while let Some(found) = memchr::memchr(b'\\', &bytes[position..]) {
        let escape = position + found;
        match surrogate_at(bytes, escape) {
            Some(Surrogate::High)
                if matches!(surrogate_at(bytes, escape + 6), Some(Surrogate::Low)) =>
            {
                position = escape + 12;
            }
            Some(_) => {
                repaired.push_str(&text[copied..escape]);
                repaired.push_str("\\ufffd");
                position = escape + 6;
                copied = position;
            }
            None => position = (escape + 2).min(bytes.len()),
        }
    }
    if copied == 0 {
        return None;
    }
    repaired.push_str(&text[copied..]);
    Some(repaired)
}

enum Surrogate {
    High,
    Low,
}

fn surrogate_at(bytes: &[u8], position: usize) -> Option<Surrogate> {
    let escape = bytes.get(position..position + 6)?;
    if !escape.starts_with(b"\\u") {
        return None;
    }
    let digits = std::str::from_utf8(&escape[2..]).ok()?;
    match u16::from_str_radix(digits, 16).ok()? {
        0xD800..=0xDBFF => Some(Surrogate::High),
        0xDC00..=0xDFFF => Some(Surrogate::Low),
        _ => None,
    }
}
