//! Table on a terminal, which is left as it was found: at the end, on an error, and on a panic.

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use ratatui::crossterm::cursor;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::crossterm::execute;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Paragraph, Row, Table};
use ratatui::{DefaultTerminal, Frame};

use crate::report::WatchTable;

/// Number of the newest lines that are kept.
const MOST_LINES: usize = 200;

/// Least width of the first column, in cells, for which others are left out.
const LEAST_NAME: u16 = 12;

/// Cells between two columns.
const SPACING: u16 = 2;

/// Columns to leave out if there is no room, in this order, by their place.
const LEFT_OUT: [usize; 4] = [4, 3, 5, 2];

/// Indentation of the continued part of a long line: the width of its time.
const INDENT: &str = "         ";

const KEYS: &str = "q quits, ↑ ↓ scroll";

/// Request of a key or of another event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// No known request.
    Nothing,
    /// New content to show.
    Redraw,
    /// Stop until the user lets the program continue.
    Stop,
    /// End of the watch.
    End,
}

/// Terminal that shows the table until this is dropped.
pub(super) struct Screen {
    terminal: DefaultTerminal,
    view: View,
}

/// Content besides the table.
struct View {
    lines: VecDeque<String>,
    /// Number of sessions above the first one that is shown.
    above: usize,
    has_colours: bool,
}

/// True while the terminal is taken over.
static IS_TAKEN: AtomicBool = AtomicBool::new(false);

/// Takes the terminal over. A panic gives it back.
fn take() -> io::Result<DefaultTerminal> {
    IS_TAKEN.store(true, Ordering::Relaxed);
    ratatui::try_init()
}

/// Gives the terminal back with its cursor, if it was taken over.
pub(super) fn give_back() {
    if IS_TAKEN.swap(false, Ordering::Relaxed) {
        ratatui::restore();
        let _is_shown = execute!(io::stdout(), cursor::Show);
    }
}

impl Screen {
    /// Takes the terminal over.
    pub(super) fn open(has_colours: bool) -> io::Result<Self> {
        let terminal = take()?;
        Ok(Self { terminal, view: View { lines: VecDeque::new(), above: 0, has_colours } })
    }

    /// Adds a line about an event.
    pub(super) fn add(&mut self, line: String) {
        if self.view.lines.len() == MOST_LINES {
            self.view.lines.pop_front();
        }
        self.view.lines.push_back(line);
    }

    /// Answers a key.
    pub(super) fn key(&mut self, key: KeyEvent) -> Asked {
        // Some terminals also report the release of a key.
        if key.kind == KeyEventKind::Release {
            return Asked::Nothing;
        }
        let above = &mut self.view.above;
        match key.code {
            KeyCode::Char('q') | KeyCode::Esc => return Asked::End,
            KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => {
                return Asked::End;
            }
            KeyCode::Char('z') if key.modifiers.contains(KeyModifiers::CONTROL) => {
                return Asked::Stop;
            }
            KeyCode::Down | KeyCode::Char('j') => *above = above.saturating_add(1),
            KeyCode::Up | KeyCode::Char('k') => *above = above.saturating_sub(1),
            KeyCode::PageDown => *above = above.saturating_add(10),
            KeyCode::PageUp => *above = above.saturating_sub(10),
            KeyCode::Home => *above = 0,
            KeyCode::End => *above = usize::MAX,
            _ => return Asked::Nothing,
        }
        Asked::Redraw
    }

    /// Takes the terminal over again.
    pub(super) fn take_again(&mut self) -> io::Result<()> {
        self.terminal = take()?;
        Ok(())
    }

    /// Shows the table and the newest lines.
    pub(super) fn draw(&mut self, table: &WatchTable) -> io::Result<()> {
        let view = &mut self.view;
        self.terminal.draw(|frame| view.draw(frame, table)).map(drop)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // A panic has given it back already, before its message.
        if !std::thread::panicking() {
            give_back();
        }
    }
}

