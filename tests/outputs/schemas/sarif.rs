//! The findings of `lint` as SARIF: what the standard requires.

use serde_json::{Value, json};

use super::documents::{documents, more_inputs};
use super::{assert_valid, closed, validator};
use crate::common::fixtures;

/// SARIF 2.1.0, sections 3.13 to 3.52, as far as the output goes.
fn standard() -> Value {
    json!({
        "type": "object",
        "required": ["version", "runs"],
        "properties": {
            "$schema": {"type": "string", "format": "uri"},
            "version": {"const": "2.1.0"},
            "runs": {"type": "array", "items": {"$ref": "#/$defs/run"}},
        },
        "$defs": {
            "run": {
                "type": "object",
                "required": ["tool"],
                "properties": {
                    "tool": {
                        "type": "object",
                        "required": ["driver"],
                        "properties": {"driver": {"$ref": "#/$defs/component"}},
                    },
                    "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
                    "results": {"type": "array", "items": {"$ref": "#/$defs/result"}},
                },
            },
            "component": {
                "type": "object",
                "required": ["name"],
                "properties": {
                    "name": {"type": "string"},
                    "semanticVersion": {"type": "string"},
                    "rules": {
                        "type": "array",
                        "uniqueItems": true,
                        "items": {"$ref": "#/$defs/rule"},
                    },
                },
            },
            "rule": {
                "type": "object",
                "required": ["id"],
                "properties": {
                    "id": {"type": "string"},
                    "shortDescription": {"$ref": "#/$defs/message"},
                    "fullDescription": {"$ref": "#/$defs/message"},
                    "defaultConfiguration": {
                        "type": "object",
                        "properties": {"level": {"$ref": "#/$defs/level"}},
                    },
                },
            },
            "result": {
                "type": "object",
                "required": ["message"],
                "properties": {
                    "ruleId": {"type": "string"},
                    "ruleIndex": {"type": "integer", "minimum": 0},
                    "level": {"$ref": "#/$defs/level"},
                    "message": {"$ref": "#/$defs/message"},
                    "locations": {"type": "array", "items": {"$ref": "#/$defs/location"}},
                    // A bag: anything may be in it.
                    "properties": {"type": "object", "additionalProperties": true},
                },
            },
            "location": {
                "type": "object",
                "properties": {
                    "physicalLocation": {
                        "type": "object",
                        "required": ["artifactLocation"],
                        "properties": {
                            "artifactLocation": {
                                "type": "object",
                                "properties": {"uri": {"type": "string", "format": "uri-reference"}},
                            },
                            "region": {
                                "type": "object",
                                "properties": {"startLine": {"type": "integer", "minimum": 1}},
                            },
                        },
                    },
                },
            },
            "message": {
                "type": "object",
                "required": ["text"],
                "properties": {"text": {"type": "string", "minLength": 1}},
            },
            "level": {"enum": ["none", "note", "warning", "error"]},
        },
    })
}

#[test]
fn sarif_has_what_the_standard_requires() {
    let validator = validator(&closed(standard()));
    let folder = tempfile::tempdir().expect("a folder");
    let mut results = 0;
    for path in fixtures().into_iter().chain(more_inputs(folder.path())) {
        let path = path.to_str().expect("plain");
        for log in documents(&["lint", "--format", "sarif", "-q", path]) {
            assert_valid(&validator, &log, path);
            let rules = &log["runs"][0]["tool"]["driver"]["rules"];
            for result in log["runs"][0]["results"].as_array().expect("results") {
                let index = result["ruleIndex"].as_u64().expect("an index");
                let index = usize::try_from(index).expect("a small one");
                assert_eq!(rules[index]["id"], result["ruleId"]);
                results += 1;
            }
        }
    }
    assert!(results > 5, "{results}");
}
