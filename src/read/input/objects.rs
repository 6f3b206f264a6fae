//! Objects of a JSON Lines file. Every reader of such files is one of these, so
//! that a damaged line is the same kind of damage in all of them.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::error::Category;

use super::Kind;
use super::lenient::replace_lone_surrogates;
use super::skim::{Malformed, first_value, only_value};

/// Reader of the objects of a file, one after another.
pub(crate) trait ObjectReader {
    /// Fields of an object that are read.
    type Object<'a>: Deserialize<'a>;

    /// Description of the file for people: "a transcript".
    const FILE: &'static str;

    /// Reads an object of a line; `text` is its JSON.
    fn object(&mut self, object: &Self::Object<'_>, text: &str, line: u64);

    /// Reports a line that was rejected or repaired.
    fn reject(&mut self, kind: Kind, line: u64, detail: impl Into<String>);

    /// Reads the line with number `line` of its file, without its newline.
    fn line(&mut self, bytes: &[u8], line: u64) {
        match simdutf8::basic::from_utf8(bytes) {
            Ok(text) => self.text(text, line),
            Err(_) => self.reject(Kind::NotUtf8, line, "the line is skipped"),
        }
    }

    /// Reads the text of a line: nearly always one object, sometimes several run together.
    fn text(&mut self, text: &str, line: u64) {
        let text = text.trim_start_matches('\u{feff}').trim();
        // A crash may leave zeros where the end of the file was.
        let whole = text.trim_start_matches('\0').trim_start();
        if text.is_empty() {
            return self.reject(Kind::EmptyLine, line, "");
        }
        if whole.len() < text.len() {
            let rest = if whole.is_empty() { "" } else { ", and the rest of the line is used" };
            self.reject(Kind::NotJson, line, format!("it begins with NUL bytes{rest}"));
        }
        self.objects(whole, line);
    }

    /// Reads the objects of a text that holds nothing else.
    fn objects(&mut self, text: &str, line: u64) {
        let mut rest = text;
        let mut is_first = true;
        while rest.starts_with('{') {
            let (object, end) = match first_value::<Self::Object<'_>>(rest) {
                Ok(first) => first,
                Err(malformed) => return self.broken(rest, line, malformed),
            };
            if goes_on(&rest[end..]) {
                let detail = format!("an object ends at column {end}, and its line goes on");
                return self.reject(Kind::NotJson, line, detail);
            }
            self.object(&object, &rest[..end], line);
            if !is_first {
                self.reject(Kind::JoinedLine, line, "each value of the line is used");
            }
            is_first = false;
            rest = rest[end..].trim_start();
        }
        if !rest.is_empty() {
            self.other_value(rest, line);
        }
    }

    /// Repairs an object that cannot be parsed, or reports its damage.
    fn broken(&mut self, text: &str, line: u64, malformed: Malformed) {
        let Malformed { category, column, is_long, .. } = malformed;
        // Lenient fields accept any type, so the only other error of data is a repeated key.
        if category == Category::Data {
            let kind = if is_long { Kind::TooLong } else { Kind::DuplicateKey };
            return self.reject(kind, line, format!("at column {column}"));
        }
        if category != Category::Eof
            && let Some(repaired) = replace_lone_surrogates(text)
        {
            self.reject(Kind::LoneSurrogate, line, "replaced, and the line is used");
            // Repaired text has no such half left, so this is done once.
            return self.objects(&repaired, line);
        }
        if let Some(whole) = whole_behind::<Self::Object<'_>>(text, column) {
            let detail = format!("at column {column}; the object behind it is used");
            self.reject(Kind::TornLine, line, detail);
            self.objects(whole, line);
        } else if category == Category::Eof {
            self.reject(Kind::TornLine, line, format!("the JSON ends at column {column}"));
        } else {
            self.reject(Kind::NotJson, line, format!("bad JSON at column {column}"));
        }
    }

    /// Reports a value that is not an object.
    fn other_value(&mut self, text: &str, line: u64) {
        if only_value::<IgnoredAny>(text).is_ok() {
            self.reject(Kind::NotAnObject, line, format!("{} has one object a line", Self::FILE));
        } else {
            self.reject(Kind::NotJson, line, "bad JSON at column 1");
        }
    }
}

/// Returns true if the text behind an object shows that it lost a part: neither another value nor what a writer puts
/// behind whole ones. The object then ends too early, and would count in place of a whole copy behind it.
fn goes_on(behind: &str) -> bool {
    let behind = behind.trim_start();
    let is_whole = behind.starts_with('{') || behind.trim_matches([',', '\0']).is_empty();
    !is_whole && only_value::<IgnoredAny>(behind).is_err()
}

/// Most places at which a whole object is looked for behind a torn one.
const MOST_PLACES: usize = 16;

/// Position of the object that ends a line of bytes whose beginning was torn off; zero for any other line.
pub(crate) fn end_of_torn(line: &[u8]) -> usize {
    let torn = || {
        let text = simdutf8::basic::from_utf8(line).ok()?;
        let (first_key, _) = text.split_once(':')?;
        // Nearly no other line has its beginning twice, so that none is parsed.
        text.match_indices(first_key).nth(1)?;
        let error = first_value::<IgnoredAny>(text).err()?;
        Some(text.len() - whole_behind::<IgnoredAny>(text, error.column)?.len())
    };
    torn().unwrap_or_default()
}

