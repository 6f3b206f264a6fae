//! List of paths, for `--paths-from`.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use crate::base::ByKey;

/// Paths of a list, with the versions that it gives for some.
#[derive(Debug, Default)]
pub(super) struct Listed {
    pub(super) paths: Vec<PathBuf>,
    pub(super) versions: ByKey<PathBuf, String>,
}

impl Listed {
    /// Parses a list with one path a line, each possibly followed by a tab and a version, such as an `ETag`.
    ///
    /// With NUL between them, entries are nothing but paths.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, String> {
        // Some editors put a byte order mark before a text.
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let are_lines = !bytes.contains(&0);
        let separator = if are_lines { b'\n' } else { 0 };
        let mut listed = Self::default();
        for (number, entry) in bytes.split(|byte| *byte == separator).enumerate() {
            if entry.is_empty() {
                continue;
            }
            // A file name may end in CR, so it is not removed on a guess.
            if are_lines && entry.ends_with(b"\r") {
                return Err(format!(
                    "line {} ends in CR and LF; write LF alone, or NUL between paths",
                    number + 1
                ));
            }
            let tab = entry.iter().position(|byte| are_lines && *byte == b'\t');
            let path = path_of(&entry[..tab.unwrap_or(entry.len())]);
            if let Some(tab) = tab {
                let version = String::from_utf8_lossy(&entry[tab + 1..]).into_owned();
                let other = listed.versions.insert(plain(&path), version.clone());
                if other.is_some_and(|other| other != version) {
                    return Err(format!(
                        "line {}: {} has another version before",
                        number + 1,
                        path.display()
                    ));
                }
            }
            listed.paths.push(path);
        }
        Ok(listed)
    }
}

/// Path without `.` in it.
fn plain(path: &Path) -> PathBuf {
    path.components().filter(|part| *part != Component::CurDir).collect()
}

/// Path as a list has it, never standard input.
fn path_of(bytes: &[u8]) -> PathBuf {
    #[cfg(unix)]
    let path = <OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(bytes);
    #[cfg(not(unix))]
    let text = String::from_utf8_lossy(bytes.strip_suffix(b"\r").unwrap_or(bytes));
    #[cfg(not(unix))]
    let path = OsStr::new(&*text);
    if path == "-" { Path::new(".").join(path) } else { PathBuf::from(path) }
}
