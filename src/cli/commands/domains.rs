//! Command `cachesim fleet domains`: the histories that an organisation's sessions are divided into.

use crate::cli::args::DomainsArgs;
use crate::cli::domains::divided;
use crate::cli::{CliError, Output};
use crate::report::{DomainListing, write_domain};

/// Lists the domains of an input.
pub(in crate::cli) fn domains(args: &DomainsArgs) -> Result<(), CliError> {
    if args.input.selects() {
        let message =
            "domains: files are listed, and not requests; leave out what selects requests";
        return Err(CliError::Usage(message.to_owned()));
    }
    let output = Output::open(&args.output)?;
    let (domains, _) =
        divided(&args.domains, &args.input, &args.output, &args.input.naming.naming())?;
    output.write(|out| {
        domains.iter().try_for_each(|domain| write_domain(&DomainListing::of(domain), out))
    })
}
