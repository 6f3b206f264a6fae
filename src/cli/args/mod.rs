//! The command line as the user types it.

mod about;
mod advise;
mod assume;
mod blocks;
mod chart;
mod check;
mod compare;
mod deferred;
mod explain;
mod fork;
mod format;
mod hook;
mod init;
mod mcp;
mod part;
mod redact;
mod shared;
mod statusline;
mod tokens;
mod watch;

use std::borrow::Cow;
use std::path::PathBuf;

use clap::builder::Resettable;
use clap::{Args, Parser, Subcommand, ValueEnum};

use about::{
    COMPLETIONS_EXAMPLES, CONFIG_NOTES, MAN_EXAMPLES, SCHEMA_EXAMPLES, SOURCES_EXAMPLES,
    STRATEGIES_EXAMPLES,
};
use advise::ADVISE_EXAMPLES;
use blocks::BLOCKS_EXAMPLES;
use chart::{CHART_EXAMPLES, REPORT_EXAMPLES};
use check::CHECK_EXAMPLES;
use compare::COMPARE_EXAMPLES;
use explain::{EXPLAIN_EXAMPLES, LINT_EXAMPLES};
use fork::FORK_EXAMPLES;
use format::{AnalyzeFormats, BreaksFormats, CompareFormats, DocumentFormats, FormatArgs};
use hook::HOOK_EXAMPLES;
use init::INIT_EXAMPLES;
use mcp::MCP_EXAMPLES;
use redact::REDACT_EXAMPLES;
use statusline::STATUSLINE_EXAMPLES;
use tokens::TOKENS_EXAMPLES;
use watch::WATCH_EXAMPLES;

use crate::report::TurnDetail;

pub(super) use about::{
    CompletionsArgs, ConfigArgs, ConfigCommand, ConfigurationArgs, ManArgs, SchemaArgs,
    SourcesArgs, StrategiesArgs,
};
pub(super) use advise::{AdviseArgs, AdviseSettingsArgs, LAST, SettingsArgs};
pub(super) use assume::{ASSUME, assumed, assumption_of};
pub(super) use blocks::BlocksArgs;
pub(super) use chart::{ChartArgs, ChartFormat, ChartKindArg, ReportArgs, ThemeArg};
pub(super) use check::CheckArgs;
pub(super) use compare::{CompareArgs, ReadingArg};
pub(super) use deferred::{Deferred, parsing_program};
pub(super) use explain::{ExplainArgs, LintArgs};
pub(super) use fork::ForkArgs;
pub(super) use format::{
    CheckFormat, FindingFormat, Json, OutputFormat, RowFormat, StrategyFormat,
};
pub(super) use hook::{HookArgs, LEAST};
pub(super) use init::{CiArg, InitArgs};
pub(super) use mcp::McpArgs;
pub(super) use part::{DomainsArgs, FleetCommand, GatherArgs, PartArgs};
pub(super) use redact::RedactArgs;
pub(super) use shared::{
    ColorArg, DomainArgs, FilterArgs, GroupingArg, InputArgs, MemoryArgs, NamingArgs, OutputArgs,
    PlatformArg, SimulationArgs, WrittenArgs, here,
};
use shared::{FLEET, NOT_OF_A_RUN};
pub(super) use statusline::{LookingArgs, SetupArgs, StatuslineArgs};
pub(super) use tokens::{DivisionArg, TokensCommandArgs};
pub(super) use watch::WatchArgs;

/// Prompt cache reads of a coding agent's sessions, and the cost of its misses
///
/// Says for every request what was read from cache, written to it and paid, what the rules make of it, why it
/// missed the cache, and what other designs would have cost. Reads Claude Code transcripts, the sessions of
/// other agents (`cachesim sources` lists them), captured API requests, bundles of prompt parts and gateways'
/// logs; needs no network. Without a command it analyzes your own sessions.
#[derive(Debug, Parser)]
#[command(name = "cachesim", version, after_help = EXIT_CODES)]
pub(super) struct Cli {
    /// The command.
    #[command(subcommand)]
    pub(super) command: Command,
    /// The configuration.
    #[command(flatten)]
    pub(super) configuration: ConfigurationArgs,
}

