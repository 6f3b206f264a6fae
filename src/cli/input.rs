//! Reads the input of a run with a progress bar, and reports its problems.

use std::io;
use std::path::{Component, Path, PathBuf, absolute};
use std::{env, fs};

use super::args::{FilterArgs, InputArgs, OutputArgs};
use super::listed::Listed;
use super::places::{has_places, places};
use super::{CliError, Limits, Progress, warn};
use crate::base::{ByKey, Client, Ordered as _};
use crate::read::input::{
    Diagnostics, Discovered, Inside, Kind, Location, MemoryBound, Source, discover, discover_below,
    discover_inside, read_standard_input, read_standard_input_bytes, read_text, read_whole,
};
use crate::report::{counted, grouped};
use crate::requests::conversation::{History, ReadOptions, read};
use crate::simulate::ledger::Filter;

/// Names of the files that are read in a folder.
pub(super) const READ_NAMES: &str =
    "*.jsonl and *.json (also .gz and .zst), *.db, *.har, *.csv, *.parquet";

/// Number of rejected lines that are named without `--verbose`.
const NAMED_LINES: usize = 5;

/// Bytes of some files.
pub(super) fn size<'s>(sources: impl IntoIterator<Item = &'s Source>) -> u64 {
    sources.into_iter().map(|source| source.size).sum()
}

/// Reads files, and reports their problems.
pub(super) fn read_history(
    discovered: Discovered,
    input: &InputArgs,
    output: &OutputArgs,
    options: ReadOptions,
) -> Result<History, CliError> {
    let progress = Progress::of_bytes("reading sessions", size(&discovered.sources));
    let history = read(discovered, options, |bytes| progress.add(bytes));
    drop(progress);
    enough_memory(&history.diagnostics)?;
    if history.requests.is_empty()
        && !input.strict
        && let Some(reason) = unread(&history)
    {
        return Err(CliError::NoInput(reason));
    }
    let is_empty = history.requests.is_empty();
    if !output.quiet {
        if !is_empty || other_file(&history).is_none() {
            name_foreign_files(&history.diagnostics, history.files.len());
        }
        name_damage(&history.diagnostics, output.verbose);
    }
    if input.strict && history.diagnostics.has_damage() {
        return Err(CliError::DamagedInput);
    }
    if is_empty {
        return Err(CliError::NoInput(nothing_known(&history)));
    }
    only_of(&input.filter.source, &history)?;
    Ok(history)
}

/// Reports the problems of files, and fails under `--strict`.
pub(super) fn tell_damage(
    diagnostics: &Diagnostics,
    files: usize,
    strict: bool,
    output: &OutputArgs,
) -> Result<(), CliError> {
    if !output.quiet {
        name_foreign_files(diagnostics, files);
        name_damage(diagnostics, output.verbose);
    }
    if strict && diagnostics.has_damage() {
        return Err(CliError::DamagedInput);
    }
    Ok(())
}

/// Fails if none of the requested programs has a request, and names those that have.
fn only_of(wanted: &[Client], history: &History) -> Result<(), CliError> {
    let clients: Vec<Client> = history.requests.iter().map(|request| request.client).ordered();
    if wanted.is_empty() || wanted.iter().any(|client| clients.contains(client)) {
        return Ok(());
    }
    let names = |clients: Vec<Client>| clients.into_iter().map(Client::name).collect::<Vec<_>>();
    Err(CliError::NoInput(format!(
        "no request of --source {}; the input has {} of {}",
        names(wanted.to_vec()).join(","),
        counted(history.requests.len() as u64, "request", "requests"),
        names(clients.into_iter().collect()).join(", "),
    )))
}

/// Fails if memory is used up, so that reading left something out or nothing more can be done.
pub(super) fn enough_memory(diagnostics: &Diagnostics) -> Result<(), CliError> {
    let is_reached = MemoryBound::of_process().is_some_and(MemoryBound::is_reached);
    if is_reached || diagnostics.count(Kind::OutOfMemory) > 0 {
        return Err(CliError::memory());
    }
    Ok(())
}

