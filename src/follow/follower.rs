//! Repeated looks at growing files.

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

/// Reason for which nothing is known of a file.
#[derive(Debug, thiserror::Error)]
pub enum FollowError {
    /// The file cannot be read.
    #[error(transparent)]
    Read(#[from] io::Error),
    /// The requests of the file cannot be summed up.
    #[error(transparent)]
    Study(#[from] StudyError),
}

/// Amounts of a file that are read again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowSize {
    /// Number of requests at the end that are open: lines may still be added to their answers.
    pub open: usize,
    /// Least number of settled requests that are read again with the open ones.
    pub context: usize,
    /// Bytes read again from which on a shorter part is tried.
    pub most: u64,
}

impl Default for WindowSize {
    fn default() -> Self {
        Self { open: 4, context: 16, most: 512 * 1_024 }
    }
}

impl WindowSize {
    /// Multiple of `most` beyond which the whole file is read.
    const LARGEST: u64 = 32;
    /// Multiple of `most` that is searched for a line to continue from.
    const SEARCHED: u64 = 2;
    /// Multiples of the context that are tried before the old start is kept.
    const TRIED: [usize; 3] = [1, 3, 9];
}

/// Follower of files, at the same prices for every look.
#[derive(Clone, Debug)]
pub struct Follower {
    options: StudyOptions,
    size: WindowSize,
}

impl Follower {
    /// A follower that reads files with these options. Their filter and zone are not used.
    pub fn new(mut options: StudyOptions, size: WindowSize) -> Self {
        // No figure of a followed file needs these.
        options.read.counts_contents = false;
        options.read.keeps_titles = false;
        Self { options, size }
    }

    /// Prices of the requests.
    pub fn prices(&self) -> &PriceTable {
        &self.options.prices
    }

    /// Looks at a file, given the result of the look before.
    ///
    /// # Errors
    /// The file cannot be read, or holds more tokens than any figure allows.
    pub fn look(&self, path: &Path, before: Option<Followed>) -> Result<Followed, FollowError> {
        if let Some(before) = before
            && let Some(followed) = self.go_on(path, before)?
        {
            return Ok(followed);
        }
        self.afresh(path)
    }

    /// Continues from the look before and reads only the end of the file. `None` if that is not possible.
    ///
    /// # Errors
    /// As for [`look`](Self::look).
    pub fn go_on(&self, path: &Path, before: Followed) -> Result<Option<Followed>, FollowError> {
        let Opened { mut file, length, identity } = Opened::at(path)?;
        // Neither size nor times changed: nothing is read.
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

    /// Looks at the whole file.
    ///
    /// # Errors
    /// As for [`look`](Self::look).
    pub fn afresh(&self, path: &Path) -> Result<Followed, FollowError> {
        let Opened { mut file, identity, .. } = Opened::at(path)?;
        let discovered = discover(&[path.to_owned()]);
        // A pipe or a compressed file cannot be read from an offset.
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

    /// Reads the end of a file. `None` if the end alone is not enough.
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
        // A part that does not begin the file has not seen the earlier breaks.
        let breaks = if mark.from == 0 { seen.breaks.clone() } else { before.breaks };
        let mark = self.mark(path, &seen, &part, from)?;
        let (bytes, read) = (length, part.bytes.len() as u64);
        let next = newer(before.next, seen.next);
        let about = seen.about.or(before.about);
        Ok(Some(Followed { requests, breaks, next, bytes, read, about, identity: None, mark }))
    }

    /// Place at which the next look starts to read; `part` has at least the end of the lines from `from` on.
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

/// An open file with its length and identity.
struct Opened {
    file: File,
    length: u64,
    identity: Option<(u64, u64)>,
}

impl Opened {
    fn at(path: &Path) -> io::Result<Self> {
        // Opening a pipe would wait for a writer.
        if !std::fs::metadata(path)?.is_file() {
            return Err(io::Error::other("it is no file"));
        }
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        Ok(Self { file, length: metadata.len(), identity: identity(&metadata) })
    }
}

/// Start of the lines that were seen: place in the part, line number there, and number of requests settled before.
#[derive(Clone, Copy, Debug)]
struct From {
    place: usize,
    line: u64,
    settled_before: usize,
}

/// Returns true if the part of a file agrees with all that was known of the whole.
fn is_believed(seen: &Seen, mark: &Mark, before: &Followed) -> bool {
    let is_whole = mark.from == 0;
    let first_open = seen.first_from(mark.lines + 1);
    let (context, open) = seen.requests.split_at(first_open);
    let (settled, known) = before.requests.split_at(index(mark.settled));
    let Some(earlier) = settled.len().checked_sub(context.len()) else { return false };
    let same = settled[earlier..].iter().copied();
    let is_settled = context.iter().map(|one| one.billed).eq(same);
    let ids: FxHashSet<u64> = open.iter().map(|one| one.billed.id).collect();
    // A second answer to a settled request would change figures that are settled.
    let is_once = settled.iter().all(|one| !ids.contains(&one.id));
    let is_mended_alike = is_whole || seen.repairs == mark.repairs;
    if !(seen.is_divisible && is_settled && is_once && is_mended_alike) {
        return false;
    }
    is_whole || open.iter().all(|one| is_known_alike(one, known, seen, before))
}

/// Returns true if an open request shows nothing that would need the whole file.
fn is_known_alike(one: &SeenRequest, known: &[Billed], seen: &Seen, before: &Followed) -> bool {
    // Requests that were known before have the figures of the whole file.
    if one.is_alone {
        return known.contains(&one.billed);
    }
    let excess = |breaks: &[FoundBreak]| {
        let found = breaks.iter().rev().find(|found| found.request == one.billed.id);
        found.map(|found| found.excess)
    };
    excess(&seen.breaks) == excess(&before.breaks)
}

/// State for the next message, given the state before.
fn newer(before: Option<Next>, now: Option<Next>) -> Option<Next> {
    match (before, now) {
        (before, None) => before,
        // A sub-agent leaves the main conversation as it was.
        (Some(before), Some(now)) if before.is_main && !now.is_main => Some(before),
        (_, now) => now,
    }
}

/// Returns true if fewer lines, from the line of a request on, give the same figures for everything after that request.
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

/// Hashes of the identity and of the state of a file. Systems other than Unix give no identity.
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
