//! Kept states of followed files, in the user's cache folder: a file for each, replaced as a whole, readable
//! by its owner alone. None holds a path, or text other than the model's name.

use std::fs;
use std::hash::{Hash as _, Hasher as _};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::time::{Duration, SystemTime};
use std::{env, io};

use rustc_hash::FxHasher;

use super::folders::{cache_folder, make_private};
use super::output_file::{is_temporary, temporary};
use crate::follow::Followed;
use crate::read::input::read_whole;

/// Most bytes of a state: six million requests.
const MOST_BYTES: u64 = 256 << 20;

/// First bytes of a record of a reported break.
const TOLD: &[u8; 8] = b"told/v1\n";

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
        Some(u64::from_le_bytes(told.strip_prefix(TOLD)?.try_into().ok()?))
    }

    /// Records that a break was reported.
    ///
    /// # Errors
    /// Errors of the system, or the lack of a cache folder.
    pub(super) fn tell_break(&self, path: &Path, request: u64) -> io::Result<()> {
        let told = self.told(path).ok_or(io::ErrorKind::NotFound)?;
        replace(&told, &[*TOLD, request.to_le_bytes()].concat())
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
    let mut file = temporary().tempfile_in(folder)?;
    file.write_all(bytes)?;
    file.persist(path).map(drop).map_err(|error| error.error)
}

/// Returns true for a file of this program, by its name and its beginning: a state, a record of a reported break, or
/// what a killed run left.
fn is_own(entry: &fs::DirEntry) -> bool {
    let name = entry.file_name();
    let Some(name) = name.to_str().filter(|_| entry.file_type().is_ok_and(|kind| kind.is_file()))
    else {
        return false;
    };
    if is_temporary(name.as_ref()) {
        return true;
    }
    let (stem, ending) = name.split_once('.').unwrap_or((name, ""));
    let is_named = stem.len() == 16 && stem.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_named
        && match ending {
            "" => begins_with(&entry.path(), Followed::BEGINNING),
            "told" => begins_with(&entry.path(), TOLD),
            _ => false,
        }
}

fn begins_with(path: &Path, beginning: &[u8]) -> bool {
    let mut first = vec![0; beginning.len()];
    let read = fs::File::open(path).and_then(|mut file| file.read_exact(&mut first));
    read.is_ok() && first == beginning
}

/// Removes old states, and old files of runs that were killed. Files that cannot be removed stay, and so does
/// everything of others, or behind a link.
fn remove_old(folder: &Path) {
    if folder.is_symlink() {
        return;
    }
    let Ok(entries) = fs::read_dir(folder) else { return };
    let now = SystemTime::now();
    for entry in entries.flatten().filter(is_own) {
        let changed = entry.metadata().and_then(|metadata| metadata.modified());
        let age = changed.ok().and_then(|changed| now.duration_since(changed).ok());
        if age.is_some_and(|age| age > MOST_AGE) {
            let _stays = fs::remove_file(entry.path());
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn only_own_files_are_removed_and_none_behind_a_link() {
        let place = tempfile::tempdir().expect("a folder");
        let folder = place.path().join("followed");
        fs::create_dir(&folder).expect("a folder");
        let own: [(&str, &[u8]); 3] = [
            ("0123456789abcdef", b"{\"of\":1}"),
            ("0123456789abcdef.told", b"told/v1\n12345678"),
            (".cachesim-x.tmp", b""),
        ];
        let others: [(&str, &[u8]); 5] = [
            ("notes.txt", b"mine"),
            ("fedcba9876543210", b"mine"),
            ("fedcba9876543210.told", b"mine, too, is it"),
            ("fedcba9876543210.txt", b"{\"of\":1}"),
            ("fedcba987654321", b"{\"of\":1}"),
        ];
        let long_ago = SystemTime::now() - 2 * MOST_AGE;
        for (name, content) in own.iter().chain(&others) {
            fs::write(folder.join(name), content).expect("written");
            let file = fs::File::options().append(true).open(folder.join(name)).expect("a file");
            file.set_modified(long_ago).expect("a time");
        }
        let link = place.path().join("link");
        std::os::unix::fs::symlink(&folder, &link).expect("a link");
        remove_old(&link);
        assert_eq!(fs::read_dir(&folder).expect("a folder").count(), own.len() + others.len());
        remove_old(&folder);
        for (name, _) in own {
            assert!(!folder.join(name).exists(), "{name}");
        }
        assert_eq!(fs::read_dir(&folder).expect("a folder").count(), others.len());
    }
}
