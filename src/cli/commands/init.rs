//! Command `cachesim init`.

use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Component, Path, PathBuf};
use std::{env, fs};

use clap::Parser as _;

use super::check::{CheckedSessions, with_sessions};
use crate::cli::args::{CheckArgs, CiArg, Cli, ColorArg, Command, Deferred, InitArgs};
use crate::cli::consent::Consent;
use crate::cli::output_file::folder_of;
use crate::cli::terminal::{height, width};
use crate::cli::{CliError, Output, OutputFile, say, shown_path, with_threads};
use crate::explain::check::{FirstBudget, first_budgets};
use crate::read::input::MOST_REPORT;
use crate::report::{counted, grouped, shortened, terminal_safe, write_report};

const CONFIGURATION: &str = "cachesim.toml";
const BASELINE: &str = "baseline.json";
const WORKFLOW: &str = ".github/workflows/cachesim.yml";
/// Folder of the program's own sources in a repository that has them, as an action.
const SOURCES: &str = ".github/actions/cachesim";

/// File that a project begins with.
struct Starter {
    path: &'static str,
    content: Vec<u8>,
    /// Text that is shown in place of a content that only programs read.
    summary: Option<String>,
}

/// Shows the files that a project needs to check its sessions in CI, and writes them with consent.
pub(in crate::cli) fn init(args: &InitArgs) -> Result<(), CliError> {
    let named = |paths: &[PathBuf]| paths.iter().map(|path| of_project(path)).collect();
    let read: Result<_, CliError> = named(&args.sessions);
    let read = Read { paths: read?, prices: named(&args.own_prices)? };
    if args.ci == CiArg::Github {
        refuse_below_root()?;
    }
    let mut files = starters(&read)?;
    let workflow = match args.ci {
        CiArg::Github => workflow(env!("CARGO_PKG_REPOSITORY")).map(|file| files.push(file)),
        CiArg::None => Ok(()),
    };
    // Shown even if files are in the way, as the user may copy parts of it.
    show(&files, args.dry_run)?;
    workflow.and(refuse_present(&files))?;
    let consent = Consent::new(args.yes, args.dry_run);
    if !consent.is_given()? {
        say(&format!("nothing is written.{}", consent.way()));
        return Ok(());
    }
    // No file is put in its place before all could be opened.
    let opened =
        files.iter().map(|file| open(Path::new(file.path))).collect::<Result<Vec<_>, _>>()?;
    for (file, mut output) in files.iter().zip(opened) {
        let written = output.write_all(&file.content).and_then(|()| output.finish());
        written.map_err(|source| CliError::OutputFile { path: file.path.into(), source })?;
    }
    let names: Vec<&str> = files.iter().map(|file| file.path).collect();
    say(&format!("wrote {}; commit them, then run `cachesim check`", names.join(", ")));
    Ok(())
}

/// Input of the check, as the configuration names it.
struct Read {
    paths: Vec<String>,
    prices: Vec<String>,
}

/// Fails in a subfolder of a repository, where GitHub looks for no workflow.
fn refuse_below_root() -> Result<(), CliError> {
    let here = env::current_dir().unwrap_or_default();
    let is_root = |folder: &Path| is_there(&folder.join(".git"));
    match here.ancestors().find(|folder| is_root(folder)) {
        Some(root) if root != here => Err(CliError::Usage(format!(
            "GitHub reads workflows at the root of the repository alone; run this in {}, or give --ci none",
            shown_path(root)
        ))),
        _ => Ok(()),
    }
}

