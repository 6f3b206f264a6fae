//! Request to the Messages API with its answer, converted from a log into a capture record.
//!
//! The body is pasted as written: only the reader of captures decodes it.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::LogReader;
use super::billed::Billed;
use super::messages_form::in_messages_form;
use super::other_api::{OtherApi, other_api};
use crate::base::{Client, EntryId, Millis, Tokens};
use crate::read::agent::{AgentRequest, Rejected, Vendor};
use crate::read::answer::{Answer, is_object, usage_events};
use crate::read::capture::{Elsewhere, is_messages_endpoint, session_of_user};
use crate::read::input::{Kind, ServiceTier, Shape, Text, lenient, only_value};

/// Request body that may be one of the Messages API.
pub(super) struct MessagesBody<'a> {
    json: &'a str,
    /// Name of the model as written, with its quotes.
    model: Option<&'a str>,
    /// Session that Claude Code names in the body.
    pub(super) session: Option<String>,
}

impl<'a> MessagesBody<'a> {
    /// Body, if its fields show one of the Messages API: only that API requires `max_tokens` in every request.
    pub(super) fn of(json: &'a str) -> Option<Self> {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Fields<'a> {
            #[serde(borrow)]
            model: Option<&'a RawValue>,
            messages: Option<&'a RawValue>,
            max_tokens: Option<&'a RawValue>,
            metadata: Shape<Metadata<'a>>,
        }
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Metadata<'a> {
            #[serde(borrow)]
            user_id: Text<'a>,
        }
        let json = json.trim();
        let fields: Fields<'a> = only_value::<Shape<_>>(json).ok()?.0?;
        let is_list = fields.messages.is_some_and(|messages| messages.get().starts_with('['));
        let user = fields.metadata.0.and_then(|metadata| metadata.user_id.0);
        let session = user.and_then(|user| session_of_user(&user).map(str::to_owned));
        let model = fields.model.map(RawValue::get);
        (is_list && fields.max_tokens.is_some()).then_some(Self { json, model, session })
    }

    /// Body that was brought into the form of the Messages API.
    fn in_form(json: &'a str) -> Self {
        Self { json, model: None, session: None }
    }

    /// Model that the body asks for.
    pub(super) fn model(&self) -> Option<String> {
        serde_json::from_str(self.model?).ok()
    }

    /// Appends the body under the name of the model that answered. The body may have another name or none.
    fn write(&self, model: Option<&str>, record: &mut String) {
        let Some(model) = model else { return record.push_str(self.json) };
        let name = Value::from(model).to_string();
        // `own` is a slice of the body, so its address gives its offset. All other bytes stay as sent.
        let place = self.model.map(|own| own.as_ptr().addr() - self.json.as_ptr().addr());
        let around = match (place, self.model) {
            (Some(start), Some(own)) => {
                self.json.get(..start).zip(self.json.get(start + own.len()..))
            }
            _ => None,
        };
        if let Some((front, back)) = around {
            record.extend([front, &name, back]);
        } else {
            // Bedrock and Google Cloud take the model from the address, and their bodies name none.
            let fields = self.json.strip_prefix('{').unwrap_or_default();
            record.extend(["{\"model\":", &name, ",", fields]);
        }
    }
}

/// Metadata of a logged request.
#[derive(Clone, Copy, Default)]
pub(super) struct Envelope<'a> {
    /// Time at which the request was sent.
    pub(super) sent: Option<Millis>,
    /// Start of the answer.
    pub(super) answered: Option<Millis>,
    /// Id of the request in the log.
    pub(super) request: Option<&'a str>,
    /// Session, if the log names it.
    pub(super) session: Option<&'a str>,
    /// Model that answered, if it differs from the body's.
    pub(super) model: Option<&'a str>,
    /// Beta features that a header asked for.
    pub(super) betas: Option<&'a str>,
    /// True for a request of a batch, which pays half.
    pub(super) is_batch: bool,
}

/// Endings of addresses of other APIs.
const OTHER_ENDPOINTS: [(&str, OtherApi); 6] = [
    ("/responses", OtherApi::Responses),
    ("/chat/completions", OtherApi::Chat),
    ("/converse", OtherApi::Converse),
    ("/converse-stream", OtherApi::Converse),
    (":generateContent", OtherApi::Gemini),
    (":streamGenerateContent", OtherApi::Gemini),
];

