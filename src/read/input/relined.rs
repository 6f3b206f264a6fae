//! JSON Lines in another form: in UTF-16, with objects that span lines, or as a list of objects.
//!
//! A source in such a form is opened once more, and read as the lines that it stands for. The number of a line is
//! then the number of its object.

use std::io::{self, Read};

use serde::de::IgnoredAny;

use super::discover::Source;
use super::skim::first_value;

/// Bytes read at a time.
const ROOM: usize = 32 * 1024;

/// Other form of JSON Lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// UTF-16, the lower byte first.
    LittleEndian,
    /// UTF-16, the higher byte first.
    BigEndian,
    /// Objects that span lines.
    Objects,
    /// Objects of a list.
    List,
}

impl Form {
    /// Form that the beginning of a file shows; a list is one only if its reader asks for it.
    pub(super) fn of(beginning: &[u8]) -> Option<Self> {
        match beginning {
            [0xff, 0xfe, ..] | [b'{', 0, _, 0, ..] => Some(Self::LittleEndian),
            [0xfe, 0xff, ..] | [0, b'{', 0, _, ..] => Some(Self::BigEndian),
            [b'{', b'\r' | b'\n', ..] => are_several(beginning).then_some(Self::Objects),
            _ => None,
        }
    }

    /// Source in this form as lines.
    ///
    /// # Errors
    /// The source cannot be opened once more.
    pub(super) fn open(self, source: &Source) -> io::Result<Box<dyn Read + Send>> {
        let source = source.open()?;
        Ok(match self {
            Self::LittleEndian => Box::new(Rewritten::new(source, Wide::new(u16::from_le_bytes))),
            Self::BigEndian => Box::new(Rewritten::new(source, Wide::new(u16::from_be_bytes))),
            Self::Objects => Box::new(Rewritten::new(source, Spanning::default())),
            Self::List => {
                Box::new(Rewritten::new(source, Spanning { is_list: true, ..Spanning::default() }))
            }
        })
    }
}

/// Returns true if another object follows the first one: a single object is a document with a reader of its own.
fn are_several(beginning: &[u8]) -> bool {
    let valid = beginning.utf8_chunks().next().map_or("", |chunk| chunk.valid());
    let rest = first_value::<IgnoredAny>(valid).map(|(_, end)| valid[end..].trim_start());
    rest.is_ok_and(|rest| rest.starts_with('{'))
}

/// Change of a text, byte by byte.
trait Rewrite {
    /// Adds what a byte becomes.
    fn byte(&mut self, byte: u8, text: &mut Vec<u8>);
}

/// Reader of a changed text.
struct Rewritten<R, W> {
    source: R,
    rewrite: W,
    text: Vec<u8>,
    /// Number of bytes of `text` that were passed on.
    passed: usize,
    room: Box<[u8]>,
}

impl<R: Read, W: Rewrite> Rewritten<R, W> {
    fn new(source: R, rewrite: W) -> Self {
        Self { source, rewrite, text: Vec::new(), passed: 0, room: vec![0; ROOM].into() }
    }
}

impl<R: Read, W: Rewrite> Read for Rewritten<R, W> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.passed == self.text.len() {
            self.text.clear();
            self.passed = 0;
            let count = self.source.read(&mut self.room)?;
            if count == 0 {
                return Ok(0);
            }
            for byte in &self.room[..count] {
                self.rewrite.byte(*byte, &mut self.text);
            }
        }
        let count = (&self.text[self.passed..]).read(buffer)?;
        self.passed += count;
        Ok(count)
    }
}

/// UTF-16 as UTF-8. Half a character becomes the replacement character.
struct Wide {
    unit: fn([u8; 2]) -> u16,
    /// First byte of a unit.
    first: Option<u8>,
    /// First unit of a pair.
    high: Option<u16>,
}

impl Wide {
    fn new(unit: fn([u8; 2]) -> u16) -> Self {
        Self { unit, first: None, high: None }
    }
}

impl Rewrite for Wide {
    fn byte(&mut self, byte: u8, text: &mut Vec<u8>) {
        let Some(first) = self.first.take() else {
            self.first = Some(byte);
            return;
        };
        let unit = (self.unit)([first, byte]);
        let high = self.high.take();
        if high.is_none() && matches!(unit, 0xd800..0xdc00) {
            self.high = Some(unit);
            return;
        }
        for one in char::decode_utf16(high.into_iter().chain([unit])) {
            let one = one.unwrap_or(char::REPLACEMENT_CHARACTER);
            text.extend_from_slice(one.encode_utf8(&mut [0; 4]).as_bytes());
        }
    }
}

