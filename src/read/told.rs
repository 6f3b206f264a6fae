//! What Claude Code tells the command of its status line, as an object on standard input.

use std::path::PathBuf;

use serde::Deserialize;
use serde::de::Error as _;

use super::input::{Flag, Shape, Text, moment, replace_lone_surrogates};
use crate::base::units::Millis;

/// What is used of it. Everything may be missing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// `transcript_path`: the session's file, which is there from its first message on.
    pub transcript: Option<PathBuf>,
    /// `model.id`: to which the next message goes, without the size of its context (`[1m]`).
    pub model: Option<String>,
    /// `prompt_cache.expires_at`: until when the prompt can be read, by the client's own clock (2.1.251 and later).
    pub warm_until: Option<Millis>,
    /// `prompt_cache.warm`: whether it can be read now. That it can is of use only with a time.
    pub is_warm: Option<bool>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Object<'a> {
    #[serde(borrow)]
    transcript_path: Text<'a>,
    #[serde(borrow)]
    model: Shape<Model<'a>>,
    #[serde(borrow)]
    prompt_cache: Shape<PromptCache<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Model<'a> {
    #[serde(borrow)]
    id: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct PromptCache<'a> {
    warm: Option<Flag>,
    #[serde(borrow)]
    expires_at: Moment<'a>,
}

/// A moment as RFC 3339 or as a number.
#[derive(Default, Deserialize)]
#[serde(untagged)]
enum Moment<'a> {
    Number(i64),
    #[serde(borrow)]
    Text(Text<'a>),
    #[default]
    None,
}

/// Numbers from here on are milliseconds since 1970, those below seconds.
const LEAST_MILLIS: i64 = 100_000_000_000;

impl Moment<'_> {
    fn get(&self) -> Option<Millis> {
        match self {
            Self::Text(text) => moment(text),
            Self::Number(number @ 1..LEAST_MILLIS) => Some(Millis::new(number * 1_000)),
            Self::Number(number @ LEAST_MILLIS..) => Some(Millis::new(*number)),
            Self::Number(_) | Self::None => None,
        }
    }
}

impl Told {
    /// Reads the object.
    ///
    /// # Errors
    /// It is no JSON object.
    pub fn parse(text: &str) -> serde_json::Result<Self> {
        let text = text.trim_start_matches('\u{feff}').trim_start();
        // A list would be taken for the object's members in their order.
        if !text.starts_with('{') {
            return Err(serde_json::Error::custom("it does not begin with {"));
        }
        let repaired = replace_lone_surrogates(text);
        let object: Object<'_> = serde_json::from_str(repaired.as_deref().unwrap_or(text))?;
        let model = object.model.0.and_then(|model| model.id.0);
        let cache = object.prompt_cache.0;
        let path = object.transcript_path.0.filter(|path| !path.is_empty());
        Ok(Self {
            transcript: path.map(|path| PathBuf::from(path.into_owned())),
            model: model.map(|id| id.split('[').next().unwrap_or_default().to_owned()),
            warm_until: cache.as_ref().and_then(|cache| cache.expires_at.get()),
            is_warm: cache.and_then(|cache| cache.warm).map(|warm| warm.0),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_is_read_leniently() {
        let told = Told::parse(
            r#"{"transcript_path": "/s/a.jsonl", "model": {"id": "claude-opus-5[1m]"},
                "prompt_cache": {"warm": true, "expires_at": "2026-11-26T12:00:00Z"}, "cost": 3}"#,
        );
        let noon = Some(Millis::new(1_795_694_400_000));
        assert_eq!(
            told.expect("an object"),
            Told {
                transcript: Some("/s/a.jsonl".into()),
                model: Some("claude-opus-5".to_owned()),
                warm_until: noon,
                is_warm: Some(true),
            }
        );
        for at in ["1795694400", "1795694400000"] {
            let told = Told::parse(&format!(r#"{{"prompt_cache": {{"expires_at": {at}}}}}"#));
            assert_eq!(told.expect("an object").warm_until, noon, "{at}");
        }
        for other in ["{}", r#"{"transcript_path": 3, "model": "x", "prompt_cache": []}"#] {
            assert_eq!(Told::parse(other).expect("an object"), Told::default(), "{other}");
        }
        for wrong in ["", "[]", "3", "{"] {
            assert!(Told::parse(wrong).is_err(), "{wrong}");
        }
    }
}
