//! Headings, sentences and tables, and the two ways to print them.

use std::fmt::Write as _;

use comfy_table::{
    CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, Table, TableStyle, Width,
    presets,
};

use super::escape::{html_text, markdown_cell, terminal_safe};
use super::number::counted;

/// Spaces between columns.
const COLUMN_GAP: u16 = 2;

/// A column of words is not broken into narrower lines than this, even where the table then
/// exceeds the terminal.
const LEAST_WRAPPED_WIDTH: u16 = 32;

/// A report for people.
#[derive(Debug, Default)]
pub struct Document {
    blocks: Vec<Block>,
}

#[derive(Debug)]
enum Block {
    Heading(String),
    Text(String),
    Grid(Grid),
    Folded(String, Document),
}

/// A table.
#[derive(Debug)]
pub(super) struct Grid {
    header: Vec<(String, Align)>,
    rows: Vec<Vec<String>>,
}

/// How a column is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
    /// Words that may be broken over several lines.
    Wrapped,
    /// Bars, which show a number of another column: only a terminal has them.
    Bar,
}

/// How text is set on a terminal or in a file.
#[derive(Clone, Copy, Debug)]
pub struct TextStyle {
    /// The width to fill.
    pub width: u16,
    /// Whether headings are bold.
    pub bold: bool,
    /// Whether tables have bars.
    pub bars: bool,
}

impl Grid {
    pub(super) fn new(header: &[(&str, Align)]) -> Self {
        let header = header.iter().map(|(name, align)| ((*name).to_owned(), *align)).collect();
        Self { header, rows: Vec::new() }
    }

    pub(super) fn add(&mut self, row: Vec<String>) {
        debug_assert_eq!(row.len(), self.header.len());
        self.rows.push(row);
    }

    /// The columns, with their names.
    pub(super) fn columns(&self) -> &[(String, Align)] {
        &self.header
    }

    /// The rows, each with a cell for every column.
    pub(super) fn rows(&self) -> &[Vec<String>] {
        &self.rows
    }

    fn text(&self, style: TextStyle) -> String {
        let underlined: TableStyle =
            presets::NOTHING.header_separator(LineStyle::new('─', '─', '─', '─'));
        let mut table = Table::new();
        table
            .load_style(underlined)
            .set_content_arrangement(ContentArrangement::Dynamic)
            .set_width(style.width)
            .set_header(self.shown(&self.header, style.bars).map(|(name, _)| name));
        for row in &self.rows {
            table.add_row(self.shown(row, style.bars).map(|cell| terminal_cell(cell)));
        }
        let header = self.shown(&self.header, style.bars);
        for (column, (_, align)) in table.column_iter_mut().zip(header) {
            match align {
                Align::Left | Align::Bar => {
                    column.set_constraint(ColumnConstraint::ContentWidth);
                }
                Align::Right => {
                    column.set_constraint(ColumnConstraint::ContentWidth);
                    column.set_cell_alignment(CellAlignment::Right);
                }
                Align::Wrapped => {
                    let least = Width::Fixed(LEAST_WRAPPED_WIDTH);
                    column.set_constraint(ColumnConstraint::LowerBoundary(least));
                }
            }
            column.set_padding((0, COLUMN_GAP));
        }
        table.trim_fmt()
    }

    /// What stands in the columns that are shown.
    fn shown<'g, T>(&'g self, row: &'g [T], bars: bool) -> impl Iterator<Item = &'g T> {
        let columns = row.iter().zip(&self.header);
        columns.filter(move |(_, (_, align))| bars || *align != Align::Bar).map(|(cell, _)| cell)
    }

    fn markdown_row(&self, row: &[String]) -> String {
        markdown_row(self.shown(row, false).map(|cell| markdown_cell(cell)))
    }

    fn markdown_header(&self) -> String {
        let names = self.shown(&self.header, false).map(|(name, _)| markdown_cell(name));
        let rule = |align: &Align| match align {
            Align::Right => "--:".to_owned(),
            Align::Left | Align::Wrapped | Align::Bar => "---".to_owned(),
        };
        let rules = self.shown(&self.header, false).map(|(_, align)| rule(align));
        markdown_row(names) + &markdown_row(rules)
    }
}

/// Text for a cell of a terminal's table. The widths of a row are added up in 16 bits, so there is a
/// longest one.
fn terminal_cell(text: &str) -> String {
    const MOST: usize = 1_000;
    let safe = terminal_safe(text);
    match safe.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &safe[..end]),
        None => safe.into_owned(),
    }
}

impl Document {
    pub(super) fn heading(&mut self, text: impl Into<String>) {
        self.blocks.push(Block::Heading(text.into()));
    }

    pub(super) fn text(&mut self, text: impl Into<String>) {
        self.blocks.push(Block::Text(text.into()));
    }

    pub(super) fn grid(&mut self, grid: Grid) {
        self.blocks.push(Block::Grid(grid));
    }

    /// Details that a page shows when they are asked for, under a summary.
    pub(super) fn folded(&mut self, summary: impl Into<String>, details: Self) {
        self.blocks.push(Block::Folded(summary.into(), details));
    }

    /// For a terminal.
    #[must_use]
    pub fn to_text(&self, style: TextStyle) -> String {
        let bold = if style.bold { anstyle::Style::new().bold() } else { anstyle::Style::new() };
        let mut out = String::new();
        for block in &self.blocks {
            let result = match block {
                Block::Heading(text) => {
                    writeln!(out, "{bold}{}{bold:#}\n", terminal_safe(text))
                }
                Block::Text(text) => writeln!(out, "{}\n", terminal_safe(text)),
                Block::Grid(grid) => writeln!(out, "{}\n", grid.text(style)),
                Block::Folded(summary, details) => writeln!(
                    out,
                    "{bold}{}{bold:#}\n\n{}",
                    terminal_safe(summary),
                    details.to_text(style).trim_end_matches('\n').to_owned() + "\n"
                ),
            };
            debug_assert!(result.is_ok(), "a string takes everything");
        }
        out
    }

