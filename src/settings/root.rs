//! The object of a settings file, and the place of a key in it.

use std::ops::Range;

use jsonc_parser::ast::{Object, ObjectProp, Value as Node};
use jsonc_parser::common::Ranged as _;
use jsonc_parser::tokens::Token;
use serde_json::{Map, Value};

use super::text::{Edits, Part, SPACE, SettingsError, SettingsProblem, range};

/// Indentation of a key if no other key shows one.
const INDENT: &str = "  ";

/// Characters that end a line.
pub(super) const LINE_ENDS: [char; 2] = ['\n', '\r'];

/// The object of a text, with its tokens.
#[derive(Clone, Copy)]
pub(super) struct Root<'a> {
    pub(super) text: &'a str,
    /// `None` if the text has only space and comments.
    pub(super) object: Option<&'a Object<'a>>,
    /// Tokens and comments of the whole text.
    pub(super) tokens: &'a [Part<'a>],
}

/// A key, and the object that contains it.
type Found<'a> = (&'a Object<'a>, &'a ObjectProp<'a>);

impl<'a> Root<'a> {
    /// All keys with their values.
    pub(super) fn value(&self) -> Value {
        let object = self.object.map(|object| Node::Object(object.clone()));
        object.map_or_else(|| Map::new().into(), Value::from)
    }

    /// Part of the text as JSON without comments, trailing commas and space.
    pub(super) fn plain(&self, range: Range<usize>) -> String {
        let is_comment =
            |token: &Token<'_>| matches!(token, Token::CommentLine(_) | Token::CommentBlock(_));
        let first = self.tokens.partition_point(|(_, at)| at.start < range.start);
        let own = self.tokens[first..].iter().take_while(|(_, at)| at.end <= range.end);
        let mut own = own.filter(|(token, _)| !is_comment(token)).peekable();
        let mut plain = String::new();
        while let Some((token, at)) = own.next() {
            let closes = own
                .peek()
                .is_some_and(|(next, _)| matches!(next, Token::CloseBrace | Token::CloseBracket));
            if !(closes && matches!(token, Token::Comma)) {
                plain.push_str(&self.text[at.clone()]);
            }
        }
        plain
    }

