//! Which columns of a table fit a width, and how wide each is.

use unicode_width::UnicodeWidthStr;

use super::grid::{Align, Grid};
use crate::report::escape::terminal_safe;

/// Spaces between columns.
pub(super) const GAP: usize = 2;

/// A column of sentences is not set narrower than this, as long as others can be hidden.
const LEAST_SENTENCE: usize = 24;

/// Unless that would hide the last columns, of which dollars mostly are one.
const NARROWEST_SENTENCE: usize = 18;

/// Names are cut to this, or to the name of their column, where nothing more can be hidden.
const LEAST_NAME: usize = 12;

/// The columns that are shown.
#[derive(Debug)]
pub(super) struct Fitted {
    /// Each shown column and its width, in the order of the table.
    pub(super) columns: Vec<(usize, usize)>,
    /// The others, without bars.
    pub(super) hidden: Vec<usize>,
    /// The width at which none is hidden.
    pub(super) needed: usize,
}

/// How wide a column would be, and how narrow it may become.
#[derive(Clone, Copy, Debug)]
struct Measure {
    natural: usize,
    least: usize,
}

impl Fitted {
    /// Fits a table into a width. Columns are hidden in the order the table names; then names are
    /// cut and sentences set narrower; then columns are hidden from the right, but for the first.
    pub(super) fn new(grid: &Grid, width: usize, has_bars: bool) -> Self {
        let mut measures = measure(grid);
        let align = |column: usize| grid.columns()[column].1;
        let all: Vec<usize> = (0..measures.len()).collect();
        let mut shown: Vec<usize> =
            all.iter().copied().filter(|column| has_bars || align(*column) != Align::Bar).collect();
        let without_bars = shown.iter().copied().filter(|column| align(*column) != Align::Bar);
        let needed = least_width(&measures, &without_bars.collect::<Vec<_>>());
        let bars = all.iter().copied().filter(|column| align(*column) == Align::Bar);
        for column in bars.chain(grid.hidden_first().iter().copied()) {
            if least_width(&measures, &shown) <= width {
                break;
            }
            shown.retain(|one| *one != column);
        }
        if least_width(&measures, &shown) > width {
            for (column, measure) in measures.iter_mut().enumerate() {
                let header = display_width(&grid.columns()[column].0);
                let narrowest = match align(column) {
                    Align::Left => LEAST_NAME,
                    Align::Wrapped => NARROWEST_SENTENCE,
                    Align::Right | Align::Bar => continue,
                };
                measure.least = measure.least.min(narrowest.max(header));
            }
        }
        while shown.len() > 1 && least_width(&measures, &shown) > width {
            shown.pop();
        }
        let hidden = all
            .into_iter()
            .filter(|column| !shown.contains(column) && align(*column) != Align::Bar)
            .collect();
        Self { columns: share(&measures, &shown, width), hidden, needed }
    }
}

/// Gives every column its least width, and what is left to those that want more.
fn share(measures: &[Measure], shown: &[usize], width: usize) -> Vec<(usize, usize)> {
    let mut columns: Vec<(usize, usize)> =
        shown.iter().map(|column| (*column, measures[*column].least)).collect();
    let mut left = width.saturating_sub(least_width(measures, shown));
    while left > 0 {
        let hungry = columns.iter().filter(|(column, own)| *own < measures[*column].natural);
        let count = hungry.count();
        if count == 0 {
            break;
        }
        let portion = (left / count).max(1);
        for (column, own) in &mut columns {
            let given = portion.min(measures[*column].natural - *own).min(left);
            *own += given;
            left -= given;
        }
    }
    columns
}

fn least_width(measures: &[Measure], shown: &[usize]) -> usize {
    let cells: usize = shown.iter().map(|column| measures[*column].least).sum();
    cells + GAP * shown.len().saturating_sub(1)
}

/// Measures all columns in one pass over the cells.
fn measure(grid: &Grid) -> Vec<Measure> {
    let columns = grid.columns();
    let mut natural: Vec<usize> = columns.iter().map(|(name, _)| display_width(name)).collect();
    let headers = natural.clone();
    for row in 0..grid.len() {
        for (column, natural) in natural.iter_mut().enumerate() {
            *natural = (*natural).max(display_width(grid.cell(row, column)));
        }
    }
    let least = columns.iter().zip(&natural).zip(&headers).map(
        |(((_, align), natural), header)| match align {
            Align::Wrapped => (*natural).min(LEAST_SENTENCE.max(*header)),
            Align::Left | Align::Right | Align::Bar => *natural,
        },
    );
    natural.iter().zip(least).map(|(natural, least)| Measure { natural: *natural, least }).collect()
}

/// How many columns of a terminal a text takes.
pub(super) fn display_width(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { terminal_safe(text).width() }
}
