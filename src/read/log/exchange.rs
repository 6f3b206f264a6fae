//! Request to the Messages API with its answer, converted from a log into a capture record.
//!
//! The body is pasted as written: only the reader of captures decodes it.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::base::Millis;
use crate::read::answer::{is_object, usage_events};
use crate::read::capture::session_of_user;
use crate::read::input::{Shape, Text, only_value};

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
#[derive(Default)]
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
}