/// Path as the configuration has it. A check in CI has nothing that is not in the repository.
fn of_project(path: &Path) -> Result<String, CliError> {
    let shown = shown_path(path);
    let name = path.to_str().filter(|name| !name.contains(|one: char| one.is_control()));
    let name = name.ok_or_else(|| {
        CliError::Usage(format!("{shown}: a configuration cannot have this name; rename it"))
    })?;
    let is_below = |part| matches!(part, Component::CurDir | Component::Normal(_));
    let outside = || {
        CliError::Usage(format!(
            "{shown}: a check in CI reads what is in the repository, and this leads out of this folder. Copy the sessions \
             here, without their text: cachesim redact PATH -o sessions"
        ))
    };
    if !path.components().all(is_below) {
        return Err(outside());
    }
    if !path.exists() {
        return Err(CliError::NoInput(format!(
            "{shown} is not in this folder. Record the requests of your agent's tests there, or copy sessions without their \
             text: cachesim redact ~/.claude/projects -o sessions"
        )));
    }
    if is_linked_out(path) {
        return Err(outside());
    }
    // With the separator that every system reads.
    let parts: Vec<&str> = Path::new(name).iter().filter_map(|part| part.to_str()).collect();
    Ok(parts.join("/"))
}

/// Returns true if links lead a path out of this folder.
fn is_linked_out(path: &Path) -> bool {
    let here = env::current_dir().and_then(fs::canonicalize);
    let place = fs::canonicalize(path);
    !place.is_ok_and(|place| here.is_ok_and(|here| place.starts_with(here)))
}

