//! The schemas of values: counts, moments, exact decimals, and objects by name.

use std::borrow::Cow;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::base::units::{Millis, Picodollars, Tokens};
use crate::simulate::fork::Equivalents;

impl JsonSchema for Tokens {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Tokens".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        u64::json_schema(generator)
    }
}

impl JsonSchema for Millis {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Moment".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "date-time" })
    }
}

impl JsonSchema for Picodollars {
    fn schema_name() -> Cow<'static, str> {
        "Dollars".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "An exact decimal number of dollars with up to 12 places, without exponent or trailing zeros.",
            "type": "string",
            "pattern": r"^(0|-?(0|[1-9][0-9]*)\.[0-9]{0,11}[1-9]|-?[1-9][0-9]*)$",
        })
    }
}

impl JsonSchema for Equivalents {
    fn schema_name() -> Cow<'static, str> {
        "Equivalents".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "An exact decimal number of tokens sent in full that cost as much, with up to 6 places, without exponent or trailing zeros.",
            "type": "string",
            "pattern": r"^(0|[1-9][0-9]*)(\.[0-9]{0,5}[1-9])?$",
        })
    }
}

/// An object whose keys are some of the words `K`, and whose values are `V`.
pub(in crate::report) struct Keyed<K, V>(PhantomData<(K, V)>);

impl<K: JsonSchema, V: JsonSchema> JsonSchema for Keyed<K, V> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("{}By{}", V::schema_name(), K::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "propertyNames": generator.subschema_for::<K>(),
            "additionalProperties": generator.subschema_for::<V>(),
        })
    }
}