/// Reason that nothing was read, if no file could be.
fn unread(history: &History) -> Option<String> {
    let diagnostics = &history.diagnostics;
    let is_unread = |(kind, _): (Kind, u64)| kind == Kind::UnreadableFile;
    if !diagnostics.counts().all(is_unread) {
        return None;
    }
    let reasons: Vec<String> = diagnostics.examples().iter().map(ToString::to_string).collect();
    let (first, rest) = reasons.split_first()?;
    let rest = if rest.is_empty() { String::new() } else { format!(" (and {} more)", rest.len()) };
    Some(format!("{first}{rest}; give a file or folder that can be read"))
}

/// Message for an input without requests: the files that were read, and their kind or the expected lines.
fn nothing_known(history: &History) -> String {
    if let Some((label, what)) = other_file(history) {
        return match history.files.len() as u64 + history.passed_over.files {
            0 | 1 => format!("no request in {label}: it is {what}"),
            files => format!("no request in {} files: {label} is {what}", grouped(files)),
        };
    }
    let known = history.files.iter().find_map(|file| Some((&file.label, file.what?)));
    if let Some((label, what)) = known {
        return format!(
            "no request in {label}: it is {what}, and nothing in it tells what a request used"
        );
    }
    let looked_at = match history.files.as_slice() {
        [] => "no file".to_owned(),
        [file] => file.label.to_string(),
        [first, ..] => {
            let files = counted(history.files.len() as u64, "file", "files");
            format!("{files}, {} first", first.label)
        }
    };
    format!(
        "no request in {looked_at}; expected is JSON Lines with lines such as \
         {{\"type\":\"assistant\",\"message\":{{\"usage\":{{…}}}}}} (a Claude Code transcript), \
         {{\"request\":{{\"model\":…}}}} (a capture or claude-trace log), \
         {{\"prompt\":{{…}}}} (a bundle), or a session of another agent (`cachesim sources` lists them)"
    )
}

/// First file that is neither a session nor a log, with a description, if nothing else was read.
fn other_file(history: &History) -> Option<(&str, &str)> {
    let mut foreign = history.diagnostics.examples().iter();
    let foreign = foreign.find(|one| one.kind == Kind::ForeignFormat);
    let foreign = foreign.map(|one| (&*one.file, one.detail.as_str()));
    let passed_over = history.passed_over.first.as_ref().filter(|_| history.files.is_empty());
    let passed_over = passed_over.map(|(label, what)| (&**label, what.as_str()));
    foreign.or(passed_over).filter(|_| history.lines == 0)
}

/// Files that the arguments name.
pub(super) fn discovered(input: &InputArgs, output: &OutputArgs) -> Result<Discovered, CliError> {
    if let Some(list) = &input.paths_from {
        refuse_lost(list, "--paths-from", &output.output)?;
    }
    let paths = match &input.paths_from {
        Some(list) => listed(input, list)?.paths.clone(),
        None => typed_paths(input)?,
    };
    if input.root.is_some() {
        return discovered_below(input, &paths, output);
    }
    let inside = inside(input, &paths)?;
    usable(discover_inside(&paths, &inside), &paths, output)
}

/// Paths of the command line, otherwise the folders of `--inside`, the root, or what agents keep at home.
fn typed_paths(input: &InputArgs) -> Result<Vec<PathBuf>, CliError> {
    let typed = [&input.paths, &input.inside].into_iter().find(|paths| !paths.is_empty());
    match (typed, &input.root) {
        (Some(typed), None) => Ok(typed.clone()),
        (None, None) => default_paths(&input.filter.source),
        // Typed paths start from the working directory, listed ones from the root.
        (Some(typed), Some(_)) => typed.iter().map(|path| whole_path(path)).collect(),
        (None, Some(root)) => Ok(vec![whole_path(root)?]),
    }
}

