//! Options of `advise`.

use std::path::PathBuf;

use clap::Args;
use std::ops::Deref;

use super::shared::READINGS;
use super::{Choices, RunArgs, whole};
use crate::simulate::cache::Reading;

const ADVISE_EXAMPLES: &str = "\
Examples:
  cachesim advise
  cachesim advise session.jsonl --top 3
  cachesim advise ~/.claude/projects --since 2026-07-01 --format json -o advice.json
  cachesim advise --apply 1h --dry-run
  cachesim advise --apply compact-100k --settings .claude/settings.json --yes
  cachesim advise --apply last-two --template request.json | patch request.json
  cachesim advise --undo
  cachesim advise --since-change
  cachesim advise --since-change=2026-11-20 --since 2026-10-20

Each change is simulated on top of those before it, so the savings add up to what all save together.

--apply shows which keys of the settings file it sets, and sets them if you agree; every other byte stays. It refuses where the file is damaged, \
and where the key would not act: because an administrator manages it, a stronger file has it, or a variable decides. \
(Settings that a server or a device's profile gives are not seen.) A copy is kept in the state folder (XDG_STATE_HOME). \
--undo gives the file back to the byte; where something else was written to it since, it takes back the keys alone.

With --template a change of markers is made in a request that an agent's builder writes, as a patch of which every other \
byte stays, comments included. system-only, last-message, last-two, every-10 and four-even place markers, none takes them \
out, and 5m, 1h, mixed, 1h-main-5m-agents and 5m-main-1h-agents set the lifetimes of those that are there. They stand where \
the strategy of that name places them, after the request that came before the last answer in the template. A body of \
Bedrock's Converse API gets cache points. One of OpenAI's APIs, for GPT-5.6 or later, gets breakpoints, whose lifetimes no \
strategy sets.

--since-change compares requests of sessions whose main model and size are the same (from 4, 16, 64, … requests on), of \
which at least three began before and three after. Sessions of each kind are drawn again, and where the saving is in 95 of \
100 cases is held against the promise. Filters choose sessions, which are compared whole.";

/// Value of --since-change without a day: the change that was made last.
pub(in crate::cli) const LAST: &str = "last";

/// `advise`.
#[derive(Debug, Args)]
#[command(after_help = ADVISE_EXAMPLES)]
pub(in crate::cli) struct AdviseArgs {
    /// Options of a command over requests.
    #[command(flatten)]
    pub(in crate::cli) run: RunArgs<AdviseOptions>,
    /// The change of settings.
    #[command(flatten)]
    pub(in crate::cli) settings: AdviseSettingsArgs,
}

impl Deref for AdviseArgs {
    type Target = RunArgs<AdviseOptions>;

    fn deref(&self) -> &Self::Target {
        &self.run
    }
}

/// Options that only `advise` has.
#[derive(Debug, Args)]
pub(in crate::cli) struct AdviseOptions {
    /// Number of changes in the table
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = whole::<usize>(1, u64::MAX))]
    pub(in crate::cli) top: usize,
    /// Lifetime of an entry that was written after one of a shorter TTL
    #[arg(long, hide = true, value_parser = Choices(READINGS), default_value = READINGS[0].0)]
    pub(in crate::cli) reading: Reading,
}

/// Options of `advise` that change settings.
#[derive(Debug, Args)]
pub(in crate::cli) struct AdviseSettingsArgs {
    /// Set the keys of a change in Claude Code
    ///
    /// Set the keys of Claude Code's settings for a change: its number in the list, or its code. The change
    /// of the file is shown and, if you agree, written
    #[arg(long, value_name = "N|CODE", group = "change_of_settings", conflicts_with_all = ["domains", "top", "format", "json", "output"])]
    pub(in crate::cli) apply: Option<String>,
    /// Take back the last --apply
    ///
    /// Take back the last change of the file
    #[arg(long, group = "change_of_settings", conflicts_with_all = ["paths", "domains", "format", "json", "output"])]
    pub(in crate::cli) undo: bool,
    /// Savings of the last change, or of a day's
    ///
    /// Compare the cost of requests before and after the change that --apply made last, or after this day,
    /// with the promise: sessions of the same kind, and the confidence
    #[arg(
        long,
        value_name = "DAY",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = LAST,
        group = "change_of_settings",
        conflicts_with_all = ["domains", "top", "reading", "yes", "dry_run"]
    )]
    pub(in crate::cli) since_change: Option<String>,
    /// Show the change as a patch of this request
    ///
    /// Show the patch with which a request template has the markers of the change: a body of a request as JSON.
    /// With a code no session is read, and every strategy that only places markers has one. Nothing is written
    #[arg(long, value_name = "FILE", requires = "apply", conflicts_with_all = ["settings", "dry_run", "yes"])]
    pub(in crate::cli) template: Option<PathBuf>,
    /// The file.
    #[command(flatten)]
    pub(in crate::cli) file: SettingsArgs,
}

/// Settings file that is changed, and consent to it.
#[derive(Debug, Args)]
pub(in crate::cli) struct SettingsArgs {
    /// The settings file to change
    ///
    /// The settings file to change, such as .claude/settings.json of a project [default: settings.json in
    /// `CLAUDE_CONFIG_DIR` or ~/.claude]
    #[arg(long, value_name = "FILE", requires = "change_of_settings")]
    pub(in crate::cli) settings: Option<PathBuf>,
    /// Write the change without asking
    #[arg(short, long, requires = "change_of_settings", conflicts_with = "dry_run")]
    pub(in crate::cli) yes: bool,
    /// Show the change, and write nothing
    #[arg(long, requires = "change_of_settings")]
    pub(in crate::cli) dry_run: bool,
}
