//! Identities: equal ones stay equal, in all files and in the names of files, and keep their form.

use rustc_hash::FxHashMap;

use super::key::Purpose;
use super::mapping::Mapping;
use super::vocabulary::id_kind;
use super::words::SHORTEST_WORD;

/// The length of a UUID with its hyphens.
const UUID: usize = 36;

/// Identities that are also names of files, and what these are replaced by.
#[derive(Default)]
pub(super) struct Named {
    images: FxHashMap<Vec<u8>, Vec<u8>>,
    originals: FxHashMap<Vec<u8>, Vec<u8>>,
}

impl Named {
    /// Takes in a name. Those of agents are known in lines without what stands in front of them.
    pub(super) fn add(&mut self, original: &str, image: &str) {
        self.insert(original, image);
        if let (Some(original), Some(image)) =
            (original.strip_prefix("agent-"), image.strip_prefix("agent-"))
        {
            self.insert(original, image);
        }
    }

    fn insert(&mut self, original: &str, image: &str) {
        self.images.insert(original.into(), image.into());
        self.originals.insert(image.into(), original.into());
    }
}

/// Replaces an identity in place.
pub(super) fn replace_identifier(mapping: &Mapping, named: &Named, id: &mut [u8]) {
    if let Some(image) = named.images.get(&*id).filter(|image| image.len() == id.len()) {
        return id.copy_from_slice(image);
    }
    replace_by_form(mapping, id);
    // What a file is named already is the image of what was named after that file.
    let mut steps = named.originals.len();
    while let Some(original) = named.originals.get(&*id).filter(|one| one.len() == id.len())
        && steps > 0
    {
        id.copy_from_slice(original);
        replace_by_form(mapping, id);
        steps -= 1;
    }
}

/// An id is short enough to come out without a word after a few steps; longer ones are text.
const MOST_STEPS: u32 = 1_000;

/// The longest id of hexadecimal digits: a digest of 256 bits.
const MOST_DIGITS: usize = 64;

fn replace_by_form(mapping: &Mapping, id: &mut [u8]) {
    let kind = std::str::from_utf8(id).map_or(0, id_kind);
    let rest = &mut id[kind..];
    if is_hexadecimal(rest) {
        replace_hexadecimal(mapping, rest);
        // Six letters make words, too.
        let mut steps = MOST_STEPS;
        while has_word(rest) && steps > 0 {
            replace_hexadecimal(mapping, rest);
            steps -= 1;
        }
    } else {
        mapping.text(rest);
    }
}

/// A UUID, or small hexadecimal digits of which some are digits and some letters.
fn is_hexadecimal(id: &[u8]) -> bool {
    let is_hyphen = |byte: u8| byte == b'-';
    if id.len() == UUID {
        let is_at_its_place = |(place, byte): (usize, &u8)| {
            matches!(place, 8 | 13 | 18 | 23) == is_hyphen(*byte)
                && (is_hyphen(*byte) || byte.is_ascii_hexdigit())
        };
        return id.iter().enumerate().all(is_at_its_place);
    }
    id.len() <= MOST_DIGITS
        && id.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f' | b'-'))
        && id.iter().any(u8::is_ascii_digit)
        && id.iter().any(u8::is_ascii_lowercase)
}

/// A UUID is the same in capitals, so its case is that of the whole.
fn replace_hexadecimal(mapping: &Mapping, id: &mut [u8]) {
    let is_capital = id.iter().any(u8::is_ascii_uppercase);
    let mut prefix = mapping.key.prefix(Purpose::Identifier);
    for byte in id {
        let Some(digit) = char::from(*byte).to_digit(16) else { continue };
        let step = prefix.choice() % 15 + 1;
        prefix.add(u64::from(digit));
        let image = (digit + u32::try_from(step).unwrap_or(1)) % 16;
        let image = char::from_digit(image, 16).unwrap_or('0');
        *byte = if is_capital { image.to_ascii_uppercase() as u8 } else { image as u8 };
    }
}

fn has_word(id: &[u8]) -> bool {
    let runs = id.split(|byte| !byte.is_ascii_alphabetic());
    runs.map(<[u8]>::len).any(|letters| letters >= SHORTEST_WORD as usize)
}
