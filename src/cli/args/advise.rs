//! The options of `advise`.

use std::path::PathBuf;

use clap::Args;

use super::format::{DocumentFormats, FormatArgs};
use super::{DomainArgs, InputArgs, OutputArgs, ReadingArg, SimulationArgs, TokensArgs, whole};

pub(super) const ADVISE_EXAMPLES: &str = "\
Examples:
  cachesim advise
  cachesim advise session.jsonl --top 3
  cachesim advise ~/.claude/projects --since 2026-07-01 --format json -o advice.json
  cachesim advise --apply 3 --dry-run
  cachesim advise --apply 3 --settings .claude/settings.json
  cachesim advise --undo

Each change is simulated on top of those before it, so the savings add up to what all save together.

--apply sets keys in the settings file and leaves every other byte of it as it is. It refuses where the file is damaged, \
and where the key would not act: because an administrator manages it, a stronger file has it, or a variable decides. \
(Settings that a server or a device's profile gives are not seen.) A copy is kept in the state folder (XDG_STATE_HOME). \
--undo gives the file back to the byte; where something else was written to it since, it takes back the keys alone.";

/// `advise`.
#[derive(Debug, Args)]
pub(in crate::cli) struct AdviseArgs {
    /// The input.
    #[command(flatten)]
    pub(in crate::cli) input: InputArgs,
    /// Its domains.
    #[command(flatten)]
    pub(in crate::cli) domains: DomainArgs,
    /// How many changes to list (tables)
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = whole::<usize>(1, u64::MAX))]
    pub(in crate::cli) top: usize,
    /// How long an entry lives that was written after one of a shorter TTL
    #[arg(long, value_enum, default_value_t = ReadingArg::Conservative)]
    pub(in crate::cli) reading: ReadingArg,
    /// How captured prompts are measured.
    #[command(flatten)]
    pub(in crate::cli) tokens: TokensArgs,
    /// The simulation.
    #[command(flatten)]
    pub(in crate::cli) simulation: SimulationArgs,
    /// The format.
    #[command(flatten)]
    pub(in crate::cli) format: FormatArgs<DocumentFormats>,
    /// The output.
    #[command(flatten)]
    pub(in crate::cli) output: OutputArgs,
    /// The change of settings.
    #[command(flatten)]
    pub(in crate::cli) settings: AdviseSettingsArgs,
}

/// The options by which `advise` changes settings.
#[derive(Debug, Args)]
pub(in crate::cli) struct AdviseSettingsArgs {
    /// Set what a change names in Claude Code's settings: its number in the list, or its code. The difference is shown
    #[arg(long, value_name = "N|CODE", group = "change_of_settings", conflicts_with_all = ["domains", "format", "json"])]
    pub(in crate::cli) apply: Option<String>,
    /// Take back what was set last in the file
    #[arg(long, group = "change_of_settings", conflicts_with_all = ["paths", "domains", "format", "json"])]
    pub(in crate::cli) undo: bool,
    /// Which file.
    #[command(flatten)]
    pub(in crate::cli) file: SettingsArgs,
    /// Show the difference, and write nothing
    #[arg(long, requires = "change_of_settings")]
    pub(in crate::cli) dry_run: bool,
}

/// Which settings file is changed.
#[derive(Debug, Args)]
pub(in crate::cli) struct SettingsArgs {
    /// The settings file to change, such as .claude/settings.json of a project [default: the user's, ~/.claude/settings.json]
    #[arg(long, value_name = "FILE", requires = "change_of_settings")]
    pub(in crate::cli) settings: Option<PathBuf>,
}
