//! How many tokens the pieces of content of a transcript's prompt have.

mod estimate;
mod share;

pub(crate) use estimate::{FRAME_BYTES, Ratio, Ratios, is_explained, weight};
pub(crate) use share::share;