const EXIT_CODES: &str = "\
Exit codes:
  0   done; damaged input is counted and named on stderr
  1   a gate failed: a budget of check is not kept, or what compare --fail-if names has come true
  2   usage
  3   no usable input, or one that needs more than --max-memory
  4   damaged input, under --strict
  5   a model without a price, under --strict-prices
  70  a bug in this program";

/// Commands, in the order of their groups.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Reads, writes and cost of each turn: billed, under 5m and 1h
    #[command(after_help = ANALYZE_EXAMPLES)]
    Analyze(Deferred<AnalyzeArgs>),
    /// Changes, ranked by what each would have saved
    #[command(after_help = ADVISE_EXAMPLES)]
    Advise(Deferred<AdviseArgs>),
    /// Each request that read less than it could have: cause and cost
    #[command(after_help = BREAKS_EXAMPLES)]
    Breaks(Deferred<BreaksArgs>),
    /// The story of one request: its prompt, what was cached
    #[command(after_help = EXPLAIN_EXAMPLES)]
    Explain(Deferred<ExplainArgs>),
    /// Content of the context, and the cost of carrying it
    #[command(after_help = CONTEXT_EXAMPLES)]
    Context(Deferred<ContextArgs>),
    /// Windows of five hours and weeks, and what used each up
    #[command(after_help = BLOCKS_EXAMPLES)]
    Blocks(Deferred<BlocksArgs>),
    /// Budgets, and changes since a baseline
    #[command(after_help = CHECK_EXAMPLES)]
    Check(Deferred<CheckArgs>),
    /// First budgets, a baseline and a workflow for a project
    #[command(after_help = INIT_EXAMPLES)]
    Init(Deferred<InitArgs>),
    /// The same sessions without their text, for fixtures and reports
    #[command(after_help = REDACT_EXAMPLES)]
    Redact(Deferred<RedactArgs>),
    /// Agreement of the rules with the recorded usage
    #[command(after_help = VERIFY_EXAMPLES)]
    Verify(Deferred<VerifyArgs>),
    /// Causes of unstable captured prompts, to the byte, with the price
    #[command(after_help = LINT_EXAMPLES)]
    Lint(Deferred<LintArgs>),
    /// Strategies on the same requests, down to the cheapest possible
    #[command(after_help = COMPARE_EXAMPLES)]
    Compare(Deferred<CompareArgs>),
    /// Charts as SVG or PNG: turns, cost, gaps, breaks, context, …
    #[command(after_help = CHART_EXAMPLES)]
    Chart(Deferred<ChartArgs>),
    /// Everything as one page of HTML that needs no network
    #[command(after_help = REPORT_EXAMPLES)]
    Report(Deferred<ReportArgs>),
    /// Number of tokens in a text or a request, by part
    #[command(after_help = TOKENS_EXAMPLES)]
    Tokens(Deferred<TokensCommandArgs>),
    /// Savings of sharing a prefix: the arithmetic of forked agents
    #[command(after_help = FORK_EXAMPLES)]
    Fork(Deferred<ForkArgs>),
    /// A harness's prompt parts → wire requests with markers placed
    #[command(after_help = PLACE_EXAMPLES)]
    Place(Deferred<PlaceArgs>),
    /// An organisation's sessions: domains, their parts, one run of all
    Fleet {
        /// The command.
        #[command(subcommand)]
        command: FleetCommand,
    },
    /// One line about the open session: warm until when, the next cost
    #[command(after_help = STATUSLINE_EXAMPLES)]
    Statusline(Deferred<StatuslineArgs>),
    /// Sessions as they run: warm until when, breaks as they happen
    #[command(after_help = WATCH_EXAMPLES)]
    Watch(Deferred<WatchArgs>),
    /// Warns in Claude Code of a cold message, and after a break
    #[command(after_help = HOOK_EXAMPLES)]
    Hook(Deferred<HookArgs>),
    /// The same answers for a coding agent, as an MCP server
    #[command(after_help = MCP_EXAMPLES)]
    Mcp(Deferred<McpArgs>),
    /// Folders where sessions are looked for, and what they have
    #[command(after_help = SOURCES_EXAMPLES)]
    Sources(Deferred<SourcesArgs>),
    /// The strategies: of a user, of a builder, and bounds
    #[command(after_help = STRATEGIES_EXAMPLES)]
    Strategies(Deferred<StrategiesArgs>),
    /// The prices in use
    Prices(Deferred<PricesArgs>),
    /// The configuration in use, and the origin of each value
    #[command(after_help = CONFIG_NOTES)]
    Config(Deferred<ConfigArgs>),
    /// The JSON schemas of the machine formats
    #[command(after_help = SCHEMA_EXAMPLES)]
    Schema(Deferred<SchemaArgs>),
    /// The shell script that completes commands and options
    #[command(after_help = COMPLETIONS_EXAMPLES)]
    Completions(Deferred<CompletionsArgs>),
    /// The manual pages
    #[command(after_help = MAN_EXAMPLES)]
    Man(Deferred<ManArgs>),
}

