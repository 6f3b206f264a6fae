//! Lines of a prompt for tools and calls.

use std::borrow::Cow;

use serde_json::value::RawValue;

use crate::read::input::{decoded, replace_lone_surrogates};

/// Prefix of the tags of calls.
const TAG: &str = concat!("ant", "ml:");

/// Tool as the service writes it: a line of JSON with a space after each comma and colon. An empty description is
/// left out.
pub(crate) fn tool_line(
    name: &str,
    description: Option<&RawValue>,
    schema: Option<&RawValue>,
) -> String {
    let mut line = String::from("<function>{");
    // Two bytes are an empty string.
    if let Some(description) = description.filter(|text| text.get().len() > 2) {
        line.push_str("\"description\": ");
        line.push_str(&serde_json::Value::from(&*written(description)).to_string());
        line.push_str(", ");
    }
    line.push_str("\"name\": ");
    line.push_str(&serde_json::Value::from(name).to_string());
    line.push_str(", \"parameters\": ");
    line.push_str(&spaced(schema.map_or("{}", RawValue::get)));
    line.push_str("}</function>\n");
    line
}

/// Call as the service writes it, with a line for each argument.
pub(crate) fn call_lines(name: &str, input: Option<&RawValue>) -> String {
    let mut lines = format!("<{TAG}invoke name=\"{name}\">\n");
    for (argument, value) in arguments(input) {
        let pieces =
            ["<", TAG, "parameter name=\"", &argument, "\">", &value, "</", TAG, "parameter>\n"];
        lines.extend(pieces);
    }
    lines.extend(["</", TAG, "invoke>\n"]);
    lines
}

/// Members of an object as written, in their order.
fn arguments(input: Option<&RawValue>) -> Vec<(String, String)> {
    struct Members;
    impl<'de> serde::de::Visitor<'de> for Members {
        type Value = Vec<(String, String)>;

        fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            formatter.write_str("an object")
        }

        fn visit_map<A: serde::de::MapAccess<'de>>(
            self,
            mut map: A,
        ) -> Result<Self::Value, A::Error> {
            let mut members = Vec::new();
            while let Some((name, value)) = map.next_entry::<String, &RawValue>()? {
                members.push((name, written(value).into_owned()));
            }
            Ok(members)
        }
    }
    let Some(input) = input else { return Vec::new() };
    let read = |json: &str| {
        let mut reader = serde_json::Deserializer::from_str(json);
        serde::Deserializer::deserialize_map(&mut reader, Members).ok()
    };
    // A lone surrogate cannot be in a string: it is read as the replacement character.
    let members = read(input.get()).or_else(|| read(&replace_lone_surrogates(input.get())?));
    members.unwrap_or_default()
}

/// Value as written into a prompt: the text of a string, and the JSON of anything else.
pub(crate) fn written(raw: &RawValue) -> Cow<'_, str> {
    let json = raw.get();
    let inside = json.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    match inside {
        Some(text) if !text.contains('\\') => Cow::Borrowed(text),
        Some(text) => decoded(text).into(),
        None => spaced(json).into(),
    }
}

/// JSON with a space after each comma and colon outside strings, and no other white space there.
fn spaced(json: &str) -> String {
    let mut text = String::with_capacity(json.len() + json.len() / 8);
    let mut is_in_string = false;
    let mut is_escaped = false;
    for character in json.chars() {
        if !is_in_string && character.is_ascii_whitespace() {
            continue;
        }
        text.push(character);
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' if is_in_string => is_escaped = true,
            '"' => is_in_string = !is_in_string,
            ',' | ':' if !is_in_string => text.push(' '),
            _ => {}
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_spaced_outside_of_strings() {
        let json = r#"{"a" :[1,2],"b":"x,y:\"z\"","c":{}}"#;
        assert_eq!(spaced(json), r#"{"a": [1, 2], "b": "x,y:\"z\"", "c": {}}"#);
    }

    #[test]
    fn half_of_a_surrogate_pair_loses_nothing_else() {
        let raw = |json: &str| RawValue::from_string(json.to_owned()).expect("JSON");
        assert_eq!(written(&raw(r#""ab\ud83d""#)), "ab\u{fffd}");
        let call = raw(r#"{"x\ud83d":"y","z":1}"#);
        let lines = call_lines("N", Some(&call));
        assert!(lines.contains("\"x\u{fffd}\">y<") && lines.contains("\"z\">1<"), "{lines}");
    }
}
