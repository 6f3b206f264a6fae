//! Redacted copies of sessions and captures: without their text, with the same figures.
//!
//! The walk through a line is lexical (`walk.rs`), so lines keep their length and structure, and
//! damaged lines keep their damage. Letters and digits of strings are replaced (`mapping.rs`). Known
//! field names (`fields/`), by the format of the file (`outline.rs`), and known words
//! (`vocabulary.rs`) stay. Phrases that other modules look for come from these modules.
//!
//! Across all files of a run, equal strings stay equal, and different strings differ from the same
//! character on. So cache prefixes keep their lengths, and the rules give the same results.
//!
//! A run reads its sources twice: first for the key and for the words that must not appear by
//! chance, then to replace. Memory holds one line at a time.

mod encoded;
mod escapes;
mod fields;
mod key;
mod literal;
mod mapping;
mod media;
mod names;
mod outline;
mod phrases;
mod scribe;
mod shape;
mod table;
mod vocabulary;
mod walk;
mod words;

use std::io::{self, Write};

use key::KeyMaker;
use mapping::Mapping;
use names::Names;
use outline::Progress;
use scribe::{Replacer, Scratch, Scribe};
use walk::{Piece, read_pieces};
use words::{Named, Words};

pub use outline::{Outline, Recognised, as_lines};
pub use scribe::ToolNames;
pub use shape::{KeptFields, KeptObject, kept};
pub use vocabulary::allowed_words;

use crate::read::input::Source;

/// Byte that overwrites a line too long for any reader.
const FILLER: u8 = b'x';

/// First pass of a run: collects the key and the words before anything is replaced.
///
/// ```
/// use cachesim::read::input::Source;
/// use cachesim::redact::{Survey, ToolNames};
///
/// let line = br#"{"type":"user","message":{"role":"user","content":"Where is the key?"}}"#;
/// let source = Source::in_memory("session.jsonl", line);
/// let mut survey = Survey::default();
/// survey.read(&source)?;
/// let mut redacted = Vec::new();
/// survey.finish(ToolNames::Keep).write(&source, &mut redacted)?;
/// let text = String::from_utf8_lossy(&redacted);
/// assert!(text.starts_with(r#"{"type":"user","message":{"role":"user","content":""#));
/// assert!(!text.contains("Where") && redacted.len() == line.len());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Default)]
pub struct Survey {
    key: KeyMaker,
    words: Words,
    names: Names,
    scratch: Scratch,
}

/// Second pass of a run: replaces the text of the surveyed sources.
pub struct Redaction {
    replacer: Replacer,
    names: Names,
}

/// Amounts that were read of a source.
#[derive(Debug, Default)]
pub struct Extent {
    /// Number of lines. A line too long for any reader counts once.
    pub lines: u64,
    /// Bytes after decompression.
    pub bytes: u64,
    /// Strings and unknown field names of the second pass, replaced or not; 0 in a survey.
    pub strings: u64,
    /// Error that ended reading early. Everything read before counts.
    pub error: Option<io::Error>,
}

impl Survey {
    /// Reads a source in the first pass.
    ///
    /// # Errors
    /// The source cannot be opened.
    pub fn read(&mut self, source: &Source) -> io::Result<Extent> {
        self.read_as(source, Outline::of(source)?)
    }

    /// Reads a source of known outline in the first pass.
    ///
    /// # Errors
    /// The source cannot be opened.
    pub fn read_as(&mut self, source: &Source, outline: Outline) -> io::Result<Extent> {
        self.names.add(&source.label, &mut self.words);
        let mut progress = Progress::default();
        let (key, words, scratch) = (&mut self.key, &mut self.words, &mut self.scratch);
        let extent = read_pieces(source, |piece| {
            match piece {
                Piece::Line(line) => {
                    key.add(line);
                    outline.walk(line, &mut progress, &mut Scribe::Learning(words, scratch));
                }
                // Overwritten later and never mapped: only the key depends on such a line.
                Piece::PartOfLongLine(part) => key.add(part),
            }
            Ok(())
        })?;
        self.key.end_source();
        Ok(extent)
    }

    /// Builds the redaction of everything that was surveyed.
    pub fn finish(self, tool_names: ToolNames) -> Redaction {
        let key = self.key.finish();
        let mut names = self.names;
        names.replace(&key, &self.words);
        let mut named = Named::default();
        for (original, image) in names.all() {
            named.add(original, image);
        }
        let mapping = Mapping { key, words: self.words };
        Redaction { replacer: Replacer { mapping, named, tool_names }, names }
    }
}

