//! Charts: data first (`kinds/`), then pictures (`drawing/`).

mod axis;
mod drawing;
mod ink;
mod kinds;
mod picture;

pub use drawing::{PngError, Theme, page_style, png, svg};
pub use kinds::{
    UNDRAWN_STRATEGY, WINDOW_KINDS, breaks_chart, context_chart, cost_chart, daily_chart,
    dearest_session, gaps_chart, strategies_chart, turns_chart, waterfall_chart,
};
pub use picture::Chart;