/// Object that ends a line whose beginning was torn off before its own end: a client that was killed goes on in
/// the middle of a line.
fn whole_behind<'a, T: Deserialize<'a>>(text: &'a str, column: usize) -> Option<&'a str> {
    // Lines of a client begin alike; otherwise the error is where the object begins.
    let (first_key, _) = text.split_once(':')?;
    let alike = text.match_indices(first_key).map(|(place, _)| place).skip(1).take(MOST_PLACES);
    let at_error = text.get(..column).and_then(|before| before.rfind('{'));
    let places = alike.chain(at_error).filter(|place| *place > 0);
    places.map(|place| &text[place..]).find(|rest| {
        first_value::<T>(rest).is_ok_and(|(_, end)| rest[end..].trim_start().is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::input::Text;

    #[derive(Debug, Default, Deserialize)]
    #[serde(default)]
    struct Named<'a> {
        #[serde(borrow)]
        name: Text<'a>,
    }

    /// Keeps names, and what was wrong.
    #[derive(Debug, Default)]
    struct Names {
        read: Vec<String>,
        texts: Vec<String>,
        rejected: Vec<(Kind, u64)>,
    }

    impl ObjectReader for Names {
        type Object<'a> = Named<'a>;
        const FILE: &'static str = "a list of names";

        fn object(&mut self, object: &Named<'_>, text: &str, _: u64) {
            self.read.extend(object.name.as_str().map(str::to_owned));
            self.texts.push(text.to_owned());
        }

        fn reject(&mut self, kind: Kind, line: u64, _: impl Into<String>) {
            self.rejected.push((kind, line));
        }
    }

    fn read(line: &[u8]) -> Names {
        let mut names = Names::default();
        names.line(line, 7);
        names
    }

    #[test]
    fn every_kind_of_damage_is_named() {
        for (line, kind) in [
            (&b"  \r"[..], Kind::EmptyLine),
            (br#"{"name":"#, Kind::TornLine),
            (b"// a comment", Kind::NotJson),
            (b"\0\0", Kind::NotJson),
            (br#"{"name":"a" "b"}"#, Kind::NotJson),
            (b"[1]", Kind::NotAnObject),
            (b"42", Kind::NotAnObject),
            (b"{\"name\":\"\xff\"}", Kind::NotUtf8),
            (br#"{"name":"a","name":"b"}"#, Kind::DuplicateKey),
        ] {
            let read = read(line);
            assert_eq!(read.rejected, [(kind, 7)], "{}", String::from_utf8_lossy(line));
            assert!(read.read.is_empty());
        }
    }

    #[test]
    fn all_values_of_a_line_are_used_until_one_is_torn() {
        let all = read(b"\xef\xbb\xbf{\"name\":\"a\"} {\"name\":\"b\"}{\"name\":\"c");
        assert_eq!(all.read, ["a", "b"]);
        assert_eq!(all.texts, [r#"{"name":"a"}"#, r#"{"name":"b"}"#]);
        assert_eq!(all.rejected, [(Kind::JoinedLine, 7), (Kind::TornLine, 7)]);
    }

    #[test]
    fn an_object_that_ends_too_early_is_not_used() {
        for line in [r#"{"name":"a"}}"#, r#"{"name":"a"},"of":{"name":"b"}}"#, r#"{"name":"a"} x"#]
        {
            let read = read(line.as_bytes());
            assert_eq!(
                (read.read.len(), &read.rejected[..]),
                (0, &[(Kind::NotJson, 7)][..]),
                "{line}"
            );
        }
        for line in ["{\"name\":\"a\"},", "{\"name\":\"a\"}\0\0", "{\"name\":\"a\"} 42"] {
            assert_eq!(read(line.as_bytes()).read, ["a"], "{line}");
        }
    }

    #[test]
    fn what_a_crash_left_in_front_costs_nothing_but_itself() {
        for (line, kind) in [
            (&b"\0\0\0{\"name\":\"b\"}"[..], Kind::NotJson),
            (br#"{"name":"a{"name":"b"}"#, Kind::TornLine),
            (br#"{"name":{"name":"b"}"#, Kind::TornLine),
            (br#"{"of":[1,{"name":"b"}"#, Kind::TornLine),
            (br#"{"of":1,"x{"name":"b"}"#, Kind::TornLine),
        ] {
            let read = read(line);
            assert_eq!(read.rejected, [(kind, 7)], "{}", String::from_utf8_lossy(line));
            assert_eq!(read.read, ["b"], "{}", String::from_utf8_lossy(line));
        }
    }

    #[test]
    fn half_a_character_costs_nothing_but_itself() {
        let repaired = read(br#"{"name":"a"}{"name":"\ud83d x \ud83d\ude00"}"#);
        assert_eq!(repaired.read, ["a", "\u{fffd} x 😀"]);
        assert_eq!(repaired.rejected, [(Kind::LoneSurrogate, 7)]);
    }
}
