//! Files of a database: their address, and whether they stayed the same during a reading.
//!
//! Commits go to the `-wal` file until a checkpoint moves them into the database. A reader that has seen
//! the beginning of a log is not disturbed by appended commits, only by a checkpoint. Without a log a
//! commit changes the database itself, and its old pages are in the `-journal` file while it is under
//! way.

use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};

/// Bytes that are percent-encoded in the address of a file.
const ENCODED: AsciiSet =
    NON_ALPHANUMERIC.remove(b'/').remove(b'.').remove(b'-').remove(b'_').remove(b'~');

/// Bytes at the beginning of a database that a commit changes, with its counter of changes.
const DATABASE_HEADER: usize = 100;

/// Bytes at the beginning of a log that are rewritten when it starts again.
const LOG_HEADER: usize = 32;

/// First bytes of a journal while its commit is under way.
const JOURNAL_MAGIC: [u8; 8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];

/// Virtual file system of `SQLite` that takes no locks.
#[cfg(unix)]
const WITHOUT_LOCKS: &str = "unix-none";
#[cfg(windows)]
const WITHOUT_LOCKS: &str = "win32-none";

/// Files of a database at one moment.
pub(super) struct DatabaseFiles {
    path: PathBuf,
    database: Stamp<DATABASE_HEADER>,
    /// Log, unless it is empty.
    log: Option<Stamp<LOG_HEADER>>,
    /// True if a commit is under way in the database itself.
    is_being_changed: bool,
}

impl DatabaseFiles {
    /// Records the current state of a database's files.
    ///
    /// # Errors
    /// The system's error for the database file itself.
    pub(super) fn look(path: &Path) -> io::Result<Self> {
        // The log and the journal are named after the target of a link, not after the link.
        let path = if cfg!(windows) { std::path::absolute(path)? } else { fs::canonicalize(path)? };
        let database = Stamp::of(&path)?;
        let log = Stamp::beside(&path, "-wal").filter(|log| log.size > 0);
        let journal = Stamp::<8>::beside(&path, "-journal");
        let is_being_changed = journal.is_some_and(|journal| journal.beginning == JOURNAL_MAGIC);
        Ok(Self { path, database, log, is_being_changed })
    }

    /// Bytes of the database and of its log.
    pub(super) fn size(&self) -> u64 {
        self.database.size + self.log.as_ref().map_or(0, |log| log.size)
    }

    pub(super) fn has_log(&self) -> bool {
        self.log.is_some()
    }

    /// Returns true if a reading from then until now has seen one state of the database.
    pub(super) fn were_steady_until(&self, now: &Self) -> bool {
        let is_log_kept = match (&self.log, &now.log) {
            (None, _) => true,
            // A log that only grew does not disturb a reader; one that started again does.
            (Some(then), Some(now)) => then.beginning == now.beginning && then.size <= now.size,
            (Some(_), None) => false,
        };
        self.database == now.database
            && is_log_kept
            && !self.is_being_changed
            && !now.is_being_changed
    }

    /// Address under which `SQLite` opens the database without writing and without locks.
    ///
    /// A database with a log is not opened as immutable, since the log would not be read.
    pub(super) fn address(&self) -> String {
        let path = encoded(&self.path);
        let mode =
            if self.has_log() { format!("vfs={WITHOUT_LOCKS}") } else { "immutable=1".into() };
        format!("file://{path}?mode=ro&{mode}")
    }
}

/// Path of a file whose name has one more ending.
fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(ending);
    name.into()
}

#[cfg(unix)]
fn encoded(path: &Path) -> String {
    use std::os::unix::ffi::OsStrExt as _;
    percent_encode(path.as_os_str().as_bytes(), &ENCODED).to_string()
}

/// Encoded path of Windows, as `/C:/folder/file`.
#[cfg(not(unix))]
fn encoded(path: &Path) -> String {
    const BUT_COLONS: AsciiSet = ENCODED.remove(b':');
    let path = path.to_string_lossy().replace('\\', "/");
    let root = if path.starts_with('/') { "" } else { "/" };
    let encoded = percent_encode(path.as_bytes(), &BUT_COLONS).to_string();
    [root, &encoded].concat()
}

