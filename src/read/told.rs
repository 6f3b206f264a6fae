//! Input of the commands for Claude Code's status line and hooks: an object on standard input.

use std::borrow::Cow;
use std::path::PathBuf;

use serde::Deserialize;
use serde::de::Error as _;

use super::input::{Flag, Shape, Text, moment, replace_lone_surrogates};
use crate::base::Millis;

/// Members of the object that are used. Any may be missing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// `transcript_path`: the session's file, which exists from its first message on.
    pub transcript: Option<PathBuf>,
    /// `hook_event_name`, with `source` of a session that starts.
    pub event: Option<HookEvent>,
    /// `model.id`, or `model` of hooks: model of the next message, without the size of its context (`[1m]`).
    pub model: Option<String>,
    /// `prompt_cache.expires_at`: end of the prompt's lifetime, by the client's own clock (2.1.251 and later).
    pub warm_until: Option<Millis>,
    /// `prompt_cache.warm`: true if the prompt can be read now. It is of use only with a time.
    pub is_warm: Option<bool>,
}

/// Event of a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookEvent {
    /// `SessionStart` of a session that is resumed. Other sessions start with nothing.
    Resumed,
    /// `UserPromptSubmit`: a message is being sent.
    Prompt,
    /// `PreCompact`: a summary is being asked for.
    Compaction,
    /// `Stop`: the answer is complete.
    Stop,
}

impl HookEvent {
    fn by_name(name: &str, source: Option<&str>) -> Option<Self> {
        match (name, source) {
            ("SessionStart", Some("resume")) => Some(Self::Resumed),
            ("UserPromptSubmit", _) => Some(Self::Prompt),
            ("PreCompact", _) => Some(Self::Compaction),
            ("Stop", _) => Some(Self::Stop),
            _ => None,
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Object<'a> {
    #[serde(borrow)]
    transcript_path: Text<'a>,
    hook_event_name: Text<'a>,
    source: Text<'a>,
    model: Model<'a>,
    prompt_cache: Shape<PromptCache<'a>>,
}

/// Model as an object or as its name.
#[derive(Default, Deserialize)]
#[serde(untagged)]
enum Model<'a> {
    Object {
        #[serde(borrow)]
        id: Text<'a>,
    },
    Name(Text<'a>),
    #[default]
    None,
}

impl<'a> Model<'a> {
    fn id(self) -> Option<Cow<'a, str>> {
        match self {
            Self::Object { id } | Self::Name(id) => id.0,
            Self::None => None,
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct PromptCache<'a> {
    warm: Option<Flag>,
    #[serde(borrow)]
    expires_at: Moment<'a>,
}

/// Time in RFC 3339 or as a number.
#[derive(Default, Deserialize)]
#[serde(untagged)]
enum Moment<'a> {
    Number(i64),
    #[serde(borrow)]
    Text(Text<'a>),
    #[default]
    None,
}

/// Least number of milliseconds since 1970; smaller ones are seconds.
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
    /// The text is not a JSON object.
    pub fn parse(text: &str) -> serde_json::Result<Self> {
        let text = text.trim_start_matches('\u{feff}').trim_start();
        // A list would be taken for the object's members in their order.
        if !text.starts_with('{') {
            return Err(serde_json::Error::custom("it does not begin with {"));
        }
        let repaired = replace_lone_surrogates(text);
        let object: Object<'_> = serde_json::from_str(repaired.as_deref().unwrap_or(text))?;
        let model = object.model.id();
        let event = object.hook_event_name.0;
        let event = event.and_then(|name| HookEvent::by_name(&name, object.source.0.as_deref()));
        let cache = object.prompt_cache.0;
        let path = object.transcript_path.0.filter(|path| !path.is_empty());
        Ok(Self {
            transcript: path.map(|path| PathBuf::from(path.into_owned())),
            event,
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
                event: None,
                model: Some("claude-opus-5".to_owned()),
                warm_until: noon,
                is_warm: Some(true),
            }
        );
        for at in ["1795694400", "1795694400000"] {
            let told = Told::parse(&format!(r#"{{"prompt_cache": {{"expires_at": {at}}}}}"#));
            assert_eq!(told.expect("an object").warm_until, noon, "{at}");
        }
        let told = Told::parse(
            r#"{"hook_event_name": "SessionStart", "source": "resume", "model": "x[1m]"}"#,
        );
        let told = told.expect("an object");
        assert_eq!((told.event, told.model.as_deref()), (Some(HookEvent::Resumed), Some("x")));
        for (event, known) in [
            (r#""SessionStart", "source": "startup""#, None),
            (r#""Stop", "source": 3"#, Some(HookEvent::Stop)),
            (r#""PreCompact""#, Some(HookEvent::Compaction)),
            (r#""UserPromptSubmit""#, Some(HookEvent::Prompt)),
            (r#""PostToolUse""#, None),
            ("7", None),
        ] {
            let told = Told::parse(&format!(r#"{{"hook_event_name": {event}}}"#));
            assert_eq!(told.expect("an object").event, known, "{event}");
        }
        for other in [
            "{}",
            r#"{"transcript_path": 3, "model": {"id": 3}, "prompt_cache": []}"#,
            r#"{"model": [1]}"#,
        ] {
            assert_eq!(Told::parse(other).expect("an object"), Told::default(), "{other}");
        }
        for wrong in ["", "[]", "3", "{"] {
            assert!(Told::parse(wrong).is_err(), "{wrong}");
        }
    }
}
