//! Tables and sentences as lines of a terminal, and which columns of a table fit a width. No line
//! is longer than the width, and none is broken inside a word or a number.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io;
use std::io::Write;
use std::ops::Range;

use anstyle::{AnsiColor, Style};
use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::{Align, Grid, Tone};
use crate::base::order::side_by_side;
use crate::report::document::TextStyle;

/// How many rows are written at a time.
const BLOCK: usize = 4_096;

/// How many chunks they are in, each written or measured on one thread.
const CHUNKS: usize = 8;

/// Cuts a range into pieces of a length.
fn blocks(all: Range<usize>, length: usize) -> impl Iterator<Item = Range<usize>> {
    let end = all.end;
    all.step_by(length).map(move |start| start..end.min(start + length))
}

impl Grid {
    /// Writes the table within a width, and names the columns that it hides.
    pub(in crate::report) fn write_text(
        &self,
        style: TextStyle,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let fitted = Fitted::new(self, usize::from(style.width), style.bars);
        let mut line = String::new();
        if self.has_header() {
            self.header(&mut line, &fitted);
        }
        out.write_all(line.as_bytes())?;
        line.clear();
        for block in blocks(0..self.len(), BLOCK) {
            let chunks: Vec<Range<usize>> = blocks(block, BLOCK / CHUNKS).collect();
            let text_of = |rows: &Range<usize>| {
                let mut text = String::new();
                for row in rows.clone() {
                    self.row(&mut text, &fitted, row, style);
                }
                text
            };
            for text in side_by_side(&chunks, text_of) {
                out.write_all(text.as_bytes())?;
            }
        }
        line.push_str(&self.hidden_note(&fitted, style));
        out.write_all(line.as_bytes())
    }

    fn header(&self, out: &mut String, fitted: &Fitted) {
        self.line(out, fitted, |place| &self.columns()[fitted.columns[place].0].0);
        let ruled: usize = fitted.columns.iter().map(|(_, width)| width + GAP).sum();
        out.push_str(&"─".repeat(ruled.saturating_sub(GAP)));
        out.push('\n');
    }

    fn row(&self, out: &mut String, fitted: &Fitted, row: usize, style: TextStyle) {
        let ansi = if style.bold { ansi_style(self.tone(row)) } else { Style::new() };
        let cells = self.cells(fitted, row);
        let height = cells.iter().map(Cell::height).max().unwrap_or(1);
        for line in 0..height {
            // Writing to a string cannot fail.
            let _ = write!(out, "{ansi}");
            let start = out.len();
            self.line(out, fitted, |place| cells[place].line(line));
            if !ansi.is_plain() && out.len() > start {
                out.pop();
                let _ = writeln!(out, "{ansi:#}");
            }
        }
    }

    /// The visible cells of a row, fitted to their widths.
    fn cells(&self, fitted: &Fitted, row: usize) -> Vec<Cell<'_>> {
        let cell = |(column, width): &(usize, usize)| {
            let text = self.cell(row, *column);
            match self.columns()[*column].1 {
                Align::Wrapped if display_width(text) > *width => Cell::Lines(wrap(text, *width)),
                Align::Name => Cell::Line(shortened_name(text, *width)),
                _ => Cell::Line(shortened(text.into(), *width)),
            }
        };
        fitted.columns.iter().map(cell).collect()
    }

    /// One line of all visible columns. `text` gives the text for a column's index among them.
    fn line<'t>(&self, out: &mut String, fitted: &Fitted, text: impl Fn(usize) -> &'t str) {
        let start = out.len();
        for (at, (column, width)) in fitted.columns.iter().enumerate() {
            if at > 0 {
                pad(out, GAP);
            }
            let text = text(at);
            let free = width.saturating_sub(display_width(text));
            if self.columns()[*column].1 == Align::Right {
                pad(out, free);
                out.push_str(text);
            } else {
                out.push_str(text);
                pad(out, free);
            }
        }
        let end = out[start..].trim_end_matches(' ').len();
        out.truncate(start + end);
        out.push('\n');
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

/// The visible text of a cell.
enum Cell<'g> {
    Line(Cow<'g, str>),
    Lines(Vec<String>),
}

impl Cell<'_> {
    /// The number of its lines.
    fn height(&self) -> usize {
        match self {
            Self::Line(_) => 1,
            Self::Lines(lines) => lines.len(),
        }
    }

    /// One of its lines, or an empty one beyond them.
    fn line(&self, number: usize) -> &str {
        match self {
            Self::Line(text) if number == 0 => text,
            Self::Line(_) => "",
            Self::Lines(lines) => lines.get(number).map_or("", String::as_str),
        }
    }
}

