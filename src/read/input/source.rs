//! Where bytes come from: plain, gzip or Zstandard files, and standard input.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An input file.
#[derive(Clone, Debug)]
pub struct Source {
    /// The name shown: relative to the path that was given, `/` between its parts.
    pub label: Arc<str>,
    /// Where to read.
    pub location: Location,
    /// Bytes on disk; 0 where unknown.
    pub size: u64,
}

/// A place to read from.
#[derive(Clone, Debug)]
pub enum Location {
    /// A file, compressed or not, as its ending says.
    File(PathBuf),
    /// Standard input.
    StandardInput,
    /// Bytes in memory, not compressed.
    Memory(Arc<[u8]>),
}

/// How a file's bytes are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Compression {
    None,
    Gzip,
    Zstandard,
}

/// Whether a folder's file is an input by its name.
pub(super) fn is_transcript_name(name: &str) -> bool {
    let name = name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst")).unwrap_or(name);
    name.strip_suffix(".jsonl").is_some_and(|stem| !stem.is_empty())
}

impl Source {
    /// A source whose bytes are at hand.
    #[must_use]
    pub fn in_memory(label: &str, bytes: &[u8]) -> Self {
        Self {
            label: label.into(),
            location: Location::Memory(bytes.into()),
            size: bytes.len() as u64,
        }
    }

    /// Opens the source.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn open(&self) -> io::Result<Box<dyn Read + Send>> {
        let path = match &self.location {
            Location::File(path) => path,
            Location::StandardInput => return Ok(Box::new(io::stdin())),
            Location::Memory(bytes) => return Ok(Box::new(io::Cursor::new(Arc::clone(bytes)))),
        };
        let file = File::open(path)?;
        Ok(match compression(path) {
            Compression::None => Box::new(file),
            Compression::Gzip => Box::new(flate2::read::MultiGzDecoder::new(file)),
            Compression::Zstandard => Box::new(zstd::Decoder::new(file)?),
        })
    }

    /// The name without folders and endings, by which a session or an agent is known.
    #[must_use]
    pub fn stem(&self) -> &str {
        let name = self.label.rsplit('/').next().unwrap_or(&self.label);
        let name = name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst")).unwrap_or(name);
        name.strip_suffix(".jsonl").unwrap_or(name)
    }
}

fn compression(path: &Path) -> Compression {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("gz") => Compression::Gzip,
        Some("zst") => Compression::Zstandard,
        _ => Compression::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transcripts_are_known_by_their_ending() {
        for name in ["a.jsonl", "a.jsonl.gz", "a.b.jsonl.zst"] {
            assert!(is_transcript_name(name), "{name}");
        }
        for name in [".jsonl", "a.json", "a.jsonl.bak", "a.meta.json", "jsonl"] {
            assert!(!is_transcript_name(name), "{name}");
        }
    }
}