const ANALYZE_EXAMPLES: &str = "\
Examples:
  cachesim analyze session.jsonl
  cachesim analyze ~/.claude/projects --since 2026-07-01 --strategy billed,5m,1h,mixed
  cachesim analyze --since 7d --by day
  cachesim analyze --by project --timezone Europe/Berlin --json
  cachesim analyze session.jsonl --format jsonl -o ledger.jsonl
  zstdcat old.jsonl.zst | cachesim analyze - --format json";

const BREAKS_EXAMPLES: &str = "\
Examples:
  cachesim breaks
  cachesim breaks session.jsonl --top 50
  cachesim breaks ~/.claude/projects --since 2026-07-01 --format jsonl -o breaks.jsonl
  cachesim breaks capture.jsonl --show-text

A break is never reported across a hole in its chain; such requests are counted.";

const CONTEXT_EXAMPLES: &str = "\
Examples:
  cachesim context session.jsonl
  cachesim context ~/.claude/projects --since 2026-07-01 --top 25
  cachesim context logs/ --format json -o context.json

The sums are the recorded usage; how it is shared among the kinds is derived or estimated.";

const PLACE_EXAMPLES: &str = "\
Examples:
  cachesim place bundle.jsonl -o capture.jsonl
  my-harness --print-bundle | cachesim place - | cachesim analyze -

