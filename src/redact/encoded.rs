//! Bodies in base64, as logs have them of what is no text, and of some text.
//!
//! What was decoded keeps its length, and so does what is encoded of it again.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// What stands around the events of Bedrock's binary stream, each of which is encoded.
const EVENT: &[u8] = br#""bytes":""#;

/// Shorter text may be a word that looks like an encoded one.
const SHORTEST: usize = 16;

/// Stands for all of a binary stream that is no event.
const FILLER: u8 = 0xff;

/// Lets `edit` replace a text, or what is encoded in it, which it is told.
pub(super) fn edit_encoded(text: &mut [u8], mut edit: impl FnMut(&mut [u8], bool)) {
    let Some(mut decoded) = decoded(text) else { return edit(text, false) };
    if std::str::from_utf8(&decoded).is_ok() {
        edit(&mut decoded, true);
    } else if memchr::memmem::find(&decoded, EVENT).is_none() || !edit_stream(&mut decoded, edit) {
        // Pictures, packed bodies: no reader looks at them.
        decoded.fill(FILLER);
    }
    let encoded = STANDARD.encode(&decoded);
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

/// Replaces the events of a binary stream, and fills all around them. Says whether all could be decoded.
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
