//! Files that are followed together, and what becomes of them from look to look.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use super::follower::{FollowError, Follower};
use super::seen::{About, Billed, FoundBreak};
use super::state::Followed;
use crate::base::order::Order as _;
use crate::base::units::Millis;

/// What a file shows that it did not show before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Happening {
    /// It is another file than before, or the same with less in it.
    Changed(FileChange),
    /// A request read less than it could have. Each is told once, in whatever files it is.
    Broke(FoundBreak),
    /// Its requests, or what they cost, are others than before.
    WentOn,
}

/// What became of a file, but that it has grown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileChange {
    /// It is shorter than before.
    Shortened,
    /// Another file has its name, with other requests.
    Replaced,
    /// It is as long as before or longer, and its requests are not those that it had.
    Rewritten,
    /// It is not there any more.
    Gone,
    /// It cannot be read, and why.
    Unreadable(String),
}

/// A file that is to be looked at.
#[derive(Clone, Debug)]
pub struct Look {
    /// The file.
    pub path: PathBuf,
    /// Whether what it holds, where it was not looked at before, happened before anybody watched.
    pub is_old: bool,
}

/// Of a file that is looked at for the first time, breaks of so many milliseconds before its last request are told:
/// what a session holds beyond that was copied or is old.
const NEWS: i64 = 60 * 60 * 1_000;

/// Files that are followed together.
#[derive(Debug)]
pub struct Watched {
    follower: Follower,
    files: BTreeMap<PathBuf, Followed>,
    /// What was billed for every request that was seen, whatever became of its file.
    billed: FxHashMap<u64, Billed>,
    /// The requests whose breaks need not be told any more.
    broke: FxHashSet<u64>,
    /// Whose requests files had that are not followed any more.
    past: BTreeMap<PathBuf, About>,
    /// The files that could not be read, each with why.
    unreadable: BTreeMap<PathBuf, String>,
}

impl Watched {
    /// No files yet.
    #[must_use]
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

    /// The files that are followed, by path.
    pub fn files(&self) -> impl Iterator<Item = (&Path, &Followed)> {
        self.files.iter().map(|(path, followed)| (path.as_path(), followed))
    }

    /// What is known of a file.
    #[must_use]
    pub fn file(&self, path: &Path) -> Option<&Followed> {
        self.files.get(path)
    }

    /// Whose requests a file has, or had when it was looked at last.
    #[must_use]
    pub fn about(&self, path: &Path) -> Option<&About> {
        let now = self.file(path).and_then(|file| file.about.as_ref());
        now.or_else(|| self.past.get(path))
    }

    /// The files that could not be read when they were looked at last.
    pub fn unreadable(&self) -> impl Iterator<Item = &Path> {
        self.unreadable.keys().map(PathBuf::as_path)
    }

    /// What was billed for the requests that were seen, each once.
    pub fn billed(&self) -> impl Iterator<Item = &Billed> {
        self.billed.values()
    }

    /// Looks at a file no more until it changes. What was billed stays.
    pub fn forget(&mut self, path: &Path) {
        let about = self.files.remove(path).and_then(|file| file.about);
        self.past.extend(about.map(|about| (path.to_owned(), about)));
    }

    /// Looks at files. What happened is in the order of the files, but for the breaks of all of them, which are in the
    /// order in which their requests were sent, and come before what went on.
    pub fn look(&mut self, looks: Vec<Look>) -> Vec<(PathBuf, Happening)> {
        let looked: Vec<_> = looks
            .into_par_iter()
            .map(|look| {
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
            all.extend(change.map(|change| (path.clone(), Happening::Changed(change))));
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

    /// The breaks that were not told, and are to be.
    fn news(&mut self, now: &Followed, is_first: bool, is_old: bool) -> Vec<FoundBreak> {
        let last = now.requests.iter().map(|one| one.at).max();
        let since = last.map(|last| Millis::new(last.get().saturating_sub(NEWS)));
        let is_told = |found: &FoundBreak| {
            !is_first || (!is_old && since.is_some_and(|since| found.sent >= since))
        };
        let new = now.breaks.iter().filter(|found| self.broke.insert(found.request));
        new.copied().filter(is_told).collect()
    }

    /// What it means that a file cannot be read; nothing where that is known, or where none was expected.
    fn lost(
        &mut self,
        path: &Path,
        before: Option<Followed>,
        error: &FollowError,
    ) -> Option<Happening> {
        let is_gone =
            matches!(error, FollowError::Read(error) if error.kind() == io::ErrorKind::NotFound);
        if is_gone {
            // What never had a request was no session.
            let was_session = before.as_ref().is_some_and(|before| !before.requests.is_empty());
            let was_there = was_session | self.unreadable.remove(path).is_some();
            let about = before.and_then(|before| before.about);
            self.past.extend(about.map(|about| (path.to_owned(), about)));
            return was_there.then_some(Happening::Changed(FileChange::Gone));
        }
        if let Some(before) = before {
            self.files.insert(path.to_owned(), before);
        }
        let why = error.to_string();
        let known = self.unreadable.insert(path.to_owned(), why.clone());
        (known.as_ref() != Some(&why)).then_some(Happening::Changed(FileChange::Unreadable(why)))
    }
}

/// What became of a file, but that it has grown.
fn change(before: &Followed, now: &Followed) -> Option<FileChange> {
    let file = |one: &Followed| one.identity.map(|(file, _)| file);
    let ids = |one: &Followed| one.requests.iter().map(|one| one.id).collect::<Vec<_>>();
    // Where its end was read, what is before it was found to be the same.
    let was_read_whole = now.read > 0 && now.read == now.bytes;
    if !was_read_whole {
        return None;
    }
    // Some programs write a session anew with each turn.
    let goes_on = ids(now).starts_with(&ids(before));
    let is_same = file(before) == file(now);
    match (is_same, goes_on) {
        (true, _) if now.bytes < before.bytes => Some(FileChange::Shortened),
        (true, false) => Some(FileChange::Rewritten),
        (false, false) => Some(FileChange::Replaced),
        (_, true) => None,
    }
}