/// Objects that span lines, each on a line of its own.
#[derive(Default)]
struct Spanning {
    is_list: bool,
    /// Number of lists and objects around the next byte, without the list itself.
    depth: u64,
    in_string: bool,
    /// True behind a backslash in a string.
    is_escaped: bool,
}

impl Rewrite for Spanning {
    fn byte(&mut self, byte: u8, text: &mut Vec<u8>) {
        if self.in_string {
            text.push(byte);
            self.in_string = self.is_escaped || byte != b'"';
            self.is_escaped = !self.is_escaped && byte == b'\\';
            return;
        }
        match byte {
            // White space between tokens has no meaning, and would end the line.
            b' ' | b'\t' | b'\r' | b'\n' => return,
            b'[' | b']' | b',' if self.is_list && self.depth == 0 => return,
            b'"' => self.in_string = true,
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        text.push(byte);
        if self.depth == 0 && matches!(byte, b'}' | b']') {
            text.push(b'\n');
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    fn lines(form: Form, bytes: &[u8]) -> String {
        let mut text = String::new();
        let source = Source::in_memory("a.jsonl", bytes);
        form.open(&source).expect("memory").read_to_string(&mut text).expect("UTF-8");
        text
    }

    #[test]
    fn forms_are_known_by_their_beginning() {
        let cases: [(&[u8], Option<Form>); 9] = [
            (b"{\"a\":1}\n{\"a\":2}\n", None),
            (b"{\n \"a\": 1\n}\n{\n \"a\": 2\n}\n", Some(Form::Objects)),
            (b"{\r\n\"a\": \"}\\n{\"\r\n}\r\n{}", Some(Form::Objects)),
            // A document of one object, and one that is damaged.
            (b"{\n \"a\": 1\n}\n", None),
            (b"{\n \"a\": 1 2\n}\n{}", None),
            (b"{\0\"\0a\0", Some(Form::LittleEndian)),
            (b"\xff\xfe{\0", Some(Form::LittleEndian)),
            (b"\xfe\xff\0{", Some(Form::BigEndian)),
            // Zeros that a crash left.
            (b"\0{\"a\":1}", None),
        ];
        for (bytes, form) in cases {
            assert_eq!(Form::of(bytes), form, "{}", bytes.escape_ascii());
        }
    }

    #[test]
    fn objects_of_a_list_are_lines() {
        let list = b"[{\"a\": [1, {}]},{\"b\":\"] , [\\\"\"}\n,\n {\"c\": []}]\n";
        let expected = "{\"a\":[1,{}]}\n{\"b\":\"] , [\\\"\"}\n{\"c\":[]}\n";
        assert_eq!(lines(Form::List, list), expected);
    }

    fn lines_of(objects: &[Value], write: fn(&Value) -> String) -> String {
        objects.iter().flat_map(|one| [write(one), "\n".to_owned()]).collect()
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            "[\"\\\\{}\\[\\], \n\u{1f980}a]{0,6}".prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 20, 4, |inner| {
            prop::collection::vec(inner, 0..4).prop_map(Value::from)
        })
    }

    proptest! {
        #[test]
        fn each_form_has_the_lines_of_its_objects(values in prop::collection::vec(value(), 1..6)) {
            let objects: Vec<_> = values.iter().map(|a| serde_json::json!({ "a": a })).collect();
            let plain = lines_of(&objects, |one| format!("{one}"));
            let pretty = lines_of(&objects, |one| format!("{one:#}"));
            prop_assert_eq!(lines(Form::Objects, pretty.as_bytes()), plain.clone());
            let list = format!("{:#}", Value::from(objects.clone()));
            prop_assert_eq!(lines(Form::List, list.as_bytes()), plain.clone());
            let units = || plain.encode_utf16();
            let little: Vec<u8> = units().flat_map(u16::to_le_bytes).collect();
            prop_assert_eq!(lines(Form::LittleEndian, &little), plain.clone());
            let big: Vec<u8> = units().flat_map(u16::to_be_bytes).collect();
            prop_assert_eq!(lines(Form::BigEndian, &big), plain.clone());
            prop_assert_eq!(Form::of(plain.as_bytes()), None);
            prop_assert_eq!(Form::of(&little), Some(Form::LittleEndian));
            prop_assert_eq!(Form::of(&big), Some(Form::BigEndian));
        }
    }
}
