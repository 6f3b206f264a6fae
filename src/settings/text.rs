//! The text of a settings file. Comments, unknown keys, indentation, commas at ends and line ends stay: a key is put in or
//! taken out at its place, and nothing else is written anew.

use std::iter;
use std::ops::Range;

use jsonc_parser::ast::{Object, ObjectProp, Value as Node};
use jsonc_parser::common::Ranged;
use jsonc_parser::tokens::Token;
use jsonc_parser::{CollectOptions, ParseOptions, ParseResult, parse_to_ast};
use serde_json::Value;

/// What a file with one new key begins from.
const NEW: &str = "{\n}\n";

/// The indentation of a key where no other shows one.
const INDENT: &str = "  ";

/// Some editors put it in front of a text.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// A line and a column, from 1 on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The line.
    pub line: usize,
    /// The character in it.
    pub column: usize,
}

/// What is wrong with a settings file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsProblem {
    /// It is not text.
    #[error("it is no UTF-8")]
    NoText,
    /// It is not JSON, even with comments and commas at ends.
    #[error("it is no JSON: {0}")]
    NoJson(String),
    /// It is another value.
    #[error("it is no object")]
    NoObject,
    /// A key leads into something that has no keys.
    #[error("`{0}` is no object")]
    NoInnerObject(String),
    /// A key is there twice, and readers differ in which one they take.
    #[error("`{0}` is there twice")]
    Twice(String),
}

/// What is wrong, and where; said after the name of the file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {problem}", place.map(|place| format!(":{}:{}", place.line, place.column)).unwrap_or_default())]
pub struct SettingsError {
    /// Where. `None` of bytes that are no text.
    pub place: Option<Place>,
    /// What.
    pub problem: SettingsProblem,
}

/// The text of a settings file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsText(String);

impl SettingsText {
    /// Reads a file. A file that is empty has no keys.
    ///
    /// # Errors
    /// It is damaged: nothing in it may be changed, as it is not known what it says.
    pub fn parse(bytes: &[u8]) -> Result<Self, SettingsError> {
        let text = std::str::from_utf8(bytes)
            .map_err(|_| SettingsError { place: None, problem: SettingsProblem::NoText })?;
        let settings = Self(text.to_owned());
        if !settings.is_empty() {
            settings.with_root(|_| Ok(()))?;
        }
        Ok(settings)
    }

    /// The bytes of the file.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn is_empty(&self) -> bool {
        self.0.trim_start_matches(BYTE_ORDER_MARK).trim().is_empty()
    }

    /// The value of a key, if it has one.
    ///
    /// # Errors
    /// The key is there twice, or leads into something that is no object.
    pub fn get(&self, key: &[&str]) -> Result<Option<Value>, SettingsError> {
        if self.is_empty() {
            return Ok(None);
        }
        self.with_root(|root| {
            let Some((last, path)) = key.split_last() else { return Ok(None) };
            let Some(object) = root.inner(path)? else { return Ok(None) };
            let property = root.property(object, last)?;
            Ok(property.map(|property| property.value.clone().into()))
        })
    }

    /// Gives a key a value.
    ///
    /// # Errors
    /// The key is there twice, or leads into something that is no object.
    pub fn set(&mut self, key: &[&str], value: &Value) -> Result<(), SettingsError> {
        if self.is_empty() {
            self.0.truncate(self.mark());
            self.0.push_str(NEW);
        }
        let (range, text) = self.with_root(|root| {
            let mut object = root.object;
            for (at, name) in key.iter().enumerate() {
                let rest = &key[at + 1..];
                match root.property(object, name)? {
                    Some(property) if rest.is_empty() => {
                        return Ok((range(&property.value), shown(value)));
                    }
                    Some(property) => object = root.object_of(property)?,
                    None => return Ok(root.insertion(object, name, &nested(rest, value))),
                }
            }
            Ok((0..0, String::new()))
        })?;
        self.replace(range, &text);
        Ok(())
    }

    /// Takes a key out, with its comma and the space in front of it.
    ///
    /// # Errors
    /// The key is there twice, or leads into something that is no object.
    pub fn remove(&mut self, key: &[&str]) -> Result<(), SettingsError> {
        if self.is_empty() {
            return Ok(());
        }
        let ranges = self.with_root(|root| {
            let Some((last, path)) = key.split_last() else { return Ok(Vec::new()) };
            let Some(object) = root.inner(path)? else { return Ok(Vec::new()) };
            let property = root.property(object, last)?;
            Ok(property.map(|property| root.removal(object, property)).unwrap_or_default())
        })?;
        for range in ranges.into_iter().rev() {
            self.replace(range, "");
        }
        Ok(())
    }

    /// The length of the mark in front of the text.
    fn mark(&self) -> usize {
        if self.0.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len_utf8() } else { 0 }
    }

    fn replace(&mut self, range: Range<usize>, with: &str) {
        let mark = self.mark();
        self.0.replace_range(range.start + mark..range.end + mark, with);
    }

    fn with_root<T>(
        &self,
        work: impl FnOnce(&Root<'_>) -> Result<T, SettingsError>,
    ) -> Result<T, SettingsError> {
        let text = &self.0[self.mark()..];
        let collected = CollectOptions { tokens: true, ..CollectOptions::default() };
        let ParseResult { value, tokens, .. } = parse_to_ast(text, &collected, &accepted())
            .map_err(|error| {
                let place = Place { line: error.line_display(), column: error.column_display() };
                let problem = SettingsProblem::NoJson(error.kind().to_string());
                SettingsError { place: Some(place), problem }
            })?;
        let is_comma =
            |token: &&jsonc_parser::tokens::TokenAndRange<'_>| matches!(token.token, Token::Comma);
        let tokens = tokens.unwrap_or_default();
        let commas = tokens.iter().filter(is_comma).map(range).collect();
        match &value {
            Some(Node::Object(object)) => work(&Root { text, object, commas }),
            other => Err(error_at(
                text,
                other.as_ref().map_or(0, Ranged::start),
                SettingsProblem::NoObject,
            )),
        }
    }
}

