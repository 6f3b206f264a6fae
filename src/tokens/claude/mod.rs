//! Claude's tokenizers: a text → how many tokens it is as a message.
//!
//! The vocabularies are reconstructed: pieces of which each was measured to be one token, and rules for how a
//! text is written as pieces, are published as the package `ctok` 1.3.0 (`THIRD_PARTY.md`). Its tests found
//! no text that it counts too low. The code here is our own, and is held against the package (`tests/tokens.rs`).
//!
//! A text is brought into its normal form (`normal.rs`) and parted into runs of characters of one class
//! (`runs.rs`, `traits.rs`). Markers say where words begin and end and which have capitals (`case.rs`); a single space
//! between two marked runs is the markers themselves (`marked.rs`). What results is made up of as few pieces as
//! possible (`pieces.rs`, `tile.rs`). No piece reaches beyond a word or a run, so each is counted
//! for itself, short ones once (`memo.rs`).

mod case;
mod marked;
mod memo;
mod normal;
mod pieces;
mod runs;
mod tile;
mod traits;

use std::cell::RefCell;
use std::sync::LazyLock;

use marked::Marking;
use normal::normal;
use pieces::Pieces;

static CLAUDE_3: LazyLock<Pieces> =
    LazyLock::new(|| Pieces::read(include_str!("../../../models/tokens/claude-3.txt")));
static CLAUDE_4_7: LazyLock<Pieces> =
    LazyLock::new(|| Pieces::read(include_str!("../../../models/tokens/claude-4.7.txt")));

/// A tokenizer of Claude's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    /// Claude 3 to the 4.6 models.
    Claude3,
    /// Opus 4.7.
    Claude47,
    /// Opus 4.8 and later: the pieces of 4.7 with another frame around a message.
    Claude48,
}

impl Family {
    fn pieces(self) -> &'static Pieces {
        match self {
            Self::Claude3 => &CLAUDE_3,
            Self::Claude47 | Self::Claude48 => &CLAUDE_4_7,
        }
    }

    /// Whether typographic quotation marks count as those of ASCII.
    fn folds_quotes(self) -> bool {
        self == Self::Claude3
    }

    /// From how many letters on a word of capitals alone is said to be one.
    fn capitals_from(self) -> Option<usize> {
        (self == Self::Claude3).then_some(4)
    }

    /// Whether the frame in front of a message ends where a word begins, so that one space is free.
    fn frame_begins_word(self) -> bool {
        self != Self::Claude48
    }

    /// The tokens of a text that is a message of its own, without the message's frame.
    pub(super) fn count(self, text: &str) -> u64 {
        thread_local! {
            static MARKINGS: [RefCell<Option<Marking>>; 2] = const { [RefCell::new(None), RefCell::new(None)] };
        }
        let place = usize::from(self != Self::Claude3);
        MARKINGS.with(|markings| {
            let mut marking = markings[place].borrow_mut();
            marking.get_or_insert_with(|| Marking::new(self.pieces())).count(self, text)
        })
    }
}

impl Marking {
    /// The tokens of a text. What ends it in line feeds shares a token with the frame after it.
    fn count(&mut self, family: Family, text: &str) -> u64 {
        let normal = normal(text, family.folds_quotes());
        let content = normal.trim_end_matches('\n');
        let tail = self.line_feeds_before_frame(normal.len() - content.len());
        let is_free = family.frame_begins_word()
            && text.starts_with(' ')
            && content.starts_with(' ')
            && !content.starts_with("  ");
        let content = if is_free { &content[1..] } else { content };
        self.content(family, content) + tail
    }
}
