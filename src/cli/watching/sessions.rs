//! Watched sessions: their events, and the open ones.

use std::collections::BTreeSet;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use rustc_hash::FxHashSet;

use super::files::WatchedFiles;
use crate::base::{ByKey, KnownSum, Millis, Order as _, Ordered as _, Picodollars, Tokens, Zone};
use crate::cli::limits::day_of;
use crate::cli::{CliError, Looking};
use crate::follow::{Followed, Happening, Look, Watched};
use crate::read::told::Told;
use crate::report::{
    OpenSession, StatusOfNext, WatchEvent, WatchEventKind, WatchTable, WatchedNames,
    WatchedSession, watch_table,
};

/// Watched sessions, with the options of the watch.
pub(super) struct Sessions<'a> {
    looking: &'a Looking,
    watched: Watched,
    names: WatchedNames,
    zone: Zone,
    /// Milliseconds after a change of its file for which a session is open.
    idle: i64,
    budget: Option<Picodollars>,
    /// Files whose prompts were in the cache at the last look.
    warm: BTreeSet<PathBuf>,
    /// Beginning of the day on which the used-up budget was reported.
    told_of: Option<Millis>,
}

/// Event of a session, or of all together.
pub(super) struct Happened {
    /// File of the event; `None` if it is about all.
    path: Option<PathBuf>,
    at: Millis,
    pub(super) kind: WatchEventKind,
}

impl<'a> Sessions<'a> {
    pub(super) fn new(
        looking: &'a Looking,
        names: WatchedNames,
        zone: Zone,
        idle: i64,
        budget: Option<Picodollars>,
    ) -> Self {
        let watched = Watched::new(looking.follower().clone());
        let warm = BTreeSet::new();
        Self { looking, watched, names, zone, idle, budget, warm, told_of: None }
    }

    /// Files at the start of the watch that count for today or are open.
    pub(super) fn chosen(
        &self,
        files: &WatchedFiles,
        found: Vec<PathBuf>,
        now: Millis,
    ) -> Result<BTreeSet<PathBuf>, CliError> {
        let since = self.day(now)?.start.min(now.plus(-self.idle));
        let is_chosen = |path: &PathBuf| files.changed(path).is_none_or(|at| at >= since);
        Ok(found.into_iter().filter(is_chosen).collect())
    }

    /// Adds, for sessions that were not looked at before, the files of their sub-agents.
    pub(super) fn with_agents(
        &self,
        files: &WatchedFiles,
        mut paths: BTreeSet<PathBuf>,
    ) -> BTreeSet<PathBuf> {
        let new: Vec<PathBuf> =
            paths.iter().filter(|path| self.watched.file(path).is_none()).cloned().collect();
        for path in new {
            paths.extend(files.below_folder(&path.with_extension("")).cloned());
        }
        paths
    }

    /// Files of open sessions.
    pub(super) fn followed(&self) -> Vec<PathBuf> {
        self.watched.files().map(|(path, _)| path.to_owned()).collect()
    }

    /// Files that are tried again.
    pub(super) fn unreadable(&self) -> impl Iterator<Item = PathBuf> {
        self.watched.unreadable().map(Path::to_owned)
    }

    /// Looks at files, and returns their events and those that they cause. Content at the start of the watch,
    /// or of files that did not change lately, is old.
    pub(super) fn look(
        &mut self,
        files: &WatchedFiles,
        paths: BTreeSet<PathBuf>,
        begins: bool,
        now: Millis,
    ) -> Result<Vec<Happened>, CliError> {
        let idle = self.idle;
        let is_late = |path: &Path| is_late(files, path, idle, now);
        let looks = paths.into_iter().map(|path| Look { is_old: begins || is_late(&path), path });
        let looks = looks.collect();
        let mut all: Vec<Happened> = Vec::new();
        for (path, happening) in self.watched.look(looks) {
            let (at, kind) = match happening {
                Happening::Changed(change, error) => (now, WatchEventKind::File { change, error }),
                Happening::Broke(found) => {
                    let (cause, excess) = (found.cause, found.excess);
                    (found.sent, WatchEventKind::Break { cause, excess })
                }
                // A session that is not open did not continue now.
                Happening::WentOn => match self.figures(&path, now).filter(|_| !is_late(&path)) {
                    Some(kind) => (now, kind),
                    None => continue,
                },
            };
            all.push(Happened { path: Some(path), at, kind });
        }
        all.extend(self.overspent(now)?);
        Ok(all)
    }

