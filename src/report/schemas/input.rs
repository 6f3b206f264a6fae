//! Schemas of types that are read from TOML.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use serde_json::{Map, Value};

use super::derived::plain;

/// Schema of a type as it is read, and the definitions that it refers to.
pub(super) fn input<T: JsonSchema>() -> (Value, Map<String, Value>) {
    let settings = SchemaSettings::draft2020_12().with_transform(RecursiveTransform(plain));
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    schema.remove("$schema");
    schema.remove("title");
    let definitions = schema.remove("$defs");
    let mut schema = schema.to_value();
    let mut definitions = definitions.unwrap_or_default();
    each_property(&mut schema, &as_in_toml);
    each_property(&mut definitions, &as_in_toml);
    (schema, definitions.as_object().cloned().unwrap_or_default())
}

/// Changes the schema of every key, at any depth.
pub(super) fn each_property(schema: &mut Value, change: &dyn Fn(&mut Value)) {
    match schema {
        Value::Array(schemas) => {
            for schema in schemas {
                each_property(schema, change);
            }
        }
        Value::Object(parts) => {
            for schema in parts.values_mut() {
                each_property(schema, change);
            }
            if let Some(Value::Object(properties)) = parts.get_mut("properties") {
                properties.values_mut().for_each(change);
            }
        }
        _ => {}
    }
}

/// Removes what holds of fields alone: the `null` of those that may be missing, and the unit of a duration.
fn as_in_toml(schema: &mut Value) {
    let Some(parts) = schema.as_object_mut() else { return };
    if let Some(Value::String(text)) = parts.get_mut("description") {
        *text = text.replace(", in milliseconds", "");
    }
    parts.retain(|name, value| name != "default" || !value.is_null());
    if let Some(Value::Array(types)) = parts.get_mut("type") {
        types.retain(|name| name != "null");
        if let [one] = &types[..] {
            let one = one.clone();
            parts.insert("type".to_owned(), one);
        }
    }
    if let Some(Value::Array(choices)) = parts.get_mut("anyOf") {
        choices.retain(|choice| choice["type"] != "null");
        if let [Value::Object(one)] = &choices[..] {
            let one = one.clone();
            parts.remove("anyOf");
            parts.extend(one);
        }
    }
}
