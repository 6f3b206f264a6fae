//! Marks in lanes below a plot, one lane for each meaning, so that no label overlaps another.

use super::frame::{
    LABEL_SIZE, LABEL_SPACE, NAME_LINE, PixelColumns, Scale, WIDEST_NAME, text_width,
};
use super::typeface::lines;
use super::{Anchor, Canvas};
use crate::report::chart::ink::Ink;
use crate::report::chart::{Lane, Lanes};

/// Distance between lanes with a name of one line, in pixels.
const LANE: i32 = 22;

/// Height of a mark.
const MARK_HEIGHT: i32 = 14;

/// Half of the width of a mark.
const HALF_MARK: i32 = 2;

pub(super) fn height(lanes: &Lanes, columns: PixelColumns) -> i32 {
    lanes.lanes.iter().map(|lane| lane_height(&name(lane, columns), columns)).sum()
}

/// Name of a lane, over several lines if it is long.
fn name(lane: &Lane, columns: PixelColumns) -> Vec<String> {
    lines(&lane.label, LABEL_SIZE, WIDEST_NAME.min(columns.edge - columns.left))
}

fn lane_height(name: &[String], columns: PixelColumns) -> i32 {
    // A name beside its lane shares the height of the lane with its first line.
    let shared = usize::from(!columns.is_narrow);
    let further = i32::try_from(name.len().saturating_sub(shared)).unwrap_or(i32::MAX / 1_000);
    LANE + further * NAME_LINE
}

/// Width of the widest lane name, in pixels.
pub(super) fn names_width(lanes: &Lanes) -> i32 {
    lanes.lanes.iter().map(|lane| text_width(&lane.label)).max().unwrap_or(0)
}

pub(super) fn draw(canvas: &Canvas<'_>, lanes: &Lanes, columns: PixelColumns, top: i32) {
    let x = Scale::new(&lanes.x, (columns.left, columns.right));
    let mut top = top;
    for lane in &lanes.lanes {
        let name = name(lane, columns);
        let bottom = top + lane_height(&name, columns);
        let middle = if columns.is_narrow { bottom - LANE / 2 } else { i32::midpoint(top, bottom) };
        canvas.line(Ink::Grid, 1, vec![(columns.left, middle), (columns.right, middle)]);
        // Marks on the same pixel are drawn once.
        let mut places: Vec<i32> = lane.marks.iter().map(|mark| x.pixel(*mark)).collect();
        places.dedup();
        for at in places {
            let corner = (at - HALF_MARK, middle - MARK_HEIGHT / 2);
            canvas.rectangle(lane.ink, corner, (at + HALF_MARK, middle + MARK_HEIGHT / 2));
        }
        let begin = if columns.is_narrow { columns.left } else { columns.right + 2 * LABEL_SPACE };
        for (line, place) in
            name.iter().zip((top + LANE / 2..).step_by(NAME_LINE.unsigned_abs() as usize))
        {
            canvas.text(Ink::Text, LABEL_SIZE, Anchor::Start, (begin, place), line);
        }
        top = bottom;
    }
}
