//! Accuracy of counted tokens, against the growth of prompts in recorded steps.
//!
//! The growth of a prompt beyond the answer is known to the token. If all that the client added is in lines
//! (results, texts), it can be compared with the count of these. The answer counts as it is sent back if that
//! is known, else as recorded.

use serde::Serialize;

use crate::base::{ByKey, Tokens, words};
use crate::read::transcript::ContentSource;
use crate::requests::content::is_disturbed;
use crate::requests::conversation::{History, Request, RequestIndex, TrailContent};
use crate::requests::counted::{Counted, is_close};
use crate::requests::prompt::{ClientVersion, Step};

words! {
    /// Additions of a client in a step.
    pub enum Added {
        /// One result.
        Result = "one result";
        /// Several results of one message.
        Results = "several results";
        /// Texts.
        Texts = "texts";
        /// Results and texts.
        ResultsAndTexts = "results and texts";
    }
}

impl Added {
    fn of(contents: &[&TrailContent]) -> Option<Self> {
        let is_result = |content: &&&TrailContent| matches!(content.source, ContentSource::Tool(_));
        let results = contents.iter().filter(is_result).count();
        match (results, contents.len() - results) {
            (0, 0) => None,
            (0, _) => Some(Self::Texts),
            (1, 0) => Some(Self::Result),
            (_, 0) => Some(Self::Results),
            _ => Some(Self::ResultsAndTexts),
        }
    }
}

/// A step whose additions are all in lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountedStep {
    /// Request after the step.
    pub request: RequestIndex,
    /// Kinds of content that the client added.
    pub added: Added,
    /// Growth of the prompt beyond the answer.
    pub grown: Tokens,
    /// Size of the additions, as counted.
    pub counted: Tokens,
    /// Lines of the additions, newest first.
    pub lines: Vec<u64>,
}

/// Accuracy of the count over several steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CountTally {
    /// Steps whose added content is all in lines.
    pub steps: u64,
    /// Steps counted to the token.
    pub exact: u64,
    /// Steps counted within 1 % or 3 tokens.
    pub within: u64,
    /// Largest difference, in tokens.
    pub worst: Tokens,
}

impl CountTally {
    /// Adds a step.
    pub fn add(&mut self, step: &CountedStep) {
        let difference = step.grown.0.abs_diff(step.counted.0);
        self.steps += 1;
        self.exact += u64::from(difference == 0);
        self.within += u64::from(is_close(step.counted.0, step.grown.0));
        self.worst = self.worst.max(Tokens(difference));
    }

    /// Adds the steps of another history.
    pub fn absorb(&mut self, other: Self) {
        self.steps += other.steps;
        self.exact += other.exact;
        self.within += other.within;
        self.worst = self.worst.max(other.worst);
    }
}

/// Accuracy of counts, by model and by kind of additions.
pub type Counts = ByKey<(String, Added), CountTally>;

/// Steps of a history whose contents were counted.
pub(crate) fn counted_steps(history: &History, steps: &[Step]) -> Vec<CountedStep> {
    let numbered = history.of_transcripts().iter().zip(steps).enumerate();
    let counted = numbered.filter_map(|(number, (request, step))| {
        counted_step(history, RequestIndex::new(number), request, step)
    });
    counted.collect()
}

fn counted_step(
    history: &History,
    index: RequestIndex,
    request: &Request,
    step: &Step,
) -> Option<CountedStep> {
    let previous = history.predecessor(request)?;
    let counted = Counted::of(history, request)?;
    let client = ClientVersion::parse(history.text(request.client_version).unwrap_or_default());
    let is_left_out = client < FIRST_TELLING || has_more(request, previous);
    if is_left_out || is_disturbed(request, previous, step) {
        return None;
    }
    let (lines, contents): (Vec<u64>, Vec<&TrailContent>) =
        history.contents_before(request).unzip();
    let added = Added::of(&contents)?;
    let sizes = counted.sizes(&contents);
    // Some content is only partly in its line, such as a report with words of the client around it.
    if !sizes.iter().all(|size| size.is_whole) {
        return None;
    }
    let answer = counted.carried(request, previous);
    let before = previous.prompt_total() + answer;
    Some(CountedStep {
        request: index,
        added,
        grown: Tokens(request.prompt_total().0.checked_sub(before.0)?),
        counted: Tokens(sizes.iter().map(|size| size.tokens).sum()),
        lines,
    })
}

/// First client version that writes down all that it adds.
///
/// Earlier ones left out some of their additions, and wrote outputs down before they were complete.
const FIRST_TELLING: ClientVersion = ClientVersion::new(2, 1, 97);

/// Returns true if a step adds more than the counted content and the answer before it.
fn has_more(request: &Request, previous: &Request) -> bool {
    previous.model != request.model
        || request.between.drops_answer
        // The words that the client writes around these are in no line.
        || request.between.attachments > 0
        || request.between.has_tool_hook
}
