//! File that is replaced as a whole, or not at all: a temporary file beside it (`.cachesim-*.tmp`) takes the
//! new content, and is moved over it at the end.
//!
//! The temporary file is removed if the run fails or is interrupted. After a run that was killed it stays,
//! and the next run that writes into that folder removes it.

#[cfg(unix)]
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
#[cfg(unix)]
use std::sync::Once;
#[cfg(unix)]
use std::thread;
use std::{fs, io};

#[cfg(unix)]
use rustix::fs::{FlockOperation, flock};
#[cfg(unix)]
use rustix::io::Errno;
#[cfg(unix)]
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
#[cfg(unix)]
use signal_hook::iterator::Signals;
#[cfg(unix)]
use signal_hook::low_level::emulate_default_handler;
use tempfile::NamedTempFile;

#[cfg(unix)]
use super::input::shown_path;
#[cfg(unix)]
use super::say::say;
use crate::read::input::{is_of_system, locked};

/// Most links that are followed, as many as Linux follows.
const MOST_LINKS: usize = 40;

/// Beginning and end of the names of temporary files, so that no command takes one for an input.
const PREFIX: &str = ".cachesim-";
const SUFFIX: &str = ".tmp";

/// Output file. The old content stays until [`OutputFile::finish`].
pub(super) enum OutputFile {
    /// Device, pipe or stream of this program, which has no content to replace.
    Direct(File),
    /// Temporary file next to the one that it will replace.
    Replacement(Unfinished, PathBuf),
}

impl OutputFile {
    /// Opens a file, and fails now if it could not be replaced later.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        // Opened to see now if writing is permitted; for appending, as the old content must stay.
        let old = match OpenOptions::new().append(true).open(path) {
            Ok(file) => Some(file),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let place = place(path)?;
        let old = match old {
            Some(file) if is_of_system(&place) => return Ok(Self::Direct(file)),
            Some(file) => match file.metadata() {
                Ok(metadata) if metadata.is_file() => Some(metadata),
                _ => return Ok(Self::Direct(file)),
            },
            None => None,
        };
        let folder = place.parent().unwrap_or(Path::new("."));
        let file = Unfinished::beside(folder, old.is_some())?;
        if let Some(old) = old {
            tell_of_other_names(&place, &old);
            take_over(file.file.as_file(), &old)?;
        }
        Ok(Self::Replacement(file, place))
    }

    /// File that is replaced, with links resolved. `None` if the output is written directly.
    pub(super) fn place(&self) -> Option<&Path> {
        match self {
            Self::Direct(_) => None,
            Self::Replacement(_, place) => Some(place),
        }
    }

    /// Moves the new content over the old.
    pub(super) fn finish(mut self) -> io::Result<()> {
        self.flush()?;
        match self {
            Self::Direct(_) => Ok(()),
            Self::Replacement(file, place) => Ok(file.file.persist(place).map(|_| ())?),
        }
    }
}

/// Gives a new file the owner, the group and the permissions of the one that it will replace, as far as the process may.
#[cfg(unix)]
fn take_over(file: &File, old: &fs::Metadata) -> io::Result<()> {
    use rustix::fs::{Gid, Uid, fchown};
    use std::os::unix::fs::MetadataExt as _;
    let new = file.metadata()?;
    let owner = (new.uid() != old.uid()).then(|| Uid::from_raw(old.uid()));
    let group = (new.gid() != old.gid()).then(|| Gid::from_raw(old.gid()));
    // Only the system's administrator gives files away, and others to groups that they are in.
    if (owner.is_some() || group.is_some()) && fchown(file, owner, group).is_err() {
        fchown(file, None, group).ok();
    }
    // Last, so that nobody else reads before the owner is right.
    file.set_permissions(old.permissions())
}

#[cfg(not(unix))]
fn take_over(file: &File, old: &fs::Metadata) -> io::Result<()> {
    file.set_permissions(old.permissions())
}

/// Says that further names of a file keep its old content.
#[cfg(unix)]
fn tell_of_other_names(place: &Path, old: &fs::Metadata) {
    let names = std::os::unix::fs::MetadataExt::nlink(old);
    if names > 1 {
        say(&format!(
            "{} has another name (a hard link), which keeps the old content",
            shown_path(place)
        ));
    }
}

#[cfg(not(unix))]
fn tell_of_other_names(_: &Path, _: &fs::Metadata) {}

/// Maker of temporary files, for their owner alone.
pub(super) fn temporary() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(PREFIX).suffix(SUFFIX);
    builder
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Direct(file) => file.write(bytes),
            Self::Replacement(file, _) => file.file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Direct(file) => file.flush(),
            Self::Replacement(file, _) => file.file.flush(),
        }
    }
}

/// Temporary file of this run, until it is moved or removed.
pub(super) struct Unfinished {
    file: NamedTempFile,
    /// Dropped after the file.
    _noted: Noted,
}

