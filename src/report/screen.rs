//! A document on a screen that it must not scroll away.

use std::io::{self, Write};

use super::{
    Document, DocumentPart, Grid, SafeText, TextStyle, counted, shortened, title, wrapped,
};

/// Lines kept free on a screen: one each for the remark on omissions, a warning, the result of a gate and the shell's
/// prompt.
const BELOW: u16 = 4;

/// Least number of rows of a table that is worth its header.
const LEAST_ROWS: usize = 2;

/// A heading with the blocks after it.
#[derive(Default)]
struct Section<'d> {
    heading: Option<&'d SafeText>,
    is_lead: bool,
    blocks: Vec<&'d DocumentPart>,
}

impl Section<'_> {
    /// Sections of a document; the first one has no heading.
    fn all(document: &Document) -> Vec<Section<'_>> {
        let mut sections = vec![Section::default()];
        for block in &document.blocks {
            match block {
                DocumentPart::Heading(text, is_lead) => {
                    let (heading, is_lead) = (Some(text), *is_lead);
                    sections.push(Section { heading, is_lead, blocks: Vec::new() });
                }
                other => sections.last_mut().into_iter().for_each(|one| one.blocks.push(other)),
            }
        }
        sections
    }

    fn has_grid(&self) -> bool {
        self.blocks.iter().any(|block| matches!(block, DocumentPart::Grid(_)))
    }
}

/// Screen for a document that must not scroll away.
///
/// It has as many sections as there is room for, leading ones first, and tables cut to their most important
/// rows. A line says what is left out.
#[derive(Clone)]
pub(super) struct Screen {
    style: TextStyle,
    /// Lines left.
    room: usize,
    rows: usize,
    columns: usize,
    sections: Vec<String>,
    sentences: usize,
    notes: usize,
}

impl Screen {
    pub(super) fn new(style: TextStyle, height: u16) -> Self {
        let room = height.saturating_sub(BELOW).into();
        Self { style, room, rows: 0, columns: 0, sections: Vec::new(), sentences: 0, notes: 0 }
    }

    pub(super) fn write(mut self, document: &Document, out: &mut dyn Write) -> io::Result<()> {
        let sections = Section::all(document);
        let mut texts: Vec<String> = vec![String::new(); sections.len()];
        // The section without a heading is the answer.
        let is_first = |place: usize| place == 0 || sections[place].is_lead;
        let (first, others): (Vec<usize>, Vec<usize>) =
            (0..sections.len()).partition(|one| is_first(*one));
        for place in first.into_iter().chain(others) {
            let section = &sections[place];
            texts[place] = self.section(section);
            if let Some(heading) = section.heading.filter(|_| texts[place].is_empty()) {
                self.sections.push(heading.to_string());
            }
        }
        out.write_all(texts.concat().as_bytes())?;
        for block in &document.blocks {
            match block {
                DocumentPart::Note(text) if self.style.notes => {
                    writeln!(out, "{}\n", wrapped(text, self.style))?;
                }
                DocumentPart::Note(_) => self.notes += 1,
                _ => {}
            }
        }
        out.write_all(self.left_out().as_bytes())
    }

    /// Text of a section, or nothing if it has no room for its table.
    ///
    /// A table comes before the sentences around it.
    fn section(&mut self, section: &Section<'_>) -> String {
        let title = section.heading.map(|heading| title(heading, self.style)).unwrap_or_default();
        let before = self.clone();
        self.room = self.room.saturating_sub(title.lines().count());
        let mut texts: Vec<String> = vec![String::new(); section.blocks.len()];
        let is_table = |place: &usize| matches!(section.blocks[*place], DocumentPart::Grid(_));
        let (tables, sentences): (Vec<usize>, Vec<usize>) =
            (0..texts.len()).partition(|place| is_table(place));
        for place in tables.into_iter().chain(sentences) {
            match section.blocks[place] {
                DocumentPart::Grid(grid) => texts[place] = self.grid(grid),
                DocumentPart::Text(text) => texts[place] = self.sentence(text),
                DocumentPart::Folded(summary, _) => self.sections.push(summary.to_string()),
                DocumentPart::Heading(..) | DocumentPart::Note(_) => {}
            }
        }
        let text = texts.concat();
        let has_table = section
            .blocks
            .iter()
            .zip(&texts)
            .any(|(block, text)| matches!(block, DocumentPart::Grid(_)) && !text.is_empty());
        let is_left_out =
            !section.blocks.is_empty() && text.is_empty() || section.has_grid() && !has_table;
        // The whole section is named as left out, so its rows, columns and notes are not.
        if is_left_out && section.heading.is_some() {
            *self = before;
            return String::new();
        }
        title + &text
    }

