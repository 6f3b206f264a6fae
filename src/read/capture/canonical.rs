//! Canonical bytes of a block, from which prefix identity and `--tokens bytes:N` are made.
//!
//! They are the block's JSON without white space outside of strings, keys in the order received,
//! numbers as written, and strings as UTF-8 with only `"`, `\` and control characters
//! escaped (`\b \f \n \r \t`, else `\u00xx` in lower case). A `cache_control` and a `cache_reference` of
//! the block itself are left out: a marker and a name for later deletions are no content, and neither is a
//! marker under another name. So is an `is_error` that is false, of which nothing is written into a prompt: results
//! with it and without it have the same number of tokens (`docs/accuracy.md`). Half a surrogate pair, which UTF-8
//! cannot hold, keeps its escape.

use crate::read::input::{Escaped, escape};

/// Deepest nesting of JSON. No API request comes near it.
pub(super) const DEEPEST_NESTING: usize = 128;

/// Members of a block that are no content.
const NO_CONTENT: [&[u8]; 2] = [b"\"cache_control\"", b"\"cache_reference\""];

/// Member of a result that says the same as its absence.
const NO_ERROR: &[u8] = b"\"is_error\":false";

/// Member of a block that holds other blocks.
const CONTENT: &[u8] = b"\"content\":[";

/// Error of a value that is nested more deeply than [`DEEPEST_NESTING`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooDeep;

/// Appends the canonical bytes of a JSON value, which has to be valid, to `out`.
///
/// # Errors
/// [`TooDeep`]; `out` is then useless.
pub(super) fn write_canonical(json: &str, out: &mut Vec<u8>) -> Result<(), TooDeep> {
    write_block(json, out).map(drop)
}

/// Appends the canonical bytes of a block. Returns true if it, or a block inside it, has a marker under another name.
///
/// # Errors
/// As of [`write_canonical`].
pub(super) fn write_block(json: &str, out: &mut Vec<u8>) -> Result<bool, TooDeep> {
    let (json, open) = (json.as_bytes(), Vec::new());
    let (member, before, is_misspelled) = (0, (0, false), false);
    Writer { json, position: 0, out, open, dropped: None, member, before, is_misspelled }.run()
}

/// Returns true for a name, with its quotes or without, that a marker does not have and that reads like its own:
/// `cacheControl`, `Cache-Control`.
pub(super) fn is_misspelled(name: &[u8]) -> bool {
    let letters = name.iter().filter(|byte| byte.is_ascii_alphanumeric());
    letters.map(u8::to_ascii_lowercase).eq(*b"cachecontrol")
        && name != NO_CONTENT[0]
        && name != b"cache_control"
}

/// Appends the canonical bytes of a string value as one text block.
pub(super) fn write_text_block(json_string: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(br#"{"type":"text","text":"#);
    let text = json_string.trim().as_bytes();
    write_string(text, out);
    out.push(b'}');
}

/// Object or array that has begun.
#[derive(Clone, Copy)]
struct Open {
    is_object: bool,
    is_empty: bool,
    /// True if the next string is a key.
    awaits_key: bool,
}

struct Writer<'a> {
    json: &'a [u8],
    position: usize,
    out: &'a mut Vec<u8>,
    open: Vec<Open>,
    /// End of the output before a member that is left out, and true if it was the first.
    dropped: Option<(usize, bool)>,
    /// Beginning of the latest name of the block itself in the output.
    member: usize,
    /// End of the output before that member, and true if it was the first.
    before: (usize, bool),
    is_misspelled: bool,
}