A record that cannot be placed is named on stderr; a section that is volatile without a reason \
is also printed, as {\"request_id\": …, \"error\": \"volatile_without_reason\"}.";

const VERIFY_EXAMPLES: &str = "\
Examples:
  cachesim verify
  cachesim verify ~/.claude/projects --format json -o verify.json";

/// `analyze`.
#[derive(Debug, Args)]
pub(super) struct AnalyzeArgs {
    /// The input.
    #[command(flatten)]
    pub(super) input: InputArgs,
    /// The domains.
    #[command(flatten)]
    pub(super) domains: DomainArgs,
    /// Strategies: names, and files (*.toml)
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = DEFAULT_STRATEGIES)]
    pub(super) strategy: Vec<String>,
    /// One row for each day, project, model, …
    ///
    /// One row for each day, project, model and so on, in place of sessions and turns
    #[arg(long, value_enum, value_name = "GROUP")]
    pub(super) by: Option<GroupingArg>,
    /// Number of sessions or groups
    ///
    /// Number of sessions, groups of --by or domains in the tables, the most expensive first; --turns selects
    /// the turns of a session [default: 20 sessions or domains, all groups]
    #[arg(long, value_name = "N", value_parser = whole::<usize>(1, u64::MAX))]
    pub(super) top: Option<usize>,
    /// Show the titles of sessions
    #[arg(long)]
    pub(super) show_text: bool,
    /// Keep or drop recorded breaks inside the TTL in counterfactuals
    #[arg(long, value_enum, hide = true, default_value_t = RecordedBreaksArg::Keep)]
    pub(super) breaks: RecordedBreaksArg,
    /// The simulation.
    #[command(flatten)]
    pub(super) simulation: SimulationArgs,
    /// Turns to list: all, events or none
    ///
    /// Turns that the table shows [default: in a terminal the events of long sessions, else all]
    #[arg(long, value_enum)]
    pub(super) turns: Option<TurnsArg>,
    /// Show tokens in all their digits
    ///
    /// Show the tokens of turns in all their digits; the other formats always do
    #[arg(long)]
    pub(super) exact: bool,
    /// The format.
    #[command(flatten)]
    pub(super) format: FormatArgs<AnalyzeFormats>,
    /// The output.
    #[command(flatten)]
    pub(super) output: OutputArgs,
}

/// Strategies that groups show by default.
const GROUPED_STRATEGIES: [&str; 3] = ["billed", "5m", "1h"];

impl AnalyzeArgs {
    /// Strategies to show: fewer for groups if the user named none.
    pub(super) fn strategies(&self) -> Vec<String> {
        // The default is known by its words, so typing it has the same effect.
        if self.by.is_some() && self.strategy.join(",") == DEFAULT_STRATEGIES {
            return GROUPED_STRATEGIES.map(str::to_owned).to_vec();
        }
        self.strategy.clone()
    }
}

/// `--turns`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum TurnsArg {
    /// Each turn
    All,
    /// Breaks, expiries, compactions and the most expensive turns; the others by runs
    Events,
    /// No turns
    None,
}

impl TurnsArg {
    pub(super) fn detail(self) -> TurnDetail {
        match self {
            Self::All => TurnDetail::All,
            Self::Events => TurnDetail::Events,
            Self::None => TurnDetail::None,
        }
    }
}

const DEFAULT_STRATEGIES: &str = "billed,replay,none,5m,1h";

/// `breaks`.
#[derive(Debug, Args)]
pub(super) struct BreaksArgs {
    /// The input.
    #[command(flatten)]
    pub(super) input: InputArgs,
    /// The domains.
    #[command(flatten)]
    pub(super) domains: DomainArgs,
    /// Rule for breaks: complete or client
    #[arg(long, value_enum, default_value_t = RuleArg::Complete)]
    pub(super) rule: RuleArg,
    /// Keep the service's own verdicts out of the causes
    #[arg(long)]
    pub(super) ignore_server_reason: bool,
    /// Show words of captured prompts
    ///
    /// Show names and words of captured prompts where they differ (tables and JSON Lines)
    #[arg(long)]
    pub(super) show_text: bool,
    /// Number of breaks to list
    ///
    /// Number of breaks listed one by one, the most expensive first
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = whole::<usize>(1, u64::MAX))]
    pub(super) top: usize,
    /// The simulation.
    #[command(flatten)]
    pub(super) simulation: SimulationArgs,
    /// The format.
    #[command(flatten)]
    pub(super) format: FormatArgs<BreaksFormats>,
    /// The output.
    #[command(flatten)]
    pub(super) output: OutputArgs,
}

/// `context`.
#[derive(Debug, Args)]
pub(super) struct ContextArgs {
    /// The input.
    #[command(flatten)]
    pub(super) input: InputArgs,
    /// The domains.
    #[command(flatten)]
    pub(super) domains: DomainArgs,
    /// Number of kinds, sessions and items to list
    ///
    /// Number of kinds, sessions and items in the tables, the most expensive first
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = whole::<u16>(1, u16::MAX.into()))]
    pub(super) top: u16,
    /// The simulation.
    #[command(flatten)]
    pub(super) simulation: SimulationArgs,
    /// The format.
    #[command(flatten)]
    pub(super) format: FormatArgs<DocumentFormats>,
    /// The output.
    #[command(flatten)]
    pub(super) output: OutputArgs,
}

