//! Where a value comes from.

use std::fmt;

/// Which of the two files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// That of the project.
    Project,
    /// That of the user, below it.
    User,
}

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// An environment variable.
    Environment(String),
    /// A configuration file.
    File {
        /// Which one.
        level: Level,
        /// Its name, as the user would type it.
        file: String,
        /// From 1 on.
        line: usize,
    },
    /// The program.
    Default,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Environment(variable) => write!(f, "environment {variable}"),
            Self::File { level: Level::Project, file, line } => write!(f, "{file}:{line}"),
            Self::File { level: Level::User, file, line } => write!(f, "user file {file}:{line}"),
            Self::Default => f.write_str("default"),
        }
    }
}
