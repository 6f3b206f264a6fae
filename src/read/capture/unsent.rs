//! Conversion of a request that was never sent into a record, as captures have them.

use crate::base::ByKey;

use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

/// Records of an input, one a line: a body, or records as they are, all for `model` if one is given. `None` for a text
/// that is neither.
pub(crate) fn as_records(text: &str, model: Option<&str>) -> Option<String> {
    if !text.trim_start().starts_with(['{', '[']) {
        return None;
    }
    let model = model.and_then(|model| to_raw_value(model).ok());
    let record = |object| record(object, model.as_deref());
    if let Ok(object) = serde_json::from_str::<Object>(text) {
        return record(object);
    }
    let records: Option<Vec<String>> = if let Ok(list) = serde_json::from_str::<Vec<Object>>(text) {
        list.into_iter().map(record).collect()
    } else {
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        lines.map(|line| record(serde_json::from_str(line).ok()?)).collect()
    };
    records.filter(|records| !records.is_empty()).map(|records| records.join("\n"))
}

/// Members of an object, in any order, without copies of the input.
type Object<'t> = ByKey<String, &'t RawValue>;

/// Time of a request that was never sent. A record without one is left out.
const MOMENT: &str = "1970-01-01T00:00:00Z";

/// Wrapper of a body.
#[derive(Serialize)]
struct Record<'t> {
    timestamp: &'static str,
    request: Object<'t>,
}

/// Line of captured requests: the object itself, or a wrapper around a body.
fn record<'t>(mut object: Object<'t>, model: Option<&'t RawValue>) -> Option<String> {
    let begins =
        |key: &str, with: char| object.get(key).is_some_and(|raw| raw.get().starts_with(with));
    if begins("messages", '[') {
        object.extend(model.map(|model| ("model".to_owned(), model)));
        return one_line(&Record { timestamp: MOMENT, request: object });
    }
    let key = ["request", "prompt"].into_iter().find(|key| begins(key, '{'))?;
    let of_model = model.map(|model| with_model(object[key], model));
    let moment = to_raw_value(MOMENT).ok()?;
    let mut record = object;
    if let Some(of_model) = &of_model {
        record.insert(key.to_owned(), of_model.as_deref()?);
    }
    if !record.contains_key("timestamp") {
        record.insert("timestamp".to_owned(), &moment);
    }
    one_line(&record)
}

/// Body for another model; the inner one in a log's wrapper.
fn with_model(body: &RawValue, model: &RawValue) -> Option<Box<RawValue>> {
    let of_model = |body: &RawValue| {
        let mut body: Object<'_> = serde_json::from_str(body.get()).ok()?;
        body.insert("model".to_owned(), model);
        to_raw_value(&body).ok()
    };
    let mut outer: Object<'_> = serde_json::from_str(body.get()).ok()?;
    let inner = outer.get("body").filter(|_| !outer.contains_key("messages"));
    let Some(inner) = inner.map(|inner| of_model(inner)) else { return of_model(body) };
    let inner = inner?;
    outer.insert("body".to_owned(), &inner);
    to_raw_value(&outer).ok()
}

/// JSON without line ends. Strings escape theirs, so any that is left is white space.
fn one_line(object: &impl Serialize) -> Option<String> {
    const ENDS: [char; 2] = ['\n', '\r'];
    let json = serde_json::to_string(object).ok()?;
    Some(if json.contains(ENDS) { json.replace(ENDS, " ") } else { json })
}
