//! Database that is open for reading.
//!
//! Nothing is written, not even beside the database, and no lock is taken: the program that uses it is
//! not disturbed, and the folder need not be writable. A log is read with its index in this process's
//! memory. Code in the schema does not run, and work and memory are bounded by the size of the database,
//! since damage can make a small file endless.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags};

use super::{DatabaseFiles, Failure};
use crate::read::input::{LONGEST_LINE, MemoryBound};

/// Settings before anything is read.
///
/// The first keeps the index of a log in memory. A page cache of 2 MiB is enough, since each page is
/// read about once.
const SETTINGS: &str = "
    PRAGMA locking_mode = EXCLUSIVE;
    PRAGMA query_only = ON;
    PRAGMA cell_size_check = ON;
    PRAGMA automatic_index = OFF;
    PRAGMA temp_store = MEMORY;
    PRAGMA mmap_size = 0;
    PRAGMA cache_size = -2048;
    BEGIN";

/// Instructions of `SQLite` between two checks of their number and of the memory.
const BETWEEN_LOOKS: u16 = 10_000;

/// Instructions that any small database may take. A row takes about ten, and has a hundred bytes.
const FEWEST_INSTRUCTIONS: u64 = 2_000_000;

/// Database that is open for reading.
pub(super) struct Database {
    pub(super) connection: Connection,
    /// Bytes of values that may still be read: each is read once, and some are stored in fewer.
    bytes_left: Cell<u64>,
    /// Rows read so far.
    rows: Cell<u64>,
}

impl Database {
    /// Opens a database.
    ///
    /// # Errors
    /// Any error of `SQLite`.
    pub(super) fn open(files: &DatabaseFiles) -> Result<Self, Failure> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
            | OpenFlags::SQLITE_OPEN_URI
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut connection = Connection::open_with_flags(files.address(), flags)?;
        connection.set_limit(
            Limit::SQLITE_LIMIT_LENGTH,
            i32::try_from(LONGEST_LINE).unwrap_or(i32::MAX),
        )?;
        connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
        for (setting, is_on) in [
            // The last connection that closes would write the log into the database.
            (DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true),
            (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
            // A foreign schema must not run functions, views or triggers.
            (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
            (DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false),
            (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
            (DbConfig::SQLITE_DBCONFIG_DQS_DML, false),
        ] {
            connection.set_db_config(setting, is_on)?;
        }
        // Two instructions a byte are twenty times as many as ordinary rows take.
        let most = files.size().saturating_mul(2).saturating_add(FEWEST_INSTRUCTIONS);
        let instructions = Arc::new(AtomicU64::new(0));
        connection.progress_handler(
            i32::from(BETWEEN_LOOKS),
            Some(move || {
                let before = instructions.fetch_add(BETWEEN_LOOKS.into(), Ordering::Relaxed);
                before > most || is_memory_used_up()
            }),
        )?;
        connection.execute_batch(SETTINGS)?;
        let bytes_left = Cell::new(files.size().saturating_mul(2));
        Ok(Self { connection, bytes_left, rows: Cell::new(0) })
    }

    /// Database of exported rows, without bounds: this program built all of it.
    pub(super) fn of_export(connection: Connection) -> Self {
        Self { connection, bytes_left: Cell::new(u64::MAX), rows: Cell::new(0) }
    }

    /// Rows read so far.
    pub(super) fn rows(&self) -> u64 {
        self.rows.get()
    }

    pub(super) fn count_row(&self) {
        self.rows.set(self.rows.get() + 1);
    }

    /// Records the size of a value that was read, in bytes.
    pub(super) fn count_bytes(&self, bytes: usize) {
        self.bytes_left.set(self.bytes_left.get().saturating_sub(bytes as u64));
    }

    /// Returns true if more bytes of values were read than the files can hold.
    pub(super) fn is_exhausted(&self) -> bool {
        self.bytes_left.get() == 0
    }
}

/// Returns true if the process has reached its memory limit.
pub(super) fn is_memory_used_up() -> bool {
    MemoryBound::of_process().is_some_and(MemoryBound::is_reached)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Database with a name that is not text.
    #[cfg(target_os = "linux")]
    #[test]
    fn any_name_is_opened_and_nothing_can_be_written() {
        use std::os::unix::ffi::OsStrExt as _;
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(std::ffi::OsStr::from_bytes(b"\xff?mode=rwc&#.db"));
        let writer = Connection::open(&path).expect("a database");
        writer.execute_batch("CREATE TABLE t (a); INSERT INTO t VALUES (1)").expect("a table");
        drop(writer);
        let files = DatabaseFiles::look(&path).expect("files");
        let database = Database::open(&files).expect("a database");
        assert!(database.has("t", &["a"]).expect("a schema"));
        assert!(database.connection.execute("DELETE FROM t", []).is_err());
        drop(database);
        assert_eq!(folder.path().read_dir().expect("a folder").count(), 1);
    }
}
