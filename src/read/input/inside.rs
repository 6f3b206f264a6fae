//! Boundary of reading: the folders that files may be in.

use std::path::{Path, PathBuf};
use std::{fs, io};

/// Folders that all files must be in, whichever path or link leads there. Without any, everything is inside.
#[derive(Clone, Debug, Default)]
pub struct Inside(Vec<PathBuf>);

impl Inside {
    /// Boundary of these folders.
    ///
    /// # Errors
    /// The first folder that is missing, or that is no folder.
    pub fn of(folders: &[PathBuf]) -> Result<Self, (PathBuf, io::Error)> {
        let whole = |folder: &PathBuf| {
            let whole = fs::canonicalize(folder).and_then(|whole| {
                if whole.is_dir() { Ok(whole) } else { Err(io::ErrorKind::NotADirectory.into()) }
            });
            whole.map_err(|error| (folder.clone(), error))
        };
        folders.iter().map(whole).collect::<Result<_, _>>().map(Self)
    }

    /// Folders, from the root of the file system and without links.
    pub fn folders(&self) -> &[PathBuf] {
        &self.0
    }

    /// Returns true if anything is outside.
    pub(super) fn is_bounded(&self) -> bool {
        !self.0.is_empty()
    }

    /// Returns true if a path leads into the folders. A missing one is judged by its existing part and its names.
    pub fn has(&self, path: &Path) -> bool {
        let leads_into = |path: &Path| self.0.iter().any(|folder| path.starts_with(folder));
        self.0.is_empty() || whole(path).is_some_and(|path| leads_into(&path))
    }
}

/// Path without links: of a missing one, its existing part and then the names.
fn whole(path: &Path) -> Option<PathBuf> {
    match fs::canonicalize(path) {
        Ok(whole) => Some(whole),
        // A broken link leads nowhere known, so it counts as outside.
        Err(_) if path.is_symlink() => None,
        Err(_) => {
            let name = path.file_name()?;
            let folder = path.parent().filter(|folder| *folder != Path::new(""));
            Some(whole(folder.unwrap_or(Path::new(".")))?.join(name))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn neither_paths_nor_links_lead_outside() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("in/deep")).expect("folders");
        fs::create_dir(at("inner")).expect("a folder");
        fs::write(at("in/a.jsonl"), "").expect("a file");
        fs::write(at("out.jsonl"), "").expect("a file");
        let link = |to: &str, from: &str| {
            std::os::unix::fs::symlink(at(to), at(from)).expect("a link");
        };
        link("out.jsonl", "in/out.jsonl");
        link("in/a.jsonl", "in/deep/a.jsonl");
        link("in/a.jsonl", "to-a.jsonl");
        link("nothing", "in/nothing.jsonl");
        link("in", "other-name");
        let inside = Inside::of(&[at("other-name")]).expect("a folder");
        for path in [
            "in",
            "in/a.jsonl",
            "in/deep/a.jsonl",
            "to-a.jsonl",
            "in/missing.jsonl",
            "in/deep/../a.jsonl",
            "other-name/not/there",
        ] {
            assert!(inside.has(&at(path)), "{path}");
        }
        for path in [
            "",
            "inner",
            "out.jsonl",
            "in/out.jsonl",
            "in/../out.jsonl",
            "in/nothing.jsonl",
            "in/deep/../../missing",
            "inner/missing.jsonl",
        ] {
            assert!(!inside.has(&at(path)), "{path}");
        }
        assert!(Inside::default().has(&at("out.jsonl")));
        for name in ["out.jsonl", "missing"] {
            assert_eq!(Inside::of(&[at("in"), at(name)]).expect_err("no folder").0, at(name));
        }
    }
}
