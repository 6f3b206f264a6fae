//! Parts of a prompt as the service writes them, with their token counts.
//!
//! Tools are lines of JSON in tags, calls are tags with a line for each argument, results are their texts; their frames
//! are in `frames.rs`. All of it is inferred from recorded usage alone.

mod frames;
mod lines;
mod media;

use std::borrow::Cow;

use serde_json::value::RawValue;

pub(crate) use frames::Frames;
use lines::call_lines;
pub(crate) use lines::{tool_line, written};
pub(crate) use media::{document_tokens, image_tokens, page_count, pixels};

use crate::base::Vocabulary;
use crate::tokens::{Count, counter};

/// Tokens of a tool's name that no call shows.
pub(crate) const USUAL_NAME: u64 = 2;

/// Token counter of prompt parts in one vocabulary.
#[derive(Clone, Copy)]
pub(crate) struct Scale {
    counter: &'static dyn Count,
    /// Framing tokens of the parts.
    pub(crate) frames: &'static Frames,
}

impl Scale {
    /// Scale of a vocabulary; `None` if the program was built without vocabularies.
    pub(crate) fn of(vocabulary: Vocabulary) -> Option<Self> {
        Some(Self { counter: counter(vocabulary)?, frames: Frames::of(vocabulary) })
    }

    /// Tokens of a text.
    pub(crate) fn text(self, text: &str) -> u64 {
        self.counter.tokens(text)
    }

    /// Tokens of a string's text, or of another value's JSON.
    pub(crate) fn value(self, raw: Option<&RawValue>) -> u64 {
        raw.map_or(0, |raw| self.text(&written(raw)))
    }

    /// Tokens of the first call of a message.
    pub(crate) fn first_call(self, name: &str, input: Option<&RawValue>) -> u64 {
        self.frames.calls + self.text(&call_lines(name, input))
    }

    /// Tokens of a further call of a message: a line feed separates it from the one before.
    pub(crate) fn further_call(self, name: &str, input: Option<&RawValue>) -> u64 {
        1 + self.text(&call_lines(name, input))
    }

    /// Tokens of a result that is the only one of its message, with the turn.
    pub(crate) fn result(self, content: &str, is_error: bool) -> u64 {
        if content.is_empty() {
            let tags = if self.frames.writes_tags {
                self.text("<function_results></function_results>")
            } else {
                0
            };
            return self.frames.empty_result + tags + self.frames.result;
        }
        let content = match (self.frames.writes_tags, is_error) {
            (false, false) => Cow::Borrowed(content),
            (false, true) => format!("<error>{content}</error>").into(),
            (true, false) => format!("<function_results>{content}</function_results>").into(),
            (true, true) => {
                format!("<function_results>\n<error>{content}</error>\n</function_results>").into()
            }
        };
        self.text(&content) + self.frames.result
    }

    /// Surplus tokens of a result that follows `before` others in its message. The second one brings the surplus of the
    /// first, too; `names` are the tokens of the tools' names that come with it.
    pub(crate) fn beside(self, before: u64, names: u64) -> u64 {
        match before {
            0 => 0,
            1 => self.frames.several_results + 2 * self.frames.one_of_several + names,
            _ => self.frames.one_of_several + names,
        }
    }
}