impl Unfinished {
    /// Creates a file, and holds its lock, by which other runs know that it is in use. A private one is for its owner
    /// alone, so that nobody can hold it open before it has the permissions of the file that it replaces; another one has
    /// those of an ordinary new file.
    fn beside(folder: &Path, is_private: bool) -> io::Result<Self> {
        remove_abandoned(folder);
        heed_signals();
        let mut builder = temporary();
        #[cfg(unix)]
        if !is_private {
            use std::os::unix::fs::PermissionsExt as _;
            // Less the umask, as for any new file: by default a temporary file is for its owner alone.
            builder.permissions(fs::Permissions::from_mode(0o666));
        }
        loop {
            // Held while a file is made, so that an interruption knows of every one.
            let mut unfinished = locked(&UNFINISHED);
            // The error without its path: the temporary name would mean nothing to the user.
            let file = builder.tempfile_in(folder);
            let file = file.map_err(|error| io::Error::from(error.kind()))?;
            unfinished.push(file.path().to_owned());
            drop(unfinished);
            let file = Self { _noted: Noted(file.path().to_owned()), file };
            if file.is_held() {
                return Ok(file);
            }
        }
    }

    /// Returns true if the file is locked and still there: before the lock, another run may take it for
    /// abandoned.
    #[cfg(unix)]
    fn is_held(&self) -> bool {
        use std::os::unix::fs::MetadataExt as _;
        match flock(self.file.as_file(), FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => false,
            // If files have no locks here, no other run gets one.
            Err(_) => true,
            Ok(()) => self.file.as_file().metadata().map_or(true, |metadata| metadata.nlink() > 0),
        }
    }

    #[cfg(not(unix))]
    fn is_held(&self) -> bool {
        true
    }
}

/// Temporary files of this run.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Removes the temporary files of this run, and ends it.
pub(super) fn end_with<T>(end: impl FnOnce() -> T) {
    // Held to the end, so that no further file is made.
    let unfinished = locked(&UNFINISHED);
    for path in &*unfinished {
        fs::remove_file(path).ok();
    }
    end();
}

/// Entry of a temporary file in `UNFINISHED`, removed when dropped.
struct Noted(PathBuf);

impl Drop for Noted {
    fn drop(&mut self) {
        locked(&UNFINISHED).retain(|path| *path != self.0);
    }
}

/// Removes the temporary files that killed runs left in a folder: those whose lock nobody holds.
#[cfg(unix)]
fn remove_abandoned(folder: &Path) {
    // Each folder is searched once in a run.
    static DONE: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    if !locked(&DONE).insert(folder.to_owned()) {
        return;
    }
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| is_temporary(&entry.file_name())) {
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        let Some(file) = is_file.then(|| File::open(entry.path()).ok()).flatten() else { continue };
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok() {
            // While the lock is held, so that a run that has just made the file sees that it is gone.
            fs::remove_file(entry.path()).ok();
        }
    }
}

#[cfg(not(unix))]
fn remove_abandoned(_: &Path) {}

/// Returns true for a name that this program gives to temporary files.
pub(super) fn is_temporary(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| name.starts_with(PREFIX) && name.ends_with(SUFFIX))
}

/// Removes temporary files if the run is interrupted, and then ends as the signal does.
///
/// Signals that are ignored, as under `nohup`, stay ignored.
#[cfg(unix)]
fn heed_signals() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let heeded = heeded_of([SIGHUP, SIGINT, SIGTERM]);
        let Ok(mut signals) = Signals::new(heeded) else { return };
        let work = move || {
            for signal in signals.forever() {
                end_with(|| emulate_default_handler(signal).ok());
            }
        };
        // Without the thread, signals would be lost.
        if thread::Builder::new().name("signals".to_owned()).spawn(work).is_err() {
            say("no thread can be started");
            std::process::exit(i32::from(super::error::USAGE));
        }
    });
}

#[cfg(not(unix))]
fn heed_signals() {}

/// Signals that are not ignored, as they are under `nohup`; only Linux reports those that are.
#[cfg(unix)]
pub(super) fn heeded_of<const N: usize>(signals: [i32; N]) -> impl Iterator<Item = i32> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default();
    signals.into_iter().filter(move |signal| mask >> (signal - 1) & 1 == 0)
}

