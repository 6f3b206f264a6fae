//! JSON text put together again from parts as they are written.

use serde_json::Value;

/// The JSON of a string.
pub(super) fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// Appends an object, whose members are written by the closure.
pub(super) fn write_object(text: &mut String, write_members: impl FnOnce(&mut ObjectWriter<'_>)) {
    text.push('{');
    write_members(&mut ObjectWriter { text, is_empty: true });
    text.push('}');
}

/// Appends a list, whose elements are written by the closure.
pub(super) fn write_list<T>(
    text: &mut String,
    elements: impl IntoIterator<Item = T>,
    mut write_element: impl FnMut(&mut String, T),
) {
    text.push('[');
    for (index, element) in elements.into_iter().enumerate() {
        if index > 0 {
            text.push(',');
        }
        write_element(text, element);
    }
    text.push(']');
}

/// An object that is being written.
pub(super) struct ObjectWriter<'t> {
    text: &'t mut String,
    is_empty: bool,
}

impl ObjectWriter<'_> {
    /// Begins a member; its value is to be appended to the text that is returned. The name must
    /// need no escapes.
    pub(super) fn member(&mut self, name: &str) -> &mut String {
        self.separate();
        self.text.push('"');
        self.text.push_str(name);
        self.text.push_str("\":");
        self.text
    }

    /// Adds a member whose key and value are JSON.
    pub(super) fn copy(&mut self, key: &str, value: &str) {
        self.separate();
        self.text.push_str(key);
        self.text.push(':');
        self.text.push_str(value);
    }

    fn separate(&mut self) {
        if !self.is_empty {
            self.text.push(',');
        }
        self.is_empty = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::harness::raw::Object;

    #[test]
    fn an_object_is_copied_as_it_is_written() {
        let written = r#"{"b":1.00,"a":[ 1e400, -0 ],"\u0063":"\u00e9","b":{}}"#;
        let object =
            Object::read(serde_json::from_str(written).expect("JSON"), "it").expect("an object");
        let mut copy = String::new();
        write_object(&mut copy, |writer| {
            for member in &object.members {
                writer.copy(member.key.get(), member.value.get());
            }
        });
        assert_eq!(copy, written);
    }

    #[test]
    fn text_is_quoted() {
        assert_eq!(quoted("a\n\"é"), r#""a\n\"é""#);
    }
}
