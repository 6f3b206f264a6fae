//! Plots: stacked columns and lines between two axes.

use super::frame::{
    ENTRY_HEIGHT, LABEL_SIZE, LABEL_SPACE, NAME_LINE, PixelColumns, Scale, text_width,
};
use super::typeface::fitted;
use super::{Anchor, Canvas, Place};
use crate::base::Order as _;
use crate::report::chart::axis::{Axis, whole};
use crate::report::chart::ink::Ink;
use crate::report::chart::{self, AxisRule, LegendEntry, Plot, ValueLine};

/// Height of the heading above the vertical axis, in pixels.
pub(super) const HEADING_HEIGHT: i32 = 28;

/// Height of the rules' names, between the heading and the plot.
const RULES_HEIGHT: i32 = 18;

/// Height of the labels of the horizontal axis.
const TICKS_HEIGHT: i32 = 24;

/// Height of the title of the horizontal axis.
const AXIS_TITLE_HEIGHT: i32 = 20;

/// Least width of a column. Narrower ones are drawn as one shape, without gaps.
const NARROWEST_COLUMN: i32 = 5;

/// Length of the dash before a line's name.
const DASH: i32 = 14;

/// Distance between names of lines.
const LINE_NAME_HEIGHT: i32 = 17;

pub(super) fn height(plot: &Plot, columns: PixelColumns) -> i32 {
    above(plot, columns) + i32::from(plot.height) + level_axis_height(&plot.x, columns)
}

fn above(plot: &Plot, columns: PixelColumns) -> i32 {
    // Names of rules are below each other where they have no room beside each other.
    let most = if columns.is_narrow { usize::MAX } else { 1 };
    heading_height(&plot.heading, columns) + RULES_HEIGHT * count(plot.rules.len().min(most))
}

fn count(lines: usize) -> i32 {
    i32::try_from(lines).unwrap_or(i32::MAX / 1_000)
}

/// Height of a heading: more than [`HEADING_HEIGHT`] if it has several lines.
pub(super) fn heading_height(heading: &str, columns: PixelColumns) -> i32 {
    HEADING_HEIGHT + count(columns.lines(heading).len().saturating_sub(1)) * NAME_LINE
}

/// Draws a heading.
pub(super) fn heading(canvas: &Canvas<'_>, heading: &str, columns: PixelColumns, top: i32) {
    let mut middle = top + 10;
    for line in columns.lines(heading) {
        canvas.text(Ink::Muted, LABEL_SIZE, Anchor::Start, (columns.left, middle), &line);
        middle += NAME_LINE;
    }
}

/// Width of the widest label of the vertical axis.
pub(super) fn labels_width(plot: &Plot) -> i32 {
    plot.y.ticks.iter().map(|tick| text_width(&tick.label)).max().unwrap_or(0)
}

/// Width of the widest line name.
pub(super) fn names_width(plot: &Plot) -> i32 {
    let name = |line: &ValueLine| text_width(&format!("{} {}", line.label, line.value));
    let names = plot.lines.iter().map(|line| DASH + LABEL_SPACE + name(line));
    names.max().unwrap_or(0)
}

pub(super) fn draw(
    canvas: &Canvas<'_>,
    (plot, legend): (&Plot, &[LegendEntry]),
    columns: PixelColumns,
    top: i32,
) {
    let upper = top + above(plot, columns);
    let lower = upper + i32::from(plot.height);
    let x = Scale::new(&plot.x, (columns.left, columns.right));
    let y = Scale::new(&plot.y, (lower, upper));
    heading(canvas, &plot.heading, columns, top);
    for tick in &plot.y.ticks {
        let at = y.pixel(tick.at);
        canvas.line(Ink::Grid, 1, vec![(columns.left, at), (columns.right, at)]);
        let place = (columns.left - LABEL_SPACE, at);
        canvas.text(Ink::Muted, LABEL_SIZE, Anchor::End, place, &tick.label);
    }
    stacked(canvas, &plot.columns, &x, &y);
    column_labels(canvas, &plot.columns, (&x, columns.left), &y);
    for line in &plot.lines {
        let points = line.points.iter().map(|(across, up)| (x.pixel(*across), y.pixel(*up)));
        let width = if line.ink == Ink::Record { 3 } else { 2 };
        canvas.line(line.ink, width, points.collect());
    }
    if !columns.is_narrow {
        line_names(canvas, &plot.lines, &y, columns, (upper, lower));
    }
    canvas.line(Ink::Muted, 1, vec![(columns.left, lower), (columns.right, lower)]);
    level_axis(canvas, &plot.x, columns, lower);
    rules(canvas, &plot.rules, &x, columns, (upper, lower));
    for column in &plot.columns.columns {
        let (left, right) = (x.pixel(column.from), x.pixel(column.to));
        let words = tooltip(column, &plot.columns.inks, legend);
        canvas.tooltip((left, upper), (right, lower), &words);
    }
}

