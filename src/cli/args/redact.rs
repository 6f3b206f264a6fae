//! Options of `redact` and `place`.

use std::path::PathBuf;

use clap::Args;

use super::{Choice, Choices, DocumentFormats, FormatArgs, MemoryArgs, NamingArgs, OutputArgs};
use crate::redact::ToolNames;

const REDACT_EXAMPLES: &str = "\
Examples:
  cachesim redact session.jsonl -o report.jsonl
  cachesim redact ~/.claude/projects/-home-me-project -o fixture/
  cachesim redact capture.jsonl -o - --tool-names hash | cachesim analyze -
  cachesim redact --explain

Lines keep their structure and their length, usage and times stay, equal texts stay equal, and \
letters and digits of everything else are replaced: text, paths, ids, names of files. Figures \
are those of the input, except where they rest on the wording: lint, --show-text, and captured prompts without usage, unless --assume tokens=bytes:N measures them. Several files \
need a folder as OUT; only what cachesim reads is written there. Some agents tell sessions apart by \
their folders: give all of the folder, and not a file of it.

Lengths and times stay, and so do the names of tools: look at those before you publish. \
--explain lists all that stays.";

/// `redact`.
#[derive(Debug, Args)]
#[command(after_help = REDACT_EXAMPLES)]
pub(in crate::cli) struct RedactArgs {
    /// Files, folders, or - for standard input
    ///
    /// Sessions of any agent, captures, bundles or logs: files, folders (walked for *.jsonl, also
    /// .gz and .zst, documents, tables and databases that are sessions or logs), or - for standard
    /// input, which is held in memory. Databases and Parquet files are written as JSON lines
    #[arg(value_name = "IN", required_unless_present = "explain")]
    pub(in crate::cli) inputs: Vec<PathBuf>,
    /// Names of tools: keep or hash
    ///
    /// Treatment of the names of tools
    #[arg(long, value_name = "HOW", value_parser = Choices(TOOL_NAMES), default_value = TOOL_NAMES[0].0)]
    tool_names: ToolNames,
    /// Replace the names of tools, too
    ///
    /// Replace the names of tools, too, as --tool-names hash does
    #[arg(long, conflicts_with = "tool_names")]
    hide_names: bool,
    /// Print what stays and why, field by field
    ///
    /// Print what stays and why, field by field, instead of redacting
    #[arg(long, conflicts_with = "inputs")]
    pub(in crate::cli) explain: bool,
    /// The format of --explain.
    #[command(flatten)]
    pub(in crate::cli) format: FormatArgs<DocumentFormats>,
    /// Names of projects, in messages about damage.
    #[command(flatten)]
    pub(in crate::cli) naming: NamingArgs,
    /// Exit with 4 if a file cannot be read to its end
    #[arg(long)]
    pub(in crate::cli) strict: bool,
    /// Memory that the run may have.
    #[command(flatten)]
    pub(in crate::cli) memory: MemoryArgs,
    /// The output.
    #[command(flatten)]
    pub(in crate::cli) output: OutputArgs,
}

impl RedactArgs {
    /// Treatment of the names of tools.
    pub(in crate::cli) fn tool_names(&self) -> ToolNames {
        if self.hide_names { ToolNames::Hash } else { self.tool_names }
    }

    /// Data that is kept besides lengths and times, in words for people.
    pub(in crate::cli) fn kept(&self) -> &'static str {
        match self.tool_names() {
            ToolNames::Keep => "the names of tools and models",
            ToolNames::Hash => "the names of models",
        }
    }
}

/// `--tool-names`.
const TOOL_NAMES: &[Choice<ToolNames>] = &[
    ("keep", "They stay", ToolNames::Keep),
    ("hash", "They are replaced; only that a tool is of an MCP server stays", ToolNames::Hash),
];

const PLACE_EXAMPLES: &str = "\
Examples:
  cachesim place bundle.jsonl -o capture.jsonl
  my-harness --print-bundle | cachesim place - | cachesim analyze -

A record that cannot be placed is named on stderr; a section that is volatile without a reason \
is also printed, as {\"request_id\": …, \"error\": \"volatile_without_reason\"}.";

/// `place`.
#[derive(Debug, Args)]
#[command(after_help = PLACE_EXAMPLES)]
pub(in crate::cli) struct PlaceArgs {
    /// Bundles: files, folders, or - for standard input
    ///
    /// Bundles: files, folders (walked for *.jsonl, also .gz and .zst), or - for standard input
    #[arg(value_name = "BUNDLE", required = true)]
    pub(in crate::cli) bundles: Vec<PathBuf>,
    /// Names of projects.
    #[command(flatten)]
    pub(in crate::cli) naming: NamingArgs,
    /// Exit with 4 if a record cannot be placed
    #[arg(long)]
    pub(in crate::cli) strict: bool,
    /// Memory that the run may have.
    #[command(flatten)]
    pub(in crate::cli) memory: MemoryArgs,
    /// The output.
    #[command(flatten)]
    pub(in crate::cli) output: OutputArgs,
}
