//! Frame of a chart (title, legend, panels and notes, each in a place of its own, so that nothing overlaps), and the
//! scale from the units of an axis to pixels.

use plotters::coord::ranged1d::Ranged;
use plotters::coord::types::RangedCoordf64;

use super::typeface::{fitted, lines, width};
use super::{Anchor, Canvas, bars, lanes, plot};
use crate::report::chart::axis::Axis;
use crate::report::chart::ink::{Ink, Rgb};
use crate::report::chart::{Chart, Panel};

/// Width of every chart, in pixels.
pub(super) const WIDTH: i32 = 1_200;

/// Space around a chart.
const MARGIN: i32 = 28;

const TITLE_SIZE: u8 = 21;
const SUBTITLE_SIZE: u8 = 14;
/// Text size of labels and legends.
pub(super) const LABEL_SIZE: u8 = 13;
const NOTE_SIZE: u8 = 12;

const TITLE_HEIGHT: i32 = 32;
const SUBTITLE_HEIGHT: i32 = 20;
const NOTE_HEIGHT: i32 = 18;
/// Space between the parts of a chart.
const SPACE: i32 = 18;
/// Height of a legend entry.
pub(super) const ENTRY_HEIGHT: i32 = 22;
/// Side of the square before a legend entry.
const SWATCH: i32 = 12;
/// Space between a label and its mark.
pub(super) const LABEL_SPACE: i32 = 9;

/// Height of a panel without data.
const NOTHING_HEIGHT: i32 = 160;

/// Widest name next to a chart, in pixels. Wider ones are cut.
pub(super) const WIDEST_NAME: i32 = 300;

/// Pixel columns of every panel. Labels are left of `left` and right of `right`.
#[derive(Clone, Copy, Debug)]
pub(super) struct PixelColumns {
    pub(super) left: i32,
    pub(super) right: i32,
    pub(super) edge: i32,
}

/// Draws a chart as an SVG.
pub(super) fn draw(chart: &Chart, colour_of: fn(Ink) -> Rgb) -> String {
    let inner = WIDTH - 2 * MARGIN;
    let subtitle = lines(&chart.subtitle, SUBTITLE_SIZE, inner);
    let notes: Vec<String> =
        chart.notes.iter().flat_map(|note| lines(note, NOTE_SIZE, inner)).collect();
    let columns = columns(chart);
    let top = MARGIN + TITLE_HEIGHT + count(&subtitle) * SUBTITLE_HEIGHT + SPACE;
    let panels: i32 = chart.panels.iter().map(|panel| height(panel) + SPACE).sum();
    let body = panels.max(count(&chart.legend) * ENTRY_HEIGHT + SPACE);
    let total = top + body + count(&notes) * NOTE_HEIGHT + MARGIN - SPACE / 2;

    let mut svg = String::new();
    let size = (WIDTH.unsigned_abs(), total.unsigned_abs());
    let canvas = Canvas::new(&mut svg, size, colour_of);
    let title = fitted(&chart.title, TITLE_SIZE, inner);
    let middle = MARGIN + TITLE_HEIGHT / 2 - 4;
    canvas.text(Ink::Text, TITLE_SIZE, Anchor::Start, (MARGIN, middle), &title);
    column_of_text(&canvas, &subtitle, SUBTITLE_SIZE, SUBTITLE_HEIGHT, MARGIN + TITLE_HEIGHT);
    legend(&canvas, chart, columns, top);
    let mut y = top;
    for panel in &chart.panels {
        match panel {
            Panel::Plot(plot) => plot::draw(&canvas, plot, columns, y),
            Panel::Bars(bars) => bars::draw(&canvas, bars, columns, y),
            Panel::Lanes(lanes) => lanes::draw(&canvas, lanes, columns, y),
            Panel::Nothing(reason) => nothing(&canvas, reason, y),
        }
        y += height(panel) + SPACE;
    }
    column_of_text(&canvas, &notes, NOTE_SIZE, NOTE_HEIGHT, top + body);
    canvas.finish();
    svg
}

fn column_of_text(canvas: &Canvas<'_>, lines: &[String], size: u8, height: i32, top: i32) {
    let mut middle = top + height / 2;
    for line in lines {
        canvas.text(Ink::Muted, size, Anchor::Start, (MARGIN, middle), line);
        middle += height;
    }
}

fn height(panel: &Panel) -> i32 {
    match panel {
        Panel::Plot(plot) => plot::height(plot),
        Panel::Bars(bars) => bars::height(bars),
        Panel::Lanes(lanes) => lanes::height(lanes),
        Panel::Nothing(_) => NOTHING_HEIGHT,
    }
}

fn columns(chart: &Chart) -> PixelColumns {
    let widest = |widths: &mut dyn Iterator<Item = i32>| {
        let widest = widths.max().unwrap_or(0).min(WIDEST_NAME);
        if widest > 0 { widest + LABEL_SPACE } else { 0 }
    };
    let left = widest(&mut chart.panels.iter().map(|panel| match panel {
        Panel::Plot(plot) => plot::labels_width(plot),
        Panel::Bars(bars) => bars::labels_width(bars),
        Panel::Lanes(_) | Panel::Nothing(_) => 0,
    }));
    let of_legend =
        chart.legend.iter().map(|entry| SWATCH + LABEL_SPACE + text_width(&entry.label));
    let of_panels = chart.panels.iter().map(|panel| match panel {
        Panel::Plot(plot) => plot::names_width(plot),
        Panel::Lanes(lanes) => lanes::names_width(lanes),
        Panel::Bars(_) | Panel::Nothing(_) => 0,
    });
    let right = widest(&mut of_legend.chain(of_panels));
    // The label of the last tick of an axis extends beyond the axis.
    let right = if right > 0 { right + LABEL_SPACE } else { SPACE };
    PixelColumns { left: MARGIN + left, right: WIDTH - MARGIN - right, edge: WIDTH - MARGIN }
}

fn legend(canvas: &Canvas<'_>, chart: &Chart, columns: PixelColumns, top: i32) {
    let x = columns.right + 2 * LABEL_SPACE;
    let mut middle = top + plot::HEADING_HEIGHT + ENTRY_HEIGHT / 2;
    for entry in &chart.legend {
        let corner = (x, middle - SWATCH / 2);
        canvas.rectangle(entry.ink, corner, (corner.0 + SWATCH, corner.1 + SWATCH));
        let begin = x + SWATCH + LABEL_SPACE;
        let label = fitted(&entry.label, LABEL_SIZE, columns.edge - begin + LABEL_SPACE);
        canvas.text(Ink::Text, LABEL_SIZE, Anchor::Start, (begin, middle), &label);
        middle += ENTRY_HEIGHT;
    }
}

fn nothing(canvas: &Canvas<'_>, reason: &str, top: i32) {
    let mut middle = top + NOTHING_HEIGHT / 3;
    for line in lines(reason, SUBTITLE_SIZE, WIDTH - 4 * MARGIN) {
        canvas.text(Ink::Text, SUBTITLE_SIZE, Anchor::Middle, (WIDTH / 2, middle), &line);
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
