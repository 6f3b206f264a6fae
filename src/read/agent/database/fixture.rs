//! Databases for tests, made of the statements that they are written down as.

use std::path::{Path, PathBuf};

use rusqlite::Connection;
use tempfile::TempDir;

use crate::read::agent::AgentFile;
use crate::read::input::{OpenSource, discover};

/// A database in a folder of its own.
pub(super) struct Fixture {
    folder: TempDir,
}

impl Fixture {
    /// The database that statements make.
    pub(super) fn of(statements: &str) -> Self {
        let fixture = Self { folder: tempfile::tempdir().expect("a folder") };
        fixture.connection().execute_batch(statements).expect("statements");
        fixture
    }

    /// The database of a file in `fixtures/`.
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

    /// What is read of it; `None` where it is of no program that is known.
    pub(super) fn try_read(&self) -> Option<AgentFile> {
        let found = discover(&[self.path()]);
        let open = OpenSource::open(&found.sources[0]).expect("a file");
        super::read(&open).ok()
    }

    /// What is read of a known program's database.
    pub(super) fn read(&self) -> AgentFile {
        self.try_read().expect("a program's")
    }
}
