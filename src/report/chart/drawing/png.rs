//! PNG of a chart, drawn from its SVG with the bundled font only.

use std::sync::Arc;

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::fontdb::Database;
use resvg::usvg::{self, Options, Tree};

use super::typeface::{FAMILY, FONT};
use super::{Theme, frame};
use crate::report::chart::Chart;
use crate::report::chart::ink::Ink;

/// Reason for which a chart cannot become a PNG.
#[derive(Debug, thiserror::Error)]
pub enum PngError {
    /// A drawing that cannot be parsed, which is a bug.
    #[error("the drawing cannot be read: {0}")]
    Drawing(#[from] usvg::Error),
    /// A size in pixels that does not fit in memory.
    #[error("a picture of {0} x {1} pixels is too large")]
    Size(u32, u32),
    /// Pixels that cannot be encoded.
    #[error("the picture cannot be encoded: {0}")]
    Encoding(String),
}

/// Draws a chart with `scale` pixels for each pixel of the SVG.
pub fn png(chart: &Chart, theme: Theme, scale: u8) -> Result<Vec<u8>, PngError> {
    let drawn =
        frame::draw(chart, false, if theme == Theme::Dark { Ink::on_dark } else { Ink::on_light });
    // No system font: the same chart has the same pixels everywhere.
    let mut fonts = Database::new();
    fonts.load_font_data(FONT.to_vec());
    fonts.set_sans_serif_family(FAMILY);
    let options =
        Options { fontdb: Arc::new(fonts), font_family: FAMILY.to_owned(), ..Options::default() };
    let tree = Tree::from_str(&drawn, &options)?;
    let size = tree.size().to_int_size();
    let (width, height) = (size.width() * u32::from(scale), size.height() * u32::from(scale));
    let mut pixels = Pixmap::new(width, height).ok_or(PngError::Size(width, height))?;
    let scale = f32::from(scale);
    resvg::render(&tree, Transform::from_scale(scale, scale), &mut pixels.as_mut());
    pixels.encode_png().map_err(|error| PngError::Encoding(error.to_string()))
}
