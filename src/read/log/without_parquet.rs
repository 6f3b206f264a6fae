//! Parquet files in a build without the feature `fleet`: they are refused in these words.

use std::borrow::Cow;
use std::convert::Infallible;

use crate::read::input::{Kind, OpenSource};

/// The cells of a row, of which there is none.
pub(super) struct Cells(Infallible);

impl Cells {
    pub(super) fn text(&self, _: &str) -> Option<Cow<'_, str>> {
        match self.0 {}
    }
}

/// Fails.
///
/// # Errors
/// Always.
pub(super) fn each_row(
    _: &OpenSource,
    _: &mut u64,
    _: impl FnMut(&Cells, u64),
) -> Result<(), (Kind, String)> {
    let refusal = "this build does not read Parquet: build cachesim with --features fleet";
    Err((Kind::UnreadableFile, refusal.to_owned()))
}
