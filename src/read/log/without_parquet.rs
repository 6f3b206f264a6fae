//! Refusal of Parquet files in a build without the feature `fleet`.

use std::borrow::Cow;
use std::convert::Infallible;

use crate::read::input::{Kind, OpenSource};

/// Cells of a row, which cannot exist in this build.
pub(super) struct Cells(Infallible);

impl Cells {
    pub(super) fn text(&self, _: &str) -> Option<Cow<'_, str>> {
        match self.0 {}
    }
}

/// Refuses every file.
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
