//! Every built-in strategy with what it stands for, by who can make it come true.

use super::document::{Align, Document, Grid};
use crate::simulate::strategy::{ALL, Reach};

/// A line for each strategy.
#[must_use]
pub fn strategies_document() -> Document {
    let mut document = Document::default();
    for reach in Reach::ALL {
        let columns = [("strategy", Align::Left), ("what it stands for", Align::Wrapped)];
        let mut grid = Grid::new(&columns);
        for strategy in ALL.iter().filter(|strategy| strategy.reach() == reach) {
            grid.add(vec![strategy.name.to_string(), strategy.summary.to_string()]);
        }
        document.heading(reach.label());
        document.grid(grid);
    }
    document
}
