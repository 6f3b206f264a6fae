//! Row of `LiteLLM_SpendLogs`, or the payload of `LiteLLM`'s other loggers (S3, GCS and the like), which has the
//! same fields under other names of ids.
//!
//! - `prompt_tokens` is the whole prompt. Its parts are in `metadata.usage_object`; older versions had them
//!   in `metadata.additional_usage_values`, without the sums.
//! - `cache_hit` is about `LiteLLM`'s own cache of answers: nothing was sent to a provider.
//! - `session_id` is a trace, made up for a request if the client names none. For Claude Code's requests
//!   `end_user` is the `metadata.user_id` of the body, which names the session.
//! - `request_id` is the answer's id if it has one, else one of `LiteLLM`'s.
//! - `model` may have the provider in front; `bedrock` is always there.
//! - `proxy_server_request` is the body as the client sent it, if bodies are stored. Texts in it that are
//!   longer than 2,048 characters are cut in the middle, unless `MAX_STRING_LENGTH_PROMPT_IN_DB` allows more.
//! - `metadata` and the body are JSON, or a string of JSON.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::billed::Billed;
use super::moment::Moment;
use crate::read::agent::Rejected;
use crate::read::answer::is_object;
use crate::read::capture::session_of_user;
use crate::read::input::{Count, Kind, Shape, Text, lenient, only_value};

/// Columns that are read.
pub(super) const COLUMNS: [&str; 16] = [
    "request_id",
    "call_type",
    "startTime",
    "endTime",
    "completionStartTime",
    "model",
    "custom_llm_provider",
    "prompt_tokens",
    "completion_tokens",
    "session_id",
    "end_user",
    "cache_hit",
    "status",
    "api_base",
    "metadata",
    "proxy_server_request",
];

/// Columns without which a table is not a spend log. Spellings vary in the case of letters.
pub(super) const NEEDED_COLUMNS: [&str; 5] =
    ["request_id", "call_type", "startTime", "model", "prompt_tokens"];

/// Description of the columns that a table lacks; `None` if it has the needed ones.
pub(super) fn lacking_columns(has: impl Fn(&str) -> bool) -> Option<String> {
    let lacking: Vec<&str> = NEEDED_COLUMNS.into_iter().filter(|name| !has(name)).collect();
    let columns = if lacking.len() == 1 { "column" } else { "columns" };
    let names = lacking.join(", ");
    (!lacking.is_empty())
        .then(|| format!("without the {columns} {names} of a spend log of LiteLLM"))
}

/// Calls that send a prompt to a model. Every other call is reported and left out.
const CALLS: [&str; 18] = [
    "",
    "completion",
    "acompletion",
    "text_completion",
    "atext_completion",
    "responses",
    "aresponses",
    "anthropic_messages",
    "aanthropic_messages",
    "pass_through_endpoint",
    "llm_passthrough_route",
    "allm_passthrough_route",
    "generate_content",
    "agenerate_content",
    "generate_content_stream",
    "agenerate_content_stream",
    "_aresponses_websocket",
    "completion_with_retries",
];

/// Calls of the Messages API.
const MESSAGES_CALLS: [&str; 5] = [
    "anthropic_messages",
    "aanthropic_messages",
    "pass_through_endpoint",
    "llm_passthrough_route",
    "allm_passthrough_route",
];

/// Marks of `LiteLLM` in a body that it cut or emptied.
pub(crate) const MARKS_OF_CHANGE: [&str; 2] = ["litellm_truncated", "redacted-by-litellm"];

/// Prefixes of the ids of messages.
const MESSAGE_IDS: [&str; 4] = ["msg_", "chatcmpl-", "resp_", "gen-"];

lenient! {
    /// Row of a spend log. Fields have the names of the table's columns.
    pub(super) struct SpendRow<'a> {
        request_id: Text<'a>,
        /// `request_id` of a payload.
        id: Text<'a>,
        call_type: Text<'a>,
        #[serde(rename = "startTime")]
        pub(super) start: Moment,
        #[serde(rename = "endTime")]
        pub(super) end: Moment,
        #[serde(rename = "completionStartTime")]
        pub(super) answered: Moment,
        model: Text<'a>,
        custom_llm_provider: Text<'a>,
        prompt_tokens: Count,
        completion_tokens: Count,
        session_id: Text<'a>,
        /// `session_id` of a payload.
        trace_id: Text<'a>,
        end_user: Text<'a>,
        cache_hit: Option<&'a RawValue>,
        /// `cache_hit` in a table.
        #[serde(skip)]
        cache_hit_cell: Text<'a>,
        status: Text<'a>,
        api_base: Text<'a>,
        metadata: Embedded<'a>,
        proxy_server_request: Embedded<'a>,
    }

    struct Metadata<'a> {
        status: Text<'a>,
        usage_object: Embedded<'a>,
        additional_usage_values: Embedded<'a>,
    }
}

