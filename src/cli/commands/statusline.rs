//! `cachesim statusline`.

use std::collections::BTreeSet;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};
use std::{fs, thread};

use rustc_hash::FxHashSet;
use walkdir::WalkDir;

use crate::base::client::Client;
use crate::base::units::{Millis, Tokens};
use crate::cli::args::StatuslineArgs;
use crate::cli::error::CliError;
use crate::cli::input::shown_path;
use crate::cli::kept::Kept;
use crate::cli::limits;
use crate::cli::output::say;
use crate::cli::places::places;
use crate::cli::prepared::tables;
use crate::follow::{Billed, FollowError, Followed, Follower, WindowSize};
use crate::read::input::{MOST_SETTINGS, read_standard_input};
use crate::read::told::Told;
use crate::report::{Amount, Status, StatusOfNext, StatusTemplate};
use crate::requests::conversation::ReadOptions;
use crate::simulate::pricing::PriceTable;
use crate::study::StudyOptions;

/// More threads take longer to start than they save.
const MOST_THREADS: usize = 4;

/// Prints a line about the session that is under way.
pub(in crate::cli) fn statusline(args: &StatuslineArgs) -> Result<(), CliError> {
    let template = StatusTemplate::parse(&args.template)
        .map_err(|error| CliError::Usage(format!("--template: {error}")))?;
    let told = told(args)?;
    let zone = limits::zone_of(args.timezone.as_deref())?;
    let now = limits::moment();
    let day = zone.day(now).and_then(|day| zone.beginning(day)).unwrap_or(now);
    let (prices, models) = tables(&args.prices, args.platform)?;
    let texts: Vec<_> = args.prices.iter().map(fs::read).filter_map(Result::ok).collect();
    let kept = Kept::of(&(texts, args.platform as u8));
    let read = ReadOptions { models, ..StudyOptions::default().read };
    let options = StudyOptions { read, prices, ..StudyOptions::default() };
    let looking = Looking { follower: Follower::new(options, WindowSize::default()), kept };
    let threads = thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|error| CliError::Usage(format!("cannot start threads: {error}")))?;
    let status = pool.install(|| looking.status(&told, now, day))?;
    let mut out = io::stdout().lock();
    writeln!(out, "{}", template.line(&status))?;
    Ok(out.flush()?)
}

fn told(args: &StatuslineArgs) -> Result<Told, CliError> {
    if let Some(path) = &args.transcript {
        return Ok(Told { transcript: Some(path.clone()), ..Told::default() });
    }
    let wrong = |problem: &str| {
        CliError::Usage(format!(
            "statusline: {problem}; Claude Code gives it what a status line is told, and \
             `--transcript FILE` shows a session"
        ))
    };
    if io::stdin().is_terminal() {
        return Err(wrong("standard input is a terminal"));
    }
    let text = read_standard_input(MOST_SETTINGS)
        .map_err(|error| wrong(&format!("cannot read standard input: {error}")))?;
    Told::parse(&text).map_err(|error| wrong(&format!("standard input is no JSON object: {error}")))
}

/// Looks at files, and keeps what is known of them.
struct Looking {
    follower: Follower,
    kept: Kept,
}

impl Looking {
    fn status(&self, told: &Told, now: Millis, day: Millis) -> Result<Status, CliError> {
        let transcript = told.transcript.as_deref().filter(|path| path.exists());
        let main = transcript.map(|path| self.look(path).map_err(|error| unread(path, &error)));
        let main = main.transpose()?.unwrap_or_default();
        let mut own = BTreeSet::new();
        own.extend(transcript.map(Path::to_owned));
        if let Some(path) = transcript {
            own.extend(files(&path.with_extension("")).map(|(path, _)| path));
        }
        let mut sum = Sum::new(day);
        sum.add_session(&main.requests);
        for path in own.iter().filter(|path| Some(path.as_path()) != transcript) {
            sum.add_session(&self.look_or_say(path).requests);
        }
        let folders = places(&[Client::ClaudeCode]);
        let seen: BTreeSet<PathBuf> = own.iter().flat_map(fs::canonicalize).collect();
        for place in folders {
            for (path, changed) in files(&place.folder) {
                let is_of_today = changed.is_none_or(|changed| changed >= day);
                if is_of_today && !fs::canonicalize(&path).is_ok_and(|path| seen.contains(&path)) {
                    sum.add_others(&self.look_or_say(&path).requests);
                }
            }
        }
        Ok(Status {
            next: next(&main, told, now, self.follower.prices()),
            session: sum.session,
            today: sum.today,
            read_of_prompts: sum.read_of_prompts,
            last_break: main.last_break.map(|found| (found.cause, found.excess)),
        })
    }

