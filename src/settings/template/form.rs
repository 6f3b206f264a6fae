//! Ways in which the APIs mark the end of a prefix.

use serde_json::{Value, json};

use super::PatchError;
use crate::base::Ttl;
use crate::read::log::{OtherApi, other_api};
use crate::simulate::provider::by_name;

/// Name of `OpenAI`'s provider whose models have breakpoints.
const WITH_BREAKPOINTS: &str = "openai-5.6";

/// Way in which an API marks blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Messages API: a key of a block, a tool or the request.
    Messages,
    /// Converse API: a block of its own, behind what it marks.
    Converse,
    /// Chat completions from GPT-5.6 on: a key of a part of a content.
    Chat,
    /// Responses API from GPT-5.6 on: a key of a part of a content, but for the model's own.
    Responses,
}

/// JSON form of a marker.
pub(super) struct Marker {
    /// Key of the marker.
    pub key: &'static str,
    /// Key and value that all of its markers have.
    pub kind: [&'static str; 2],
    /// Names of the two lifetimes, the shorter one first.
    pub lifetimes: [&'static str; 2],
    /// The two lifetimes in words.
    words: [&'static str; 2],
}

const CACHE_CONTROL: Marker = Marker {
    key: "cache_control",
    kind: ["type", "ephemeral"],
    lifetimes: ["5m", "1h"],
    words: ["five minutes", "an hour"],
};

const CACHE_POINT: Marker =
    Marker { key: "cachePoint", kind: ["type", "default"], ..CACHE_CONTROL };

const BREAKPOINT: Marker = Marker {
    key: "prompt_cache_breakpoint",
    kind: ["mode", "explicit"],
    lifetimes: ["30m", "12h"],
    // The request's options say how long a marker without a lifetime holds.
    words: ["a marker", "a marker for 12 hours"],
};

impl Form {
    /// Way in which the API of a body marks blocks.
    ///
    /// # Errors
    /// The API or the model has no markers.
    pub(super) fn of(body: &Value) -> Result<Self, PatchError> {
        let (form, api) = match other_api(body) {
            None => return Ok(Self::Messages),
            Some(OtherApi::Converse) => return Ok(Self::Converse),
            Some(OtherApi::Gemini) => {
                return Err(PatchError::NoMarkers("Gemini, which has no such markers"));
            }
            Some(OtherApi::Chat) => (
                Self::Chat,
                "OpenAI's chat completions, which take markers for GPT-5.6 and later alone",
            ),
            Some(OtherApi::Responses) => (
                Self::Responses,
                "OpenAI's Responses API, which has markers from GPT-5.6 on, and no such model",
            ),
        };
        let model = body["model"].as_str().unwrap_or_default();
        let has_breakpoints =
            by_name(WITH_BREAKPOINTS).is_some_and(|provider| provider.serves(model));
        if has_breakpoints { Ok(form) } else { Err(PatchError::NoMarkers(api)) }
    }

    /// API of a body that is not one of the Messages API.
    pub(super) fn api(self) -> Option<OtherApi> {
        match self {
            Self::Messages => None,
            Self::Converse => Some(OtherApi::Converse),
            Self::Chat => Some(OtherApi::Chat),
            Self::Responses => Some(OtherApi::Responses),
        }
    }

    /// Form of the markers.
    pub(super) fn marker(self) -> &'static Marker {
        match self {
            Self::Messages => &CACHE_CONTROL,
            Self::Converse => &CACHE_POINT,
            Self::Chat | Self::Responses => &BREAKPOINT,
        }
    }

    /// Returns true if markers live as long as Claude's.
    pub(super) fn has_known_lifetimes(self) -> bool {
        self.marker().lifetimes == CACHE_CONTROL.lifetimes
    }

    /// Largest number of markers that the service writes, if it takes more than that.
    ///
    /// `OpenAI` writes the latest four, of which one is its own unless the request turns that off.
    pub(super) fn most(self, body: &Value) -> Option<usize> {
        let own = usize::from(self.has_own_marker(body));
        (!self.has_known_lifetimes()).then_some(4 - own)
    }

    /// Returns true if the service places one more marker, at the latest message.
    pub(super) fn has_own_marker(self, body: &Value) -> bool {
        let is_explicit = || body["prompt_cache_options"]["mode"] == "explicit";
        !self.has_known_lifetimes() && !is_explicit()
    }

    /// Block of a text, with the source of the text and of its marker.
    pub(super) fn block_of(self, text: &str, marker: &str) -> String {
        format!("{{\"type\": \"{}\", \"text\": {text}, {marker}}}", self.text_type())
    }

    fn text_type(self) -> &'static str {
        if self == Self::Responses { "input_text" } else { "text" }
    }

    /// A body without its markers, with each content as a list.
    pub(super) fn unmarked(self, mut body: Value) -> Value {
        let key = self.marker().key;
        take(&mut body, key);
        for tools in ["/tools", "/toolConfig/tools"] {
            body.pointer_mut(tools).into_iter().for_each(|tools| take_each(tools, key));
        }
        if let Some(input @ Value::String(_)) = body.get_mut("input") {
            *input = json!([{"role": "user", "content": input.take()}]);
        }
        self.unmark(body.get_mut("system"));
        for list in ["messages", "input"] {
            for message in body.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
                self.unmark(message.get_mut("content"));
                self.unmark(message.get_mut("output"));
            }
        }
        body
    }

    /// Removes the markers of a content.
    fn unmark(self, content: Option<&mut Value>) {
        let Some(content) = content else { return };
        if content.is_string() {
            let text = content.take();
            *content = json!([{"type": self.text_type(), "text": text}]);
        }
        take_each(content, self.marker().key);
    }
}

impl Marker {
    /// Words for a lifetime.
    pub(super) fn lifetime(&self, ttl: Ttl) -> &'static str {
        Self::of(self.words, ttl)
    }

    /// Name of a lifetime.
    pub(super) fn name(&self, ttl: Ttl) -> &'static str {
        Self::of(self.lifetimes, ttl)
    }

    fn of(both: [&'static str; 2], ttl: Ttl) -> &'static str {
        let [short, long] = both;
        match ttl {
            Ttl::FiveMinutes => short,
            Ttl::OneHour => long,
        }
    }

    /// JSON source of a marker.
    pub(super) fn source(&self, ttl: Ttl) -> String {
        let [key, value] = self.kind;
        match ttl {
            // The shorter lifetime is every service's default and needs no name.
            Ttl::FiveMinutes => format!("{{\"{key}\": \"{value}\"}}"),
            Ttl::OneHour => format!("{{\"{key}\": \"{value}\", \"ttl\": \"{}\"}}", self.name(ttl)),
        }
    }

    /// JSON source of a marker with its key.
    pub(super) fn with_key(&self, ttl: Ttl) -> String {
        format!("\"{}\": {}", self.key, self.source(ttl))
    }
}

/// Removes the marker of each block of a list, and the blocks that are markers.
fn take_each(list: &mut Value, key: &str) {
    let Value::Array(blocks) = list else { return };
    blocks.iter_mut().for_each(|block| take(block, key));
    blocks.retain(|block| block.as_object().is_none_or(|fields| !fields.is_empty()));
}

fn take(block: &mut Value, key: &str) {
    if let Value::Object(fields) = block {
        fields.remove(key);
    }
}