impl<'a> SpendRow<'a> {
    /// Row of a table, from the texts of its cells.
    pub(super) fn of_cells(cell: impl Fn(&str) -> Option<Cow<'a, str>>) -> Self {
        let text = |name: &str| Text(cell(name));
        let count = |name: &str| cell(name).map_or(Count::Missing, |text| count_of(&text));
        let moment = |name: &str| cell(name).map_or(Moment(None), |text| Moment::of(&text));
        Self {
            request_id: text("request_id"),
            call_type: text("call_type"),
            start: moment("startTime"),
            end: moment("endTime"),
            answered: moment("completionStartTime"),
            model: text("model"),
            custom_llm_provider: text("custom_llm_provider"),
            prompt_tokens: count("prompt_tokens"),
            completion_tokens: count("completion_tokens"),
            session_id: text("session_id"),
            end_user: text("end_user"),
            cache_hit_cell: text("cache_hit"),
            status: text("status"),
            api_base: text("api_base"),
            metadata: Embedded::of(cell("metadata")),
            proxy_server_request: Embedded::of(cell("proxy_server_request")),
            ..Self::default()
        }
    }

    /// Id of the request in the log.
    pub(super) fn id(&self) -> Option<&str> {
        filled(&self.request_id).or_else(|| filled(&self.id))
    }

    /// Id of the answer's message, if it is the id of the row.
    pub(super) fn message(&self) -> Option<&str> {
        self.id().filter(|id| MESSAGE_IDS.iter().any(|front| id.starts_with(front)))
    }

    /// Session of the request: the client's if it names one, else the log's.
    pub(super) fn session(&self) -> Option<&str> {
        let of_client = self.end_user.as_str().and_then(session_of_user);
        of_client.or_else(|| filled(&self.session_id)).or_else(|| filled(&self.trace_id))
    }

    /// Model without the provider in front.
    pub(super) fn model(&self) -> Option<&str> {
        let name = filled(&self.model)?;
        let rest = match filled(&self.custom_llm_provider) {
            Some(provider) => name.strip_prefix(provider).and_then(|rest| rest.strip_prefix('/')),
            None => name.split_once('/').map(|(_, rest)| rest),
        };
        Some(rest.filter(|rest| !rest.is_empty()).unwrap_or(name))
    }

    /// Provider that the request was sent to.
    pub(super) fn route(&self) -> Option<&str> {
        let in_front = || filled(&self.model)?.split_once('/').map(|(provider, _)| provider);
        filled(&self.custom_llm_provider).or_else(in_front).filter(|name| !name.is_empty())
    }

    /// Address that the request was sent to.
    pub(super) fn url(&self) -> Option<&str> {
        let usual = || (self.route()? == "anthropic").then_some("https://api.anthropic.com");
        filled(&self.api_base).or_else(usual)
    }

    /// Body of a request to the Messages API, if it is stored as it was sent.
    pub(super) fn body(&self) -> Option<&str> {
        let is_call = self.call_type.as_str().is_some_and(|call| MESSAGES_CALLS.contains(&call));
        let body = self.proxy_server_request.0.as_deref().filter(|_| is_call)?;
        let is_changed = MARKS_OF_CHANGE.iter().any(|mark| body.contains(mark));
        (!is_changed).then_some(body)
    }

    /// Billed tokens of the row.
    ///
    /// # Errors
    /// Nothing was sent to a provider, or no usable usage is recorded.
    pub(super) fn billed(&self) -> Result<Billed, Rejected> {
        let metadata = self.metadata.read::<Metadata<'_>>();
        self.was_sent(&metadata)?;
        let Self { prompt_tokens, completion_tokens, .. } = *self;
        let sums = sums(prompt_tokens, completion_tokens);
        let of_object = metadata.usage_object.0.as_deref().map(Billed::of);
        if let Some(Ok(billed)) = of_object {
            return Ok(billed);
        }
        let additional = metadata.additional_usage_values.0.as_deref();
        let of_values = additional.map(|values| {
            // Older versions left out the sums: without them the row's own are put in front.
            let rest = values.trim_start().trim_start_matches('{');
            Billed::of(values).or_else(|_| Billed::of(&format!("{{{sums},{rest}")))
        });
        if let Some(Ok(billed)) = of_values {
            return Ok(billed);
        }
        let is_passed_on = self.call_type.as_str().is_some_and(|call| call.contains("pass"));
        let of_sums = Billed::of(&format!("{{{sums}}}"));
        match of_object.or(of_values).unwrap_or(of_sums) {
            // It may have gone to any endpoint, so the missing tokens are no damage.
            Err((Kind::MissingUsage, _)) if is_passed_on => {
                Err((Kind::OtherEndpoint, "a call that was passed through without tokens"))
            }
            told => told,
        }
    }

