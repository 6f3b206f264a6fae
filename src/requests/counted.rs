//! Token counts of the content that a client added between two requests, in the vocabulary of their model.
//!
//! Results and texts are counted with the frames that the prompt puts around them, so that a step of nothing
//! else is known to a few tokens (`docs/accuracy.md`). Lines with attachments hold their text, but not the
//! words that the client puts around it.

use crate::base::Tokens;
use crate::read::rendered::{Frames, Scale, USUAL_NAME};
use crate::read::transcript::{ContentKind, ContentSource, NOT_COUNTED};
use crate::requests::content::{Ratio, weight};
use crate::requests::conversation::{History, Request, TrailContent};

/// Tokens of an image or a document of unknown size.
const USUAL_MEDIA: u64 = 1_500;

/// Size of a piece of content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PieceSize {
    /// Tokens of the piece, with its frame.
    pub(crate) tokens: u64,
    /// True if the piece's line holds all of it.
    pub(crate) is_whole: bool,
}

/// Counter of the pieces in a request's file.
#[derive(Clone, Copy)]
pub(crate) struct Counted<'a> {
    history: &'a History,
    scale: Scale,
    /// Ratio for pieces that were not counted.
    by_bytes: Ratio,
}

impl<'a> Counted<'a> {
    /// Creates the counter; `None` if the request's file was not counted, or in the vocabulary of another
    /// family.
    pub(crate) fn of(history: &'a History, request: &Request) -> Option<Self> {
        let of_file = history.files[request.file].trail.vocabulary?;
        let of_model = history.facts(request.model).vocabulary?;
        // A counted file may hold requests to models of two families; it was counted in one vocabulary only.
        if of_file != of_model {
            return None;
        }
        let tokenizer = &history.facts(request.model).tokenizer;
        Some(Self { history, scale: Scale::of(of_file)?, by_bytes: Ratio::usual(tokenizer) })
    }

    fn frames(&self) -> &'static Frames {
        self.scale.frames
    }

    /// Sizes of the pieces of one step, in the order given: newest first.
    pub(crate) fn sizes(&self, contents: &[&TrailContent]) -> Vec<PieceSize> {
        let is_result = |content: &&&TrailContent| matches!(content.source, ContentSource::Tool(_));
        let results = contents.iter().filter(is_result).count();
        // A frame depends on the pieces before it, so the oldest piece is sized first.
        let mut before = Before::default();
        let mut sizes: Vec<PieceSize> = contents
            .iter()
            .rev()
            .map(|content| self.size(content, results > 1, &mut before))
            .collect();
        sizes.reverse();
        sizes
    }

    fn size(
        &self,
        content: &TrailContent,
        is_among_several: bool,
        before: &mut Before,
    ) -> PieceSize {
        let frames = self.frames();
        let own = content.size.tokens();
        let is_whole = content.size.is_whole();
        if own == 0 && !is_whole && content.source != ContentSource::Media {
            return PieceSize { tokens: self.by_bytes.tokens(weight(content)), is_whole };
        }
        let tokens = match content.source {
            ContentSource::Media => {
                if own == 0 {
                    USUAL_MEDIA
                } else {
                    own
                }
            }
            ContentSource::Tool(tool) if is_among_several => {
                let name = tool
                    .map_or(USUAL_NAME, |tool| self.scale.text(self.history.symbols.text(tool)));
                let all = if before.has_results { 0 } else { frames.several_results };
                before.has_results = true;
                own + all + frames.one_of_several + name
            }
            ContentSource::Tool(_) => {
                before.has_results = true;
                own
            }
            ContentSource::Text(ContentKind::Reminder | ContentKind::File) => {
                let turn = if before.has_reminders { 0 } else { frames.reminders };
                before.has_reminders = true;
                own + turn + frames.reminder
            }
            ContentSource::Text(_) => {
                let turn = match (before.has_texts, before.has_results) {
                    (true, _) => 1,
                    (false, true) => frames.text_after_results,
                    (false, false) => frames.user_turn,
                };
                before.has_texts = true;
                own + turn
            }
        };
        // The client writes words around the report of a task, and around its own additions.
        let has_words = |kind| {
            matches!(kind, ContentKind::AgentReport | ContentKind::Reminder | ContentKind::File)
        };
        let has_words = matches!(content.source, ContentSource::Text(kind) if has_words(kind));
        PieceSize { tokens, is_whole: is_whole && !has_words }
    }

    /// Tokens of the answer before a request, as this one sends it again.
    ///
    /// As counted, if all of the answer was counted and the count is near the recorded size; otherwise as
    /// recorded.
    pub(crate) fn carried(&self, request: &Request, previous: &Request) -> Tokens {
        let recorded = request.carried_output(previous);
        let most = MOST_REWRITTEN_IN_CALLS.min(recorded.0 / 4);
        let is_near = |counted: &u64| counted.abs_diff(recorded.0) <= most;
        let counted =
            self.answer(previous).filter(is_near).filter(|_| !request.between.drops_answer);
        counted.map_or(recorded, Tokens)
    }

    /// Tokens that an answer takes in the next prompt; `None` if it was not counted, or holds thinking, whose
    /// size is unknown.
    fn answer(&self, request: &Request) -> Option<u64> {
        if [0, NOT_COUNTED].contains(&request.answer.counted) || request.has_thinking {
            return None;
        }
        let counted = u64::from(request.answer.counted);
        let frames = self.frames();
        if !request.answer.calls_tools {
            return Some(counted + frames.assistant_turn);
        }
        // The first call has no line feed before it, but a blank line after a text.
        Some((counted + frames.calls + u64::from(request.has_text)).saturating_sub(1))
    }
}

/// Most tokens by which an answer's count may differ from the record, besides a quarter of the record.
///
/// An answer is sent back unchanged, except for a few words that the client adds to or removes from some
/// calls. A count further off is of something else.
const MOST_REWRITTEN_IN_CALLS: u64 = 150;

/// Tokens by which a count may be off and still hold; a hundredth of the record is allowed as well.
pub(crate) const CLOSE_TOKENS: u64 = 3;
const CLOSE_SHARE: u64 = 100;

/// Returns true if a count agrees with the recorded size.
pub(crate) fn is_close(counted: u64, recorded: u64) -> bool {
    counted.abs_diff(recorded) <= CLOSE_TOKENS.max(recorded / CLOSE_SHARE)
}

/// Kinds of pieces that a step had before the current one.
#[derive(Default)]
struct Before {
    has_results: bool,
    has_texts: bool,
    has_reminders: bool,
}
