//! Charts: data first (`kinds/`), then pictures (`drawing/`).
//!
//! Charts are data before they are pictures: a kind (`kinds/`) says what stands where in the units
//! of its axes, and knows no pixel; the drawing (`drawing/`) gives each part a place of its own,
//! measured in the bundled font, so that nothing covers anything; a test reads every picture back
//! and looks for what overlaps. Plotters draws shapes on whole pixels; PNGs are that SVG,
//! rasterised. Colours are roles (`ink.rs`): on light ground each has one of its own, by which a
//! style sheet finds it where the ground is dark. Of more requests than columns can be told apart
//! `turns` shows the worst of each column at its true figures, and what happened stands in lanes
//! below. Several strategies are panels on one scale.

mod axis;
mod drawing;
mod ink;
mod kinds;
mod picture;

#[cfg(feature = "png")]
pub use drawing::{PngError, png};
pub use drawing::{Theme, page_style, svg};
pub use kinds::{
    UNDRAWN_STRATEGY, WINDOW_KINDS, breaks_chart, context_chart, cost_chart, daily_chart,
    dearest_session, gaps_chart, strategies_chart, turns_chart, waterfall_chart,
};
pub use picture::Chart;