impl Redaction {
    /// Label of a surveyed source with its words replaced. Labels keep their order, their parts and
    /// their endings.
    pub fn label(&self, label: &str) -> String {
        self.names.label(label)
    }

    /// Writes a surveyed source without its text.
    ///
    /// # Errors
    /// The source cannot be opened, or `out` fails.
    pub fn write(&self, source: &Source, out: &mut dyn Write) -> io::Result<Extent> {
        self.write_as(source, Outline::of(source)?, out)
    }

    /// Writes a surveyed source of known outline without its text.
    ///
    /// # Errors
    /// The source cannot be opened, or `out` fails.
    pub fn write_as(
        &self,
        source: &Source,
        outline: Outline,
        out: &mut dyn Write,
    ) -> io::Result<Extent> {
        let (mut scratch, mut progress) = (Scratch::default(), Progress::default());
        let extent = read_pieces(source, |piece| match piece {
            Piece::Line(line) => {
                let mut scribe = Scribe::Replacing(&self.replacer, &mut scratch);
                outline.walk(line, &mut progress, &mut scribe);
                out.write_all(line)
            }
            Piece::PartOfLongLine(part) => {
                // The line end stays, and with it the number of lines.
                let length = part.strip_suffix(b"\n").unwrap_or(part).len();
                part[..length].fill(FILLER);
                out.write_all(part)
            }
        })?;
        Ok(Extent { strings: scratch.strings, ..extent })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde::de::IgnoredAny;

    use super::*;

    pub(in crate::redact) fn redacted(line: &[u8]) -> Vec<u8> {
        let source = Source::in_memory("a.jsonl", line);
        let mut survey = Survey::default();
        survey.read(&source).expect("memory");
        let mut out = Vec::new();
        survey.finish(ToolNames::Keep).write(&source, &mut out).expect("memory");
        out
    }

    /// Place and class of the error of a text that is not JSON.
    pub(in crate::redact) fn fault(text: &[u8]) -> Option<(usize, usize, String)> {
        let error = serde_json::from_slice::<IgnoredAny>(text).err()?;
        Some((error.line(), error.column(), format!("{:?}", error.classify())))
    }

    #[test]
    fn damage_stays_the_same_damage() {
        for line in [
            r#"{"type":"user","message":{"content":"torn"#,
            r#"{"a": hello}"#,
            r#"{"a": tru"#,
            r#"{"a": nullify}"#,
            r#"{"a":"\users"}"#,
            r#"{"a":"\u00zz"}"#,
            r#"{"a":"x" "b"}"#,
            "not JSON at all, but words",
            "1e5 and 12.50",
            "]]]}",
            // These happened to continue like a literal once replaced.
            "nn1}  \"\":é é  .\"]\"2\"unfn}é]f\"",
            "nun\"{c0\":.e2{-{tf,é{",
        ] {
            let line = line.replace(r"\\", r"\").into_bytes();
            let after = redacted(&line);
            assert_eq!(fault(&after), fault(&line), "{}", String::from_utf8_lossy(&line));
        }
    }

    #[test]
    fn structure_stays_and_content_goes() {
        let line = r#"{"type":"assistant","secretKey":7,"cwd":"/home/ann/work","version":"2.1.34",
"timestamp":"2026-08-03T10:00:00Z","message":{"id":"msg_01Abcdefg","model":"claude-opus-5",
"content":[{"type":"tool_use","name":"Read","id":"toolu_1","input":{"file_path":"/home/ann/x"}}],
"usage":{"input_tokens":12,"speed":"fast"}}}"#;
        let text = String::from_utf8(redacted(line.replace('\n', "").as_bytes())).expect("text");
        for kept in [
            r#"{"type":"assistant","#,
            r#""version":"2.1.34""#,
            r#""timestamp":"2026-08-03T10:00:00Z""#,
            r#""id":"msg_"#,
            r#""model":"claude-opus-5""#,
            r#""name":"Read""#,
            r#""usage":{"input_tokens":12,"speed":"fast"}}}"#,
        ] {
            assert!(text.contains(kept), "{kept} in {text}");
        }
        for gone in ["secretKey", "home", "ann", "file_path", "Abcdefg", "toolu_1\""] {
            assert!(!text.contains(gone), "{gone} in {text}");
        }
    }

    /// A result in a system prompt has a size that follows from its `content`.
    #[test]
    fn a_system_prompt_keeps_the_fields_of_any_block() {
        let line = r#"{"request":{"model":"claude-opus-5","messages":[],"system":[{"type":"tool_result","tool_use_id":"toolu_1","content":"private"}]}}"#;
        let text = String::from_utf8(redacted(line.as_bytes())).expect("text");
        let kept = r#""system":[{"type":"tool_result","tool_use_id":"toolu_"#;
        assert!(text.contains(kept) && text.contains(r#"","content":""#), "{text}");
        assert!(!text.contains("private"), "{text}");
    }

    #[test]
    fn names_of_tools_stay_wherever_they_are_named() {
        let line = r#"{"type":"attachment","attributionMcpTool":"mcp__a__find_it","attachment":
{"type":"deferred_tools_delta","addedNames":["mcp__a__find_it"],"removedNames":["OldTool"],
"allowedTools":["ReadIt","Run(private *)"],"hookName":"PreToolUse:ReadIt"},"message":{"content":
[{"type":"tool_result","content":[{"type":"tool_reference","tool_name":"Deferred"}]},
{"type":"tool_search_tool_result","content":{"tool_references":[{"tool_name":"Searched"}]}}]}}"#;
        let text = String::from_utf8(redacted(line.replace('\n', "").as_bytes())).expect("text");
        for kept in [
            r#""attributionMcpTool":"mcp__a__find_it""#,
            r#""addedNames":["mcp__a__find_it"]"#,
            r#""removedNames":["OldTool"]"#,
            r#""allowedTools":["ReadIt","Run("#,
            r#""hookName":"PreToolUse:ReadIt""#,
            r#""tool_name":"Deferred""#,
            r#""tool_references":[{"tool_name":"Searched"}]"#,
        ] {
            assert!(text.contains(kept), "{kept} in {text}");
        }
        assert!(!text.contains("private"), "{text}");
    }

    /// With a missing quote or bracket, other names and values would appear in a list of names.
    #[test]
    fn no_word_of_a_damaged_line_is_taken_for_the_name_of_a_tool() {
        for line in [
            r#"{"attachment":{"addedNames":["x{],"content":" a{\"type\":\"user\"}b","type":"file"},"version":"Private"}"#,
            r#"{"attachment":{"addedNames":["x","version":"Private"]}}"#,
            r#"{"attachment":{"addedNames":["x","Private":"y"]}}"#,
            r#"{"attachment":{"addedNames":["x" "Private"]}}"#,
            r#"{"message":{"content":[{"type":"tool_use","name":"x" "Private"}]}}"#,
        ] {
            let text = String::from_utf8(redacted(line.as_bytes())).expect("text");
            assert!(!text.contains("Private"), "{text}");
        }
    }

    #[test]
    fn what_is_inside_strings_is_redacted_where_it_is_read() {
        let line = r#"{"request":{"url":"https://api.example.com/v1/messages?beta=true","headers":
{"anthropic-beta":"fast-mode-2026-02-01,acme-thing"},"body":{"metadata":{"user_id":
"user_00ab_account__session_5e1f0000-0000-4000-8000-000000000001"}}},"response":{"body_raw":
"event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"usage\":{\"input_tokens\":3}}}\n\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":\"private\"}}\n"}}"#;
        let text = String::from_utf8(redacted(line.replace('\n', "").as_bytes())).expect("text");
        for kept in [
            "/v1/messages?beta=true",
            "fast-mode-2026-02-01,",
            "_session_",
            r#"event: message_start\ndata: {\"type\":\"message_start\""#,
            r#"\"usage\":{\"input_tokens\":3}"#,
        ] {
            assert!(text.contains(kept), "{kept} in {text}");
        }
        for gone in ["example", "acme", "5e1f0000", "private"] {
            assert!(!text.contains(gone), "{gone} in {text}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_keep_their_lines(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let after = redacted(&bytes);
            let lengths = |bytes: &[u8]| {
                bytes.split(|byte| *byte == b'\n').map(<[u8]>::len).collect::<Vec<_>>()
            };
            prop_assert_eq!(lengths(&after), lengths(&bytes));
        }

        #[test]
        fn nearly_json_keeps_its_faults(line in r#"[{}\[\]:,"\\a-fntu0-2.e \-é]{0,40}"#) {
            let after = redacted(line.as_bytes());
            prop_assert_eq!(fault(&after), fault(line.as_bytes()), "{}", String::from_utf8_lossy(&after));
            prop_assert_eq!(&redacted(line.as_bytes()), &after);
        }
    }
}
