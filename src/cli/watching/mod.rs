//! Command `watch`: waits for changes of files, looks at them, and shows events: as a table on a terminal,
//! otherwise as lines.

mod asked;
mod exec;
mod files;
mod screen;
mod sessions;

use std::collections::BTreeSet;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::{PathBuf, absolute};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};
use std::{fs, thread};

use ratatui::crossterm::event::{self as terminal_event, Event, KeyEvent};
#[cfg(unix)]
use signal_hook::consts::SIGTSTP;

use exec::Runner;
use files::{Told, WatchedFiles};
use screen::{Asked, Screen, give_back};
use sessions::{Happened, Sessions};

use super::args::WatchArgs;
use super::input::default_paths;
use super::limits::{moment, zone_of};
use super::output::has_colours;
use super::terminal::is_dumb;
use super::{CliError, Looking, say, shown_path};
use crate::report::{WatchEventKind, WatchedNames, counted};

/// Time between two checks of the open files, and of the clock.
const TICK: Duration = Duration::from_secs(1);

/// Time between two searches of all folders.
const SCAN: Duration = Duration::from_secs(10);

/// Time within which changes are looked at together.
const PAUSE: Duration = Duration::from_millis(50);

/// Factor of the rest after a look, or after a search of all folders, so that looking takes one per cent of
/// the time.
const REST: u32 = 99;

/// Longest rest.
const LONGEST_REST: Duration = Duration::from_secs(3);

/// Events that the watch waits for.
enum Signal {
    Told(Told),
    Key(KeyEvent),
    Resized,
    /// Message for the user.
    Note(String),
    /// Request to stop until the user lets the program continue.
    Stop,
    End,
}

/// Place at which events are shown.
enum Shown {
    Screen(Screen),
    Lines,
    Json,
}

/// Watches until a signal or a key ends it.
pub(super) fn watch(args: &WatchArgs, looking: &Looking) -> Result<(), CliError> {
    let roots = roots(args)?;
    for root in roots.iter().filter(|root| !root.exists()) {
        say(&format!("{} is not there; it is watched once it is", shown_path(root)));
    }
    let names = WatchedNames::by(args.naming.naming());
    let zone = zone_of(args.timezone.as_deref())?;
    let sessions = Sessions::new(looking, names, zone, args.idle, args.budget);
    let (sender, signals) = mpsc::channel();
    asked::listen(&sender)?;
    let told = sender.clone();
    let files = WatchedFiles::below(roots, move |change| drop(told.send(Signal::Told(change))));
    let noted = sender.clone();
    let tell = move |note| drop(noted.send(Signal::Note(note)));
    let runner = args.exec.clone().map(|command| Runner::start(command, tell)).transpose()?;
    let shown = Shown::open(args, &sender)?;
    let due = Due::from(Instant::now());
    let mut watch = Watch { sessions, files, runner, shown, pending: BTreeSet::new(), due };
    let mut result = watch.begin();
    if result.is_ok() && !args.once {
        result = watch.run(&signals);
    } else if args.once && watch.sessions.followed().is_empty() {
        say(
            "no session is open; with --idle 1d, those of which the files changed within a day are",
        );
    }
    // The terminal is given back before anything waits.
    drop(watch.shown);
    let left = watch.runner.map_or(0, Runner::finish);
    if left > 0 {
        say(&format!(
            "--exec: the command did not run for {}",
            counted(left as u64, "event", "events")
        ));
    }
    result
}

/// Watched paths, whole and without links, as the system reports changes.
fn roots(args: &WatchArgs) -> Result<Vec<PathBuf>, CliError> {
    if args.paths.iter().any(|path| path.as_os_str() == "-") {
        return Err(CliError::Usage(
            "watch follows files, and standard input is none; give files or folders".to_owned(),
        ));
    }
    if !args.paths.is_empty() {
        let whole = |path: &PathBuf| fs::canonicalize(path).or_else(|_| absolute(path));
        return Ok(args.paths.iter().map(whole).collect::<io::Result<_>>()?);
    }
    let places = default_paths(&[])?;
    // Databases do not grow as files do.
    let folders = places.into_iter().filter(|place| place.is_dir());
    Ok(folders.map(|folder| fs::canonicalize(&folder).unwrap_or(folder)).collect())
}

