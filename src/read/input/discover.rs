//! Paths → input files, each once, in an order that does not depend on the file system.
//!
//! Where bytes come from: plain, gzip or Zstandard files, and standard input.

use std::collections::HashSet;
use std::fs::{File, Metadata};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

use walkdir::WalkDir;

use super::{Diagnostics, Kind};

/// The input files found.
#[derive(Debug, Default)]
pub struct Discovered {
    /// Files in the order of the given paths, those of a folder by name.
    pub sources: Vec<Source>,
    /// Paths that could not be read.
    pub diagnostics: Diagnostics,
}

/// What a file is known by, whichever path leads to it.
#[derive(Debug, PartialEq, Eq, Hash)]
enum Identity {
    /// Its device and its number there.
    #[cfg(unix)]
    Node(u64, u64),
    /// Its path, without links where the system knows it.
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

/// Finds the files after `paths`: a file is itself, a folder is walked for `*.jsonl`, `*.jsonl.gz`
/// and `*.jsonl.zst`, and `-` is standard input. A file reached by two ways is taken once.
///
/// They are read in the order of their names, in whichever order they are given: between things that
/// are otherwise equal, and between bundles of one session, the first file decides.
#[must_use]
pub fn discover(paths: &[PathBuf]) -> Discovered {
    let mut discovered = Discovered::default();
    let mut seen = HashSet::new();
    let mut paths: Vec<&PathBuf> = paths.iter().collect();
    paths.sort();
    for path in paths {
        if path.as_os_str() == "-" {
            if seen.insert(Identity::Path(path.clone())) {
                discovered.sources.push(Source {
                    label: "-".into(),
                    location: Location::StandardInput,
                    size: 0,
                });
            }
        } else if path.is_dir() {
            discovered.walk(path, &mut seen);
        } else {
            // Of a file that is not there the whole path says which was meant.
            let name = path.file_name().filter(|_| path.exists());
            let label = name.map_or_else(|| path.display().to_string(), lossy);
            discovered.file(path.clone(), label, &mut seen);
        }
    }
    discovered
}

impl Discovered {
    fn walk(&mut self, root: &Path, seen: &mut HashSet<Identity>) {
        for entry in WalkDir::new(root).follow_links(true).sort_by_file_name() {
            match entry {
                Ok(entry) => {
                    let is_input = entry.file_type().is_file()
                        && entry.file_name().to_str().is_some_and(is_transcript_name);
                    if is_input {
                        let label = relative_label(root, entry.path());
                        self.file(entry.into_path(), label, seen);
                    }
                }
                Err(error) => self.walk_error(root, &error),
            }
        }
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

    fn file(&mut self, path: PathBuf, label: String, seen: &mut HashSet<Identity>) {
        let metadata = fs::metadata(&path).ok();
        if !seen.insert(Identity::of(&path, metadata.as_ref())) {
            return;
        }
        let size = metadata.map_or(0, |metadata| metadata.len());
        self.sources.push(Source { label: label.into(), location: Location::File(path), size });
    }
}

fn lossy(name: &std::ffi::OsStr) -> String {
    name.to_string_lossy().into_owned()
}

fn relative_label(root: &Path, path: &Path) -> String {
    let relative = path.strip_prefix(root).unwrap_or(path);
    let parts = relative.components().map(|part| without_home(lossy(part.as_os_str())));
    let parts: Vec<_> = parts.collect();
    if parts.is_empty() { ".".to_owned() } else { parts.join("/") }
}

/// The name of a folder of Claude Code, without the user's home in it. The client names the folder of a
/// project after its path, with `-` in place of every other character but letters and digits.
fn without_home(folder: String) -> String {
    let own = std::env::home_dir().map(|home| {
        let dashed = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        home.to_string_lossy().chars().map(dashed).collect::<String>()
    });
    let own = own.filter(|home| home.len() > 1 && folder.starts_with(home.as_str()));
    let length = own.map(|home| home.len()).or_else(|| {
        let homes = ["-home-", "-Users-", "C--Users-"];
        let begin = homes.iter().find(|home| folder.starts_with(**home))?.len();
        Some(folder[begin..].find('-').map_or(folder.len(), |name| begin + name))
    });
    match length.map(|length| &folder[length..]) {
        Some(rest) if rest.is_empty() || rest.starts_with('-') => format!("~{rest}"),
        _ => folder,
    }
}

/// An input file.
#[derive(Clone, Debug)]
pub struct Source {
    /// The name shown: relative to the path that was given, `/` between its parts.
    pub label: Arc<str>,
    /// Where to read.
    pub location: Location,
    /// Bytes on disk; 0 where unknown.
    pub size: u64,
}

/// A place to read from.
#[derive(Clone, Debug)]
pub enum Location {
    /// A file, compressed or not, as its ending says.
    File(PathBuf),
    /// Standard input.
    StandardInput,
    /// Bytes in memory, not compressed.
    Memory(Arc<[u8]>),
}

/// How a file's bytes are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Compression {
    None,
    Gzip,
    Zstandard,
}

/// Whether a folder's file is an input by its name.
pub(super) fn is_transcript_name(name: &str) -> bool {
    let name = name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst")).unwrap_or(name);
    name.strip_suffix(".jsonl").is_some_and(|stem| !stem.is_empty())
}

impl Source {
    /// A source whose bytes are at hand.
    #[must_use]
    pub fn in_memory(label: &str, bytes: &[u8]) -> Self {
        Self {
            label: label.into(),
            location: Location::Memory(bytes.into()),
            size: bytes.len() as u64,
        }
    }

    /// Opens the source.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn open(&self) -> io::Result<Box<dyn Read + Send>> {
        let path = match &self.location {
            Location::File(path) => path,
            Location::StandardInput => return Ok(Box::new(io::stdin())),
            Location::Memory(bytes) => return Ok(Box::new(io::Cursor::new(Arc::clone(bytes)))),
        };
        let file = File::open(path)?;
        Ok(match compression(path) {
            Compression::None => Box::new(file),
            Compression::Gzip => Box::new(flate2::read::MultiGzDecoder::new(file)),
            Compression::Zstandard => Box::new(zstd::Decoder::new(file)?),
        })
    }

    /// The name without folders and endings, by which a session or an agent is known.
    #[must_use]
    pub fn stem(&self) -> &str {
        let name = self.label.rsplit('/').next().unwrap_or(&self.label);
        let name = name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst")).unwrap_or(name);
        name.strip_suffix(".jsonl").unwrap_or(name)
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

    #[test]
    fn homes_are_in_no_label() {
        for (folder, label) in [
            ("-home-ann-work-app", "~-work-app"),
            ("-Users-ann", "~"),
            ("C--Users-ann-app", "~-app"),
            ("-srv-home-app", "-srv-home-app"),
            ("home", "home"),
            ("-home-", "~"),
        ] {
            let path = Path::new("/p").join(folder).join("s.jsonl");
            assert_eq!(relative_label(Path::new("/p"), &path), format!("{label}/s.jsonl"));
        }
        let Some(home) = std::env::home_dir() else { return };
        let dashed = home.to_string_lossy().replace(|c: char| !c.is_ascii_alphanumeric(), "-");
        assert_eq!(without_home(format!("{dashed}-app")), "~-app");
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

    #[test]
    fn a_missing_file_is_left_to_the_reader_to_name() {
        let discovered = discover(&[PathBuf::from("no/such/file.jsonl")]);
        assert_eq!(labels(&discovered), ["no/such/file.jsonl"]);
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
