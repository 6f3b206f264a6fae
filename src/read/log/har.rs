//! HAR files: HTTP exchanges that a browser or a proxy recorded, one entry each.
//!
//! Exchanges with the Messages API, on Bedrock and Google Cloud too, become captures. Exchanges with `OpenAI`'s
//! Responses API and chat completions, with Bedrock's Converse API and with Gemini give usage. All others are named
//! and left out.
//!
//! A file is held once, and its entries are borrowed from it. Of headers only `anthropic-beta` is decoded: all
//! others, keys and cookies among them, are skipped undecoded.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::elements::each_element;
use super::exchange::{ANSWERED, Envelope, Exchange, asks_model};
use super::helicone::later;
use super::moment::Moment;
use super::rows::{RowFormat, read_document};
use super::{Log, LogFormat, LogLayout, LogReader, begins_with_member};
use crate::base::Millis;
use crate::read::agent::Rejected;
use crate::read::answer::decoded;
use crate::read::capture::{BETA_HEADER, CaptureOptions};
use crate::read::input::{Kind, Number, OpenSource, Shape, Text, lenient, only_value};

/// Path to the entries.
const ENTRIES: [&str; 2] = ["log", "entries"];

/// Format of HAR files.
pub(super) struct Har;

impl LogFormat for Har {
    fn begins(&self, bytes: &[u8]) -> bool {
        if !begins_with_member(bytes, "log") {
            return false;
        }
        let text = bytes.utf8_chunks().next().map_or("", |chunk| chunk.valid());
        let text = text.trim_start_matches('\u{feff}').trim_start();
        // The chunk may end inside the first entry: then an error follows after the list was found.
        let mut has_entries = false;
        let found = each_element(text, &ENTRIES, |_| has_entries = true);
        found.unwrap_or(has_entries || text.contains("\"startedDateTime\""))
    }

    fn file(&self) -> &'static str {
        Self::FILE
    }

    fn layout(&self) -> Option<LogLayout> {
        Some(LogLayout::Har)
    }

    fn read(&self, open: &mut OpenSource, options: &CaptureOptions) -> Log {
        read_document::<Self>(open, options, &[&ENTRIES], |_| {
            Err((Kind::NotJson, "the file is left out"))
        })
    }
}

impl RowFormat for Har {
    type Row<'a> = Entry<'a>;
    const FILE: &'static str = "a HAR file";

    fn row(log: &mut LogReader<'_>, entry: &Entry<'_>, line: u64) -> Result<(), Rejected> {
        let other = (Kind::OtherEndpoint, "no request to a model");
        let request = entry.request.0.as_ref().ok_or(other)?;
        let url = request.url.as_str().filter(|_| request.method.is("POST")).ok_or(other)?;
        let sent = request.post_data.0.as_ref().and_then(Content::decoded).ok_or(other)?;
        asks_model(url, &sent)?;
        log.exchange(&Exchange {
            line,
            url: Some(url),
            sent: &sent,
            answer: &entry.answer()?,
            finished: entry.started.0.zip(entry.time.0).map(|(start, millis)| later(start, millis)),
            envelope: Envelope {
                sent: entry.started.0,
                answered: entry.response_started(),
                betas: request.headers.0.as_deref(),
                ..Envelope::default()
            },
        })
    }
}

lenient! {
    pub(super) struct Entry<'a> {
        #[serde(rename = "startedDateTime")]
        started: Moment,
        /// Duration of the exchange, in milliseconds.
        time: Number,
        request: Shape<Request<'a>>,
        response: Shape<Response<'a>>,
        timings: Shape<Timings>,
    }

    struct Request<'a> {
        method: Text<'a>,
        url: Text<'a>,
        headers: Betas,
        #[serde(rename = "postData")]
        post_data: Shape<Content<'a>>,
    }

    struct Response<'a> {
        status: Number,
        content: Shape<Content<'a>>,
    }

    /// Body of a request or of an answer.
    struct Content<'a> {
        text: Text<'a>,
        encoding: Text<'a>,
    }

    /// Phases of an exchange, in milliseconds; negative for a phase that did not occur.
    #[derive(Clone, Copy)]
    struct Timings {
        blocked: Number,
        dns: Number,
        connect: Number,
        send: Number,
        wait: Number,
    }
}

impl Content<'_> {
    fn decoded(&self) -> Option<Cow<'_, str>> {
        decoded(self.text.as_str()?, &self.encoding)
    }
}

