//! Large results that never come in: a preview and a pointer to a file take their place.

use super::contents::Content;
use crate::base::units::Tokens;

/// A budget for the results that come in with a request (D.3). What is replaced is replaced by the same
/// bytes in all later requests, and what was sent in full stays: so nothing that was cached changes.
/// Results of `Read`, which would read the file again, are not replaced, but count. In every
/// conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResultBudget {
    /// A result with more characters than this is replaced.
    pub each: u64,
    /// Where the results of one user message have more together, the largest are replaced until they do
    /// not, or none is left.
    pub message: u64,
    /// The characters of preview and pointer together.
    pub preview: u64,
}

impl Default for ResultBudget {
    /// The client's own; of the preview about two kilobytes are known.
    fn default() -> Self {
        Self { each: 50_000, message: 200_000, preview: 2_000 }
    }
}

/// What a budget took out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Replaced {
    pub(super) results: u64,
    pub(super) tokens: Tokens,
}

/// A result that came in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Incoming<'a> {
    pub(super) content: &'a Content,
    /// Whether it may be replaced.
    pub(super) is_replaceable: bool,
}

impl ResultBudget {
    /// What it takes out of the results of one user message.
    pub(super) fn replace(self, results: &[Incoming<'_>]) -> Replaced {
        let mut replaced = Replaced::default();
        let mut sum: u64 = results.iter().map(|result| result.content.bytes).sum();
        let mut largest_first: Vec<&Content> = results
            .iter()
            .filter(|result| result.is_replaceable && result.content.bytes > self.preview)
            .map(|result| result.content)
            .collect();
        largest_first.sort_by_key(|content| std::cmp::Reverse(content.bytes));
        for content in largest_first {
            if content.bytes <= self.each && sum <= self.message {
                break;
            }
            sum -= content.bytes - self.preview;
            replaced.results += 1;
            replaced.tokens += content.tokens.saturating_sub(content.placeholder);
        }
        replaced
    }
}
