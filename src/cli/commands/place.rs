//! `cachesim place`.

use std::io::{self, Write};

use crate::cli::args::PlaceArgs;
use crate::cli::error::CliError;
use crate::cli::input::{enough_memory, name_damage, sources};
use crate::cli::output::Output;
use crate::read::harness::{Harness, place_lines};
use crate::read::input::{Diagnostics, Kind, OpenSource, Source};
use crate::report::write_record;

/// Places the markers in bundles, and prints each capture record as soon as it is read.
pub(in crate::cli) fn place(args: &PlaceArgs) -> Result<(), CliError> {
    let discovered = sources(&args.bundles, &args.output)?;
    let output = Output::open(&args.output)?;
    let mut diagnostics = discovered.diagnostics;
    let naming = args.naming.naming();
    let mut harness = Harness::new();
    let mut placed = 0;
    output.write(|out| {
        for source in &discovered.sources {
            placed += place_source(source, &mut harness, &mut diagnostics, out)?;
            enough_memory(&diagnostics)?;
        }
        Ok::<(), CliError>(())
    })?;
    diagnostics.name_files(|label| naming.label(label));
    if !args.output.quiet {
        name_damage(&diagnostics, discovered.sources.len(), args.output.verbose);
    }
    if args.strict && diagnostics.has_damage() {
        return Err(CliError::DamagedInput);
    }
    if placed == 0 {
        let message = "no bundle in the input: a bundle is an object with a `prompt`, one a line";
        return Err(CliError::NoInput(message.to_owned()));
    }
    Ok(())
}

/// Prints the records of one source and returns their number.
fn place_source(
    source: &Source,
    harness: &mut Harness,
    diagnostics: &mut Diagnostics,
    out: &mut dyn Write,
) -> io::Result<u64> {
    let mut open = match OpenSource::open(source) {
        Ok(open) => open,
        Err(error) => {
            diagnostics.add(Kind::UnreadableFile, &source.label, 0, error.to_string());
            return Ok(0);
        }
    };
    let (mut records, mut written) = (0, Ok(()));
    place_lines(&mut open, harness, diagnostics, |_, placed, _| {
        records += 1;
        if written.is_ok() {
            written = write_record(placed.text(), out);
        }
    });
    written.map(|()| records)
}