/// `verify`.
#[derive(Debug, Args)]
pub(super) struct VerifyArgs {
    /// The input.
    #[command(flatten)]
    pub(super) input: InputArgs,
    /// The domains.
    #[command(flatten)]
    pub(super) domains: DomainArgs,
    /// List the evidence on each rule
    ///
    /// List the rules that were measured, and how often the record is for and against each
    #[arg(long)]
    pub(super) rules: bool,
    /// List the error of counted tokens, by model
    ///
    /// List the error of counted tokens in what each step of a conversation added, by model
    #[arg(long)]
    pub(super) counts: bool,
    /// The simulation.
    #[command(flatten)]
    pub(super) simulation: SimulationArgs,
    /// The format.
    #[command(flatten)]
    pub(super) format: FormatArgs<DocumentFormats>,
    /// The output.
    #[command(flatten)]
    pub(super) output: OutputArgs,
}

/// `place`.
#[derive(Debug, Args)]
pub(super) struct PlaceArgs {
    /// Bundles: files, folders, or - for standard input
    ///
    /// Bundles: files, folders (walked for *.jsonl, also .gz and .zst), or - for standard input
    #[arg(value_name = "BUNDLE", required = true)]
    pub(super) bundles: Vec<PathBuf>,
    /// Names of projects.
    #[command(flatten)]
    pub(super) naming: NamingArgs,
    /// Exit with 4 if a record cannot be placed
    #[arg(long)]
    pub(super) strict: bool,
    /// Memory that the run may have.
    #[command(flatten)]
    pub(super) memory: MemoryArgs,
    /// The output.
    #[command(flatten)]
    pub(super) output: OutputArgs,
}

/// `prices`.
#[derive(Debug, Args)]
pub(super) struct PricesArgs {
    /// The command.
    #[command(subcommand)]
    pub(super) command: PricesCommand,
}

/// `prices …`.
#[derive(Debug, Subcommand)]
pub(super) enum PricesCommand {
    /// All models with the prices of a day
    List {
        /// The day, as YYYY-MM-DD
        ///
        /// The day, as YYYY-MM-DD [default: the day the table was last checked]
        #[arg(long, value_name = "DATE")]
        at: Option<String>,
        /// The table and the output.
        #[command(flatten)]
        shared: PricesShared,
    },
    /// Take over new prices in the tables of LiteLLM or genai-prices
    Update(PricesUpdateArgs),
    /// Every price a model has or had
    Show {
        /// The model, by any of its names
        model: String,
        /// Only prices of this day, as YYYY-MM-DD
        #[arg(long, value_name = "DATE")]
        at: Option<String>,
        /// The table and the output.
        #[command(flatten)]
        shared: PricesShared,
    },
}

/// `prices update`.
#[derive(Debug, Args)]
#[command(after_help = PRICES_UPDATE_EXAMPLES)]
pub(super) struct PricesUpdateArgs {
    /// The table of LiteLLM or of genai-prices, as JSON
    #[arg(long, value_name = "FILE")]
    pub(super) from: PathBuf,
    /// First day of the prices, as YYYY-MM-DD
    ///
    /// First day of the new prices, as YYYY-MM-DD [default: today]
    #[arg(long, value_name = "DATE")]
    pub(super) at: Option<String>,
    /// The file to write
    ///
    /// The file to write [default: prices.toml beside the user's configuration]
    #[arg(long, value_name = "FILE")]
    pub(super) to: Option<PathBuf>,
    /// Show only the differences, and write nothing
    #[arg(long)]
    pub(super) dry_run: bool,
    /// The format.
    #[command(flatten)]
    pub(super) format: FormatArgs<DocumentFormats>,
    /// The output.
    #[command(flatten)]
    pub(super) output: OutputArgs,
}

