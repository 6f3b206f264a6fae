//! Options of `statusline`.

use std::path::PathBuf;

use clap::Args;

use super::PriceArgs;
use super::advise::SettingsArgs;
use crate::report::STATUS_TEMPLATE;

const STATUSLINE_EXAMPLES: &str = "\
Examples:
  cachesim statusline --transcript session.jsonl
  cachesim statusline --template '{warm} · next {next}[ (cold {cold})]' < input.json
  cachesim statusline --install
  cachesim statusline --install --yes

--install shows what it sets in ~/.claude/settings.json, and sets it if you agree; all else in the file stays as it is, and \
--undo takes it back. By hand it is this line:
  \"statusLine\": {\"type\": \"command\", \"command\": \"cachesim statusline\"}

Fields: {warm} (\"warm\" and how long it stays in the cache, or \"cold\"), {next} (what the next message costs now: the last \
prompt and its answer, without what is typed), {cold} (the same once the cache has expired; nothing where it has), {session} \
(its cost with its sub-agents; + where a model has no price), {today} (the cost of all of Claude Code's sessions that were \
changed today), {hit} (how much of the session's prompts came from the cache), {break} (the newest break of the main \
conversation, and its cost), {prompt} (tokens of the next prompt).

What stands between two \" · \", or in [brackets], is left out where a field in it has no value. A brace or a bracket that is \
written twice is the character itself.

What was read is kept in the cache folder (XDG_CACHE_HOME), and only what is new is read the next time.";

/// `statusline`.
#[derive(Debug, Args)]
#[command(after_help = STATUSLINE_EXAMPLES)]
pub(in crate::cli) struct StatuslineArgs {
    /// Show this session
    ///
    /// Show this session, in place of the one that standard input names
    #[arg(long, value_name = "FILE", conflicts_with_all = ["install", "undo"])]
    pub(in crate::cli) transcript: Option<PathBuf>,
    /// The template
    #[arg(long, value_name = "TEXT", default_value = STATUS_TEMPLATE, conflicts_with = "undo")]
    pub(in crate::cli) template: String,
    /// The time zone, such as Europe/Berlin
    ///
    /// The time zone in which the day begins, such as Europe/Berlin [default: UTC]
    #[arg(long, value_name = "NAME", conflicts_with = "undo")]
    pub(in crate::cli) timezone: Option<String>,
    /// The prices.
    #[command(flatten)]
    pub(in crate::cli) prices: PriceArgs,
    /// The settings.
    #[command(flatten)]
    pub(in crate::cli) setup: SetupArgs,
}

/// Installation in Claude Code's settings.
#[derive(Debug, Args)]
pub(in crate::cli) struct SetupArgs {
    /// Have Claude Code run this
    ///
    /// Have Claude Code run this, with the options that are given here: the change of its settings is shown and, if you
    /// agree, written
    #[arg(long, group = "change_of_settings")]
    pub(in crate::cli) install: bool,
    /// Short for --yes.
    #[arg(long, hide = true, requires = "install", conflicts_with = "undo")]
    pub(in crate::cli) apply: bool,
    /// Take back what --install wrote last
    #[arg(long, group = "change_of_settings", conflicts_with_all = ["prices", "platform"])]
    pub(in crate::cli) undo: bool,
    /// The settings file.
    #[command(flatten)]
    pub(in crate::cli) file: SettingsArgs,
}
