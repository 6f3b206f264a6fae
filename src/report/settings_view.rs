//! Changes of the keys of a settings file, as text.

use serde_json::Value;

use super::Document;
use crate::settings::{KeyChange, shown};

/// Change of settings: its title, and each key before and afterwards, with values in full length.
pub fn settings_document(title: &str, file: &str, changes: &[KeyChange]) -> Document {
    let mut document = Document::default();
    document.text(title);
    document.heading(file);
    let value = |value: &Option<Value>| value.as_ref().map_or_else(|| "not set".to_owned(), shown);
    for KeyChange { key, before, after } in changes {
        document.text(format!("{key}: {} → {}", value(before), value(after)));
    }
    document
}

/// Result of a change that was shown.
pub fn settings_outcome(outcome: &str) -> Document {
    let mut document = Document::default();
    document.text(outcome);
    document
}