    fn look(&self, path: &Path) -> Result<Followed, FollowError> {
        let before = self.kept.read(path);
        let followed = self.follower.look(path, before)?;
        if followed.read > 0
            && let Err(error) = self.kept.write(path, &followed)
        {
            say(&format!(
                "cannot keep what was read in the cache folder: {error}; set XDG_CACHE_HOME"
            ));
        }
        Ok(followed)
    }

    /// Of a file beside the session's: one that cannot be read is named, and in no sum.
    fn look_or_say(&self, path: &Path) -> Followed {
        self.look(path).unwrap_or_else(|error| {
            say(&unread(path, &error).to_string());
            Followed::default()
        })
    }
}

fn unread(path: &Path, error: &FollowError) -> CliError {
    CliError::NoInput(format!("cannot read {}: {error}", shown_path(path)))
}

/// The sessions in a folder, each with when it was last changed. A folder that is not there has none.
fn files(folder: &Path) -> impl Iterator<Item = (PathBuf, Option<Millis>)> + use<> {
    let entries = WalkDir::new(folder).sort_by_file_name().into_iter().flatten();
    let is_session = |entry: &walkdir::DirEntry| {
        entry.file_type().is_file() && entry.path().extension().is_some_and(|one| one == "jsonl")
    };
    entries.filter(is_session).map(|entry| {
        let changed = entry.metadata().ok().and_then(|metadata| metadata.modified().ok());
        let since = changed.and_then(|changed| changed.duration_since(UNIX_EPOCH).ok());
        (entry.into_path(), since.map(millis))
    })
}

fn millis(since: Duration) -> Millis {
    Millis::new(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// What the next message finds, by what the client tells before what the session shows.
fn next(main: &Followed, told: &Told, now: Millis, prices: &PriceTable) -> Option<StatusOfNext> {
    let next = main.next.as_ref()?;
    let other = told.model.as_deref().filter(|model| !is_same_model(model, &next.model));
    let is_lost = other.is_some() || told.is_warm == Some(false);
    let until = told.warm_until.unwrap_or(next.warm_until);
    Some(StatusOfNext {
        left: if is_lost { 0 } else { until.since(now) },
        prompt: next.prompt,
        warm: next.warm,
        cold: other.map_or(next.cold, |model| next.cold_at(model, now, prices)),
    })
}

/// One of the names may have a date after it.
fn is_same_model(one: &str, other: &str) -> bool {
    one.starts_with(other) || other.starts_with(one)
}

/// Sums over several files, in which no request counts twice.
struct Sum {
    day: Millis,
    seen: FxHashSet<u64>,
    session: Amount,
    today: Amount,
    read_of_prompts: (Tokens, Tokens),
}

impl Sum {
    fn new(day: Millis) -> Self {
        let nothing = Amount::default();
        let read_of_prompts = (Tokens::ZERO, Tokens::ZERO);
        Self { day, seen: FxHashSet::default(), session: nothing, today: nothing, read_of_prompts }
    }

    fn add_session(&mut self, requests: &[Billed]) {
        self.seen.reserve(requests.len());
        for request in requests {
            if self.seen.insert(request.id) {
                self.session.add(request.cost);
                self.read_of_prompts.0 += request.read;
                self.read_of_prompts.1 += request.prompt;
                self.add_today(request);
            }
        }
    }

    fn add_others(&mut self, requests: &[Billed]) {
        for request in requests {
            if request.at >= self.day && self.seen.insert(request.id) {
                self.add_today(request);
            }
        }
    }

    fn add_today(&mut self, request: &Billed) {
        if request.at >= self.day {
            self.today.add(request.cost);
        }
    }
}