    /// Finds a key.
    pub(super) fn find(&self, key: &[&str]) -> Result<Option<Found<'a>>, SettingsError> {
        let Some((last, path)) = key.split_last() else { return Ok(None) };
        let Some(mut object) = self.object else { return Ok(None) };
        for name in path {
            let Some(property) = self.property(object, name)? else { return Ok(None) };
            object = self.object_of(property)?;
        }
        Ok(self.property(object, last)?.map(|property| (object, property)))
    }

    /// Edits that replace the value of a key, or add the key after the last one.
    pub(super) fn putting(&self, key: &[&str], source: &str) -> Result<Edits, SettingsError> {
        let Some(mut object) = self.object else { return Ok(Vec::new()) };
        for (at, name) in key.iter().enumerate() {
            let rest = &key[at + 1..];
            match self.property(object, name)? {
                Some(property) if rest.is_empty() => {
                    return Ok(vec![(range(&property.value), source.to_owned())]);
                }
                Some(property) => object = self.object_of(property)?,
                None => return Ok(self.insertion(object, name, &nested(rest, source))),
            }
        }
        Ok(Vec::new())
    }

    /// Alternative edits that remove a key, the best first: with the space in front, which restores the text from
    /// before the key was added, and without, for a comment that would otherwise swallow the text after the key.
    pub(super) fn removing(&self, key: &[&str]) -> Result<[Edits; 2], SettingsError> {
        let Some((object, property)) = self.find(key)? else { return Ok(Default::default()) };
        let start = property.start();
        let space = self.space_before(start).len();
        Ok([start - space, start].map(|start| self.removal(object, property, start)))
    }

    fn removal(&self, object: &Object<'_>, property: &ObjectProp<'_>, start: usize) -> Edits {
        let comma = self.comma_after(property, object);
        // The last comma in front of this property is the one after the previous property.
        let before = || {
            self.commas()
                .rfind(|comma| comma.end <= property.start() && comma.start > object.start())
        };
        let own = start..property.end();
        let ranges = match comma {
            Some(comma) => vec![own, comma],
            None => before().into_iter().chain(std::iter::once(own)).collect(),
        };
        ranges.into_iter().map(|range| (range, String::new())).collect()
    }

    fn property(
        &self,
        object: &'a Object<'a>,
        name: &str,
    ) -> Result<Option<&'a ObjectProp<'a>>, SettingsError> {
        let mut named = object.properties.iter().filter(|one| one.name.as_str() == name);
        let first = named.next();
        match named.next() {
            Some(second) => {
                let problem = SettingsProblem::Twice(name.to_owned());
                Err(SettingsError::at(self.text, second.start(), problem))
            }
            None => Ok(first),
        }
    }

    fn object_of(&self, property: &'a ObjectProp<'a>) -> Result<&'a Object<'a>, SettingsError> {
        property.value.as_object().ok_or_else(|| {
            let problem = SettingsProblem::NoInnerObject(property.name.as_str().to_owned());
            SettingsError::at(self.text, property.value.start(), problem)
        })
    }

    /// Adds a key after the last one, with the same spacing.
    fn insertion(&self, object: &Object<'_>, name: &str, value: &str) -> Edits {
        let entry = format!("{}: {value}", Value::from(name));
        let close = object.end() - 1;
        let Some(last) = object.properties.last() else {
            let at = self.end_of_line(object.start() + 1, close);
            let is_open = self.text[object.start()..close].contains(LINE_ENDS);
            let space = match &self.text[object.start() + 1..at] {
                _ if is_open => self.line_below(object),
                "" => String::new(),
                _ => " ".to_owned(),
            };
            return vec![(at..at, format!("{space}{entry}"))];
        };
        let own = self.space_before(last.start());
        let at = self.end_of_line(last.end(), close);
        let space = if own.contains(LINE_ENDS) {
            own.to_owned()
        } else if self.text[at..close].contains(LINE_ENDS) {
            // The last key may be followed by a comment up to the end of its line.
            self.line_below(object)
        } else if object.properties.len() > 1 {
            own.to_owned()
        } else {
            " ".to_owned()
        };
        if self.comma_after(last, object).is_some() {
            // A trailing comma stays trailing.
            return vec![(at..at, format!("{space}{entry},"))];
        }
        vec![(last.end()..last.end(), ",".to_owned()), (at..at, format!("{space}{entry}"))]
    }

    /// End of the text between two places, including trailing space if a line ends there.
    fn end_of_line(&self, from: usize, to: usize) -> usize {
        let text = &self.text[from..to];
        let end = text.trim_end_matches(SPACE).len();
        from + text[end..].find(LINE_ENDS).map_or(end, |line| end + line)
    }

    /// Line end and indentation for a key of an object.
    fn line_below(&self, object: &Object<'_>) -> String {
        let line = self.text[..object.start()].rfind(LINE_ENDS).map_or(0, |end| end + 1);
        let rest = &self.text[line..object.start()];
        let indent = &rest[..rest.len() - rest.trim_start_matches(SPACE).len()];
        // The file keeps its kind of line end.
        let end = if self.text.contains("\r\n") {
            "\r\n"
        } else if self.text.contains('\n') {
            "\n"
        } else {
            "\r"
        };
        format!("{end}{indent}{INDENT}")
    }

    fn commas(&self) -> impl DoubleEndedIterator<Item = Range<usize>> {
        let commas = self.tokens.iter().filter(|(token, _)| matches!(token, Token::Comma));
        commas.map(|(_, range)| range.clone())
    }

    /// Comma between a property and the next one or the end of the object.
    fn comma_after(&self, property: &ObjectProp<'_>, object: &Object<'_>) -> Option<Range<usize>> {
        let mut commas = self.commas();
        let first = commas.find(|comma| comma.start >= property.end())?;
        (first.start < object.end()).then_some(first)
    }

    /// Space in front of a place, from the line end on if the place begins a line. Empty lines are excluded.
    pub(super) fn space_before(&self, at: usize) -> &'a str {
        let before = &self.text[..at];
        let space = &before[before.trim_end_matches(SPACE).len()..];
        space.rfind(LINE_ENDS).map_or(space, |line| {
            let line = if space[..line].ends_with('\r') && space[line..].starts_with('\n') {
                line - 1
            } else {
                line
            };
            &space[line..]
        })
    }
}

/// A value nested in objects of one key each.
fn nested(path: &[&str], source: &str) -> String {
    let around = |inner: String, name: &&str| format!("{{{}: {inner}}}", Value::from(*name));
    path.iter().rev().fold(source.to_owned(), around)
}
