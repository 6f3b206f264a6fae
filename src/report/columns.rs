//! Columns of a table. A column is one value: its heading and alignment, its place in the order of hiding, its cell of a
//! row, and its form in CSV. Tables on terminals and pages and CSV files come from the same columns.

use std::borrow::{Borrow, Cow};
use std::io::{self, Write};

use super::number::bar;
use super::rows::csv::{CsvCell, CsvFile};
use super::table::{Align, Grid, Tone, Value};
use crate::base::order::Order as _;

/// Columns of a table with a row for each `R`.
pub(super) struct Columns<'c, R> {
    list: Vec<Column<'c, R>>,
    tone: Option<Of<'c, R, Tone>>,
}

/// Something that follows from a row.
type Of<'c, R, T> = Box<dyn Fn(&R) -> T + Sync + 'c>;

/// Column of a table, and of a CSV file.
pub(super) struct Column<'c, R> {
    heading: Cow<'c, str>,
    align: Align,
    /// Words for an unknown value that has none of its own.
    unknown: &'static str,
    /// Place in the order of hiding; `None` if it is hidden last.
    hidden: Option<usize>,
    room: Room,
    value: Of<'c, R, Value>,
    /// Key and cell in CSV files.
    csv: Option<(Cow<'c, str>, Of<'c, R, CsvCell>)>,
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
    /// None: it is in CSV files alone.
    None,
}

impl<'c, R> Column<'c, R> {
    /// Shows words for an unknown value, unless its type has some.
    pub(super) fn unknown(&mut self, words: &'static str) -> &mut Self {
        self.unknown = words;
        self
    }

    /// Cell of a row.
    fn cell(&self, row: &R) -> Value {
        let value = (self.value)(row);
        if value.is_empty() { Value::unknown(self.unknown) } else { value }
    }

    /// Hides the column if there is not enough room: the one with the lowest place first, and of equals the left one.
    pub(super) fn hidden(&mut self, place: impl Into<Option<usize>>) -> &mut Self {
        self.hidden = place.into();
        self
    }

    /// Writes the sentences of the column below their rows once it is hidden: those of losses, or all.
    pub(super) fn below(&mut self, has_all: bool) -> &mut Self {
        self.room = Room::Below { has_all };
        self
    }

    /// Shows the column in place of the one whose sentences are below their rows, and only then.
    pub(super) fn in_their_place(&mut self) {
        self.room = Room::InTheirPlace;
    }

    /// Adds the column to CSV files.
    pub(super) fn csv(
        &mut self,
        key: impl Into<Cow<'c, str>>,
        cell: impl Fn(&R) -> CsvCell + Sync + 'c,
    ) {
        self.csv = Some((key.into(), Box::new(cell)));
    }
}

impl<'c, R> Columns<'c, R> {
    pub(super) fn new() -> Self {
        Self { list: Vec::new(), tone: None }
    }

