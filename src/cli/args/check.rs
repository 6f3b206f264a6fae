//! Options of `check`.

use std::path::{Path, PathBuf};

use clap::Args;

use super::format::{CheckFormats, format_by_name, format_names};
use super::{CheckFormat, FLEET, FormatArgs, NOT_OF_A_RUN, OutputFormat, RunArgs, whole};

const CHECK_EXAMPLES: &str = "\
Examples:
  cachesim check sessions/ --save-baseline baseline.json
  cachesim check sessions/ --baseline baseline.json
  cachesim check --run parts/manifest.json
  cachesim check sessions/ --baseline baseline.json --export markdown=comment.md \\
      --export summary=summary.md --export junit=check.xml --export sarif=lint.sarif

The first saves a baseline; `cachesim init` makes one, and first budgets. Budgets are the [[budget]] tables of \
cachesim.toml; without any, \
requests that the service refuses fail, and with a baseline sessions that cost over 5 % more.

Metrics: cost, cost_per_session, cost_per_request, mean_cost_per_session, mean_cost_per_request, \
hit_rate, hit_rate_per_session, written_tokens, written_tokens_per_session, breaks, breaks_cost, \
breaks_share, prefix_variants, prompt_bytes_per_request, tool_bytes_per_request, lint_findings, \
unlisted_changes, damaged_places.
Limits: max, min, max_increase, max_decrease.

Formats: text, markdown (a comment, under 65,536 characters), summary (Markdown under 1 MiB), \
json (cachesim.check/v1), junit, sarif (findings of lint), report (cachesim.report/v1, for a \
baseline).

Exit codes: 0 every limit that fails a run is kept, 1 one is exceeded.";

/// `check`.
pub(in crate::cli) type CheckArgs = RunArgs<CheckOptions, FormatArgs<CheckFormats>>;

/// Options that only `check` has.
#[derive(Debug, Args)]
#[command(after_help = CHECK_EXAMPLES)]
pub(in crate::cli) struct CheckOptions {
    /// Check a run of the fleet instead of sessions
    ///
    /// Check the rows of a run instead of sessions: the manifest that gather wrote. Budgets on captured prompts do not
    /// apply, as rows hold none; nor do options that choose or simulate sessions
    #[arg(long, value_name = "MANIFEST", help_heading = FLEET, hide_short_help = true, conflicts_with_all = NOT_OF_A_RUN, conflicts_with_all = ["show_text", "timezone"])]
    pub(in crate::cli) run: Option<PathBuf>,
    /// The saved figures to compare with
    ///
    /// A saved cachesim.report/v1, or the manifest of a run, to compare with
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) baseline: Option<PathBuf>,
    /// Save this run's figures as a baseline
    ///
    /// Save this run's figures to this file, as the baseline of later runs, whether or not budgets are kept. It is
    /// --export report=FILE
    #[arg(long, value_name = "FILE", value_parser = baseline_file)]
    pub(in crate::cli) save_baseline: Option<PathBuf>,
    /// Also write this format to this file
    ///
    /// Also write this format to this file; may be given several times
    #[arg(long, value_name = "FORMAT=FILE", value_parser = export)]
    pub(in crate::cli) export: Vec<Export>,
    /// Name of the check in its comment
    ///
    /// Name that sets the comments of several checks of a pull request apart
    #[arg(long, value_name = "NAME", default_value = "default", value_parser = tag)]
    pub(in crate::cli) tag: String,
    /// Number of rows in a table
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = whole::<u16>(1, u16::MAX.into()))]
    pub(in crate::cli) top: u16,
    /// Show words of captured prompts
    ///
    /// Show words of captured prompts where findings of lint quote them (sarif)
    #[arg(long)]
    pub(in crate::cli) show_text: bool,
}

impl CheckOptions {
    /// Files besides the output: those of `--export`, and the baseline to save.
    pub(in crate::cli) fn exports(
        &self,
    ) -> impl Iterator<Item = (OutputFormat<CheckFormat>, &Path)> {
        let saved = self.save_baseline.as_deref();
        let saved = saved.map(|path| (OutputFormat::Own(CheckFormat::Report), path));
        self.export.iter().map(|export| (export.format, export.path.as_path())).chain(saved)
    }
}

/// File of `--export`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli) struct Export {
    /// The format.
    pub(in crate::cli) format: OutputFormat<CheckFormat>,
    /// The file.
    pub(in crate::cli) path: PathBuf,
}

fn export(text: &str) -> Result<Export, String> {
    let names = format_names::<CheckFormats>().join(", ");
    let expected = || format!("expected FORMAT=FILE, with one of {names}");
    let (name, path) = text.split_once('=').ok_or_else(expected)?;
    let format = format_by_name::<CheckFormats>(name).ok_or_else(expected)?;
    if path.is_empty() || path == "-" {
        return Err("expected a file after the =; --format is for standard output".to_owned());
    }
    Ok(Export { format, path: PathBuf::from(path) })
}

/// Parser of the file of a baseline.
fn baseline_file(text: &str) -> Result<PathBuf, String> {
    if text.is_empty() || text == "-" {
        return Err("expected a file; --format report is for standard output".to_owned());
    }
    Ok(PathBuf::from(text))
}

/// Parser of a tag, which goes inside an HTML comment.
fn tag(text: &str) -> Result<String, String> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._".contains(&byte);
    let words = text.split('-');
    // Two hyphens in a row would end the comment.
    let is_safe = words.into_iter().all(|word| !word.is_empty() && word.bytes().all(is_plain));
    if is_safe && text.len() <= 64 {
        Ok(text.to_owned())
    } else {
        Err("expected up to 64 letters, digits and . _ with single - between them".to_owned())
    }
}