impl Writer<'_> {
    fn run(mut self) -> Result<bool, TooDeep> {
        while let Some(byte) = self.json.get(self.position).copied() {
            match byte {
                b' ' | b'\t' | b'\n' | b'\r' => self.position += 1,
                b'{' | b'[' => self.begin(byte)?,
                b'}' | b']' => self.end(byte),
                b',' => {
                    self.position += 1;
                    if let Some(open) = self.open.last_mut() {
                        open.awaits_key = open.is_object;
                    }
                }
                b':' => {
                    self.position += 1;
                    self.out.push(b':');
                }
                b'"' => self.string(),
                _ => self.scalar(),
            }
        }
        Ok(self.is_misspelled)
    }

    /// Writes the comma in front of a member or an element that is not the first.
    fn separate(&mut self) {
        if let Some(open) = self.open.last_mut() {
            if !open.is_empty {
                self.out.push(b',');
            }
            open.is_empty = false;
        }
    }

    fn begin_value(&mut self) {
        if self.open.last().is_some_and(|open| !open.is_object) {
            self.separate();
        }
    }

    fn end_value(&mut self) {
        // Members are left out of the block itself, not of objects in it.
        if self.open.len() != 1 {
            return;
        }
        if let Some((end, is_first)) = self.dropped.take() {
            self.out.truncate(end);
            self.open[0].is_empty = is_first;
        }
    }

    fn begin(&mut self, byte: u8) -> Result<(), TooDeep> {
        if self.open.len() == DEEPEST_NESTING {
            return Err(TooDeep);
        }
        self.begin_value();
        let is_object = byte == b'{';
        self.open.push(Open { is_object, is_empty: true, awaits_key: is_object });
        self.out.push(byte);
        self.position += 1;
        Ok(())
    }

    fn end(&mut self, byte: u8) {
        self.open.pop();
        self.out.push(byte);
        self.position += 1;
        self.end_value();
    }

    fn string(&mut self) {
        let is_key = self.open.last().is_some_and(|open| open.awaits_key);
        if is_key {
            self.key();
        } else {
            self.begin_value();
            self.position += write_string(&self.json[self.position..], self.out);
            self.end_value();
        }
    }

    fn key(&mut self) {
        let before = (self.out.len(), self.open.last().is_some_and(|open| open.is_empty));
        self.separate();
        let start = self.out.len();
        self.position += write_string(&self.json[self.position..], self.out);
        let is_own = self.open.len() == 1;
        if is_own {
            (self.member, self.before) = (start, before);
        }
        // Inside a block of `content`, and not inside an input.
        let is_inside = || self.open.len() == 3 && self.out[self.member..].starts_with(CONTENT);
        let is_misspelled = (is_own || is_inside()) && is_misspelled(&self.out[start..]);
        self.is_misspelled |= is_misspelled;
        if is_own && (is_misspelled || NO_CONTENT.contains(&&self.out[start..])) {
            self.dropped = Some(before);
        }
        if let Some(open) = self.open.last_mut() {
            open.awaits_key = false;
        }
    }

    fn scalar(&mut self) {
        self.begin_value();
        let rest = &self.json[self.position..];
        let is_end = |byte: &u8| matches!(byte, b',' | b'}' | b']' | b' ' | b'\t' | b'\n' | b'\r');
        let length = rest.iter().position(is_end).unwrap_or(rest.len());
        self.out.extend_from_slice(&rest[..length]);
        self.position += length;
        if self.open.len() == 1 && self.out[self.member..] == *NO_ERROR {
            self.dropped = Some(self.before);
        }
        self.end_value();
    }
}

/// Writes the string at the beginning of `json`, quotes included, and returns its length there.
fn write_string(json: &[u8], out: &mut Vec<u8>) -> usize {
    out.push(b'"');
    let mut position = 1;
    while let Some(found) = memchr::memchr2(b'"', b'\\', &json[position..]) {
        out.extend_from_slice(&json[position..position + found]);
        position += found;
        if json[position] == b'"' {
            out.push(b'"');
            return position + 1;
        }
        position += write_escape(&json[position..], out);
    }
    // Only invalid JSON lacks a closing quote.
    json.len()
}

/// Writes the character of an escape, and returns the length of the escape. Of characters that need one, it is the
/// shortest; a slash needs none.
fn write_escape(json: &[u8], out: &mut Vec<u8>) -> usize {
    // Only invalid JSON has other escapes.
    let Some((escaped, length)) = escape(json) else { return json.len().min(2) };
    match escaped {
        Escaped::Character(character) => write_character(character, out),
        Escaped::Half(unit) => write_escaped(unit, out),
    }
    length
}

