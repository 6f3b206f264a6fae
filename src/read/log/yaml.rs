//! YAML as JSON, for logs that are written in either. Aliases are refused: they can stand for far more than is written.

use saphyr_parser::{Event, Parser, ScalarStyle};
use serde_json::{Map, Value};

use crate::read::agent::Rejected;
use crate::read::input::Kind;

/// Deepest nesting that is read, as in JSON.
const DEEPEST: usize = 127;

/// JSON of the first document of a text.
///
/// # Errors
/// The text is not YAML, or has aliases.
pub(super) fn as_json(text: &str) -> Result<String, Rejected> {
    let damaged = (Kind::NotJson, "nor YAML without aliases; the file is left out");
    document(text).map(|document| document.to_string()).ok_or(damaged)
}

fn document(text: &str) -> Option<Value> {
    let mut events =
        Parser::new_from_str(text).map_while(|event| event.ok().map(|(event, _)| event));
    let first = events.find(|event| {
        !matches!(event, Event::Nothing | Event::StreamStart | Event::DocumentStart(_))
    });
    value(first?, &mut events, 0)
}

fn value<'t>(
    first: Event<'t>,
    events: &mut impl Iterator<Item = Event<'t>>,
    depth: usize,
) -> Option<Value> {
    if depth > DEEPEST {
        return None;
    }
    match first {
        Event::Scalar(text, ScalarStyle::Plain, ..) => {
            // Whole numbers, and nothing; all else is a text.
            let number = text.parse::<u64>().map(Value::from);
            let is_null = ["", "~", "null"].contains(&&*text);
            Some(number.unwrap_or(if is_null { Value::Null } else { text.into_owned().into() }))
        }
        Event::Scalar(text, ..) => Some(text.into_owned().into()),
        Event::SequenceStart(..) => {
            let mut list = Vec::new();
            loop {
                match events.next()? {
                    Event::SequenceEnd => return Some(list.into()),
                    element => list.push(value(element, events, depth + 1)?),
                }
            }
        }
        Event::MappingStart(..) => {
            let mut object = Map::new();
            loop {
                let key = match events.next()? {
                    Event::MappingEnd => return Some(object.into()),
                    Event::Scalar(key, ..) => key.into_owned(),
                    _ => return None,
                };
                let first = events.next()?;
                object.insert(key, value(first, events, depth + 1)?);
            }
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn documents_are_those_of_json() {
        let text = "---\na:\n- b: 'x: 1'\n  c: 200\n- ~\n- {d: [e, \"2\"]}\n";
        let expected = json!({"a": [{"b": "x: 1", "c": 200}, null, {"d": ["e", "2"]}]});
        assert_eq!(document(text), Some(expected));
    }

    #[test]
    fn aliases_and_deep_nesting_are_refused() {
        assert_eq!(document("a: &x [1]\nb: *x\n"), None);
        assert_eq!(document(&"[".repeat(10_000)), None);
        assert_eq!(document("a: [1"), None);
    }
}