/// Returns true if something has this name, even a link that leads nowhere.
fn is_there(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

/// Files of every project, from the figures that `check` measures of the input.
fn starters(read: &Read) -> Result<Vec<Starter>, CliError> {
    let check = check_of(read)?;
    let (budgets, baseline, summary) =
        with_threads(&check.input, &check.output, || with_sessions(&check, &[], measured))?;
    let configuration = configuration(read, &budgets);
    Ok(vec![
        Starter { path: CONFIGURATION, content: configuration.into_bytes(), summary: None },
        Starter { path: BASELINE, content: baseline, summary: Some(summary) },
    ])
}

/// Options of `check` for this input without any configuration, as in CI.
fn check_of(read: &Read) -> Result<CheckArgs, CliError> {
    let prices = read.prices.iter().map(|file| format!("--prices={file}"));
    // A link in a folder leads nowhere in CI.
    let words = ["cachesim", "check", "--inside=."].map(str::to_owned).into_iter().chain(prices);
    let words = words.chain(["--".to_owned()]).chain(read.paths.iter().cloned());
    match Cli::try_parse_from(words).map(|cli| cli.command) {
        Ok(Command::Check(Deferred(args))) => Ok(args),
        Ok(_) => unreachable!("the words name `check`"),
        Err(error) => Err(CliError::Usage(error.to_string())),
    }
}

/// First budgets, the baseline, and a line about it.
fn measured(
    sessions: &CheckedSessions<'_>,
) -> Result<(Vec<FirstBudget>, Vec<u8>, String), CliError> {
    let CheckedSessions { ledger, study, now, .. } = sessions;
    let budgets = first_budgets(now, &study.history.captured.tree)
        .map_err(|error| CliError::Unanswered { place: String::new(), error })?;
    let mut baseline = Vec::new();
    write_report(ledger, &study.selection, Some(now), &mut baseline)?;
    // `check` could not read a larger baseline.
    if baseline.len() as u64 > MOST_REPORT {
        let bytes = grouped(baseline.len() as u64);
        return Err(CliError::NoInput(format!(
            "the baseline of these sessions would have {bytes} bytes, and one may have {}; give fewer sessions",
            grouped(MOST_REPORT)
        )));
    }
    let summary = format!(
        "The figures of {} with {}, as cachesim.report/v1: {} bytes, without text.",
        counted(now.sessions.len() as u64, "session", "sessions"),
        counted(study.history.count_requests(), "request", "requests"),
        grouped(baseline.len() as u64),
    );
    Ok((budgets, baseline, summary))
}

fn configuration(read: &Read, budgets: &[FirstBudget]) -> String {
    let list = |paths: &[String]| toml::Value::from(paths.to_vec()).to_string();
    let mut text = "# What the recorded sessions of this project may cost. `cachesim check` finds this file from any folder below it.\n\
         schema = \"cachesim.config/v1\"\n"
        .to_owned();
    if !read.prices.is_empty() {
        text += &["\n[defaults]\nprices = ", &list(&read.prices), "\n"].concat();
    }
    let renewed = "in this folder renews it.";
    text += &["\n[check]\npaths = ", &list(&read.paths), "\n"].concat();
    text += &["# `cachesim check --save-baseline ", BASELINE, "` ", renewed, "\n"].concat();
    text += &["baseline = \"", BASELINE, "\"\n"].concat();
    for budget in budgets {
        text += "\n";
        text += &budget.to_string();
    }
    text
}

/// Workflow with the action in this folder, otherwise with that of this very version's release.
fn workflow(repository: &str) -> Result<Starter, CliError> {
    // Workflows name the actions of others by their repositories on GitHub.
    let released = repository.strip_prefix("https://github.com/");
    let (action, install) = if is_there(&Path::new(SOURCES).join("action.yml")) {
        (format!("./{SOURCES}"), "build")
    } else if let Some(name) = released {
        (format!("{name}@v{}", env!("CARGO_PKG_VERSION")), "download")
    } else {
        return Err(CliError::Usage(format!(
            "this cachesim does not know where its releases are, so the workflow would have nothing to run; add its sources \
             to this repository (git submodule add ADDRESS {SOURCES}), or give --ci none"
        )));
    };
    let text = include_str!("../starter/workflow.yml")
        .replace("ACTION", &action)
        .replace("INSTALL", install)
        .replace("SUBMODULES", if install == "build" { "true" } else { "false" });
    Ok(Starter { path: WORKFLOW, content: text.into_bytes(), summary: None })
}

fn show(files: &[Starter], is_whole: bool) -> Result<(), CliError> {
    let is_terminal = io::stdout().is_terminal();
    let height = height(is_terminal).filter(|_| !is_whole);
    let width = height.map_or(usize::MAX, |_| width(is_terminal).into());
    let room = height.map_or(usize::MAX, |height| lines_each(height, files.len()));
    let mut text = String::new();
    for Starter { path, content, summary } in files {
        let content =
            summary.as_deref().map_or_else(|| String::from_utf8_lossy(content), Into::into);
        let lines: Vec<&str> = content.trim_end().lines().collect();
        let is_cut = lines.len() > room;
        let shown = if is_cut { room - 1 } else { lines.len() };
        text += &[path, "\n", &"─".repeat(path.len()), "\n"].concat();
        for line in &lines[..shown] {
            text += &shortened(terminal_safe(line), width);
            text.push('\n');
        }
        if is_cut {
            let left = counted((lines.len() - shown) as u64, "line", "lines");
            text.extend(["… ", &*left, " more: init --dry-run\n"]);
        }
        text.push('\n');
    }
    Output::standard(ColorArg::Auto).write::<io::Error>(|out| out.write_all(text.as_bytes()))
}

/// Lines of each file on a screen with room for what is asked below: 3 are taken by a file's name, rule and end.
fn lines_each(height: u16, files: usize) -> usize {
    const BELOW: usize = 4;
    (usize::from(height).saturating_sub(BELOW) / files.max(1)).saturating_sub(3).max(2)
}

/// Fails if one of the files to write exists.
fn refuse_present(files: &[Starter]) -> Result<(), CliError> {
    let there = files.iter().map(|file| file.path).filter(|path| is_there(Path::new(path)));
    let there: Vec<&str> = there.collect();
    let (verb, them) = match there.len() {
        0 => return Ok(()),
        1 => ("is", "it"),
        _ => ("are", "them"),
    };
    Err(CliError::Usage(format!(
        "{} {verb} there already, so nothing is written; take over from above what you need, or move {them} away",
        there.join(", ")
    )))
}

/// Creates a file in this folder, through no link that leads out of it.
fn open(path: &Path) -> Result<OutputFile, CliError> {
    let failed = CliError::unwritable(path);
    let folder = folder_of(path);
    let nearest = folder.ancestors().find(|folder| folder.exists()).unwrap_or(Path::new("."));
    if is_linked_out(nearest) {
        let outside = "a link leads out of this folder";
        return Err(failed(io::Error::new(io::ErrorKind::PermissionDenied, outside)));
    }
    fs::create_dir_all(folder).map_err(&failed)?;
    OutputFile::open(path).map_err(failed)
}