    /// Refuses rows for which no model was asked.
    fn was_sent(&self, metadata: &Metadata<'_>) -> Result<(), Rejected> {
        if self.is_cache_hit() {
            let detail = "answered from LiteLLM's own cache; nothing was sent to a provider";
            return Err((Kind::OtherEndpoint, detail));
        }
        if self.status.is("failure") || metadata.status.is("failure") {
            return Err((Kind::FailedRequest, "it was answered with an error"));
        }
        if !CALLS.contains(&self.call_type.as_str().unwrap_or_default()) {
            return Err((Kind::OtherEndpoint, "a call that sends no prompt to a chat model"));
        }
        Ok(())
    }

    fn is_cache_hit(&self) -> bool {
        let told = self.cache_hit.map(|json| json.get().trim_matches('"'));
        let told = told.or(self.cache_hit_cell.as_str());
        told.is_some_and(|told| told.eq_ignore_ascii_case("true"))
    }
}

/// The row's own counts as members of a usage object.
fn sums(prompt: Count, completion: Count) -> String {
    let json = |count: Count| match count {
        Count::Value(value) => value.to_string(),
        // A negative count is refused like any other invalid one.
        Count::Invalid => "-1".to_owned(),
        Count::Missing | Count::Null => "null".to_owned(),
    };
    format!(r#""prompt_tokens":{},"completion_tokens":{}"#, json(prompt), json(completion))
}

/// JSON of an object, written as one or in a string.
#[derive(Debug, Default)]
pub(super) struct Embedded<'a>(pub(super) Option<Cow<'a, str>>);

impl<'a> Embedded<'a> {
    pub(super) fn of(text: Option<Cow<'a, str>>) -> Self {
        Self(text.filter(|text| is_object(text)))
    }

    fn read<'t, T: Default + Deserialize<'t>>(&'t self) -> T {
        let json = self.0.as_deref().unwrap_or_default();
        only_value::<Shape<T>>(json).ok().and_then(|shape| shape.0).unwrap_or_default()
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Embedded<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let json = <&'de RawValue>::deserialize(deserializer)?.get();
        if json.starts_with('"') {
            return Ok(Self::of(only_value::<Text<'de>>(json).unwrap_or_default().0));
        }
        Ok(Self::of(Some(Cow::Borrowed(json))))
    }
}

/// JSON of a table's row, as the log would have it.
pub(super) fn json_of_cells<'a>(cell: impl Fn(&str) -> Option<Cow<'a, str>>) -> serde_json::Value {
    use serde_json::{Map, Value};

    let value = |name: &&str| {
        let text = cell(name)?;
        let value = match (*name, count_of(&text)) {
            ("prompt_tokens" | "completion_tokens", Count::Value(count)) => count.into(),
            // An invalid count stays invalid.
            ("prompt_tokens" | "completion_tokens", _) => (-1).into(),
            _ => Value::from(text.into_owned()),
        };
        Some(((*name).to_owned(), value))
    };
    // `spend` is one of the columns that identify such a log.
    let known = std::iter::once(("spend".to_owned(), Value::Null));
    known.chain(COLUMNS.iter().filter_map(value)).collect::<Map<_, _>>().into()
}

/// Count in a cell. Tables of numbers that may be missing write whole ones with a point.
fn count_of(text: &str) -> Count {
    let whole = text.split_once('.').map_or(Some(text), |(whole, fraction)| {
        fraction.bytes().all(|digit| digit == b'0').then_some(whole)
    });
    whole.and_then(|whole| whole.parse().ok()).map_or(Count::Invalid, Count::Value)
}

fn filled<'t>(text: &'t Text<'_>) -> Option<&'t str> {
    text.as_str().filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::{Millis, Tokens};

    fn row(json: &str) -> SpendRow<'_> {
        serde_json::from_str(json).expect("a row")
    }