/// JSON with comments and commas at ends, and nothing else that is looser.
fn accepted() -> ParseOptions {
    ParseOptions {
        allow_comments: true,
        allow_loose_object_property_names: false,
        allow_trailing_commas: true,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    }
}

/// The object of a text.
struct Root<'a> {
    text: &'a str,
    object: &'a Object<'a>,
    /// The commas of the whole text.
    commas: Vec<Range<usize>>,
}

impl<'a> Root<'a> {
    /// The object to which names lead, if all of them are there.
    fn inner(&self, path: &[&str]) -> Result<Option<&'a Object<'a>>, SettingsError> {
        let mut object = self.object;
        for name in path {
            let Some(property) = self.property(object, name)? else { return Ok(None) };
            object = self.object_of(property)?;
        }
        Ok(Some(object))
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
                Err(error_at(self.text, second.start(), problem))
            }
            None => Ok(first),
        }
    }

    fn object_of(&self, property: &'a ObjectProp<'a>) -> Result<&'a Object<'a>, SettingsError> {
        property.value.as_object().ok_or_else(|| {
            let problem = SettingsProblem::NoInnerObject(property.name.as_str().to_owned());
            error_at(self.text, property.value.start(), problem)
        })
    }

    /// Where a new key goes, and the text that goes there: as the last one, spaced as the last one was.
    fn insertion(&self, object: &Object<'_>, name: &str, value: &str) -> (Range<usize>, String) {
        let entry = format!("{}: {value}", Value::from(name));
        let close = object.end() - 1;
        let Some(last) = object.properties.last() else {
            let inner = &self.text[object.start() + 1..close];
            let at = object.start() + 1 + inner.trim_end().len();
            return if inner.contains('\n') {
                let indent = self.indent_of_line(object.start()).to_owned() + INDENT;
                (at..at, format!("{}{indent}{entry}", self.line_end()))
            } else {
                let space = if inner.trim_end().is_empty() { "" } else { " " };
                (at..at, format!("{space}{entry}"))
            };
        };
        let after = &self.text[last.end()..close];
        let at = last.end() + after.trim_end().len();
        let own = self.space_before(last.start());
        let space = if own.contains('\n') {
            own.to_owned()
        } else if self.text[at..close].contains('\n') {
            // What stands last may be a comment up to the end of its line.
            format!("{}{}{INDENT}", self.line_end(), self.indent_of_line(object.start()))
        } else if object.properties.len() > 1 {
            own.to_owned()
        } else {
            " ".to_owned()
        };
        if self.comma_after(last, object).is_some() {
            // A comma at the end stays at the end.
            return (at..at, format!("{space}{entry},"));
        }
        let kept = &self.text[last.end()..at];
        (last.end()..at, format!(",{kept}{space}{entry}"))
    }

    /// What goes with a key. Where it is the last one, the comma before it goes, unless there is one after it.
    fn removal(&self, object: &Object<'_>, property: &ObjectProp<'_>) -> Vec<Range<usize>> {
        let space = self.space_before(property.start());
        let start = property.start() - space.len();
        if let Some(comma) = self.comma_after(property, object) {
            return vec![start..property.end(), comma];
        }
        // A comma between the property before and this one is after all commas within that one.
        let before =
            self.commas.iter().rfind(|comma| comma.end <= start && comma.start > object.start());
        before.cloned().into_iter().chain(iter::once(start..property.end())).collect()
    }

    /// The comma between a property and the next one, or the end.
    fn comma_after(&self, property: &ObjectProp<'_>, object: &Object<'_>) -> Option<Range<usize>> {
        let first = self.commas.iter().find(|comma| comma.start >= property.end())?;
        (first.start < object.end()).then(|| first.clone())
    }

    /// The space in front of a place, from the end of a line on where it begins one.
    fn space_before(&self, at: usize) -> &'a str {
        let before = &self.text[..at];
        let space = &before[before.trim_end().len()..];
        // Empty lines before the last key are not repeated.
        space.rfind('\n').map_or(space, |line| {
            let line = if space[..line].ends_with('\r') { line - 1 } else { line };
            &space[line..]
        })
    }

    fn indent_of_line(&self, at: usize) -> &'a str {
        let line = self.text[..at].rfind('\n').map_or(0, |end| end + 1);
        let rest = &self.text[line..at];
        &rest[..rest.len() - rest.trim_start().len()]
    }

    fn line_end(&self) -> &'static str {
        if self.text.contains("\r\n") { "\r\n" } else { "\n" }
    }
}

