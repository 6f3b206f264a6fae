//! Files that are followed together, and the events from look to look.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use super::follower::{FollowError, Follower};
use super::seen::{About, Billed, FoundBreak};
use super::state::Followed;
use crate::base::{Millis, Order as _, words};

/// News from a file since the last look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Happening {
    /// The file was replaced, shortened, rewritten or lost, or cannot be read: then with the error.
    Changed(FileChange, Option<String>),
    /// A request read less than it could have. Each break is reported once, in whatever files it is.
    Broke(FoundBreak),
    /// The requests of the file, or their costs, differ from before.
    WentOn,
}

words! {
    /// Change of a file other than growth.
    pub enum FileChange {
        /// Shorter than before.
        Shortened = "shortened";
        /// Another file under the same name, with other requests.
        Replaced = "replaced";
        /// As long as before or longer, but with other requests at its beginning.
        Rewritten = "rewritten";
        /// Removed.
        Gone = "gone";
        /// Unreadable.
        Unreadable = "unreadable";
    }
}

/// A file to be looked at.
#[derive(Clone, Debug)]
pub struct Look {
    /// Path of the file.
    pub path: PathBuf,
    /// True if the content of a file that is new to the follower is older than the watch.
    pub is_old: bool,
}

/// Milliseconds before the last request within which a file's first look reports breaks: anything earlier in a session
/// was copied or is old.
const NEWS: i64 = 60 * 60 * 1_000;

/// Files that are followed together.
#[derive(Debug)]
pub struct Watched {
    follower: Follower,
    files: BTreeMap<PathBuf, Followed>,
    /// Billing of every request that was seen, kept after its file is gone.
    billed: FxHashMap<u64, Billed>,
    /// Requests whose breaks were reported or are too old to be.
    broke: FxHashSet<u64>,
    /// Sessions of files that are no longer followed.
    past: BTreeMap<PathBuf, About>,
    /// Files that could not be read, each with the error.
    unreadable: BTreeMap<PathBuf, String>,
}

impl Watched {
    /// A follower without files.
    pub fn new(follower: Follower) -> Self {
        Self {
            follower,
            files: BTreeMap::new(),
            billed: FxHashMap::default(),
            broke: FxHashSet::default(),
            past: BTreeMap::new(),
            unreadable: BTreeMap::new(),
        }
    }

    /// Followed files, by path.
    pub fn files(&self) -> impl Iterator<Item = (&Path, &Followed)> {
        self.files.iter().map(|(path, followed)| (path.as_path(), followed))
    }

    /// Known state of a file.
    pub fn file(&self, path: &Path) -> Option<&Followed> {
        self.files.get(path)
    }

    /// Session, project and sub-agent of a file, as of the last look.
    pub fn about(&self, path: &Path) -> Option<&About> {
        let now = self.file(path).and_then(|file| file.about.as_ref());
        now.or_else(|| self.past.get(path))
    }

    /// Files that could not be read by the last look.
    pub fn unreadable(&self) -> impl Iterator<Item = &Path> {
        self.unreadable.keys().map(PathBuf::as_path)
    }

    /// Billing of all requests that were seen, each once.
    pub fn billed(&self) -> impl Iterator<Item = &Billed> {
        self.billed.values()
    }

    /// Drops a file until it changes. Its billing stays.
    pub fn forget(&mut self, path: &Path) {
        let about = self.files.remove(path).and_then(|file| file.about);
        self.past.extend(about.map(|about| (path.to_owned(), about)));
    }

