//! Looks at files again and again.

use std::fs::{File, Metadata};
use std::hash::{Hash as _, Hasher as _};
use std::io;
use std::path::Path;
use std::time::UNIX_EPOCH;

use rustc_hash::{FxHashSet, FxHasher};

use super::part::{Part, hash};
use super::seen::{Billed, FoundBreak, Next, Seen, SeenRequest};
use super::state::{Followed, Mark};
use crate::read::input::{Discovered, Source, discover};
use crate::requests::conversation::read;
use crate::simulate::pricing::PriceTable;
use crate::study::{Study, StudyError, StudyOptions};

/// Why nothing is known of a file.
#[derive(Debug, thiserror::Error)]
pub enum FollowError {
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] io::Error),
    /// Its requests cannot be summed up.
    #[error(transparent)]
    Study(#[from] StudyError),
}

/// How much is read again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowSize {
    /// So many requests at the end are open: lines may still be added to their answers.
    pub open: usize,
    /// So many settled requests are read again with them, or more.
    pub context: usize,
    /// From so many bytes on that are read again, it is tried whether fewer do.
    pub most: u64,
}

impl Default for WindowSize {
    fn default() -> Self {
        Self { open: 4, context: 16, most: 512 * 1_024 }
    }
}

impl WindowSize {
    /// Beyond so many times `most` the whole file is read.
    const LARGEST: u64 = 32;
    /// So many times `most` are looked at for a line from which on reading can go on.
    const SEARCHED: u64 = 2;
    /// How many times the context is tried before reading goes on as it did.
    const TRIED: [usize; 3] = [1, 3, 9];
}

/// Looks at files with the same prices again and again.
#[derive(Clone, Debug)]
pub struct Follower {
    options: StudyOptions,
    size: WindowSize,
}

impl Follower {
    /// How the files are read. Their filter and zone do not count.
    #[must_use]
    pub fn new(mut options: StudyOptions, size: WindowSize) -> Self {
        options.read.counts_contents = false;
        options.read.keeps_titles = false;
        Self { options, size }
    }

    /// The prices with which files are looked at.
    #[must_use]
    pub fn prices(&self) -> &PriceTable {
        &self.options.prices
    }

    /// What is known of a file now, after what was known of it before.
    ///
    /// # Errors
    /// The file cannot be read, or holds more tokens than any figure is made for.
    pub fn look(&self, path: &Path, before: Option<Followed>) -> Result<Followed, FollowError> {
        if let Some(before) = before
            && let Some(followed) = self.go_on(path, before)?
        {
            return Ok(followed);
        }
        self.afresh(path)
    }

    /// What is known of a file now, by its end and what was known before. `None` where that does not do.
    ///
    /// # Errors
    /// As of [`look`](Self::look).
    pub fn go_on(&self, path: &Path, before: Followed) -> Result<Option<Followed>, FollowError> {
        let Opened { mut file, length, identity } = Opened::at(path)?;
        if before.identity == identity && identity.is_some() {
            return Ok(Some(Followed { read: 0, ..before }));
        }
        let is_same_file = before.identity.map(|one| one.0) == identity.map(|one| one.0);
        if !is_same_file {
            return Ok(None);
        }
        let followed = self.read_end(&mut file, path, length, before)?;
        Ok(followed.map(|followed| Followed { identity, ..followed }))
    }

    /// What is known of a file now, by the whole of it.
    ///
    /// # Errors
    /// As of [`look`](Self::look).
    pub fn afresh(&self, path: &Path) -> Result<Followed, FollowError> {
        let Opened { mut file, identity, .. } = Opened::at(path)?;
        let discovered = discover(&[path.to_owned()]);
        let is_seekable = discovered.sources.iter().all(|source| source.seekable().is_some());
        let seen = self.study(discovered)?;
        let mut mark = None;
        if is_seekable && seen.is_divisible {
            let most = self.size.most * WindowSize::SEARCHED;
            if let Some(part) = Part::read_end(&mut file, seen.bytes, seen.lines, most)? {
                let from = From { place: 0, line: 1, settled_before: 0 };
                mark = self.mark(path, &seen, &part, from)?;
            }
        }
        let requests = seen.requests.iter().map(|one| one.billed).collect();
        let Seen { bytes, next, breaks, about, .. } = seen;
        Ok(Followed { requests, breaks, next, bytes, read: bytes, about, identity, mark })
    }

