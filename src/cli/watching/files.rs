//! Watched files: the ones that exist, and those that changed.
//!
//! The system reports changes at once if it can. Besides that, the open files are checked again and again,
//! and all folders now and then: network file systems report nothing, and limits of the system may be
//! reached.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};

use crate::base::{Millis, Ordered as _};
use crate::cli::limits::moment_of;
use crate::read::input::{Inside, Location, discover_inside};

/// Files below some paths.
pub(super) struct WatchedFiles {
    roots: Vec<PathBuf>,
    known: BTreeMap<PathBuf, Stamp>,
    /// Never dropped: the library panics then if its thread has ended, and the system closes it with the process.
    watcher: Option<&'static mut RecommendedWatcher>,
    /// Roots whose changes the system reports.
    listened: BTreeSet<PathBuf>,
}

/// Properties of a file by which a change is noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    changed: Option<SystemTime>,
    length: u64,
    /// Inode of the file that has the name.
    file: u64,
}

/// Report of the system.
pub(super) enum Told {
    /// Paths that changed.
    Paths(Vec<PathBuf>),
    /// Changes that were missed.
    Missed,
}

impl WatchedFiles {
    /// Creates the watch without looking at any file. `roots` are whole paths, without links, as the system
    /// reports them. `tell` is called with the system's reports.
    pub(super) fn below(roots: Vec<PathBuf>, mut tell: impl FnMut(Told) + Send + 'static) -> Self {
        let watcher =
            notify::recommended_watcher(move |event: notify::Result<notify::Event>| match event {
                Ok(event) if event.need_rescan() => tell(Told::Missed),
                // Reading is no change, and the watch's own reads would wake it again.
                Ok(event) if matches!(event.kind, EventKind::Access(_)) => {}
                Ok(event) => tell(Told::Paths(event.paths)),
                Err(_) => tell(Told::Missed),
            });
        let watcher = watcher.ok().map(|watcher| Box::leak(Box::new(watcher)));
        Self { roots, known: BTreeMap::new(), watcher, listened: BTreeSet::new() }
    }

    /// Searches all folders for files that are new, changed or gone.
    pub(super) fn scan(&mut self) -> Vec<PathBuf> {
        self.listen();
        let folders: Vec<PathBuf> =
            self.roots.iter().filter_map(|root| folder_of(root)).map(Path::to_owned).collect();
        let inside = Inside::of(&folders).unwrap_or_default();
        let found = discover_inside(&self.roots, &inside).sources.into_iter();
        let paths = found.filter_map(|source| match source.location {
            Location::File(path) => Some(path),
            Location::StandardInput | Location::Memory(_) => None,
        });
        let named: Vec<&PathBuf> = self.roots.iter().ordered();
        let mut paths: Vec<PathBuf> =
            paths.filter(|path| grows(path) || named.binary_search(&path).is_ok()).ordered();
        // A search does not find files that are gone.
        paths.extend(self.known.keys().cloned());
        self.check(paths)
    }

    /// Files of these that are new, changed or gone.
    pub(super) fn check(&mut self, paths: impl IntoIterator<Item = PathBuf>) -> Vec<PathBuf> {
        let mut changed = Vec::new();
        for path in paths {
            let now = stamp(&path);
            let before = match now {
                Some(now) => self.known.insert(path.clone(), now),
                None => self.known.remove(&path),
            };
            if before != now {
                changed.push(path);
            }
        }
        changed
    }

    /// Effect of a report: the known files that changed, and true if there may be new ones.
    pub(super) fn told(&mut self, paths: Vec<PathBuf>) -> (Vec<PathBuf>, bool) {
        let is_known = |path: &PathBuf| self.known.contains_key(path);
        let (known, others): (Vec<PathBuf>, Vec<PathBuf>) = paths.into_iter().partition(is_known);
        let mut may_be_new = false;
        for path in others {
            // A root that was removed is listened to again once it exists.
            let is_root = self.roots.contains(&path);
            if is_root {
                self.listened.remove(&path);
            }
            may_be_new |= is_root || grows(&path) || path.is_dir();
        }
        (self.check(known), may_be_new)
    }

    /// Files below a folder.
    pub(super) fn below_folder<'a>(
        &'a self,
        folder: &'a Path,
    ) -> impl Iterator<Item = &'a PathBuf> {
        let files = self.known.range(folder.to_owned()..).map(|(path, _)| path);
        files.take_while(move |path| path.starts_with(folder))
    }

    /// Time of a file's last change, if the system reports it.
    pub(super) fn changed(&self, path: &Path) -> Option<Millis> {
        moment_of(self.known.get(path)?.changed?)
    }

    /// Asks the system for changes of every root that exists by now.
    fn listen(&mut self) {
        let Self { roots, watcher: Some(watcher), listened, .. } = self else { return };
        let mut is_alive = true;
        for root in &*roots {
            if !root.exists() {
                listened.remove(root);
            } else if is_alive && !listened.contains(root) {
                let is_listened = listen_to(watcher, root);
                is_alive = is_listened.is_some();
                if is_listened == Some(true) {
                    listened.insert(root.clone());
                }
            }
        }
        // Without reports the folders are searched now and then.
        if !is_alive {
            self.watcher = None;
        }
    }
}

/// Has the system report changes below a root. `None` if the library's thread has not started or has ended, which it
/// answers with a panic.
fn listen_to(watcher: &mut RecommendedWatcher, root: &Path) -> Option<bool> {
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let watched = panic::catch_unwind(AssertUnwindSafe(|| {
        watcher.watch(root, RecursiveMode::Recursive).is_ok()
    }));
    panic::set_hook(hook);
    watched.ok()
}

/// Folder of a root, if it exists: links that lead out of it are not followed.
fn folder_of(root: &Path) -> Option<&Path> {
    if root.is_dir() { Some(root) } else { root.parent().filter(|folder| folder.is_dir()) }
}

/// Returns true if files of this name grow while a session continues. Databases and tables do not.
fn grows(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "jsonl" || ending == "json")
}

fn stamp(path: &Path) -> Option<Stamp> {
    let metadata = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    #[cfg(unix)]
    let file = std::os::unix::fs::MetadataExt::ino(&metadata);
    #[cfg(not(unix))]
    let file = 0;
    Some(Stamp { changed: metadata.modified().ok(), length: metadata.len(), file })
}
