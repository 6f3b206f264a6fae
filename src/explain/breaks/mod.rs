//! Cache misses that should not have been: what was lost, why, and what it cost.
//!
//! Every request is held against what the one before it had left in the cache. Where it read less,
//! rules look for causes in what lies between the two and in the length that was still readable.
//!
//! Every request is held against the end of the cached prefix of its predecessor, recorded or,
//! where no usage was, replayed. What was still readable (`readable.rs`) is compared with the
//! landmarks of its chain and of other sessions: what first requests and expiries left (the shared
//! prefix), what compactions left (all of tools and system prompt), the ends and reads of earlier
//! requests. Rules (`rules/`) then each look for one cause in the step, the signs between the two
//! requests and that length, and say how sure it is; the surest wins, the order of the rules
//! decides among equals. A rule names a mechanism (tools are rendered first; a process renders its
//! prompt anew; an entry lives so long), never a session. Of captured requests the differences of
//! the bodies take the place of signs (`captured.rs`). The service's verdict is joined last, so
//! that what is inferred without it is known. The excess of a break is the price of what was sent
//! again less that of reading it; the part that the replay pays too is kept apart, so that billed
//! − replay = (excess − predicted) + unexplained. What lies after a hole (`Between::has_hole`) is
//! not compared. A captured branch, or another conversation, whose bytes do not come back is held
//! against the longest prefix of its own that had been marked.
//!
//! A cause that fits, with what speaks for it.

mod captured;
mod case;
mod cause;
mod find;
mod patterns;
mod readable;
mod rules;
mod summary;

pub use cause::{Cause, Remedy, Who};
pub use find::{Break, Breaks, DetectionRule, Options, find};
pub use patterns::{Ground, Pattern, patterns};
pub use readable::{Class, Readable};
pub use summary::{Analysis, Counted, Reconciliation, Sum, Summary, VerdictAgreement};

use schemars::JsonSchema;
use serde::Serialize;

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
    fn of_sign(file: usize, line: u64, sign: Sign) -> Self {
        let meaning = sign.meaning().to_owned();
        Self { meaning, file, line, field: sign.field(), sign: Some(sign), text: None }
    }

    /// What a field of an answer's line, or of a captured request's, shows.
    fn of_field(request: &Request, field: &'static str, meaning: impl Into<String>) -> Self {
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
    fn new(cause: Cause, confidence: Confidence, evidence: Vec<Evidence>) -> Self {
        Self { cause, confidence, evidence }
    }
}