impl Shown {
    fn open(args: &WatchArgs, sender: &Sender<Signal>) -> Result<Self, CliError> {
        if args.jsonl {
            return Ok(Self::Json);
        }
        if args.once || !io::stdout().is_terminal() || is_dumb() {
            return Ok(Self::Lines);
        }
        let screen = Screen::open(has_colours(args.color))
            .map_err(|error| CliError::Usage(format!("cannot use the terminal: {error}")))?;
        let sender = sender.clone();
        thread::Builder::new().name("keys".to_owned()).spawn(move || send_keys(&sender))?;
        Ok(Self::Screen(screen))
    }

    fn is_for_people(&self) -> bool {
        !matches!(self, Self::Json)
    }
}

/// Sends typed keys, until nothing can be read or nobody waits for them.
fn send_keys(sender: &Sender<Signal>) {
    while let Ok(event) = terminal_event::read() {
        let signal = match event {
            Event::Key(key) => Signal::Key(key),
            Event::Resize(..) => Signal::Resized,
            _ => continue,
        };
        if sender.send(signal).is_err() {
            return;
        }
    }
}

struct Watch<'a> {
    sessions: Sessions<'a>,
    files: WatchedFiles,
    runner: Option<Runner>,
    shown: Shown,
    /// Files that changed, and were not looked at yet.
    pending: BTreeSet<PathBuf>,
    due: Due,
}

/// Times of the next actions.
struct Due {
    tick: Instant,
    scan: Instant,
    /// Earliest time of the next look.
    look: Instant,
    /// Earliest time of the next search of all folders, whatever the system reports.
    rested: Instant,
}

impl Due {
    fn from(now: Instant) -> Self {
        Self { tick: now + TICK, scan: now + SCAN, look: now, rested: now }
    }

    /// Moves the next search of all folders forward.
    fn hasten_scan(&mut self) {
        self.scan = self.scan.min((Instant::now() + PAUSE).max(self.rested));
    }

    fn next(&self, has_pending: bool) -> Instant {
        let next = self.tick.min(self.scan);
        if has_pending { next.min(self.look) } else { next }
    }
}

/// Rest after an action that began at this time.
fn rest(began: Instant) -> Duration {
    (began.elapsed() * REST).clamp(PAUSE, LONGEST_REST)
}

