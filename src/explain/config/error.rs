//! Why a configuration cannot be used.

use std::io;

use super::load::MOST_BYTES;
use crate::base::toml_text::TomlError;

/// Why a configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A file cannot be read.
    #[error("cannot read the configuration file {file}: {source}")]
    Unreadable {
        /// Its name, as the user would type it.
        file: String,
        /// What the system says.
        source: io::Error,
    },
    /// A file is larger than any configuration.
    #[error("{0} is no configuration file: it has more than {MOST_BYTES} bytes")]
    TooLarge(String),
    /// Something in a file means nothing.
    #[error(transparent)]
    Content(#[from] TomlError),
    /// An environment variable has a value that the option does not take.
    #[error("{variable}: {message}")]
    Environment {
        /// The variable.
        variable: String,
        /// What is wrong with it.
        message: String,
    },
}
