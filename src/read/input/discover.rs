//! Discovery of input files: each path once, in an order that does not depend on the file system.
//!
//! Sources of bytes: plain, gzip or Zstandard files, and standard input.

use std::collections::HashSet;
use std::fs::{File, Metadata};
use std::io::Read;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

use walkdir::WalkDir;

use super::bounds::{Bounded, Packed, is_of_system, special};
use super::{Diagnostics, Inside, Kind, Unpacked};
use crate::base::Order as _;

/// Largest window of a Zstandard file, in bytes: the default limit of its own program.
const LARGEST_WINDOW: u64 = 128 << 20;

/// Input files that were found.
#[derive(Debug, Default)]
pub struct Discovered {
    /// Files in the order of the given paths, those of a folder by name.
    pub sources: Vec<Source>,
    /// Paths that could not be read.
    pub diagnostics: Diagnostics,
}

/// Identity of a file, whichever path leads to it.
#[derive(Debug, PartialEq, Eq, Hash)]
enum Identity {
    /// Device, and inode number there.
    #[cfg(unix)]
    Node(u64, u64),
    /// Path, without links if the system knows it.
    Path(PathBuf),
}

impl Identity {
    #[cfg(unix)]
    fn of(path: &Path, metadata: Option<&Metadata>) -> Self {
        use std::os::unix::fs::MetadataExt;
        metadata.map_or_else(
            || Self::Path(path.to_owned()),
            |metadata| Self::Node(metadata.dev(), metadata.ino()),
        )
    }

    #[cfg(not(unix))]
    fn of(path: &Path, _: Option<&Metadata>) -> Self {
        Self::Path(fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()))
    }
}

/// Deepest folder below the one that is given. Clients nest their sessions up to six folders deep.
pub(crate) const MOST_DEPTH: usize = 100;

/// Folders that a walk has entered, each of which it enters once: links may lead to one by many ways.
#[derive(Debug, Default)]
pub(crate) struct Entered(HashSet<Identity>);

impl Entered {
    /// Notes a folder, and returns true if it is new.
    pub(crate) fn enter(&mut self, folder: &walkdir::DirEntry) -> bool {
        self.0.insert(Identity::of(folder.path(), folder.metadata().ok().as_ref()))
    }
}

/// Files and folders that were found so far, and the folders that more may be in.
struct Seen<'a> {
    files: HashSet<Identity>,
    folders: Entered,
    inside: &'a Inside,
}

impl<'a> Seen<'a> {
    fn of(inside: &'a Inside) -> Self {
        Self { files: HashSet::new(), folders: Entered::default(), inside }
    }
}

/// Finds the input files at `paths`.
///
/// A file is itself, a folder is walked for `*.jsonl`, `*.jsonl.gz`, `*.jsonl.zst`, for sessions that were put aside,
/// and for JSON documents, databases and tables that may be sessions or logs, and `-` is standard input. A file
/// reached by two ways is taken once. Anything that is neither a file nor a pipe is reported and left out, and
/// folders of the kernel are not walked.
///
/// Files are read in the order of their names, in whichever order they are given: between things
/// that are otherwise equal, and between bundles of one session, the first file decides.
pub fn discover(paths: &[PathBuf]) -> Discovered {
    discover_inside(paths, &Inside::default())
}

/// Finds files as [`discover`] does, but reports and leaves out those outside the folders.
pub fn discover_inside(paths: &[PathBuf], inside: &Inside) -> Discovered {
    let mut discovered = Discovered::default();
    let mut seen = Seen::of(inside);
    // By name, so that the output does not depend on the order of the arguments.
    let mut paths: Vec<&PathBuf> = paths.iter().collect();
    paths.order();
    for path in paths {
        if path.as_os_str() == "-" {
            if seen.files.insert(Identity::Path(path.clone())) {
                discovered.sources.push(Source {
                    label: "-".into(),
                    location: Location::StandardInput,
                    size: 0,
                    may_be_other: false,
                });
            }
        } else if path.is_dir() {
            discovered.walk(path, path, &mut seen);
        } else {
            // For a missing file the whole path shows which one was meant.
            let name = path.file_name().filter(|_| path.exists());
            let label = name.map_or_else(|| path.display().to_string(), lossy);
            discovered.file(path.clone(), label, false, &mut seen);
        }
    }
    discovered
}

