//! Frame of a chart (title, legend, panels and notes, each in a place of its own, so that nothing overlaps), and the
//! scale from the units of an axis to pixels.

use plotters::coord::ranged1d::Ranged;
use plotters::coord::types::RangedCoordf64;

use super::typeface::{fitted, lines, width};
use super::{Anchor, Canvas, bars, lanes, plot};
use crate::report::chart::axis::Axis;
use crate::report::chart::ink::{Ink, Rgb};
use crate::report::chart::{Chart, LegendEntry, Panel};

/// Width of every chart, in pixels.
pub(super) const WIDTH: i32 = 1_200;

/// Width of a chart for a telephone, in pixels: a little more than it has, for the longest names of causes.
const NARROW_WIDTH: i32 = 420;

/// Space around a chart, and around a narrow one.
const MARGIN: i32 = 28;
const NARROW_MARGIN: i32 = 12;

const TITLE_SIZE: u8 = 21;
const NARROW_TITLE_SIZE: u8 = 16;
const SUBTITLE_SIZE: u8 = 14;
/// Text size of labels and legends.
pub(super) const LABEL_SIZE: u8 = 13;
const NOTE_SIZE: u8 = 12;

const TITLE_HEIGHT: i32 = 32;
const NARROW_TITLE_HEIGHT: i32 = 22;
const SUBTITLE_HEIGHT: i32 = 20;
const NOTE_HEIGHT: i32 = 18;
/// Space between the parts of a chart.
const SPACE: i32 = 18;
/// Height of a legend entry.
pub(super) const ENTRY_HEIGHT: i32 = 22;
/// Side of the square before a legend entry.
pub(super) const SWATCH: i32 = 12;
/// Space between a label and its mark.
pub(super) const LABEL_SPACE: i32 = 9;

/// Height of a panel without data.
const NOTHING_HEIGHT: i32 = 160;

/// Widest name next to a chart, in pixels. Wider ones are cut.
pub(super) const WIDEST_NAME: i32 = 300;

/// Distance between the lines of a name.
pub(super) const NAME_LINE: i32 = 15;

/// Pixel columns of every panel. Labels are left of `left` and right of `right`.
#[derive(Clone, Copy, Debug)]
pub(super) struct PixelColumns {
    pub(super) start: i32,
    pub(super) left: i32,
    pub(super) right: i32,
    pub(super) edge: i32,
    /// True if names are above what they name, for want of room beside it.
    pub(super) is_narrow: bool,
}

impl PixelColumns {
    /// Lines of a heading or of a title of an axis.
    pub(super) fn lines(self, text: &str) -> Vec<String> {
        lines(text, LABEL_SIZE, self.right - self.left)
    }
}

/// Draws a chart as an SVG.
pub(super) fn draw(chart: &Chart, is_narrow: bool, colour_of: fn(Ink) -> Rgb) -> String {
    let columns = columns(chart, is_narrow);
    let (margin, inner) = (columns.start, columns.edge - columns.start);
    let (title_size, title_height) = if is_narrow {
        (NARROW_TITLE_SIZE, NARROW_TITLE_HEIGHT)
    } else {
        (TITLE_SIZE, TITLE_HEIGHT)
    };
    let title = lines(&chart.title, title_size, inner);
    let subtitle = lines(&chart.subtitle, SUBTITLE_SIZE, inner);
    let notes: Vec<String> =
        chart.notes.iter().flat_map(|note| lines(note, NOTE_SIZE, inner)).collect();
    let below_title = margin + count(&title) * title_height;
    let top = below_title + count(&subtitle) * SUBTITLE_HEIGHT + SPACE;
    let keys = keys(chart, is_narrow);
    let of_keys = count(&keys) * ENTRY_HEIGHT + SPACE;
    let panels: i32 = chart.panels.iter().map(|panel| height(panel, columns) + SPACE).sum();
    let body = if is_narrow { panels + of_keys } else { panels.max(of_keys) };
    let total = top + body + count(&notes) * NOTE_HEIGHT + margin - SPACE / 2;

    let mut svg = String::new();
    let size = ((columns.edge + margin).unsigned_abs(), total.unsigned_abs());
    let canvas = Canvas::new(&mut svg, size, colour_of);
    let text = |ink, lines: &[String], size, height, top| {
        let mut middle = top + height / 2;
        for line in lines {
            canvas.text(ink, size, Anchor::Start, (margin, middle), line);
            middle += height;
        }
    };
    text(Ink::Text, &title, title_size, title_height, margin - 4);
    text(Ink::Muted, &subtitle, SUBTITLE_SIZE, SUBTITLE_HEIGHT, below_title);
    let mut y = top;
    if is_narrow {
        legend(&canvas, &keys, (margin, top), columns.edge);
        y += of_keys;
    } else {
        let corner = (columns.right + 2 * LABEL_SPACE, top + plot::HEADING_HEIGHT);
        legend(&canvas, &keys, corner, columns.edge);
    }
    for panel in &chart.panels {
        match panel {
            Panel::Plot(plot) => plot::draw(&canvas, (plot, &chart.legend), columns, y),
            Panel::Bars(bars) => bars::draw(&canvas, bars, columns, y),
            Panel::Lanes(lanes) => lanes::draw(&canvas, lanes, columns, y),
            Panel::Nothing(reason) => nothing(&canvas, reason, columns, y),
        }
        y += height(panel, columns) + SPACE;
    }
    text(Ink::Muted, &notes, NOTE_SIZE, NOTE_HEIGHT, top + body);
    let tooltips = canvas.finish();
    if !tooltips.is_empty() {
        let end = svg.rfind("</svg>").unwrap_or(svg.len());
        svg.insert_str(end, &format!("<g fill=\"none\" pointer-events=\"all\">{tooltips}</g>\n"));
    }
    svg
}

