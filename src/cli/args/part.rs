//! Commands of `fleet` and their options.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::deferred::Deferred;
use super::{DEFAULT_STRATEGIES, InputArgs, OutputArgs, RecordedBreaksArgs, SimulationArgs};

/// `fleet …`.
#[derive(Debug, Subcommand)]
pub(in crate::cli) enum FleetCommand {
    /// Domains of the input, a line of JSON each
    #[command(after_help = DOMAINS_EXAMPLES)]
    Domains(Deferred<DomainsArgs>),
    /// Rows of one domain, as files that are made once
    #[command(after_help = PART_EXAMPLES)]
    Part(Deferred<PartArgs>),
    /// Parts of all domains → one run: a manifest, if every part is whole and no request is in two
    #[command(after_help = GATHER_EXAMPLES)]
    Gather(Deferred<GatherArgs>),
}

const PART_EXAMPLES: &str = "\
Examples:
  cachesim fleet part --domain ann --root sessions sessions/ann --out parts
  find sessions/ann -name '*.jsonl' -printf 'ann/%P\\n' |
    cachesim fleet part --domain ann --root sessions --paths-from - --out parts
  cachesim fleet domains --root sessions | head -n 1 |
    cachesim fleet part --listing - --root sessions --out parts

A part is a domain by itself: its rows in DIR/parts, its breaks in DIR/breaks, both as Parquet, and one line of JSON \
that says what they are, on standard output and beside the rows. They are called by a key of the files (path, size, \
and time of change or version), the prices, the options and the version of this program. A part that is there is not \
made again. One whose files are not what its line says is.";

/// `part`.
#[derive(Debug, Args)]
pub(in crate::cli) struct PartArgs {
    /// The input.
    #[command(flatten)]
    pub(in crate::cli) input: InputArgs,
    /// The name of the domain
    ///
    /// The name of the domain: one history, such as all sessions of a developer
    #[arg(
        long,
        value_name = "NAME",
        value_parser = clap::builder::NonEmptyStringValueParser::new(),
        allow_hyphen_values = true,
        required_unless_present = "listing"
    )]
    pub(in crate::cli) domain: Option<String>,
    /// Take the domain from a line of `domains`
    ///
    /// Take the domain and its files from a line that `fleet domains` printed; - is standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["domain", "paths", "paths_from"])]
    pub(in crate::cli) listing: Option<PathBuf>,
    /// Folder for parts, of all domains
    #[arg(long, value_name = "DIR")]
    pub(in crate::cli) out: PathBuf,
    /// Strategies: names, and files (*.toml)
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = DEFAULT_STRATEGIES)]
    pub(in crate::cli) strategy: Vec<String>,
    /// Recorded breaks.
    #[command(flatten)]
    pub(in crate::cli) breaks: RecordedBreaksArgs,
    /// The simulation.
    #[command(flatten)]
    pub(in crate::cli) simulation: SimulationArgs,
    /// The output.
    #[command(flatten)]
    pub(in crate::cli) output: OutputArgs,
}

const GATHER_EXAMPLES: &str = "\
Examples:
  cat lines/*.jsonl | cachesim fleet gather --out parts
  cachesim fleet gather lines.jsonl --out parts

Every file is read and held against its digest. A part that is torn or missing, parts of different versions, prices \
or options, and a request in two domains are errors, and no manifest is written.";

/// `gather`.
#[derive(Debug, Args)]
pub(in crate::cli) struct GatherArgs {
    /// The lines that `fleet part` printed; - is standard input
    #[arg(value_name = "LINES", default_value = "-")]
    pub(in crate::cli) lines: PathBuf,
    /// The folder for parts and the manifest
    ///
    /// The folder for parts; the manifest is written to manifest.json there
    #[arg(long, value_name = "DIR")]
    pub(in crate::cli) out: PathBuf,
    /// Errors only on stderr
    #[arg(short, long)]
    pub(in crate::cli) quiet: bool,
}

const DOMAINS_EXAMPLES: &str = "\
Examples:
  cachesim fleet domains --root sessions
  cachesim fleet domains --root sessions --domains domains.tsv
  cachesim fleet domains --root sessions | jq -r '[.bytes, .domain] | @tsv'

A line is JSON: the name of a domain, the bytes of its files, and their paths below the root. `part` takes it.";

/// `domains`.
#[derive(Debug, Args)]
pub(in crate::cli) struct DomainsArgs {
    /// The input.
    #[command(flatten)]
    pub(in crate::cli) input: InputArgs,
    /// depth:N, or a file of domains and paths
    ///
    /// depth:N (the first N folders of a file's path are its domain), or a file of lines with a domain, a tab
    /// and a path
    #[arg(long, value_name = "DOMAINS", default_value = "depth:1")]
    pub(in crate::cli) domains: String,
    /// The output.
    #[command(flatten)]
    pub(in crate::cli) output: OutputArgs,
}
