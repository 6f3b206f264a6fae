//! Ways in which the APIs mark the end of a prefix.

use serde_json::{Value, json};

use super::PatchError;
use crate::base::Ttl;
use crate::read::agent::Vendor;
use crate::read::log::{OtherApi, other_api};
use crate::simulate::provider::by_name;

/// Name of `OpenAI`'s provider whose models have breakpoints.
const WITH_BREAKPOINTS: &str = "openai-5.6";

/// Vendors on Bedrock whose models have no cache points: those of Claude and of Nova have (its documentation of
/// 2026-10). A profile's address names no vendor.
const NO_CACHE_POINTS: [&str; 8] =
    ["ai21.", "cohere.", "deepseek.", "meta.", "mistral.", "openai.", "qwen.", "titan-"];

/// Way in which an API marks blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Messages API: a key of a block, a tool or the request.
    Messages,
    /// Chat completions for Claude through a gateway: a key of a part of a content.
    Gateway,
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
        let Some(api) = other_api(body) else { return Ok(Self::Messages) };
        let field = if api == OtherApi::Converse { "modelId" } else { "model" };
        // Gateways name the vendor in front of the model.
        let model = body[field].as_str().unwrap_or_default();
        let model = model.rsplit('/').next().unwrap_or_default();
        let is_of_claude = Vendor::of(model) == Vendor::Anthropic;
        let has_breakpoints =
            || by_name(WITH_BREAKPOINTS).is_some_and(|provider| provider.serves(model));
        match api {
            OtherApi::Converse if NO_CACHE_POINTS.iter().any(|name| model.contains(name)) => {
                Err(PatchError::NoMarkers("Bedrock for a model that has no cache points"))
            }
            OtherApi::Converse => Ok(Self::Converse),
            OtherApi::Chat if is_of_claude => Ok(Self::Gateway),
            OtherApi::Chat if has_breakpoints() => Ok(Self::Chat),
            OtherApi::Responses if has_breakpoints() => Ok(Self::Responses),
            OtherApi::Chat => Err(PatchError::NoMarkers(
                "OpenAI's chat completions, which take markers for GPT-5.6 and later alone; name such a model",
            )),
            OtherApi::Responses => Err(PatchError::NoMarkers(
                "OpenAI's Responses API, which takes markers for GPT-5.6 and later alone; name such a model",
            )),
            OtherApi::Gemini => Err(PatchError::NoMarkers("Gemini, which has no such markers")),
        }
    }

    /// API of a body that is not one of the Messages API.
    pub(super) fn api(self) -> Option<OtherApi> {
        match self {
            Self::Messages => None,
            Self::Converse => Some(OtherApi::Converse),
            Self::Chat | Self::Gateway => Some(OtherApi::Chat),
            Self::Responses => Some(OtherApi::Responses),
        }
    }

    /// Form of the markers.
    pub(super) fn marker(self) -> &'static Marker {
        match self {
            Self::Messages | Self::Gateway => &CACHE_CONTROL,
            Self::Converse => &CACHE_POINT,
            Self::Chat | Self::Responses => &BREAKPOINT,
        }
    }

    /// Keys of the markers of other APIs.
    pub(super) fn foreign_keys(self) -> impl Iterator<Item = &'static str> {
        let all = [&CACHE_CONTROL, &CACHE_POINT, &BREAKPOINT].map(|marker| marker.key);
        all.into_iter().filter(move |key| *key != self.marker().key)
    }

    /// Returns true for `OpenAI`'s own APIs.
    pub(super) fn is_of_openai(self) -> bool {
        matches!(self, Self::Chat | Self::Responses)
    }

    /// Returns true if a part of a content of this type takes a marker.
    pub(super) fn takes(self, kind: Option<&str>) -> bool {
        match self {
            Self::Messages | Self::Converse => true,
            Self::Gateway => kind != Some("refusal"),
            Self::Chat => kind
                .is_some_and(|kind| ["text", "image_url", "input_audio", "file"].contains(&kind)),
            Self::Responses => {
                kind.is_some_and(|kind| ["input_text", "input_image", "input_file"].contains(&kind))
            }
        }
    }

    /// Largest number of markers that the service writes, if it takes more than that.
    ///
    /// `OpenAI` writes the latest four, of which one is its own unless the request turns that off.
    pub(super) fn most(self, body: &Value) -> Option<usize> {
        self.is_of_openai().then(|| 4 - usize::from(self.has_own_marker(body)))
    }

    /// Returns true if the service caches up to the latest message without a marker.
    pub(super) fn has_own_marker(self, body: &Value) -> bool {
        self.is_of_openai() && body["prompt_cache_options"]["mode"] != "explicit"
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
        self.unmark(&mut body);
        for tools in ["/tools", "/toolConfig/tools"] {
            if let Some(tools) = body.pointer_mut(tools) {
                self.unmark_each(tools);
            }
        }
        if let Some(input @ Value::String(_)) = body.get_mut("input") {
            *input = json!([{"role": "user", "content": input.take()}]);
        }
        self.unmark_content(body.get_mut("system"));
        for list in ["messages", "input"] {
            for message in body.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
                self.unmark_content(message.get_mut("content"));
                self.unmark_content(message.get_mut("output"));
            }
        }
        body
    }

    fn unmark_content(self, content: Option<&mut Value>) {
        let Some(content) = content else { return };
        if content.is_string() {
            let text = content.take();
            *content = json!([{"type": self.text_type(), "text": text}]);
        }
        self.unmark_each(content);
    }

    fn unmark_each(self, list: &mut Value) {
        let Value::Array(blocks) = list else { return };
        if self == Self::Converse {
            blocks.retain(|block| block.get(CACHE_POINT.key).is_none());
        }
        for block in blocks {
            self.unmark(block);
        }
    }

    fn unmark(self, block: &mut Value) {
        if let Value::Object(fields) = block {
            fields.remove(self.marker().key);
        }
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