/// Properties of a file that show a change.
#[derive(PartialEq, Eq)]
struct Stamp<const BEGINNING: usize> {
    size: u64,
    modified: Option<SystemTime>,
    /// First bytes, filled up with zeros.
    beginning: [u8; BEGINNING],
}

impl<const BEGINNING: usize> Stamp<BEGINNING> {
    /// Stamp of a file beside a database.
    ///
    /// Pipes and links, which lead anywhere, are not files of the database; `SQLite` does not follow
    /// them either.
    fn beside(database: &Path, ending: &str) -> Option<Self> {
        let path = beside(database, ending);
        fs::symlink_metadata(&path).ok().filter(Metadata::is_file)?;
        Self::of(&path).ok()
    }

    fn of(path: &Path) -> io::Result<Self> {
        let metadata = fs::metadata(path)?;
        let mut bytes = Vec::with_capacity(BEGINNING);
        File::open(path)?.take(BEGINNING as u64).read_to_end(&mut bytes)?;
        bytes.resize(BEGINNING, 0);
        let beginning = bytes.try_into().unwrap_or([0; BEGINNING]);
        Ok(Self { size: metadata.len(), modified: metadata.modified().ok(), beginning })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(folder: &Path) -> DatabaseFiles {
        DatabaseFiles::look(&folder.join("a?b#c%d e.db")).expect("a database")
    }

    #[cfg(unix)]
    #[test]
    fn pipes_and_links_beside_a_database_are_none_of_its_files() {
        let folder = tempfile::tempdir().expect("a folder");
        let name = folder.path().join("a?b#c%d e.db");
        fs::write(&name, "x").expect("written");
        let elsewhere = folder.path().join("elsewhere");
        fs::write(&elsewhere, "y").expect("written");
        std::os::unix::fs::symlink(&elsewhere, beside(&name, "-wal")).expect("a link");
        let pipe = beside(&name, "-journal");
        let made = std::process::Command::new("mkfifo").arg(pipe).status().expect("mkfifo runs");
        assert!(made.success());
        let files = files(folder.path());
        assert!(!files.has_log() && !files.is_being_changed);
    }

    #[test]
    fn an_address_says_what_is_part_of_the_name() {
        let folder = tempfile::tempdir().expect("a folder");
        let name = folder.path().join("a?b#c%d e.db");
        fs::write(&name, "x").expect("written");
        let address = files(folder.path()).address();
        assert!(address.ends_with("/a%3Fb%23c%25d%20e.db?mode=ro&immutable=1"), "{address}");
        assert!(address.starts_with("file:///"), "{address}");
        fs::write(beside(&name, "-wal"), "").expect("written");
        assert!(files(folder.path()).address().ends_with("&immutable=1"), "an empty log");
        fs::write(beside(&name, "-wal"), "x").expect("written");
        assert!(files(folder.path()).address().ends_with("?mode=ro&vfs=unix-none"), "a log");
    }

    #[test]
    fn only_what_is_appended_to_a_log_disturbs_no_reader() {
        let folder = tempfile::tempdir().expect("a folder");
        let name = folder.path().join("a?b#c%d e.db");
        let write = |ending, text: &str| fs::write(beside(&name, ending), text).expect("written");
        write("", "x");
        write("-wal", &"a".repeat(40));
        let then = files(folder.path());
        write("-wal", &"a".repeat(50));
        assert!(then.were_steady_until(&files(folder.path())), "appended");
        write("-wal", &"b".repeat(50));
        assert!(!then.were_steady_until(&files(folder.path())), "begun again");
        write("-wal", "");
        assert!(!then.were_steady_until(&files(folder.path())), "moved into the database");
        let then = files(folder.path());
        assert!(then.were_steady_until(&files(folder.path())), "untouched");
        write("", "xy");
        assert!(!then.were_steady_until(&files(folder.path())), "changed");
        fs::write(beside(&name, "-journal"), JOURNAL_MAGIC).expect("written");
        let then = files(folder.path());
        assert!(!then.were_steady_until(&files(folder.path())), "being changed");
    }
}
