//! Outline of a file for redaction: its known fields, and its division into values.

use std::io;

use super::fields::{LINE, log_root, root};
use super::scribe::Scribe;
use super::shape::Field;
use super::table::Table;
use super::vocabulary::changes;
use super::walk::{Nesting, walk, walk_on};
use crate::read::Format;
use crate::read::agent::database::exported;
use crate::read::input::{OpenSource, Source, end_of_torn};
use crate::read::log::{LogLayout, spend_lines};

/// Kind of a file to redaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recognised {
    /// A file with known fields: it is redacted, and its figures stay.
    Known,
    /// The session of an agent or a log with unknown fields; the text names its kind for people.
    Unknown(&'static str),
    /// A JSON document found in a folder, and no session.
    NoSession,
}

impl Recognised {
    /// Kind of a source by its first lines, and the outline for a walk through it.
    ///
    /// # Errors
    /// The source cannot be opened.
    pub fn of(source: &Source) -> io::Result<(Self, Outline)> {
        let (format, begins_document) = Format::of_source(source)?;
        let outline = Outline::of_format(format, begins_document);
        Ok((Self::of_format(format, source.may_be_other), outline))
    }

    fn of_format(format: Format, may_be_other: bool) -> Self {
        match format {
            // Refused and not skipped: whoever sends a session must not miss it in the copy.
            Format::Agent(format) if format.layout.is_none() => Self::Unknown(format.file),
            Format::Log(format) if format.layout().is_none() => Self::Unknown(format.file()),
            Format::Agent(_) | Format::Log(_) => Self::Known,
            Format::Database if !may_be_other => Self::Unknown("a database of no known program"),
            _ if may_be_other => Self::NoSession,
            _ => Self::Known,
        }
    }
}

/// Rows of a database or a Parquet file as lines, since neither can be rewritten in place. `None` for a
/// source that can be rewritten, or is of no known format.
///
/// # Errors
/// The source cannot be read to its end.
pub fn as_lines(source: &Source) -> io::Result<Option<Source>> {
    // Text can be rewritten, so it need not be opened here.
    if source.begins_with_text() {
        return Ok(None);
    }
    let open = OpenSource::open(source)?;
    let lines = match open.first_lines().map(Format::of) {
        Some(Format::Database) => exported(&open)?,
        Some(Format::Log(format)) if format.layout().is_none() => Some(spend_lines(&open)?),
        _ => None,
    };
    let label = format!("{}.jsonl", source.label);
    Ok(lines.map(|lines| Source::in_memory(&label, &lines)))
}

/// Outline for a walk through a file.
#[derive(Clone, Copy)]
pub struct Outline {
    /// Kind of the outermost values.
    pub(super) top: Field,
    kind: Kind,
    /// True for a log, where marks of a gateway say that something was changed.
    is_log: bool,
}

/// Division of the lines of a file into values.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Each line is a value.
    Lines,
    /// All lines are one value.
    Document,
    /// The lines are rows below a header.
    Table,
}

/// Position of a walk through a file.
#[derive(Default)]
pub(super) struct Progress {
    nesting: Nesting,
    table: Table,
}

impl Outline {
    /// Outline of a source.
    pub(super) fn of(source: &Source) -> io::Result<Self> {
        Recognised::of(source).map(|(_, outline)| outline)
    }

    /// Outline of a format. A session with unknown fields keeps nothing but its structure.
    fn of_format(format: Format, begins_document: bool) -> Self {
        let kind = |is_document| if is_document { Kind::Document } else { Kind::Lines };
        match format {
            Format::Agent(format) => Self {
                top: format.layout.map_or(Field::Free, |layout| Field::Shaped(root(layout))),
                kind: kind((format.is_document)(begins_document)),
                is_log: false,
            },
            Format::Log(format) => Self {
                top: format.layout().map_or(Field::Free, |layout| Field::Shaped(log_root(layout))),
                kind: match format.layout() {
                    Some(LogLayout::Table) => Kind::Table,
                    Some(LogLayout::Har) => Kind::Document,
                    _ => kind(begins_document),
                },
                is_log: true,
            },
            _ => Self { top: Field::Shaped(&LINE), kind: Kind::Lines, is_log: false },
        }
    }

    /// Walks through the next line of the file.
    pub(super) fn walk(self, line: &mut [u8], progress: &mut Progress, scribe: &mut Scribe<'_>) {
        let marks = if self.is_log { marks(line) } else { Vec::new() };
        match self.kind {
            Kind::Table => progress.table.walk(line, self.top.shape(), scribe),
            Kind::Document => walk_on(line, self.top, &mut progress.nesting, scribe),
            Kind::Lines => {
                // Neither a damaged line nor the torn beginning of one may shift the nesting of what follows.
                let (torn, whole) = line.split_at_mut(end_of_torn(line));
                walk(torn, self.top, scribe);
                walk(whole, self.top, scribe);
            }
        }
        // The walk replaces these marks like any text. Readers skip bodies with one, so they are put back.
        for (at, mark) in marks {
            line[at..at + mark.len()].copy_from_slice(mark.as_bytes());
        }
    }
}

