//! Command `cachesim statusline`.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write as _};
use std::mem;
use std::ops::Range;
use std::path::{Path, PathBuf};

use rustc_hash::FxHashSet;
use serde_json::json;
use walkdir::WalkDir;

use super::apply::{SettingsRequest, Wanted, set, undone};
use crate::base::{Client, KnownSum, Millis, Ordered as _, Tokens};
use crate::cli::args::StatuslineArgs;
use crate::cli::command_line::CommandLine;
use crate::cli::looking::told_by_client;
use crate::cli::places::places;
use crate::cli::{CliError, Looking, limits};
use crate::follow::Billed;
use crate::read::input::{Entered, Inside, MOST_DEPTH};
use crate::read::told::Told;
use crate::report::{STATUS_TEMPLATE, Status, StatusTemplate};
use crate::settings::{Applied, Setting};

/// Prints a line about the session that is under way.
pub(in crate::cli) fn statusline(args: &StatuslineArgs) -> Result<(), CliError> {
    let template = StatusTemplate::parse(&args.template)
        .map_err(|error| CliError::Usage(format!("--template: {error}")))?;
    let zone = limits::zone_of(args.timezone.as_deref())?;
    if args.setup.install || args.setup.undo {
        return change_of_settings(args);
    }
    let told = told(args)?;
    let now = limits::moment();
    let day = limits::day_of(now, &zone)?;
    let status = status(&Looking::of(&args.prices)?.alone()?, &told, now, day)?;
    let mut out = io::stdout().lock();
    writeln!(out, "{}", template.line(&status))?;
    Ok(out.flush()?)
}

/// Name of an installed status line's record.
pub(super) const STATUSLINE: &str = "statusline";

/// Makes this command the status line of Claude Code, or takes that back.
fn change_of_settings(args: &StatuslineArgs) -> Result<(), CliError> {
    let request = SettingsRequest::of_setup(&args.setup);
    if args.setup.undo {
        let is_own = |applied: &Applied| applied.change == STATUSLINE;
        return undone(request, is_own, "statusline --undo");
    }
    let value = json!({ "type": "command", "command": command(args)? });
    let wanted = Wanted {
        change: STATUSLINE,
        title: "Makes `cachesim statusline` the status line of Claude Code.".to_owned(),
        promise: None,
        acts: "Claude Code shows it from its next message on.".to_owned(),
        undo: "statusline --undo",
    };
    set(wanted, request, |_| Ok(vec![Setting::top("statusLine", value)]))
}

/// Command that shows the line with the given options, for a shell.
fn command(args: &StatuslineArgs) -> Result<String, CliError> {
    let mut line = CommandLine::of(STATUSLINE)?;
    if args.template != STATUS_TEMPLATE {
        line.add("--template", &args.template);
    }
    if let Some(zone) = &args.timezone {
        line.add("--timezone", zone);
    }
    line.add_prices(&args.prices)?;
    line.for_shell()
}

fn told(args: &StatuslineArgs) -> Result<Told, CliError> {
    match &args.transcript {
        Some(path) => Ok(Told { transcript: Some(path.clone()), ..Told::default() }),
        None => {
            told_by_client("statusline", ", and `--transcript FILE` shows a session without one")
        }
    }
}

fn status(
    looking: &Looking,
    told: &Told,
    now: Millis,
    day: Range<Millis>,
) -> Result<Status, CliError> {
    let transcript = told.transcript.as_deref();
    let main = transcript.map(|path| looking.look(path)).transpose()?.unwrap_or_default();
    let last_break = main.last_break().map(|found| (found.cause, found.excess));
    let next = looking.next(&main, told, now);
    let mut own = BTreeSet::new();
    own.extend(transcript.map(Path::to_owned));
    // The sub-agents of a session have files in the folder of its name.
    if let Some(path) = transcript {
        own.extend(files(&path.with_extension("")).map(|(path, _)| path));
    }
    let mut sum = Sum::default();
    sum.add(main.requests, Whose::Session, &day);
    for path in own.iter().filter(|path| Some(path.as_path()) != transcript) {
        sum.add(looking.look_or_say(path).requests, Whose::Session, &day);
    }
    let folders = places(&[Client::ClaudeCode]);
    // Links may lead to one file by several paths.
    let seen: Vec<PathBuf> = own.iter().flat_map(fs::canonicalize).ordered();
    for place in folders {
        for (path, changed) in files(&place.folder) {
            // A file that did not change today has no request of today.
            let is_of_today = changed.is_none_or(|changed| changed >= day.start);
            if is_of_today
                && !fs::canonicalize(&path).is_ok_and(|path| seen.binary_search(&path).is_ok())
            {
                sum.add(looking.look_or_say(&path).requests, Whose::Others, &day);
            }
        }
    }
    Ok(Status {
        next,
        session: sum.session,
        today: sum.today,
        read_of_prompts: sum.read_of_prompts,
        last_break,
    })
}

/// Session files in a folder, each with the time of its last change. A missing folder has none. Each folder is walked
/// once, and links that lead out of the given one are not followed: nobody waits for a prompt while a disk is searched.
fn files(folder: &Path) -> impl Iterator<Item = (PathBuf, Option<Millis>)> + use<> {
    let walk = WalkDir::new(folder).follow_links(true).max_depth(MOST_DEPTH).sort_by_file_name();
    let inside = Inside::of(&[folder.to_owned()]).unwrap_or_default();
    let mut entered = Entered::default();
    let is_walked = move |entry: &walkdir::DirEntry| {
        let leads_out = || entry.path_is_symlink() && !inside.has(entry.path());
        !entry.file_type().is_dir() || !leads_out() && entered.enter(entry)
    };
    let entries = walk.into_iter().filter_entry(is_walked).flatten();
    let is_session = |entry: &walkdir::DirEntry| {
        entry.file_type().is_file() && entry.path().extension().is_some_and(|one| one == "jsonl")
    };
    entries.filter(is_session).map(|entry| {
        let changed = entry.metadata().ok().and_then(|metadata| metadata.modified().ok());
        (entry.into_path(), changed.and_then(limits::moment_of))
    })
}

/// Owner of a file that is added.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Whose {
    Session,
    Others,
}

/// Sums over several files, counting no request twice.
#[derive(Default)]
struct Sum {
    /// Requests of the files before the last one.
    seen: FxHashSet<u64>,
    /// Requests of the last file. They are looked up once there is a file after it, which most sessions do
    /// not have.
    last: Vec<Billed>,
    session: KnownSum,
    today: KnownSum,
    read_of_prompts: (Tokens, Tokens),
}

impl Sum {
    /// Adds the requests of a file: those of the day to the day, and the session's to the session.
    fn add(&mut self, requests: Vec<Billed>, whose: Whose, day: &Range<Millis>) {
        let last = mem::replace(&mut self.last, requests);
        self.seen.extend(last.iter().map(|one| one.id));
        for request in self.last.iter().filter(|one| !self.seen.contains(&one.id)) {
            if whose == Whose::Session {
                self.session.add(request.cost);
                self.read_of_prompts.0 += request.read;
                self.read_of_prompts.1 += request.prompt;
            }
            if day.contains(&request.at) {
                self.today.add(request.cost);
            }
        }
    }
}
