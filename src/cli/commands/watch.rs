//! `cachesim watch`.

use crate::cli::args::WatchArgs;
use crate::cli::error::CliError;
use crate::cli::looking::Looking;
use crate::cli::watching;

/// Shows sessions as they go on, until it is told to end.
pub(in crate::cli) fn watch(args: &WatchArgs) -> Result<(), CliError> {
    Looking::of(&args.looking)?.with_threads(|looking| watching::watch(args, looking))?
}