/// Figures of a column: its label, or its parts by the names of their inks, after the numbers of its things.
fn tooltip(column: &chart::Column, inks: &[Ink], legend: &[LegendEntry]) -> String {
    let parts = inks.iter().zip(&column.parts).filter(|(_, part)| **part > 0.0);
    let name = |ink: &Ink| legend.iter().find(|entry| entry.ink == *ink).map(|entry| &*entry.label);
    let figure =
        |(ink, part): (&Ink, &f64)| format!("{} {}", whole(*part), name(ink).unwrap_or("tokens"));
    let figures: Vec<String> = parts.map(figure).collect();
    if figures.is_empty() || !column.label.is_empty() {
        return column.label.clone();
    }
    let (first, last) = (whole(column.from + 1.0), whole(column.to));
    let which = if first == last { first } else { format!("{first}–{last}") };
    format!("{which}: {}", figures.join(", "))
}

/// Draws the labels and the title below a horizontal axis. Labels that would touch the previous one are left out.
pub(super) fn level_axis(canvas: &Canvas<'_>, axis: &Axis, columns: PixelColumns, top: i32) {
    let scale = Scale::new(axis, (columns.left, columns.right));
    let middle = top + TICKS_HEIGHT / 2 + 2;
    let mut free_from = i32::MIN;
    for tick in &axis.ticks {
        let (at, half) = (scale.pixel(tick.at), text_width(&tick.label) / 2 + 1);
        // Half a label may extend beyond the ends of the axis.
        if at - half < free_from || at + half > columns.edge {
            continue;
        }
        free_from = at + half + 2 * LABEL_SPACE;
        canvas.line(Ink::Muted, 1, vec![(at, top), (at, top + 4)]);
        // A first label with nothing left of the axis would begin before the picture.
        canvas.text(Ink::Muted, LABEL_SIZE, Anchor::Middle, (at.max(half), middle), &tick.label);
    }
    let middle = i32::midpoint(columns.left, columns.right);
    let mut below = top + TICKS_HEIGHT + 8;
    for line in columns.lines(&axis.title) {
        canvas.text(Ink::Muted, LABEL_SIZE, Anchor::Middle, (middle, below), &line);
        below += AXIS_TITLE_HEIGHT;
    }
}

pub(super) fn level_axis_height(axis: &Axis, columns: PixelColumns) -> i32 {
    TICKS_HEIGHT + count(columns.lines(&axis.title).len()) * AXIS_TITLE_HEIGHT
}

fn stacked(canvas: &Canvas<'_>, columns: &chart::Columns, x: &Scale, y: &Scale) {
    let edges = |column: &chart::Column| (x.pixel(column.from), x.pixel(column.to));
    let widths = columns.columns.iter().map(|column| edges(column).1 - edges(column).0);
    let is_dense = widths.min().is_some_and(|narrowest| narrowest < NARROWEST_COLUMN);
    for (place, ink) in columns.inks.iter().enumerate() {
        // The part extends from the sum of the parts below it to the sum including it.
        let ends = |column: &chart::Column| {
            let below: f64 = column.parts[..place].iter().sum();
            (y.pixel(below), y.pixel(below + column.parts[place]))
        };
        if is_dense {
            silhouette(canvas, *ink, columns, edges, ends);
            continue;
        }
        for column in &columns.columns {
            let ((left, right), (lower, upper)) = (edges(column), ends(column));
            let space = if right - left >= 12 { 2 } else { 1 };
            canvas.rectangle(*ink, (left, upper), (right - space, lower));
        }
    }
}

