//! Breaks: cache misses that should not have happened, with the loss, the cause and the cost of each.
//!
//! Every request is compared with the end of its predecessor's cached prefix, recorded or, if usage is
//! unknown, replayed. The length that was still readable (`readable.rs`) is compared with the landmarks of
//! its chain and of other sessions: the rest after first requests and expiries (the shared prefix), the rest
//! after compactions (all of tools and system prompt), the ends and reads of earlier requests. Requests after
//! a hole (`Between::has_hole`) are not compared. A captured branch or new conversation whose bytes do not
//! come back is compared with the longest prefix of its own that had been marked.
//!
//! Each rule (`rules/`) looks for one cause in the step, the signs between the two requests and the readable
//! length, and says how certain it is. The most certain one wins, and the order of the rules decides among
//! equals. A rule names a mechanism (tools are rendered first, a new process renders its prompt again,
//! entries expire), never a session. For captured requests, differences of the bodies replace the signs
//! (`captured.rs`). The service's verdict is joined last, so that the cause inferred without it stays known.
//!
//! The excess of a break is the price of the tokens sent again less that of reading them. The part that the
//! replay pays as well is kept apart, so that billed − replay = (excess − predicted) + unexplained.

mod captured;
mod case;
mod cause;
mod find;
mod held;
mod patterns;
mod readable;
mod rules;
mod series;
mod snapshots;
mod summary;

pub use cause::{Cause, Remedy, Who};
pub use find::{Break, Breaks, DetectionRule, Options, find};
pub use held::Contradiction;
pub use patterns::{Ground, Pattern, patterns};
pub use readable::{Class, Readable};
pub(crate) use snapshots::shows_lost_tools;
pub use summary::{
    Analysis, Counted, Reconciliation, Sum, Summary, VerdictAgreement, add_each, by_cause_of_both,
};

use crate::base::words;
use crate::read::transcript::Sign;
use crate::requests::conversation::Request;

words! {
    /// A cause's certainty.
    #[cfg_attr(test, derive(schemars::JsonSchema))]
    pub enum Confidence {
        /// The length that was still readable allows it; nothing else speaks for it.
        Low = "low";
        /// Something was seen that often has this effect, or a length that names the level.
        Medium = "medium";
        /// The evidence has this effect by the rules.
        High = "high";
    }
}

/// Evidence for a cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// Observation, without any text of the prompt.
    pub meaning: String,
    /// File with the observation, as an index into the history's files.
    pub file: usize,
    /// Line of that file.
    pub line: u64,
    /// Field of that line.
    pub field: &'static str,
    /// Sign in the line, if there is one.
    pub sign: Option<Sign>,
    /// Names and words of the prompt, shown only on request.
    pub text: Option<String>,
}

impl Evidence {
    /// Evidence in a line.
    fn of_sign(file: usize, line: u64, sign: Sign) -> Self {
        let meaning = sign.meaning().to_owned();
        Self { meaning, file, line, field: sign.field(), sign: Some(sign), text: None }
    }

    /// Evidence in a field of an answer's line, or of a captured request.
    fn of_field(request: &Request, field: &'static str, meaning: impl Into<String>) -> Self {
        let (file, line) = (request.file, request.line);
        Self { meaning: meaning.into(), file, line, field, sign: None, text: None }
    }
}

/// A cause that fits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Cause of the miss.
    pub cause: Cause,
    /// Certainty of the cause.
    pub confidence: Confidence,
    /// Evidence for the cause.
    pub evidence: Vec<Evidence>,
}

impl Candidate {
    fn new(cause: Cause, confidence: Confidence, evidence: Vec<Evidence>) -> Self {
        Self { cause, confidence, evidence }
    }
}
