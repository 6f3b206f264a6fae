//! Schema of strategy files: that of a design, with a name and a summary, and with sweeps.

use serde_json::{Map, Value, json};

use super::input::{each_property, input};
use crate::simulate::strategy::{Design, STRATEGY_SCHEMA};

/// Schema (draft 2020-12) of the TOML document.
pub(super) fn strategy_schema() -> Value {
    let (mut design, definitions) = input::<Design>();
    let mut definitions = Value::Object(definitions);
    each_property(&mut design, &sweep);
    each_property(&mut definitions, &sweep);
    design["required"] = json!(["name"]);
    design["properties"]["name"] = json!({
        "description": "Name in options and outputs. Swept values follow it: name[ttl=5m].",
        "type": "string",
        "pattern": "^[A-Za-z0-9][A-Za-z0-9._+-]{0,63}$",
    });
    design["properties"]["summary"] =
        json!({ "description": "Summary in a line.", "type": "string" });
    definitions["Strategy"] = design;
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:cachesim:strategy:v1",
        "title": format!("cachesim strategy file, {STRATEGY_SCHEMA}"),
        "description": "Designs of an agent's requests. A list at a key is a sweep: one strategy for each value, and for each combination.",
        "type": "object",
        "required": ["schema", "strategy"],
        "additionalProperties": false,
        "properties": {
            "schema": { "const": STRATEGY_SCHEMA },
            "strategy": { "type": "array", "minItems": 1, "items": { "$ref": "#/$defs/Strategy" } },
        },
        "$defs": definitions,
    })
}

/// Lets a key have a list of values.
fn sweep(property: &mut Value) {
    let mut one = property.take();
    let mut swept = Map::new();
    if let Some(one) = one.as_object_mut() {
        for about in ["description", "default"] {
            swept.extend(one.remove_entry(about));
        }
    }
    let list = json!({ "type": "array", "minItems": 1, "uniqueItems": true, "items": one });
    swept.insert("anyOf".to_owned(), json!([one, list]));
    *property = Value::Object(swept);
}
