//! Bars below each other, each with its name on the left and its figures on the right.

use super::frame::{LABEL_SIZE, LABEL_SPACE, PixelColumns, SWATCH, Scale, text_width};
use super::plot::{heading, heading_height, level_axis, level_axis_height};
use super::typeface::fitted;
use super::{Anchor, Canvas};
use crate::report::chart::ink::Ink;
use crate::report::chart::{AxisRule, Bar, Bars};

/// Distance between bars, in pixels.
const ROW: i32 = 32;

/// Distance between many bars, in pixels.
const NARROW_ROW: i32 = 22;

/// Most bars at the wide distance.
const MOST_WIDE: usize = 12;

/// Height of the rule's name above the bars, in pixels.
const RULE_HEIGHT: i32 = 20;

/// Height of a bar's name and figures above it, in a narrow chart.
const NAME_HEIGHT: i32 = 16;

fn row(bars: &Bars, columns: PixelColumns) -> i32 {
    name_height(columns) + if bars.rows.len() > MOST_WIDE { NARROW_ROW } else { ROW }
}

fn name_height(columns: PixelColumns) -> i32 {
    if columns.is_narrow { NAME_HEIGHT } else { 0 }
}

pub(super) fn height(bars: &Bars, columns: PixelColumns) -> i32 {
    // The fallback keeps the product within 32 bits.
    let rows = i32::try_from(bars.rows.len()).unwrap_or(i32::MAX / 1_000) * row(bars, columns);
    above(bars, columns) + rows + level_axis_height(&bars.x, columns)
}

fn above(bars: &Bars, columns: PixelColumns) -> i32 {
    heading_height(&bars.heading, columns) + if bars.rule.is_some() { RULE_HEIGHT } else { 0 }
}

/// Width of the widest bar name, in pixels.
pub(super) fn labels_width(bars: &Bars) -> i32 {
    bars.rows.iter().map(|bar| mark_width(bar) + text_width(&bar.label)).max().unwrap_or(0)
}

/// Width of a bar's mark with the space to its name.
fn mark_width(bar: &Bar) -> i32 {
    if bar.mark.is_some() { SWATCH + LABEL_SPACE } else { 0 }
}

fn mark(canvas: &Canvas<'_>, bar: &Bar, (x, middle): (i32, i32)) {
    if let Some(ink) = bar.mark {
        let corner = (x, middle - SWATCH / 2);
        canvas.rectangle(ink, corner, (corner.0 + SWATCH, corner.1 + SWATCH));
    }
}

pub(super) fn draw(canvas: &Canvas<'_>, bars: &Bars, columns: PixelColumns, top: i32) {
    heading(canvas, &bars.heading, columns, top);
    let upper = top + above(bars, columns);
    let lower = top + height(bars, columns) - level_axis_height(&bars.x, columns);
    // Leave room for the longest figures after the longest bar.
    let figures = bars.rows.iter().map(|bar| text_width(&bar.value)).max().unwrap_or(0);
    let room = (columns.right - columns.left) / 2;
    let beside = if columns.is_narrow { 0 } else { (figures + 2 * LABEL_SPACE).min(room) };
    let right = columns.right - beside;
    let columns = PixelColumns { right, ..columns };
    let x = Scale::new(&bars.x, (columns.left, right));
    for tick in &bars.x.ticks {
        let at = x.pixel(tick.at);
        canvas.line(Ink::Grid, 1, vec![(at, upper), (at, lower)]);
    }
    let row = row(bars, columns);
    for (bar, begin) in bars.rows.iter().zip((upper..).step_by(row.unsigned_abs() as usize)) {
        draw_bar(canvas, bar, &x, columns, (begin, begin + row));
    }
    if let Some(rule) = &bars.rule {
        // Between the names of a narrow chart, not through them.
        let spans: Vec<(i32, i32)> = if columns.is_narrow {
            let begins = (upper..lower).step_by(row.unsigned_abs() as usize);
            begins.map(|begin| (begin + NAME_HEIGHT, begin + row)).collect()
        } else {
            vec![(upper - 4, lower)]
        };
        draw_rule(canvas, rule, &x, columns, &spans, upper);
    }
    canvas.line(Ink::Muted, 1, vec![(columns.left, upper), (columns.left, lower)]);
    level_axis(canvas, &bars.x, columns, lower);
}

/// Draws a bar between two heights: its name, its parts, and its figures after them.
fn draw_bar(
    canvas: &Canvas<'_>,
    bar: &Bar,
    x: &Scale,
    columns: PixelColumns,
    (upper, lower): (i32, i32),
) {
    let named = upper;
    let upper = upper + name_height(columns);
    let mut end = bar.from;
    for (ink, length) in &bar.parts {
        let from = x.pixel(end);
        end += length;
        canvas.rectangle(*ink, (from, upper + 4), (x.pixel(end), lower - 4));
    }
    if columns.is_narrow {
        let middle = named + NAME_HEIGHT / 2 + 2;
        let begin = columns.left + 2 + mark_width(bar);
        let room = columns.edge - begin - LABEL_SPACE;
        let value = fitted(&bar.value, LABEL_SIZE, room * 2 / 3);
        let label = fitted(&bar.label, LABEL_SIZE, room - text_width(&value));
        canvas.text(Ink::Text, LABEL_SIZE, Anchor::Start, (begin, middle), &label);
        mark(canvas, bar, (columns.left + 2, middle));
        canvas.text(Ink::Text, LABEL_SIZE, Anchor::End, (columns.edge, middle), &value);
        return;
    }
    let middle = i32::midpoint(upper, lower);
    let beside = columns.left - LABEL_SPACE - mark_width(bar);
    let label = fitted(&bar.label, LABEL_SIZE, beside);
    let place = (beside, middle);
    mark(canvas, bar, (columns.left - LABEL_SPACE - SWATCH, middle));
    canvas.text(Ink::Text, LABEL_SIZE, Anchor::End, place, &label);
    let begin = x.pixel(end) + LABEL_SPACE;
    let value = fitted(&bar.value, LABEL_SIZE, columns.edge - begin);
    canvas.text(Ink::Text, LABEL_SIZE, Anchor::Start, (begin, middle), &value);
}

/// Draws a line through all bars, in spans of heights, with its name above them on the side with more room.
fn draw_rule(
    canvas: &Canvas<'_>,
    rule: &AxisRule,
    x: &Scale,
    columns: PixelColumns,
    spans: &[(i32, i32)],
    upper: i32,
) {
    let at = x.pixel(rule.at);
    for (from, to) in spans {
        canvas.line(Ink::Rule, 2, vec![(at, *from), (at, *to)]);
    }
    let is_left = at < i32::midpoint(columns.left, columns.edge);
    let (anchor, shift, room) = if is_left {
        (Anchor::Start, 4, columns.edge - at)
    } else {
        (Anchor::End, -4, at - columns.left)
    };
    let name = fitted(&rule.label, LABEL_SIZE, room);
    let place = (at + shift, upper - RULE_HEIGHT / 2 - 2);
    canvas.text(Ink::Text, LABEL_SIZE, anchor, place, &name);
}