fn write_character(character: char, out: &mut Vec<u8>) {
    match character {
        '"' => out.extend_from_slice(br#"\""#),
        '\\' => out.extend_from_slice(br"\\"),
        '\u{8}' => out.extend_from_slice(br"\b"),
        '\u{c}' => out.extend_from_slice(br"\f"),
        '\n' => out.extend_from_slice(br"\n"),
        '\r' => out.extend_from_slice(br"\r"),
        '\t' => out.extend_from_slice(br"\t"),
        '\0'..='\u{1f}' => write_escaped(u32::from(character), out),
        _ => {
            let mut buffer = [0; 4];
            out.extend_from_slice(character.encode_utf8(&mut buffer).as_bytes());
        }
    }
}

fn write_escaped(code: u32, out: &mut Vec<u8>) {
    out.extend_from_slice(format!("\\u{code:04x}").as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canonical(json: &str) -> String {
        let mut out = Vec::new();
        write_canonical(json, &mut out).expect("not too deep");
        String::from_utf8(out).expect("UTF-8")
    }

    #[test]
    fn white_space_goes_and_order_and_numbers_stay() {
        let json = " { \"b\" : [ 1.50 , -0e1 , true , null , { } , [ ] ] ,\n\t\"a\" : \"x y\" } ";
        assert_eq!(canonical(json), r#"{"b":[1.50,-0e1,true,null,{},[]],"a":"x y"}"#);
    }

    #[test]
    fn only_what_must_be_escaped_is() {
        let json = r#""\u0041\/\u00e9\ud83d\ude00\u0022\u005c\u0008\u000C\u000a\u001F\u007f\t""#;
        assert_eq!(canonical(json), "\"A/é😀\\\"\\\\\\b\\f\\n\\u001f\u{7f}\\t\"");
    }

    #[test]
    fn a_marker_under_another_name_is_one_of_a_block() {
        let is_misspelled = |json: &str| write_block(json, &mut Vec::new()) == Ok(true);
        for json in [
            r#"{"cacheControl":{"type":"ephemeral"}}"#,
            r#"{"a":1,"Cache-Control":{}}"#,
            r#"{"type":"tool_result","content":[{"a":1},{"CACHE_CONTROL":{}}]}"#,
        ] {
            assert!(is_misspelled(json), "{json}");
        }
        for json in [
            r#"{"cache_control":{},"content":[{"cache_control":{}}]}"#,
            r#"{"content":[],"input":{"cacheControl":1}}"#,
            r#"{"content":[],"input":[{"cacheControl":1}]}"#,
            r#"{"content":"cacheControl"}"#,
        ] {
            assert!(!is_misspelled(json), "{json}");
        }
        assert_eq!(canonical(r#"{"cacheControl":{},"a":1}"#), r#"{"a":1}"#);
    }

    #[test]
    fn half_a_pair_keeps_its_escape() {
        assert_eq!(canonical(r#""\uD83D x \uDE00\uD83D\u0041""#), r#""\ud83d x \ude00\ud83dA""#);
    }

    #[test]
    fn the_blocks_own_marker_is_left_out_wherever_it_stands() {
        let marker = r#""cache_control":{"type":"ephemeral","x":[{}]}"#;
        for (json, expected) in [
            (format!(r#"{{{marker},"a":1}}"#), r#"{"a":1}"#),
            (format!(r#"{{"a":1,{marker}}}"#), r#"{"a":1}"#),
            (format!(r#"{{"a":1,{marker},"b":2}}"#), r#"{"a":1,"b":2}"#),
            (format!("{{{marker}}}"), "{}"),
            (r#"{"cache\u005fcontrol":null,"a":1}"#.to_owned(), r#"{"a":1}"#),
            (r#"{"a":{"cache_control":1}}"#.to_owned(), r#"{"a":{"cache_control":1}}"#),
            (r#"["cache_control",1]"#.to_owned(), r#"["cache_control",1]"#),
            (format!(r#"{{"cache_reference":"t",{marker},"a":1}}"#), r#"{"a":1}"#),
            (r#"{"is_error" : false,"a":1}"#.to_owned(), r#"{"a":1}"#),
            (r#"{"a":1,"is_error":true}"#.to_owned(), r#"{"a":1,"is_error":true}"#),
            (r#"{"a":{"is_error":false}}"#.to_owned(), r#"{"a":{"is_error":false}}"#),
        ] {
            assert_eq!(canonical(&json), expected, "{json}");
        }
    }

    #[test]
    fn a_string_is_one_text_block() {
        let mut out = Vec::new();
        write_text_block(r#""a\u000ab""#, &mut out);
        assert_eq!(out, br#"{"type":"text","text":"a\nb"}"#);
    }

    #[test]
    fn deep_nesting_is_refused() {
        let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        let mut out = Vec::new();
        assert_eq!(write_canonical(&nested(128), &mut out), Ok(()));
        assert_eq!(write_canonical(&nested(129), &mut out), Err(TooDeep));
    }
}