/// Draws the labels of columns, highest column first, if they touch neither another label nor a higher column.
fn column_labels(
    canvas: &Canvas<'_>,
    columns: &chart::Columns,
    (x, leftmost): (&Scale, i32),
    y: &Scale,
) {
    let edges = |column: &chart::Column| (x.pixel(column.from), x.pixel(column.to));
    let mut labelled: Vec<&chart::Column> =
        columns.columns.iter().filter(|column| !column.label.is_empty()).collect();
    labelled.order_by_key(|column| y.pixel(column.height()));
    // Edges and middle of each label.
    let mut drawn: Vec<(i32, i32, i32)> = Vec::new();
    for column in labelled {
        let (left, right) = edges(column);
        let middle = y.pixel(column.height()) - LABEL_SPACE;
        let half = text_width(&column.label) / 2 + 1;
        // Labels of the vertical axis end at a space from it.
        let center = i32::midpoint(left, right).max(leftmost - LABEL_SPACE / 2 + half);
        let (begin, end) = (center - half, center + half);
        let is_across = |left: i32, right: i32| left < end && begin < right;
        let is_hidden =
            columns.columns.iter().filter(|other| !std::ptr::eq(*other, column)).any(|other| {
                let (left, right) = edges(other);
                is_across(left, right) && y.pixel(other.height()) < middle + LABEL_SPACE
            });
        let is_touched = drawn.iter().any(|(left, right, other)| {
            is_across(*left, *right) && (other - middle).abs() < i32::from(LABEL_SIZE) + 2
        });
        if !is_hidden && !is_touched {
            canvas.text(Ink::Text, LABEL_SIZE, Anchor::Middle, (center, middle), &column.label);
            drawn.push((begin, end, middle));
        }
    }
}

/// Draws one part of all columns as a single stepped shape.
fn silhouette(
    canvas: &Canvas<'_>,
    ink: Ink,
    columns: &chart::Columns,
    edges: impl Fn(&chart::Column) -> (i32, i32),
    ends: impl Fn(&chart::Column) -> (i32, i32),
) {
    let mut upper: Vec<Place> = Vec::new();
    let mut lower: Vec<Place> = Vec::new();
    for column in &columns.columns {
        let ((left, right), (low, high)) = (edges(column), ends(column));
        upper.extend([(left, high), (right, high)]);
        lower.extend([(left, low), (right, low)]);
    }
    // A part of height zero everywhere draws nothing.
    if upper.iter().zip(&lower).all(|(one, other)| one == other) {
        return;
    }
    upper.dedup();
    lower.dedup();
    lower.reverse();
    canvas.polygon(ink, [upper, lower].concat());
}

/// Draws the names of lines next to their ends, moved apart if they would overlap.
fn line_names(
    canvas: &Canvas<'_>,
    lines: &[ValueLine],
    y: &Scale,
    columns: PixelColumns,
    (upper, lower): (i32, i32),
) {
    let ending = |line: &ValueLine| line.points.last().map_or(lower, |(_, end)| y.pixel(*end));
    let mut named: Vec<(i32, &ValueLine)> = lines.iter().map(|line| (ending(line), line)).collect();
    named.order_by_key(|(at, _)| *at);
    let mut free_from = upper;
    for (at, _) in &mut named {
        *at = (*at).max(free_from);
        free_from = *at + LINE_NAME_HEIGHT;
    }
    // Names pushed beyond the lower end push the others back up.
    let mut free_to = lower + LINE_NAME_HEIGHT / 2;
    for (at, _) in named.iter_mut().rev() {
        *at = (*at).min(free_to);
        free_to = *at - LINE_NAME_HEIGHT;
    }
    let x = columns.right + LABEL_SPACE;
    for (at, line) in named {
        canvas.line(line.ink, 3, vec![(x, at), (x + DASH, at)]);
        let begin = x + DASH + LABEL_SPACE;
        let value = format!(" {}", line.value);
        let room = columns.edge - begin + LABEL_SPACE - text_width(&value);
        let name = fitted(&line.label, LABEL_SIZE, room) + &value;
        canvas.text(Ink::Text, LABEL_SIZE, Anchor::Start, (begin, at), &name);
    }
}

/// Draws vertical lines, with their names above the plot on the side away from the others.
fn rules(
    canvas: &Canvas<'_>,
    rules: &[AxisRule],
    x: &Scale,
    columns: PixelColumns,
    (upper, lower): (i32, i32),
) {
    let last = rules.len().saturating_sub(1);
    for (place, rule) in rules.iter().enumerate() {
        let at = x.pixel(rule.at);
        canvas.line(Ink::Rule, 2, vec![(at, upper - 4), (at, lower)]);
        let is_left = if columns.is_narrow {
            at > i32::midpoint(columns.left, columns.edge)
        } else {
            place < last || at > columns.right - ENTRY_HEIGHT
        };
        let rows = if columns.is_narrow { count(last - place) } else { 0 };
        let (anchor, room) = if is_left {
            (Anchor::End, at - columns.left)
        } else {
            (Anchor::Start, columns.edge - at)
        };
        let name = fitted(&rule.label, LABEL_SIZE, room.max(ENTRY_HEIGHT));
        let shift = if anchor == Anchor::End { -4 } else { 4 };
        canvas.text(
            Ink::Text,
            LABEL_SIZE,
            anchor,
            (at + shift, upper - RULES_HEIGHT / 2 - 3 - rows * RULES_HEIGHT),
            &name,
        );
    }
}