/// Single file as an input.
pub(super) fn discovered_file(
    input: &InputArgs,
    output: &OutputArgs,
    file: &Path,
) -> Result<Discovered, CliError> {
    let paths = [file.to_owned()];
    usable(discover_inside(&paths, &inside(input, &paths)?), &paths, output)
}

/// Files at paths below the root.
pub(super) fn discovered_below(
    input: &InputArgs,
    paths: &[PathBuf],
    output: &OutputArgs,
) -> Result<Discovered, CliError> {
    let root = whole_path(input.root.as_deref().unwrap_or(Path::new(".")))?;
    let whole: Vec<PathBuf> = paths.iter().map(|path| root.join(path)).collect();
    let inside = inside(input, &whole)?;
    let discovered = discover_below(&root, paths, &inside);
    let discovered = discovered.map_err(|error| CliError::Usage(format!("--root: {error}")))?;
    usable(discovered, paths, output)
}

/// Folders of `--inside`, which every path has to lead into.
fn inside(input: &InputArgs, paths: &[PathBuf]) -> Result<Inside, CliError> {
    let inside = Inside::of(&input.inside).map_err(|(folder, error)| {
        let folder = folder.display();
        CliError::Usage(format!("--inside {folder}: {error}; give a folder that is there"))
    })?;
    let is_outside = |path: &&PathBuf| path.as_os_str() != "-" && !inside.has(path);
    match paths.iter().find(is_outside) {
        None => Ok(inside),
        Some(path) => Err(CliError::Usage(format!(
            "--inside: {} is not in {}",
            path.display(),
            named(inside.folders())
        ))),
    }
}

/// Path from the root of the file system, without `..` in it. Links stay, except those before a `..`.
pub(super) fn whole_path(path: &Path) -> Result<PathBuf, CliError> {
    let failed = |error| CliError::Usage(format!("{}: {error}", path.display()));
    let whole = absolute(path).map_err(failed)?;
    let parts: Vec<Component<'_>> = whole.components().collect();
    let Some(last) = parts.iter().rposition(|part| *part == Component::ParentDir) else {
        return Ok(whole);
    };
    let (before, after) = parts.split_at(last + 1);
    let before = fs::canonicalize(before.iter().collect::<PathBuf>()).map_err(failed)?;
    Ok(before.join(after.iter().collect::<PathBuf>()))
}

/// Refuses an output in the place of a file that lists the input.
pub(super) fn refuse_lost(file: &Path, option: &str, output: &Path) -> Result<(), CliError> {
    let is_same = fs::canonicalize(file).is_ok_and(|file| {
        output.as_os_str() != "-" && fs::canonicalize(output).is_ok_and(|output| output == file)
    });
    if !is_same {
        return Ok(());
    }
    let path = output.display();
    Err(CliError::Usage(format!("--output: {path} is the file of {option}; give another file")))
}

/// Most bytes of a list of paths.
const MOST_LISTED: u64 = 1 << 30;

/// List of paths, read only once, as standard input can be.
fn listed<'a>(input: &'a InputArgs, list: &Path) -> Result<&'a Listed, CliError> {
    if let Some(listed) = input.listed.get() {
        return Ok(listed);
    }
    let read = if list.as_os_str() == "-" {
        read_standard_input_bytes(MOST_LISTED)
    } else {
        read_whole(list, MOST_LISTED)
    };
    let bytes = read.map_err(|source| {
        let list = list.display();
        CliError::Usage(format!("--paths-from {list}: cannot read it: {source}"))
    })?;
    let name = list.display();
    let listed = Listed::parse(&bytes)
        .map_err(|problem| CliError::Usage(format!("--paths-from {name}: {problem}")))?;
    if listed.paths.is_empty() {
        return Err(CliError::NoInput(format!("no path in {name}")));
    }
    Ok(input.listed.get_or_init(|| listed))
}

