//! Tables and sentences as the lines of a terminal. No line is longer than the width, and none is broken
//! inside a word or a number.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};
use unicode_width::UnicodeWidthChar;

use super::fit::{Fitted, GAP, display_width};
use super::grid::{Align, Grid, Tone};
use crate::report::document::TextStyle;
use crate::report::escape::terminal_safe;

impl Grid {
    /// Writes the table within a width, and which columns it hides.
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
        for row in 0..self.len() {
            self.row(&mut line, &fitted, row, style);
            out.write_all(line.as_bytes())?;
            line.clear();
        }
        line.push_str(&self.hidden_note(&fitted, style));
        out.write_all(line.as_bytes())
    }

    fn header(&self, out: &mut String, fitted: &Fitted) {
        self.line(out, fitted, |place| self.columns()[fitted.columns[place].0].0.as_str());
        let ruled: usize = fitted.columns.iter().map(|(_, width)| width + GAP).sum();
        out.push_str(&"─".repeat(ruled.saturating_sub(GAP)));
        out.push('\n');
    }

    fn row(&self, out: &mut String, fitted: &Fitted, row: usize, style: TextStyle) {
        let ansi = if style.bold { ansi_style(self.tone(row)) } else { Style::new() };
        let cells = self.cells(fitted, row);
        let height = cells.iter().map(Cell::height).max().unwrap_or(1);
        for line in 0..height {
            // A string takes everything.
            let _ = write!(out, "{ansi}");
            let start = out.len();
            self.line(out, fitted, |place| cells[place].line(line));
            if !ansi.is_plain() && out.len() > start {
                out.pop();
                let _ = writeln!(out, "{ansi:#}");
            }
        }
    }

    /// The shown cells of a row, each in its width.
    fn cells(&self, fitted: &Fitted, row: usize) -> Vec<Cell<'_>> {
        let cell = |(column, width): &(usize, usize)| {
            let text = terminal_safe(self.cell(row, *column));
            let is_wrapped = self.columns()[*column].1 == Align::Wrapped;
            if is_wrapped && display_width(&text) > *width {
                Cell::Lines(wrap(&text, *width))
            } else {
                Cell::Line(shortened(text, *width))
            }
        };
        fitted.columns.iter().map(cell).collect()
    }

    /// One line of all shown columns, of each what `text` makes of its place among them.
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
        let names = fitted.hidden.iter().map(|column| self.columns()[*column].0.as_str());
        let names = names.filter(|name| !name.is_empty()).collect::<Vec<_>>().join(", ");
        let note = format!("Hidden at this width: {names}. COLUMNS={} shows all.", fitted.needed);
        wrap(&terminal_safe(&note), usize::from(style.width)).join("\n") + "\n"
    }
}

/// What is shown of a cell.
enum Cell<'g> {
    Line(Cow<'g, str>),
    Lines(Vec<String>),
}

impl Cell<'_> {
    /// How many lines it takes.
    fn height(&self) -> usize {
        match self {
            Self::Line(_) => 1,
            Self::Lines(lines) => lines.len(),
        }
    }

    /// One of them; empty where it has fewer.
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

/// A text without line breaks as lines of a width, broken at spaces. A longer word is shortened.
pub(in crate::report) fn wrap(text: &str, width: usize) -> Vec<String> {
    let options = Options::new(width)
        .break_words(false)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit);
    let has_long_word = text.split(' ').any(|word| display_width(word) > width);
    let text: Cow<'_, str> = if has_long_word {
        text.split(' ')
            .map(|word| shortened(word.into(), width))
            .collect::<Vec<_>>()
            .join(" ")
            .into()
    } else {
        text.into()
    };
    textwrap::wrap(&text, options).into_iter().map(Cow::into_owned).collect()
}

/// A text cut to a width: of a path or a line of a file the end is kept, of all else the beginning, as far
/// as whole words go.
fn shortened(text: Cow<'_, str>, width: usize) -> Cow<'_, str> {
    if display_width(&text) <= width {
        return text;
    }
    let room = width.saturating_sub(1);
    let mut taken = 0;
    let mut fits = |character: &char| {
        taken += character.width().unwrap_or_default();
        taken <= room
    };
    if is_place(&text) {
        let kept: String = text.chars().rev().take_while(|one| fits(one)).collect();
        Cow::Owned(format!("…{}", kept.chars().rev().collect::<String>()))
    } else {
        let kept: String = text.chars().take_while(|one| fits(one)).collect();
        // Whole words, unless hardly anything would be left.
        let words = kept.rsplit_once(' ').map(|(words, _)| words);
        let kept = words.filter(|words| display_width(words) * 2 > room).unwrap_or(&kept);
        Cow::Owned(format!("{}…", kept.trim_end_matches([',', ';', ':'])))
    }
}

/// Whether a text is a path, or a file with a line.
fn is_place(text: &str) -> bool {
    let has_line = text.rsplit_once(':').is_some_and(|(_, line)| {
        !line.is_empty() && line.bytes().all(|byte| byte.is_ascii_digit())
    });
    !text.contains(' ') && (has_line || text.contains('/'))
}

#[cfg(test)]
mod tests {
    use unicode_width::UnicodeWidthStr;

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
    fn colour_is_for_terminals_that_take_it() {
        let mut grid = Grid::new(&[("cost", Align::Right)]);
        grid.add_toned(vec!["$1.00".to_owned()], Tone::Loss);
        assert!(!text(&grid, style(40)).contains('\u{1b}'));
        let coloured = text(&grid, TextStyle { bold: true, ..style(40) });
        assert!(coloured.ends_with("\u{1b}[31m$1.00\u{1b}[0m\n"), "{coloured:?}");
    }
}
