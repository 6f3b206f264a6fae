//! Helicone: requests as its export tool writes them (a list, or one per line), or as its API returns them.
//!
//! - `request_body` and `response_body` are present if they were asked for. Images are taken out, and a stream
//!   is merged into the body that would have been sent without streaming.
//! - Bodies are the provider's. `prompt_tokens` and its siblings are Helicone's own counts, which exclude
//!   tokens read and written from the prompt, and reasoning from the output; they count if there is no body.
//! - `cache_reference_id` names the request whose stored answer was returned instead; all zeros mean none.
//! - A negative `response_status` marks a request that was not answered.

use serde_json::value::RawValue;
use std::borrow::Cow;

use super::billed::{Billed, Prompt};
use super::exchange::{ANSWERED, Answered, Envelope, MessagesBody};
use super::moment::Moment;
use super::rows::{RowFormat, read_log};
use super::{Log, LogFormat, LogLayout, LogReader};
use crate::base::{Client, EntryId, Millis};
use crate::read::agent::{AgentRequest, FirstObject, Rejected};
use crate::read::answer::Answer;
use crate::read::capture::{CaptureOptions, is_messages_endpoint};
use crate::read::input::{Count, Kind, Number, OpenSource, Shape, Text, lenient, only_value};

/// Placeholder of an image in a body.
pub(crate) const TAKEN_OUT: &str = "<helicone-asset-id";

/// Endings of addresses that take no prompt for a chat model.
const OTHER_ENDPOINTS: [&str; 7] = [
    "/embeddings",
    "/moderations",
    "/images/generations",
    "/images/edits",
    "/audio/speech",
    "/audio/transcriptions",
    "/count_tokens",
];

/// Format of Helicone's exports.
pub(super) struct Helicone;

impl LogFormat for Helicone {
    fn recognises(&self, first: &FirstObject<'_>) -> bool {
        let has = |name| first.has_member(name);
        has("response_created_at") && has("response_id")
            || has("request_created_at") && has("request_id")
    }

    fn file(&self) -> &'static str {
        Self::FILE
    }

    fn client(&self) -> Client {
        Client::Helicone
    }

    fn layout(&self) -> Option<LogLayout> {
        Some(LogLayout::Helicone)
    }

    fn read(&self, open: &mut OpenSource, options: &CaptureOptions) -> Log {
        read_log::<Self>(open, options)
    }
}

impl RowFormat for Helicone {
    type Row<'a> = Row<'a>;
    const FILE: &'static str = "an export of Helicone";

    fn row(log: &mut LogReader<'_>, row: &Row<'_>, line: u64) -> Result<(), Rejected> {
        row.was_sent()?;
        let request_body = text_of(row.request_body);
        let answer_body = text_of(row.response_body);
        if Self::capture(log, row, line, request_body.as_deref(), answer_body.as_deref()) {
            return Ok(());
        }
        let answer = answer_body.as_deref().map(Answer::of).unwrap_or_default();
        let billed = answer.usage.as_deref().map_or_else(|| row.billed(), Billed::of)?;
        let start = row.start().ok_or((Kind::MissingTimestamp, "the request is left out"))?;
        let file = &mut log.file;
        let model = answer.model.as_deref().or(row.model()).unwrap_or_default();
        let model = file.model(&Text(Some(model.into())));
        let mut symbol = |text: Option<&str>| text.map(|text| file.symbols.intern(text));
        let [session, message] = [row.session(), answer.id.as_deref()].map(&mut symbol);
        let route = file.symbol(&row.provider);
        let id = row.request_id.as_str().filter(|id| !id.is_empty());
        let times = (start, row.response_created_at.0.unwrap_or(start));
        let usage = billed.usage.clone();
        let request = AgentRequest {
            // Helicone's id makes a copy of the export count once.
            identity: id.map(|id| EntryId::of(&format!("helicone:{id}"))),
            session,
            message,
            route,
            ..AgentRequest::new((Client::Helicone, line), model, times, usage)
        };
        log.add(&billed, request);
        Ok(())
    }
}

impl Helicone {
    /// Adds a request of the Messages API as a capture, if its bodies are whole. Returns true if it did.
    fn capture(
        log: &mut LogReader<'_>,
        row: &Row<'_>,
        line: u64,
        request: Option<&str>,
        answer: Option<&str>,
    ) -> bool {
        let url = row.url();
        let Some(((request, answer), url)) = request.zip(answer).zip(url) else { return false };
        // Without its images a body is not the prompt that was sent.
        if !is_messages_endpoint(url) || request.contains(TAKEN_OUT) {
            return false;
        }
        let Some(body) = MessagesBody::of(request) else { return false };
        let start = row.start();
        let first_token = row.time_to_first_token.0.filter(|millis| *millis > 0.0);
        let envelope = Envelope {
            sent: start,
            answered: start.zip(first_token).map(|(start, millis)| later(start, millis)),
            request: row.request_id.as_str(),
            session: row.session(),
            model: body.model().is_none().then(|| row.model()).flatten(),
            ..Envelope::default()
        };
        log.capture((line, Some(url)), &body, &envelope, &Answered::Sent(answer))
    }
}

