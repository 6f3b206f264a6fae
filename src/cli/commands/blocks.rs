//! Command `cachesim blocks`.

use crate::cli::args::{BlocksArgs, Json};
use crate::cli::domains::DomainView;
use crate::cli::error::CliError;
use crate::cli::limits;
use crate::cli::output::Output;
use crate::cli::prepared::{PreparedRun, Setup};
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
    let (input, simulation) = (&args.input, &args.simulation);
    let strategies = vec![Strategy::billed(), Strategy::expected()];
    let setup = Setup::new(input, simulation, &args.output, options, strategies, assumptions)?;
    // One moment for all domains, so that they agree on the open window.
    let (now, lengths) = (limits::moment(), args.lengths());
    let (domains, format) = (&args.domains, args.format.chosen);
    if domains.domains.is_some() {
        let sums = |run: &PreparedRun| {
            let quotas = run.study.blocks(&run.ledger()?, &lengths, now)?;
            let answer = run.study.breaks(Options::default())?.figures();
            Ok((answer, WindowSums::of(&quotas, now)))
        };
        let view = DomainView { domains, output, format, top: None };
        return view.show(&setup, sums, |Json, run, out| {
            let ledger = run.ledger()?;
            let quotas = run.study.blocks(&ledger, &lengths, now)?;
            Ok(write_blocks(&ledger, &quotas, now, out)?)
        });
    }
    let run = setup.whole()?;
    let ledger = run.ledger()?;
    let quotas = run.study.blocks(&ledger, &lengths, now)?;
    let is_filtered = input.live || !input.filter.is_empty();
    let view = BlocksView { now, top: usize::from(args.top), is_filtered };
    let document = || Ok(blocks_document(&ledger, &quotas, view));
    output.show(format, document, |Json, out| write_blocks(&ledger, &quotas, now, out))
}