    /// Reads the end of a file. `None` where that does not do.
    fn read_end(
        &self,
        file: &mut File,
        path: &Path,
        length: u64,
        before: Followed,
    ) -> Result<Option<Followed>, FollowError> {
        let Some(mark) = before.mark else { return Ok(None) };
        let is_small = length.saturating_sub(mark.from) <= self.size.most * WindowSize::LARGEST;
        if length < mark.open || !is_small {
            return Ok(None);
        }
        let Some(part) = Part::read(file, mark.from, length, 1)? else { return Ok(None) };
        let Some(open) = part.start(mark.lines + 1) else { return Ok(None) };
        if part.offset(open) != mark.open || hash(&part.bytes[..open]) != mark.hash {
            return Ok(None);
        }
        let seen = self.see(path, &part.bytes)?;
        if !is_believed(&seen, &mark, &before) {
            return Ok(None);
        }
        let first_open = seen.first_from(mark.lines + 1);
        let mut requests = before.requests;
        requests.truncate(index(mark.settled));
        requests.extend(seen.requests[first_open..].iter().map(|one| one.billed));
        let from = From { place: 0, line: 1, settled_before: index(mark.settled) - first_open };
        let breaks = if mark.from == 0 { seen.breaks.clone() } else { before.breaks };
        let mark = self.mark(path, &seen, &part, from)?;
        let (bytes, read) = (length, part.bytes.len() as u64);
        let next = newer(before.next, seen.next);
        let about = seen.about.or(before.about);
        Ok(Some(Followed { requests, breaks, next, bytes, read, about, identity: None, mark }))
    }

    /// Where reading goes on after what was seen from a line on; `part` has at least the end of it.
    fn mark(
        &self,
        path: &Path,
        seen: &Seen,
        part: &Part,
        from: From,
    ) -> Result<Option<Mark>, StudyError> {
        let Some(first_open) = seen.requests.len().checked_sub(self.size.open) else {
            return Ok(None);
        };
        let Some(open_line) = seen.requests.get(first_open).map(|one| one.line) else {
            return Ok(None);
        };
        let Some(open) = part.start(open_line) else { return Ok(None) };
        let mark = |place: usize, line: u64, repairs| Mark {
            from: part.offset(place),
            open: part.offset(open),
            lines: open_line - line,
            settled: (from.settled_before + first_open) as u64,
            hash: hash(&part.bytes[place..open]),
            repairs,
        };
        let reaches_back = part.start(from.line) == Some(from.place);
        let is_short = reaches_back && (open - from.place) as u64 <= self.size.most;
        if !is_short {
            for context in WindowSize::TRIED.map(|times| times * self.size.context) {
                let Some(first) = first_open.checked_sub(context) else { break };
                let line = seen.requests[first].line;
                let Some(place) = part.start(line) else { break };
                let fewer = self.see(path, &part.bytes[place..])?;
                if says_the_same(seen, &fewer, first, line) {
                    return Ok(Some(mark(place, line, fewer.repairs)));
                }
            }
        }
        Ok(reaches_back.then(|| mark(from.place, from.line, seen.repairs)))
    }

    fn see(&self, path: &Path, bytes: &[u8]) -> Result<Seen, StudyError> {
        let label = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        let source = Source::in_memory(&label, bytes);
        self.study(Discovered { sources: vec![source], ..Discovered::default() })
    }

    fn study(&self, discovered: Discovered) -> Result<Seen, StudyError> {
        let history = read(discovered, self.options.read.clone(), |_| {});
        if history.requests.is_empty() {
            return Ok(Seen::of_none(&history));
        }
        Seen::of(&Study::of(history, self.options.clone())?)
    }
}

