//! From the units of an axis to pixels.

use plotters::coord::ranged1d::Ranged;
use plotters::coord::types::RangedCoordf64;

use crate::report::chart::axis::Axis;

/// An axis on a stretch of pixels.
pub(super) struct Scale {
    coordinate: RangedCoordf64,
    pixels: (i32, i32),
}

impl Scale {
    /// Puts an axis between two pixels.
    pub(super) fn new(axis: &Axis, pixels: (i32, i32)) -> Self {
        Self { coordinate: (axis.from..axis.to).into(), pixels }
    }

    /// The pixel of a value; one outside of the axis is at its end.
    pub(super) fn pixel(&self, value: f64) -> i32 {
        let (one, other) = self.pixels;
        let pixel = self.coordinate.map(&value, self.pixels);
        pixel.clamp(one.min(other), one.max(other))
    }
}
