//! Every built-in strategy with what it stands for.

use super::document::{Align, Document, Grid};
use crate::strategy::ALL;

/// A line for each strategy.
#[must_use]
pub fn strategies_document() -> Document {
    let mut grid = Grid::new(&[("strategy", Align::Left), ("what it stands for", Align::Wrapped)]);
    for strategy in ALL.iter() {
        grid.add(vec![strategy.name.to_string(), strategy.summary.to_string()]);
    }
    let mut document = Document::default();
    document.heading("Strategies");
    document.grid(grid);
    document
}
