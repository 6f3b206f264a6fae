//! Claude's tokenizers: number of tokens of a text that is a message.
//!
//! The vocabularies are reconstructed: pieces, each measured to be one token, and rules for writing a text as pieces,
//! are published as the package `ctok` 1.3.0 (`THIRD_PARTY.md`). Its tests found no text that it counts too low. The
//! code here is our own and is compared with the package (`tests/figures/tokens.rs`).
//!
//! A text is normalised (`normal.rs`) and split into runs of characters of one class (`runs.rs`, `traits.rs`). Markers
//! record where words begin and end and which have capitals (`case.rs`); a single space between two marked runs is the
//! markers themselves (`marked.rs`). The result is tiled with as few pieces as possible (`pieces.rs`, `tile.rs`). No
//! piece reaches beyond a word or a run, so each is counted on its own, short ones once (`memo.rs`).

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

/// A tokenizer of Claude.
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

    /// Returns true if typographic quotation marks count as those of ASCII.
    fn folds_quotes(self) -> bool {
        self == Self::Claude3
    }

    /// Least number of letters of a word of capitals that gets one marker for all of them.
    fn capitals_from(self) -> Option<usize> {
        (self == Self::Claude3).then_some(4)
    }

    /// Returns true if the frame in front of a message ends like a space, so that one space is free.
    fn frame_begins_word(self) -> bool {
        self != Self::Claude48
    }

    /// Tokens of a text that is a message of its own, without the message's frame.
    pub(super) fn count(self, text: &str) -> u64 {
        // Each thread has counters of its own, which need no lock.
        thread_local! {
            static MARKINGS: [RefCell<Option<Marking>>; 2] = const { [RefCell::new(None), RefCell::new(None)] };
        }
        // Both newer families have the same pieces, and so may share a memo.
        let place = usize::from(self != Self::Claude3);
        MARKINGS.with(|markings| {
            let mut marking = markings[place].borrow_mut();
            marking.get_or_insert_with(|| Marking::new(self.pieces())).count(self, text)
        })
    }
}

impl Marking {
    /// Tokens of a text. Line feeds at its end share a token with the frame after them.
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