fn pad(out: &mut String, spaces: usize) {
    out.extend(std::iter::repeat_n(' ', spaces));
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

/// Breaks a text without line breaks into lines of a width, at spaces. Longer words are cut.
pub(in crate::report) fn wrap(text: &str, width: usize) -> Vec<String> {
    let options = Options::new(width)
        .break_words(false)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit);
    // A number stays with its per cent sign.
    let text = text.replace(" %", BOUND_PER_CENT);
    let has_long_word = text.split(' ').any(|word| display_width(word) > width);
    let text = if has_long_word {
        let words = text.split(' ').map(|word| shortened(word.into(), width));
        words.collect::<Vec<_>>().join(" ")
    } else {
        text
    };
    let lines = textwrap::wrap(&text, options).into_iter();
    lines.map(|line| line.replace(BOUND_PER_CENT, " %")).collect()
}

/// A per cent sign behind a space at which no line is broken.
const BOUND_PER_CENT: &str = "\u{a0}%";

/// Cuts a text to a width. A path, or a line in a file, keeps its end, a name its beginning and its
/// end, and anything else as many whole words as fit.
fn shortened(text: Cow<'_, str>, width: usize) -> Cow<'_, str> {
    if display_width(&text) <= width {
        return text;
    }
    let room = width.saturating_sub(1);
    if is_place(&text) {
        Cow::Owned(format!("…{}", end_of(&text, room)))
    } else {
        let kept = beginning_of(&text, room);
        // Whole words, unless almost nothing would be left.
        let words = kept.rsplit_once(' ').map(|(words, _)| words);
        let kept = words.filter(|words| display_width(words) * 2 > room).unwrap_or(kept);
        Cow::Owned(format!("{}…", kept.trim_end_matches([',', ';', ':'])))
    }
}

/// Cuts a name to a width in its middle, as names that begin alike mostly differ at their ends.
fn shortened_name(name: &str, width: usize) -> Cow<'_, str> {
    if display_width(name) <= width {
        return name.into();
    }
    let room = width.saturating_sub(1);
    let beginning = beginning_of(name, room.div_ceil(2)).trim_end();
    let end = end_of(name, room / 2).trim_start();
    Cow::Owned(format!("{beginning}…{end}"))
}

/// As much of the beginning of a text as fits a width.
fn beginning_of(text: &str, width: usize) -> &str {
    &text[..fitting(text.char_indices().map(|(at, one)| (at + one.len_utf8(), one)), width)
        .unwrap_or(0)]
}

/// As much of the end of a text as fits a width.
fn end_of(text: &str, width: usize) -> &str {
    &text[fitting(text.char_indices().rev(), width).unwrap_or(text.len())..]
}

/// The place of the last of the characters that fit a width.
fn fitting(characters: impl Iterator<Item = (usize, char)>, width: usize) -> Option<usize> {
    let mut taken = 0;
    let fits = |(_, character): &(usize, char)| {
        taken += character.width().unwrap_or_default();
        taken <= width
    };
    characters.take_while(fits).last().map(|(place, _)| place)
}

/// Whether a text is a path, or a file with a line.
fn is_place(text: &str) -> bool {
    let has_line = text.rsplit_once(':').is_some_and(|(_, line)| {
        !line.is_empty() && line.bytes().all(|byte| byte.is_ascii_digit())
    });
    !text.contains(' ') && (has_line || text.contains('/'))
}

/// Spaces between columns.
pub(super) const GAP: usize = 2;

/// The least width of a column of sentences, as long as other columns can be hidden.
const LEAST_SENTENCE: usize = 24;

/// Its least width where that would hide the last columns, which mostly have dollars.
const NARROWEST_SENTENCE: usize = 18;

/// Names are cut to this, or to the name of their column, before columns are hidden.
const SHORT_NAME: usize = 18;

/// Words are cut to this, or to the name of their column, once no more columns can be hidden.
const LEAST_NAME: usize = 12;

/// The visible columns.
#[derive(Debug)]
pub(super) struct Fitted {
    /// Each visible column and its width, in the order of the table.
    pub(super) columns: Vec<(usize, usize)>,
    /// The hidden columns, without bars.
    pub(super) hidden: Vec<usize>,
    /// The width at which none would be hidden.
    pub(super) needed: usize,
}

/// The natural width of a column, and its least width.
#[derive(Clone, Copy, Debug)]
struct Measure {
    natural: usize,
    least: usize,
}