/// Path that does not lead below the root.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("{} does not lead below {}", path.display(), root.display())]
pub struct OutsideRoot {
    /// Path, joined to the root.
    pub path: PathBuf,
    /// Root that it should be below.
    pub root: PathBuf,
}

/// Finds files at paths below a root, to which relative paths are joined.
///
/// Every file is called by its path below the root, and they are read in the order of these labels, byte by byte, so
/// that some of the files have the same names and order as among all. A path is a name and nothing else: `-` is a
/// file. Listed files are taken as those of a folder are. Files outside the folders of `inside` are reported and left
/// out.
///
/// # Errors
/// The first path that leads elsewhere.
pub fn discover_below(
    root: &Path,
    paths: &[PathBuf],
    inside: &Inside,
) -> Result<Discovered, OutsideRoot> {
    let mut discovered = Discovered::default();
    let mut seen = Seen::of(inside);
    let mut paths: Vec<PathBuf> = paths.iter().map(|path| root.join(path)).collect();
    paths.order();
    for path in paths {
        let below = path.strip_prefix(root).ok();
        let is_below = below.is_some_and(|below| {
            below.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
        });
        if !is_below {
            return Err(OutsideRoot { path, root: root.to_owned() });
        }
        if path.is_dir() {
            discovered.walk(root, &path, &mut seen);
        } else {
            let label = relative_label(root, &path);
            // A listed file was meant as a session, unless its ending is one that other files have, too.
            let may_be_other = is_session_name(&label) && !is_transcript_name(&label);
            discovered.file(path, label, may_be_other, &mut seen);
        }
    }
    discovered.sources.order_by(|one, other| one.label.cmp(&other.label));
    Ok(discovered)
}

impl Discovered {
    /// Walks a folder; labels are relative to `root`.
    fn walk(&mut self, root: &Path, folder: &Path, seen: &mut Seen<'_>) {
        let walk = WalkDir::new(folder).follow_links(true).sort_by_file_name();
        let mut entries = walk.into_iter();
        while let Some(entry) = entries.next() {
            match entry {
                Ok(entry) if entry.file_type().is_dir() => {
                    // A link in somebody else's folder may lead to any file of the machine.
                    if entry.path_is_symlink() && !seen.inside.has(entry.path()) {
                        self.leave_outside(&relative_label(root, entry.path()).into());
                        entries.skip_current_dir();
                    } else if fs::canonicalize(entry.path()).is_ok_and(|path| is_of_system(&path)) {
                        let label = relative_label(root, entry.path()).into();
                        self.leave(&label, "it is a folder of the kernel's; it is not walked");
                        entries.skip_current_dir();
                    } else if entry.depth() >= MOST_DEPTH {
                        let label = relative_label(root, entry.path()).into();
                        let why = format!("it is {MOST_DEPTH} folders deep; it is not walked");
                        self.leave(&label, why);
                        entries.skip_current_dir();
                    } else if !seen.folders.enter(&entry) {
                        entries.skip_current_dir();
                    }
                }
                Ok(entry) if entry.file_name().to_str().is_some_and(is_session_name) => {
                    let name = entry.file_name().to_string_lossy();
                    let may_be_other = !is_transcript_name(&name);
                    let label = relative_label(root, entry.path());
                    // Opening a pipe blocks until somebody writes to it.
                    if entry.metadata().is_ok_and(|metadata| is_pipe(&metadata)) {
                        self.leave(
                            &label.into(),
                            "it is a pipe; it is read only where it is named",
                        );
                    } else {
                        self.file(entry.into_path(), label, may_be_other, seen);
                    }
                }
                Ok(_) => {}
                Err(error) => self.walk_error(root, &error),
            }
        }
    }

