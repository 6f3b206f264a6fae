//! Every machine format with what it holds.

use super::document::{Align, Document, Grid};
use super::schemas::MACHINE_FORMATS;

/// A line for each format.
#[must_use]
pub fn formats_document() -> Document {
    let mut grid = Grid::new(&[
        ("format", Align::Left),
        ("command", Align::Left),
        ("what it holds", Align::Wrapped),
    ])
    .hide_first(&["command"]);
    for format in &MACHINE_FORMATS {
        grid.add([format.name, format.commands, format.meaning].map(str::to_owned).to_vec());
    }
    let mut document = Document::default();
    document.heading("Machine formats");
    document.grid(grid);
    document
}
