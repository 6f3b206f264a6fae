//! Documents of headings, sentences and tables, as text or Markdown.

use std::io::{self, Write};

use super::screen::Screen;
pub(super) use super::table::Grid;
use super::{SafeText, counted, html_text, markdown_text, wrap};

/// Output for people.
#[derive(Debug, Default)]
pub struct Document {
    pub(super) blocks: Vec<DocumentPart>,
}

#[derive(Debug)]
pub(super) enum DocumentPart {
    /// Heading, with true if a screen shows its section before others.
    Heading(SafeText, bool),
    Text(SafeText),
    /// Basis of figures, for readers who ask.
    Note(SafeText),
    Grid(Grid),
    Folded(SafeText, Document),
}

/// Style of text on a terminal or in a file.
#[derive(Clone, Copy, Debug)]
pub struct TextStyle {
    /// Width to fill, in columns.
    pub width: u16,
    /// True for bold headings and coloured rows.
    pub bold: bool,
    /// True for tables with bar columns.
    pub bars: bool,
    /// Lines of a screen that has to be enough; `None` if everything is written.
    pub height: Option<u16>,
    /// True if a screen shows notes.
    pub notes: bool,
}

impl Document {
    pub(super) fn heading(&mut self, text: impl AsRef<str>) {
        self.blocks.push(DocumentPart::Heading(SafeText::new(text.as_ref()), false));
    }

    /// Adds the heading of the section that was asked for, which a screen shows before other sections.
    pub(super) fn lead(&mut self, text: impl AsRef<str>) {
        self.blocks.push(DocumentPart::Heading(SafeText::new(text.as_ref()), true));
    }

    pub(super) fn text(&mut self, text: impl AsRef<str>) {
        self.blocks.push(DocumentPart::Text(SafeText::new(text.as_ref())));
    }

    /// Adds a note, which a screen leaves out unless notes are asked for.
    pub(super) fn note(&mut self, text: impl AsRef<str>) {
        self.blocks.push(DocumentPart::Note(SafeText::new(text.as_ref())));
    }

    pub(super) fn grid(&mut self, grid: Grid) {
        self.blocks.push(DocumentPart::Grid(grid));
    }

    /// Adds details that a page shows on demand, under a summary.
    pub(super) fn folded(&mut self, summary: impl AsRef<str>, details: Self) {
        self.blocks.push(DocumentPart::Folded(SafeText::new(summary.as_ref()), details));
    }

    /// Writes the document for a terminal, line by line.
    ///
    /// # Errors
    /// Writing fails.
    pub fn write_text(&self, style: TextStyle, out: &mut dyn Write) -> io::Result<()> {
        if let Some(height) = style.height {
            return Screen::new(style, height).write(self, out);
        }
        for block in &self.blocks {
            match block {
                DocumentPart::Heading(text, _) => {
                    write!(out, "{}", title(text, style))?;
                }
                DocumentPart::Text(text) | DocumentPart::Note(text) => {
                    writeln!(out, "{}\n", wrapped(text, style))?;
                }
                DocumentPart::Grid(grid) => {
                    grid.write_text(style, out)?;
                    writeln!(out)?;
                }
                DocumentPart::Folded(summary, details) => {
                    write!(out, "{}", title(summary, style))?;
                    details.write_text(style, out)?;
                }
            }
        }
        Ok(())
    }

    /// Markdown for a comment or a page, of any length.
    pub fn to_markdown(&self) -> String {
        self.to_markdown_within(usize::MAX)
    }

    /// Markdown of at most `most` bytes.
    ///
    /// A table that does not fit is cut, with a remark, and everything after it is left out.
    pub fn to_markdown_within(&self, most: usize) -> String {
        let mut page = MarkdownPage { text: String::new(), room: most.saturating_sub(CUT_NOTE) };
        page.document(self);
        page.text
    }
}

/// Room for the remark on a cut, in bytes.
const CUT_NOTE: usize = 100;

/// Markdown of limited length.
struct MarkdownPage {
    text: String,
    /// Bytes left.
    room: usize,
}

impl MarkdownPage {
    /// Appends text if there is room, and returns true if there was.
    fn put(&mut self, text: &str) -> bool {
        let has_room = text.len() <= self.room;
        if has_room {
            self.room -= text.len();
            self.text.push_str(text);
        }
        has_room
    }

    /// Adds a remark on the cut, after which there is no more room.
    fn cut(&mut self, what: &str) {
        if self.room > 0 {
            self.room = 0;
            self.text.push_str(what);
        }
    }

    fn document(&mut self, document: &Document) {
        for block in &document.blocks {
            match block {
                DocumentPart::Heading(text, _) => {
                    self.whole(&format!("## {}\n\n", markdown_text(text)));
                }
                DocumentPart::Text(text) | DocumentPart::Note(text) => {
                    self.whole(&format!("{}\n\n", markdown_text(text)));
                }
                DocumentPart::Grid(grid) => self.grid(grid),
                DocumentPart::Folded(summary, details) => self.folded(summary, details),
            }
        }
    }

    /// Appends a block that must not be cut.
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
        for row in 0..grid.len() {
            if !self.put(&grid.markdown_row(row)) {
                let left = counted((grid.len() - row) as u64, "more row", "more rows");
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
        // The end is reserved first: a cut inside must still close the element.
        self.room -= END.len();
        self.put(&begin);
        self.document(details);
        self.text.push_str(END);
    }
}

/// A heading with the blank line after it.
pub(super) fn title(text: &SafeText, style: TextStyle) -> String {
    let bold = if style.bold { anstyle::Style::new().bold() } else { anstyle::Style::new() };
    format!("{bold}{}{bold:#}\n\n", wrapped(text, style))
}

/// Wraps sentences to the width.
pub(super) fn wrapped(text: &SafeText, style: TextStyle) -> String {
    wrap(text, usize::from(style.width)).join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::columns::Columns;

    fn as_text(document: &Document, style: TextStyle) -> String {
        let mut out = Vec::new();
        document.write_text(style, &mut out).expect("memory takes everything");
        String::from_utf8(out).expect("text")
    }

    fn long() -> Document {
        let mut details = Document::default();
        let mut columns = Columns::<u64>::new();
        columns.right("number", |number| *number);
        columns.left("what", |_| "a|b");
        details.grid(columns.grid(0..100));
        let mut document = Document::default();
        document.heading("Title");
        document.folded("All <of> them", details);
        document.text("The end.");
        document
    }

    #[test]
    fn bars_are_for_terminals() {
        let of = |has_bar: bool| {
            let mut columns = Columns::<f64>::new();
            columns.right("hit", |share| *share);
            if has_bar {
                columns.bar(|share| Some(*share));
            }
            columns.right("cost", |_| "$1.00");
            let mut document = Document::default();
            document.grid(columns.grid([0.5]));
            document
        };
        let style = TextStyle { width: 80, bold: false, bars: false, height: None, notes: true };
        let (with, without) = (of(true), of(false));
        assert_eq!(as_text(&with, style), as_text(&without, style));
        assert_eq!(with.to_markdown(), without.to_markdown());
        let text = as_text(&with, TextStyle { bars: true, ..style });
        let row = text.lines().nth(2).expect("a row");
        assert_eq!(row.split_whitespace().collect::<Vec<_>>(), ["50.0", "%", "█████", "$1.00"]);
        assert_eq!(as_text(&without, TextStyle { bars: true, ..style }), as_text(&without, style));
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
