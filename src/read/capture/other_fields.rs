//! Other fields of a request's body, which no other module reads: the service may make them part of the
//! cache key all the same.
//!
//! Every field counts that is not known to leave the prompt alone: context management, tool servers,
//! containers, tiers and places of service, and every field that is new or unknown.
//!
//! Beta features that a request asks for: in a header, in its body, or in both.

use std::hash::BuildHasher as _;

use rustc_hash::FxBuildHasher;
use serde::de::MapAccess;
use serde_json::Value;
use serde_json::value::RawValue;

use super::canonical::{is_misspelled, write_canonical};
use super::parse::session_of_user;
use super::record::{BETA_HEADER, OF_LITELLM, Request, WITHOUT_INFLUENCE};
use crate::base::{ByKey, Order as _, Ordered as _};
use crate::read::input::{Aside, Listed, Text};

/// Fields by name, in the order received.
#[derive(Debug, Default)]
pub(super) struct OtherFields<'a>(Vec<(Text<'a>, &'a RawValue)>);

/// Canonical JSON of the fields of a body that are not modelled: an object with its names in
/// alphabetical order.
pub(super) fn other_fields(body: &Request<'_>) -> String {
    let own = body.other.named("");
    let output =
        body.output_config.0.iter().flat_map(|config| config.other.named("output_config."));
    let mut fields: Vec<(String, &RawValue)> = own.chain(output).collect();
    fields.order_by(|(one, _), (other, _)| one.cmp(other));
    let members: Vec<String> =
        fields.iter().filter_map(|(name, value)| member(name, value)).collect();
    format!("{{{}}}", members.join(","))
}

/// Canonical JSON of the fields of a body that change the answer or its sending, and nothing in front of it: an object
/// with its names in alphabetical order.
pub(super) fn answer_fields(body: &Request<'_>) -> String {
    let told = WITHOUT_INFLUENCE.iter().filter_map(|name| {
        // It names an answer of the recording, so only its presence is a setting.
        if *name == "diagnostics" {
            return body.other.value(name).map(|_| "\"diagnostics\":true".to_owned());
        }
        member(name, body.other.value(name)?)
    });
    let mut members: Vec<String> = told.collect();
    members.extend(metadata(body));
    members.extend(deferred_tools(body));
    members.order();
    format!("{{{}}}", members.join(","))
}

/// Deferred tools together: they are no part of the prompt, and are sent all the same.
fn deferred_tools(body: &Request<'_>) -> Option<String> {
    let tools = body.tools.0.iter().flatten();
    let is_deferred = |tool: &&&RawValue| {
        // Most tools are not, and need not be read again.
        tool.get().contains("defer_loading")
            && serde_json::from_str::<Value>(tool.get())
                .is_ok_and(|tool| tool["defer_loading"] == true)
    };
    let deferred: Vec<&RawValue> = tools.filter(is_deferred).copied().collect();
    let list = serde_json::value::to_raw_value(&deferred).ok()?;
    (!deferred.is_empty()).then(|| member("deferred tools", &list)).flatten()
}

/// Metadata without the session that Claude Code names there, which is another one in every recording.
fn metadata(body: &Request<'_>) -> Option<String> {
    let mut told: Value = serde_json::from_str(body.metadata?.get()).ok()?;
    if let Some(user) = body.user()
        && let Some(session) = session_of_user(&user)
    {
        told["user_id"] = Value::from(user.replace(session, ""));
    }
    let told = serde_json::value::to_raw_value(&told).ok()?;
    member("metadata", &told)
}

/// Returns true if a request is to be served in the United States alone.
pub(super) fn is_us_only(body: &Request<'_>) -> bool {
    let told = body.other.value("inference_geo");
    told.is_some_and(|value| {
        serde_json::from_str(value.get()).is_ok_and(|place: String| place == "us")
    })
}

/// Name and value as a member of an object. A value that is nested too deeply is replaced by its hash, which still
/// distinguishes it from another one.
fn member(name: &str, value: &RawValue) -> Option<String> {
    let name = Value::from(name);
    let mut canonical = Vec::new();
    if write_canonical(&format!("{{{name}:{}}}", value.get()), &mut canonical).is_err() {
        let hash = FxBuildHasher.hash_one(value.get());
        canonical = format!("{{{name}:\"{hash:016x}\"}}").into_bytes();
    }
    let canonical = String::from_utf8(canonical).ok()?;
    canonical.strip_prefix('{')?.strip_suffix('}').map(str::to_owned)
}

impl OtherFields<'_> {
    /// Value of a field, the last of several.
    pub(super) fn value(&self, name: &str) -> Option<&RawValue> {
        self.0.iter().rfind(|(other, _)| other.is(name)).map(|(_, value)| *value)
    }

    /// Returns true if a field has a name like a marker's, and not its own.
    pub(super) fn names_misspelled_marker(&self) -> bool {
        self.0
            .iter()
            .any(|(name, _)| name.as_str().is_some_and(|name| is_misspelled(name.as_bytes())))
    }

    fn named(&self, front: &'static str) -> impl Iterator<Item = (String, &RawValue)> {
        let fields = self.0.iter().filter_map(|(name, value)| Some((name.as_str()?, *value)));
        fields
            .filter(|(name, _)| !WITHOUT_INFLUENCE.contains(name) && !name.starts_with(OF_LITELLM))
            .map(move |(name, value)| (format!("{front}{name}"), value))
    }
}

