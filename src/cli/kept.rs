//! Kept states of followed files, in the user's cache folder: a file for each, replaced as a whole, readable
//! by its owner alone. None holds a path, or text other than the model's name.

use std::fs;
use std::hash::{Hash as _, Hasher as _};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::time::{Duration, SystemTime};
use std::{env, io};

use rustc_hash::FxHasher;
use tempfile::NamedTempFile;

use super::folders::{cache_folder, make_private};
use crate::follow::Followed;
use crate::read::input::read_whole;

/// Most bytes of a state: six million requests.
const MOST_BYTES: u64 = 256 << 20;

/// Age at which states that were not written since are removed.
const MOST_AGE: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// States of files whose figures depend on the same settings.
pub(super) struct Kept {
    /// `None` if the user has no cache folder.
    folder: Option<PathBuf>,
    of: u64,
    /// Old states are removed at most once in a run.
    tidying: Once,
}

impl Kept {
    /// Creates the states; `of` has all that figures depend on besides the files. A new build of the program
    /// may have other rules.
    pub(super) fn of(of: &impl std::hash::Hash) -> Self {
        // This hasher has no random seed, so that the next run finds the same files.
        let mut hasher = FxHasher::default();
        of.hash(&mut hasher);
        env!("CARGO_PKG_VERSION").hash(&mut hasher);
        let program = env::current_exe().and_then(fs::metadata).ok();
        program.map(|program| (program.len(), program.modified().ok())).hash(&mut hasher);
        let folder = cache_folder().map(|folder| folder.join("followed"));
        Self { folder, of: hasher.finish(), tidying: Once::new() }
    }

    /// Kept state of a file. `None` for damage, and for a state that depends on other settings.
    pub(super) fn read(&self, path: &Path) -> Option<Followed> {
        let (state, of) = self.place(path)?;
        Followed::decode(&read(&state)?, of)
    }

    /// Keeps the state of a file.
    ///
    /// # Errors
    /// Errors of the system.
    pub(super) fn write(&self, path: &Path, followed: &Followed) -> io::Result<()> {
        let Some((state, of)) = self.place(path) else { return Ok(()) };
        let Some((bytes, folder)) = followed.encode(of).zip(state.parent()) else { return Ok(()) };
        // A larger state could not be read again.
        if bytes.len() as u64 > MOST_BYTES {
            return Ok(());
        }
        // Only a new file makes the folder grow.
        if !state.exists() {
            self.tidying.call_once(|| remove_old(folder));
        }
        replace(&state, &bytes)
    }

    /// Request of the last break that a hook reported, in a session.
    pub(super) fn told_break(&self, path: &Path) -> Option<u64> {
        let told = read(&self.told(path)?)?;
        Some(u64::from_le_bytes(told.try_into().ok()?))
    }

    /// Records that a break was reported.
    ///
    /// # Errors
    /// Errors of the system, or the lack of a cache folder.
    pub(super) fn tell_break(&self, path: &Path, request: u64) -> io::Result<()> {
        let told = self.told(path).ok_or(io::ErrorKind::NotFound)?;
        replace(&told, &request.to_le_bytes())
    }

    /// Path of the record of reported breaks, beside the state and valid under all settings.
    fn told(&self, path: &Path) -> Option<PathBuf> {
        Some(self.place(path)?.0.with_extension("told"))
    }

    /// Path of a file's state, with the hash of all that it depends on besides the file's content.
    fn place(&self, path: &Path) -> Option<(PathBuf, u64)> {
        let mut hasher = FxHasher::default();
        fs::canonicalize(path).ok()?.hash(&mut hasher);
        // Named by the path alone, so that a state under other settings replaces the old one.
        let state = self.folder.as_ref()?.join(format!("{:016x}", hasher.finish()));
        self.of.hash(&mut hasher);
        Some((state, hasher.finish()))
    }
}

/// Bytes of a kept file. Reading a pipe in its place would never end.
fn read(path: &Path) -> Option<Vec<u8>> {
    fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    read_whole(path, MOST_BYTES).ok()
}

/// Replaces a file in a folder that only its owner may look into.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().ok_or(io::ErrorKind::NotFound)?;
    make_private(folder)?;
    let mut file = NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    file.persist(path).map(drop).map_err(|error| error.error)
}

/// Removes old states, and old files of runs that were killed. Files that cannot be removed stay.
fn remove_old(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let now = SystemTime::now();
    for entry in entries.flatten() {
        let changed = entry.metadata().and_then(|metadata| metadata.modified());
        let age = changed.ok().and_then(|changed| now.duration_since(changed).ok());
        if age.is_some_and(|age| age > MOST_AGE) {
            let _stays = fs::remove_file(entry.path());
        }
    }
}
