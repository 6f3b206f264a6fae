//! Text of a settings file. Comments, unknown keys, indentation, trailing commas and line ends stay: a key is added or
//! removed at its place, and no other byte is written again. Each edit is checked: all other keys must keep their
//! values.

use std::ops::Range;

use jsonc_parser::ast::Value as Node;
use jsonc_parser::common::Ranged;
use jsonc_parser::tokens::Token;
use jsonc_parser::{
    CollectOptions, CommentCollectionStrategy, ParseOptions, ParseResult, parse_to_ast,
};
use serde::de::IgnoredAny;
use serde_json::Value;

use super::root::Root;
use super::{Setting, array};
use crate::base::toml_text::line_and_column;

/// Text from which a file with one new key starts.
const NEW: &str = "{\n}\n";

/// Byte order mark, which some editors put in front of a text.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// Line and column, from 1 on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Line, from 1 on.
    pub line: usize,
    /// Character in the line, from 1 on.
    pub column: usize,
}

/// Kind of error in a settings file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsProblem {
    /// Bytes that are not UTF-8.
    #[error("it is no UTF-8")]
    NoText,
    /// Text that is not JSON, even with comments and trailing commas.
    #[error("it cannot be read as JSON: {0}")]
    NoJson(String),
    /// JSON value that is not an object.
    #[error("it is no object")]
    NoObject,
    /// A key that leads into a value without keys.
    #[error("`{0}` is no object")]
    NoInnerObject(String),
    /// A key whose value is not a list.
    #[error("`{0}` is no list")]
    NoList(String),
    /// A key that is there twice: readers differ in the one that they take.
    #[error("`{0}` is there twice")]
    Twice(String),
    /// A key that cannot be changed without another one.
    #[error("`{0}` cannot be changed alone")]
    NotAlone(String),
}

/// An error and its place, shown after the name of the file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {problem}", place.map(|place| format!(":{}:{}", place.line, place.column)).unwrap_or_default())]
pub struct SettingsError {
    /// Place of the error. `None` if it concerns the whole file.
    pub place: Option<Place>,
    /// Kind of the error.
    pub problem: SettingsProblem,
}

impl SettingsError {
    /// Error for a key that cannot be changed without another one.
    pub(super) fn not_alone(key: &str) -> Self {
        Self { place: None, problem: SettingsProblem::NotAlone(key.to_owned()) }
    }

    /// Error at a byte offset of a text.
    pub(super) fn at(text: &str, offset: usize, problem: SettingsProblem) -> Self {
        let (line, column) = line_and_column(text, offset);
        Self { place: Some(Place { line, column }), problem }
    }
}

/// Text of a settings file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsText(String);

/// Replacements for ranges of a text, in ascending order.
pub(super) type Edits = Vec<(Range<usize>, String)>;

impl SettingsText {
    /// Reads a file. An empty file has no keys.
    ///
    /// # Errors
    /// The text is damaged. Nothing in it may be changed, as its meaning is unknown.
    pub fn parse(bytes: &[u8]) -> Result<Self, SettingsError> {
        let text = std::str::from_utf8(bytes)
            .map_err(|_| SettingsError { place: None, problem: SettingsProblem::NoText })?;
        let settings = Self(text.to_owned());
        settings.with_root(|_| Ok(()))?;
        Ok(settings)
    }

    /// Text of the file.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Value of a key.
    ///
    /// # Errors
    /// The key is there twice, or leads into a value that is not an object.
    pub fn get(&self, key: &[&str]) -> Result<Option<Value>, SettingsError> {
        self.with_root(|root| {
            Ok(root.find(key)?.map(|(_, property)| property.value.clone().into()))
        })
    }

    /// Source text of a value.
    ///
    /// # Errors
    /// As for [`SettingsText::get`].
    pub fn source(&self, key: &[&str]) -> Result<Option<String>, SettingsError> {
        self.with_root(|root| {
            let found = root.find(key)?;
            Ok(found.map(|(_, property)| root.text[range(&property.value)].to_owned()))
        })
    }

    /// Sets the value of a key.
    ///
    /// # Errors
    /// The key is there twice, or leads into a value that is not an object.
    pub fn set(&mut self, key: &[&str], value: &Value) -> Result<(), SettingsError> {
        self.put(key, &shown(value))
    }

    /// Sets the value of a key from its source text.
    ///
    /// # Errors
    /// As for [`SettingsText::set`], or the source is not a value.
    pub fn put(&mut self, key: &[&str], source: &str) -> Result<(), SettingsError> {
        let value =
            parsed(source, |value, _| Ok(value.map_or(Value::Null, |value| value.clone().into())))?;
        let has_root = self.with_root(|root| Ok(root.object.is_some()))?;
        let mut whole = self.clone();
        // A file that is empty or has comments alone gets an object below them.
        if !has_root {
            let is_cut =
                !whole.0.trim_start_matches(BYTE_ORDER_MARK).is_empty() && !whole.0.ends_with('\n');
            whole.0.push_str(if is_cut { "\n" } else { "" });
            whole.0.push_str(NEW);
        }
        let (edits, mut expected) =
            whole.with_root(|root| Ok((root.putting(key, source)?, root.value())))?;
        put_into(&mut expected, key, value);
        *self = whole.changed(key, [edits], &expected)?;
        Ok(())
    }

