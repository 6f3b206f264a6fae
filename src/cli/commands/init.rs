//! `cachesim init`.

use std::io::{self, Write as _};
use std::path::{Component, Path};
use std::{env, fs};

use clap::Parser as _;

use super::check::{CheckedSessions, with_sessions};
use crate::cli::args::{CheckArgs, CiArg, Cli, ColorArg, Command, InitArgs};
use crate::cli::error::CliError;
use crate::cli::input::shown_path;
use crate::cli::output::{Output, say};
use crate::cli::output_file::OutputFile;
use crate::cli::with_threads;
use crate::explain::check::{FirstBudget, first_budgets};
use crate::report::{counted, grouped, terminal_safe, write_report};

const CONFIGURATION: &str = "cachesim.toml";
const BASELINE: &str = "baseline.json";
const WORKFLOW: &str = ".github/workflows/cachesim.yml";

/// A file that a project begins with.
struct Starter {
    path: &'static str,
    content: Vec<u8>,
    /// What is shown in place of a content that only programs read.
    summary: Option<String>,
}

/// Shows what a project needs to check its sessions in CI, and with `--apply` writes it.
pub(in crate::cli) fn init(args: &InitArgs) -> Result<(), CliError> {
    let paths = args.paths.iter().map(|path| of_project(path)).collect::<Result<Vec<_>, _>>()?;
    let files = starters(&paths, args.ci)?;
    show(&files)?;
    refuse_present(&files)?;
    if !args.apply {
        say("nothing is written; the same command with --apply writes these files");
        return Ok(());
    }
    // None is put in its place before all can be.
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

/// A path as the configuration has it. A check in CI has nothing that is not in the repository.
fn of_project(path: &Path) -> Result<String, CliError> {
    let is_below =
        path.components().all(|one| matches!(one, Component::CurDir | Component::Normal(_)));
    let is_plain = |name: &&str| is_below && !name.contains(|one: char| one.is_control());
    let name = path.to_str().filter(is_plain).ok_or_else(|| {
        CliError::Usage(format!(
            "{}: a check in CI reads what is in the repository. Copy the sessions below this folder, without their text: \
             cachesim redact PATH -o sessions",
            shown_path(path)
        ))
    })?;
    if !is_there(path) {
        return Err(CliError::NoInput(format!(
            "there is no {} here. Record the requests of your agent's tests there, or copy sessions without their text: \
             cachesim redact ~/.claude/projects -o sessions",
            shown_path(path)
        )));
    }
    Ok(name.to_owned())
}

/// Whether something has this name, be it a link that leads nowhere.
fn is_there(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

/// The files, by what `check` measures of these paths.
fn starters(paths: &[String], ci: CiArg) -> Result<Vec<Starter>, CliError> {
    let check = check_of(paths)?;
    let (budgets, baseline, summary) =
        with_threads(&check.input, &check.output, || with_sessions(&check, &[], measured))?;
    let configuration = configuration(paths, &budgets);
    let mut files = vec![
        Starter { path: CONFIGURATION, content: configuration.into_bytes(), summary: None },
        Starter { path: BASELINE, content: baseline, summary: Some(summary) },
    ];
    if ci == CiArg::Github {
        files.push(Starter { path: WORKFLOW, content: workflow().into_bytes(), summary: None });
    }
    Ok(files)
}

/// What `check` has as options for these paths where nothing is configured, as it is in CI.
fn check_of(paths: &[String]) -> Result<CheckArgs, CliError> {
    let words = ["cachesim", "check", "--"].into_iter().chain(paths.iter().map(String::as_str));
    match Cli::try_parse_from(words).map(|cli| cli.command) {
        Ok(Command::Check(args)) => Ok(args),
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
    let summary = format!(
        "The figures of {} with {}, as cachesim.report/v1: {} bytes, without text.",
        counted(now.sessions.len() as u64, "session", "sessions"),
        counted(study.history.count_requests(), "request", "requests"),
        grouped(baseline.len() as u64),
    );
    Ok((budgets, baseline, summary))
}

fn configuration(paths: &[String], budgets: &[FirstBudget]) -> String {
    let paths: Vec<String> =
        paths.iter().map(|path| toml::Value::from(path.as_str()).to_string()).collect();
    let mut text = format!(
        "# What the recorded sessions of this project may cost. `cachesim check` finds this file from any folder below it.\n\
         schema = \"cachesim.config/v1\"\n\n\
         [check]\npaths = [{}]\n\
         # `cachesim check --save-baseline {BASELINE}` renews it.\nbaseline = \"{BASELINE}\"\n",
        paths.join(", ")
    );
    for budget in budgets {
        text += "\n";
        text += &budget.to_string();
    }
    text
}

/// The workflow, with the action of this very version.
fn workflow() -> String {
    let place = env!("CARGO_PKG_REPOSITORY");
    let name = place.splitn(4, '/').nth(3).unwrap_or(place);
    let action = format!("{name}@v{}", env!("CARGO_PKG_VERSION"));
    include_str!("../starter/workflow.yml").replace("ACTION", &action)
}

fn show(files: &[Starter]) -> Result<(), CliError> {
    let mut text = String::new();
    for Starter { path, content, summary } in files {
        let content =
            summary.as_deref().map_or_else(|| String::from_utf8_lossy(content), Into::into);
        let rule = "─".repeat(path.len());
        text += &[path, "\n", &rule, "\n"].concat();
        for line in content.trim_end().lines() {
            text += &terminal_safe(line);
            text.push('\n');
        }
        text.push('\n');
    }
    Output::standard(ColorArg::Auto).write::<io::Error>(|out| out.write_all(text.as_bytes()))
}

/// Fails where a file is there that would be written.
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

/// A new file in this folder, through no link that leads out of it.
fn open(path: &Path) -> Result<OutputFile, CliError> {
    let failed = |source| CliError::OutputFile { path: path.to_owned(), source };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let here = env::current_dir().and_then(fs::canonicalize).map_err(failed)?;
    let nearest = folder.ancestors().find(|folder| folder.exists()).unwrap_or(Path::new("."));
    if !fs::canonicalize(nearest).map_err(failed)?.starts_with(here) {
        let outside = "a link leads out of this folder";
        return Err(failed(io::Error::new(io::ErrorKind::PermissionDenied, outside)));
    }
    fs::create_dir_all(folder).map_err(failed)?;
    OutputFile::open(path).map_err(failed)
}
