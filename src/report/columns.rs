//! Columns of a table. A column is one value: its heading and alignment, its place in the order of hiding, its cell of a
//! row, and its form in CSV. Tables on terminals and pages and CSV files come from the same columns.

use std::borrow::{Borrow, Cow};
use std::io::{self, Write};

use super::rows::csv::{CsvCell, CsvFile};
use super::{Align, Grid, Money, Tone, Value, bar};
use crate::base::Order as _;

/// Columns of a table with a row for each `R`.
///
/// What follows from no row is apart, so that it is compiled once and not for each kind of rows.
pub(super) struct Columns<'c, R> {
    heads: Heads<'c>,
    /// Value of each column.
    values: Vec<Of<'c, R, Value>>,
    /// Cell of each column in CSV files, if it has one.
    in_csv: Vec<Option<Of<'c, R, CsvCell>>>,
    tone: Option<Of<'c, R, Tone>>,
}

/// Something that follows from a row.
type Of<'c, R, T> = Box<dyn Fn(&R) -> T + Sync + 'c>;

/// Head of a column.
struct Head<'c> {
    heading: Cow<'c, str>,
    align: Align,
    /// Words for an unknown value that has none of its own.
    unknown: &'static str,
    /// Place in the order of hiding; `None` if it is hidden last.
    hidden: Option<usize>,
    room: Room,
    /// Key in CSV files.
    key: Option<Cow<'c, str>>,
}

/// Room that a column takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Room {
    /// A column of its own.
    Own,
    /// If it is hidden, its sentences go below their rows: those of losses, or all.
    Below { has_all: bool },
    /// Only that of hidden sentences.
    InTheirPlace,
    /// None: it is in CSV files alone, or left out.
    None,
}

/// Value of each column in a row, and the row's colour.
type Cells = (Vec<Value>, Tone);

/// Heads of all columns.
#[derive(Default)]
struct Heads<'c>(Vec<Head<'c>>);

impl Heads<'_> {
    /// Columns of tables.
    fn shown(&self) -> impl Iterator<Item = &Head<'_>> {
        self.0.iter().filter(|head| head.room != Room::None)
    }

    /// A table without rows.
    fn grid(&self) -> Grid {
        let mut hidden: Vec<(usize, usize)> =
            self.shown().zip(0..).filter_map(|(head, at)| Some((head.hidden?, at))).collect();
        hidden.order();
        let columns = self.shown().map(|head| (&*head.heading, head.align));
        let grid = Grid::new(columns, hidden.into_iter().map(|(_, at)| at).collect());
        let rooms = || self.shown().map(|head| head.room);
        let words = rooms().position(|room| room == Room::InTheirPlace);
        rooms().zip(0..).fold(grid, |grid, (room, at)| match room {
            Room::Below { has_all } => grid.below(at, words, has_all),
            _ => grid,
        })
    }

    /// Adds a row, with a value for each column.
    fn write(&self, (values, tone): Cells, grid: &mut Grid) {
        let shown = self.0.iter().zip(values).filter(|(head, _)| head.room != Room::None);
        let known = |(head, value): (&Head<'_>, Value)| {
            if value.is_empty() { Value::unknown(head.unknown) } else { value }
        };
        grid.add(shown.map(known), tone);
    }

    /// Table of rows, in which the amounts of a column have one number of decimals.
    fn grid_of(&self, rows: Vec<Cells>) -> Grid {
        let column = |at: usize| rows.iter().map(move |(values, _)| &values[at]);
        let decimals = |at: usize| {
            let is_money = !column(at).any(Value::is_other_than_money);
            is_money.then(|| Money::of_column(column(at).filter_map(Value::amount)))
        };
        let decimals: Vec<Option<Money>> = (0..self.0.len()).map(decimals).collect();
        let mut grid = self.grid();
        for (values, tone) in rows {
            let fixed = values.into_iter().zip(&decimals).map(|(value, decimals)| match decimals {
                Some(decimals) => value.with_decimals(*decimals),
                None => value,
            });
            self.write((fixed.collect(), tone), &mut grid);
        }
        grid
    }

    /// Leaves out the columns without text in any of so many rows, of which `is_empty` looks at a row and a column.
    fn leave_out_empty(&mut self, rows: usize, is_empty: &dyn Fn(usize, usize) -> bool) {
        for (at, head) in self.0.iter_mut().enumerate() {
            let has_words = !head.unknown.is_empty() && rows > 0;
            if !has_words && (0..rows).all(|row| is_empty(row, at)) {
                head.room = Room::None;
            }
        }
    }
}

/// Column of a table, and of a CSV file, that was just added.
pub(super) struct Column<'h, 'c, R> {
    head: &'h mut Head<'c>,
    cell: &'h mut Option<Of<'c, R, CsvCell>>,
}

