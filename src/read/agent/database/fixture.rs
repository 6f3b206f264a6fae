//! Databases for tests, built from SQL statements.

use std::path::{Path, PathBuf};

use rusqlite::Connection;
use tempfile::TempDir;

use crate::read::agent::AgentFile;
use crate::read::input::{OpenSource, discover};

/// Database in a folder of its own.
pub(super) struct Fixture {
    folder: TempDir,
}

impl Fixture {
    /// Database that the statements build.
    pub(super) fn of(statements: &str) -> Self {
        let fixture = Self { folder: tempfile::tempdir().expect("a folder") };
        fixture.connection().execute_batch(statements).expect("statements");
        fixture
    }

    /// Database of a file in `fixtures/`.
    pub(super) fn file(name: &str) -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name);
        Self::of(&std::fs::read_to_string(path).expect("a fixture"))
    }

    pub(super) fn path(&self) -> PathBuf {
        self.folder.path().join("fixture.db")
    }

    pub(super) fn connection(&self) -> Connection {
        Connection::open(self.path()).expect("a database")
    }

    /// Requests of the database; `None` if it is of no known program.
    pub(super) fn try_read(&self) -> Option<AgentFile> {
        let found = discover(&[self.path()]);
        let open = OpenSource::open(&found.sources[0]).expect("a file");
        super::read(&open).ok()
    }

    /// Requests of a known program's database.
    pub(super) fn read(&self) -> AgentFile {
        self.try_read().expect("a program's")
    }
}
