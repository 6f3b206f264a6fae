//! Options of `tokens`.

use std::path::PathBuf;

use clap::Args;

use super::{Choice, Choices, DocumentArgs};
use crate::explain::weights::Division;

const TOKENS_EXAMPLES: &str = "\
Examples:
  cachesim tokens CLAUDE.md --model claude-opus-5
  cachesim tokens request.json
  cachesim tokens request.json --by tool
  cachesim tokens capture.jsonl --request 3 --by block
  git diff | cachesim tokens -

Claude's vocabularies are reconstructed, and how well they hold is in docs/accuracy.md. Nothing is sent \
anywhere.";

/// `tokens`.
#[derive(Debug, Args)]
#[command(after_help = TOKENS_EXAMPLES)]
pub(in crate::cli) struct TokensCommandArgs {
    /// A text, a request, captures or bundles; - is standard input
    ///
    /// A text, the body of a request to the Messages API, captured requests or bundles; - is standard input
    #[arg(value_name = "FILE", default_value = "-")]
    pub(in crate::cli) file: PathBuf,
    /// The model to count for
    ///
    /// The model to count for: of a request in place of its own; without it a text is counted for all
    #[arg(long, value_name = "MODEL")]
    pub(in crate::cli) model: Option<String>,
    /// Divide by part, tool, server or block
    ///
    /// Division of a prompt
    #[arg(long, value_parser = Choices(DIVISIONS), default_value = DIVISIONS[0].0)]
    pub(in crate::cli) by: Division,
    /// Request of a file [default: the last]
    ///
    /// Number of the request, from 1 on [default: the last one]
    #[arg(long, value_name = "N")]
    pub(in crate::cli) request: Option<usize>,
    /// Price files to lay over the built-in table
    ///
    /// Prices, and facts about models, from this file; later files win
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) prices: Vec<PathBuf>,
    /// The document.
    #[command(flatten)]
    pub(in crate::cli) shown: DocumentArgs,
}

/// `--by`.
const DIVISIONS: &[Choice<Division>] = &[
    ("part", "Kinds of parts: tools, system prompt, texts, calls, results", Division::Part),
    ("tool", "The prompt's tools", Division::Tool),
    ("server", "The MCP servers of these tools", Division::Server),
    ("block", "Blocks, in the order of the prompt", Division::Block),
];