    /// Reports a path that is not read.
    fn leave(&mut self, label: &Arc<str>, why: impl Into<String>) {
        self.diagnostics.add(Kind::SpecialFile, label, 0, why);
    }

    fn leave_outside(&mut self, label: &Arc<str>) {
        let detail = "it leads out of the folders in which files may be read; it is not followed";
        self.diagnostics.add(Kind::LinkOutside, label, 0, detail);
    }

    fn walk_error(&mut self, root: &Path, error: &walkdir::Error) {
        let label: Arc<str> =
            error.path().map_or_else(|| "?".to_owned(), |path| relative_label(root, path)).into();
        if error.loop_ancestor().is_some() {
            let detail = "the link leads back to a folder it is in; it is not followed";
            self.diagnostics.add(Kind::SymlinkLoop, &label, 0, detail);
        } else {
            let reason = error.io_error().map(ToString::to_string).unwrap_or_default();
            self.diagnostics.add(Kind::UnreadableFile, &label, 0, reason);
        }
    }

    fn file(&mut self, path: PathBuf, label: String, may_be_other: bool, seen: &mut Seen<'_>) {
        // Checked first: a link from outside of the folders must not hide the same file in them.
        if !seen.inside.has(&path) {
            return self.leave_outside(&label.into());
        }
        let metadata = fs::metadata(&path).ok();
        if !seen.files.insert(Identity::of(&path, metadata.as_ref())) {
            return;
        }
        // A pipe in a folder could hold up a program that reads for others.
        if seen.inside.is_bounded() && metadata.as_ref().is_some_and(is_pipe) {
            return self
                .leave(&label.into(), "it is a pipe; inside of folders only files are read");
        }
        if let Some(what) = metadata.as_ref().and_then(|metadata| special(&path, metadata)) {
            return self.leave(&label.into(), format!("it is {what}; give a file, a pipe or -"));
        }
        let size = metadata.map_or(0, |metadata| metadata.len());
        let location = Location::File(path);
        self.sources.push(Source { label: label.into(), location, size, may_be_other });
    }
}

#[cfg(unix)]
fn is_pipe(metadata: &Metadata) -> bool {
    std::os::unix::fs::FileTypeExt::is_fifo(&metadata.file_type())
}

#[cfg(not(unix))]
fn is_pipe(_: &Metadata) -> bool {
    false
}

fn lossy(name: &std::ffi::OsStr) -> String {
    name.to_string_lossy().into_owned()
}

fn relative_label(root: &Path, path: &Path) -> String {
    let relative = path.strip_prefix(root).unwrap_or(path);
    let parts: Vec<_> = relative.components().map(|part| lossy(part.as_os_str())).collect();
    if parts.is_empty() { ".".to_owned() } else { parts.join("/") }
}

/// Input file.
#[derive(Clone, Debug)]
pub struct Source {
    /// Name to show: relative to the path that was given, with `/` between its parts.
    pub label: Arc<str>,
    /// Location of the bytes.
    pub location: Location,
    /// Bytes on disk; 0 if unknown.
    pub size: u64,
    /// True for a file of a folder whose ending other files have, too. If it is not a session, it is left out silently.
    pub may_be_other: bool,
}

/// Location of the bytes of a source.
#[derive(Clone, Debug)]
pub enum Location {
    /// File, compressed or not, as its ending says.
    File(PathBuf),
    /// Standard input.
    StandardInput,
    /// Bytes in memory, not compressed.
    Memory(Arc<[u8]>),
}

/// Number of folders of a file that are looked at.
const MOST_FOLDERS: usize = 6;

/// Compression of a file's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Compression {
    None,
    Gzip,
    Zstandard,
}

/// Returns true if a folder's file is an input by its name.
pub(super) fn is_transcript_name(name: &str) -> bool {
    let name = name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst")).unwrap_or(name);
    name.strip_suffix(".jsonl").is_some_and(|stem| !stem.is_empty())
}

