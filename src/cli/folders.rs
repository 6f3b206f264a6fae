//! The folders of the user's that are this program's: what may be lost, and what is kept.

use std::fs::DirBuilder;
use std::path::{Path, PathBuf};
use std::{env, io};

/// Where what may be lost is kept. `None` where the user has no such folder.
pub(super) fn cache_folder() -> Option<PathBuf> {
    folder("XDG_CACHE_HOME", "Library/Caches", ".cache")
}

/// Where copies of settings are kept.
pub(super) fn state_folder() -> Option<PathBuf> {
    folder("XDG_STATE_HOME", "Library/Application Support", ".local/state")
}

/// The folder that a variable names, or the one of the platform in the user's home.
fn folder(variable: &str, on_macos: &str, elsewhere: &str) -> Option<PathBuf> {
    let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    // A home that is not there is not made.
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
    let folder = set(variable).filter(|folder| folder.is_absolute()).or_else(platform)?;
    Some(folder.join("cachesim"))
}

/// Makes a folder that only its owner may look into, where it is not there.
pub(super) fn make_private(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}
