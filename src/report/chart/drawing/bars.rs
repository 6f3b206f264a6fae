//! Bars below each other, each with its name on the left and its figures on the right.

use super::frame::{LABEL_SIZE, LABEL_SPACE, PixelColumns, Scale, text_width};
use super::plot::{HEADING_HEIGHT, level_axis, level_axis_height};
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

fn row(bars: &Bars) -> i32 {
    if bars.rows.len() > MOST_WIDE { NARROW_ROW } else { ROW }
}

pub(super) fn height(bars: &Bars) -> i32 {
    // The fallback keeps the product within 32 bits.
    let rows = i32::try_from(bars.rows.len()).unwrap_or(i32::MAX / 1_000) * row(bars);
    above(bars) + rows + level_axis_height(&bars.x)
}

fn above(bars: &Bars) -> i32 {
    HEADING_HEIGHT + if bars.rule.is_some() { RULE_HEIGHT } else { 0 }
}

/// Width of the widest bar name, in pixels.
pub(super) fn labels_width(bars: &Bars) -> i32 {
    bars.rows.iter().map(|bar| text_width(&bar.label)).max().unwrap_or(0)
}

pub(super) fn draw(canvas: &Canvas<'_>, bars: &Bars, columns: PixelColumns, top: i32) {
    let heading = fitted(&bars.heading, LABEL_SIZE, columns.right - columns.left);
    canvas.text(Ink::Muted, LABEL_SIZE, Anchor::Start, (columns.left, top + 10), &heading);
    // Leave room for the longest figures after the longest bar.
    let figures = bars.rows.iter().map(|bar| text_width(&bar.value)).max().unwrap_or(0);
    let room = (columns.right - columns.left) / 2;
    let right = columns.right - (figures + 2 * LABEL_SPACE).min(room);
    let columns = PixelColumns { right, ..columns };
    let x = Scale::new(&bars.x, (columns.left, right));
    let upper = top + above(bars);
    let lower = upper + height(bars) - above(bars) - level_axis_height(&bars.x);
    for tick in &bars.x.ticks {
        let at = x.pixel(tick.at);
        canvas.line(Ink::Grid, 1, vec![(at, upper), (at, lower)]);
    }
    let row = row(bars);
    for (bar, begin) in bars.rows.iter().zip((upper..).step_by(row.unsigned_abs() as usize)) {
        draw_bar(canvas, bar, &x, columns, (begin, begin + row));
    }
    if let Some(rule) = &bars.rule {
        draw_rule(canvas, rule, &x, columns, (upper, lower));
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
    let middle = i32::midpoint(upper, lower);
    let label = fitted(&bar.label, LABEL_SIZE, columns.left - LABEL_SPACE);
    let place = (columns.left - LABEL_SPACE, middle);
    canvas.text(Ink::Text, LABEL_SIZE, Anchor::End, place, &label);
    let mut end = bar.from;
    for (ink, length) in &bar.parts {
        let from = x.pixel(end);
        end += length;
        canvas.rectangle(*ink, (from, upper + 4), (x.pixel(end), lower - 4));
    }
    let begin = x.pixel(end) + LABEL_SPACE;
    let value = fitted(&bar.value, LABEL_SIZE, columns.edge - begin);
    canvas.text(Ink::Text, LABEL_SIZE, Anchor::Start, (begin, middle), &value);
}

/// Draws a line through all bars, with its name above them on the side with more room.
fn draw_rule(
    canvas: &Canvas<'_>,
    rule: &AxisRule,
    x: &Scale,
    columns: PixelColumns,
    (upper, lower): (i32, i32),
) {
    let at = x.pixel(rule.at);
    canvas.line(Ink::Rule, 2, vec![(at, upper - 4), (at, lower)]);
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