const PRICES_UPDATE_EXAMPLES: &str = "\
Examples:
  cachesim prices update --from model_prices_and_context_window.json --dry-run
  cachesim prices update --from data.json --at 2026-11-12

Requests before the day keep the prices that they had: such files tell what holds now. New models are \
those of services whose caches are known. What a file does not tell of a model stays. The file that \
is written has whole models; every command uses it in place of `prices` in a configuration, and \
--no-config leaves it out.";

/// Options of both commands.
#[derive(Debug, Args)]
pub(super) struct PricesShared {
    /// Price files to lay over the built-in table
    #[arg(long, value_name = "FILE")]
    pub(super) prices: Vec<PathBuf>,
    /// The format.
    #[command(flatten)]
    pub(super) format: FormatArgs<DocumentFormats>,
    /// The output.
    #[command(flatten)]
    pub(super) output: OutputArgs,
}

/// Help template of a command up to its trailing text, as clap writes it.
const HELP: &str = "{before-help}{about-with-newline}\n{usage-heading} {usage}\n\n{all-args}\n\n";

/// Form of the help.
#[derive(Clone, Copy)]
pub(super) struct HelpForm {
    /// Columns of the terminal.
    pub(super) width: usize,
    /// True for `-h`: a line for each option, without the rare ones.
    pub(super) is_short: bool,
}

/// Fits the help of a program into a form.
///
/// Clap would break examples, so that nobody could copy them; so the trailing texts are part of the template,
/// which clap takes as it is.
pub(super) fn fitted(program: clap::Command, form: HelpForm) -> clap::Command {
    let program = documented(program);
    let template = first_page(&program, form);
    let program = program.term_width(form.width).help_template(template);
    program.mut_subcommands(|command| fitted_command(command, form))
}

/// Removes the summaries of `-h` from the long help of options, and lists the keys of `--assume` there.
pub(super) fn documented(command: clap::Command) -> clap::Command {
    let command = command.mut_subcommands(documented).mut_args(|arg| {
        let long = arg.get_long_help().map(ToString::to_string).unwrap_or_default();
        match (long.split_once("\n\n"), arg.get_help().cloned()) {
            (Some((_, long)), _) => arg.long_help(long.to_owned()),
            // Manual pages have no other text for an option that `-h` leaves out.
            (None, Some(help)) if long.is_empty() => arg.long_help(help),
            (None, _) => arg,
        }
    });
    assume::with_keys(command)
}

fn fitted_command(command: clap::Command, form: HelpForm) -> clap::Command {
    let command = command.term_width(form.width).mut_subcommands(|one| fitted_command(one, form));
    if form.is_short {
        let command = command.mut_args(|arg| {
            let takes_values = arg.get_action().takes_values();
            if takes_values { arg.hide_default_value(true).hide_possible_values(true) } else { arg }
        });
        let more = "All options, examples and notes: --help";
        return command.after_help(Resettable::Reset).help_template(HELP.to_owned() + more);
    }
    let Some(text) = command.get_after_help().map(ToString::to_string) else { return command };
    let text = fitted_paragraphs(&text, form.width);
    command.after_help(Resettable::Reset).help_template(HELP.to_owned() + &text)
}

fn fitted_paragraphs(text: &str, width: usize) -> String {
    let paragraphs: Vec<String> = text.split("\n\n").map(|one| fitted_text(one, width)).collect();
    paragraphs.join("\n\n")
}