/// Time `millis` milliseconds after `start`.
pub(super) fn later(start: Millis, millis: f64) -> Millis {
    // A longer duration is damage: no request takes longer than a day.
    let millis = millis.clamp(0.0, 86_400_000.0).round();
    #[allow(clippy::cast_possible_truncation)] // at most a day
    Millis::new(start.get().saturating_add(millis as i64))
}

/// Text of a body: the JSON of an object, or the content of a string.
fn text_of(body: Option<&RawValue>) -> Option<Cow<'_, str>> {
    let json = body?.get();
    if json.starts_with('"') {
        return only_value::<Text<'_>>(json).ok()?.0;
    }
    json.starts_with('{').then_some(Cow::Borrowed(json))
}

lenient! {
    pub(super) struct Row<'a> {
        request_id: Text<'a>,
        request_created_at: Moment,
        response_created_at: Moment,
        response_status: Number,
        request_path: Text<'a>,
        target_url: Text<'a>,
        provider: Text<'a>,
        model: Text<'a>,
        response_model: Text<'a>,
        request_model: Text<'a>,
        request_body: Option<&'a RawValue>,
        response_body: Option<&'a RawValue>,
        request_properties: Shape<Properties<'a>>,
        properties: Shape<Properties<'a>>,
        cache_reference_id: Text<'a>,
        time_to_first_token: Number,
        delay_ms: Number,
        prompt_tokens: Count,
        completion_tokens: Count,
        prompt_cache_read_tokens: Count,
        prompt_cache_write_tokens: Count,
    }

    /// Values of the client's `Helicone-Property-…` headers and of Helicone's own.
    struct Properties<'a> {
        #[serde(rename = "Helicone-Session-Id")]
        session: Text<'a>,
    }
}