    #[test]
    fn a_row_and_a_payload_say_the_same() {
        let usage = r#"{"prompt_tokens":100,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":80}}"#;
        let text = serde_json::to_string(&format!(r#"{{"usage_object":{usage}}}"#)).expect("JSON");
        let of_table = format!(
            r#"{{"request_id":"chatcmpl-1","call_type":"acompletion","startTime":"2026-09-21T14:13:20",
                "model":"openai/gpt-5.5","custom_llm_provider":"openai","prompt_tokens":100,
                "completion_tokens":5,"session_id":"s","cache_hit":"None","metadata":{text}}}"#
        );
        let payload = format!(
            r#"{{"id":"chatcmpl-1","trace_id":"s","call_type":"acompletion","startTime":1790000000.0,
                "model":"gpt-5.5","custom_llm_provider":"openai","cache_hit":null,
                "metadata":{{"usage_object":{usage}}}}}"#
        );
        for json in [of_table, payload] {
            let row = row(&json);
            let usage = row.billed().expect("usage").usage;
            assert_eq!((usage.prompt.input, usage.prompt.read), (Tokens(20), Tokens(80)), "{json}");
            assert_eq!(row.start.0, Some(Millis::new(1_790_000_000_000)));
            assert_eq!((row.model(), row.route()), (Some("gpt-5.5"), Some("openai")));
            assert_eq!((row.message(), row.session()), (Some("chatcmpl-1"), Some("s")));
        }
    }

    #[test]
    fn older_rows_have_parts_without_sums() {
        let chat = row(r#"{"call_type":"acompletion","prompt_tokens":100,"completion_tokens":5,
            "metadata":{"additional_usage_values":{"cache_creation_input_tokens":30,"cache_read_input_tokens":60}}}"#);
        let prompt = chat.billed().expect("usage").usage.prompt;
        assert_eq!(
            (prompt.input, prompt.read, prompt.write_5m),
            (Tokens(100 - 90), Tokens(60), Tokens(30))
        );
        let messages = row(
            r#"{"call_type":"anthropic_messages","prompt_tokens":0,"completion_tokens":0,
            "metadata":{"additional_usage_values":{"input_tokens":10,"cache_creation_input_tokens":30,
                "cache_read_input_tokens":60,"output_tokens":7}}}"#,
        );
        let usage = messages.billed().expect("usage").usage;
        assert_eq!((usage.prompt.total(), usage.output), (Tokens(100), Tokens(7)));
    }

    #[test]
    fn rows_of_no_request_are_told_apart() {
        let sums = r#""prompt_tokens":9,"completion_tokens":1"#;
        for (fields, kind) in [
            (r#""cache_hit":"True""#, Kind::OtherEndpoint),
            (r#""cache_hit":true"#, Kind::OtherEndpoint),
            (r#""status":"failure""#, Kind::FailedRequest),
            (r#""metadata":"{\"status\":\"failure\"}""#, Kind::FailedRequest),
            (r#""call_type":"aembedding""#, Kind::OtherEndpoint),
            (r#""call_type":"acompletion""#, Kind::UsageWithoutCacheCounters),
        ] {
            let json = format!("{{{fields},{sums}}}");
            assert_eq!(
                row(&json).billed().map(|_| ()).map_err(|(kind, _)| kind),
                Err(kind),
                "{json}"
            );
        }
        let passed = row(r#"{"call_type":"pass_through_endpoint","prompt_tokens":0}"#);
        assert!(matches!(passed.billed(), Err((Kind::OtherEndpoint, _))));
    }

    #[test]
    fn the_client_names_the_session_better_than_a_trace() {
        let row = row(r#"{"end_user":"user_1_account__session_ab-7","session_id":"trace"}"#);
        assert_eq!(row.session(), Some("ab-7"));
    }

    #[test]
    fn a_body_that_was_cut_is_none() {
        let of = |body: &str| {
            format!(r#"{{"call_type":"anthropic_messages","proxy_server_request":{body}}}"#)
        };
        assert!(row(&of(r#"{"messages":[]}"#)).body().is_some());
        assert!(row(&of(r#""{\"messages\":[]}""#)).body().is_some());
        let cut = of(r#"{"messages":["a... (litellm_truncated skipped 9 chars) ...b"]}"#);
        assert!(row(&cut).body().is_none());
        let chat = cut.replace("anthropic_messages", "acompletion");
        assert!(row(&chat).body().is_none());
    }

    #[test]
    fn cells_are_read_as_they_are_exported() {
        for (text, count) in [
            ("12", Count::Value(12)),
            ("12.0", Count::Value(12)),
            ("12.5", Count::Invalid),
            ("-1", Count::Invalid),
            ("x", Count::Invalid),
        ] {
            assert_eq!(count_of(text), count, "{text}");
        }
    }
}
