//! Marked texts of runs, each counted on its own.

use super::Family;
use super::case::add_word;
use super::memo::{Key, Memo};
use super::pieces::{Pieces, WORD_BEGINS, WORD_ENDS};
use super::runs::{Run, Runs};
use super::tile::Tiling;
use super::traits::Class;

/// Letters that an apostrophe joins to the word before it.
const CONTRACTIONS: [&str; 7] = ["s", "t", "d", "m", "ll", "re", "ve"];

/// Digits of a piece: all numbers of up to three digits are pieces.
const DIGITS: u64 = 3;

/// Counter of the tokens of texts.
pub(super) struct Marking {
    pieces: &'static Pieces,
    memo: Memo,
    tiling: Tiling,
    /// Marked text that is not counted yet, as a piece may continue.
    open: Vec<u8>,
    tokens: u64,
}

/// A run with its neighbours.
#[derive(Clone, Copy)]
struct Place<'t> {
    before: [Option<Run<'t>>; 2],
    run: Run<'t>,
    after: [Option<Run<'t>>; 2],
    /// True if the beginning of a message counts as a space.
    frame_begins_word: bool,
}

impl Place<'_> {
    /// Returns true with a space on the left.
    fn has_space_left(&self) -> bool {
        self.before[1].map_or(self.frame_begins_word, |before| before.ends_in_space())
    }

    /// Returns true with a single space on the right.
    fn has_space_right(&self) -> bool {
        self.after[0].is_some_and(|after| after.begins_with_single_space())
    }

    /// Returns true for an apostrophe that opens the word after it.
    fn opens_word(&self) -> bool {
        self.run.is_apostrophe() && self.after[0].is_some_and(|after| after.is_word())
    }

    /// Returns true if the run after this space begins with a marker.
    fn is_followed_by_marker(&self) -> bool {
        let [Some(next), later] = self.after else { return false };
        match next.class {
            Class::Word | Class::Stray => true,
            Class::Punct => !(next.is_apostrophe() && later.is_some_and(|later| later.is_word())),
            Class::Hard | Class::Digit | Class::Space => next.takes_left,
        }
    }

    /// Returns true for the letters after the apostrophe of a contraction.
    fn is_contraction(&self) -> bool {
        let [earlier, Some(before)] = self.before else { return false };
        CONTRACTIONS.contains(&self.run.text)
            && before.is_apostrophe()
            && earlier.is_none_or(|earlier| !earlier.takes_right)
    }

    /// Returns true if marks without a letter before them have begun the word.
    fn is_begun(&self) -> bool {
        self.before[1].is_some_and(|before| before.class == Class::Stray)
    }
}

impl Marking {
    pub(super) fn new(pieces: &'static Pieces) -> Self {
        Self { pieces, memo: Memo::new(), tiling: Tiling::new(), open: Vec::new(), tokens: 0 }
    }

    /// Tokens of `count` line feeds at the end of a message. Two line feeds of the frame follow, and the last token is
    /// the frame's.
    pub(super) fn line_feeds_before_frame(&mut self, count: usize) -> u64 {
        if count == 0 {
            return 0;
        }
        self.tiling.fewest(self.pieces, &vec![b'\n'; count + 2]) - 1
    }

    /// Tokens of a normal text without line feeds at its end.
    pub(super) fn content(&mut self, family: Family, text: &str) -> u64 {
        self.tokens = 0;
        let mut runs = Runs::of(text);
        let mut before = [None, None];
        let mut next = [runs.next(), runs.next()];
        self.begin(family, next);
        let mut has_end = false;
        while let [Some(run), second] = next {
            next = [second, runs.next()];
            let frame_begins_word = family.frame_begins_word();
            let place = Place { before, run, after: next, frame_begins_word };
            has_end = self.add(family, &place, has_end);
            before = [before[1], Some(run)];
        }
        self.close();
        self.tokens
    }

    /// Writes the rest of the frame in front of the first run.
    fn begin(&mut self, family: Family, [first, second]: [Option<Run<'_>>; 2]) {
        if !family.frame_begins_word() {
            return;
        }
        let opens_word = first.is_some_and(|first| first.is_apostrophe())
            && second.is_some_and(|second| second.is_word());
        let has_marker = first.is_some_and(|first| match first.class {
            Class::Word | Class::Punct | Class::Stray => true,
            Class::Hard | Class::Digit => first.takes_left,
            Class::Space => first.text.starts_with(' '),
        });
        if opens_word {
            self.open.push(b' ');
        } else if !has_marker {
            self.open.push(WORD_BEGINS);
        }
    }

    /// Adds a run, and returns true if a marker ends it. `has_end` is the result for the run before.
    fn add(&mut self, family: Family, place: &Place<'_>, has_end: bool) -> bool {
        let run = &place.run;
        match run.class {
            Class::Word => {
                self.add_word(family, place);
                true
            }
            Class::Stray => {
                self.close();
                self.open.push(WORD_BEGINS);
                self.open.extend_from_slice(run.text.as_bytes());
                let goes_on = place.after[0].is_some_and(|after| after.class == Class::Word);
                self.end(!goes_on)
            }
            Class::Space => {
                // A single space between two markers is the markers themselves.
                let is_seam = run.text == " " && has_end && place.is_followed_by_marker();
                self.close();
                if !is_seam {
                    self.open.extend_from_slice(run.text.as_bytes());
                    self.close();
                }
                false
            }
            Class::Digit if run.text.is_ascii() => {
                self.close();
                self.tokens += (run.text.len() as u64).div_ceil(DIGITS);
                false
            }
            Class::Hard | Class::Digit | Class::Punct => {
                if run.takes_left && place.has_space_left() && !place.opens_word() {
                    self.close();
                    self.open.push(WORD_BEGINS);
                }
                self.open.extend_from_slice(run.text.as_bytes());
                self.end(run.takes_right && place.has_space_right())
            }
        }
    }

    fn add_word(&mut self, family: Family, place: &Place<'_>) {
        let word = place.run.text;
        if place.is_begun() {
            self.open.extend_from_slice(word.as_bytes());
            self.end(true);
            return;
        }
        let capitals_from = family.capitals_from();
        if place.is_contraction() {
            add_word(word, false, capitals_from, &mut self.open);
            self.end(true);
            return;
        }
        self.close();
        let mut count = |open: &mut Vec<u8>| {
            add_word(word, true, capitals_from, open);
            open.push(WORD_ENDS);
            let tokens = self.tiling.fewest(self.pieces, open);
            open.clear();
            tokens
        };
        // Words are remembered as they are written, which spares marking them again.
        self.tokens += match Key::of_word(word.as_bytes()) {
            Some(key) => self.memo.get(key, || count(&mut self.open)),
            None => count(&mut self.open),
        };
    }

    /// Ends the open text with a marker if `has_marker`, which is returned.
    fn end(&mut self, has_marker: bool) -> bool {
        if has_marker {
            self.open.push(WORD_ENDS);
            self.close();
        }
        has_marker
    }

    /// Counts the open text: no piece continues beyond it.
    fn close(&mut self) {
        if self.open.is_empty() {
            return;
        }
        let mut count = || self.tiling.fewest(self.pieces, &self.open);
        self.tokens += match Key::of_marked(&self.open) {
            Some(key) => self.memo.get(key, count),
            None => count(),
        };
        self.open.clear();
    }
}