    /// Events of the prompts that were in the cache, and no longer are.
    pub(super) fn expired(&mut self, now: Millis) -> Vec<Happened> {
        let mut warm = BTreeSet::new();
        let mut expired = Vec::new();
        for (path, followed) in self.watched.files() {
            let Some(next) = self.next(followed, now) else { continue };
            if next.left > 0 {
                warm.insert(path.to_owned());
            } else if self.warm.contains(path) {
                let StatusOfNext { warm, cold, .. } = next;
                let kind = WatchEventKind::Cold { warm, cold };
                expired.push(Happened { path: Some(path.to_owned()), at: now, kind });
            }
        }
        self.warm = warm;
        expired
    }

    /// Forgets the files of sessions that are not open.
    pub(super) fn close(&mut self, files: &WatchedFiles, now: Millis) {
        let open: Vec<&Path> = self
            .watched
            .files()
            .filter(|(path, followed)| {
                !is_late(files, path, self.idle, now)
                    || self.next(followed, now).is_some_and(|next| next.left > 0)
            })
            .map(|(path, _)| path)
            .ordered();
        let paths = self.watched.files().map(|(path, _)| path);
        let is_open = |path: &Path| open.binary_search(&path).is_ok();
        let is_closed =
            |path: &&Path| !is_open(path) && !self.main_of(path).is_some_and(|main| is_open(&main));
        let closed: Vec<PathBuf> = paths.filter(is_closed).map(Path::to_owned).collect();
        for path in closed {
            self.watched.forget(&path);
        }
    }

    /// Table of open sessions, the last used one first, each with its sub-agents whose prompts are in the
    /// cache.
    pub(super) fn table(&self, now: Millis) -> Result<WatchTable, CliError> {
        let mut open: Vec<OpenSession<'_>> = Vec::new();
        let mut agents: ByKey<PathBuf, Vec<(&Path, &Followed)>> = ByKey::new();
        let mut mains: Vec<(&Path, &Followed)> = Vec::new();
        for (path, followed) in self.watched.files().filter(|(_, one)| !one.requests.is_empty()) {
            match self.main_of(path) {
                Some(main) => agents.entry(main).or_default().push((path, followed)),
                None => mains.push((path, followed)),
            }
        }
        mains.order_by_key(|(_, followed)| std::cmp::Reverse(last_of(followed)));
        for (path, followed) in mains {
            let of_agents = agents.get_mut(path).map(std::mem::take).unwrap_or_default();
            let files = std::iter::once(followed).chain(of_agents.iter().map(|(_, one)| *one));
            let session = session_of(path, followed);
            let next = self.next(followed, now);
            open.push(OpenSession { session, is_agent: false, cost: cost(files), next });
            for (path, followed) in of_agents {
                let next = self.next(followed, now).filter(|next| next.left > 0);
                let session = session_of(path, followed);
                let cost = cost(std::iter::once(followed));
                open.extend(next.map(|next| {
                    let next = Some(next);
                    OpenSession { session, is_agent: true, cost, next }
                }));
            }
        }
        Ok(watch_table(&open, &self.names, self.today(now)?, self.budget))
    }

    /// Event as a line for people.
    pub(super) fn line(&self, happened: &Happened, now: Millis) -> String {
        let event = self.event(happened);
        let name = event.session.and_then(|session| self.names.of(&[session]).pop());
        event.line(&name.unwrap_or_default(), &self.zone, now)
    }

