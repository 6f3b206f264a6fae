//! Command `cachesim watch`.

use crate::cli::CliError;
use crate::cli::args::WatchArgs;

/// Shows sessions as they run, until a signal or a key ends it.
#[cfg(feature = "watch")]
pub(in crate::cli) fn watch(args: &WatchArgs) -> Result<(), CliError> {
    use crate::cli::looking::Looking;
    use crate::cli::watching;

    Looking::of(&args.prices)?.with_threads(|looking| watching::watch(args, looking))?
}

#[cfg(not(feature = "watch"))]
pub(in crate::cli) fn watch(_: &WatchArgs) -> Result<(), CliError> {
    Err(CliError::NotBuilt { what: "watch", feature: "watch" })
}
