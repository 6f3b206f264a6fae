//! Answers in logs and captures: a JSON body, an event stream, or Bedrock's binary event stream.
//!
//! `OpenAI` streams report usage once, near their end: chat completions in the last chunk, if the client
//! asked for it (`stream_options.include_usage`), the Responses API in the event that closes the response.
//! Anthropic's streams report usage at the beginning, with counters that are not known yet, and once more at the end.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::read::input::{Shape, Text, lenient, only_value};

/// Id, model and usage that an answer reports.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Answer {
    /// Id of the message or of the response.
    pub(super) id: Option<String>,
    /// Model that answered.
    pub(super) model: Option<String>,
    /// Usage object as written.
    pub(super) usage: Option<String>,
}

impl Answer {
    /// Answer in a body or a stream. In a stream the first id counts, the last model, and the usage of all events
    /// together.
    pub(super) fn of(text: &str) -> Self {
        if is_object(text) {
            return Self::of_body(text).unwrap_or_default();
        }
        let mut known = Self::default();
        for event in events(text).filter_map(Self::of_body) {
            known = Self {
                id: known.id.or(event.id),
                model: event.model.or(known.model),
                usage: joined(known.usage, event.usage),
            };
        }
        known
    }

    fn of_body(json: &str) -> Option<Self> {
        only_value::<Shape<Body<'_>>>(json).ok()?.0.as_ref().map(Self::from)
    }
}

impl From<&Body<'_>> for Answer {
    fn from(body: &Body<'_>) -> Self {
        let inner = body.response.0.as_deref().or(body.message.0.as_deref());
        let owned = |text: &Text<'_>| text.as_str().map(str::to_owned);
        let usage = inner.and_then(|inner| inner.usage).or(body.usage).or(body.usage_metadata);
        let usage = usage.map(RawValue::get);
        let id = owned(&body.id).or_else(|| owned(&body.response_id));
        let model = owned(&body.model).or_else(|| owned(&body.model_version));
        Self {
            id: inner.and_then(|inner| owned(&inner.id)).or(id),
            model: inner.and_then(|inner| owned(&inner.model)).or(model),
            usage: usage.filter(|usage| is_object(usage)).map(str::to_owned),
        }
    }
}

/// Usage so far, joined with that of an event.
fn joined(known: Option<String>, event: Option<String>) -> Option<String> {
    let (Some(before), Some(later)) = (&known, &event) else { return event.or(known) };
    let value = |text| serde_json::from_str::<Value>(text).ok();
    // Numbers that no count can have are not joined.
    let (Some(mut all), Some(later)) = (value(before), value(later)) else { return event };
    join(&mut all, later);
    Some(all.to_string())
}

/// Joins counters with later ones. They count from the beginning of the answer, so none shrinks: where gateways write
/// zeros, in the first event or in the last, the other event has the count.
fn join(known: &mut Value, later: Value) {
    match (known, later) {
        (_, Value::Null) => {}
        (Value::Object(known), Value::Object(later)) => {
            for (name, value) in later {
                join(known.entry(name).or_insert(Value::Null), value);
            }
        }
        (Value::Number(known), Value::Number(later)) if known.as_f64() >= later.as_f64() => {}
        (known, later) => *known = later,
    }
}

lenient! {
    /// A body, an event, or the response inside an event.
    pub(super) struct Body<'a> {
        id: Text<'a>,
        model: Text<'a>,
        usage: Option<&'a RawValue>,
        /// Members of answers of Gemini.
        #[serde(rename = "responseId")]
        response_id: Text<'a>,
        #[serde(rename = "modelVersion")]
        model_version: Text<'a>,
        #[serde(rename = "usageMetadata")]
        usage_metadata: Option<&'a RawValue>,
        /// Member of events of the Responses API.
        response: Shape<Box<Body<'a>>>,
        /// Member of the first event of the Messages API.
        message: Shape<Box<Body<'a>>>,
    }
}

/// Returns true if a text is a JSON object and not a stream.
pub(super) fn is_object(text: &str) -> bool {
    text.trim_start_matches('\u{feff}').trim_start().starts_with('{')
}

/// Events of a stream that mention usage, the first of a response among them. The others hold text.
fn events(stream: &str) -> impl Iterator<Item = &str> {
    // Events without the word are not parsed: most of a stream is deltas of text.
    let data = stream.lines().filter_map(|line| line.strip_prefix("data:"));
    data.map(str::trim)
        .filter(|event| ["\"usage\"", "\"usageMetadata\""].iter().any(|name| event.contains(name)))
}

/// A stream reduced to the events that mention usage.
pub(super) fn usage_events(stream: &str) -> String {
    events(stream).flat_map(|event| ["data: ", event, "\n\n"]).collect()
}

/// Text of a logged body, decoded if it is in base64.
pub(super) fn decoded<'a>(text: &'a str, encoding: &Text<'_>) -> Option<Cow<'a, str>> {
    if !encoding.is("base64") {
        return Some(Cow::Borrowed(text));
    }
    let bytes = STANDARD.decode(text.trim()).ok()?;
    match String::from_utf8(bytes) {
        Ok(text) => Some(Cow::Owned(text)),
        // Bytes that are not UTF-8 can only be Bedrock's binary stream.
        Err(error) => of_binary_stream(error.as_bytes()).map(Cow::Owned),
    }
}

/// Start of the base64 payload in an event of Bedrock's stream.
const EVENT: &[u8] = br#""bytes":""#;