    /// Event as a line of JSON.
    pub(super) fn json(&self, happened: &Happened) -> io::Result<Vec<u8>> {
        let mut line = Vec::new();
        self.event(happened).write_json(&self.names, &mut line)?;
        Ok(line)
    }

    fn event<'s>(&'s self, happened: &'s Happened) -> WatchEvent<'s> {
        let Happened { path, at, kind } = happened;
        let session = path
            .as_deref()
            .map(|path| WatchedSession { file: stem(path), about: self.watched.about(path) });
        WatchEvent { at: *at, session, kind: kind.clone() }
    }

    /// Session of a sub-agent's file, if that is followed as well.
    fn main_of(&self, path: &Path) -> Option<PathBuf> {
        let folders = path.ancestors().skip(1);
        let mains = folders.map(|folder| {
            let mut main = folder.as_os_str().to_owned();
            main.push(".jsonl");
            PathBuf::from(main)
        });
        // A sub-agent of a sub-agent belongs to the session as well.
        mains.filter(|main| self.watched.file(main).is_some()).last()
    }

    /// Current figures of a session, if it has any request.
    fn figures(&self, path: &Path, now: Millis) -> Option<WatchEventKind> {
        let followed = self.watched.file(path).filter(|one| !one.requests.is_empty())?;
        let sum = |of: fn(&crate::follow::Billed) -> Tokens| followed.requests.iter().map(of).sum();
        Some(WatchEventKind::Session {
            cost: cost(std::iter::once(followed)),
            requests: followed.requests.len() as u64,
            read: sum(|one| one.read),
            prompt: sum(|one| one.prompt),
            next: self.next(followed, now),
        })
    }

    fn next(&self, followed: &Followed, now: Millis) -> Option<StatusOfNext> {
        self.looking.next(followed, &Told::default(), now)
    }

    /// Event of a used-up budget, once a day.
    fn overspent(&mut self, now: Millis) -> Result<Option<Happened>, CliError> {
        let Some(budget) = self.budget else { return Ok(None) };
        let (day, today) = (self.day(now)?.start, self.today(now)?);
        if today.sum <= budget || self.told_of == Some(day) {
            return Ok(None);
        }
        self.told_of = Some(day);
        let kind = WatchEventKind::Budget { today, budget };
        Ok(Some(Happened { path: None, at: now, kind }))
    }

    fn today(&self, now: Millis) -> Result<KnownSum, CliError> {
        let day = self.day(now)?;
        let mut today = KnownSum::default();
        let of_today = self.watched.billed().filter(|one| day.contains(&one.at));
        of_today.for_each(|one| today.add(one.cost));
        Ok(today)
    }

    fn day(&self, now: Millis) -> Result<Range<Millis>, CliError> {
        day_of(now, &self.zone)
    }
}

/// Returns true if a file was not changed for this many milliseconds.
fn is_late(files: &WatchedFiles, path: &Path, idle: i64, now: Millis) -> bool {
    files.changed(path).is_some_and(|at| at.plus(idle) < now)
}

fn last_of(followed: &Followed) -> Option<Millis> {
    followed.requests.iter().map(|one| one.at).max()
}

fn session_of<'p>(path: &'p Path, followed: &'p Followed) -> WatchedSession<'p> {
    WatchedSession { file: stem(path), about: followed.about.as_ref() }
}

fn stem(path: &Path) -> &str {
    path.file_stem().and_then(|stem| stem.to_str()).unwrap_or("?")
}

/// Cost of the requests of some files, each once.
fn cost<'f>(files: impl Iterator<Item = &'f Followed>) -> KnownSum {
    let mut seen = FxHashSet::default();
    let mut cost = KnownSum::default();
    let requests = files.flat_map(|file| &file.requests);
    requests.filter(|one| seen.insert(one.id)).for_each(|one| cost.add(one.cost));
    cost
}
