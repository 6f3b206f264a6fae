//! Keys and values as they were written, for messages.

use std::borrow::Cow;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The entries of a table in the order of the file.
pub(crate) fn entries<'a, 'i>(
    table: &'a DeTable<'i>,
) -> Vec<(&'a Spanned<Cow<'i, str>>, &'a Spanned<DeValue<'i>>)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}

/// Text of the file as a message can carry it.
pub(crate) fn quoted(text: &str) -> String {
    const MOST: usize = 80;
    let escaped: String = text.chars().take(MOST).flat_map(char::escape_debug).collect();
    if text.chars().nth(MOST).is_some() { format!("{escaped}…") } else { escaped }
}

/// A value as it stands in names and messages.
pub(crate) fn written(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => quoted(text),
        DeValue::Integer(integer) => quoted(&integer.to_string()),
        DeValue::Float(float) => quoted(&float.to_string()),
        DeValue::Boolean(is) => is.to_string(),
        DeValue::Array(places) => {
            let places: Vec<&str> =
                places.iter().filter_map(|place| place.get_ref().as_str()).collect();
            quoted(&places.join("+"))
        }
        DeValue::Datetime(_) | DeValue::Table(_) => value.type_str().to_owned(),
    }
}

/// A value of the wrong type, as a message can name it.
pub(crate) fn found(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(_) => format!("\"{}\"", written(value)),
        DeValue::Array(_) => "a list".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
        other => written(other),
    }
}