/// Status codes of a successful answer.
pub(super) const ANSWERED: std::ops::Range<f64> = 200.0..300.0;

/// Refuses requests to an address that ask no model.
pub(super) fn asks_model(url: &str, sent: &str) -> Result<(), Rejected> {
    let asks =
        api_at(url).is_some() || is_messages_endpoint(url) && MessagesBody::of(sent).is_some();
    asks.then_some(()).ok_or((Kind::OtherEndpoint, "no request to a model"))
}

/// Other API that an address belongs to.
fn api_at(url: &str) -> Option<OtherApi> {
    let at = OTHER_ENDPOINTS.iter().find(|(end, _)| path_of(url).ends_with(end));
    at.map(|(_, api)| *api)
}

/// Exchange with a model's service, as a log has it.
#[derive(Default)]
pub(super) struct Exchange<'a> {
    /// Line of the exchange, or its number in a document.
    pub(super) line: u64,
    /// Address, if the log has it.
    pub(super) url: Option<&'a str>,
    /// Body of the request.
    pub(super) sent: &'a str,
    /// Body or stream of the answer.
    pub(super) answer: &'a str,
    pub(super) envelope: Envelope<'a>,
    /// End of the answer.
    pub(super) finished: Option<Millis>,
}

impl Exchange<'_> {
    /// Whether the request is one to the Messages API, and the other API that it is one to: by its address, or else by
    /// its body.
    fn api(&self) -> (bool, Option<OtherApi>) {
        let of_body = || other_api(&serde_json::from_str(self.sent).ok()?);
        let api = match self.url {
            Some(url) => api_at(url),
            None => of_body(),
        };
        (self.url.map_or(api.is_none(), is_messages_endpoint), api)
    }
}

impl LogReader<'_> {
    /// Adds an exchange: as a capture if its body is a conversation, any other by the usage of its answer. Without a time
    /// it keeps its place in the file.
    ///
    /// # Errors
    /// The answer has no usage, or an impossible one.
    pub(super) fn exchange(&mut self, exchange: &Exchange<'_>) -> Result<(), Rejected> {
        let Exchange { line, url, sent, answer, ref envelope, finished } = *exchange;
        self.file.line = line;
        // Of a request that is left out nothing is said of its time.
        let mut start = || envelope.sent.unwrap_or_else(|| self.file.untimed());
        // Bedrock and Google Cloud take the model from the address.
        let of_address = || model_of(path_of(url?));
        let (is_of_messages, api) = exchange.api();
        if is_of_messages && let Some(body) = MessagesBody::of(sent) {
            let model = body.model().is_none().then(of_address).flatten();
            let model = envelope.model.or(model.as_deref());
            let envelope = Envelope { sent: Some(start()), model, ..*envelope };
            self.capture((line, url), &body, &envelope, &Answered::Sent(answer));
            return Ok(());
        }
        let answer = Answer::of(answer);
        let no_usage = (Kind::MissingUsage, "the answer tells no usage");
        let mut billed = Billed::of(answer.usage.as_deref().ok_or(no_usage)?)?;
        if envelope.is_batch {
            billed.usage.tier.service = ServiceTier::Batch;
        }
        let asked = only_value::<Shape<Asked<'_>>>(sent).ok().and_then(|asked| asked.0);
        let asked = asked.unwrap_or_default();
        let named = [answer.model.as_deref(), envelope.model, asked.model()];
        let model = named.into_iter().flatten().next().map(str::to_owned).or_else(of_address);
        let session = envelope.session.or(asked.conversation());
        let start = start();
        let is_claude = model.as_deref().map(Vendor::of) == Some(Vendor::Anthropic);
        // No rule can be applied to a request of Claude's of which nothing tells the writes.
        let api = api.filter(|_| model.is_some() && (!is_claude || billed.knows_writes));
        if let Some(form) = api.and_then(|api| in_messages_form(api, sent)) {
            let model = model.as_deref();
            let envelope = Envelope { sent: Some(start), session, model, ..*envelope };
            let usage = billed.as_of_messages();
            let answered = Answered::Told(answer.id.as_deref(), &usage);
            let record = record(&MessagesBody::in_form(&form), &envelope, &answered);
            let elsewhere = (!is_claude).then_some(Elsewhere {
                knows_writes: billed.knows_writes,
                has_reasoning: billed.reasoning > Tokens::ZERO,
                tier: billed.usage.tier,
            });
            self.captures.record(&record, (line, url), elsewhere);
            return Ok(());
        }
        let model = self.file.model(&Text(model.map(Into::into)));
        let mut symbol = |text: Option<&str>| text.map(|text| self.file.symbols.intern(text));
        let [session, message] = [session, answer.id.as_deref()].map(&mut symbol);
        // The id of the answer, or else that of the request, makes a copy of the file count once.
        let identity = answer.id.as_deref().or(envelope.request);
        let usage = billed.usage.clone();
        let times = (start, finished.unwrap_or(start));
        let request = AgentRequest {
            identity: identity.map(|id| EntryId::of(&format!("exchange:{id}"))),
            session,
            message,
            ..AgentRequest::new((Client::Capture, line), model, times, usage)
        };
        self.add(&billed, request);
        Ok(())
    }
}