fn range(ranged: &impl Ranged) -> Range<usize> {
    ranged.start()..ranged.end()
}

fn error_at(text: &str, at: usize, problem: SettingsProblem) -> SettingsError {
    let before = &text[..at];
    let line = before.rfind('\n').map_or(0, |end| end + 1);
    let place = Place {
        line: before.matches('\n').count() + 1,
        column: before[line..].chars().count() + 1,
    };
    SettingsError { place: Some(place), problem }
}

/// A value within objects of one key each.
fn nested(path: &[&str], value: &Value) -> String {
    path.iter()
        .rev()
        .fold(shown(value), |inner, name| format!("{{{}: {inner}}}", Value::from(*name)))
}

/// A value in one line, spaced as people do.
#[must_use]
pub fn shown(value: &Value) -> String {
    match value {
        Value::Object(object) => {
            let entries = object
                .iter()
                .map(|(name, value)| format!("{}: {}", Value::from(name.as_str()), shown(value)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
        }
        Value::Array(values) => {
            format!("[{}]", values.iter().map(shown).collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> SettingsText {
        SettingsText::parse(text.as_bytes()).expect("settings")
    }

    /// Sets a key, and takes it out again, which gives the text back to the byte.
    fn set(text: &str, key: &[&str], value: &Value) -> String {
        let mut settings = parsed(text);
        settings.set(key, value).expect("set");
        assert_eq!(settings.get(key), Ok(Some(value.clone())), "{text}");
        let with = settings.as_str().to_owned();
        parsed(&with);
        with
    }

    #[test]
    fn a_new_key_stands_as_the_last_one_does() {
        for (before, after) in [
            ("{\n  \"a\": 1\n}\n", "{\n  \"a\": 1,\n  \"k\": \"v\"\n}\n"),
            ("{\n\t\"a\": 1,\n}", "{\n\t\"a\": 1,\n\t\"k\": \"v\",\n}"),
            ("{\r\n   \"a\": 1\r\n}", "{\r\n   \"a\": 1,\r\n   \"k\": \"v\"\r\n}"),
            ("{\n  \"a\": 1 // one\n}", "{\n  \"a\": 1, // one\n  \"k\": \"v\"\n}"),
            (
                "{\n  \"a\": 1, // one\n  // end\n}",
                "{\n  \"a\": 1, // one\n  // end\n  \"k\": \"v\",\n}",
            ),
            ("{\"a\":1,\"b\":2}", "{\"a\":1,\"b\":2,\"k\": \"v\"}"),
            ("{ \"a\": 1 }", "{ \"a\": 1, \"k\": \"v\" }"),
            ("{\"a\": 1}", "{\"a\": 1, \"k\": \"v\"}"),
            ("{\"a\": 1 // one\n}", "{\"a\": 1, // one\n  \"k\": \"v\"\n}"),
            ("{\"a\": 1, // one\n}", "{\"a\": 1, // one\n  \"k\": \"v\",\n}"),
            ("  {}", "  {\"k\": \"v\"}"),
            ("{\n}\n", "{\n  \"k\": \"v\"\n}\n"),
            ("{ /* none */ }", "{ /* none */ \"k\": \"v\" }"),
            ("{ // none\n}", "{ // none\n  \"k\": \"v\"\n}"),
            (
                "\u{feff}{\n  \"a\": [1, {\"b\": 2}]\n}",
                "\u{feff}{\n  \"a\": [1, {\"b\": 2}],\n  \"k\": \"v\"\n}",
            ),
            (
                "{\n  \"a\": 1,\n\n  \"b\": \"}, //\"\n}",
                "{\n  \"a\": 1,\n\n  \"b\": \"}, //\",\n  \"k\": \"v\"\n}",
            ),
        ] {
            assert_eq!(set(before, &["k"], &"v".into()), after);
            let mut back = parsed(after);
            back.remove(&["k"]).expect("removed");
            assert_eq!(back.as_str(), before);
        }
        for empty in ["", " \n", "\u{feff}"] {
            let mark = if empty == "\u{feff}" { empty } else { "" };
            assert_eq!(set(empty, &["k"], &1.into()), format!("{mark}{{\n  \"k\": 1\n}}\n"));
        }
    }

    #[test]
    fn a_key_that_is_there_changes_in_its_place() {
        let before = "{\n  \"k\" : \"old\" , // kept\n  \"b\": {\"c\": 2}\n}";
        assert_eq!(set(before, &["k"], &7.into()), before.replace("\"old\"", "7"));
        let inner = set(before, &["b", "d"], &"x".into());
        assert_eq!(inner, before.replace("{\"c\": 2}", "{\"c\": 2, \"d\": \"x\"}"));
        let new = set(before, &["e", "f"], &true.into());
        assert_eq!(new, before.replace("2}\n", "2},\n  \"e\": {\"f\": true}\n"));
        // An escape in a name makes no other key of it.
        assert_eq!(set("{\"\\u006b\": 1}", &["k"], &2.into()), "{\"\\u006b\": 2}");
        assert_eq!(parsed(before).get(&["b", "c"]), Ok(Some(2.into())));
        assert_eq!(parsed(before).get(&["x", "c"]), Ok(None));
    }

    #[test]
    fn a_key_before_others_goes_with_its_comma() {
        let mut settings = parsed("{\n  \"k\": 1, // of k\n  \"b\": [1, 2]\n}");
        settings.remove(&["k"]).expect("removed");
        assert_eq!(settings.as_str(), "{ // of k\n  \"b\": [1, 2]\n}");
        let mut same = settings.clone();
        same.remove(&["k"]).expect("nothing to remove");
        assert_eq!(same, settings);
    }

    #[test]
    fn damage_is_named_with_its_place() {
        let told = |text: &[u8]| SettingsText::parse(text).expect_err("damaged").to_string();
        assert_eq!(told(b"\xff"), ": it is no UTF-8");
        assert_eq!(told(b"\n [1]"), ":2:2: it is no object");
        assert_eq!(told(b"// none"), ":1:1: it is no object");
        for damaged in [
            "{\n  \"a\": 1",
            "{\"a\" 1}",
            "{\"a\": 1 \"b\": 2}",
            "{'a': 1}",
            "{a: 1}",
            "{} x",
            "{\"a\": 0x1}",
        ] {
            assert!(told(damaged.as_bytes()).contains(": it is no JSON: "), "{damaged}");
        }
        assert!(told("[".repeat(100_000).as_bytes()).contains("it is no JSON"));
        let mut twice = parsed("{\"k\": 1,\n \"k\": 2, \"n\": 3}");
        let told = |error: SettingsError| error.to_string();
        assert_eq!(twice.get(&["k"]).map_err(told), Err(":2:2: `k` is there twice".to_owned()));
        let set = twice.set(&["n", "m"], &1.into()).map_err(told);
        assert_eq!(set, Err(":2:15: `n` is no object".to_owned()));
        assert_eq!(twice.as_str(), "{\"k\": 1,\n \"k\": 2, \"n\": 3}");
    }
}