impl InputArgs {
    /// Returns true if the arguments name an input.
    pub(super) fn is_named(&self) -> bool {
        let Self { paths, paths_from, root, inside, .. } = self;
        !paths.is_empty() || paths_from.is_some() || root.is_some() || !inside.is_empty()
    }

    /// Returns true if the arguments select requests.
    pub(super) fn selects(&self) -> bool {
        self.live || !self.filter.is_empty()
    }

    /// Version of a file in the list, by its path or by its label.
    pub(super) fn version_of(&self, path: &Path, label: &str) -> Option<&str> {
        let versions = &self.listed.get()?.versions;
        versions.get(Path::new(label)).or_else(|| versions.get(path)).map(String::as_str)
    }

    /// Number of versions in the list.
    pub(super) fn versions(&self) -> usize {
        self.listed.get().map_or(0, |listed| listed.versions.len())
    }
}

/// Files under paths. None may be the output.
pub(super) fn sources(paths: &[PathBuf], output: &OutputArgs) -> Result<Discovered, CliError> {
    usable(discover(paths), paths, output)
}

fn usable(
    discovered: Discovered,
    paths: &[PathBuf],
    output: &OutputArgs,
) -> Result<Discovered, CliError> {
    if discovered.sources.is_empty() && discovered.diagnostics.counts().next().is_none() {
        return Err(CliError::NoInput(format!(
            "no file in {} that may be a session or a log by its name: {READ_NAMES}; give the files of \
             sessions, or a folder with such",
            named(paths)
        )));
    }
    refuse_to_overwrite(&discovered, &output.output, "--output")?;
    Ok(discovered)
}

/// Text of a file, or of standard input for `-`.
pub(super) fn read_given(file: &Path, most: u64) -> io::Result<String> {
    if file.as_os_str() == "-" { read_standard_input(most) } else { read_text(file, most) }
}

/// Path as people write it, with `~` for the home.
pub(super) fn shown_path(path: &Path) -> String {
    let home = env::home_dir();
    match home.as_ref().and_then(|home| path.strip_prefix(home).ok()) {
        Some(rest) => format!("~/{}", rest.display()),
        None => path.display().to_string(),
    }
}

/// Number of paths that an error names.
const NAMED_PATHS: usize = 3;

/// Paths as people write them, the first few of many.
fn named(paths: &[PathBuf]) -> String {
    let named: Vec<String> = paths.iter().take(NAMED_PATHS).map(|path| shown_path(path)).collect();
    let more = paths.len() - named.len();
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    named.join(", ") + &more
}

/// Refuses `--export` files that are inputs.
pub(super) fn refuse_inputs(
    input: &InputArgs,
    output: &OutputArgs,
    exports: &[(&str, &Path)],
) -> Result<(), CliError> {
    if exports.is_empty() {
        return Ok(());
    }
    let discovered = discovered(input, output)?;
    exports.iter().try_for_each(|(option, path)| refuse_to_overwrite(&discovered, path, option))
}

/// Refuses an output that is an input, which would be lost before it was read.
fn refuse_to_overwrite(
    discovered: &Discovered,
    output: &Path,
    option: &str,
) -> Result<(), CliError> {
    if output.as_os_str() == "-" {
        return Ok(());
    }
    // An output that does not exist yet is no input.
    let Ok(target) = fs::canonicalize(output) else { return Ok(()) };
    let is_target = |source: &Source| match &source.location {
        Location::File(path) => fs::canonicalize(path).is_ok_and(|path| path == target),
        Location::StandardInput | Location::Memory(_) => false,
    };
    if discovered.sources.iter().any(is_target) {
        let path = output.display();
        return Err(CliError::Usage(format!("{option}: {path} is an input; give another file")));
    }
    Ok(())
}