/// Endings of files that may be inputs, but often are something else.
const OTHER_ENDINGS: [&str; 5] = [".json", ".db", ".har", ".csv", ".parquet"];

/// Marks between the ending and the time in the name of a session that `OpenClaw` has put aside.
const PUT_ASIDE: [&str; 2] = [".reset.", ".deleted."];

/// Name of a session before it was put aside; `None` if it was not.
fn name_before(name: &str) -> Option<&str> {
    let before = PUT_ASIDE.iter().find_map(|mark| Some(name.rsplit_once(mark)?.0));
    before.filter(|before| before.strip_suffix(".jsonl").is_some_and(|stem| !stem.is_empty()))
}

/// Returns true if a folder's file may be an input by its name.
fn is_session_name(name: &str) -> bool {
    let ends = |ending| name.strip_suffix(ending).is_some_and(|stem: &str| !stem.is_empty());
    let is_packed_document = || ends(".json.gz") || ends(".json.zst");
    is_transcript_name(name)
        || name_before(name).is_some()
        || OTHER_ENDINGS.iter().any(|ending| ends(ending))
        || is_packed_document()
}

impl Source {
    /// Source with its bytes in memory.
    pub fn in_memory(label: &str, bytes: &[u8]) -> Self {
        Self {
            label: label.into(),
            location: Location::Memory(bytes.into()),
            size: bytes.len() as u64,
            may_be_other: false,
        }
    }

    /// Returns true if the source is the file at a path without links.
    pub fn is_file(&self, real: &Path) -> bool {
        let Location::File(path) = &self.location else { return false };
        fs::canonicalize(path).is_ok_and(|path| path == real)
    }

    /// Opens the source. Reading ends with an [`Exceeded`](super::Exceeded) at a limit.
    ///
    /// # Errors
    /// The system cannot open the file.
    pub(crate) fn open(&self) -> io::Result<Box<dyn Read + Send>> {
        let path = match &self.location {
            Location::File(path) => path,
            Location::StandardInput => return Ok(Box::new(Bounded::new(io::stdin(), None))),
            Location::Memory(bytes) => return Ok(Box::new(io::Cursor::new(Arc::clone(bytes)))),
        };
        let file = File::open(path)?;
        let packed = Packed::new(self.size);
        Ok(match compression(path) {
            Compression::None => Box::new(Bounded::new(file, None)),
            Compression::Gzip => {
                let unpacked = flate2::read::MultiGzDecoder::new(packed.count(file));
                Box::new(Bounded::new(unpacked, Some(packed)))
            }
            Compression::Zstandard => {
                let unpacked = Unpacked::new(packed.count(file), LARGEST_WINDOW);
                Box::new(Bounded::new(unpacked, Some(packed)))
            }
        })
    }

    /// Returns true if the source can be opened once only, as standard input and pipes.
    pub fn is_read_once(&self) -> bool {
        match &self.location {
            Location::File(path) => fs::metadata(path).is_ok_and(|metadata| is_pipe(&metadata)),
            Location::StandardInput => true,
            Location::Memory(_) => false,
        }
    }

    /// Returns true if the name is that of a table of text.
    pub(crate) fn is_table(&self) -> bool {
        self.label.ends_with(".csv")
    }

    /// Returns true for a file that begins with text, so is neither a database nor a table in columns.
    pub(crate) fn begins_with_text(&self) -> bool {
        let first = self.seekable().and_then(|path| {
            let mut first = [0];
            File::open(path).ok()?.read_exact(&mut first).ok()?;
            Some(first[0])
        });
        first.is_some_and(|byte| matches!(byte, b'{' | b'[' | b'"' | b' ' | b'\n' | 0xef))
    }

    /// File that can be read from any place: no pipe, not compressed.
    pub(crate) fn seekable(&self) -> Option<&Path> {
        let Location::File(path) = &self.location else { return None };
        let is_plain = compression(path) == Compression::None && !self.is_read_once();
        is_plain.then_some(path)
    }

