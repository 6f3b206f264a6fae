//! What happens to the keys of a settings file, as text.

use serde_json::Value;

use super::document::{Align, Document, Grid};
use crate::settings::{KeyChange, shown};

/// A change of settings: what it is, each key before and afterwards, and what was done.
#[must_use]
pub fn settings_document(title: &str, file: &str, changes: &[KeyChange], end: &str) -> Document {
    let mut document = Document::default();
    document.text(title);
    document.heading(file);
    let columns = [("key", Align::Left), ("before", Align::Wrapped), ("after", Align::Wrapped)];
    let mut grid = Grid::new(&columns);
    let value = |value: &Option<Value>| value.as_ref().map_or_else(|| "–".to_owned(), shown);
    for KeyChange { key, before, after } in changes {
        grid.add(vec![key.join("."), value(before), value(after)]);
    }
    document.grid(grid);
    document.text(end);
    document
}
