//! A spend log of `LiteLLM` as a Parquet file, in a build without the feature `fleet`: it is refused in these words.

use std::sync::Arc;

use super::{Log, LogFormat, LogLayout, LogReader};
use crate::base::client::Client;
use crate::read::capture::CaptureOptions;
use crate::read::input::{Extent, Kind, OpenSource};

/// How every Parquet file begins.
const MAGIC: &[u8] = b"PAR1";

const REFUSAL: &str =
    "a Parquet file, which this build does not read: build cachesim with --features fleet";

/// The format of a spend log that is a Parquet file.
pub(super) struct SpendParquet;

impl LogFormat for SpendParquet {
    fn begins(&self, bytes: &[u8]) -> bool {
        bytes.starts_with(MAGIC)
    }

    fn file(&self) -> &'static str {
        "a spend log of LiteLLM, as Parquet"
    }

    fn client(&self) -> Client {
        Client::LiteLlm
    }

    fn layout(&self) -> Option<LogLayout> {
        None
    }

    fn read(&self, open: &mut OpenSource, options: &CaptureOptions) -> Log {
        let label = Arc::clone(&open.label);
        let mut log = LogReader::new(open, &label, options);
        log.reject(Kind::UnreadableFile, 0, REFUSAL.to_owned());
        let bytes = open.source().size;
        log.finish(open, Extent { bytes, lines: 0, is_cut: true })
    }
}

/// Fails.
///
/// # Errors
/// Always.
#[cfg(feature = "redact")]
pub(crate) fn spend_lines(_: &OpenSource) -> std::io::Result<Vec<u8>> {
    Err(std::io::Error::other(REFUSAL))
}
