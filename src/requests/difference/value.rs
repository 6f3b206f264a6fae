//! What two JSON values say, whatever their bytes.

use serde_json::Value;

/// What is said of values that differ in nothing but the order of keys or the spelling of numbers.
pub(crate) const SAME_IN_OTHER_BYTES: &str = "the same in other bytes";

/// Whether two JSON texts say the same.
pub(crate) fn says_the_same(before: &str, after: &str) -> bool {
    let value = |text: &str| serde_json::from_str::<Value>(text).ok();
    value(before).is_some_and(|before| value(after) == Some(before))
}

/// The first field in which two values differ, whatever the order of keys; `None` where they say
/// the same.
pub(crate) fn changed_field(before: &Value, after: &Value) -> Option<String> {
    changed_below(before, after, String::new())
}

fn changed_below(before: &Value, after: &Value, path: String) -> Option<String> {
    let below =
        |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    match (before, after) {
        // What could not be taken apart may differ anywhere.
        (Value::Null, Value::Null) if path.is_empty() => Some("the definition".to_owned()),
        (Value::Object(old), Value::Object(new)) => {
            let names = old.keys().chain(new.keys().filter(|name| !old.contains_key(*name)));
            for name in names {
                match (old.get(name), new.get(name)) {
                    (Some(old), Some(new)) => {
                        if let Some(field) = changed_below(old, new, below(name)) {
                            return Some(field);
                        }
                    }
                    _ => return Some(below(name)),
                }
            }
            None
        }
        (before, after) if before == after => None,
        _ => Some(if path.is_empty() { "the definition".to_owned() } else { path }),
    }
}