impl Entry<'_> {
    /// Decoded body of the answer.
    ///
    /// # Errors
    /// The request failed, or the answer was not recorded.
    fn answer(&self) -> Result<Cow<'_, str>, Rejected> {
        let failed = (Kind::FailedRequest, "it was not answered, or with an error");
        let response = self.response.0.as_ref().ok_or(failed)?;
        // The fate of a failed request is unknown, so it is left out.
        if !response.status.0.is_some_and(|status| ANSWERED.contains(&status)) {
            return Err(failed);
        }
        let content = response.content.0.as_ref().and_then(Content::decoded);
        content.ok_or((Kind::MissingUsage, "the answer was not recorded"))
    }

    /// Start of the answer: the request's start and all phases before the answer.
    fn response_started(&self) -> Option<Millis> {
        // `ssl` is left out: HAR counts it in `connect`.
        let Timings { blocked, dns, connect, send, wait } = self.timings.0?;
        let waited = wait.0.filter(|millis| *millis >= 0.0)?;
        let before = [blocked, dns, connect, send].into_iter().filter_map(|part| part.0);
        let before: f64 = before.filter(|millis| *millis > 0.0).sum();
        Some(later(self.started.0?, before + waited))
    }
}

/// Beta features in the headers. No other header is decoded.
#[derive(Debug, Default)]
struct Betas(Option<String>);

impl<'de> Deserialize<'de> for Betas {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let list = <&RawValue>::deserialize(deserializer)?.get();
        let mut betas = Self::default();
        // Headers that are not a list count as none.
        each_element(list, &[], |header| betas.header(header)).ok();
        Ok(betas)
    }
}

