//! Command `cachesim fleet part`: the rows of one domain, as files that are made once.

use std::io;
use std::path::{Path, PathBuf};

use crate::cli::args::PartArgs;
use crate::cli::domains::has_nothing_asked_for;
use crate::cli::input::{discovered_below, whole_path};
use crate::cli::output::replace;
use crate::cli::part_key::{PartKey, is_in_place};
use crate::cli::parts::{fault, write_part};
use crate::cli::prepared::Telling;
use crate::cli::rows::{metadata, needs_parquet};
use crate::cli::{
    CliError, Output, Progress, Setup, discovered, enough_memory, read_given, say, size,
    strategies, tell_damage, tell_unpriced,
};
use crate::read::input::{Diagnostics, Discovered, Kind, MOST_REPORT, read_text};
use crate::report::{BREAK_SCHEMA, DomainListing, Inputs, LEDGER_SCHEMA, Part};
use crate::requests::conversation::read;
use crate::simulate::cache::Reading;

/// Most bytes of the line of a domain.
const MOST_LISTING: u64 = 1 << 30;

/// Writes the rows of a domain, unless they exist, and prints their description.
pub(in crate::cli) fn part(args: &PartArgs) -> Result<(), CliError> {
    needs_parquet("fleet part")?;
    let (input, simulation) = (&args.input, &args.simulation);
    refuse_parts_of_domains(args)?;
    let strategies = strategies(&args.strategy, args.output.quiet)?;
    let output = Output::open(&args.output)?;
    let assumptions = simulation.assumptions(args.breaks.are_kept, Reading::Literal);
    let options = args.simulation.read_options(true);
    let mut setup = Setup::new(input, simulation, &args.output, options, strategies, assumptions)?;
    // Parts are the same on every machine, whoever runs the program there.
    setup.options.read.naming.home = None;
    let (domain, discovered) = domain(args, &setup)?;
    let key = PartKey::new(&domain, &discovered.sources, &setup)?;
    let part = match known(&args.out, &key) {
        Some(part) => {
            if args.output.verbose {
                say(&format!("{}: the part is there ({})", key.domain, key.key));
            }
            if input.strict && part.inputs.damaged_places() > 0 {
                return Err(CliError::DamagedInput);
            }
            part
        }
        None => made(args, &key, &setup, discovered)?,
    };
    tell_unpriced(&part.unpriced, simulation.strict_prices, args.output.quiet)?;
    output.write::<io::Error>(|out| part.write(out))
}

/// Fails if a part would be less than a domain, or an input of itself.
fn refuse_parts_of_domains(args: &PartArgs) -> Result<(), CliError> {
    let Some(root) = &args.input.root else {
        let message = "part: --root DIR is missing: files are called by their paths below it";
        return Err(CliError::Usage(message.to_owned()));
    };
    if args.input.selects() {
        let message = "part: a part is a whole domain; leave out what selects requests, and select among its rows";
        return Err(CliError::Usage(message.to_owned()));
    }
    if whole_path(&args.out)?.starts_with(whole_path(root)?) {
        let message = "part: --out leads below --root, so that parts would be read as sessions; give a folder elsewhere";
        return Err(CliError::Usage(message.to_owned()));
    }
    Ok(())
}

/// Domain with its files: of a listing, or those that are named.
fn domain(args: &PartArgs, setup: &Setup<'_>) -> Result<(String, Discovered), CliError> {
    if let Some(file) = &args.listing {
        let listing = listing(file)?;
        let files: Vec<PathBuf> = listing.files.iter().map(PathBuf::from).collect();
        let discovered = discovered_below(&args.input, &files, &args.output)?;
        return Ok((listing.domain, discovered));
    }
    let name = args.domain.as_deref().unwrap_or_default();
    Ok((setup.options.read.naming.domain(name), discovered(&args.input, &args.output)?))
}

/// Line of a domain.
fn listing(file: &Path) -> Result<DomainListing, CliError> {
    let name = file.display();
    let text = read_given(file, MOST_LISTING);
    let text = text.map_err(|source| CliError::NoInput(format!("--listing {name}: {source}")))?;
    DomainListing::parse(&text).ok_or_else(|| {
        let problem = "expected one line as `cachesim fleet domains` prints it";
        CliError::NoInput(format!("--listing {name}: {problem}"))
    })
}

/// Existing part with all files that it names.
fn known(folder: &Path, key: &PartKey) -> Option<Part> {
    let line = read_text(&folder.join(key.line()), MOST_REPORT).ok()?;
    let part = Part::parse(&line)?;
    let is_same = part.domain == key.domain && part.key == key.key && part.settings == key.settings;
    (is_same && is_in_place(&part) && fault(folder, &part).is_none()).then_some(part)
}

/// Reads a domain, and makes its part.
fn made(
    args: &PartArgs,
    key: &PartKey,
    setup: &Setup<'_>,
    discovered: Discovered,
) -> Result<Part, CliError> {
    let sources = discovered.sources.clone();
    let describe = |schema| metadata(setup, sources.iter(), schema);
    let described = [LEDGER_SCHEMA, BREAK_SCHEMA].map(describe);
    let progress = Progress::of_bytes("reading the domain", size(&sources));
    let options = setup.options.read.clone();
    let history = read(discovered, options, |bytes| progress.add(bytes));
    drop(progress);
    enough_memory(&history.diagnostics)?;
    all_read(&history.diagnostics)?;
    tell_damage(&history.diagnostics, history.files.len(), args.input.strict, &args.output)?;
    // The key has sizes and times of change, so it shows files that changed meanwhile.
    if PartKey::new(&key.domain, &sources, setup)?.key != key.key {
        let message = format!("{}: files changed while they were read; run it again", key.domain);
        return Err(CliError::NoInput(message));
    }
    let inputs = Inputs::of(&history);
    let run = match setup.run(history, Telling::Later) {
        Ok(run) => Some(run),
        Err(CliError::Study(reason)) if has_nothing_asked_for(&reason) => None,
        Err(error) => return Err(error),
    };
    let part = write_part(&args.out, key, described, run.as_ref(), inputs)?;
    // The line comes last: without it, the files are no part.
    replace(&args.out.join(key.line()), |out| part.write(out))?;
    Ok(part)
}

/// Fails if a file could not be read: the next run would take the part for whole.
fn all_read(diagnostics: &Diagnostics) -> Result<(), CliError> {
    let mut examples = diagnostics.examples().iter();
    match examples.find(|one| one.kind == Kind::UnreadableFile) {
        Some(unread) => Err(CliError::NoInput(format!("{unread}; a part is of all its files"))),
        None => Ok(()),
    }
}
