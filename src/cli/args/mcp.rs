//! Options of `mcp`.

use std::path::PathBuf;

use clap::Args;

const MCP_EXAMPLES: &str = "\
Examples:
  cachesim mcp ~/.claude/projects
  claude mcp add cachesim -- cachesim mcp ~/.claude/projects
  codex mcp add cachesim -- cachesim mcp ~/.codex/sessions

It answers a client of the Model Context Protocol on standard input and output, until the client closes them. Its tools are \
analyze, breaks, advise and explain: each takes options of the command of its name and a path below the folders, and \
answers with the same figures, as text or as JSON.

Nothing is written, and no text of a session is shown. A path or a link that leads out of the folders is refused, and so are \
pipes. No configuration is looked for; --config names one. A call that the client cancels ends at once. An answer is \
100,000 bytes long at most; longer text is cut, with a word about it. `cachesim sources` says in which folders agents keep \
their sessions.";

/// `mcp`.
#[derive(Debug, Args)]
#[command(after_help = MCP_EXAMPLES)]
pub(in crate::cli) struct McpArgs {
    /// Folders with the sessions that may be read
    ///
    /// Folders with the sessions that may be read. Nothing outside them is read
    #[arg(value_name = "FOLDER", required = true)]
    pub(in crate::cli) folders: Vec<PathBuf>,
}
