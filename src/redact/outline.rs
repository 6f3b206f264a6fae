//! What a file is to redaction: whose fields it has, and whether it is one value.

use std::io;

use super::fields::{LINE, root};
use super::scribe::Scribe;
use super::shape::Field;
use super::walk::{Nesting, walk_on};
use crate::read::Format;
use crate::read::input::Source;

/// What redaction makes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recognised {
    /// It is redacted, and its figures stay.
    Known,
    /// It is the session of an agent or a log whose fields are not known: what it is, for people.
    Unknown(&'static str),
    /// It is a JSON document of a folder's, and no session.
    NoSession,
}

impl Recognised {
    /// What a source is, by its first lines.
    ///
    /// # Errors
    /// The source cannot be opened.
    pub fn of(source: &Source) -> io::Result<Self> {
        let (format, _) = Format::of_source(source)?;
        Ok(Self::of_format(format, source.may_be_other))
    }

    fn of_format(format: Format, may_be_other: bool) -> Self {
        match format {
            Format::Agent(format) if format.layout().is_none() => Self::Unknown(format.file()),
            Format::Agent(_) => Self::Known,
            Format::Log(format) => Self::Unknown(format.file()),
            Format::Database if !may_be_other => Self::Unknown("a database"),
            _ if may_be_other => Self::NoSession,
            _ => Self::Known,
        }
    }
}

/// How a file is walked through.
#[derive(Clone, Copy)]
pub(super) struct Outline {
    /// What its outermost values hold.
    pub(super) top: Field,
    /// Whether it is one value over however many lines.
    pub(super) is_document: bool,
}

impl Outline {
    /// The outline of a source. Of a session whose fields are not known nothing stays but its structure.
    pub(super) fn of(source: &Source) -> io::Result<Self> {
        let (format, begins_document) = Format::of_source(source)?;
        Ok(match format {
            Format::Agent(format) => Self {
                top: format.layout().map_or(Field::Free, |layout| Field::Shaped(root(layout))),
                is_document: format.is_document(begins_document),
            },
            _ => Self { top: Field::Shaped(&LINE), is_document: false },
        })
    }

    /// Walks through the next line of the file.
    pub(super) fn walk(self, line: &mut [u8], nesting: &mut Nesting, scribe: &mut Scribe<'_>) {
        if !self.is_document {
            *nesting = Nesting::default();
        }
        walk_on(line, self.top, nesting, scribe);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde::de::IgnoredAny;

    use super::super::{Survey, ToolNames};
    use super::*;
    use crate::read::agent::{AgentFile, AgentFormat, FirstObject};
    use crate::read::input::OpenSource;

    fn redacted(text: &str) -> String {
        let source = Source::in_memory("a.json", text.as_bytes());
        let mut survey = Survey::default();
        survey.read(&source).expect("memory");
        let mut out = Vec::new();
        survey.finish(ToolNames::Keep).write(&source, &mut out).expect("memory");
        String::from_utf8(out).expect("text")
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
            r#"\"apiProtocol\":\"openai\",\"tokensIn\":38400,\""#,
            r#"\"cancelReason\":\""#,
            r#""modelInfo":{"providerId":"github-copilot","modelId":"gpt-5.4-"#,
        ];
        assert_holds(
            &text,
            &kept,
            &["private", "acme", "cost", "secretKey", "tokensIn\\\":7", "12"],
        );
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

    /// A format of which redaction knows nothing.
    struct New;

    impl AgentFormat for New {
        fn recognises(&self, _: &FirstObject<'_>) -> bool {
            true
        }

        fn file(&self) -> &'static str {
            "a new session"
        }

        fn read(&self, _: &mut OpenSource) -> AgentFile {
            unreachable!("it is not read")
        }
    }

    #[test]
    fn sessions_are_never_passed_over() {
        for may_be_other in [false, true] {
            let new = Recognised::of_format(Format::Agent(&New), may_be_other);
            assert_eq!(new, Recognised::Unknown("a new session"));
        }
        assert_eq!(Recognised::of_format(Format::Transcript, true), Recognised::NoSession);
        assert_eq!(Recognised::of_format(Format::Transcript, false), Recognised::Known);
    }

    fn fault(text: &str) -> Option<(usize, usize, String)> {
        let error = serde_json::from_str::<IgnoredAny>(text).err()?;
        Some((error.line(), error.column(), format!("{:?}", error.classify())))
    }

    proptest! {
        #[test]
        fn documents_keep_their_faults(rest in r#"[{}\[\]:,"\\a-fntu0-2.e \-é\n]{0,60}"#) {
            let text = format!("[\n{{\"ts\":1,\"type\":\"say\",\"say\":\"text\"}},\n{rest}");
            let after = redacted(&text);
            prop_assert_eq!(after.len(), text.len());
            prop_assert_eq!(fault(&after), fault(&text), "{}", after);
        }
    }
}