/// Folder of a file.
pub(super) fn folder_of(path: &Path) -> &Path {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

/// Follows links to the final path, except links of the system, which name open streams.
///
/// The file may be missing, its folder may not.
pub(super) fn place(path: &Path) -> io::Result<PathBuf> {
    // A path with a slash at its end names a folder, whether or not that exists.
    if path.as_os_str().as_encoded_bytes().last() == Some(&b'/') {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        let name = path.file_name().ok_or(io::ErrorKind::NotFound)?;
        let folder = fs::canonicalize(folder_of(&path))?;
        let here = folder.join(name);
        if is_of_system(&here) {
            return Ok(here);
        }
        match fs::read_link(&here) {
            Ok(next) => path = folder.join(next),
            Err(_) => return Ok(here),
        }
    }
    Err(io::Error::other("too many links"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).expect("a folder");
        let names = entries.map(|entry| entry.expect("an entry").file_name());
        let mut names: Vec<String> = names.map(|name| name.into_string().expect("plain")).collect();
        names.sort();
        names
    }

    /// Whoever opens a file before it has its permissions can read what is written later.
    #[cfg(unix)]
    #[test]
    fn a_private_file_is_private_from_the_beginning() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().expect("a folder");
        let made = Unfinished::beside(folder.path(), true).expect("a file");
        let mode = |file: &File| file.metadata().expect("metadata").permissions().mode() & 0o777;
        assert_eq!(mode(made.file.as_file()), 0o600);
        for permissions in [0o600, 0o640, 0o644] {
            let path = folder.path().join(permissions.to_string());
            fs::write(&path, "old").expect("written");
            fs::set_permissions(&path, fs::Permissions::from_mode(permissions)).expect("set");
            OutputFile::open(&path).expect("it opens").finish().expect("finished");
            assert_eq!(mode(&File::open(&path).expect("a file")), permissions);
        }
    }

    #[test]
    fn the_old_content_stands_until_the_end() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("report.html");
        fs::write(&path, "old").expect("written");
        let mut file = OutputFile::open(&path).expect("it opens");
        file.write_all(b"new").expect("written");
        file.flush().expect("flushed");
        assert_eq!(fs::read(&path).expect("read"), b"old");
        file.finish().expect("finished");
        assert_eq!(fs::read(&path).expect("read"), b"new");
        assert_eq!(names(folder.path()), ["report.html"]);
    }

    #[test]
    fn nothing_is_left_of_what_is_not_finished() {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, old) in [("old", Some("old")), ("new", None)] {
            let path = folder.path().join(name);
            if let Some(old) = old {
                fs::write(&path, old).expect("written");
            }
            let mut file = OutputFile::open(&path).expect("it opens");
            file.write_all(b"half of").expect("written");
            drop(file);
            assert_eq!(fs::read_to_string(&path).ok().as_deref(), old, "{name}");
        }
        assert_eq!(names(folder.path()), ["old"]);
    }

    #[test]
    fn what_cannot_be_a_file_fails_at_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path();
        let kind = |path: PathBuf| OutputFile::open(&path).err().map(|error| error.kind());
        assert_eq!(kind(path.join("missing/file")), Some(io::ErrorKind::NotFound));
        assert_eq!(kind(path.to_owned()), Some(io::ErrorKind::IsADirectory));
        assert_eq!(kind(path.join("missing/")), Some(io::ErrorKind::IsADirectory));
        assert_eq!(kind(PathBuf::new()), Some(io::ErrorKind::NotFound));
        assert!(names(path).is_empty());
    }

    #[test]
    #[cfg(unix)]
    fn links_stay_and_what_they_lead_to_is_replaced() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path();
        fs::create_dir(path.join("elsewhere")).expect("a folder");
        fs::write(path.join("elsewhere/old"), "old").expect("written");
        symlink("elsewhere/old", path.join("link")).expect("a link");
        symlink("link", path.join("link-to-link")).expect("a link");
        symlink("elsewhere/new", path.join("dangling")).expect("a link");
        for (link, target) in [("link-to-link", "elsewhere/old"), ("dangling", "elsewhere/new")] {
            let mut file = OutputFile::open(&path.join(link)).expect("it opens");
            let canonical = fs::canonicalize(path).expect("canonical").join(target);
            assert_eq!(file.place(), Some(canonical.as_path()));
            file.write_all(link.as_bytes()).expect("written");
            file.finish().expect("finished");
            assert!(path.join(link).is_symlink(), "{link}");
            assert_eq!(fs::read_to_string(path.join(target)).expect("read"), link);
        }
        assert_eq!(names(&path.join("elsewhere")), ["new", "old"]);
        symlink("circle", path.join("circle")).expect("a link");
        assert!(OutputFile::open(&path.join("circle")).is_err());
    }

    #[test]
    #[cfg(unix)]
    fn permissions_are_kept_and_new_ones_are_ordinary() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().expect("a folder");
        let mode = |name: &str| {
            let metadata = fs::metadata(folder.path().join(name)).expect("a file");
            metadata.permissions().mode() & 0o7777
        };
        let replace = |name: &str| {
            let file = OutputFile::open(&folder.path().join(name)).expect("it opens");
            file.finish().expect("finished");
        };
        fs::write(folder.path().join("ordinary"), "").expect("written");
        replace("new");
        assert_eq!(mode("new"), mode("ordinary"));
        let narrow = fs::Permissions::from_mode(0o640);
        fs::set_permissions(folder.path().join("ordinary"), narrow).expect("set");
        replace("ordinary");
        assert_eq!(mode("ordinary"), 0o640);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn devices_are_written_directly() {
        for device in ["/dev/null", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"] {
            let Ok(file) = OutputFile::open(Path::new(device)) else {
                eprintln!("skipped: {device} cannot be opened here");
                continue;
            };
            assert!(matches!(file, OutputFile::Direct(_)), "{device}");
            assert_eq!(file.place(), None);
            file.finish().expect("nothing to do");
        }
    }
}