fn height(panel: &Panel, columns: PixelColumns) -> i32 {
    match panel {
        Panel::Plot(plot) => plot::height(plot, columns),
        Panel::Bars(bars) => bars::height(bars, columns),
        Panel::Lanes(lanes) => lanes::height(lanes, columns),
        Panel::Nothing(_) => NOTHING_HEIGHT,
    }
}

/// Entries of the legend. A narrow chart has its lines there, as their ends have no room for names.
fn keys(chart: &Chart, is_narrow: bool) -> Vec<LegendEntry> {
    let lines = chart.panels.iter().filter(|_| is_narrow).flat_map(|panel| match panel {
        Panel::Plot(plot) => plot.lines.as_slice(),
        _ => &[],
    });
    let of_lines = lines
        .rev()
        .map(|line| LegendEntry { ink: line.ink, label: format!("{} {}", line.label, line.value) });
    chart.legend.iter().cloned().chain(of_lines).collect()
}

fn columns(chart: &Chart, is_narrow: bool) -> PixelColumns {
    let (margin, width) = if is_narrow { (NARROW_MARGIN, NARROW_WIDTH) } else { (MARGIN, WIDTH) };
    let widest = |widths: &mut dyn Iterator<Item = i32>| {
        let widest = widths.max().unwrap_or(0).min(WIDEST_NAME);
        if widest > 0 { widest + LABEL_SPACE } else { 0 }
    };
    let left = widest(&mut chart.panels.iter().map(|panel| match panel {
        Panel::Plot(plot) => plot::labels_width(plot),
        Panel::Bars(bars) if !is_narrow => bars::labels_width(bars),
        Panel::Bars(_) | Panel::Lanes(_) | Panel::Nothing(_) => 0,
    }));
    let of_legend =
        chart.legend.iter().map(|entry| SWATCH + LABEL_SPACE + text_width(&entry.label));
    let of_panels = chart.panels.iter().map(|panel| match panel {
        Panel::Plot(plot) => plot::names_width(plot),
        Panel::Lanes(lanes) => lanes::names_width(lanes),
        Panel::Bars(_) | Panel::Nothing(_) => 0,
    });
    let right = widest(&mut of_legend.chain(of_panels).filter(|_| !is_narrow));
    // The label of the last tick of an axis extends beyond the axis.
    let right = if right > 0 { right + LABEL_SPACE } else { SPACE };
    let edge = width - margin;
    PixelColumns { start: margin, left: margin + left, right: edge - right, edge, is_narrow }
}

fn legend(canvas: &Canvas<'_>, keys: &[LegendEntry], (x, top): (i32, i32), edge: i32) {
    let mut middle = top + ENTRY_HEIGHT / 2;
    for entry in keys {
        let corner = (x, middle - SWATCH / 2);
        canvas.rectangle(entry.ink, corner, (corner.0 + SWATCH, corner.1 + SWATCH));
        let begin = x + SWATCH + LABEL_SPACE;
        let label = fitted(&entry.label, LABEL_SIZE, edge - begin + LABEL_SPACE);
        canvas.text(Ink::Text, LABEL_SIZE, Anchor::Start, (begin, middle), &label);
        middle += ENTRY_HEIGHT;
    }
}

fn nothing(canvas: &Canvas<'_>, reason: &str, columns: PixelColumns, top: i32) {
    let width = columns.edge + columns.start;
    let mut middle = top + NOTHING_HEIGHT / 3;
    for line in lines(reason, SUBTITLE_SIZE, width - 4 * columns.start) {
        canvas.text(Ink::Text, SUBTITLE_SIZE, Anchor::Middle, (width / 2, middle), &line);
        middle += SUBTITLE_HEIGHT;
    }
}

/// Width of a label in pixels.
pub(super) fn text_width(label: &str) -> i32 {
    width(&super::typeface::clean(label), LABEL_SIZE)
}

fn count<T>(things: &[T]) -> i32 {
    i32::try_from(things.len()).unwrap_or(i32::MAX / 1_000)
}

/// Mapping of an axis to a range of pixels.
pub(super) struct Scale {
    coordinate: RangedCoordf64,
    pixels: (i32, i32),
}

impl Scale {
    /// Maps an axis to the range between two pixels.
    pub(super) fn new(axis: &Axis, pixels: (i32, i32)) -> Self {
        Self { coordinate: (axis.from..axis.to).into(), pixels }
    }

    /// Pixel of a value. Values outside of the axis are at its ends.
    pub(super) fn pixel(&self, value: f64) -> i32 {
        let (one, other) = self.pixels;
        let pixel = self.coordinate.map(&value, self.pixels);
        pixel.clamp(one.min(other), one.max(other))
    }
}