/// Events of Bedrock's binary stream, rewritten as an event stream.
fn of_binary_stream(bytes: &[u8]) -> Option<String> {
    let mut stream = String::new();
    // Frames are not parsed: the payload is JSON, and a search for its member finds every event.
    for start in memchr::memmem::find_iter(bytes, EVENT) {
        let encoded = bytes.get(start + EVENT.len()..)?;
        let end = memchr::memchr(b'"', encoded)?;
        let event = STANDARD.decode(encoded.get(..end)?).ok()?;
        stream.push_str("data: ");
        stream.push_str(str::from_utf8(&event).ok()?);
        stream.push('\n');
    }
    (!stream.is_empty()).then_some(stream)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(id: &str, model: &str, usage: &str) -> Answer {
        let [id, model, usage] = [id, model, usage].map(|text| Some(text.to_owned()));
        Answer { id, model, usage }
    }

    #[test]
    fn bodies_and_streams_say_the_same() {
        let chat = answer("chatcmpl-1", "gpt-5.5", r#"{"prompt_tokens":9}"#);
        let body = r#"{"id":"chatcmpl-1","object":"chat.completion","model":"gpt-5.5","usage":{"prompt_tokens":9}}"#;
        assert_eq!(Answer::of(body), chat);
        let stream = concat!(
            "data: {\"id\":\"chatcmpl-1\",\"model\":\"gpt-5.5\",\"choices\":[{\"delta\":{\"content\":\"a\"}}],\"usage\":null}\n\n",
            "data: {\"id\":\"chatcmpl-1\",\"model\":\"gpt-5.5\",\"choices\":[],\"usage\":{\"prompt_tokens\":9}}\n\n",
            "data: [DONE]\n\n"
        );
        assert_eq!(Answer::of(stream), chat);
    }

    #[test]
    fn the_responses_api_closes_with_the_usage() {
        let stream = concat!(
            "event: response.created\n",
            "data: {\"type\":\"response.created\",\"response\":{\"id\":\"resp_1\",\"model\":\"gpt-5.6\",\"usage\":null}}\n\n",
            "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"delta\":\"x\"}\n\n",
            "event: response.completed\n",
            "data: {\"type\":\"response.completed\",\"response\":{\"id\":\"resp_1\",\"model\":\"gpt-5.6\",\"usage\":{\"input_tokens\":4}}}\n\n"
        );
        assert_eq!(Answer::of(stream), answer("resp_1", "gpt-5.6", r#"{"input_tokens":4}"#));
        assert_eq!(Answer::of("<html>Bad gateway</html>"), Answer::default());
        assert_eq!(Answer::of("{\"usage\":7}"), Answer::default());
        assert_eq!(Answer::of("{\"id\":"), Answer::default());
    }

    #[test]
    fn text_is_left_out_of_streams() {
        let start =
            r#"{"type":"message_start","message":{"id":"msg_1","usage":{"input_tokens":3}}}"#;
        let end = r#"{"type":"message_delta","usage":{"output_tokens":42}}"#;
        let delta = r#"{"type":"content_block_delta","delta":{"text":"secret"}}"#;
        let stream =
            format!("event: message_start\r\ndata: {start}\r\n\r\ndata: {delta}\n\ndata: {end}\n");
        assert_eq!(usage_events(&stream), format!("data: {start}\n\ndata: {end}\n\n"));
        let answer = Answer::of(&stream);
        assert_eq!(answer.id.as_deref(), Some("msg_1"));
        // The end tells the output alone.
        assert_eq!(answer.usage.as_deref(), Some(r#"{"input_tokens":3,"output_tokens":42}"#));
    }

    #[test]
    fn counters_of_a_stream_are_the_largest_of_its_events() {
        let usage = |start: &str, end: &str| {
            let start =
                format!(r#"data: {{"type":"message_start","message":{{"usage":{start}}}}}"#);
            let end = format!(r#"data: {{"type":"message_delta","usage":{end}}}"#);
            Answer::of(&format!("{start}\n\n{end}\n")).usage
        };
        let known = r#"{"cache_creation":{"ephemeral_5m_input_tokens":5},"input_tokens":8}"#;
        let zeros = r#"{"cache_creation":{"ephemeral_5m_input_tokens":0},"input_tokens":0}"#;
        assert_eq!(usage(zeros, known).as_deref(), Some(known));
        assert_eq!(usage(known, zeros).as_deref(), Some(known));
        assert_eq!(usage(known, r#"{"cache_creation":null}"#).as_deref(), Some(known));
        assert_eq!(usage("{}", known).as_deref(), Some(known));
    }

    #[test]
    fn encoded_bodies_are_decoded() {
        let base64 = Text(Some("base64".into()));
        assert_eq!(decoded("e30=", &base64).as_deref(), Some("{}"));
        assert_eq!(decoded("{}", &Text(None)).as_deref(), Some("{}"));
        assert_eq!(decoded("%%", &base64), None);
        let event = STANDARD.encode(r#"{"type":"message_stop"}"#);
        let frame =
            [b"\0\0\xff\xfe{\"bytes\":\"", event.as_bytes(), b"\",\"p\":\"abc\"}\x80"].concat();
        let stream = decoded(&STANDARD.encode(frame), &base64).map(Cow::into_owned);
        assert_eq!(stream.as_deref(), Some("data: {\"type\":\"message_stop\"}\n"));
        assert_eq!(decoded(&STANDARD.encode(b"\xff\xfe"), &base64), None);
    }
}
