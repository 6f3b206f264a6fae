//! Command `cachesim fleet gather`: makes parts into a run, once all are whole and no request is in two.

use std::path::Path;

use crate::base::Order as _;
use crate::cli::args::GatherArgs;
use crate::cli::output::replace;
use crate::cli::part_key::is_in_place;
use crate::cli::parts::{one_each, same_settings, whole};
use crate::cli::rows::needs_parquet;
use crate::cli::{CliError, Progress, read_given, say};
use crate::report::{Manifest, Part, counted, each_identified};
use crate::requests::seams::Seams;

/// Most bytes of the lines of parts.
const MOST_LINES: u64 = 1 << 30;

/// Name of the manifest, below the folder for parts.
const MANIFEST: &str = "manifest.json";

/// Writes the manifest of a run.
pub(in crate::cli) fn gather(args: &GatherArgs) -> Result<(), CliError> {
    needs_parquet("fleet gather")?;
    let mut parts = parts(&args.lines)?;
    parts.order_by(|one, other| one.domain.cmp(&other.domain));
    // A task that ran twice prints its line twice.
    parts.dedup();
    same_settings(&parts)?;
    one_each(&parts)?;
    whole(&args.out, &parts)?;
    no_seams(&args.out, &parts)?;
    let nothing = || CliError::NoInput(format!("{}: no part", name_of(&args.lines)));
    let manifest = Manifest::of(parts).ok_or_else(nothing)?;
    let place = args.out.join(MANIFEST);
    replace(&place, |out| manifest.write(out))?;
    if !args.quiet {
        let domains = counted(manifest.parts.len() as u64, "domain", "domains");
        let requests = counted(manifest.requests, "request", "requests");
        let rows = counted(manifest.rows, "row", "rows");
        say(&format!("{domains}, {requests}, {rows}: {}", place.display()));
    }
    Ok(())
}

/// Parts of lines, in any order.
fn parts(lines: &Path) -> Result<Vec<Part>, CliError> {
    let name = name_of(lines);
    let text = read_given(lines, MOST_LINES);
    let text = text.map_err(|source| CliError::NoInput(format!("{name}: {source}")))?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let part = |(number, line): (usize, &str)| {
        Part::parse(line).filter(is_in_place).ok_or_else(|| {
            let line = number + 1;
            CliError::NoInput(format!(
                "{name}:{line}: not the line of a part, as `cachesim fleet part` prints it"
            ))
        })
    };
    lines.map(part).collect()
}

fn name_of(lines: &Path) -> String {
    if lines.as_os_str() == "-" { "standard input".to_owned() } else { lines.display().to_string() }
}

/// Fails if a request is in two parts.
fn no_seams(folder: &Path, parts: &[Part]) -> Result<(), CliError> {
    let progress = Progress::of_steps("joining parts", parts.len() as u64);
    let mut seams = Seams::default();
    for part in parts {
        let path = folder.join(&part.ledger.path);
        let mut adding = seams.domain(&part.domain);
        let added = each_identified(&path, &part.domain, |request| {
            adding.add(request).map_err(CliError::from)
        });
        // An error of reading, which has the same type as one of writing.
        added.map_err(|error| match error {
            CliError::Write(source) => CliError::NoInput(format!("{}: {source}", path.display())),
            other => other,
        })?;
        progress.add(1);
    }
    Ok(())
}
