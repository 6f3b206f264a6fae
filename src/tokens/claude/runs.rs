//! Runs of characters of one class in a normal text.

use super::traits::{Class, Kind, Traits};

/// Consecutive characters of one class.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run<'t> {
    pub(super) class: Class,
    pub(super) text: &'t str,
    /// True if the run takes a marker on its left next to a space.
    pub(super) takes_left: bool,
    /// True if the run takes a marker on its right next to a space.
    pub(super) takes_right: bool,
}

impl Run<'_> {
    fn is(&self, class: Class) -> bool {
        self.class == class
    }

    /// Returns true if the run ends in a space.
    pub(super) fn ends_in_space(&self) -> bool {
        self.is(Class::Space) && self.text.ends_with(' ')
    }

    /// Returns true if the run begins with exactly one space.
    pub(super) fn begins_with_single_space(&self) -> bool {
        self.is(Class::Space) && self.text.starts_with(' ') && !self.text.starts_with("  ")
    }

    /// Returns true for a single apostrophe.
    pub(super) fn is_apostrophe(&self) -> bool {
        self.is(Class::Punct) && self.text == "'"
    }

    /// Returns true for a word, or for marks that open one.
    pub(super) fn is_word(&self) -> bool {
        self.is(Class::Word) || self.is(Class::Stray)
    }
}

/// Class of each ASCII character.
const ASCII: [Class; 128] = {
    let mut classes = [Class::Hard; 128];
    let mut byte = 0_u8;
    while byte < 128 {
        classes[byte as usize] = match byte {
            b'a'..=b'z' | b'A'..=b'Z' => Class::Word,
            b'0'..=b'9' => Class::Digit,
            b'\t' | b'\n' | b' ' => Class::Space,
            b'!'..=b'~' => Class::Punct,
            _ => Class::Hard,
        };
        byte += 1;
    }
    classes
};

/// Runs of a text.
pub(super) struct Runs<'t> {
    rest: &'t str,
}

impl<'t> Runs<'t> {
    pub(super) fn of(text: &'t str) -> Self {
        Self { rest: text }
    }

    fn take(&mut self, bytes: usize) -> &'t str {
        let (run, rest) = self.rest.split_at(bytes);
        self.rest = rest;
        run
    }

    /// Run that begins with a character outside of ASCII or of class hard, or that such a character continues.
    fn mixed(&mut self) -> Option<Run<'t>> {
        let mut characters = self.rest.char_indices();
        let (_, first) = characters.next()?;
        let first = Traits::of(first);
        let class =
            if first.class == Class::Word && first.is_stray { Class::Stray } else { first.class };
        let mut ends = Ends { first, last: first, is_uniform: first.kind == Kind::Number };
        let end = characters.find(|(_, character)| !ends.go_on(class, Traits::of(*character)));
        let text = self.take(end.map_or(self.rest.len(), |(at, _)| at));
        let (takes_left, takes_right) = ends.borders(class);
        Some(Run { class, text, takes_left, takes_right })
    }
}

impl<'t> Iterator for Runs<'t> {
    type Item = Run<'t>;

    fn next(&mut self) -> Option<Run<'t>> {
        let bytes = self.rest.as_bytes();
        let class_of = |byte: &u8| ASCII.get(usize::from(*byte)).copied();
        let class = class_of(bytes.first()?);
        let Some(class) = class.filter(|class| *class != Class::Hard) else { return self.mixed() };
        let end =
            bytes.iter().position(|byte| class_of(byte) != Some(class)).unwrap_or(bytes.len());
        // A character outside of ASCII may continue the run.
        if bytes.get(end).is_some_and(|byte| !byte.is_ascii()) {
            return self.mixed();
        }
        let takes = class == Class::Punct;
        Some(Run { class, text: self.take(end), takes_left: takes, takes_right: takes })
    }
}

/// First and last character of a run.
struct Ends {
    first: Traits,
    last: Traits,
    /// True if all characters are numbers of one kind.
    is_uniform: bool,
}

impl Ends {
    /// Extends the run by a character, and returns true if the character belongs to it.
    fn go_on(&mut self, class: Class, next: Traits) -> bool {
        let goes_on = match class {
            Class::Stray => next.class == Class::Word && next.is_stray,
            Class::Hard => {
                next.class == Class::Hard && (next.is_selector || next.kind == self.first.kind)
            }
            _ => next.class == class,
        };
        if goes_on {
            self.last = next;
            self.is_uniform &=
                next.kind == Kind::Number && next.is_decimal == self.first.is_decimal;
        }
        goes_on
    }

    /// Flags for a marker on the left and on the right of the run.
    fn borders(&self, class: Class) -> (bool, bool) {
        let is_border = |traits: Traits| traits.is_selector || traits.kind == Kind::Punct;
        let is_number = |traits: Traits| traits.kind == Kind::Number;
        match class {
            Class::Punct => (true, true),
            Class::Hard if is_border(self.first) || is_border(self.last) => {
                (is_border(self.first), is_border(self.last))
            }
            Class::Hard if !self.is_uniform => (false, false),
            Class::Hard | Class::Digit => (is_number(self.first), is_number(self.last)),
            Class::Word => (false, is_border(self.last)),
            Class::Space | Class::Stray => (false, false),
        }
    }
}