/// Commands by their readers, as README groups them. Others are in the long help alone.
const GROUPS: [(&str, &[&str]); 6] = [
    ("You pay for an agent", &["analyze", "advise", "breaks", "explain", "context", "blocks"]),
    ("You want a gate in CI", &["check", "init", "redact", "verify"]),
    ("You build an agent", &["lint", "compare", "chart", "report"]),
    ("You have a fleet", &["fleet"]),
    ("Live", &["statusline", "watch", "hook"]),
    ("About", &["sources", "prices"]),
];

/// Help of the program: its commands in groups.
fn first_page(program: &clap::Command, form: HelpForm) -> String {
    let is_grouped = |name: &str| GROUPS.iter().any(|(_, names)| names.contains(&name));
    let rest =
        program.get_subcommands().map(clap::Command::get_name).filter(|name| !is_grouped(name));
    let rest: Vec<&str> = rest.collect();
    let mut page =
        "{before-help}{about-with-newline}\n{usage-heading} {name} [COMMAND] [OPTIONS]\n\n"
            .to_owned();
    for (heading, names) in GROUPS {
        page += &listed(program, heading, names);
    }
    if form.is_short {
        let more = format!("More: {}", rest.join(", "));
        page += &fitted_text(&more, form.width);
        page += "\n\nWithout a command it analyzes your own sessions. More: cachesim COMMAND -h\n";
    } else {
        page += &listed(program, "More", &rest);
        page += "Options:\n{options}\n\n";
        page += &fitted_paragraphs(EXIT_CODES, form.width);
    }
    page
}

/// Commands under a heading, a line each.
fn listed(program: &clap::Command, heading: &str, names: &[&str]) -> String {
    let about = |name: &&str| {
        // The longest name, `completions`, has eleven letters.
        let about = program.find_subcommand(name).and_then(clap::Command::get_about);
        format!("  {name:<11}  {}\n", about.map(ToString::to_string).unwrap_or_default())
    };
    format!("{heading}:\n{}\n", names.iter().map(about).collect::<String>())
}

/// Paragraph or list within a width. Examples stay whole, so that they can be copied.
fn fitted_text(paragraph: &str, width: usize) -> String {
    if paragraph.starts_with("Examples:") {
        return paragraph.to_owned();
    }
    paragraph.lines().flat_map(|line| fitted_line(line, width)).collect::<Vec<_>>().join("\n")
}

/// Line within a width; continued lines are indented to the text after its first column.
fn fitted_line(line: &str, width: usize) -> Vec<String> {
    let text = line.trim_start_matches(' ');
    let column =
        text.find("  ").map_or(0, |end| end + text[end..].len() - text[end..].trim_start().len());
    let indent = " ".repeat(line.len() - text.len() + column);
    let options = textwrap::Options::new(width)
        .subsequent_indent(&indent)
        // A path or an option that is broken could not be copied.
        .break_words(false)
        .word_separator(textwrap::WordSeparator::AsciiSpace)
        .word_splitter(textwrap::WordSplitter::NoHyphenation)
        .wrap_algorithm(textwrap::WrapAlgorithm::FirstFit);
    textwrap::wrap(line, options).into_iter().map(Cow::into_owned).collect()
}

/// Parses a whole number within bounds, both included.
pub(super) fn whole<T>(
    least: u64,
    most: u64,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static
where
    T: TryFrom<u64>,
{
    move |text| {
        let number = text.parse().ok().filter(|number| (least..=most).contains(number));
        number.and_then(|number| T::try_from(number).ok()).ok_or_else(|| match (least, most) {
            (0, u64::MAX) => "expected a whole number".to_owned(),
            (least, u64::MAX) => format!("expected a whole number of at least {least}"),
            (least, most) => format!("expected a whole number from {least} to {most}"),
        })
    }
}

/// `--breaks`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum RecordedBreaksArg {
    /// They happen under every policy, so that policies differ by themselves alone
    Keep,
    /// They do not happen
    Drop,
}

/// `--rule`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum RuleArg {
    /// Reading less than the request before had read and written
    Complete,
    /// The client's rule: over 5 % and 2,000 tokens less than the request before read
    Client,
}
