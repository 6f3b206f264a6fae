//! Looks at sessions that are under way, for commands that Claude Code runs while it works: its report on
//! standard input, and the files that the report names, whose state is kept between runs.

use std::io::{self, IsTerminal as _};
use std::path::Path;
use std::sync::OnceLock;
use std::thread;

use rayon::{ThreadPool, ThreadPoolBuilder};

use super::args::PriceArgs;
use super::kept::Kept;
use super::{CliError, shown_path, tables, warn};
use crate::base::Millis;
use crate::follow::{FollowError, Followed, Follower, WindowSize};
use crate::read::input::{MOST_REPORT, read_standard_input};
use crate::read::told::Told;
use crate::report::StatusOfNext;
use crate::requests::conversation::ReadOptions;
use crate::study::StudyOptions;

/// Most threads of a look: more take longer to start than they save.
const MOST_THREADS: usize = 4;

/// Looks at files, and keeps their states.
pub(super) struct Looking {
    follower: Follower,
    pub(super) kept: Kept,
    /// Started when they are first needed.
    threads: OnceLock<ThreadPool>,
}

impl Looking {
    /// Creates it with the prices that the options name.
    pub(super) fn of(args: &PriceArgs) -> Result<Self, CliError> {
        let (prices, models) = tables(&args.files, args.platform)?;
        // The built-in tables are those of the program.
        let laid = (!args.files.is_empty()).then(|| format!("{prices:?}{models:?}"));
        let kept = Kept::of(&(laid, args.platform.map(|platform| platform as u8)));
        let read = ReadOptions { models, ..StudyOptions::default().read };
        let options = StudyOptions { read, prices, ..StudyOptions::default() };
        let follower = Follower::new(options, WindowSize::default());
        Ok(Self { follower, kept, threads: OnceLock::new() })
    }

    /// Follower of files, without the kept states.
    #[cfg(feature = "watch")]
    pub(super) fn follower(&self) -> &Follower {
        &self.follower
    }

    /// Works with few threads.
    pub(super) fn with_threads<T: Send>(
        &self,
        work: impl FnOnce(&Self) -> T + Send,
    ) -> Result<T, CliError> {
        Ok(self.threads()?.install(|| work(self)))
    }

    fn threads(&self) -> Result<&ThreadPool, CliError> {
        if let Some(threads) = self.threads.get() {
            return Ok(threads);
        }
        let number = thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS);
        let started = ThreadPoolBuilder::new().num_threads(number).build();
        let failed = |error| CliError::Usage(format!("cannot start threads: {error}"));
        let started = started.map_err(failed)?;
        Ok(self.threads.get_or_init(|| started))
    }

    /// Has this thread alone do all further looks, except reading a whole file: starting other threads takes
    /// as long as reading the end of one.
    pub(super) fn alone(self) -> Result<Self, CliError> {
        let this = ThreadPoolBuilder::new().num_threads(1).use_current_thread().build();
        this.map_err(|error| CliError::Usage(format!("cannot work with this thread: {error}")))?;
        Ok(self)
    }

    /// Looks at a session, from its kept state if there is one.
    pub(super) fn look(&self, path: &Path) -> Result<Followed, CliError> {
        let failed = |error: FollowError| {
            CliError::NoInput(format!("cannot read {}: {error}", shown_path(path)))
        };
        let before = self.kept.read(path);
        let gone_on = before.map(|before| self.follower.go_on(path, before));
        let followed = match gone_on.transpose().map_err(failed)?.flatten() {
            Some(followed) => followed,
            None => self.with_threads(|looking| looking.follower.afresh(path))?.map_err(failed)?,
        };
        // Without news the kept state is still right.
        if followed.read > 0
            && let Err(error) = self.kept.write(path, &followed)
        {
            warn(format!(
                "cannot keep what was read in the cache folder: {error}; set XDG_CACHE_HOME"
            ));
        }
        Ok(followed)
    }

    /// Looks at a file beside the session's. If it cannot be read, a warning names it, and it is in no sum.
    pub(super) fn look_or_say(&self, path: &Path) -> Followed {
        self.look(path).unwrap_or_else(|error| {
            warn(error.to_string());
            Followed::default()
        })
    }

    /// State of the next message: the client's report comes before the session's record.
    pub(super) fn next(&self, main: &Followed, told: &Told, now: Millis) -> Option<StatusOfNext> {
        let prices = self.follower.prices();
        let next = main.next.as_ref()?;
        let id = |name: &str| prices.find(name).map(|model| model.id.clone());
        // An unknown name may be another one of the same model.
        let is_other = |model: &&str| id(model).is_some_and(|other| id(&next.model) != Some(other));
        let other = told.model.as_deref().filter(is_other).filter(|_| told.is_warm != Some(true));
        let is_lost = other.is_some() || told.is_warm == Some(false);
        let latest = now.plus(LONGEST_LIFETIME);
        let until = told.warm_until.filter(|until| *until <= latest).unwrap_or(next.warm_until);
        let [compact_warm, compact_cold] = next.compaction;
        Some(StatusOfNext {
            // A clock that is behind would have it live longer.
            left: if is_lost { 0 } else { until.since(now).min(next.ttl.millis()) },
            prompt: next.prompt,
            // A larger prompt shows that the window is another one.
            window: next.window.filter(|window| next.prompt <= *window),
            warm: next.warm,
            cold: other.map_or(next.cold, |model| next.cold_at(model, now, prices)),
            compact_warm,
            compact_cold,
        })
    }
}

/// Longest lifetime of a cached prompt of any client: a day, in milliseconds.
const LONGEST_LIFETIME: i64 = 24 * 60 * 60 * 1_000;

/// Report of Claude Code on standard input. `other` names a way to do without.
pub(super) fn told_by_client(command: &str, other: &str) -> Result<Told, CliError> {
    let wrong = |problem: &str| {
        let given = "Claude Code gives it a JSON object there";
        CliError::Usage(format!("{command}: {problem}; {given}{other}"))
    };
    if io::stdin().is_terminal() {
        return Err(wrong("standard input is a terminal"));
    }
    // A message that is being sent may be long.
    let text = read_standard_input(MOST_REPORT)
        .map_err(|error| wrong(&format!("cannot read standard input: {error}")))?;
    let told = Told::parse(&text)
        .map_err(|error| wrong(&format!("standard input is no JSON object: {error}")))?;
    // Claude Code names the file before it is there.
    let transcript = told.transcript.filter(|path| path.try_exists().unwrap_or(true));
    Ok(Told { transcript, ..told })
}
