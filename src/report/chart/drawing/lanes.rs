//! Marks in lanes below a plot, one lane for each meaning, so that no label overlaps another.

use super::frame::{LABEL_SIZE, LABEL_SPACE, PixelColumns, Scale, text_width};
use super::typeface::fitted;
use super::{Anchor, Canvas};
use crate::report::chart::Lanes;
use crate::report::chart::ink::Ink;

/// The distance from one lane to the next.
const LANE: i32 = 22;

/// The height of a mark.
const MARK_HEIGHT: i32 = 14;

/// Half of its width.
const HALF_MARK: i32 = 2;

pub(super) fn height(lanes: &Lanes) -> i32 {
    i32::try_from(lanes.lanes.len()).unwrap_or(i32::MAX / 1_000) * LANE
}

/// The width of the names of the lanes.
pub(super) fn names_width(lanes: &Lanes) -> i32 {
    lanes.lanes.iter().map(|lane| text_width(&lane.label)).max().unwrap_or(0)
}

pub(super) fn draw(canvas: &Canvas<'_>, lanes: &Lanes, columns: PixelColumns, top: i32) {
    let x = Scale::new(&lanes.x, (columns.left, columns.right));
    let mut middle = top + LANE / 2;
    for lane in &lanes.lanes {
        canvas.line(Ink::Grid, 1, vec![(columns.left, middle), (columns.right, middle)]);
        // Marks on the same pixel are drawn once.
        let mut places: Vec<i32> = lane.marks.iter().map(|mark| x.pixel(*mark)).collect();
        places.dedup();
        for at in places {
            let corner = (at - HALF_MARK, middle - MARK_HEIGHT / 2);
            canvas.rectangle(lane.ink, corner, (at + HALF_MARK, middle + MARK_HEIGHT / 2));
        }
        let begin = columns.right + 2 * LABEL_SPACE;
        let name = fitted(&lane.label, LABEL_SIZE, columns.edge - begin + LABEL_SPACE);
        canvas.text(Ink::Text, LABEL_SIZE, Anchor::Start, (begin, middle), &name);
        middle += LANE;
    }
}
