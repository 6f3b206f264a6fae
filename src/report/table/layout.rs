//! Layout of a table: its visible columns and their widths.

use std::ops::Range;

use super::cut::display_width;
use super::{Align, Grid};
use crate::base::side_by_side;

/// Rows that one thread measures or draws at a time: small enough that eight threads share a long table evenly.
const CHUNK: usize = 512;

/// Cuts a range of rows into chunks.
pub(super) fn chunks(rows: Range<usize>) -> Vec<Range<usize>> {
    let end = rows.end;
    rows.step_by(CHUNK).map(|start| start..end.min(start + CHUNK)).collect()
}

/// Least width of a column of sentences while other columns can be hidden.
const LEAST_SENTENCE: usize = 24;

/// Least width of such a column if the last columns, which mostly have dollars, would be hidden otherwise.
const NARROWEST_SENTENCE: usize = 18;

/// Width to which names are cut before columns are hidden, unless the name of their column is wider.
const SHORT_NAME: usize = 18;

/// Width to which words are cut once no more columns can be hidden, unless the name of their column is wider.
const LEAST_NAME: usize = 12;

/// Visible columns of a table.
#[derive(Debug)]
pub(super) struct Fitted {
    /// Visible columns with their widths, in the order of the table.
    pub(super) columns: Vec<(usize, usize)>,
    /// Hidden columns, without bars.
    pub(super) hidden: Vec<usize>,
    /// The column whose sentences are written below their rows.
    pub(super) below: Option<usize>,
    /// Width at which no column would be hidden.
    pub(super) needed: usize,
}

/// Natural and least width of a column.
#[derive(Clone, Copy, Debug)]
struct Measure {
    natural: usize,
    least: usize,
}

impl Fitted {
    /// Fits a table into a width. First names give way. Then columns are hidden: bars, unknown columns, and those that
    /// the table lists, in this order. Then words are cut and sentences narrowed. At last columns are hidden from the
    /// right, except for the first.
    pub(super) fn new(grid: &Grid, width: usize, has_bars: bool) -> Self {
        let mut measures = measure(grid);
        let gap = grid.gap;
        let least = |measures: &[Measure], shown: &[usize]| least_width(measures, shown, gap);
        let align = |column: usize| grid.columns()[column].1;
        let (sentence, word) = grid.below.unzip();
        let word = word.flatten();
        let all: Vec<usize> = (0..measures.len()).filter(|column| Some(*column) != word).collect();
        let is_bar = |column: &usize| align(*column) == Align::Bar;
        let (bars, columns): (Vec<usize>, Vec<usize>) = all.iter().partition(|one| is_bar(one));
        let needed = least(&measures, &columns);
        let mut shown = if has_bars { all } else { columns.clone() };
        let unknown = columns.iter().copied().skip(1).filter(|column| grid.is_unknown(*column));
        for column in bars.into_iter().chain(unknown).chain(grid.hidden_first().iter().copied()) {
            if least(&measures, &shown) <= width {
                break;
            }
            match word.filter(|word| Some(column) == sentence && !grid.is_unknown(*word)) {
                Some(word) => {
                    shown.iter_mut().filter(|one| **one == column).for_each(|one| *one = word);
                }
                None => shown.retain(|one| *one != column),
            }
        }
        if least(&measures, &shown) > width {
            for (column, measure) in measures.iter_mut().enumerate() {
                let header = display_width(&grid.columns()[column].0);
                let narrowest = match align(column) {
                    Align::Left | Align::Name => LEAST_NAME,
                    Align::Wrapped => NARROWEST_SENTENCE,
                    Align::Right | Align::Bar => continue,
                };
                measure.least = measure.least.min(narrowest.max(header));
            }
        }
        while shown.len() > 1 && least(&measures, &shown) > width {
            shown.pop();
        }
        let below = sentence.filter(|sentence| !shown.contains(sentence));
        let is_hidden = |column: &usize| !shown.contains(column) && Some(*column) != below;
        let hidden = columns.into_iter().filter(is_hidden).collect();
        Self { columns: share(&measures, &shown, width, gap), hidden, below, needed }
    }
}

/// Gives every column its least width, and distributes the rest among the columns that need more.
fn share(measures: &[Measure], shown: &[usize], width: usize, gap: usize) -> Vec<(usize, usize)> {
    let mut columns: Vec<(usize, usize)> =
        shown.iter().map(|column| (*column, measures[*column].least)).collect();
    let mut left = width.saturating_sub(least_width(measures, shown, gap));
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

fn least_width(measures: &[Measure], shown: &[usize], gap: usize) -> usize {
    let cells: usize = shown.iter().map(|column| measures[*column].least).sum();
    cells + gap * shown.len().saturating_sub(1)
}

/// Measures all columns in one pass over the cells.
fn measure(grid: &Grid) -> Vec<Measure> {
    let columns = grid.columns();
    let mut natural: Vec<usize> = columns.iter().map(|(name, _)| display_width(name)).collect();
    let headers = natural.clone();
    let widest = |rows: &Range<usize>| -> Vec<usize> {
        let of_column = |column| rows.clone().map(move |row| display_width(grid.cell(row, column)));
        (0..columns.len()).map(|column| of_column(column).max().unwrap_or(0)).collect()
    };
    for widths in side_by_side(&chunks(0..grid.len()), widest) {
        for (natural, width) in natural.iter_mut().zip(widths) {
            *natural = (*natural).max(width);
        }
    }
    let least = columns.iter().zip(&natural).zip(&headers).map(
        |(((_, align), natural), header)| match align {
            Align::Wrapped => (*natural).min(LEAST_SENTENCE.max(*header)),
            Align::Name => (*natural).min(SHORT_NAME.max(*header)),
            Align::Left | Align::Right | Align::Bar => *natural,
        },
    );
    natural.iter().zip(least).map(|(natural, least)| Measure { natural: *natural, least }).collect()
}
