//! Bodies in base64: logs encode whatever is not text, and some text.
//!
//! An edit keeps the length of the decoded bytes, and with it the length of the encoded ones.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Beginning of an encoded event in Bedrock's binary stream.
const EVENT: &[u8] = br#""bytes":""#;

/// Least length of base64 in bytes. A shorter text may be a word that looks like base64.
const SHORTEST: usize = 16;

/// Byte that overwrites everything in a binary stream except its events.
const FILLER: u8 = 0xff;

/// Lets `edit` replace a text or the text encoded in it. The flag is true for encoded text.
pub(super) fn edit_encoded(text: &mut [u8], mut edit: impl FnMut(&mut [u8], bool)) {
    let Some(mut decoded) = decoded(text) else { return edit(text, false) };
    if std::str::from_utf8(&decoded).is_ok() {
        edit(&mut decoded, true);
    } else if memchr::memmem::find(&decoded, EVENT).is_none() || !edit_stream(&mut decoded, edit) {
        // Pictures, compressed bodies: no reader looks at them.
        decoded.fill(FILLER);
    }
    let encoded = STANDARD.encode(&decoded);
    // White space around the base64 stays.
    let start = text.len() - text.trim_ascii_start().len();
    text[start..start + encoded.len()].copy_from_slice(encoded.as_bytes());
}

fn decoded(text: &[u8]) -> Option<Vec<u8>> {
    let text = text.trim_ascii();
    if text.len() < SHORTEST {
        return None;
    }
    STANDARD.decode(text).ok()
}

/// Replaces the events of a binary stream, and fills the rest. Returns true if all could be decoded.
fn edit_stream(stream: &mut [u8], mut edit: impl FnMut(&mut [u8], bool)) -> bool {
    let mut at = 0;
    while let Some(found) = memchr::memmem::find(&stream[at..], EVENT) {
        stream[at..at + found].fill(FILLER);
        let start = at + found + EVENT.len();
        let Some(length) = memchr::memchr(b'"', &stream[start..]) else { return false };
        let Ok(mut event) = STANDARD.decode(&stream[start..start + length]) else { return false };
        edit(&mut event, true);
        let encoded = STANDARD.encode(&event);
        stream[start..start + length].copy_from_slice(encoded.as_bytes());
        at = start + length + 1;
    }
    stream[at..].fill(FILLER);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edited(text: &str) -> Vec<u8> {
        let mut bytes = text.as_bytes().to_vec();
        edit_encoded(&mut bytes, |text, _| text.make_ascii_uppercase());
        assert_eq!(bytes.len(), text.len());
        bytes
    }

    #[test]
    fn what_is_encoded_is_encoded_again() {
        let text = STANDARD.encode("{\"a\": \"some text\"}");
        assert_eq!(STANDARD.decode(edited(&text)).as_deref(), Ok(&b"{\"A\": \"SOME TEXT\"}"[..]));
        assert_eq!(edited("plain text, no base64"), b"PLAIN TEXT, NO BASE64");
        let event = STANDARD.encode("event");
        let frame = [b"\x80head{\"bytes\":\"", event.as_bytes(), b"\",\"p\":1}"];
        let after = STANDARD.decode(edited(&STANDARD.encode(frame.concat()))).expect("base64");
        assert!(memchr::memmem::find(&after, STANDARD.encode("EVENT").as_bytes()).is_some());
        assert!(memchr::memmem::find(&after, b"head").is_none());
        let picture = STANDARD.encode([0x89; 30]);
        assert_eq!(STANDARD.decode(edited(&picture)), Ok(vec![FILLER; 30]));
    }
}
