//! A machine format and its JSON schema.

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde_json::{Value, json};

/// A format that programs read or write, one version of it.
#[derive(Clone, Copy, Debug)]
pub struct MachineFormat {
    /// The name of its schema.
    pub name: &'static str,
    /// The commands that write it or, of an input, read it.
    pub commands: &'static str,
    /// What it holds, in a line.
    pub meaning: &'static str,
    source: Source,
}

#[derive(Clone, Copy, Debug)]
enum Source {
    /// What its documents say in `schema`, and the schema of the type that is written.
    Derived { tag: &'static str, schema: fn() -> Schema },
    /// A schema made of tables.
    Made(fn() -> Value),
    /// The text of a schema.
    Written(&'static str),
}

impl MachineFormat {
    /// One whose documents are written from `T`, and have `tag` in their field `schema`.
    pub(super) const fn output<T: JsonSchema>(
        name: &'static str,
        tag: &'static str,
        commands: &'static str,
        meaning: &'static str,
    ) -> Self {
        let source = Source::Derived { tag, schema: derived::<T> };
        Self { name, commands, meaning, source }
    }

    /// One that is read, with a schema written by hand.
    pub(super) const fn input(
        name: &'static str,
        commands: &'static str,
        meaning: &'static str,
        schema: &'static str,
    ) -> Self {
        Self { name, commands, meaning, source: Source::Written(schema) }
    }

    /// One that is read, with a schema made of the tables by which it is read.
    pub(super) const fn made(
        name: &'static str,
        commands: &'static str,
        meaning: &'static str,
        schema: fn() -> Value,
    ) -> Self {
        Self { name, commands, meaning, source: Source::Made(schema) }
    }

    /// The JSON schema (draft 2020-12), as a text that ends with a line break.
    #[must_use]
    pub fn schema(&self) -> String {
        match self.source {
            Source::Written(text) => text.to_owned(),
            Source::Made(schema) => format!("{:#}\n", schema()),
            Source::Derived { tag, schema } => format!("{:#}\n", self.complete(schema(), tag)),
        }
    }

    /// Says which format it is.
    fn complete(&self, mut schema: Schema, tag: &str) -> Value {
        schema.insert("$id".to_owned(), json!(format!("urn:cachesim:{}:v1", self.name)));
        schema.insert("title".to_owned(), json!(format!("cachesim {}, {tag}", self.name)));
        let description = format!(
            "What `cachesim {}` writes: {}. Fields and words may be added within this version.",
            self.commands, self.meaning
        );
        schema.insert("description".to_owned(), json!(description));
        let mut schema = schema.to_value();
        if let Some(field) = schema.pointer_mut("/properties/schema") {
            field["const"] = json!(tag);
        }
        schema
    }
}

/// Fields are required unless they may be left out of what is written.
fn derived<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12()
        .for_serialize()
        .with_transform(RecursiveTransform(plain))
        .into_generator()
        .into_root_schema_for::<T>()
}

/// Takes out what is Rust's alone: line breaks of comments, the widths of numbers.
fn plain(schema: &mut Schema) {
    if let Some(Value::String(text)) = schema.get_mut("description") {
        *text = text.replace('\n', " ");
    }
    let is_text = |format: &Value| format.as_str().is_some_and(|name| name.starts_with("date"));
    if schema.get("format").is_some_and(|format| !is_text(format)) {
        schema.remove("format");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::super::MACHINE_FORMATS;

    #[test]
    fn every_schema_says_which_it_is() {
        for format in &MACHINE_FORMATS {
            let schema: Value = serde_json::from_str(&format.schema()).expect("JSON");
            assert_eq!(schema["$id"], format!("urn:cachesim:{}:v1", format.name));
            assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
            let title = schema["title"].as_str().expect("a title");
            assert!(title.starts_with(&format!("cachesim {}", format.name)), "{title}");
            assert!(schema["description"].is_string(), "{title}");
        }
    }

    #[test]
    fn names_are_unique() {
        let names: std::collections::BTreeSet<&str> =
            MACHINE_FORMATS.iter().map(|format| format.name).collect();
        assert_eq!(names.len(), MACHINE_FORMATS.len());
    }
}