    /// For a comment or a page.
    #[must_use]
    pub fn to_markdown(&self) -> String {
        self.to_markdown_within(usize::MAX)
    }

    /// For a comment or a page that takes so many bytes at most: tables are cut where there is no more
    /// room, which is said, and what stands behind is left out.
    #[must_use]
    pub fn to_markdown_within(&self, most: usize) -> String {
        let mut page = MarkdownPage { text: String::new(), room: most.saturating_sub(CUT_NOTE) };
        page.document(self);
        page.text
    }
}

/// Room for the note that something was cut.
const CUT_NOTE: usize = 100;

/// A page of Markdown with an end.
struct MarkdownPage {
    text: String,
    /// Bytes that are left.
    room: usize,
}

impl MarkdownPage {
    /// Whether there was room for some text.
    fn put(&mut self, text: &str) -> bool {
        let has_room = text.len() <= self.room;
        if has_room {
            self.room -= text.len();
            self.text.push_str(text);
        }
        has_room
    }

    /// Says what is missing; from here on there is no more room.
    fn cut(&mut self, what: &str) {
        if self.room > 0 {
            self.room = 0;
            self.text.push_str(what);
        }
    }

    fn document(&mut self, document: &Document) {
        for block in &document.blocks {
            match block {
                Block::Heading(text) => self.whole(&format!("## {}\n\n", markdown_cell(text))),
                Block::Text(text) => self.whole(&format!("{}\n\n", markdown_cell(text))),
                Block::Grid(grid) => self.grid(grid),
                Block::Folded(summary, details) => self.folded(summary, details),
            }
        }
    }

    /// A block that is not cut in two.
    fn whole(&mut self, text: &str) {
        if !self.put(text) {
            self.cut("… more in the report.\n\n");
        }
    }

    fn grid(&mut self, grid: &Grid) {
        if !self.put(&grid.markdown_header()) {
            self.cut("… more in the report.\n\n");
            return;
        }
        for (at, row) in grid.rows.iter().enumerate() {
            if !self.put(&grid.markdown_row(row)) {
                let left = counted((grid.rows.len() - at) as u64, "more row", "more rows");
                self.cut(&format!("\n… {left} in the report.\n\n"));
                return;
            }
        }
        self.whole("\n");
    }

    fn folded(&mut self, summary: &str, details: &Document) {
        const END: &str = "</details>\n\n";
        let begin = format!("<details><summary>{}</summary>\n\n", html_text(summary));
        if self.room < begin.len() + END.len() {
            self.cut("… more in the report.\n\n");
            return;
        }
        self.room -= END.len();
        self.put(&begin);
        self.document(details);
        self.text.push_str(END);
    }
}

fn markdown_row(cells: impl Iterator<Item = String>) -> String {
    format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn long() -> Document {
        let mut details = Document::default();
        let mut grid = Grid::new(&[("number", Align::Right), ("what", Align::Left)]);
        for number in 0..100 {
            grid.add(vec![number.to_string(), "a|b".to_owned()]);
        }
        details.grid(grid);
        let mut document = Document::default();
        document.heading("Title");
        document.folded("All <of> them", details);
        document.text("The end.");
        document
    }

    #[test]
    fn bars_are_for_terminals() {
        let grid = |columns: &[(&str, Align)], row: &[&str]| {
            let mut grid = Grid::new(columns);
            grid.add(row.iter().map(|cell| (*cell).to_owned()).collect());
            let mut document = Document::default();
            document.grid(grid);
            document
        };
        let style = TextStyle { width: 80, bold: false, bars: false };
        let columns = [("hit", Align::Right), ("", Align::Bar), ("cost", Align::Right)];
        let with = grid(&columns, &["50 %", "█████", "$1.00"]);
        let without = grid(&[columns[0], columns[2]], &["50 %", "$1.00"]);
        assert_eq!(with.to_text(style), without.to_text(style));
        assert_eq!(with.to_markdown(), without.to_markdown());
        let text = with.to_text(TextStyle { bars: true, ..style });
        let row = text.lines().nth(2).expect("a row");
        assert_eq!(row.split_whitespace().collect::<Vec<_>>(), ["50", "%", "█████", "$1.00"]);
        assert_eq!(without.to_text(TextStyle { bars: true, ..style }), without.to_text(style));
    }

    #[test]
    fn pages_end_where_there_is_no_more_room() {
        let whole = long().to_markdown();
        assert!(whole.contains("<details><summary>All &lt;of&gt; them</summary>\n\n| number |"));
        assert!(whole.ends_with("| 99 | a\\|b |\n\n</details>\n\nThe end.\n\n"));
        for most in 300..whole.len() + 200 {
            let page = long().to_markdown_within(most);
            assert!(page.len() <= most, "{most}");
            assert_eq!(page.matches("<details>").count(), page.matches("</details>").count());
            assert_eq!(page == whole, most >= whole.len() + CUT_NOTE, "{most}");
        }
        let page = long().to_markdown_within(500);
        assert!(page.contains("more rows in the report.\n\n</details>"), "{page}");
        assert!(!page.contains("The end."), "what follows a cut is left out");
    }
}
