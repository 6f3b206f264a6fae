//! Tables as lines of a terminal, drawn by comfy-table: cells, alignment, wrapping and the rule below the header.

use std::io::{self, Write};
use std::ops::Range;

use anstyle::{AnsiColor, Style};
use comfy_table::{
    CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, Table, TableStyle, Width,
};

use super::cut::{breakable, shortened, shortened_name, unbound, wrap};
use super::layout::{Fitted, chunks};
use super::{Align, Grid, Tone};
use crate::base::{ByKey, side_by_side};
use crate::report::TextStyle;

/// Rows that are drawn before they are written: what a long table holds in memory besides its cells.
const BLOCK: usize = 4_096;

/// Indent of a sentence below its row.
const INDENT: usize = 4;

/// A line below the header, and a space between columns, which comfy-table puts where the line has a junction.
const STYLE: TableStyle =
    TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// A table cut to some lines.
pub(in crate::report) struct CutTable {
    pub(in crate::report) text: String,
    /// Rows that it has.
    pub(in crate::report) rows: usize,
    /// Number of columns that it lacks.
    pub(in crate::report) hidden: usize,
}

impl Grid {
    /// Writes the table within a width, and names the columns that it hides.
    pub(in crate::report) fn write_text(
        &self,
        style: TextStyle,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let fitted = Fitted::new(self, usize::from(style.width), style.bars);
        if self.has_header() {
            out.write_all(self.header(&fitted).as_bytes())?;
        }
        let mut rows = 0..self.len();
        while !rows.is_empty() {
            let block = rows.start..rows.end.min(rows.start + BLOCK);
            rows.start = block.end;
            for text in side_by_side(&chunks(block), |rows| self.drawn(&fitted, rows, style)) {
                out.write_all(text.as_bytes())?;
            }
        }
        out.write_all(self.hidden_note(&fitted, style).as_bytes())
    }

    /// The table within some lines. Losses stay before other rows, and a last row of sums stays.
    pub(in crate::report) fn cut(&self, style: TextStyle, lines: usize) -> CutTable {
        let fitted = Fitted::new(self, usize::from(style.width), style.bars);
        let header = if self.has_header() { self.header(&fitted) } else { String::new() };
        let drawn = |row: usize| self.drawn(&fitted, &(row..row + 1), style);
        let mut room = lines.saturating_sub(header.lines().count());
        let mut kept: ByKey<usize, String> = ByKey::new();
        for row in self.by_importance() {
            if room == 0 {
                break;
            }
            let text = drawn(row);
            let height = text.lines().count();
            // A shorter row may still fit.
            let Some(rest) = room.checked_sub(height) else { continue };
            room = rest;
            kept.insert(row, text);
        }
        let (rows, hidden) = (kept.len(), fitted.hidden.len());
        CutTable { text: header + &kept.into_values().collect::<String>(), rows, hidden }
    }

    /// Rows, the most important first.
    fn by_importance(&self) -> impl Iterator<Item = usize> {
        let sums = self.has_sums.then(|| self.len() - 1);
        let rows = 0..self.len() - usize::from(self.has_sums);
        let is_loss = |row: &usize| self.tone(*row) == Tone::Loss;
        let others = rows.clone().filter(move |row| !is_loss(row));
        sums.into_iter().chain(rows.filter(is_loss)).chain(others)
    }

    fn header(&self, fitted: &Fitted) -> String {
        let mut table = Table::new();
        table.load_style(STYLE);
        let names = fitted.columns.iter().map(|(column, _)| &*self.columns()[*column].0);
        table.set_header(names);
        self.fit(&mut table, fitted);
        lines(&table, Style::new())
    }

    /// Some rows. Neighbours of one colour are one table, whose lines have that colour.
    fn drawn(&self, fitted: &Fitted, rows: &Range<usize>, style: TextStyle) -> String {
        let mut text = String::new();
        let mut row = rows.start;
        while row < rows.end {
            let tone = self.tone(row);
            let mut table = Table::new();
            table.load_style(STYLE);
            let mut below = None;
            while row < rows.end && self.tone(row) == tone && below.is_none() {
                table.add_row(self.cells(fitted, row));
                below = fitted
                    .below
                    .filter(|_| self.has_below(row))
                    .map(|column| self.cell(row, column));
                row += 1;
            }
            self.fit(&mut table, fitted);
            let colour = if style.bold { ansi_style(tone) } else { Style::new() };
            text.push_str(&lines(&table, colour));
            let room = usize::from(style.width).saturating_sub(INDENT);
            for line in below.into_iter().flat_map(|sentence| wrap(sentence, room)) {
                text.push_str(&coloured(&format!("{:INDENT$}{line}", ""), colour));
            }
        }
        text
    }

    /// The visible cells of a row. What comfy-table would break anywhere is cut as paths and names are.
    fn cells(&self, fitted: &Fitted, row: usize) -> Vec<String> {
        let cell = |(column, width): &(usize, usize)| {
            let text = self.cell(row, *column);
            match self.columns()[*column].1 {
                Align::Wrapped => breakable(text, *width),
                Align::Name => shortened_name(text, *width).into_owned(),
                _ => shortened(text.into(), *width).into_owned(),
            }
        };
        fitted.columns.iter().map(cell).collect()
    }

