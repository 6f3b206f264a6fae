//! A chart as data → SVG → PNG. Everything is laid out in whole pixels with the measures of the bundled
//! font, so that a chart has the same bytes everywhere.

mod bars;
mod canvas;
mod frame;
mod lanes;
mod plot;
#[cfg(feature = "png")]
mod png;
mod typeface;

pub use canvas::{Theme, page_style, svg};
#[cfg(feature = "png")]
pub use png::{PngError, png};
