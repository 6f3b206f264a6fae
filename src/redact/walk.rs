//! Walk through the lines of a source, byte by byte. Structure stays, and every string, number and
//! bare word goes to the scribe with the kind of its field.
//!
//! Nothing is parsed into a tree and nothing has to be valid. A line that ends in the middle, or is
//! not JSON at all, is walked through like any other, and fails to parse in the same place
//! afterwards.

use std::io;
use std::io::{BufRead, BufReader, Read};

use super::Extent;
use super::fields::{ATTRIBUTE, ATTRIBUTES, VALUE};
use super::scribe::{Scribe, decoded_text};
use super::shape::{FREE, Field, Shape};
use crate::read::input::{CHUNK, LONGEST_LINE, Source};

/// Depth of the deepest values with known fields. No line that readers accept is nested so deeply.
const DEEPEST: usize = 256;

/// Literals of JSON. Text that begins like one stays for as long as it matches.
const LITERALS: [&[u8]; 3] = [b"true", b"false", b"null"];

/// Object or list that is not closed yet.
struct Open {
    is_object: bool,
    awaits_key: bool,
    /// True if a value may come next: after a name, and in a list after its beginning or a comma. A value
    /// elsewhere is not JSON and belongs to no field.
    awaits_value: bool,
    /// Known names of the object.
    shape: &'static Shape,
    /// Kind of the next value: by the name that was read, or of each element.
    field: Field,
    /// Kind of the value of an attribute, as soon as its key is known.
    told: Option<Field>,
}

/// Objects and lists that are open at the position of a walk.
#[derive(Default)]
pub(super) struct Nesting {
    open: Vec<Open>,
    /// Number of open values below the deepest level.
    beyond: usize,
}

impl Open {
    /// Kind of the value that begins here.
    fn take_field(&mut self) -> Field {
        let field = if self.awaits_value { self.field } else { Field::Free };
        self.awaits_value = false;
        field
    }
}

impl Nesting {
    /// Innermost open value, or `None` outside of every value and below the deepest level.
    fn innermost(&mut self) -> Option<&mut Open> {
        if self.beyond > 0 { None } else { self.open.last_mut() }
    }
}

struct Walk<'w, 's> {
    bytes: &'w mut [u8],
    at: usize,
    nesting: &'w mut Nesting,
    top: Field,
    scribe: &'w mut Scribe<'s>,
}

/// Walks through JSON values. The outermost are of the kind `top`.
pub(super) fn walk(bytes: &mut [u8], top: Field, scribe: &mut Scribe<'_>) {
    walk_on(bytes, top, &mut Nesting::default(), scribe);
}

/// Walks through the next line of a value. No string continues after the end of a line.
pub(super) fn walk_on(
    bytes: &mut [u8],
    top: Field,
    nesting: &mut Nesting,
    scribe: &mut Scribe<'_>,
) {
    Walk { bytes, at: 0, nesting, top, scribe }.run();
}

impl Walk<'_, '_> {
    fn run(&mut self) {
        while let Some(byte) = self.bytes.get(self.at).copied() {
            match byte {
                b'{' | b'[' => self.begin(byte == b'{'),
                b'}' | b']' => self.end(),
                b',' => self.next_member(),
                b'"' => self.string(),
                // A colon changes no state: the name before it has set the field.
                b' ' | b'\t' | b'\r' | b'\n' | b':' => self.at += 1,
                _ => self.bare(),
            }
        }
    }

    /// Kind of the value that begins here.
    fn take_field(&mut self) -> Field {
        let outside = self.outside();
        self.nesting.innermost().map_or(outside, Open::take_field)
    }

    /// Kind of a value without an innermost open one.
    fn outside(&self) -> Field {
        if self.nesting.beyond > 0 { Field::Free } else { self.top }
    }

    fn begin(&mut self, is_object: bool) {
        self.at += 1;
        if self.nesting.open.len() == DEEPEST {
            self.nesting.beyond += 1;
            return;
        }
        let held = self.take_field();
        let is_value = |open: &&Open| [&ATTRIBUTE, &ATTRIBUTES].contains(&open.shape);
        let told = self.nesting.open.last().filter(is_value).map(|_| held);
        let shape = match told {
            _ if !is_object => &FREE,
            Some(_) => &VALUE,
            None => held.shape(),
        };
        let field = match held {
            _ if is_object => Field::Free,
            Field::Attributes => Field::Shaped(&ATTRIBUTE),
            // The elements of a list hold what the list's field does.
            held => held,
        };
        self.nesting.open.push(Open {
            is_object,
            awaits_key: is_object,
            awaits_value: !is_object,
            shape,
            field,
            told,
        });
    }

    fn end(&mut self) {
        self.at += 1;
        if self.nesting.beyond > 0 {
            self.nesting.beyond -= 1;
        } else {
            self.nesting.open.pop();
        }
    }

    fn next_member(&mut self) {
        self.at += 1;
        if let Some(open) = self.nesting.innermost() {
            open.awaits_key = open.is_object;
            open.awaits_value = !open.is_object;
        }
    }