lenient! {
    /// Fields of a request to another service that are read.
    struct Asked<'a> {
        model: Text<'a>,
        #[serde(rename = "modelId")]
        model_id: Text<'a>,
        prompt_cache_key: Text<'a>,
    }
}

impl Asked<'_> {
    fn model(&self) -> Option<&str> {
        self.model.as_str().or(self.model_id.as_str())
    }

    /// Conversation: Codex uses its id as the cache key. Other clients may share a key, so only a UUID counts.
    fn conversation(&self) -> Option<&str> {
        let key = self.prompt_cache_key.as_str()?;
        EntryId::of(key).is_uuid(key).then_some(key)
    }
}

/// Address without its query and fragment.
fn path_of(url: &str) -> &str {
    url.split(['?', '#']).next().unwrap_or(url).trim_end_matches('/')
}

/// Model that an address names: `/model/NAME/invoke` on Bedrock, `/models/NAME:rawPredict` on Google Cloud, whose region
/// decides the price.
fn model_of(path: &str) -> Option<String> {
    let behind = ["/model/", "/models/"].iter().find_map(|word| path.rsplit_once(word))?.1;
    let name = match behind.rsplit_once('/') {
        Some((name, _)) => name,
        None => behind.rsplit_once(':').map_or(behind, |(name, _)| name),
    };
    let name = percent_encoding::percent_decode_str(name).decode_utf8().ok()?;
    let region = path.split_once("/locations/").and_then(|(_, rest)| rest.split('/').next());
    let name = match region {
        Some(region) => format!("locations/{region}/{name}"),
        None => name.into_owned(),
    };
    (!name.ends_with('/') && !name.is_empty()).then_some(name)
}

/// Answer to a logged request.
pub(super) enum Answered<'a> {
    /// Body or stream as the service sent it.
    Sent(&'a str),
    /// Id of the message, and usage in the form of Anthropic's API.
    Told(Option<&'a str>, &'a str),
}

/// Capture record of an answered request.
pub(super) fn record(
    body: &MessagesBody<'_>,
    envelope: &Envelope<'_>,
    answer: &Answered<'_>,
) -> String {
    let mut record = String::with_capacity(body.json.len() + 1_024);
    record.push('{');
    // The client's name for the session comes first: LiteLLM gives each request a session of its own.
    let session = body.session.as_deref().or(envelope.session);
    for (name, text) in [("request_id", envelope.request), ("session_id", session)] {
        if let Some(text) = text {
            push(&mut record, name, &Value::from(text).to_string());
        }
    }
    // Times, headers and bodies are where the exchanges of claude-trace logs have them.
    record.push_str("\"request\":{");
    if let Some(sent) = envelope.sent {
        push(&mut record, "timestamp", &seconds(sent));
    }
    if let Some(betas) = envelope.betas {
        let betas = Value::from(betas);
        push(&mut record, "headers", &format!("{{\"anthropic-beta\":{betas}}}"));
    }
    record.push_str("\"body\":");
    body.write(envelope.model, &mut record);
    record.push_str("},\"response\":{");
    if let Some(answered) = envelope.answered {
        push(&mut record, "timestamp", &seconds(answered));
    }
    push_answer(&mut record, answer);
    record.push_str("}}");
    record
}

