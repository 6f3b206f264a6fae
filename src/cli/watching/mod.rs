//! `watch`: waits for changes of files, looks at them, and shows what happened: as a table on a terminal, else as lines.

mod exec;
mod files;
mod screen;
mod sessions;

use std::collections::BTreeSet;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use ratatui::crossterm::event::{self as terminal_event, Event, KeyEvent};

use exec::Runner;
use files::{Told, WatchedFiles};
use screen::{Asked, Screen};
use sessions::{Happened, Sessions};

use super::args::WatchArgs;
use super::error::CliError;
use super::input::default_paths;
use super::limits::{moment, zone_of};
use super::looking::Looking;
use super::output::{has_colours, is_dumb, say};
use crate::report::{WatchEventKind, WatchedNames};

/// From one look at the open files, and at the clock, to the next.
const TICK: Duration = Duration::from_secs(1);

/// From one look through all folders to the next.
const SCAN: Duration = Duration::from_secs(10);

/// Changes that come together are looked at together.
const PAUSE: Duration = Duration::from_millis(50);

/// After looking it rests for so many times as long, so that it never takes more than a small part of a core.
const REST: u32 = 20;

/// What the watch waits for.
enum Signal {
    Told(Told),
    Key(KeyEvent),
    Resized,
    /// Something to say to the user.
    Note(String),
    End,
}

/// Where what happens is shown.
enum Shown {
    Screen(Screen),
    Lines,
    Json,
}

/// Watches until it is told to end.
pub(super) fn watch(args: &WatchArgs, looking: &Looking) -> Result<(), CliError> {
    let roots = roots(args)?;
    let names = WatchedNames::by(args.naming.naming());
    let zone = zone_of(args.timezone.as_deref())?;
    let sessions = Sessions::new(looking, names, zone, args.idle, args.budget);
    let (sender, signals) = mpsc::channel();
    end_on_signals(&sender)?;
    let told = sender.clone();
    let files = WatchedFiles::below(roots, move |change| drop(told.send(Signal::Told(change))));
    let noted = sender.clone();
    let tell = move |note| drop(noted.send(Signal::Note(note)));
    let runner = args.exec.clone().map(|command| Runner::start(command, tell)).transpose()?;
    let shown = Shown::open(args, &sender)?;
    let mut watch = Watch { sessions, files, runner, shown, pending: BTreeSet::new() };
    let result = watch.begin().and_then(|()| if args.once { Ok(()) } else { watch.run(&signals) });
    // The terminal is given back before anything waits.
    drop(watch.shown);
    if let Some(runner) = watch.runner {
        runner.finish();
    }
    result
}

fn roots(args: &WatchArgs) -> Result<Vec<PathBuf>, CliError> {
    if args.paths.is_empty() {
        let places = default_paths(&[])?;
        // Databases do not grow as files do.
        return Ok(places.into_iter().filter(|place| place.is_dir()).collect());
    }
    match args.paths.iter().find(|path| path.as_os_str() == "-") {
        Some(_) => Err(CliError::Usage(
            "watch follows files, and standard input is none; give files or folders".to_owned(),
        )),
        None => Ok(args.paths.clone()),
    }
}

/// Sends the end where the user or the system asks for it.
fn end_on_signals(sender: &Sender<Signal>) -> Result<(), CliError> {
    #[cfg(unix)]
    {
        use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
        use signal_hook::iterator::Signals;

        let mut signals = Signals::new([SIGHUP, SIGINT, SIGTERM])?;
        let sender = sender.clone();
        thread::Builder::new().name("signals".to_owned()).spawn(move || {
            for _ in signals.forever() {
                drop(sender.send(Signal::End));
            }
        })?;
    }
    #[cfg(not(unix))]
    let _ends_with_the_console = sender;
    Ok(())
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
}

/// Sends what is typed, until nothing can be read or nobody waits for it.
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
}

/// When something is done next.
struct Due {
    tick: Instant,
    scan: Instant,
    /// Before this nothing is looked at.
    look: Instant,
}

