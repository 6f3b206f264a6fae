//! The tokens of what a client added between two requests, counted in their vocabulary.
//!
//! A result and a text are as large as they are written into the prompt, with what frames them there, so that a step of
//! nothing else is known to a few tokens (`docs/accuracy.md`). Of attachments lines hold the text, and not
//! the words that the client puts around it.

use crate::base::units::Tokens;
use crate::read::rendered::{Frames, Scale, USUAL_NAME};
use crate::read::transcript::{ContentKind, ContentSource, NOT_COUNTED};
use crate::requests::content::{Ratio, weight};
use crate::requests::conversation::{History, Request, TrailContent};

/// The tokens of an image or a document whose size is not known.
const USUAL_MEDIA: u64 = 1_500;

/// How large a piece is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PieceSize {
    /// Its tokens, with what frames it.
    pub(crate) tokens: u64,
    /// Whether all of it stands in its line.
    pub(crate) is_whole: bool,
}

/// What counts the pieces of a request's file.
#[derive(Clone, Copy)]
pub(crate) struct Counted<'a> {
    history: &'a History,
    scale: Scale,
    /// For what was not counted.
    by_bytes: Ratio,
}

impl<'a> Counted<'a> {
    /// `None` where the contents of the request's file were not counted, or in the vocabulary of another family.
    pub(crate) fn of(history: &'a History, request: &Request) -> Option<Self> {
        let of_file = history.files[request.file].trail.vocabulary?;
        let of_model = history.facts(request.model).vocabulary?;
        if of_file != of_model {
            return None;
        }
        let tokenizer = &history.facts(request.model).tokenizer;
        Some(Self { history, scale: Scale::of(of_file)?, by_bytes: Ratio::usual(tokenizer) })
    }

    fn frames(&self) -> &'static Frames {
        self.scale.frames
    }

    /// The sizes of the pieces of one step, which come newest first, in the same order.
    pub(crate) fn sizes(&self, contents: &[&TrailContent]) -> Vec<PieceSize> {
        let is_result = |content: &&&TrailContent| matches!(content.source, ContentSource::Tool(_));
        let results = contents.iter().filter(is_result).count();
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
        // The client writes words around what a task reports, and around what it adds itself.
        let has_words = |kind| {
            matches!(kind, ContentKind::AgentReport | ContentKind::Reminder | ContentKind::File)
        };
        let has_words = matches!(content.source, ContentSource::Text(kind) if has_words(kind));
        PieceSize { tokens, is_whole: is_whole && !has_words }
    }

    /// The tokens of the answer before a request, as this one sends it again: as counted, where all of it is there and
    /// nearly what was recorded, else as recorded.
    pub(crate) fn carried(&self, request: &Request, previous: &Request) -> Tokens {
        let recorded = request.carried_output(previous);
        let most = MOST_REWRITTEN_IN_CALLS.min(recorded.0 / 4);
        let is_near = |counted: &u64| counted.abs_diff(recorded.0) <= most;
        let counted =
            self.answer(previous).filter(is_near).filter(|_| !request.between.drops_answer);
        counted.map_or(recorded, Tokens)
    }

    /// The tokens that an answer takes of the next prompt; `None` where it holds thinking, of which the size is not
    /// known, or was not counted.
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

/// An answer is sent back as it is, save for words that the client adds to some calls or takes out of them: these are
/// fewer than so many tokens, and than a quarter of it. A count that is further off is of something else.
const MOST_REWRITTEN_IN_CALLS: u64 = 150;

/// A count holds if it is off by no more than so many tokens, or by a hundredth.
pub(crate) const CLOSE_TOKENS: u64 = 3;
const CLOSE_SHARE: u64 = 100;

/// Whether a count holds for what was recorded.
pub(crate) fn is_close(counted: u64, recorded: u64) -> bool {
    counted.abs_diff(recorded) <= CLOSE_TOKENS.max(recorded / CLOSE_SHARE)
}

/// What a step had before a piece.
#[derive(Default)]
struct Before {
    has_results: bool,
    has_texts: bool,
    has_reminders: bool,
}