fn push_answer(record: &mut String, answer: &Answered<'_>) {
    match answer {
        Answered::Sent(text) if is_object(text) => {
            record.extend(["\"body\":", text.trim_start_matches('\u{feff}').trim()]);
        }
        Answered::Sent(stream) => {
            // The text of the answer is dropped: a record needs the usage events alone.
            record.extend(["\"body_raw\":", &Value::from(usage_events(stream)).to_string()]);
        }
        Answered::Told(message, usage) => {
            record.push_str("\"body\":{");
            if let Some(message) = message {
                push(record, "id", &Value::from(*message).to_string());
            }
            record.extend(["\"usage\":", usage, "}"]);
        }
    }
}

/// Appends a member and the comma behind it.
fn push(record: &mut String, name: &str, json: &str) {
    record.extend(["\"", name, "\":", json, ","]);
}

/// Time in seconds, as claude-trace logs write it.
fn seconds(moment: Millis) -> String {
    let millis = moment.get();
    format!("{}.{:03}", millis.div_euclid(1_000), millis.rem_euclid(1_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_body_stays_as_it_is_but_for_the_model() {
        let json = r#"{"max_tokens": 1, "model": "alias", "messages": [ {"role":"user"} ]}"#;
        let body = MessagesBody::of(json).expect("a body");
        assert_eq!(body.model().as_deref(), Some("alias"));
        let written = |body: &MessagesBody<'_>, model| {
            let mut text = String::new();
            body.write(model, &mut text);
            text
        };
        assert_eq!(written(&body, None), json);
        assert_eq!(written(&body, Some("claude-x")), json.replace("alias", "claude-x"));
        let nameless = r#"{"messages":[],"max_tokens":1}"#;
        let body = MessagesBody::of(nameless).expect("a body");
        assert_eq!(
            written(&body, Some("claude-x")),
            r#"{"model":"claude-x","messages":[],"max_tokens":1}"#
        );
    }

    #[test]
    fn other_bodies_are_none() {
        for json in [
            "{}",
            r#"{"messages":{},"max_tokens":1}"#,
            r#"{"messages":[]}"#,
            "[]",
            "x",
            r#"{"model":"a","model":"b","messages":[],"max_tokens":1}"#,
        ] {
            assert!(MessagesBody::of(json).is_none(), "{json}");
        }
    }

    #[test]
    fn a_record_is_json_whatever_is_in_it() {
        let json = r#"{"messages":[],"max_tokens":1,"metadata":{"user_id":"user_1_session_ab-1"}}"#;
        let body = MessagesBody::of(json).expect("a body");
        let envelope = Envelope {
            sent: Some(Millis::new(1_790_000_000_005)),
            request: Some("a\"b"),
            session: Some("other"),
            ..Envelope::default()
        };
        let record = record(&body, &envelope, &Answered::Told(Some("msg_1"), "{}"));
        let value: Value = serde_json::from_str(&record).expect("JSON");
        assert_eq!(value["request"]["timestamp"], 1_790_000_000.005);
        assert_eq!((&value["request_id"], &value["session_id"]), (&"a\"b".into(), &"ab-1".into()));
        assert_eq!(value["response"]["body"]["id"], "msg_1");
    }

    #[test]
    fn a_model_may_stand_in_the_address() {
        for (path, model) in [
            (
                "https://x/model/us.anthropic.claude-opus-4-5-v1%3A0/invoke",
                "us.anthropic.claude-opus-4-5-v1:0",
            ),
            (
                "https://x/v1/projects/p/publishers/anthropic/models/claude-opus-4-5@20251101:streamRawPredict",
                "claude-opus-4-5@20251101",
            ),
            (
                "https://x/v1/projects/p/locations/us-east5/publishers/anthropic/models/claude-opus-4-5:rawPredict",
                "locations/us-east5/claude-opus-4-5",
            ),
            ("https://x/v1beta/models/gemini-2.5-pro:generateContent", "gemini-2.5-pro"),
        ] {
            assert_eq!(model_of(path).as_deref(), Some(model));
        }
        assert_eq!(model_of("https://x/v1/messages"), None);
    }
}