impl<'de> Aside<'de> for OtherFields<'de> {
    fn take<A: MapAccess<'de>>(&mut self, name: Text<'de>, object: &mut A) -> Result<(), A::Error> {
        self.0.push((name, object.next_value()?));
        Ok(())
    }
}

/// Names of the beta features, each once, in alphabetical order and joined by commas.
///
/// `None` if nothing shows them: the headers were not captured, and the body has no field for them.
pub(super) fn beta_features(headers: Option<&RawValue>, body: &Request<'_>) -> Option<String> {
    let in_headers = headers.and_then(named_by_headers);
    let in_body = [body.betas, body.anthropic_beta].map(|field| field.and_then(feature_names));
    let sources: Vec<Vec<String>> = in_body.into_iter().chain([in_headers]).flatten().collect();
    if sources.is_empty() {
        return None;
    }
    let features: Vec<String> = sources.into_iter().flatten().ordered();
    Some(features.into_iter().collect::<Vec<_>>().join(","))
}

/// Names in the headers; `None` for headers that are no object, which show nothing.
fn named_by_headers(headers: &RawValue) -> Option<Vec<String>> {
    let headers: ByKey<String, &RawValue> = serde_json::from_str(headers.get()).ok()?;
    let beta = headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case(BETA_HEADER));
    Some(beta.filter_map(|(_, value)| feature_names(value)).flatten().collect())
}

/// Names in a comma-separated string, or in a list of such strings; `None` for anything else.
pub(crate) fn feature_names(value: &RawValue) -> Option<Vec<String>> {
    // Headers have one text with commas, bodies a list.
    let texts = match value.get().as_bytes().first()? {
        b'"' => vec![serde_json::from_str(value.get()).ok()?],
        b'[' => serde_json::from_str::<Listed<Text<'_>>>(value.get()).ok()?.0?,
        _ => return None,
    };
    let names = texts.iter().filter_map(Text::as_str).flat_map(|text| text.split(','));
    Some(names.map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn others(body: &str) -> String {
        let body: Request<'_> = serde_json::from_str(body).expect("a body");
        other_fields(&body)
    }

    #[test]
    fn what_is_modelled_or_without_influence_is_left_out() {
        let body = r#"{"model":"m","max_tokens":1,"stream":true,"temperature":0.5,"metadata":{},
            "messages":[],"cache_control":{},"diagnostics":{"previous_message_id":"msg_1"},
            "output_config":{"effort":"low"},"litellm_call_id":"c","litellm_metadata":{}}"#;
        assert_eq!(others(body), "{}");
    }

    #[test]
    fn the_rest_is_canonical_and_in_alphabetical_order() {
        let body = r#"{"z":[1, 2], "model":"m", "a\u0062":{"cache_control": {}, "b":"\u0041"},
            "output_config":{"task_budget":{ "total": 7 },"effort":"low"}}"#;
        let expected = r#"{"ab":{"cache_control":{},"b":"A"},"output_config.task_budget":{"total":7},"z":[1,2]}"#;
        assert_eq!(others(&body.replace(r"\\", r"\")), expected);
    }

    #[test]
    fn what_is_nested_too_deeply_is_told_from_another_one() {
        let nested = |levels| {
            let deep = "[".repeat(levels) + &"]".repeat(levels);
            let others = others(&format!(r#"{{"deep":{deep},"flat":[]}}"#));
            let fields: ByKey<String, Value> = serde_json::from_str(&others).expect("JSON");
            assert!(fields["flat"] == serde_json::json!([]) && others.len() < 50, "{others}");
            fields["deep"].clone()
        };
        assert_eq!(nested(200), nested(200));
        assert_ne!(nested(200), nested(300));
    }

    fn features(headers: &str, body: &str) -> Option<String> {
        let headers: Option<&RawValue> = serde_json::from_str(headers).expect("headers");
        beta_features(headers, &serde_json::from_str(body).expect("a body"))
    }

    #[test]
    fn names_stand_in_headers_whatever_their_case() {
        let headers = r#"{"Anthropic-Beta":"fast-2, context-1,","x":"y"}"#;
        assert_eq!(features(headers, "{}").as_deref(), Some("context-1,fast-2"));
        let list = r#"{"anthropic-beta":["b,a","c",7]}"#;
        assert_eq!(features(list, "{}").as_deref(), Some("a,b,c"));
    }

    #[test]
    fn names_stand_in_the_body_too() {
        let body = r#"{"betas":["b"],"anthropic_beta":["a"]}"#;
        assert_eq!(features("null", body).as_deref(), Some("a,b"));
        assert_eq!(features(r#"{"anthropic-beta":"c,b"}"#, body).as_deref(), Some("a,b,c"));
    }

    #[test]
    fn headers_without_names_tell_more_than_no_headers() {
        assert_eq!(features(r#"{"x":"y"}"#, "{}").as_deref(), Some(""));
        assert_eq!(features("null", "{}"), None);
        assert_eq!(features("[1]", r#"{"betas":7}"#), None);
    }
}