impl Watch<'_> {
    fn run(&mut self, signals: &Receiver<Signal>) -> Result<(), CliError> {
        let now = Instant::now();
        let mut due = Due { tick: now + TICK, scan: now + SCAN, look: now };
        loop {
            let next = if self.pending.is_empty() { due.tick } else { due.look.min(due.tick) };
            let wait = next.saturating_duration_since(Instant::now());
            match signals.recv_timeout(wait) {
                Ok(Signal::End) | Err(RecvTimeoutError::Disconnected) => return Ok(()),
                Ok(signal) => {
                    if self.answer(signal, &mut due)? == Asked::End {
                        return Ok(());
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            let now = Instant::now();
            if now >= due.scan {
                self.pending.extend(self.files.scan());
                self.sessions.close(&self.files, moment());
                due.scan = Instant::now() + SCAN;
            }
            let is_tick = now >= due.tick;
            if is_tick {
                let open: Vec<PathBuf> =
                    self.sessions.watched.files().map(|(path, _)| path.to_owned()).collect();
                self.pending.extend(self.files.check(open));
                due.tick = Instant::now() + TICK;
            }
            let looks = !self.pending.is_empty() && now >= due.look;
            if looks {
                let began = Instant::now();
                let paths = std::mem::take(&mut self.pending);
                self.look(paths, false)?;
                due.look = Instant::now() + (began.elapsed() * REST).max(PAUSE);
            }
            if is_tick {
                let expired = self.sessions.expired(moment());
                self.show(expired)?;
            }
            if is_tick || looks {
                self.redraw()?;
            }
        }
    }

    /// What is there already happened before.
    fn begin(&mut self) -> Result<(), CliError> {
        let found = self.files.scan();
        let now = moment();
        let paths = self.sessions.chosen(&self.files, found, now)?;
        self.look(paths, true)?;
        self.sessions.close(&self.files, now);
        let _was_cold = self.sessions.expired(now);
        self.redraw()
    }

    fn answer(&mut self, signal: Signal, due: &mut Due) -> Result<Asked, CliError> {
        let soon = Instant::now() + PAUSE;
        match signal {
            Signal::End => return Ok(Asked::End),
            Signal::Told(Told::Missed) => due.scan = due.scan.min(soon),
            Signal::Told(Told::Paths(paths)) => {
                let (known, new): (Vec<_>, Vec<_>) =
                    paths.into_iter().partition(|path| self.files.knows(path));
                if !new.is_empty() {
                    due.scan = due.scan.min(soon);
                }
                if self.pending.is_empty() {
                    due.look = due.look.max(soon);
                }
                self.pending.extend(self.files.check(known));
            }
            Signal::Key(key) => {
                let Shown::Screen(screen) = &mut self.shown else { return Ok(Asked::Nothing) };
                let asked = screen.key(key);
                if asked == Asked::Redraw {
                    self.redraw()?;
                }
                return Ok(asked);
            }
            Signal::Resized => self.redraw()?,
            Signal::Note(note) => match &mut self.shown {
                Shown::Screen(screen) => {
                    screen.add(note);
                    self.redraw()?;
                }
                Shown::Lines | Shown::Json => say(&note),
            },
        }
        Ok(Asked::Nothing)
    }

    fn look(&mut self, paths: BTreeSet<PathBuf>, is_old: bool) -> Result<(), CliError> {
        let now = moment();
        let paths = self.sessions.with_agents(&self.files, paths);
        let happened = self.sessions.look(paths, is_old, now)?;
        self.show(happened)
    }

    /// Shows what happened, each in the order in which it did, and runs the command for it.
    fn show(&mut self, happened: Vec<Happened>) -> Result<(), CliError> {
        let mut out = io::stdout().lock();
        for (path, at, kind) in happened {
            let is_session = matches!(kind, WatchEventKind::Session { .. });
            let rings = matches!(kind, WatchEventKind::Budget { .. });
            let event = self.sessions.event(path.as_deref(), at, kind);
            let mut json = Vec::new();
            event.write_json(&self.sessions.names, &mut json)?;
            let name = || {
                let names = event.session.map(|session| self.sessions.names.of(&[session]));
                names.and_then(|names| names.into_iter().next()).unwrap_or_default()
            };
            match &mut self.shown {
                Shown::Json => out.write_all(&json)?,
                Shown::Lines => writeln!(out, "{}", event.line(&name(), &self.sessions.zone))?,
                Shown::Screen(_) if is_session => {}
                Shown::Screen(screen) => screen.add(event.line(&name(), &self.sessions.zone)),
            }
            if rings && io::stdout().is_terminal() {
                out.write_all(b"\x07")?;
            }
            if let Some(runner) = self.runner.as_ref().filter(|_| !is_session) {
                runner.run(json);
            }
        }
        Ok(out.flush()?)
    }

    fn redraw(&mut self) -> Result<(), CliError> {
        if let Shown::Screen(screen) = &mut self.shown {
            screen.draw(&self.sessions.table(moment())?)?;
        }
        Ok(())
    }
}