    /// Fixes the columns of a table of some rows, so that all such tables are one.
    fn fit(&self, table: &mut Table, fitted: &Fitted) {
        table.set_content_arrangement(ContentArrangement::Disabled);
        let last = fitted.columns.len() - 1;
        for (at, column) in table.column_iter_mut().enumerate() {
            let (own, width) = fitted.columns[at];
            // comfy-table puts a space between columns itself.
            let padding = if at == last { 0 } else { self.gap - 1 };
            let narrow = |width: usize| u16::try_from(width).unwrap_or(u16::MAX);
            column.set_padding((0, narrow(padding)));
            column
                .set_constraint(ColumnConstraint::Absolute(Width::Fixed(narrow(width + padding))));
            if self.columns()[own].1 == Align::Right {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
    }

    fn hidden_note(&self, fitted: &Fitted, style: TextStyle) -> String {
        if fitted.hidden.is_empty() {
            return String::new();
        }
        let names = fitted.hidden.iter().map(|column| &*self.columns()[*column].0);
        let names = names.filter(|name| !name.is_empty()).collect::<Vec<_>>().join(", ");
        let note = format!("Hidden at this width: {names}. COLUMNS={} shows all.", fitted.needed);
        wrap(&note, usize::from(style.width)).join("\n") + "\n"
    }
}

/// The lines of a table in a colour, without spaces at their ends.
fn lines(table: &Table, colour: Style) -> String {
    table.lines().map(|line| coloured(&unbound(&line), colour)).collect()
}

fn coloured(line: &str, colour: Style) -> String {
    let line = line.trim_end_matches(' ');
    if line.is_empty() { "\n".to_owned() } else { format!("{colour}{line}{colour:#}\n") }
}

fn ansi_style(tone: Tone) -> Style {
    let colour = |colour: AnsiColor| Style::new().fg_color(Some(colour.into()));
    match tone {
        Tone::Plain => Style::new(),
        Tone::Loss => colour(AnsiColor::Red),
        Tone::Expiry => colour(AnsiColor::Yellow),
        Tone::Saving => colour(AnsiColor::Green),
        Tone::Quiet => Style::new().dimmed(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Value;
    use super::super::cut::display_width;
    use super::*;
    use crate::report::columns::Columns;

    fn style(width: u16) -> TextStyle {
        TextStyle { width, bold: false, bars: false, height: None, notes: true }
    }

    fn costs() -> Grid {
        let mut columns = Columns::<[&str; 4]>::new();
        columns.right("turn", |row| row[0]);
        columns.right("read", |row| row[1]).hidden(1);
        columns.right("cost", |row| row[2]);
        columns.wrapped("what happened", |row| row[3]);
        let long = "break: 20,100 tokens were not read, since the tools had changed";
        columns
            .grid([["1", "12,000", "$0.0385", "first of its chain"], ["2", "4,000", "$1.20", long]])
    }

    fn text(grid: &Grid, style: TextStyle) -> String {
        let mut out = Vec::new();
        grid.write_text(style, &mut out).expect("memory takes everything");
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn columns_go_in_their_order_and_sentences_break_at_spaces() {
        insta::assert_snapshot!(text(&costs(), style(50)), @r"
        turn    read     cost  what happened
        ──────────────────────────────────────────────────
           1  12,000  $0.0385  first of its chain
           2   4,000    $1.20  break: 20,100 tokens were
                               not read, since the tools
                               had changed
        ");
        insta::assert_snapshot!(text(&costs(), style(40)), @"
        turn     cost  what happened
        ────────────────────────────────────────
           1  $0.0385  first of its chain
           2    $1.20  break: 20,100 tokens were
                       not read, since the tools
                       had changed
        Hidden at this width: read. COLUMNS=47
        shows all.
        ");
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        for width in 30..120 {
            for line in text(&costs(), style(width)).lines() {
                assert!(display_width(line) <= usize::from(width), "{width}: {line}");
            }
        }
    }

    #[test]
    fn names_and_what_is_unknown_give_way_before_figures() {
        let mut columns = Columns::<(&str, Value, &str, &str)>::new();
        columns.name("kind", |row| row.0);
        columns.right("5m", |row| row.1.clone()).hidden(2);
        columns.right("read", |row| row.2).hidden(1);
        columns.right("cost", |row| row.3);
        let name = "results of mcp__linear__list_labels";
        let grid = columns.grid([
            (name, Value::unknown("-"), "12,000", "$0.0385"),
            ("output", Value::default(), "0", "$1.20"),
        ]);
        insta::assert_snapshot!(text(&grid, style(42)), @"
        kind                   5m    read     cost
        ──────────────────────────────────────────
        results of…ist_labels   -  12,000  $0.0385
        output                          0    $1.20
        ");
        insta::assert_snapshot!(text(&grid, style(36)), @"
        kind                   read     cost
        ────────────────────────────────────
        results o…st_labels  12,000  $0.0385
        output                    0    $1.20
        Hidden at this width: 5m. COLUMNS=39
        shows all.
        ");
    }

    #[test]
    fn colour_is_for_terminals_that_take_it() {
        let mut columns = Columns::<&str>::new();
        columns.right("cost", |cost| *cost);
        columns.toned(|_| Tone::Loss);
        let grid = columns.grid(["$1.00"]);
        assert!(!text(&grid, style(40)).contains('\u{1b}'));
        let coloured = text(&grid, TextStyle { bold: true, ..style(40) });
        assert!(coloured.ends_with("\u{1b}[31m$1.00\u{1b}[0m\n"), "{coloured:?}");
    }
}
