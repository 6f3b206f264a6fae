//! Other fields of a request's body, which no other module reads: the service may make them part of the
//! cache key all the same.
//!
//! Every field counts that is not known to leave the prompt alone: context management, tool servers,
//! containers, tiers and places of service, and every field that is new or unknown.
//!
//! Beta features that a request asks for: in a header, in its body, or in both.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::BuildHasher as _;

use rustc_hash::FxBuildHasher;
use serde::de::value::StrDeserializer;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::Value;
use serde_json::value::RawValue;

use super::canonical::write_canonical;
use super::record::{BETA_HEADER, OF_LITELLM, Request, WITHOUT_INFLUENCE};
use crate::base::order::{Order as _, Ordered as _};
use crate::read::input::{Listed, Text};

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

/// Returns true if a request is to be served in the United States alone.
pub(super) fn is_us_only(body: &Request<'_>) -> bool {
    let told = body.other.named("").filter(|(name, _)| name == "inference_geo").last();
    told.is_some_and(|(_, value)| {
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
    fn named(&self, front: &'static str) -> impl Iterator<Item = (String, &RawValue)> {
        let fields = self.0.iter().filter_map(|(name, value)| Some((name.as_str()?, *value)));
        fields
            .filter(|(name, _)| !WITHOUT_INFLUENCE.contains(name) && !name.starts_with(OF_LITELLM))
            .map(move |(name, value)| (format!("{front}{name}"), value))
    }
}

/// Deserialiser of a struct that sets aside the fields that the struct does not have.
pub(super) struct Sieve<'o, 'de, D> {
    inner: D,
    other: &'o mut OtherFields<'de>,
}

impl<'o, 'de, D> Sieve<'o, 'de, D> {
    pub(super) fn new(inner: D, other: &'o mut OtherFields<'de>) -> Self {
        Self { inner, other }
    }
}

// `#[serde(flatten)]` would copy every value, and cannot take raw ones.
impl<'de, D: Deserializer<'de>> Deserializer<'de> for Sieve<'_, 'de, D> {
    type Error = D::Error;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.inner.deserialize_map(SieveVisitor { fields, visitor, other: self.other })
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.inner.deserialize_any(visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

struct SieveVisitor<'o, 'de, V> {
    fields: &'static [&'static str],
    visitor: V,
    other: &'o mut OtherFields<'de>,
}

impl<'de, V: Visitor<'de>> Visitor<'de> for SieveVisitor<'_, 'de, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.visitor.expecting(f)
    }

    fn visit_map<A: MapAccess<'de>>(self, object: A) -> Result<V::Value, A::Error> {
        self.visitor.visit_map(SieveMap { fields: self.fields, object, other: self.other })
    }
}

struct SieveMap<'o, 'de, A> {
    fields: &'static [&'static str],
    object: A,
    other: &'o mut OtherFields<'de>,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for SieveMap<'_, 'de, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, A::Error> {
        while let Some(name) = self.object.next_key::<Text<'de>>()? {
            match name.as_str() {
                Some(known) if self.fields.contains(&known) => {
                    return seed.deserialize(StrDeserializer::new(known)).map(Some);
                }
                _ => self.other.0.push((name, self.object.next_value()?)),
            }
        }
        Ok(None)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        self.object.next_value_seed(seed)
    }
}

/// Names of the beta features, each once, in alphabetical order and joined by commas.
///
/// `None` if nothing shows them: the headers were not captured, and the body has no field for them.
pub(super) fn beta_features(headers: Option<&RawValue>, body: &Request<'_>) -> Option<String> {
    let in_headers = headers.and_then(named_by_headers);
    let in_body = [body.betas, body.anthropic_beta].map(|field| field.and_then(names));
    let sources: Vec<Vec<String>> = in_body.into_iter().chain([in_headers]).flatten().collect();
    if sources.is_empty() {
        return None;
    }
    let features: BTreeSet<String> = sources.into_iter().flatten().ordered();
    Some(features.into_iter().collect::<Vec<_>>().join(","))
}

/// Names in the headers; `None` for headers that are no object, which show nothing.
fn named_by_headers(headers: &RawValue) -> Option<Vec<String>> {
    let headers: BTreeMap<String, &RawValue> = serde_json::from_str(headers.get()).ok()?;
    let beta = headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case(BETA_HEADER));
    Some(beta.filter_map(|(_, value)| names(value)).flatten().collect())
}

/// Names in a comma-separated string, or in a list of such strings; `None` for anything else.
fn names(value: &RawValue) -> Option<Vec<String>> {
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
            let fields: BTreeMap<String, Value> = serde_json::from_str(&others).expect("JSON");
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
