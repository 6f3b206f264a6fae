//! Headings, sentences and tables, and the two ways to print them.

use std::fmt::Write as _;

use comfy_table::{
    CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, Table, TableStyle, Width,
    presets,
};

use super::escape::{markdown_cell, terminal_safe};

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
}

/// How text is set on a terminal or in a file.
#[derive(Clone, Copy, Debug)]
pub struct TextStyle {
    /// The width to fill.
    pub width: u16,
    /// Whether headings are bold.
    pub bold: bool,
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

    fn text(&self, style: TextStyle) -> String {
        let underlined: TableStyle =
            presets::NOTHING.header_separator(LineStyle::new('─', '─', '─', '─'));
        let mut table = Table::new();
        table
            .load_style(underlined)
            .set_content_arrangement(ContentArrangement::Dynamic)
            .set_width(style.width)
            .set_header(self.header.iter().map(|(name, _)| name));
        for row in &self.rows {
            table.add_row(row.iter().map(|cell| terminal_safe(cell).into_owned()));
        }
        for (column, (_, align)) in table.column_iter_mut().zip(&self.header) {
            match align {
                Align::Left => {
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

    fn markdown(&self, out: &mut String) {
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        out.push_str(&line(self.header.iter().map(|(name, _)| markdown_cell(name)).collect()));
        let rule = |align: &Align| match align {
            Align::Right => "--:".to_owned(),
            Align::Left | Align::Wrapped => "---".to_owned(),
        };
        out.push_str(&line(self.header.iter().map(|(_, align)| rule(align)).collect()));
        for row in &self.rows {
            out.push_str(&line(row.iter().map(|cell| markdown_cell(cell)).collect()));
        }
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
            };
            debug_assert!(result.is_ok(), "a string takes everything");
        }
        out
    }

    /// For a comment or a page.
    #[must_use]
    pub fn to_markdown(&self) -> String {
        let mut out = String::new();
        for block in &self.blocks {
            match block {
                Block::Heading(text) => {
                    out.push_str("## ");
                    out.push_str(&markdown_cell(text));
                    out.push_str("\n\n");
                }
                Block::Text(text) => {
                    out.push_str(&markdown_cell(text));
                    out.push_str("\n\n");
                }
                Block::Grid(grid) => {
                    grid.markdown(&mut out);
                    out.push('\n');
                }
            }
        }
        out
    }
}
