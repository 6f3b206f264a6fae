//! Tables: their cells, the columns that fit a width, and the lines of a terminal.

mod cut;
mod draw;
mod layout;
mod value;

pub(crate) use cut::shortened;
pub(super) use cut::wrap;
pub(super) use value::Value;

use crate::report::{SafeText, markdown_text};

/// A table. All cells are in one text, so that a long table takes little more memory than its words.
#[derive(Debug, Default)]
pub(super) struct Grid {
    columns: Vec<(SafeText, Align)>,
    /// True for each column with a known value in any row.
    known: Vec<bool>,
    /// Columns to hide if there is not enough room, in this order.
    hidden_first: Vec<usize>,
    /// Spaces between columns.
    gap: usize,
    /// A column of sentences that goes below its rows once it is hidden, and the column of words shown in its place.
    below: Option<(usize, Option<usize>)>,
    /// Whether a sentence goes below every row that has one, and not only below losses.
    has_all_below: bool,
    /// Whether the last row has the sums of the others.
    has_sums: bool,
    text: SafeText,
    rows: Vec<GridRow>,
    /// End of each cell in the text of its row, row by row.
    ends: Vec<u32>,
}

#[derive(Debug)]
struct GridRow {
    /// Start of the row in the text.
    start: usize,
    tone: Tone,
}

/// Alignment of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Align {
    /// Words.
    Left,
    /// Names: long ones are cut in the middle before columns are hidden.
    Name,
    /// Numbers.
    Right,
    /// Words that may wrap over several lines.
    Wrapped,
    /// Bars, which show a number of another column. Only on terminals.
    Bar,
}

/// Meaning of a row's colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Tone {
    /// No meaning.
    #[default]
    Plain,
    /// Loss of money by a break.
    Loss,
    /// Expiry of a cache.
    Expiry,
    /// Money that was or would be saved.
    Saving,
    /// Row without an event.
    Quiet,
}

impl Grid {
    /// A table without rows, and the columns to hide if there is not enough room, in this order. Bars are hidden before
    /// them.
    pub(in crate::report) fn new<'n>(
        columns: impl Iterator<Item = (&'n str, Align)>,
        hidden_first: Vec<usize>,
    ) -> Self {
        let columns: Vec<_> = columns.map(|(name, align)| (SafeText::new(name), align)).collect();
        Self { known: vec![false; columns.len()], columns, hidden_first, gap: 2, ..Self::default() }
    }

    /// Returns true if columns have names.
    fn has_header(&self) -> bool {
        self.columns.iter().any(|(name, _)| !name.is_empty())
    }

    /// Puts one space between columns.
    pub(in crate::report) fn dense(mut self) -> Self {
        self.gap = 1;
        self
    }

    /// Writes the sentences of a column below their rows once it is hidden: those of losses, or all. Only then the column
    /// of words takes its place.
    pub(in crate::report) fn below(
        mut self,
        sentences: usize,
        words: Option<usize>,
        has_all: bool,
    ) -> Self {
        self.below = Some((sentences, words));
        self.has_all_below = has_all;
        self
    }

    /// Makes the last row the sums of the others.
    pub(in crate::report) fn end_with_sums(&mut self) {
        self.has_sums = true;
    }

    /// Whether the sentence of a row goes below it, once the column is hidden.
    fn has_below(&self, row: usize) -> bool {
        self.has_all_below || self.tone(row) == Tone::Loss
    }

    /// Adds a row with a value for each column.
    ///
    /// # Panics
    /// Never in practice: a row would need 4 GB.
    pub(in crate::report) fn add(&mut self, values: impl Iterator<Item = Value>, tone: Tone) {
        let start = self.text.len();
        for (value, is_known) in values.zip(&mut self.known) {
            self.text.push(&value.text);
            self.ends.push(u32::try_from(self.text.len() - start).expect("a row is a few words"));
            *is_known |= value.is_known;
        }
        self.rows.push(GridRow { start, tone });
    }

    /// Adds the rows of a table with the same columns.
    pub(in crate::report) fn append(&mut self, other: Self) {
        debug_assert_eq!(self.columns, other.columns);
        let start = self.text.len();
        self.text.append(&other.text);
        self.rows.extend(other.rows.iter().map(|row| GridRow { start: start + row.start, ..*row }));
        self.ends.extend(other.ends);
        self.known.iter_mut().zip(other.known).for_each(|(own, other)| *own |= other);
    }

    /// Names and alignments of the columns.
    pub(in crate::report) fn columns(&self) -> &[(SafeText, Align)] {
        &self.columns
    }

    fn hidden_first(&self) -> &[usize] {
        &self.hidden_first
    }

    /// Number of rows.
    pub(in crate::report) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns true if there are no rows.
    pub(in crate::report) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    fn cell(&self, row: usize, column: usize) -> &str {
        let ends = &self.ends[row * self.columns.len()..][..=column];
        let from = column.checked_sub(1).map_or(0, |before| ends[before]);
        let in_text = |at: u32| self.rows[row].start + at as usize;
        &self.text[in_text(from)..in_text(ends[column])]
    }

    /// Returns true if no row has a known value of a column.
    pub(in crate::report) fn is_unknown(&self, column: usize) -> bool {
        !self.is_empty() && !self.known[column]
    }

    fn tone(&self, row: usize) -> Tone {
        self.rows[row].tone
    }

    /// Rows, each with a cell for every column.
    pub(in crate::report) fn rows(&self) -> impl Iterator<Item = Vec<&str>> {
        let columns = self.columns.len();
        (0..self.len()).map(move |row| (0..columns).map(|column| self.cell(row, column)).collect())
    }

    pub(in crate::report) fn markdown_row(&self, row: usize) -> String {
        markdown_row(self.columns_of_pages().map(|column| markdown_text(self.cell(row, column))))
    }

    pub(in crate::report) fn markdown_header(&self) -> String {
        let names = self.columns_of_pages().map(|column| markdown_text(&self.columns[column].0));
        let rules = self.columns_of_pages().map(|column| match self.columns[column].1 {
            Align::Right => "--:".to_owned(),
            Align::Left | Align::Name | Align::Wrapped | Align::Bar => "---".to_owned(),
        });
        markdown_row(names) + &markdown_row(rules)
    }

    /// Columns without bars.
    fn columns_of_pages(&self) -> impl Iterator<Item = usize> {
        let columns = (0..self.columns.len()).filter(|column| !self.is_short_form(*column));
        columns.filter(|column| self.columns[*column].1 != Align::Bar)
    }

    /// True of a column of words that stands in for one of sentences, which a page has room for.
    pub(in crate::report) fn is_short_form(&self, column: usize) -> bool {
        self.below.is_some_and(|(_, words)| words == Some(column))
    }
}

fn markdown_row(cells: impl Iterator<Item = String>) -> String {
    format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
}
