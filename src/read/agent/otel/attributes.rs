//! Attributes of a span, an event or a resource, in both of their forms: the protocol's list of keys
//! with values wrapped by type, and a plain object.
//!
//! Only values under known names are kept. Most of a trace is text under other names.

use std::borrow::Cow;
use std::fmt;

use rust_decimal::Decimal;
use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::names;
use crate::base::Picodollars;
use crate::read::agent::Figure;
use crate::read::input::{Count, Dollars, Shape, Text, default_for};

/// Attributes under known names, in file order.
#[derive(Debug, Default)]
pub(super) struct Attributes<'a>(Vec<(Cow<'a, str>, Value<'a>)>);

impl Attributes<'_> {
    /// Text under the first of these names that has one.
    pub(super) fn text(&self, names: &[&str]) -> Text<'_> {
        let mut texts = names.iter().filter_map(|name| self.value(name)?.text.as_deref());
        Text(texts.find(|text| !text.is_empty()).map(Cow::Borrowed))
    }

    /// Number under the first of these names that has one.
    pub(super) fn count(&self, names: &[&str]) -> Count {
        let mut counts = names.iter().filter_map(|name| Some(self.value(name)?.figure.0));
        counts.find(|count| *count != Count::Missing).unwrap_or_default()
    }

    /// Amount in dollars under the first of these names that has one, in any notation.
    pub(super) fn dollars(&self, names: &[&str]) -> Option<Picodollars> {
        names.iter().find_map(|name| self.value(name)?.dollars())
    }

    fn value(&self, name: &str) -> Option<&Value<'_>> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Attributes<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AttributesVisitor)
    }
}

struct AttributesVisitor;

impl<'de> Visitor<'de> for AttributesVisitor {
    type Value = Attributes<'de>;

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Self::Value, A::Error> {
        let mut attributes = Vec::new();
        while let Some(Text(key)) = object.next_key()? {
            match key {
                Some(key) if names::is_known(&key) => attributes.push((key, object.next_value()?)),
                _ => drop(object.next_value::<IgnoredAny>()?),
            }
        }
        Ok(Attributes(attributes))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut attributes = Vec::new();
        while let Some(Shape(attribute)) = list.next_element::<Shape<Attribute<'de>>>()? {
            attributes.extend(attribute.and_then(|attribute| attribute.0));
        }
        Ok(Attributes(attributes))
    }

    default_for!(bool number text null);
}

/// Entry of a list of attributes; `None` if its name is not known.
struct Attribute<'a>(Option<(Cow<'a, str>, Value<'a>)>);

impl<'de: 'a, 'a> Deserialize<'de> for Attribute<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AttributeVisitor)
    }
}

struct AttributeVisitor;

impl<'de> Visitor<'de> for AttributeVisitor {
    type Value = Attribute<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Self::Value, A::Error> {
        let (mut key, mut value) = (None, None);
        while let Some(Text(member)) = object.next_key()? {
            match member.as_deref() {
                Some("key") => Text(key) = object.next_value()?,
                // Usually the key comes first, and decides whether the value is read.
                Some("value") if key.as_deref().is_none_or(names::is_known) => {
                    value = Some(object.next_value()?);
                }
                _ => drop(object.next_value::<IgnoredAny>()?),
            }
        }
        // A value in front of its key was read unseen, so the name is checked once more.
        Ok(Attribute(key.filter(|key| names::is_known(key)).zip(value)))
    }
}

/// Value as text and as a number, if it is one or the other.
#[derive(Clone, Debug, Default)]
pub(super) struct Value<'a> {
    pub(super) text: Option<Cow<'a, str>>,
    pub(super) figure: Figure,
    float: Option<f64>,
}

impl Value<'_> {
    /// Value as an amount of money.
    fn dollars(&self) -> Option<Picodollars> {
        let dollars = match (&self.text, self.float, self.figure.0) {
            (Some(text), ..) => Dollars::of_decimal(text.trim().parse().ok()?),
            (_, Some(float), _) => Dollars::of_float(float),
            (.., Count::Value(whole)) => Dollars::of_decimal(Decimal::from(whole)),
            _ => Dollars::default(),
        };
        dollars.0
    }

    // Exporters write flags as booleans or as text: both become text.
    fn of_flag(flag: bool) -> Self {
        let text = if flag { "true" } else { "false" };
        Self { text: Some(Cow::Borrowed(text)), figure: Figure(Count::Invalid), float: None }
    }
}