impl Betas {
    fn header(&mut self, json: &str) {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Header<'a> {
            #[serde(borrow)]
            name: Text<'a>,
            value: Option<&'a RawValue>,
        }
        let Ok(Shape(Some(header))) = only_value::<Shape<Header<'_>>>(json) else {
            return;
        };
        let is_betas =
            header.name.as_str().is_some_and(|name| name.eq_ignore_ascii_case(BETA_HEADER));
        let Some(value) = header.value.filter(|_| is_betas) else { return };
        self.0 = only_value(value.get()).ok();
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use serde_json::{Value, json};

    use super::*;
    use crate::base::{Client, Tokens};
    use crate::read::input::Source;

    const BODY: &str = r#"{"model":"claude-opus-5","max_tokens":9,"messages":[{"role":"user","content":
        [{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}]}]}"#;
    const ANSWER: &str = r#"{"id":"msg_1","usage":{"input_tokens":3,"cache_read_input_tokens":10,"output_tokens":2}}"#;

    fn entry(url: &str, body: &str, status: u16, content: &Value) -> Value {
        json!({
            "startedDateTime": "2026-09-21T14:13:20.000Z", "time": 5000.4,
            "request": {"method": "POST", "url": url,
                "headers": [
                    {"name": "Authorization", "value": "Bearer KEY-1"}, {"name": "x-api-key", "value": "KEY-2"},
                    {"name": "cookie", "value": "KEY-3"}, {"name": "Anthropic-Beta", "value": "b-1,a-2"}
                ],
                "cookies": [{"name": "sid", "value": "KEY-4"}],
                "postData": {"mimeType": "application/json", "text": body}},
            "response": {"status": status, "headers": [{"name": "set-cookie", "value": "KEY-5"}], "content": content},
            "timings": {"blocked": 10, "dns": -1, "connect": 20, "ssl": 15, "send": 1, "wait": 769, "receive": 4200.4}
        })
    }

    fn read(entries: &[Value]) -> Log {
        let har = json!({"log": {"version": "1.2", "creator": {"name": "x"}, "entries": entries}})
            .to_string();
        let mut open =
            OpenSource::open(&Source::in_memory("a.har", har.as_bytes())).expect("bytes in memory");
        assert!(open.first_lines().is_some_and(|chunk| Har.begins(chunk.bytes())));
        Har.read(&mut open, &CaptureOptions { keeps_bytes: true, ..CaptureOptions::default() })
    }

    #[test]
    fn messages_become_captures_however_they_are_answered() {
        let start = r#"{"type":"message_start","message":{"id":"msg_1","usage":{"input_tokens":3,"cache_read_input_tokens":10,"output_tokens":1}}}"#;
        let stream = format!(
            "event: message_start\ndata: {start}\n\ndata: {{\"type\":\"message_delta\",\"usage\":{{\"output_tokens\":2}}}}\n\n"
        );
        for content in [
            json!({"text": ANSWER}),
            json!({"text": STANDARD.encode(ANSWER), "encoding": "base64"}),
            json!({"text": stream}),
            json!({"text": STANDARD.encode(&stream), "encoding": "base64"}),
        ] {
            let log = read(&[entry(
                "https://api.anthropic.com/v1/messages?beta=true",
                BODY,
                200,
                &content,
            )]);
            let [wire] = &*log.captures.requests else { panic!("one capture: {log:?}") };
            let symbols = &log.captures.symbols;
            assert_eq!(symbols.text(wire.model), "claude-opus-5");
            assert_eq!(wire.message.map(|id| symbols.text(id)), Some("msg_1"));
            assert_eq!(wire.betas.map(|betas| symbols.text(betas)), Some("a-2,b-1"));
            assert_eq!((wire.start, wire.markers.len()), (Millis::new(1_790_000_000_000), 1));
            // 10 + 20 + 1 + 769 ms later: TLS is part of the connection.
            assert_eq!(wire.response_started, Some(Millis::new(1_790_000_000_800)));
            let usage = wire.usage.as_ref().expect("usage");
            assert_eq!((usage.prompt.total(), usage.output), (Tokens(13), Tokens(2)));
        }
    }

    #[test]
    fn no_key_is_kept() {
        let url = "https://api.anthropic.com/v1/messages";
        let chat = r#"{"id":"chatcmpl-1","usage":{"prompt_tokens":9,"prompt_tokens_details":{"cached_tokens":0}}}"#;
        let log = read(&[
            entry(url, BODY, 200, &json!({"text": ANSWER})),
            entry(url, BODY, 401, &json!({"text": "{}"})),
            entry("https://api.openai.com/v1/chat/completions", "{}", 200, &json!({"text": chat})),
            entry("https://example.com/login", "{}", 200, &json!({"text": ""})),
        ]);
        assert_eq!((log.captures.requests.len(), log.requests.requests.len()), (1, 1));
        let all = format!("{log:?}");
        assert!(all.contains("claude-opus-5") && !all.contains("KEY-"), "{all}");
    }

    #[test]
    fn a_model_may_stand_in_the_address() {
        let url = "https://x/model/us.anthropic.claude-opus-4-5-v1%3A0/invoke";
        let body = r#"{"anthropic_version":"v","max_tokens":9,"messages":[{"role":"user","content":"a"}]}"#;
        let log = read(&[entry(url, body, 200, &json!({"text": ANSWER}))]);
        let [wire] = &*log.captures.requests else { panic!("one capture: {log:?}") };
        let model = log.captures.symbols.text(wire.model);
        assert_eq!(model, "us.anthropic.claude-opus-4-5-v1:0");
    }

    #[test]
    fn openai_is_known_by_its_usage() {
        let key = "01997f3a-0000-7000-8000-000000000001";
        let body = json!({"model": "gpt-5.6", "prompt_cache_key": key}).to_string();
        let stream = "data: {\"type\":\"response.completed\",\"response\":{\"id\":\"resp_1\",\"usage\":{\"input_tokens\":100,\"input_tokens_details\":{\"cached_tokens\":64},\"output_tokens\":7}}}\n\n";
        let log = read(&[entry(
            "https://chatgpt.com/backend-api/codex/responses",
            &body,
            200,
            &json!({"text": stream}),
        )]);
        let [request] = &*log.requests.requests else { panic!("one request: {log:?}") };
        let symbols = &log.requests.symbols;
        assert_eq!((request.client, symbols.text(request.model)), (Client::Capture, "gpt-5.6"));
        assert_eq!(request.session.map(|id| symbols.text(id)), Some(key));
        assert_eq!(
            (request.usage.prompt.input, request.usage.prompt.read),
            (Tokens(36), Tokens(64))
        );
        assert_eq!(request.finished, Millis::new(1_790_000_005_000));
    }

    #[test]
    fn everything_else_is_named() {
        let url = "https://api.anthropic.com/v1/messages";
        let log = read(&[
            entry(
                "https://api.anthropic.com/v1/messages/count_tokens",
                BODY,
                200,
                &json!({"text": "{}"}),
            ),
            entry(
                "https://api.openai.com/v1/threads/t/messages",
                r#"{"role":"user"}"#,
                200,
                &json!({"text": "{}"}),
            ),
            entry(url, BODY, 529, &json!({"text": "{}"})),
            entry(url, BODY, 0, &json!({})),
            entry(
                "https://api.openai.com/v1/responses",
                "{}",
                200,
                &json!({"text": "data: [DONE]"}),
            ),
            json!(7),
        ]);
        let count = |kind| log.requests.diagnostics.count(kind);
        assert_eq!((count(Kind::OtherEndpoint), count(Kind::FailedRequest)), (2, 2));
        assert_eq!((count(Kind::MissingUsage), count(Kind::NotAnObject)), (1, 1));
        assert!(log.captures.requests.is_empty() && log.requests.requests.is_empty());
    }

    #[test]
    fn a_beginning_is_enough_to_be_known() {
        let begins = |text: &str| Har.begins(text.as_bytes());
        assert!(begins(
            "{\n \"log\": {\"version\": \"1.2\", \"entries\": [{\"startedDateTime\": \"20"
        ));
        assert!(begins(r#"{"log":{"version":"1.2","entries":[]}}"#));
        assert!(!begins(r#"{"log":{"level":"info"}}"#));
        assert!(!begins(r#"{"log":"started","entries":[]}"#));
        assert!(!begins(r#"{"type":"user"}"#));
    }
}