    fn sentence(&mut self, text: &SafeText) -> String {
        let text = wrapped(text, self.style) + "\n\n";
        let Some(room) = self.room.checked_sub(text.lines().count()) else {
            self.sentences += 1;
            return String::new();
        };
        self.room = room;
        text
    }

    fn grid(&mut self, grid: &Grid) -> String {
        // One line stays free for the blank one after the table.
        let cut = grid.cut(self.style, self.room.saturating_sub(1));
        // A table of a single row is shown with it.
        if cut.rows < LEAST_ROWS.min(grid.len()) {
            return String::new();
        }
        self.room = self.room.saturating_sub(cut.text.lines().count() + 1);
        self.rows += grid.len() - cut.rows;
        self.columns += cut.hidden;
        cut.text + "\n"
    }

    /// Remark on everything that is not on the screen, in one line.
    fn left_out(self) -> String {
        let counts = [
            (self.rows, "row", "rows"),
            (self.sentences, "sentence", "sentences"),
            (self.notes, "note (--notes)", "notes (--notes)"),
            (self.columns, "column", "columns"),
        ];
        let counts = counts.into_iter().filter(|(count, ..)| *count > 0);
        let counts = counts.map(|(count, one, more)| counted(count as u64, one, more));
        let parts: Vec<String> = counts.chain(self.sections).collect();
        if parts.is_empty() {
            return String::new();
        }
        let line = format!("--all shows more: {}.", parts.join("; "));
        shortened(line.into(), self.style.width.into()).into_owned() + "\n"
    }
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

    #[test]
    fn a_screen_is_enough_for_the_answer_and_says_what_is_left_out() {
        let mut document = Document::default();
        document.text("The answer.");
        document.heading("Others");
        document.grid(rows(30));
        document.text("About others.");
        document.lead("Asked for");
        document.grid(rows(30));
        document.note("A note.");
        let style = TextStyle { width: 60, bold: false, bars: false, height: None, notes: false };
        for height in 15..38 {
            let style = TextStyle { height: Some(height), ..style };
            let text = as_text(&document, style);
            assert!(text.lines().count() < usize::from(height), "{height}: {text}");
            assert!(text.starts_with("The answer.\n") && text.contains("Asked for\n"), "{text}");
            assert!(!text.contains("A note."));
            let shown = text.lines().filter(|line| line.contains("a|b")).count();
            assert!(text.contains(&format!("{} rows; 1 note (--notes)", 30 - shown)));
            let all = as_text(&document, TextStyle { notes: true, ..style });
            assert!(all.contains("A note."));
        }
        insta::assert_snapshot!(as_text(&document, TextStyle { height: Some(15), ..style }), @r"
        The answer.

        Asked for

        number  what
        ────────────
             0  a|b
             1  a|b
             2  a|b
             3  a|b

        --all shows more: 26 rows; 1 note (--notes); Others.
        ");
        let whole = as_text(&document, style);
        assert!(
            ["About others.", "A note.", "    29  a|b"].iter().all(|part| whole.contains(part))
        );
    }

    fn rows(count: u64) -> Grid {
        let mut columns = Columns::<u64>::new();
        columns.right("number", |number| *number);
        columns.left("what", |_| "a|b");
        columns.grid(0..count)
    }
}
