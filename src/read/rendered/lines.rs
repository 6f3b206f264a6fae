//! Tools and calls as lines of a prompt.

use std::borrow::Cow;

use serde_json::value::RawValue;

/// What the tags of calls begin with.
const TAG: &str = concat!("ant", "ml:");

/// A tool as the service writes it: a line of JSON with a space after each comma and colon. A description that
/// is empty is left out.
pub(crate) fn tool_line(
    name: &str,
    description: Option<&RawValue>,
    schema: Option<&RawValue>,
) -> String {
    let mut line = String::from("<function>{");
    if let Some(description) = description.filter(|text| text.get().len() > 2) {
        line.push_str("\"description\": ");
        line.push_str(description.get());
        line.push_str(", ");
    }
    let name = serde_json::Value::from(name);
    line.push_str(&format!("\"name\": {name}, \"parameters\": "));
    line.push_str(&spaced(schema.map_or("{}", RawValue::get)));
    line.push_str("}</function>\n");
    line
}

/// A call as the service writes it, with a line for each argument.
pub(crate) fn call_lines(name: &str, input: Option<&RawValue>) -> String {
    let mut lines = format!("<{TAG}invoke name=\"{name}\">\n");
    for (argument, value) in arguments(input) {
        lines.push_str(&format!("<{TAG}parameter name=\"{argument}\">"));
        lines.push_str(&written(value));
        lines.push_str(&format!("</{TAG}parameter>\n"));
    }
    lines.push_str(&format!("</{TAG}invoke>\n"));
    lines
}

/// The members of an object, in their order.
fn arguments(input: Option<&RawValue>) -> Vec<(String, &RawValue)> {
    struct Members;
    impl<'de> serde::de::Visitor<'de> for Members {
        type Value = Vec<(String, &'de RawValue)>;

        fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            formatter.write_str("an object")
        }

        fn visit_map<A: serde::de::MapAccess<'de>>(
            self,
            mut map: A,
        ) -> Result<Self::Value, A::Error> {
            let mut members = Vec::new();
            while let Some(member) = map.next_entry()? {
                members.push(member);
            }
            Ok(members)
        }
    }
    let members = input.and_then(|input| {
        serde::Deserializer::deserialize_map(
            &mut serde_json::Deserializer::from_str(input.get()),
            Members,
        )
        .ok()
    });
    members.unwrap_or_default()
}

/// A value as it is written into a prompt: the text of a string, and the JSON of anything else.
pub(crate) fn written(raw: &RawValue) -> Cow<'_, str> {
    let json = raw.get();
    let inside = json.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    match inside {
        Some(text) if !text.contains('\\') => Cow::Borrowed(text),
        Some(_) => serde_json::from_str::<String>(json).unwrap_or_default().into(),
        None => spaced(json).into(),
    }
}

/// JSON with a space after each comma and colon outside of strings, and no other there.
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
}