/// A file that is read.
struct Opened {
    file: File,
    length: u64,
    identity: Option<(u64, u64)>,
}

impl Opened {
    fn at(path: &Path) -> io::Result<Self> {
        // Opening a pipe would wait for somebody who writes into it.
        if !std::fs::metadata(path)?.is_file() {
            return Err(io::Error::other("it is no file"));
        }
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        Ok(Self { file, length: metadata.len(), identity: identity(&metadata) })
    }
}

/// Where what was seen begins: its place in the part, its line there, and how many requests were settled before it.
#[derive(Clone, Copy, Debug)]
struct From {
    place: usize,
    line: u64,
    settled_before: usize,
}

/// Whether what the end of a file shows is what the whole file says.
fn is_believed(seen: &Seen, mark: &Mark, before: &Followed) -> bool {
    let is_whole = mark.from == 0;
    let first_open = seen.first_from(mark.lines + 1);
    let (context, open) = seen.requests.split_at(first_open);
    let (settled, known) = before.requests.split_at(index(mark.settled));
    let Some(earlier) = settled.len().checked_sub(context.len()) else { return false };
    let same = settled[earlier..].iter().copied();
    let is_settled = context.iter().map(|one| one.billed).eq(same);
    let ids: FxHashSet<u64> = open.iter().map(|one| one.billed.id).collect();
    let is_once = settled.iter().all(|one| !ids.contains(&one.id));
    let is_mended_alike = is_whole || seen.repairs == mark.repairs;
    if !(seen.is_divisible && is_settled && is_once && is_mended_alike) {
        return false;
    }
    is_whole || open.iter().all(|one| is_known_alike(one, known, seen, before))
}

/// Whether of an open request nothing is shown that the whole file was not asked about.
fn is_known_alike(one: &SeenRequest, known: &[Billed], seen: &Seen, before: &Followed) -> bool {
    // What was known of requests before is what the whole file says.
    if one.is_alone {
        return known.contains(&one.billed);
    }
    let excess = |breaks: &[FoundBreak]| {
        let found = breaks.iter().rev().find(|found| found.request == one.billed.id);
        found.map(|found| found.excess)
    };
    excess(&seen.breaks) == excess(&before.breaks)
}

/// What is said of the next message, where something was said before.
fn newer(before: Option<Next>, now: Option<Next>) -> Option<Next> {
    match (before, now) {
        (before, None) => before,
        // What a sub-agent did leaves the main conversation as it was.
        (Some(before), Some(now)) if before.is_main && !now.is_main => Some(before),
        (_, now) => now,
    }
}

/// Whether fewer lines, from that of a request on, say the same of what comes after it.
fn says_the_same(all: &Seen, fewer: &Seen, first: usize, line: u64) -> bool {
    let of = |seen: &[SeenRequest], moved: u64| -> Vec<(u64, Billed, bool)> {
        seen.iter().skip(1).map(|one| (one.line + moved, one.billed, one.is_alone)).collect()
    };
    let later = line - 1;
    let is_first = fewer.requests.first().is_some_and(|one| one.line == 1);
    let billed: Option<Billed> = fewer.requests.first().map(|one| one.billed);
    is_first
        && billed == Some(all.requests[first].billed)
        && of(&all.requests[first..], 0) == of(&fewer.requests, later)
        && all.next == newer(all.next.clone().filter(|next| next.is_main), fewer.next.clone())
}

fn index(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// Which file it is, and in which state, as far as the system tells: hashes.
fn identity(metadata: &Metadata) -> Option<(u64, u64)> {
    let since = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    #[cfg_attr(not(unix), allow(unused_mut))] // elsewhere nothing tells which file it is
    let mut file = FxHasher::default();
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        (metadata.dev(), metadata.ino()).hash(&mut file);
    }
    let mut state = file.clone();
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        (metadata.ctime(), metadata.ctime_nsec()).hash(&mut state);
    }
    (since, metadata.len()).hash(&mut state);
    Some((file.finish(), state.finish()))
}
