//! JSON as it was written: keys keep their order and numbers their spelling.

use std::fmt::Write as _;
use std::str::Chars;

/// A value of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Json {
    Null,
    Bool(bool),
    /// As written.
    Number(String),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    /// Reads a document that is known to be JSON; what is not fails the test.
    pub(crate) fn parse(text: &str) -> Self {
        let mut reader = Reader { rest: text.chars() };
        let value = reader.value();
        assert_eq!(reader.rest.as_str().trim_ascii(), "", "something behind the value");
        value
    }

    /// The value of a key; one that is `null` is as good as missing.
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        let Self::Object(members) = self else { return None };
        let (_, value) = members.iter().find(|(name, _)| name == key)?;
        (*value != Self::Null).then_some(value)
    }

    /// The text of a key.
    pub(crate) fn text(&self, key: &str) -> Option<&str> {
        match self.get(key)? {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The items of a key's list; none where it holds something else.
    pub(crate) fn items(&self, key: &str) -> &[Self] {
        match self.get(key) {
            Some(Self::List(items)) => items,
            _ => &[],
        }
    }

    /// The object without one of its own keys.
    pub(crate) fn without(&self, key: &str) -> Self {
        match self {
            Self::Object(members) => {
                Self::Object(members.iter().filter(|(name, _)| name != key).cloned().collect())
            }
            other => other.clone(),
        }
    }

    /// Its canonical form: compact, and nothing escaped that need not be.
    pub(crate) fn canonical(&self) -> String {
        let joined = |parts: Vec<String>| parts.join(",");
        match self {
            Self::Null => "null".to_owned(),
            Self::Bool(truth) => truth.to_string(),
            Self::Number(written) => written.clone(),
            Self::Text(text) => quoted(text),
            Self::List(items) => {
                format!("[{}]", joined(items.iter().map(Self::canonical).collect()))
            }
            Self::Object(members) => {
                let member = |(name, value): &(String, Self)| {
                    format!("{}:{}", quoted(name), value.canonical())
                };
                format!("{{{}}}", joined(members.iter().map(member).collect()))
            }
        }
    }
}

fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\u{8}' => quoted.push_str("\\b"),
            '\u{c}' => quoted.push_str("\\f"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            control if control < ' ' => {
                write!(quoted, "\\u{:04x}", u32::from(control)).expect("a string takes everything");
            }
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

struct Reader<'a> {
    rest: Chars<'a>,
}

impl Reader<'_> {
    fn value(&mut self) -> Json {
        match self.peek() {
            '{' => Json::Object(self.until('}', Self::member)),
            '[' => Json::List(self.until(']', Self::value)),
            '"' => Json::Text(self.string()),
            _ => match self.word().as_str() {
                "null" => Json::Null,
                "true" => Json::Bool(true),
                "false" => Json::Bool(false),
                number => Json::Number(number.to_owned()),
            },
        }
    }

    fn member(&mut self) -> (String, Json) {
        let name = self.string();
        assert!(self.takes(':'), "a colon behind {name}");
        (name, self.value())
    }

    /// What stands between an opening character and this closing one, separated by commas.
    fn until<T>(&mut self, close: char, item: fn(&mut Self) -> T) -> Vec<T> {
        self.next();
        let mut items = Vec::new();
        while !self.takes(close) {
            items.push(item(self));
            assert!(self.takes(',') || self.peek() == close, "a comma or {close}");
        }
        items
    }

    fn word(&mut self) -> String {
        let mut word = String::new();
        while let Some(character) = self.rest.clone().next() {
            if !character.is_ascii_alphanumeric() && !"+-.".contains(character) {
                break;
            }
            word.push(self.next());
        }
        assert!(!word.is_empty(), "a value in front of {}", self.rest.as_str());
        word
    }

    fn string(&mut self) -> String {
        assert!(self.takes('"'), "a string in front of {}", self.rest.as_str());
        let mut text = String::new();
        loop {
            match self.next() {
                '"' => return text,
                '\\' => text.push(self.escaped()),
                other => text.push(other),
            }
        }
    }

    fn escaped(&mut self) -> char {
        match self.next() {
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => self.code_point(),
            itself => itself,
        }
    }

    /// The character of one `\u`, or of two that are a pair.
    fn code_point(&mut self) -> char {
        let mut units = vec![self.code_unit()];
        if (0xd800..0xdc00).contains(&units[0]) {
            assert_eq!((self.next(), self.next()), ('\\', 'u'), "the second half of a pair");
            units.push(self.code_unit());
        }
        let text = String::from_utf16(&units).expect("no lone half of a pair");
        text.chars().next().expect("one character")
    }

    fn code_unit(&mut self) -> u16 {
        let digits: String = (0..4).map(|_| self.next()).collect();
        u16::from_str_radix(&digits, 16).expect("four hexadecimal digits")
    }

    /// The next character that is not white space.
    fn peek(&mut self) -> char {
        let skipped = self.rest.as_str().trim_start_matches([' ', '\t', '\n', '\r']);
        self.rest = skipped.chars();
        skipped.chars().next().expect("more text")
    }

    fn takes(&mut self, expected: char) -> bool {
        let is_there = self.peek() == expected;
        if is_there {
            self.next();
        }
        is_there
    }

    fn next(&mut self) -> char {
        self.rest.next().expect("more text")
    }
}

#[test]
fn canonical_json_keeps_what_was_written() {
    let written = " { \"b\" : [ 1.0 , -2E+5,true, null ,{ } ] ,\t\"\\u0061\":\"\\u00E9\\/\\\"\\\\\\u0008\\u001F\\u007f\\ud83d\\uDE00\\u2028\" } ";
    let canonical =
        "{\"b\":[1.0,-2E+5,true,null,{}],\"a\":\"é/\\\"\\\\\\b\\u001f\u{7f}😀\u{2028}\"}";
    assert_eq!(Json::parse(written).canonical(), canonical);
    assert_eq!(Json::parse(canonical).canonical(), canonical);
}
