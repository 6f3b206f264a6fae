//! Cassettes: HTTP exchanges that a test recorded, as VCR for Ruby and Python and Betamax write them, in JSON or YAML.
//!
//! A time is that of the recording, or of the answer's header, if there is one.

use std::borrow::Cow;

use jiff::fmt::rfc2822;
use serde_json::value::RawValue;

use super::exchange::{ANSWERED, Envelope, Exchange, asks_model};
use super::moment::Moment;
use super::rows::{RowFormat, read_document};
#[cfg(feature = "yaml")]
use super::yaml::as_json;
use super::{Log, LogFormat, LogReader};
use crate::base::{ByKey, Millis};
use crate::read::agent::{FirstObject, Rejected};
use crate::read::answer::decoded;
use crate::read::capture::CaptureOptions;
use crate::read::input::{Kind, Number, OpenSource, Shape, Text, lenient, only_value};

/// Lists of exchanges in the formats.
const LISTS: [&[&str]; 2] = [&["http_interactions"], &["interactions"]];

/// Beginning of a file in which one in YAML names its list, in bytes.
const BEGINNING: usize = 4_096;

/// Format of cassettes.
pub(super) struct Cassette;

/// Refuses YAML.
///
/// # Errors
/// Always.
#[cfg(not(feature = "yaml"))]
fn as_json(_: &str) -> Result<String, Rejected> {
    let refusal = "this build does not read YAML: build cachesim with --features yaml";
    Err((Kind::UnreadableFile, refusal))
}

impl LogFormat for Cassette {
    fn recognises(&self, first: &FirstObject<'_>) -> bool {
        let exchanges = LISTS.iter().filter_map(|path| first.first_of(path[0]));
        exchanges.into_iter().any(|one| one.has_member("request"))
    }

    fn begins(&self, bytes: &[u8]) -> bool {
        if bytes.starts_with(b"{") {
            return false;
        }
        let beginning = bytes.get(..BEGINNING).unwrap_or(bytes);
        let is_list = |line: &[u8]| {
            let name = line.trim_ascii_end().strip_suffix(b":");
            name.is_some_and(|name| LISTS.iter().any(|path| name == path[0].as_bytes()))
        };
        beginning.split(|byte| *byte == b'\n').any(is_list)
    }

    fn file(&self) -> &'static str {
        Self::FILE
    }

    fn read(&self, open: &mut OpenSource, options: &CaptureOptions) -> Log {
        read_document::<Self>(open, options, &LISTS, as_json)
    }
}

impl RowFormat for Cassette {
    type Row<'a> = Interaction<'a>;
    const FILE: &'static str = "a cassette of HTTP exchanges";

    fn row(log: &mut LogReader<'_>, row: &Interaction<'_>, line: u64) -> Result<(), Rejected> {
        let other = (Kind::OtherEndpoint, "no request to a model");
        let request = row.request.0.as_ref().ok_or(other)?;
        let is_post = request.method.as_str().is_some_and(|one| one.eq_ignore_ascii_case("post"));
        let url = request.uri.as_str().filter(|_| is_post).ok_or(other)?;
        let sent = request.body.and_then(text_of).ok_or(other)?;
        asks_model(url, &sent)?;
        let failed = (Kind::FailedRequest, "it was not answered, or with an error");
        let response = row.response.0.as_ref().ok_or(failed)?;
        let code = response.status.0.as_ref().and_then(|status| status.code.0);
        if !code.is_some_and(|code| ANSWERED.contains(&code)) {
            return Err(failed);
        }
        let answer = response.body.and_then(text_of);
        let no_answer = (Kind::MissingUsage, "the answer was not recorded");
        let sent_at = row.recorded_at.as_str().and_then(time).or_else(|| response.date());
        log.exchange(&Exchange {
            line,
            url: Some(url),
            sent: &sent,
            answer: answer.as_deref().ok_or(no_answer)?,
            envelope: Envelope { sent: sent_at, ..Envelope::default() },
            finished: None,
        })
    }
}

/// Text of a body: a string, or a string inside an object, in base64 if its name says so.
fn text_of(body: &RawValue) -> Option<Cow<'_, str>> {
    if body.get().starts_with('"') {
        return only_value::<Text<'_>>(body.get()).ok()?.0;
    }
    let body = only_value::<Shape<Body<'_>>>(body.get()).ok()?.0?;
    if let Some(text) = body.base64_string.as_str() {
        let base64 = Text(Some("base64".into()));
        return decoded(text, &base64).map(|text| text.into_owned().into());
    }
    body.string.0
}

/// Time as a log or a header writes it.
fn time(text: &str) -> Option<Millis> {
    let of_header = || rfc2822::parse(text).ok().map(|at| at.timestamp().as_millisecond());
    Moment::of(text).0.or_else(|| of_header().map(Millis::new))
}

