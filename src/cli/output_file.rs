//! Output files: what stands under a name is replaced as a whole, or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// Links are followed as far as Linux follows them.
const MOST_LINKS: usize = 40;

/// Folders whose files are devices, or the program's own streams.
const SYSTEM_FOLDERS: [&str; 2] = ["/dev", "/proc"];

/// Of those the one whose files are ordinary ones.
const SHARED_MEMORY: &str = "/dev/shm";

/// An output file. Until [`OutputFile::finish`] the old content stands; without it, it stays.
pub(super) enum OutputFile {
    /// A device, a pipe or a stream of this program: it has no content to replace.
    Direct(File),
    /// A file beside the one that it is going to replace.
    Replacement(NamedTempFile, PathBuf),
}

impl OutputFile {
    /// Opens a file, and fails where it could not be replaced later.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let old = match OpenOptions::new().append(true).open(path) {
            Ok(file) => Some(file),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let place = place(path)?;
        let permissions = match old {
            Some(file) if is_of_system(&place) => return Ok(Self::Direct(file)),
            Some(file) => match file.metadata() {
                Ok(metadata) if metadata.is_file() => Some(metadata.permissions()),
                _ => return Ok(Self::Direct(file)),
            },
            None => None,
        };
        let folder = place.parent().unwrap_or(Path::new("."));
        let file = beside(folder)?;
        if let Some(permissions) = permissions {
            file.as_file().set_permissions(permissions)?;
        }
        Ok(Self::Replacement(file, place))
    }

    /// The file that is replaced, without links; `None` of what is written directly.
    pub(super) fn place(&self) -> Option<&Path> {
        match self {
            Self::Direct(_) => None,
            Self::Replacement(_, place) => Some(place),
        }
    }

    /// Puts what was written in the place of what was there.
    pub(super) fn finish(mut self) -> io::Result<()> {
        self.flush()?;
        match self {
            Self::Direct(_) => Ok(()),
            Self::Replacement(file, place) => Ok(file.persist(place).map(|_| ())?),
        }
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Direct(file) => file.write(bytes),
            Self::Replacement(file, _) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Direct(file) => file.flush(),
            Self::Replacement(file, _) => file.flush(),
        }
    }
}

/// A temporary file with the permissions of an ordinary new one, under a name that no command takes
/// for an input.
fn beside(folder: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".cachesim-").suffix(".tmp");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    // The name of the temporary file says nothing to the user.
    builder.tempfile_in(folder).map_err(|error| error.kind().into())
}

/// Where a path leads: through links, but not through those of the system, which name open streams.
/// The file at the end may be missing, its folder may not.
fn place(path: &Path) -> io::Result<PathBuf> {
    // Names a folder, whether it is there or not.
    if path.as_os_str().as_encoded_bytes().last() == Some(&b'/') {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        let name = path.file_name().ok_or(io::ErrorKind::NotFound)?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = fs::canonicalize(folder.unwrap_or(Path::new(".")))?;
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

fn is_of_system(place: &Path) -> bool {
    SYSTEM_FOLDERS.iter().any(|folder| place.starts_with(folder))
        && !place.starts_with(SHARED_MEMORY)
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
