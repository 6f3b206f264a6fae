//! JSON that cannot control a terminal: every character that a terminal may act on is escaped.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter};

use super::is_unsafe;

/// Writes a JSON document, indented for people.
///
/// # Errors
/// Writing to `out` fails.
pub(super) fn write_document(value: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    write_value(value, PrettyFormatter::new(), out)
}

/// Document behind its format and version.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Versioned<'a, T> {
    /// Format and its version.
    schema: &'static str,
    /// Version of the program.
    tool_version: &'static str,
    #[serde(flatten)]
    document: &'a T,
}

/// Writes a document behind its format and the version of the program.
///
/// # Errors
/// Writing to `out` fails.
pub(super) fn write_versioned(
    schema: &'static str,
    document: &impl Serialize,
    out: &mut dyn Write,
) -> io::Result<()> {
    write_document(&Versioned { schema, tool_version: env!("CARGO_PKG_VERSION"), document }, out)
}

/// Writes a JSON value as one line.
///
/// # Errors
/// Writing to `out` fails.
pub(super) fn write_line(value: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    write_value(value, CompactFormatter, out)
}

fn write_value(
    value: &impl Serialize,
    formatter: impl Formatter,
    out: &mut dyn Write,
) -> io::Result<()> {
    value.serialize(&mut Serializer::with_formatter(&mut *out, Safe(formatter)))?;
    out.write_all(b"\n")
}

/// Writes a value that is already JSON as a line.
///
/// # Errors
/// Writing to `out` fails.
pub fn write_record(json: &str, out: &mut dyn Write) -> io::Result<()> {
    write_safe(json, out)?;
    out.write_all(b"\n")
}

/// Escapes every character in JSON that a terminal may act on.
///
/// Such characters occur only inside strings, apart from line breaks between values.
fn write_safe<W: Write + ?Sized>(json: &str, out: &mut W) -> io::Result<()> {
    let is_hostile = |c: char| is_unsafe(c) && c != '\n';
    // Nearly all JSON is plain, and is written at once.
    if json.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n')) || !json.contains(is_hostile) {
        return out.write_all(json.as_bytes());
    }
    for c in json.chars() {
        if is_hostile(c) {
            // JSON has 16-bit escapes: a character beyond them is a pair of surrogates.
            for unit in c.encode_utf16(&mut [0; 2]) {
                write!(out, "\\u{unit:04x}")?;
            }
        } else {
            write!(out, "{c}")?;
        }
    }
    Ok(())
}

/// Another JSON format, with its strings made safe.
struct Safe<F>(F);

impl<F: Formatter> Formatter for Safe<F> {
    fn write_string_fragment<W: Write + ?Sized>(
        &mut self,
        out: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        write_safe(fragment, out)
    }

    // These are the methods that the indented format overrides; the defaults of the others are right.
    fn begin_array<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.begin_array(out)
    }

    fn end_array<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_array(out)
    }

    fn begin_array_value<W: Write + ?Sized>(
        &mut self,
        out: &mut W,
        is_first: bool,
    ) -> io::Result<()> {
        self.0.begin_array_value(out, is_first)
    }

    fn end_array_value<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_array_value(out)
    }

    fn begin_object<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.begin_object(out)
    }

    fn end_object<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_object(out)
    }

    fn begin_object_key<W: Write + ?Sized>(
        &mut self,
        out: &mut W,
        is_first: bool,
    ) -> io::Result<()> {
        self.0.begin_object_key(out, is_first)
    }

    fn begin_object_value<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.begin_object_value(out)
    }

    fn end_object_value<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_object_value(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Escape sequences of both kinds, a mark that changes the direction of text, and plain text.
    const HOSTILE: &str = "a\u{1b}\u{9b}2J\u{202e}\u{7f}\u{e0041}é\n";

    fn written(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> String {
        let mut out = Vec::new();
        write(&mut out).expect("written");
        String::from_utf8(out).expect("UTF-8")
    }

    #[test]
    fn what_a_terminal_acts_on_is_escaped() {
        let line = written(|out| write_line(&HOSTILE, out));
        assert_eq!(line, "\"a\\u001b\\u009b2J\\u202e\\u007f\\udb40\\udc41é\\n\"\n");
        assert_eq!(serde_json::from_str::<String>(&line).expect("JSON"), HOSTILE);
        let record = written(|out| write_record("{\"a\":\"\u{9b}\"}", out));
        assert_eq!(record, "{\"a\":\"\\u009b\"}\n");
    }

    #[test]
    fn a_document_is_as_serde_json_forms_it() {
        let value = serde_json::json!({"a": [1, {"b": "c"}, []], "d": {}, "e": null});
        let expected = serde_json::to_string_pretty(&value).expect("JSON") + "\n";
        assert_eq!(written(|out| write_document(&value, out)), expected);
    }
}
