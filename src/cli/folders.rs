//! Folders of this program in the user's home: one for data that may be lost, one for data to keep.

use std::fs::DirBuilder;
use std::path::{Path, PathBuf};
use std::{env, io};

/// Folder for data that may be lost. `None` if the user has no such folder.
pub(super) fn cache_folder() -> Option<PathBuf> {
    folder("XDG_CACHE_HOME", "Library/Caches", ".cache")
}

/// Folder for copies of settings.
pub(super) fn state_folder() -> Option<PathBuf> {
    folder("XDG_STATE_HOME", "Library/Application Support", ".local/state")
}

/// Folder that a variable names, otherwise the platform's in the user's home.
fn folder(variable: &str, on_macos: &str, elsewhere: &str) -> Option<PathBuf> {
    let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    // A home that does not exist is not created.
    let home = || env::home_dir().filter(|home| home.is_dir());
    let platform = || {
        if cfg!(windows) {
            set("LOCALAPPDATA")
        } else if cfg!(target_os = "macos") {
            Some(home()?.join(on_macos))
        } else {
            Some(home()?.join(elsewhere))
        }
    };
    // The XDG base directories demand that a relative path is ignored.
    let folder = set(variable).filter(|folder| folder.is_absolute()).or_else(platform)?;
    Some(folder.join("cachesim"))
}

/// Creates a folder that only its owner may look into, if it is missing.
pub(super) fn make_private(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}