impl Watch<'_> {
    fn run(&mut self, signals: &Receiver<Signal>) -> Result<(), CliError> {
        loop {
            let next = self.due.next(!self.pending.is_empty());
            match signals.recv_timeout(next.saturating_duration_since(Instant::now())) {
                Ok(signal) => {
                    let mut asked = self.answer(signal);
                    if asked == Asked::Stop {
                        asked = self.stop(signals)?;
                    }
                    match asked {
                        Asked::End => return Ok(()),
                        Asked::Redraw => self.redraw()?,
                        Asked::Stop | Asked::Nothing => {}
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
            let now = Instant::now();
            let is_tick = now >= self.due.tick;
            if is_tick {
                // A pipe without a reader would be noticed only at the next line.
                if !matches!(self.shown, Shown::Screen(_)) && has_no_reader() {
                    return Ok(());
                }
                self.tick()?;
            }
            if now >= self.due.scan {
                self.scan();
            }
            let looks = !self.pending.is_empty() && now >= self.due.look;
            if looks {
                let paths = std::mem::take(&mut self.pending);
                self.look(paths, false)?;
            }
            if is_tick || looks {
                self.redraw()?;
            }
        }
    }

    /// Looks at the files that exist at the start: their events are old.
    fn begin(&mut self) -> Result<(), CliError> {
        let found = self.files.scan();
        let now = moment();
        let paths = self.sessions.chosen(&self.files, found, now)?;
        self.look(paths, true)?;
        self.sessions.close(&self.files, now);
        // Prompts that had expired before are no events.
        let _was_cold = self.sessions.expired(now);
        self.redraw()
    }

    /// Checks the clock and the open files for changes.
    fn tick(&mut self) -> Result<(), CliError> {
        let now = moment();
        let expired = self.sessions.expired(now);
        self.show(expired)?;
        self.sessions.close(&self.files, now);
        self.pending.extend(self.files.check(self.sessions.followed()));
        self.pending.extend(self.sessions.unreadable());
        self.due.tick = Instant::now() + TICK;
        Ok(())
    }

    /// Searches all folders.
    fn scan(&mut self) {
        let began = Instant::now();
        self.pending.extend(self.files.scan());
        let rest = rest(began);
        self.due.rested = Instant::now() + rest;
        self.due.scan = Instant::now() + SCAN;
    }

    fn look(&mut self, paths: BTreeSet<PathBuf>, begins: bool) -> Result<(), CliError> {
        let (began, now) = (Instant::now(), moment());
        let paths = self.sessions.with_agents(&self.files, paths);
        let happened = self.sessions.look(&self.files, paths, begins, now)?;
        self.due.look = Instant::now() + rest(began);
        self.show(happened)
    }

    fn answer(&mut self, signal: Signal) -> Asked {
        match signal {
            Signal::End => return Asked::End,
            Signal::Stop => return Asked::Stop,
            Signal::Resized => return Asked::Redraw,
            Signal::Key(key) => {
                if let Shown::Screen(screen) = &mut self.shown {
                    return screen.key(key);
                }
            }
            Signal::Note(note) => {
                self.note(note);
                return Asked::Redraw;
            }
            Signal::Told(Told::Missed) => self.due.hasten_scan(),
            Signal::Told(Told::Paths(paths)) => self.told(paths),
        }
        Asked::Nothing
    }

    /// Handles the system's report of changed paths.
    fn told(&mut self, paths: Vec<PathBuf>) {
        let (changed, may_be_new) = self.files.told(paths);
        if may_be_new {
            self.due.hasten_scan();
        }
        if self.pending.is_empty() {
            self.due.look = self.due.look.max(Instant::now() + PAUSE);
        }
        self.pending.extend(changed);
    }

    /// Shows events, and runs the command for them.
    fn show(&mut self, happened: Vec<Happened>) -> Result<(), CliError> {
        let now = moment();
        let mut out = io::stdout().lock();
        for one in happened {
            let is_session = matches!(one.kind, WatchEventKind::Session { .. });
            match &mut self.shown {
                Shown::Json => out.write_all(&self.sessions.json(&one)?)?,
                Shown::Lines => writeln!(out, "{}", self.sessions.line(&one, now))?,
                Shown::Screen(_) if is_session => {}
                Shown::Screen(screen) => screen.add(self.sessions.line(&one, now)),
            }
            let rings = matches!(one.kind, WatchEventKind::Budget { .. });
            if rings && self.shown.is_for_people() && io::stdout().is_terminal() {
                // The terminal's bell.
                out.write_all(b"\x07")?;
            }
            if let Some(runner) = self.runner.as_ref().filter(|_| !is_session)
                && !runner.run(self.sessions.json(&one)?)
            {
                self.note("--exec: too many events wait; this one is left out".to_owned());
            }
        }
        Ok(out.flush()?)
    }

    /// Shows a message to the user.
    fn note(&mut self, note: String) {
        match &mut self.shown {
            Shown::Screen(screen) => screen.add(note),
            Shown::Lines | Shown::Json => say(&note),
        }
    }

    fn redraw(&mut self) -> Result<(), CliError> {
        if let Shown::Screen(screen) = &mut self.shown {
            screen.draw(&self.sessions.table(moment())?)?;
        }
        Ok(())
    }

    /// Stops the program until the user lets it continue, with the terminal as it was found.
    fn stop(&mut self, signals: &Receiver<Signal>) -> Result<Asked, CliError> {
        give_back();
        #[cfg(unix)]
        {
            signal_hook::low_level::emulate_default_handler(SIGTSTP)?;
            // Changes in the meantime are found by a search.
            while matches!(self.shown, Shown::Screen(_)) && !asked::is_in_front() {
                if let Ok(Signal::End) = signals.recv_timeout(PAUSE) {
                    return Ok(Asked::End);
                }
            }
        }
        #[cfg(not(unix))]
        let _nothing_stops_it = signals;
        if let Shown::Screen(screen) = &mut self.shown {
            screen.take_again()?;
        }
        self.due.hasten_scan();
        Ok(Asked::Redraw)
    }
}

/// Returns true if nobody reads the lines any more. A terminal that is gone sends a signal.
fn has_no_reader() -> bool {
    #[cfg(unix)]
    {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};

        let out = io::stdout();
        let mut out = [PollFd::new(&out, PollFlags::empty())];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        let has_answer = poll(&mut out, Some(&at_once)).is_ok_and(|answers| answers > 0);
        has_answer && out[0].revents().contains(PollFlags::ERR)
    }
    #[cfg(not(unix))]
    false
}