    fn add<V: Into<Value>>(
        &mut self,
        heading: impl Into<Cow<'c, str>>,
        align: Align,
        value: impl Fn(&R) -> V + Sync + 'c,
    ) -> &mut Column<'c, R> {
        let value = Box::new(move |row: &R| value(row).into());
        let at = self.list.len();
        self.list.push(Column {
            heading: heading.into(),
            align,
            unknown: "",
            hidden: None,
            room: Room::Own,
            value,
            csv: None,
        });
        &mut self.list[at]
    }

    /// Adds a column of words.
    pub(super) fn left<V: Into<Value>>(
        &mut self,
        heading: impl Into<Cow<'c, str>>,
        value: impl Fn(&R) -> V + Sync + 'c,
    ) -> &mut Column<'c, R> {
        self.add(heading, Align::Left, value)
    }

    /// Adds a column of names, which are cut in the middle before columns are hidden.
    pub(super) fn name<V: Into<Value>>(
        &mut self,
        heading: impl Into<Cow<'c, str>>,
        value: impl Fn(&R) -> V + Sync + 'c,
    ) -> &mut Column<'c, R> {
        self.add(heading, Align::Name, value)
    }

    /// Adds a column of words that may wrap over several lines.
    pub(super) fn wrapped<V: Into<Value>>(
        &mut self,
        heading: impl Into<Cow<'c, str>>,
        value: impl Fn(&R) -> V + Sync + 'c,
    ) -> &mut Column<'c, R> {
        self.add(heading, Align::Wrapped, value)
    }

    /// Adds a column of numbers.
    pub(super) fn right<V: Into<Value>>(
        &mut self,
        heading: impl Into<Cow<'c, str>>,
        value: impl Fn(&R) -> V + Sync + 'c,
    ) -> &mut Column<'c, R> {
        self.add(heading, Align::Right, value)
    }

    /// Adds bars without a heading, which show the shares of another column.
    pub(super) fn bar(&mut self, share: impl Fn(&R) -> Option<f64> + Sync + 'c) {
        self.add("", Align::Bar, move |row| bar(share(row)));
    }

    /// Adds a column of CSV files alone.
    pub(super) fn only_csv(
        &mut self,
        key: impl Into<Cow<'c, str>>,
        cell: impl Fn(&R) -> CsvCell + Sync + 'c,
    ) {
        let column = self.left("", |_| Value::default());
        column.room = Room::None;
        column.csv(key, cell);
    }

    /// Colours rows by their meaning.
    pub(super) fn toned(&mut self, tone: impl Fn(&R) -> Tone + Sync + 'c) {
        self.tone = Some(Box::new(tone));
    }

    /// Leaves out the columns without text in any of these rows.
    pub(super) fn without_empty(mut self, rows: &[R]) -> Self {
        self.list.retain(|column| rows.iter().any(|row| !column.cell(row).is_empty()));
        self
    }

    /// Columns of tables.
    fn shown(&self) -> impl Iterator<Item = &Column<'c, R>> {
        self.list.iter().filter(|column| column.room != Room::None)
    }

    /// A table without rows.
    pub(super) fn empty(&self) -> Grid {
        let mut hidden: Vec<(usize, usize)> =
            self.shown().zip(0..).filter_map(|(column, at)| Some((column.hidden?, at))).collect();
        hidden.order();
        let columns = self.shown().map(|column| (&*column.heading, column.align));
        let grid = Grid::new(columns, hidden.into_iter().map(|(_, at)| at).collect());
        let rooms = || self.shown().map(|column| column.room);
        let words = rooms().position(|room| room == Room::InTheirPlace);
        rooms().zip(0..).fold(grid, |grid, (room, at)| match room {
            Room::Below { has_all } => grid.below(at, words, has_all),
            _ => grid,
        })
    }

    /// Adds a row to a table of these columns.
    pub(super) fn write(&self, row: &R, grid: &mut Grid) {
        let tone = self.tone.as_ref().map(|tone| tone(row)).unwrap_or_default();
        grid.add(self.shown().map(|column| column.cell(row)), tone);
    }

    /// Table with these rows.
    pub(super) fn grid(&self, rows: impl IntoIterator<Item = impl Borrow<R>>) -> Grid {
        let mut grid = self.empty();
        for row in rows {
            self.write(row.borrow(), &mut grid);
        }
        grid
    }

    /// Writes a CSV file with these rows.
    pub(super) fn write_csv(
        &self,
        rows: impl IntoIterator<Item = impl Borrow<R>>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let columns = || self.list.iter().filter_map(|column| column.csv.as_ref());
        let keys: Vec<&str> = columns().map(|(key, _)| &**key).collect();
        let mut file = CsvFile::new(&keys, out)?;
        for row in rows {
            file.write(columns().map(|(_, cell)| cell(row.borrow())))?;
        }
        file.finish()
    }
}
