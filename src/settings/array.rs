//! Appending to a list of the settings, with every other byte left as it is.

use jsonc_parser::tokens::Token;
use serde_json::Value;

use super::text::{Part, SettingsError, parsed, shown};

/// Source of a list with one more element. `None` if the text is not a list.
pub(super) fn appended(source: &str, element: &Value) -> Result<Option<String>, SettingsError> {
    parsed(source, |value, parts| {
        let is_list = value.is_some_and(|value| value.as_array().is_some());
        Ok(is_list.then(|| with_element(source, parts, &shown(element))).flatten())
    })
}

fn with_element(source: &str, parts: &[Part<'_>], element: &str) -> Option<String> {
    let (_, inner) = parts.split_last()?;
    let (last, end) = inner.last()?;
    let is_comment =
        |part: &Part<'_>| matches!(part.0, Token::CommentLine(_) | Token::CommentBlock(_));
    let (sign, after) = inner.iter().rfind(|part| !is_comment(part))?;
    let first = inner.get(1).map_or(after.end, |(_, first)| first.start);
    let space = &source[inner[0].1.end..first];
    let space = match (last, sign) {
        // A list over several lines gets one line more.
        _ if space.contains(['\n', '\r']) => space,
        // A comment continues to the end of its line.
        (Token::CommentLine(_), _) => "\n",
        (_, Token::OpenBracket) => "",
        _ => " ",
    };
    let comma = if matches!(sign, Token::OpenBracket | Token::Comma) { "" } else { "," };
    let closing = if matches!(sign, Token::Comma) { "," } else { "" };
    let (head, rest) = source.split_at(after.end);
    let (comments, tail) = rest.split_at(end.end - after.end);
    Some(format!("{head}{comma}{comments}{space}{element}{closing}{tail}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_element_stands_as_the_first_one_does() {
        for (before, after) in [
            ("[]", Some("[\"v\"]")),
            ("[ ]", Some("[\"v\" ]")),
            ("[1]", Some("[1, \"v\"]")),
            ("[ 1, 2 ]", Some("[ 1, 2, \"v\" ]")),
            ("[\n    1\n  ]", Some("[\n    1,\n    \"v\"\n  ]")),
            ("[\r\n\t[1, 2],\r\n]", Some("[\r\n\t[1, 2],\r\n\t\"v\",\r\n]")),
            ("[\n  1 // one\n]", Some("[\n  1, // one\n  \"v\"\n]")),
            ("[1 // one\n]", Some("[1, // one\n\"v\"\n]")),
            ("[ 1, // one\r]", Some("[ 1, // one\n\"v\",\r]")),
            ("[ // none\n  1 ]", Some("[ // none\n  1, \"v\" ]")),
            ("[1, /* two */]", Some("[1, /* two */ \"v\",]")),
            ("[ // none\n]", Some("[ // none\n\"v\"\n]")),
            ("{}", None),
        ] {
            let appended = appended(before, &"v".into()).expect("a value");
            assert_eq!(appended.as_deref(), after, "{before}");
            if let Some(after) = after {
                let last =
                    parsed(after, |value, _| Ok(value.map(|value| Value::from(value.clone()))));
                let last = last.expect("a value").expect("one");
                assert_eq!(
                    last.as_array().and_then(|list| list.last()),
                    Some(&"v".into()),
                    "{after}"
                );
            }
        }
    }
}
