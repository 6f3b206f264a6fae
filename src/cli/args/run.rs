//! Options of the commands over requests, and of those that show a document.

use std::ops::Deref;

use clap::Args;

use super::{DocumentFormats, DomainArgs, FormatArgs, InputArgs, OutputArgs, SimulationArgs};

/// Options of a command over requests, in the order of the help: its own stand between those of the input and of the
/// simulation.
#[derive(Debug, Args)]
pub(in crate::cli) struct RunArgs<O: Args, F: Args = FormatArgs<DocumentFormats>> {
    /// The input.
    #[command(flatten)]
    pub(in crate::cli) input: InputArgs,
    /// The domains.
    #[command(flatten)]
    pub(in crate::cli) domains: DomainArgs,
    /// The command's own options.
    #[command(flatten)]
    pub(in crate::cli) own: O,
    /// The simulation.
    #[command(flatten)]
    pub(in crate::cli) simulation: SimulationArgs,
    /// The format.
    #[command(flatten)]
    pub(in crate::cli) format: F,
    /// The output.
    #[command(flatten)]
    pub(in crate::cli) output: OutputArgs,
}

/// Form and place of a document.
#[derive(Debug, Args)]
pub(in crate::cli) struct DocumentArgs {
    /// The format.
    #[command(flatten)]
    pub(in crate::cli) format: FormatArgs<DocumentFormats>,
    /// The output.
    #[command(flatten)]
    pub(in crate::cli) output: OutputArgs,
}

impl<O: Args, F: Args> Deref for RunArgs<O, F> {
    type Target = O;

    fn deref(&self) -> &O {
        &self.own
    }
}
