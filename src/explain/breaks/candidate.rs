//! A cause that fits, with what speaks for it.

use schemars::JsonSchema;
use serde::Serialize;

use super::cause::Cause;
use crate::read::transcript::Sign;
use crate::requests::conversation::Request;

/// How sure a cause is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    /// The length that was still readable allows it; nothing else speaks for it.
    Low,
    /// Something was seen that often has this effect, or a length that names the level.
    Medium,
    /// What was seen has this effect by the rules.
    High,
}

impl Confidence {
    /// The word used in every output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// What speaks for a cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// What was seen, without a word of anybody's text.
    pub meaning: String,
    /// The file that shows it, as a position in the history's.
    pub file: usize,
    /// The line of that file.
    pub line: u64,
    /// The field of that line.
    pub field: &'static str,
    /// The sign that the line shows.
    pub sign: Option<Sign>,
    /// Names and words of the prompt, to be shown only on request.
    pub text: Option<String>,
}

impl Evidence {
    /// Something that a line shows.
    pub(super) fn of_sign(file: usize, line: u64, sign: Sign) -> Self {
        let meaning = sign.meaning().to_owned();
        Self { meaning, file, line, field: sign.field(), sign: Some(sign), text: None }
    }

    /// What a field of an answer's line, or of a captured request's, shows.
    pub(super) fn of_field(
        request: &Request,
        field: &'static str,
        meaning: impl Into<String>,
    ) -> Self {
        let (file, line) = (request.file, request.line);
        Self { meaning: meaning.into(), file, line, field, sign: None, text: None }
    }
}

/// A cause that fits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The cause.
    pub cause: Cause,
    /// How sure it is.
    pub confidence: Confidence,
    /// What speaks for it.
    pub evidence: Vec<Evidence>,
}

impl Candidate {
    pub(super) fn new(cause: Cause, confidence: Confidence, evidence: Vec<Evidence>) -> Self {
        Self { cause, confidence, evidence }
    }
}
