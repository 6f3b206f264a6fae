//! The options of `schema`.

use std::path::PathBuf;

use clap::Args;

use super::OutputArgs;

pub(super) const SCHEMA_EXAMPLES: &str = "\
Examples:
  cachesim schema
  cachesim schema ledger -o ledger.schema.json
  cachesim schema --all schemas

Fields and words may be added within a version, so programs should not mind what they do not know.";

/// `schema`.
#[derive(Debug, Args)]
pub(in crate::cli) struct SchemaArgs {
    /// The format [default: all are listed]
    #[arg(value_name = "NAME")]
    pub(in crate::cli) name: Option<String>,
    /// Write every schema into this folder, as NAME.schema.json
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["name", "output"])]
    pub(in crate::cli) all: Option<PathBuf>,
    /// The output.
    #[command(flatten)]
    pub(in crate::cli) output: OutputArgs,
}