/// Filter of the requests to report.
pub(super) fn filter(input: &InputArgs, limits: &Limits) -> Filter {
    let FilterArgs { source, session, project, model, branch, agent, .. } = &input.filter;
    Filter {
        sources: source.clone(),
        sessions: session.clone(),
        projects: project.clone(),
        models: model.clone(),
        branches: branch.clone(),
        agents: agent.clone(),
        since: limits.since,
        until: limits.until,
    }
}

/// Places of sessions that exist, for these programs.
pub(super) fn default_paths(only: &[Client]) -> Result<Vec<PathBuf>, CliError> {
    let places = places(only);
    let folders = places.iter().map(|place| place.folder.clone());
    let (there, missing): (Vec<PathBuf>, Vec<PathBuf>) = folders.partition(|one| one.exists());
    if there.is_empty() {
        return Err(CliError::NoSessions { looked: absent(only, &missing) });
    }
    Ok(there)
}

/// Explanation for the lack of places of these programs.
fn absent(only: &[Client], missing: &[PathBuf]) -> String {
    let placeless: Vec<&str> =
        only.iter().filter(|client| !has_places(**client)).map(|client| client.label()).collect();
    match missing {
        [] if !only.is_empty() && placeless.len() == only.len() => {
            let has = if placeless.len() == 1 {
                "has no place of its own"
            } else {
                "have no places of their own"
            };
            format!("{} {has} where logs are kept", placeless.join(" and "))
        }
        [] => "there is no home folder".to_owned(),
        [only] => format!("{} is not there", named(std::slice::from_ref(only))),
        [first, rest @ ..] => {
            let others = counted(rest.len() as u64, "other place is", "other places are");
            let first = named(std::slice::from_ref(first));
            format!(
                "{first} is not there, and {others} not either (`cachesim sources --all` lists them)"
            )
        }
    }
}

/// Counts the files of other programs by their kind.
fn foreign_files(diagnostics: &Diagnostics, files: usize) -> Vec<String> {
    let mut by_detail: ByKey<&str, Vec<&str>> = ByKey::new();
    for one in diagnostics.examples().iter().filter(|one| one.kind == Kind::ForeignFormat) {
        by_detail.entry(&one.detail).or_default().push(&one.file);
    }
    let files = counted(files as u64, "file", "files");
    let told = |(what, labels): (&str, Vec<&str>)| match labels.as_slice() {
        [only] => format!("1 of {files}: {what} ({only})"),
        labels => format!("{} of {files}: {what}", grouped(labels.len() as u64)),
    };
    by_detail.into_iter().map(told).collect()
}

/// Names the files of other programs on stderr.
pub(super) fn name_foreign_files(diagnostics: &Diagnostics, files: usize) {
    for note in foreign_files(diagnostics, files) {
        warn(note);
    }
}

/// Names rejected and repaired lines on stderr.
pub(super) fn name_damage(diagnostics: &Diagnostics, verbose: bool) {
    let counts: Vec<String> = diagnostics
        .counts()
        .filter(|(kind, _)| *kind != Kind::ForeignFormat)
        .map(|(kind, count)| format!("{} × {}", grouped(count), kind.label()))
        .collect();
    if counts.is_empty() {
        return;
    }
    // Messages that were left out of a prompt are reported like damage to the input.
    let is_told = |kind: Kind| {
        let others =
            [Kind::RepairedMessages, Kind::UnknownKey, Kind::SpecialFile, Kind::LinkOutside];
        kind.is_damage() || others.contains(&kind)
    };
    let damage: Vec<_> =
        diagnostics.examples().iter().filter(|one| verbose || is_told(one.kind)).collect();
    let named = if verbose { damage.len() } else { NAMED_LINES.min(damage.len()) };
    for diagnostic in &damage[..named] {
        warn(diagnostic.to_string());
    }
    let hint = if named < damage.len() { " (-v names each)" } else { "" };
    warn(format!("skipped or repaired: {}{hint}", counts.join(", ")));
}