impl Row<'_> {
    /// Refuses rows for which no chat model was asked.
    fn was_sent(&self) -> Result<(), Rejected> {
        if self.response_status.0.is_some_and(|status| !ANSWERED.contains(&status)) {
            return Err((Kind::FailedRequest, "it was not answered, or with an error"));
        }
        let reference = self.cache_reference_id.as_str().unwrap_or_default();
        if reference.bytes().any(|digit| !matches!(digit, b'0' | b'-')) {
            let detail = "answered from Helicone's own cache; nothing was sent to a provider";
            return Err((Kind::OtherEndpoint, detail));
        }
        let path = self.url().unwrap_or_default().split('?').next().unwrap_or_default();
        if OTHER_ENDPOINTS.iter().any(|end| path.ends_with(end)) {
            return Err((Kind::OtherEndpoint, "no prompt for a chat model"));
        }
        Ok(())
    }

    /// Address that the request was sent to.
    fn url(&self) -> Option<&str> {
        let filled = |text: &'_ Text<'_>| text.as_str().is_some_and(|text| !text.is_empty());
        let named = [&self.target_url, &self.request_path].into_iter().find(|text| filled(text));
        named.and_then(Text::as_str)
    }

    fn model(&self) -> Option<&str> {
        let named = [&self.response_model, &self.model, &self.request_model];
        named.into_iter().filter_map(Text::as_str).find(|name| !name.is_empty())
    }

    fn session(&self) -> Option<&str> {
        let of = [&self.request_properties, &self.properties];
        let mut told = of.into_iter().filter_map(|one| one.0.as_ref()?.session.as_str());
        told.find(|session| !session.is_empty())
    }

    /// Time of the request. If only the answer's time is known, the delay is subtracted from it.
    fn start(&self) -> Option<Millis> {
        self.request_created_at.0.or_else(|| {
            let end = self.response_created_at.0?.get();
            let delay = later(Millis::new(0), self.delay_ms.0?).get();
            Some(Millis::new(end.saturating_sub(delay)))
        })
    }

    /// Tokens as Helicone counted them.
    fn billed(&self) -> Result<Billed, Rejected> {
        let prompt = Prompt {
            input: self.prompt_tokens,
            read: self.prompt_cache_read_tokens,
            written: self.prompt_cache_write_tokens,
            lifetimes: [Count::Missing; 2],
        };
        Billed::of_parts(prompt, self.completion_tokens, Count::Missing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Tokens;
    use crate::read::input::Source;

    fn read(rows: &str) -> Log {
        let mut open = OpenSource::open(&Source::in_memory("helicone.json", rows.as_bytes()))
            .expect("bytes in memory");
        Helicone.read(&mut open, &CaptureOptions::default())
    }

    const TIMES: &str = r#""response_id":"r","response_created_at":"2026-09-21T14:13:25.000Z",
        "request_created_at":"2026-09-21T14:13:20.000Z","response_status":200,"request_id":"q""#;

    #[test]
    fn a_messages_request_is_a_capture() {
        let log = read(&format!(
            r#"[{{{TIMES},"target_url":"https://api.anthropic.com/v1/messages","time_to_first_token":800,
                "request_body":{{"model":"claude-opus-5","max_tokens":9,"messages":[{{"role":"user","content":
                    [{{"type":"text","text":"a","cache_control":{{"type":"ephemeral"}}}}]}}]}},
                "response_body":{{"id":"msg_1","usage":{{"input_tokens":3,"cache_read_input_tokens":10,"output_tokens":2}}}},
                "request_properties":{{"Helicone-Session-Id":"s"}}}}]"#
        ));
        let [wire] = &*log.captures.requests else { panic!("one capture: {log:?}") };
        let symbols = &log.captures.symbols;
        assert_eq!(wire.message.map(|id| symbols.text(id)), Some("msg_1"));
        assert_eq!(wire.session.map(|id| symbols.text(id)), Some("s"));
        assert_eq!((wire.start, wire.markers.len()), (Millis::new(1_790_000_000_000), 1));
        assert_eq!(wire.response_started, Some(Millis::new(1_790_000_000_800)));
        assert_eq!(wire.usage.as_ref().map(|usage| usage.prompt.read), Some(Tokens(10)));
        assert!(log.requests.requests.is_empty());
    }

    #[test]
    fn other_requests_are_known_by_their_answers_or_by_the_columns() {
        let log = read(&format!(
            r#"{{"data":[
                {{{TIMES},"provider":"OPENAI","request_path":"https://api.openai.com/v1/responses",
                  "request_body":{{"model":"gpt-5.5","input":[]}},
                  "response_body":{{"id":"resp_1","model":"gpt-5.5-2026-04-23","usage":{{"input_tokens":100,
                      "input_tokens_details":{{"cached_tokens":64}},"output_tokens":7}}}}}},
                {{{TIMES},"provider":"ANTHROPIC","model":"claude-opus-5","prompt_tokens":5,
                  "prompt_cache_read_tokens":90,"prompt_cache_write_tokens":4,"completion_tokens":8}}
            ],"error":null}}"#
        ));
        let [answered, counted] = &*log.requests.requests else { panic!("two: {log:?}") };
        assert_eq!(
            (answered.usage.prompt.input, answered.usage.prompt.read),
            (Tokens(36), Tokens(64))
        );
        assert_eq!(answered.message.map(|id| log.requests.symbols.text(id)), Some("resp_1"));
        let prompt = counted.usage.prompt;
        assert_eq!(
            (prompt.input, prompt.read, prompt.write_5m),
            (Tokens(5), Tokens(90), Tokens(4))
        );
    }

    #[test]
    fn what_was_not_answered_by_a_model_is_named() {
        let stripped = format!(
            r#"{{{TIMES},"target_url":"https://api.anthropic.com/v1/messages",
              "request_body":{{"max_tokens":9,"messages":[{{"content":"<helicone-asset-id key=1/>"}}]}},
              "response_body":{{"usage":{{"input_tokens":3,"cache_read_input_tokens":10,"output_tokens":2}}}}}}"#
        );
        let log = read(&format!(
            "[{stripped},{}]",
            [
                r#"{"response_created_at":"","response_id":"","response_status":-3}"#,
                r#"{"response_status":429}"#,
                r#"{"response_status":200,"cache_reference_id":"7d9c0000-0000-0000-0000-000000000000"}"#,
                r#"{"response_status":200,"request_path":"https://api.openai.com/v1/embeddings"}"#,
                r#"{"response_status":200}"#,
                r#"{"prompt_tokens":5,"prompt_cache_read_tokens":0}"#,
            ]
            .join(",")
        ));
        let count = |kind| log.requests.diagnostics.count(kind);
        assert_eq!((log.requests.requests.len(), log.captures.requests.len()), (1, 0));
        assert_eq!((count(Kind::FailedRequest), count(Kind::OtherEndpoint)), (2, 2));
        assert_eq!((count(Kind::MissingUsage), count(Kind::MissingTimestamp)), (1, 1));
    }
}