    /// Setting that appends an element to the list of a key, or makes a list of it. `None` if the list already has it.
    ///
    /// # Errors
    /// The key is there twice, or its value is not a list.
    pub fn appended(
        &self,
        key: &[&str],
        element: &Value,
    ) -> Result<Option<Setting>, SettingsError> {
        let with = |value: Vec<Value>, source: Option<String>| Setting {
            key: key.iter().map(|name| (*name).to_owned()).collect(),
            value: value.into(),
            source,
        };
        let no_list =
            || SettingsError { place: None, problem: SettingsProblem::NoList(key.join(".")) };
        let Some(value) = self.get(key)? else {
            return Ok(Some(with(vec![element.clone()], None)));
        };
        let Value::Array(mut list) = value else { return Err(no_list()) };
        if list.contains(element) {
            return Ok(None);
        }
        let source = self.source(key)?.ok_or_else(no_list)?;
        list.push(element.clone());
        Ok(Some(with(list, Some(array::appended(&source, element)?.ok_or_else(no_list)?))))
    }

    /// Removes a key, its comma and the space in front of it.
    ///
    /// # Errors
    /// The key is there twice, or leads into a value that is not an object.
    pub fn remove(&mut self, key: &[&str]) -> Result<(), SettingsError> {
        let (ways, mut expected) =
            self.with_root(|root| Ok((root.removing(key)?, root.value())))?;
        take_from(&mut expected, key);
        *self = self.changed(key, ways, &expected)?;
        Ok(())
    }

    /// Text after the first edits that change this key and no other.
    fn changed(
        &self,
        key: &[&str],
        ways: impl IntoIterator<Item = Edits>,
        expected: &Value,
    ) -> Result<Self, SettingsError> {
        let is_expected = |changed: &Self| {
            changed.with_root(|root| Ok(root.value())).is_ok_and(|value| value == *expected)
        };
        let changed = ways.into_iter().filter_map(|edits| self.edited(edits)).find(is_expected);
        changed.ok_or_else(|| SettingsError::not_alone(&key.join(".")))
    }

    /// Applies edits. `None` if the result is no longer a settings file.
    pub(super) fn edited(&self, edits: Edits) -> Option<Self> {
        let mark = self.mark();
        let mut text = self.0.clone();
        // From the end, so that the ranges in front stay valid.
        for (range, with) in edits.into_iter().rev() {
            text.replace_range(range.start + mark..range.end + mark, &with);
        }
        Self::parse(text.as_bytes()).ok()
    }

    /// Length of the byte order mark in front of the text, in bytes.
    fn mark(&self) -> usize {
        if self.0.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len_utf8() } else { 0 }
    }

    pub(super) fn with_root<T>(
        &self,
        work: impl FnOnce(&Root<'_>) -> Result<T, SettingsError>,
    ) -> Result<T, SettingsError> {
        let text = &self.0[self.mark()..];
        parsed(text, |value, tokens| {
            let object = match value {
                None => None,
                Some(Node::Object(object)) => Some(object),
                Some(other) => {
                    return Err(SettingsError::at(text, other.start(), SettingsProblem::NoObject));
                }
            };
            work(&Root { text, object, tokens })
        })
    }
}

/// A token or comment of a text, and its range.
pub(super) type Part<'a> = (Token<'a>, Range<usize>);

/// Runs a function on the value of a text and its tokens.
pub(super) fn parsed<T>(
    text: &str,
    work: impl FnOnce(Option<&Node<'_>>, &[Part<'_>]) -> Result<T, SettingsError>,
) -> Result<T, SettingsError> {
    let comments = CommentCollectionStrategy::AsTokens;
    let collected = CollectOptions { tokens: true, comments };
    let ParseResult { value, tokens, .. } =
        parse_to_ast(text, &collected, &accepted()).map_err(|error| {
            let place = Place { line: error.line_display(), column: error.column_display() };
            let problem = SettingsProblem::NoJson(error.kind().to_string());
            SettingsError { place: Some(place), problem }
        })?;
    let parts = tokens
        .unwrap_or_default()
        .into_iter()
        .map(|token| (token.token, token.range.start..token.range.end));
    let parts: Vec<Part<'_>> = parts.collect();
    refuse_loose(text, &parts)?;
    work(value.as_ref(), &parts)
}