/// Positions in a line of the marks that show readers that a body is not the one that was sent.
fn marks(line: &[u8]) -> Vec<(usize, &'static str)> {
    let found = |mark: &'static str| {
        memchr::memmem::find_iter(line, mark).map(|at| (at, mark)).collect::<Vec<_>>()
    };
    changes().flat_map(found).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::read::agent::AgentFormat;
    use crate::redact::tests::{self, fault};

    fn redacted(text: &str) -> String {
        String::from_utf8(tests::redacted(text.as_bytes())).expect("text")
    }

    fn assert_holds(text: &str, kept: &[&str], gone: &[&str]) {
        for one in kept {
            assert!(text.contains(one), "{one} in {text}");
        }
        for one in gone {
            assert!(!text.contains(one), "{one} in {text}");
        }
    }

    #[test]
    fn a_task_keeps_the_usage_in_its_texts() {
        let text = redacted(
            r#"[
 {"ts":1790000000000,"type":"say","say":"text","text":"private {\"tokensIn\":7}"},
 {"ts":1790000000001,"type":"say","say":"api_req_started","text":"{\"request\":\"private\",
\"apiProtocol\":\"openai\",\"tokensIn\":38400,\"cost\":0.017,\"cancelReason\":\"private\"}",
  "modelInfo":{"providerId":"github-copilot","modelId":"gpt-5.4-acme"},"secretKey":12}
]"#
            .replace(",\n\\", ",\\")
            .as_str(),
        );
        let kept = [
            r#""ts":1790000000001,"type":"say","say":"api_req_started","text":"{\""#,
            r#"\"apiProtocol\":\"openai\",\"tokensIn\":38400,\"cost\":0.017,\""#,
            r#"\"cancelReason\":\""#,
            r#""modelInfo":{"providerId":"github-copilot","modelId":"gpt-5.4-"#,
        ];
        assert_holds(&text, &kept, &["private", "acme", "secretKey", "tokensIn\\\":7", "12"]);
    }

    #[test]
    fn a_document_is_walked_as_one_piece() {
        let text = redacted(
            r#"{
  "info": {
    "id": "ses_20b5413bcffe",
    "title": "private",
    "directory": "/home/ann"
  },
  "messages": [
    {
      "info": {
        "role": "assistant",
        "summary": true,
        "providerID": "acme-bedrock",
        "cost": 12.5,
        "tokens": {
          "input": 57,
          "cache": { "read": 40, "write": 1 }
        }
      },
      "parts": [
        { "type": "tool", "tool": "find_it", "state": { "input": { "path": "private" }, "time": { "end": 5 } } }
      ]
    }
  ]
}"#,
        );
        let kept = [
            r#""id": "ses_"#,
            r#""role": "assistant""#,
            r#""summary": true"#,
            r#"-bedrock""#,
            r#""input": 57"#,
            r#"{ "read": 40, "write": 1 }"#,
            r#""tool": "find_it", "state": {"#,
            r#""time": { "end": 5 }"#,
        ];
        assert_holds(&text, &kept, &["private", "title", "acme", "cost", "12.5", "path", "ann\""]);
    }

    #[test]
    fn names_of_models_stay_where_they_are_names_of_fields() {
        let text = redacted(
            r#"{"type":"session.start","id":"e1","timestamp":"2026-10-01T09:00:00Z","data":{"producer":"copilot-agent"}}
{"type":"session.shutdown","data":{"modelMetrics":{"claude-opus-5":{"requests":{"count":3},"usage":{"inputTokens":9},"cost":{"count":4}},"acme-x":{}}}}
{"type":"session.info","data":{"message":"private"}}"#,
        );
        let kept = [
            r#""data":{"producer":"copilot-agent"}"#,
            r#"{"claude-opus-5":{"requests":{"count":3},"usage":{"inputTokens":9},""#,
        ];
        assert_holds(&text, &kept, &["acme", "cost", "private", "session.info"]);
    }

    #[test]
    fn a_client_may_tell_that_a_history_was_shortened() {
        let text = redacted(
            r#"{"sessionId":"s","projectHash":"p","startTime":"2026-10-01T09:00:00Z"}
{"id":"m","type":"info","content":"Chat history compressed from 9 to 5 private tokens."}
{"$rewindTo":"m"}"#,
        );
        assert_holds(
            &text,
            &[" compressed from ", r#"{"$rewindTo":"#],
            &["Chat", "private", " 9 to"],
        );
    }

    /// A format unknown to redaction.
    static NEW: AgentFormat = AgentFormat {
        recognises: |_| true,
        file: "a new session",
        layout: None,
        is_document: |_| false,
        read: |_| unreachable!("it is not read"),
    };

    #[test]
    fn sessions_are_never_passed_over() {
        for may_be_other in [false, true] {
            let new = Recognised::of_format(Format::Agent(&NEW), may_be_other);
            assert_eq!(new, Recognised::Unknown("a new session"));
        }
        assert_eq!(Recognised::of_format(Format::Transcript, true), Recognised::NoSession);
        assert_eq!(Recognised::of_format(Format::Transcript, false), Recognised::Known);
    }

    proptest! {
        #[test]
        fn documents_keep_their_faults(rest in r#"[{}\[\]:,"\\a-fntu0-2.e \-é\n]{0,60}"#) {
            let text = format!("[\n{{\"ts\":1,\"type\":\"say\",\"say\":\"text\"}},\n{rest}");
            let after = redacted(&text);
            prop_assert_eq!(after.len(), text.len());
            prop_assert_eq!(fault(after.as_bytes()), fault(text.as_bytes()), "{}", after);
        }
    }
}
