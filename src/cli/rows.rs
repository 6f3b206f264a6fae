//! Formats with a row for each item.

use blake2::digest::consts::U16;
use blake2::{Blake2b, Digest};

use super::args::Rows;
use super::domains::Histories;
use super::part_key::{hex, settings};
use super::{CliError, Output, Setup};
use crate::read::input::Source;
use crate::report::{LEDGER_SCHEMA, Metadata, RowEncoding};

/// Fails in a build without Parquet, which `what` needs.
pub(super) fn needs_parquet(what: &'static str) -> Result<(), CliError> {
    let is_built = cfg!(feature = "fleet");
    if is_built { Ok(()) } else { Err(CliError::NotBuilt { what, feature: "fleet" }) }
}

impl Rows {
    /// Encoding of rows of a schema. Parquet is for programs, and not for a terminal.
    pub(super) fn encoding(
        self,
        output: &Output,
        setup: &Setup<'_>,
        histories: &Histories,
        schema: &str,
    ) -> Result<RowEncoding, CliError> {
        Ok(match self {
            Self::Jsonl => RowEncoding::Jsonl,
            Self::Csv => RowEncoding::Csv,
            Self::Parquet if output.is_terminal() => {
                let message = "--format parquet: a terminal cannot show it; give -o FILE";
                return Err(CliError::Usage(message.to_owned()));
            }
            Self::Parquet => {
                needs_parquet("--format parquet")?;
                RowEncoding::Parquet(metadata(setup, histories.sources(), schema))
            }
        })
    }
}

/// Metadata of a file of rows: the program, settings and input that made it.
pub(super) fn metadata<'s>(
    setup: &Setup<'_>,
    sources: impl Iterator<Item = &'s Source>,
    schema: &str,
) -> Metadata {
    let settings = settings(setup);
    let mut metadata = vec![
        ("schema", schema.to_owned()),
        ("version", settings.tool_version.clone()),
        ("prices", settings.prices.clone()),
        ("options", setup.options.assumptions.options()),
        ("settings", settings.settings.clone()),
        ("input", digest(sources)),
    ];
    if schema == LEDGER_SCHEMA {
        metadata.push(("strategies", settings.strategies.join(",")));
    }
    metadata
}

/// Digest of files by their labels and sizes, in the order in which they are read.
fn digest<'s>(sources: impl Iterator<Item = &'s Source>) -> String {
    let mut digest = Blake2b::<U16>::new();
    for source in sources {
        digest.update(source.label.as_bytes());
        // The zero byte separates a label from its size.
        digest.update([0]);
        digest.update(source.size.to_le_bytes());
    }
    hex(&digest.finalize())
}