/// Refuses text that the parser takes and JSON does not: other space between the tokens, and strings that continue over
/// a line end.
fn refuse_loose(text: &str, parts: &[Part<'_>]) -> Result<(), SettingsError> {
    let problem =
        |at, what: &str| Err(SettingsError::at(text, at, SettingsProblem::NoJson(what.to_owned())));
    let mut end = 0;
    for (token, range) in parts {
        if let Some(at) = text[end..range.start].find(|one| !SPACE.contains(&one)) {
            return problem(end + at, "Unexpected space");
        }
        let is_text = matches!(token, Token::String(_));
        if is_text && serde_json::from_str::<IgnoredAny>(&text[range.clone()]).is_err() {
            return problem(range.start, "Unescaped control character in a text");
        }
        end = range.end;
    }
    match text[end..].find(|one| !SPACE.contains(&one)) {
        Some(at) => problem(end + at, "Unexpected space"),
        None => Ok(()),
    }
}

/// White space of JSON.
pub(super) const SPACE: [char; 4] = [' ', '\t', '\n', '\r'];

/// Options of the parser: JSON with comments and trailing commas, and nothing looser.
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

pub(super) fn range(ranged: &impl Ranged) -> Range<usize> {
    ranged.start()..ranged.end()
}

/// Sets the value of a key of an object and creates the objects on the way. All that is there on the way is an object.
fn put_into(object: &mut Value, key: &[&str], value: Value) {
    *key.iter().fold(object, |inner, name| &mut inner[*name]) = value;
}

/// Removes a key from an object, if it is there.
fn take_from(object: &mut Value, key: &[&str]) {
    let Some((last, path)) = key.split_last() else { return };
    let inner = path.iter().try_fold(object, |object, name| object.get_mut(*name));
    if let Some(Value::Object(object)) = inner {
        object.remove(*last);
    }
}

/// A value on one line, spaced as people do.
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

    /// Text with a key set.
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
            ("{\r  \"a\": 1 // one\r}", "{\r  \"a\": 1, // one\r  \"k\": \"v\"\r}"),
            ("{\n  \"a\": 1 // one\u{a0} \n}", "{\n  \"a\": 1, // one\u{a0} \n  \"k\": \"v\"\n}"),
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
        for (empty, kept) in
            [("", ""), (" \n", " \n"), ("\u{feff}", "\u{feff}"), ("// none", "// none\n")]
        {
            assert_eq!(set(empty, &["k"], &1.into()), format!("{kept}{{\n  \"k\": 1\n}}\n"));
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
        // An escape in a name does not make another key of it.
        assert_eq!(set("{\"\\u006b\": 1}", &["k"], &2.into()), "{\"\\u006b\": 2}");
        assert_eq!(parsed(before).get(&["b", "c"]), Ok(Some(2.into())));
        assert_eq!(parsed(before).get(&["x", "c"]), Ok(None));
    }

    #[test]
    fn a_key_before_others_goes_with_its_comma() {
        let mut settings = parsed("{\n  \"k\": 1, // of k\n  \"b\": [1, 2]\n}");
        settings.remove(&["k"]).expect("removed");
        assert_eq!(settings.as_str(), "{ // of k\n  \"b\": [1, 2]\n}");
        // A comment does not take in what follows.
        for (before, after) in [
            ("{ // mine\n \"k\": 1, \"b\": 2}", "{ // mine\n  \"b\": 2}"),
            ("{\"y\": 4, // mine\n  \"k\": 1 }", "{\"y\": 4 // mine\n   }"),
        ] {
            let mut settings = parsed(before);
            settings.remove(&["k"]).expect("removed");
            assert_eq!(settings.as_str(), after);
        }
        let mut same = settings.clone();
        same.remove(&["k"]).expect("nothing to remove");
        assert_eq!(same, settings);
    }

    #[test]
    fn damage_is_named_with_its_place() {
        let told = |text: &[u8]| SettingsText::parse(text).expect_err("damaged").to_string();
        assert_eq!(told(b"\xff"), ": it is no UTF-8");
        assert_eq!(told(b"\n [1]"), ":2:2: it is no object");
        for (loose, place) in
            [("{\"a\": \"x\n\"}", ":1:7: "), ("{\u{a0}}", ":1:2: "), ("{}\u{c}", ":1:3: ")]
        {
            assert!(
                told(loose.as_bytes()).starts_with(place),
                "{loose:?} {}",
                told(loose.as_bytes())
            );
        }
        for damaged in [
            "{\n  \"a\": 1",
            "{\"a\" 1}",
            "{\"a\": 1 \"b\": 2}",
            "{'a': 1}",
            "{a: 1}",
            "{} x",
            "{\"a\": 0x1}",
        ] {
            assert!(
                told(damaged.as_bytes()).contains(": it cannot be read as JSON: "),
                "{damaged}"
            );
        }
        assert!(told("[".repeat(100_000).as_bytes()).contains("it cannot be read as JSON"));
        let mut twice = parsed("{\"k\": 1,\n \"k\": 2, \"n\": 3}");
        let told = |error: SettingsError| error.to_string();
        assert_eq!(twice.get(&["k"]).map_err(told), Err(":2:2: `k` is there twice".to_owned()));
        let set = twice.set(&["n", "m"], &1.into()).map_err(told);
        assert_eq!(set, Err(":2:15: `n` is no object".to_owned()));
        assert_eq!(twice.as_str(), "{\"k\": 1,\n \"k\": 2, \"n\": 3}");
    }
}
