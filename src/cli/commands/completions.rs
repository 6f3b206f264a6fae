//! `cachesim completions`.

use clap::CommandFactory;

use crate::cli::args::{Cli, CompletionsArgs};
use crate::cli::error::CliError;
use crate::cli::output::Output;

/// The script by which a shell completes commands and options.
pub(in crate::cli) fn completions(args: &CompletionsArgs) -> Result<(), CliError> {
    let mut program = Cli::command();
    let name = program.get_name().to_owned();
    // Into memory first: the generator takes a closed pipe for a bug.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut program, name, &mut script);
    Output::open(&args.output)?.write(|out| out.write_all(&script))
}