    fn string(&mut self) {
        let start = self.at + 1;
        let length = literal_length(&self.bytes[start..]);
        self.at = (start + length + 1).min(self.bytes.len());
        let outside = self.outside();
        let (front, rest) = self.bytes.split_at_mut(self.at);
        let literal = &mut front[start..start + length];
        let Some(open) = self.nesting.innermost() else {
            return self.scribe.string(literal, outside);
        };
        if open.awaits_key {
            open.awaits_key = false;
            open.awaits_value = true;
            open.field = match self.scribe.name(literal, open.shape) {
                Field::Told => open.told.unwrap_or_else(|| told_after(rest, open.shape)),
                field => field,
            };
            return;
        }
        if !open.is_object && rest.trim_ascii_start().starts_with(b":") {
            // The end of the list is missing: the names after it would be taken for elements.
            open.field = Field::Free;
        }
        match open.take_field() {
            Field::Key(names) => open.told = Some(self.scribe.name(literal, names)),
            field => self.scribe.string(literal, field),
        }
    }

    /// Handles a number, a literal, or text that is not JSON.
    fn bare(&mut self) {
        let rest = &self.bytes[self.at..];
        let is_end = |byte: &u8| {
            matches!(
                byte,
                b'{' | b'}' | b'[' | b']' | b',' | b'"' | b':' | b' ' | b'\t' | b'\r' | b'\n'
            )
        };
        let length = rest.iter().position(is_end).unwrap_or(rest.len());
        let field = self.take_field();
        let word = &mut self.bytes[self.at..self.at + length];
        self.at += length;
        let digits = number_length(word);
        let (number, text) = word.split_at_mut(digits);
        // Digits with text after them are not a JSON number, so they do not stay.
        if !field.keeps_numbers() || !text.is_empty() {
            self.scribe.number(number);
        }
        let kept = LITERALS.iter().map(|literal| common_start(literal, text)).max().unwrap_or(0);
        // No literal continues a number.
        let kept = if digits == 0 { kept } else { 0 };
        self.scribe.bare(&mut text[kept..]);
    }
}

fn common_start(one: &[u8], other: &[u8]) -> usize {
    one.iter().zip(other).take_while(|(one, other)| one == other).count()
}

/// Length of the number, or of the beginning of one, that a word starts with.
fn number_length(word: &[u8]) -> usize {
    let is_of_number = |byte: &u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
    if !matches!(word.first(), Some(b'0'..=b'9' | b'-')) {
        return 0;
    }
    word.iter().take_while(|byte| is_of_number(byte)).count()
}

/// Kind of the value of an attribute whose key comes after it, searched for to the end of the line.
fn told_after(rest: &[u8], shape: &Shape) -> Field {
    let keys = shape.fields.iter().find_map(|(field, names)| match field {
        Field::Key(values) => Some((*values, names[0])),
        _ => None,
    });
    let Some((values, key)) = keys else { return Field::Free };
    let (mut at, mut depth, mut is_key) = (0, 0_usize, false);
    while let Some(byte) = rest.get(at) {
        at += 1;
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth == 0 => break,
            b'}' | b']' => depth -= 1,
            b'"' => {
                let length = literal_length(&rest[at..]);
                let literal = &rest[at..at + length];
                at += length + 1;
                if depth == 0 && is_key {
                    let name = decoded_text(literal);
                    return name.and_then(|name| values.field(&name)).unwrap_or(Field::Free);
                }
                let next = rest.get(at..).unwrap_or_default().trim_ascii_start();
                is_key = depth == 0 && literal == key.as_bytes() && next.starts_with(b":");
            }
            b':' | b' ' | b'\t' | b'\r' | b'\n' => {}
            _ => is_key = false,
        }
    }
    Field::Free
}

/// Length of the inside of a string that has begun.
fn literal_length(rest: &[u8]) -> usize {
    let mut at = 0;
    while let Some(found) = memchr::memchr2(b'"', b'\\', &rest[at..]) {
        at += found;
        if rest[at] == b'"' {
            return at;
        }
        at = (at + 2).min(rest.len());
    }
    rest.len()
}

/// Length in bytes of a line that no reader accepts, wherever its chunks begin.
const LIMIT: usize = LONGEST_LINE + 4 * CHUNK;

/// Piece of a source.
pub(super) enum Piece<'p> {
    /// Line, with its line end if it has one.
    Line(&'p mut [u8]),
    /// Part of a line that is too long for any reader.
    PartOfLongLine(&'p mut [u8]),
}

/// Passes on every piece of a source, and returns the amounts that were read.
///
/// # Errors
/// The source cannot be opened, or `each` fails.
pub(super) fn read_pieces(
    source: &Source,
    mut each: impl FnMut(Piece<'_>) -> io::Result<()>,
) -> io::Result<Extent> {
    let mut reader = BufReader::with_capacity(CHUNK, source.open()?);
    let mut extent = Extent::default();
    let mut line = Vec::new();
    let mut is_in_long_line = false;
    while extent.error.is_none() {
        line.clear();
        extent.error = (&mut reader).take(LIMIT as u64).read_until(b'\n', &mut line).err();
        // Bytes that were read before an error are a piece, too.
        if line.is_empty() {
            break;
        }
        extent.bytes += line.len() as u64;
        extent.lines += u64::from(!is_in_long_line);
        let is_long = line.len() == LIMIT && !line.ends_with(b"\n");
        if is_long || is_in_long_line {
            is_in_long_line = !line.ends_with(b"\n");
            each(Piece::PartOfLongLine(&mut line))?;
        } else {
            each(Piece::Line(&mut line))?;
        }
    }
    Ok(extent)
}