    /// Names of the folders that a file is in, the nearest first.
    pub(crate) fn folders(&self) -> Vec<String> {
        let Location::File(path) = &self.location else { return Vec::new() };
        let folders = path.ancestors().skip(1).filter_map(Path::file_name);
        folders.take(MOST_FOLDERS).map(lossy).collect()
    }

    /// Name without folders and endings, which identifies a session or an agent.
    pub fn stem(&self) -> &str {
        let name = self.label.rsplit('/').next().unwrap_or(&self.label);
        let name = name_before(name).unwrap_or(name);
        let name = name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst")).unwrap_or(name);
        let mut endings = std::iter::once(".jsonl").chain(OTHER_ENDINGS);
        endings.find_map(|ending| name.strip_suffix(ending)).unwrap_or(name)
    }
}

fn compression(path: &Path) -> Compression {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("gz") => Compression::Gzip,
        Some("zst") => Compression::Zstandard,
        _ => Compression::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(discovered: &Discovered) -> Vec<&str> {
        discovered.sources.iter().map(|source| &*source.label).collect()
    }

    /// Two links in each of 40 folders lead to the last one by 2^40 ways.
    #[cfg(unix)]
    #[test]
    fn links_that_fan_out_are_followed_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |number: usize| folder.path().join(number.to_string());
        (0..=40).for_each(|number| fs::create_dir(at(number)).expect("a folder"));
        for number in 0..40 {
            for name in ["a", "b"] {
                let to = at(number + 1);
                std::os::unix::fs::symlink(to, at(number).join(name)).expect("a link");
            }
        }
        fs::write(at(40).join("s.jsonl"), "").expect("a file");
        let found = discover(&[folder.path().to_owned()]);
        assert_eq!((found.sources.len(), found.diagnostics.examples().len()), (1, 0));
    }

    #[test]
    fn what_is_too_deep_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let deep = |levels: usize| folder.path().join(["d"; 200][..levels].join("/"));
        fs::create_dir_all(deep(200)).expect("folders");
        for levels in [MOST_DEPTH - 1, MOST_DEPTH] {
            fs::write(deep(levels).join("s.jsonl"), levels.to_string()).expect("a file");
        }
        let found = discover(&[folder.path().to_owned()]);
        assert_eq!(found.sources.len(), 1, "{found:?}");
        assert_eq!(found.diagnostics.count(Kind::SpecialFile), 1);
    }

    #[test]
    fn folders_are_walked_in_order_and_files_taken_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        fs::create_dir(root.join("b")).expect("a folder");
        for name in ["b/2.jsonl.gz", "a.jsonl", "b/1.jsonl", "notes.txt"] {
            fs::write(root.join(name), "").expect("a file");
        }
        let discovered = discover(&[root.to_owned(), root.join("a.jsonl")]);
        assert_eq!(labels(&discovered), ["a.jsonl", "b/1.jsonl", "b/2.jsonl.gz"]);
        let turned = discover(&[root.join("b"), root.join("a.jsonl"), root.to_owned()]);
        assert_eq!(labels(&turned), labels(&discovered));
    }

    #[cfg(unix)]
    #[test]
    fn a_loop_of_links_is_named_and_left() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("a.jsonl"), "").expect("a file");
        std::os::unix::fs::symlink(folder.path(), folder.path().join("loop")).expect("a link");
        let discovered = discover(&[folder.path().to_owned()]);
        assert_eq!(labels(&discovered), ["a.jsonl"]);
        assert_eq!(discovered.diagnostics.count(Kind::SymlinkLoop), 1);
    }

    #[cfg(unix)]
    #[test]
    fn links_out_of_the_folders_are_named_and_left() {
        use std::os::unix::fs::symlink;

        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("in/deep")).expect("folders");
        fs::create_dir(at("out")).expect("a folder");
        for name in ["in/a.jsonl", "out/b.jsonl", "out/c.jsonl"] {
            fs::write(at(name), "").expect("a file");
        }
        symlink(at("out/b.jsonl"), at("in/deep/b.jsonl")).expect("a link");
        symlink(at("out"), at("in/other")).expect("a link");
        // One file by two names: a link from outside of the folder hides no file in it.
        fs::hard_link(at("in/a.jsonl"), at("out/a.jsonl")).expect("a name");
        symlink(at("out/a.jsonl"), at("in/0.jsonl")).expect("a link");
        let inside = Inside::of(&[at("in")]).expect("a folder");
        let both = [
            discover_inside(&[at("in")], &inside),
            discover_below(folder.path(), &[at("in")], &inside).expect("below"),
        ];
        for (discovered, label) in both.iter().zip(["a.jsonl", "in/a.jsonl"]) {
            assert_eq!(labels(discovered), [label]);
            assert_eq!(discovered.diagnostics.count(Kind::LinkOutside), 3);
        }
        assert_eq!(
            discover(&[at("in")]).sources.len(),
            3,
            "otherwise they are followed, each file once"
        );
        assert!(discover_inside(&[at("out"), at("out/b.jsonl")], &inside).sources.is_empty());
    }

    #[test]
    fn a_missing_file_is_left_to_the_reader_to_name() {
        let discovered = discover(&[PathBuf::from("no/such/file.jsonl")]);
        assert_eq!(labels(&discovered), ["no/such/file.jsonl"]);
    }

    #[test]
    fn files_below_a_root_are_called_and_ordered_by_their_paths_below_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        fs::create_dir(root.join("a")).expect("a folder");
        for name in ["a/1.jsonl", "a.jsonl", "-"] {
            fs::write(root.join(name), "").expect("a file");
        }
        let listed = ["a", "-", "./a.jsonl"].map(PathBuf::from);
        let discovered = discover_below(root, &listed, &Inside::default()).expect("below");
        assert_eq!(labels(&discovered), ["-", "a.jsonl", "a/1.jsonl"]);
        let absolute = discover_below(root, &[root.join("a")], &Inside::default()).expect("below");
        assert_eq!(labels(&absolute), ["a/1.jsonl"]);
        for path in ["../b.jsonl", "a/../../b.jsonl", "/b.jsonl"] {
            assert!(discover_below(root, &[path.into()], &Inside::default()).is_err(), "{path}");
        }
    }

    #[test]
    fn databases_are_found_in_folders_without_what_lies_beside_them() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["a.db", "a.db-wal", "a.db-shm", "a.db-journal", ".db"] {
            fs::write(folder.path().join(name), "").expect("a file");
        }
        let discovered = discover(&[folder.path().to_owned()]);
        assert_eq!(labels(&discovered), ["a.db"]);
        assert_eq!((discovered.sources[0].stem(), discovered.sources[0].may_be_other), ("a", true));
    }

    #[test]
    fn sessions_that_were_put_aside_are_found_by_the_name_that_they_had() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in [
            "a.jsonl.reset.2026-09-21T14-13-25.000Z",
            "b.jsonl.deleted.1790000000",
            "c.json.reset.1",
            "d.jsonl.bak",
            ".jsonl.reset.1",
        ] {
            fs::write(folder.path().join(name), "").expect("a file");
        }
        let discovered = discover(&[folder.path().to_owned()]);
        let found: Vec<_> =
            discovered.sources.iter().map(|one| (one.stem(), one.may_be_other)).collect();
        assert_eq!(found, [("a", true), ("b", true)]);
    }

    #[test]
    fn transcripts_are_known_by_their_ending() {
        for name in ["a.jsonl", "a.jsonl.gz", "a.b.jsonl.zst"] {
            assert!(is_transcript_name(name), "{name}");
        }
        for name in [".jsonl", "a.json", "a.jsonl.bak", "a.meta.json", "jsonl"] {
            assert!(!is_transcript_name(name), "{name}");
        }
    }
}
