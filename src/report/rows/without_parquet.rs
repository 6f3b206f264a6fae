//! Parquet in a build without the feature `fleet`: nothing is written or read, and errors name the feature.

use std::convert::Infallible;
use std::io::{self, Write};
use std::marker::PhantomData;
use std::path::Path;

use super::{LedgerOf, Metadata, Place, TableRow};
use crate::explain::run::{RunBreaks, RunRequest};
use crate::requests::seams::Identified;

fn not_built() -> io::Error {
    let needed = "Parquet is not in this build; build cachesim with --features fleet";
    io::Error::new(io::ErrorKind::Unsupported, needed)
}

/// Requirement for rows of a Parquet file, which every type meets.
pub(in crate::report) trait ParquetRow {}

impl<R> ParquetRow for R {}

/// A file that cannot be made.
pub(in crate::report) struct ParquetFile<'o> {
    never: Infallible,
    out: PhantomData<&'o ()>,
}

impl<'o> ParquetFile<'o> {
    /// Fails with an error that names the feature.
    pub(in crate::report) fn of<R: ParquetRow>(
        _: Option<[&str; 2]>,
        _: Metadata,
        _: &'o mut dyn Write,
    ) -> io::Result<Self> {
        Err(not_built())
    }

    /// Unreachable, as no file can be made.
    pub(in crate::report) fn write(
        &mut self,
        _: &impl TableRow,
        _: Option<Place<'_>>,
    ) -> io::Result<()> {
        match self.never {}
    }

    /// Unreachable, as no file can be made.
    pub(in crate::report) fn finish(self) -> io::Result<()> {
        let Self { never, out: _ } = self;
        match never {}
    }
}

/// Fails with an error that names the feature.
///
/// # Errors
/// Always.
pub fn stored_breaks(_: &Path, _: &str) -> io::Result<RunBreaks> {
    Err(not_built())
}

/// Fails with an error that names the feature.
///
/// # Errors
/// Always.
pub fn stored_rows(_: &Path) -> io::Result<(u64, Option<String>)> {
    Err(not_built())
}

/// Fails with an error that names the feature.
///
/// # Errors
/// Always.
pub fn each_identified<E: From<io::Error>>(
    _: &Path,
    _: &str,
    _: impl FnMut(&Identified<'_>) -> Result<(), E>,
) -> Result<(), E> {
    Err(not_built().into())
}

/// Fails with an error that names the feature.
///
/// # Errors
/// Always.
pub fn each_request(_: &Path, _: LedgerOf<'_>, _: impl FnMut(&RunRequest<'_>)) -> io::Result<()> {
    Err(not_built())
}
