//! What a client added to a conversation before each request, with the tokens it has.
//!
//! What the prompt grew by beyond the answer is shared among the pieces by their bytes, as
//! `context` does it; where that cannot be, the bytes alone give an estimate.

use crate::base::units::Tokens;
use crate::read::harness::COMPACTABLE_TOOLS;
use crate::read::transcript::ContentKind;
use crate::requests::content::{FRAME_BYTES, Ratios, is_explained, share, weight};
use crate::requests::conversation::{ContentSource, History, Request, TrailContent};
use crate::requests::prompt::Step;

/// A piece of content that a client added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Content {
    pub(super) source: ContentSource,
    /// Its size.
    pub(super) tokens: Tokens,
    /// Its size as JSON; of media none is known.
    pub(super) bytes: u64,
    /// What stands for it has so much.
    pub(super) placeholder: Tokens,
    /// What the client takes its size for.
    pub(super) rough: Tokens,
}

/// What all conversations are looked at with.
pub(super) struct Contents<'a> {
    history: &'a History,
    ratios: Ratios,
    /// The bytes of what stands for a piece that was taken out.
    placeholder: u64,
}

impl<'a> Contents<'a> {
    pub(super) fn new(history: &'a History, steps: &[Step], placeholder: u64) -> Self {
        Self { history, ratios: Ratios::learn(history, steps), placeholder }
    }

    /// What came in with a request, the oldest first, with estimated sizes.
    pub(super) fn estimated(&self, request: &Request) -> Vec<Content> {
        let ratio = self.ratios.of(self.history, request);
        let placeholder = Tokens(ratio.tokens(self.placeholder + FRAME_BYTES));
        let trail = &self.history.files[request.file].trail;
        let content = |(_, content): (u64, &TrailContent)| Content {
            source: content.source,
            tokens: Tokens(ratio.tokens(weight(content))),
            bytes: content.bytes,
            placeholder,
            rough: rough(content),
        };
        let mut contents: Vec<Content> =
            trail.contents_back_from(request.between.trail).map(content).collect();
        contents.reverse();
        contents
    }

    /// The same, as far as the growth of the prompt tells more: what it grew by beyond the answer.
    pub(super) fn measured(&self, request: &Request, previous: &Request) -> Vec<Content> {
        let mut contents = self.estimated(request);
        let growth = request.prompt_total().saturating_sub(previous.prompt_total());
        let estimate = sum(&contents);
        let carried = request.carried_output(previous);
        let is_more = previous.output_is_lower_bound && !request.between.drops_answer;
        let answer = if is_more { carried.max(growth.saturating_sub(estimate)) } else { carried };
        let added = growth.saturating_sub(answer);
        if is_explained(added.0, estimate.0) {
            fit(&mut contents, added);
        }
        contents
    }

    /// Whether a piece is the result of a compactable tool.
    pub(super) fn is_compactable(&self, content: &Content) -> bool {
        self.tool(content).is_some_and(|tool| COMPACTABLE_TOOLS.contains(&tool))
    }

    /// Whether a piece is a file.
    pub(super) fn is_file(&self, content: &Content) -> bool {
        content.source == ContentSource::Text(ContentKind::File) || self.is_read(content)
    }

    /// Whether a piece is a file that was read by a tool.
    pub(super) fn is_read(&self, content: &Content) -> bool {
        self.tool(content) == Some("Read")
    }

    fn tool(&self, content: &Content) -> Option<&'a str> {
        match content.source {
            ContentSource::Tool(Some(tool)) => Some(self.history.symbols.text(tool)),
            ContentSource::Tool(None) | ContentSource::Text(_) | ContentSource::Media => None,
        }
    }
}

/// The client's own estimate of what no answer has counted yet (I.1).
fn rough(content: &TrailContent) -> Tokens {
    if content.source == ContentSource::Media { Tokens(2_000) } else { Tokens(content.bytes / 4) }
}

/// Whether a piece is the result of a tool.
pub(super) fn is_result(content: &Content) -> bool {
    matches!(content.source, ContentSource::Tool(_))
}

/// The tokens of all pieces.
pub(super) fn sum(contents: &[Content]) -> Tokens {
    contents.iter().map(|content| content.tokens).sum()
}

/// Gives pieces so many tokens together, in their proportions.
pub(super) fn fit(contents: &mut [Content], total: Tokens) {
    let weights: Vec<u64> = contents.iter().map(|content| content.tokens.0).collect();
    for (content, tokens) in contents.iter_mut().zip(share(total.0, &weights)) {
        content.tokens = Tokens(tokens);
    }
}

/// Whether a piece belongs to a compaction: its summary, or what it puts in again.
pub(super) fn is_of_compaction(content: &Content) -> bool {
    matches!(
        content.source,
        ContentSource::Text(ContentKind::Summary | ContentKind::File | ContentKind::Reminder)
    )
}