impl Response<'_> {
    /// Time in the header of the answer, whose names and values differ by program.
    fn date(&self) -> Option<Millis> {
        let headers: ByKey<String, &RawValue> = serde_json::from_str(self.headers?.get()).ok()?;
        let date = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("date"))?.1.get();
        let list: Option<Vec<String>> = serde_json::from_str(date).ok();
        time(&list.and_then(|list| list.into_iter().next()).or(serde_json::from_str(date).ok())?)
    }
}

lenient! {
    pub(super) struct Interaction<'a> {
        request: Shape<Request<'a>>,
        response: Shape<Response<'a>>,
        recorded_at: Text<'a>,
    }

    struct Request<'a> {
        method: Text<'a>,
        uri: Text<'a>,
        body: Option<&'a RawValue>,
    }

    struct Response<'a> {
        status: Shape<Status>,
        headers: Option<&'a RawValue>,
        body: Option<&'a RawValue>,
    }

    struct Status {
        code: Number,
    }

    struct Body<'a> {
        string: Text<'a>,
        base64_string: Text<'a>,
    }
}

#[cfg(all(test, feature = "yaml"))]
mod tests {
    use super::*;
    use crate::base::Tokens;
    use crate::read::input::Source;

    fn read(text: &str) -> Log {
        let source = Source::in_memory("cassette", text.as_bytes());
        let mut open = OpenSource::open(&source).expect("bytes in memory");
        Cassette.read(&mut open, &CaptureOptions::default())
    }

    const YAML: &str = r#"interactions:
- request:
    body: '{"model": "claude-opus-5", "max_tokens": 9, "messages": [{"role": "user", "content": "Look."}]}'
    headers:
      x-api-key: [KEY-1]
    method: POST
    uri: https://api.anthropic.com/v1/messages
  response:
    body:
      string: |-
        {"id": "msg_1",
         "usage": {"input_tokens": 3, "cache_read_input_tokens": 10, "output_tokens": 2}}
    headers:
      date:
      - Tue, 10 Nov 2026 10:00:00 GMT
    status: {code: 200, message: OK}
version: 1
"#;

    #[test]
    fn one_in_yaml_is_read_as_in_json() {
        assert!(Cassette.begins(YAML.as_bytes()));
        let log = read(YAML);
        let [wire] = &*log.captures.requests else { panic!("one capture: {log:?}") };
        assert_eq!(wire.start, Millis::new(1_794_304_800_000));
        let usage = wire.usage.as_ref().expect("usage");
        assert_eq!((usage.prompt.total(), usage.output), (Tokens(13), Tokens(2)));
        assert!(!format!("{log:?}").contains("KEY-1"));
    }

    #[test]
    fn damage_and_aliases_are_named() {
        let count = |text: &str, kind| read(text).requests.diagnostics.count(kind);
        assert_eq!(count(&YAML.replace("version: 1", "version: ["), Kind::NotJson), 1);
        assert_eq!(count("interactions:\n- &a {}\n- *a\n", Kind::NotJson), 1);
        assert_eq!(count(&YAML.replace("POST", "GET"), Kind::OtherEndpoint), 1);
        assert_eq!(count(&YAML.replace("code: 200", "code: 429"), Kind::FailedRequest), 1);
    }

    #[test]
    fn a_body_may_be_in_base64_and_its_recording_have_no_time() {
        let body = |text: &str| format!(r#"{{"encoding":"utf-8","base64_string":"{text}"}}"#);
        // {"model":"gpt-5.4"} and {"usage":{"prompt_tokens":9,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":4}}}
        let sent = body("eyJtb2RlbCI6ImdwdC01LjQifQ==");
        let answer = body(
            "eyJ1c2FnZSI6eyJwcm9tcHRfdG9rZW5zIjo5LCJjb21wbGV0aW9uX3Rva2VucyI6MSwicHJvbXB0X3Rva2Vuc19kZXRhaWxzIjp7ImNhY2hlZF90b2tlbnMiOjR9fX0=",
        );
        let log = read(&format!(
            r#"{{"http_interactions":[{{"request":{{"method":"post","uri":"https://x/v1/chat/completions","body":{sent}}},
                "response":{{"status":{{"code":200}},"body":{answer}}}}}]}}"#
        ));
        let [request] = &*log.requests.requests else { panic!("one request: {log:?}") };
        let prompt = request.usage.prompt;
        assert_eq!((prompt.input, prompt.read), (Tokens(5), Tokens(4)));
        assert_eq!(log.requests.diagnostics.count(Kind::MissingTimestamp), 1);
    }
}
