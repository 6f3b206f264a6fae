//! Reasons why a database could not be read, or not to its end.

use rusqlite::{Error, ErrorCode, ffi};

use super::open::is_memory_used_up;
use crate::read::input::{Exceeded, Kind, LONGEST_LINE};

/// Reason why reading ended.
#[derive(Debug)]
pub(super) enum Failure {
    /// Error of `SQLite`.
    Database(Error),
    /// Row with more than [`LONGEST_LINE`] bytes.
    RowTooLong,
    /// More work for its rows than a database of its size can cause.
    TooMuchWork,
    /// Memory limit of the process.
    Memory,
    /// Error of the operating system.
    File(std::io::Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::TooBig) => Self::RowTooLong,
            // Only the progress handler interrupts: the memory or the work is used up.
            Some(ErrorCode::OperationInterrupted) if is_memory_used_up() => Self::Memory,
            Some(ErrorCode::OperationInterrupted) => Self::TooMuchWork,
            _ => Self::Database(error),
        }
    }
}

impl Failure {
    /// Kind that the failure is counted under.
    pub(super) fn kind(&self) -> Kind {
        match self {
            Self::RowTooLong => Kind::TooLong,
            Self::Memory => Kind::OutOfMemory,
            Self::Database(_) | Self::TooMuchWork | Self::File(_) => Kind::UnreadableFile,
        }
    }

    /// Message for people. It quotes nothing of the database.
    pub(super) fn detail(&self) -> String {
        match self {
            Self::Database(error) => of_database(error),
            Self::RowTooLong => format!("a row has more than {LONGEST_LINE} bytes, the limit"),
            Self::TooMuchWork => {
                "its rows make more work than a database of its size can; it is damaged, or made to \
                 keep readers busy"
                    .to_owned()
            }
            Self::Memory => Exceeded::Memory.to_string(),
            Self::File(error) => error.to_string(),
        }
    }
}

fn of_database(error: &Error) -> String {
    match error {
        Error::SqliteFailure(failure, _) => match failure.code {
            ErrorCode::DatabaseCorrupt => "a page of the database is damaged".to_owned(),
            ErrorCode::NotADatabase => "it is no database, or an encrypted one".to_owned(),
            // The full message may quote the schema, so only the text of the code is used.
            _ => format!("SQLite says: {}", ffi::code_to_str(failure.extended_code)),
        },
        _ => "its tables are not built as this program builds them".to_owned(),
    }
}
