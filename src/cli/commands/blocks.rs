//! Command `cachesim blocks`.

use crate::cli::args::{BlocksArgs, Json};
use crate::cli::{CliError, Output, PreparedRun, limits};
use crate::explain::breaks::Options;
use crate::report::{BlocksView, WindowSums, blocks_document, write_blocks};
use crate::requests::conversation::ReadOptions;
use crate::simulate::cache::Reading;
use crate::simulate::strategy::Strategy;

/// Shows the windows in which plans count use.
pub(in crate::cli) fn blocks(args: &BlocksArgs) -> Result<(), CliError> {
    let output = Output::open(&args.output)?;
    let options = ReadOptions {
        counts_contents: args.simulation.counts_contents(),
        ..args.simulation.read_options(true)
    };
    let assumptions = args.simulation.assumptions(false, Reading::Literal);
    let strategies = vec![Strategy::billed(), Strategy::expected()];
    let setup = args.setup(options, strategies, assumptions)?;
    // One moment for all domains, so that they agree on the open window.
    let (now, lengths) = (limits::moment(), args.lengths());
    let is_filtered = args.input.selects();
    let view = BlocksView { now, top: usize::from(args.top), is_filtered };
    let document = |run: &PreparedRun| {
        let ledger = run.ledger()?;
        Ok(blocks_document(&ledger, &run.study.blocks(&ledger, &lengths, now)?, view))
    };
    let sums = |run: &PreparedRun| {
        let quotas = run.study.blocks(&run.ledger()?, &lengths, now)?;
        let answer = run.study.breaks(Options::default())?.figures();
        Ok((answer, WindowSums::of(&quotas, now)))
    };
    args.view(output).show(&setup, document, sums, |Json, run, out| {
        let ledger = run.ledger()?;
        Ok(write_blocks(&ledger, &run.study.blocks(&ledger, &lengths, now)?, now, out)?)
    })
}