/// Members of the object that wraps a value.
const WRAPPERS: [&str; 4] = ["stringValue", "intValue", "doubleValue", "boolValue"];

impl<'de: 'a, 'a> Deserialize<'de> for Value<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor { may_be_wrapped: true })
    }
}

/// Value inside a wrapper. Nothing is wrapped twice.
struct Unwrapped<'a>(Value<'a>);

impl<'de: 'a, 'a> Deserialize<'de> for Unwrapped<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor { may_be_wrapped: false }).map(Self)
    }
}

struct ValueVisitor {
    may_be_wrapped: bool,
}

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value<'de>;

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Value { text: Some(Cow::Borrowed(text)), figure: Figure::of_text(text), float: None })
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Value {
            text: Some(Cow::Owned(text.to_owned())),
            figure: Figure::of_text(text),
            float: None,
        })
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Self::Value, E> {
        Ok(Value::of_flag(flag))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Self::Value, E> {
        Ok(Value { text: None, figure: Figure(Count::Value(value)), float: None })
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Self::Value, E> {
        let count = u64::try_from(value).map_or(Count::Invalid, Count::Value);
        Ok(Value { text: None, figure: Figure(count), float: None })
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Self::Value, E> {
        Ok(Value { text: None, figure: Figure::of_float(value), float: Some(value) })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Self::Value, A::Error> {
        let mut value = Value::default();
        while let Some(Text(member)) = object.next_key()? {
            let is_wrapper = member.is_some_and(|name| WRAPPERS.contains(&&*name));
            if self.may_be_wrapped && is_wrapper {
                Unwrapped(value) = object.next_value()?;
            } else {
                object.next_value::<IgnoredAny>()?;
            }
        }
        Ok(value)
    }

    default_for!(null list);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attributes(json: &str) -> Attributes<'_> {
        serde_json::from_str(json).expect("JSON")
    }

    #[test]
    fn both_forms_give_the_same_values() {
        for json in [
            r#"{"model":"m","input_tokens":12,"success":false,"duration_ms":4.0,"secret":{"a":[1]}}"#,
            r#"[{"key":"model","value":{"stringValue":"m"}},
                {"value":{"intValue":"12"},"key":"input_tokens"},
                {"key":"secret","value":{"arrayValue":{"values":[{"stringValue":"x"}]}}},
                {"key":"duration_ms","value":{"doubleValue":4.0}},
                {"key":"success","value":{"boolValue":false}}]"#,
        ] {
            let read = attributes(json);
            assert_eq!(read.0.len(), 4, "{json}");
            assert_eq!(read.text(&["model"]).as_str(), Some("m"));
            assert_eq!(read.text(&["success"]).as_str(), Some("false"));
            assert_eq!(read.count(&["prompt_tokens", "input_tokens"]), Count::Value(12));
            assert_eq!(read.count(&["duration_ms"]), Count::Value(4));
        }
    }

    #[test]
    fn values_of_other_types_are_absent() {
        for json in [
            r#"[{"key":"model","value":{"kvlistValue":{"values":[]}}},7,{"key":["model"]},{"value":1}]"#,
            r#"{"model":["m"],"input_tokens":null}"#,
            r#"{"model":{"stringValue":{"stringValue":"m"}}}"#,
            r#""model""#,
            "true",
            "-1",
            "1.5",
            "null",
        ] {
            let read = attributes(json);
            assert_eq!(read.text(&["model"]).as_str(), None, "{json}");
            assert!(
                matches!(read.count(&["input_tokens"]), Count::Missing | Count::Null),
                "{json}"
            );
        }
        let [float, text] =
            [r#"{"cost_usd":0.0027651900000000003}"#, r#"{"cost_usd":"0.00276519"}"#];
        for json in [float, text] {
            let cost = attributes(json).dollars(&["cost_usd"]);
            assert_eq!(cost, Some(Picodollars(2_765_190_000)), "{json}");
        }
        for json in [r#"{"cost_usd":-1.5}"#, r#"{"cost_usd":1e300}"#, r#"{"cost_usd":"free"}"#] {
            assert_eq!(attributes(json).dollars(&["cost_usd"]), None, "{json}");
        }
        let redacted = attributes(r#"{"input_tokens":"[REDACTED]","output_tokens":-1}"#);
        assert_eq!(redacted.count(&["input_tokens"]), Count::Missing);
        assert_eq!(redacted.count(&["output_tokens"]), Count::Invalid);
    }
}
