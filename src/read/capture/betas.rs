//! The beta features that a request asks for: in a header, or in its body where there is none.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::value::RawValue;

use super::record::{BETA_HEADER, Request};
use crate::read::input::{Listed, Text};

/// The names of the beta features, each once, in alphabetical order and joined by commas. `None` where
/// nothing tells: the headers were not captured, and the body has no field for them.
pub(super) fn beta_features(headers: Option<&RawValue>, body: &Request<'_>) -> Option<String> {
    let in_headers = headers.and_then(named_by_headers);
    let in_body = [body.betas, body.anthropic_beta].map(|field| field.and_then(names));
    let sources: Vec<Vec<String>> = in_body.into_iter().chain([in_headers]).flatten().collect();
    if sources.is_empty() {
        return None;
    }
    let features: BTreeSet<String> = sources.into_iter().flatten().collect();
    Some(features.into_iter().collect::<Vec<_>>().join(","))
}

/// The names in the headers; none in headers that are no object, which tell nothing.
fn named_by_headers(headers: &RawValue) -> Option<Vec<String>> {
    let headers: BTreeMap<String, &RawValue> = serde_json::from_str(headers.get()).ok()?;
    let beta = headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case(BETA_HEADER));
    Some(beta.filter_map(|(_, value)| names(value)).flatten().collect())
}

/// The names in a comma-separated string, or in a list of such strings; `None` in anything else.
fn names(value: &RawValue) -> Option<Vec<String>> {
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
