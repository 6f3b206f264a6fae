//! Reads a configuration file from the disk.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::error::ConfigError;
use super::file::{Accepts, Config, read};
use super::origin::Level;
use crate::base::toml_text::{TomlError, line_and_column};

/// The most bytes that are read; a configuration has a few hundred.
pub(super) const MOST_BYTES: u64 = 1_048_576;

/// A configuration file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigFile {
    /// Whose it is.
    pub level: Level,
    /// Where it is.
    pub path: PathBuf,
    /// Its name in messages, as the user would type it.
    pub name: String,
}

/// Reads a file; `home` is what `~/` stands for in its paths.
///
/// # Errors
/// The first thing in the file that cannot be used, or why it cannot be read.
pub fn load(
    file: &ConfigFile,
    home: Option<&Path>,
    accepts: Accepts<'_>,
) -> Result<Config, ConfigError> {
    let unreadable = |source| ConfigError::Unreadable { file: file.name.clone(), source };
    let mut bytes = Vec::new();
    // Not the size that the system reports: a device or a pipe has none.
    let opened = File::open(&file.path).map_err(unreadable)?;
    opened.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(ConfigError::TooLarge(file.name.clone()));
    }
    let text = text(bytes).map_err(|(line, column)| TomlError {
        file: file.name.clone(),
        line,
        column,
        message: "this is not UTF-8".to_owned(),
    })?;
    Ok(read(&text, file, home, accepts)?)
}

/// The text, or the line and column of the first byte that is none.
fn text(bytes: Vec<u8>) -> Result<String, (usize, usize)> {
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let text = String::from_utf8_lossy(error.as_bytes());
        line_and_column(&text, valid)
    })
}
