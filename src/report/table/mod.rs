//! Tables: their cells, the columns that fit a width, and the lines of a terminal.

mod draw;
mod grid;

pub(super) use draw::wrap;
pub(super) use grid::{Align, Grid, Tone};