impl<'c, R> Column<'_, 'c, R> {
    /// Shows words for an unknown value, unless its type has some.
    pub(super) fn unknown(self, words: &'static str) -> Self {
        self.head.unknown = words;
        self
    }

    /// Hides the column if there is not enough room: the one with the lowest place first, and of equals the left one.
    pub(super) fn hidden(self, place: impl Into<Option<usize>>) -> Self {
        self.head.hidden = place.into();
        self
    }

    /// Writes the sentences of the column below their rows once it is hidden: those of losses, or all.
    pub(super) fn below(self, has_all: bool) -> Self {
        self.head.room = Room::Below { has_all };
        self
    }

    /// Shows the column in place of the one whose sentences are below their rows, and only then.
    pub(super) fn in_their_place(self) {
        self.head.room = Room::InTheirPlace;
    }

    /// Adds the column to CSV files.
    pub(super) fn csv(
        self,
        key: impl Into<Cow<'c, str>>,
        cell: impl Fn(&R) -> CsvCell + Sync + 'c,
    ) {
        self.head.key = Some(key.into());
        *self.cell = Some(Box::new(cell));
    }
}

impl<'c, R> Columns<'c, R> {
    pub(super) fn new() -> Self {
        Self { heads: Heads::default(), values: Vec::new(), in_csv: Vec::new(), tone: None }
    }

    fn add(
        &mut self,
        heading: Cow<'c, str>,
        align: Align,
        value: Of<'c, R, Value>,
    ) -> Column<'_, 'c, R> {
        let (unknown, hidden, room, key) = ("", None, Room::Own, None);
        self.values.push(value);
        let at = self.in_csv.len();
        self.heads.0.push(Head { heading, align, unknown, hidden, room, key });
        self.in_csv.push(None);
        Column { head: &mut self.heads.0[at], cell: &mut self.in_csv[at] }
    }

    /// Adds a column of words.
    pub(super) fn left<V: Into<Value>>(
        &mut self,
        heading: impl Into<Cow<'c, str>>,
        value: impl Fn(&R) -> V + Sync + 'c,
    ) -> Column<'_, 'c, R> {
        self.add(heading.into(), Align::Left, Box::new(move |row| value(row).into()))
    }

    /// Adds a column of names, which are cut in the middle before columns are hidden.
    pub(super) fn name<V: Into<Value>>(
        &mut self,
        heading: impl Into<Cow<'c, str>>,
        value: impl Fn(&R) -> V + Sync + 'c,
    ) -> Column<'_, 'c, R> {
        self.add(heading.into(), Align::Name, Box::new(move |row| value(row).into()))
    }

    /// Adds a column of words that may wrap over several lines.
    pub(super) fn wrapped<V: Into<Value>>(
        &mut self,
        heading: impl Into<Cow<'c, str>>,
        value: impl Fn(&R) -> V + Sync + 'c,
    ) -> Column<'_, 'c, R> {
        self.add(heading.into(), Align::Wrapped, Box::new(move |row| value(row).into()))
    }

    /// Adds a column of numbers.
    pub(super) fn right<V: Into<Value>>(
        &mut self,
        heading: impl Into<Cow<'c, str>>,
        value: impl Fn(&R) -> V + Sync + 'c,
    ) -> Column<'_, 'c, R> {
        self.add(heading.into(), Align::Right, Box::new(move |row| value(row).into()))
    }

    /// Adds bars without a heading, which show the shares of another column.
    pub(super) fn bar(&mut self, share: impl Fn(&R) -> Option<f64> + Sync + 'c) {
        self.add("".into(), Align::Bar, Box::new(move |row| bar(share(row)).into()));
    }

    /// Adds a column of CSV files alone.
    pub(super) fn only_csv(
        &mut self,
        key: impl Into<Cow<'c, str>>,
        cell: impl Fn(&R) -> CsvCell + Sync + 'c,
    ) {
        let column = self.left("", |_| Value::default());
        column.head.room = Room::None;
        column.csv(key, cell);
    }

    /// Colours rows by their meaning.
    pub(super) fn toned(&mut self, tone: impl Fn(&R) -> Tone + Sync + 'c) {
        self.tone = Some(Box::new(tone));
    }

    /// Leaves out the columns without text in any of these rows.
    pub(super) fn without_empty(mut self, rows: &[R]) -> Self {
        let is_empty = |row: usize, at: usize| (self.values[at])(&rows[row]).is_empty();
        self.heads.leave_out_empty(rows.len(), &is_empty);
        self
    }

    /// A table without rows.
    pub(super) fn empty(&self) -> Grid {
        self.heads.grid()
    }

    /// Adds a row to a table of these columns.
    pub(super) fn write(&self, row: &R, grid: &mut Grid) {
        self.heads.write(self.cells(row), grid);
    }

    fn cells(&self, row: &R) -> Cells {
        let tone = self.tone.as_ref().map(|tone| tone(row)).unwrap_or_default();
        (self.values.iter().map(|value| value(row)).collect(), tone)
    }

    /// Table with these rows.
    pub(super) fn grid(&self, rows: impl IntoIterator<Item = impl Borrow<R>>) -> Grid {
        self.heads.grid_of(rows.into_iter().map(|row| self.cells(row.borrow())).collect())
    }

    /// Writes a CSV file with these rows.
    pub(super) fn write_csv(
        &self,
        rows: impl IntoIterator<Item = impl Borrow<R>>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let keys: Vec<&str> = self.heads.0.iter().filter_map(|head| head.key.as_deref()).collect();
        let mut file = CsvFile::new(&keys, out)?;
        for row in rows {
            let row = row.borrow();
            file.write(self.in_csv.iter().flatten().map(|cell| cell(row)).collect())?;
        }
        file.finish()
    }
}