impl View {
    fn draw(&mut self, frame: &mut Frame<'_>, table: &WatchTable) {
        // A heading, and at least a third of the height for events, however many sessions there are.
        let rows = u16::try_from(table.rows.len()).unwrap_or(u16::MAX).saturating_add(1);
        let most = frame.area().height.saturating_sub(3) * 2 / 3;
        let answer = textwrap::wrap(&table.answer, usize::from(frame.area().width));
        let bold = self.style(Modifier::BOLD);
        let answer: Vec<_> = answer.into_iter().map(|line| Line::styled(line, bold)).collect();
        let [first, sessions, _, lines, keys] = Layout::vertical([
            Constraint::Length(u16::try_from(answer.len()).unwrap_or(u16::MAX)),
            Constraint::Length(rows.min(most.max(2))),
            Constraint::Length(1),
            Constraint::Min(0),
            Constraint::Length(1),
        ])
        .areas(frame.area());
        frame.render_widget(Paragraph::new(answer), first);
        self.draw_sessions(frame, table, sessions);
        frame.render_widget(Paragraph::new(self.newest(lines)), lines);
        frame.render_widget(Line::styled(KEYS, self.style(Modifier::DIM)), keys);
    }

    /// Newest lines for which there is room, in their order.
    fn newest(&self, area: Rect) -> Vec<Line<'static>> {
        let room = usize::from(area.height);
        let style = textwrap::Options::new(area.width.into()).subsequent_indent(INDENT);
        // No line is shorter than one of the screen.
        let kept = self.lines.iter().skip(self.lines.len().saturating_sub(room));
        let wrapped: Vec<_> = kept.flat_map(|line| textwrap::wrap(line, &style)).collect();
        let skipped = wrapped.len().saturating_sub(room);
        wrapped.into_iter().skip(skipped).map(|line| Line::raw(line.into_owned())).collect()
    }

    fn draw_sessions(&mut self, frame: &mut Frame<'_>, table: &WatchTable, area: Rect) {
        let shown = columns(table, area.width);
        let room = usize::from(area.height.saturating_sub(1));
        self.above = self.above.min(table.rows.len().saturating_sub(room));
        let cells = |cells: &[String]| {
            let of = |place: &usize| cells[*place].clone();
            Row::new(shown.iter().map(of).collect::<Vec<_>>())
        };
        let rows = table.rows.iter().skip(self.above).take(room).map(|(row, is_warm)| {
            let style = if *is_warm { Style::new() } else { self.style(Modifier::DIM) };
            cells(row).style(style)
        });
        let widths = shown.iter().map(|place| match place {
            0 => Constraint::Fill(1),
            place => Constraint::Length(table.widths[*place]),
        });
        let heading = table.columns.map(str::to_owned);
        let widget = Table::new(rows, widths)
            .header(cells(&heading).style(self.style(Modifier::UNDERLINED)))
            .column_spacing(SPACING);
        frame.render_widget(widget, area);
    }

    fn style(&self, modifier: Modifier) -> Style {
        if self.has_colours { Style::new().add_modifier(modifier) } else { Style::new() }
    }
}

/// Columns for which there is room.
fn columns(table: &WatchTable, width: u16) -> Vec<usize> {
    let mut shown: Vec<usize> = (0..table.columns.len()).collect();
    let needed = |shown: &[usize]| {
        let widths =
            shown.iter().skip(1).map(|place| u32::from(table.widths[*place]) + u32::from(SPACING));
        widths.sum::<u32>() + u32::from(table.widths[0].min(LEAST_NAME))
    };
    for left_out in LEFT_OUT {
        if needed(&shown) <= width.into() {
            break;
        }
        shown.retain(|place| *place != left_out);
    }
    shown
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::process::Command;

    use super::*;

    /// Runs in a terminal of its own, where the test below starts it.
    #[test]
    #[ignore = "it panics on a terminal"]
    fn panics_on_a_terminal() {
        let _screen = Screen::open(true).expect("a terminal");
        panic!("on purpose");
    }

    #[test]
    fn a_panic_gives_the_terminal_back() {
        let own = std::env::current_exe().expect("a path");
        let test = "cli::watching::screen::tests::panics_on_a_terminal";
        let run = format!("'{}' {test} --exact --ignored --nocapture; stty -a", own.display());
        let script = Command::new("script").args(["-qec", &run, "/dev/null"]).output();
        let Ok(script) = script else {
            assert!(std::env::var_os("CI").is_none(), "this test needs `script` of util-linux");
            eprintln!("skipped: there is no `script` of util-linux");
            return;
        };
        let shown = String::from_utf8_lossy(&script.stdout);
        let (other, own) = (shown.find("\x1b[?1049h"), shown.find("\x1b[?1049l"));
        let message = shown.find("on purpose");
        assert!(other < own && own < message && other.is_some(), "{shown}");
        let state = shown.rsplit("speed").next().unwrap_or_default();
        let flags: Vec<&str> = state.split_whitespace().collect();
        assert!(["icanon", "echo", "isig"].iter().all(|flag| flags.contains(flag)), "{shown}");
    }
}