    /// Looks at files. Events are in the order of the files, except breaks, which are sorted over all files by the
    /// start of their requests and come before the continued files.
    pub fn look(&mut self, looks: Vec<Look>) -> Vec<(PathBuf, Happening)> {
        let looked: Vec<_> = looks
            .into_par_iter()
            .map(|look| {
                // A clone, as files are looked at in parallel while `self` is only borrowed.
                let before = self.files.get(&look.path);
                let now = self.follower.look(&look.path, before.cloned());
                (look, now)
            })
            .collect();
        let mut all = Vec::new();
        let (mut broke, mut went_on) = (Vec::new(), Vec::new());
        for (Look { path, is_old }, now) in looked {
            let before = self.files.remove(&path);
            let now = match now {
                Ok(now) => now,
                Err(error) => {
                    all.extend(self.lost(&path, before, &error).map(|lost| (path, lost)));
                    continue;
                }
            };
            self.unreadable.remove(&path);
            let change = before.as_ref().and_then(|before| change(before, &now));
            all.extend(change.map(|change| (path.clone(), Happening::Changed(change, None))));
            let news = self.news(&now, before.is_none(), is_old);
            broke.extend(news.into_iter().map(|found| (path.clone(), found)));
            let is_same = before
                .is_some_and(|before| before.requests == now.requests && before.next == now.next);
            if !is_same {
                went_on.push((path.clone(), Happening::WentOn));
            }
            self.billed.extend(now.requests.iter().map(|one| (one.id, *one)));
            self.files.insert(path, now);
        }
        broke.order_by_key(|(_, found): &(PathBuf, FoundBreak)| found.sent);
        all.extend(broke.into_iter().map(|(path, found)| (path, Happening::Broke(found))));
        all.extend(went_on);
        all
    }

    /// Breaks that are new and recent enough to be reported.
    fn news(&mut self, now: &Followed, is_first: bool, is_old: bool) -> Vec<FoundBreak> {
        let last = now.requests.iter().map(|one| one.at).max();
        let since = last.map(|last| Millis::new(last.get().saturating_sub(NEWS)));
        let is_reported = |found: &FoundBreak| {
            !is_first || (!is_old && since.is_some_and(|since| found.sent >= since))
        };
        // Breaks that are too old are noted as well, so that no later look reports them.
        let new = now.breaks.iter().filter(|found| self.broke.insert(found.request));
        new.copied().filter(is_reported).collect()
    }

    /// Event for a file that cannot be read; `None` if that is known, or if no session was expected there.
    fn lost(
        &mut self,
        path: &Path,
        before: Option<Followed>,
        error: &FollowError,
    ) -> Option<Happening> {
        let is_gone =
            matches!(error, FollowError::Read(error) if error.kind() == io::ErrorKind::NotFound);
        if is_gone {
            // A file that never had a request was not a session.
            let was_session = before.as_ref().is_some_and(|before| !before.requests.is_empty());
            // `|` rather than `||`: the entry has to be removed in both cases.
            let was_there = was_session | self.unreadable.remove(path).is_some();
            let about = before.and_then(|before| before.about);
            self.past.extend(about.map(|about| (path.to_owned(), about)));
            return was_there.then_some(Happening::Changed(FileChange::Gone, None));
        }
        // The state is kept for the time when the file can be read again.
        if let Some(before) = before {
            self.files.insert(path.to_owned(), before);
        }
        let why = error.to_string();
        let known = self.unreadable.insert(path.to_owned(), why.clone());
        (known.as_ref() != Some(&why))
            .then_some(Happening::Changed(FileChange::Unreadable, Some(why)))
    }
}

/// Change of a file other than growth.
fn change(before: &Followed, now: &Followed) -> Option<FileChange> {
    let file = |one: &Followed| one.identity.map(|(file, _)| file);
    let ids = |one: &Followed| one.requests.iter().map(|one| one.id).collect::<Vec<_>>();
    // If only the end was read, everything before it was found unchanged.
    let was_read_whole = now.read > 0 && now.read == now.bytes;
    if !was_read_whole {
        return None;
    }
    // Some programs write the whole session again with each turn.
    let continues = ids(now).starts_with(&ids(before));
    let is_same = file(before) == file(now);
    match (is_same, continues) {
        (true, _) if now.bytes < before.bytes => Some(FileChange::Shortened),
        (true, false) => Some(FileChange::Rewritten),
        (false, false) => Some(FileChange::Replaced),
        (_, true) => None,
    }
}