impl Fitted {
    /// Fits a table into a width. Names give way first; then columns are hidden, those of which
    /// nothing is known before those that the table names in their order; then words are cut and
    /// sentences narrowed, then columns are hidden from the right, except for the first.
    pub(super) fn new(grid: &Grid, width: usize, has_bars: bool) -> Self {
        let mut measures = measure(grid);
        let align = |column: usize| grid.columns()[column].1;
        let all: Vec<usize> = (0..measures.len()).collect();
        let mut shown: Vec<usize> =
            all.iter().copied().filter(|column| has_bars || align(*column) != Align::Bar).collect();
        let without_bars = shown.iter().copied().filter(|column| align(*column) != Align::Bar);
        let needed = least_width(&measures, &without_bars.collect::<Vec<_>>());
        let bars = all.iter().copied().filter(|column| align(*column) == Align::Bar);
        let unknown = all.iter().copied().skip(1).filter(|column| grid.is_unknown(*column));
        for column in bars.chain(unknown).chain(grid.hidden_first().iter().copied()) {
            if least_width(&measures, &shown) <= width {
                break;
            }
            shown.retain(|one| *one != column);
        }
        if least_width(&measures, &shown) > width {
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

/// Gives every column its least width, and distributes the rest among those that want more.
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
    let chunks: Vec<Range<usize>> = blocks(0..grid.len(), BLOCK / CHUNKS).collect();
    let widest = |rows: &Range<usize>| -> Vec<usize> {
        let of_column = |column| rows.clone().map(move |row| display_width(grid.cell(row, column)));
        (0..columns.len()).map(|column| of_column(column).max().unwrap_or(0)).collect()
    };
    for widths in side_by_side(&chunks, widest) {
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

/// The number of terminal columns that a text takes.
pub(super) fn display_width(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.width() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn style(width: u16) -> TextStyle {
        TextStyle { width, bold: false, bars: false }
    }

    fn costs() -> Grid {
        let columns = [
            ("turn", Align::Right),
            ("read", Align::Right),
            ("cost", Align::Right),
            ("what happened", Align::Wrapped),
        ];
        let mut grid = Grid::new(&columns).hide_first(&["read"]);
        grid.add(["1", "12,000", "$0.0385", "first of its chain"].map(str::to_owned).to_vec());
        let long = "break: 20,100 tokens were not read, since the tools had changed";
        grid.add(["2", "4,000", "$1.20", long].map(str::to_owned).to_vec());
        grid
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
                assert!(line.width() <= usize::from(width), "{width}: {line}");
            }
        }
    }

    #[test]
    fn of_a_long_path_the_end_is_shown() {
        assert_eq!(shortened("projects/demo/session.jsonl".into(), 14), "…session.jsonl");
        assert_eq!(shortened("long_name.jsonl:121".into(), 12), "…e.jsonl:121");
        assert_eq!(shortened("messages_rewritten".into(), 10), "messages_…");
        assert_eq!(
            wrap("see projects/demo/session.jsonl twice", 16),
            ["see", "…o/session.jsonl", "twice"]
        );
    }

    #[test]
    fn of_a_long_name_both_ends_are_shown() {
        assert_eq!(shortened_name("results of mcp__linear__list_labels", 18), "results o…t_labels");
        assert_eq!(shortened_name("short", 18), "short");
        for width in 1..40 {
            let cut = shortened_name("名前が長い名前 of something", width);
            assert!(cut.width() <= width, "{width}: {cut}");
        }
    }

    #[test]
    fn names_and_what_is_unknown_give_way_before_figures() {
        let columns = [
            ("kind", Align::Name),
            ("5m", Align::Right),
            ("read", Align::Right),
            ("cost", Align::Right),
        ];
        let mut grid = Grid::new(&columns).hide_first(&["read", "5m"]);
        let name = "results of mcp__linear__list_labels";
        grid.add([name, "-", "12,000", "$0.0385"].map(str::to_owned).to_vec());
        grid.add(["output", "", "0", "$1.20"].map(str::to_owned).to_vec());
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
        let mut grid = Grid::new(&[("cost", Align::Right)]);
        grid.add_toned(vec!["$1.00".to_owned()], Tone::Loss);
        assert!(!text(&grid, style(40)).contains('\u{1b}'));
        let coloured = text(&grid, TextStyle { bold: true, ..style(40) });
        assert!(coloured.ends_with("\u{1b}[31m$1.00\u{1b}[0m\n"), "{coloured:?}");
    }
}
