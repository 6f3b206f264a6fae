//! Conversion of a request that was never sent into a record, as captures have them.

use crate::base::ByKey;

use serde_json::value::{RawValue, to_raw_value};

/// Records of an input, one a line: a body, or records as they are, all for `model` if one is given. `None` for a text
/// that is neither.
pub(crate) fn as_records(text: &str, model: Option<&str>) -> Option<String> {
    if !text.trim_start().starts_with(['{', '[']) {
        return None;
    }
    if let Ok(object) = serde_json::from_str::<Object>(text) {
        return record(object, model);
    }
    if let Ok(list) = serde_json::from_str::<Vec<Object>>(text) {
        let records: Option<Vec<String>> = list.into_iter().map(|one| record(one, model)).collect();
        return records.filter(|records| !records.is_empty()).map(|records| records.join("\n"));
    }
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let records = lines.into_iter().map(|line| record(serde_json::from_str(line).ok()?, model));
    let records: Option<Vec<String>> = records.collect();
    records.filter(|records| !records.is_empty()).map(|records| records.join("\n"))
}

/// Members of an object, in any order.
type Object = ByKey<String, Box<RawValue>>;

/// Line of captured requests: the object itself, or a wrapper around a body.
fn record(object: Object, model: Option<&str>) -> Option<String> {
    // A record without a time is left out, and a request that was never sent has none.
    const MOMENT: &str = "1970-01-01T00:00:00Z";
    let begins =
        |key: &str, with: char| object.get(key).is_some_and(|raw| raw.get().starts_with(with));
    if !begins("messages", '[') && !begins("request", '{') && !begins("prompt", '{') {
        return None;
    }
    let mut record = if begins("messages", '[') {
        Object::from([("request".to_owned(), to_raw_value(&object).ok()?)])
    } else {
        object
    };
    let key = ["request", "prompt"].into_iter().find(|key| record.contains_key(*key))?;
    if let Some(model) = model {
        let of_model = with_model(&record[key], model)?;
        record.insert(key.to_owned(), of_model);
    }
    if !record.contains_key("timestamp") {
        record.insert("timestamp".to_owned(), to_raw_value(MOMENT).ok()?);
    }
    one_line(&record)
}

/// Body for another model; the inner one in a log's wrapper.
fn with_model(body: &RawValue, model: &str) -> Option<Box<RawValue>> {
    let of_model = |body: &RawValue| {
        let mut body: Object = serde_json::from_str(body.get()).ok()?;
        body.insert("model".to_owned(), to_raw_value(model).ok()?);
        to_raw_value(&body).ok()
    };
    let mut outer: Object = serde_json::from_str(body.get()).ok()?;
    let inner = outer.get("body").filter(|_| !outer.contains_key("messages"));
    let Some(inner) = inner.map(|inner| of_model(inner)) else { return of_model(body) };
    outer.insert("body".to_owned(), inner?);
    to_raw_value(&outer).ok()
}

/// JSON without line ends. Strings escape theirs, so any that is left is white space.
fn one_line(object: &Object) -> Option<String> {
    Some(serde_json::to_string(object).ok()?.replace(['\n', '\r'], " "))
}
