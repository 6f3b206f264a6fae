//! The command line as the user types it.

mod about;
mod advise;
mod analyze;
mod assume;
mod blocks;
mod chart;
mod check;
mod compare;
mod deferred;
mod explain;
mod fork;
mod format;
mod help;
mod hook;
mod init;
mod mcp;
mod part;
mod prices;
mod redact;
mod run;
mod shared;
mod statusline;
mod tokens;
mod watch;

use clap::{CommandFactory as _, Parser, Subcommand};

use about::{
    COMPLETIONS_EXAMPLES, CONFIG_NOTES, MAN_EXAMPLES, SCHEMA_EXAMPLES, SOURCES_EXAMPLES,
    STRATEGIES_EXAMPLES,
};
use advise::ADVISE_EXAMPLES;
use analyze::ANALYZE_EXAMPLES;
use blocks::BLOCKS_EXAMPLES;
use chart::{CHART_EXAMPLES, REPORT_EXAMPLES};
use check::CHECK_EXAMPLES;
use compare::COMPARE_EXAMPLES;
use explain::{
    BREAKS_EXAMPLES, CONTEXT_EXAMPLES, EXPLAIN_EXAMPLES, LINT_EXAMPLES, VERIFY_EXAMPLES,
};
use fork::FORK_EXAMPLES;
use help::EXIT_CODES;
use hook::HOOK_EXAMPLES;
use init::INIT_EXAMPLES;
use mcp::MCP_EXAMPLES;
use redact::{PLACE_EXAMPLES, REDACT_EXAMPLES};
use statusline::STATUSLINE_EXAMPLES;
use tokens::TOKENS_EXAMPLES;
use watch::WATCH_EXAMPLES;

pub(super) use about::{
    CompletionsArgs, ConfigArgs, ConfigCommand, ConfigurationArgs, ManArgs, SchemaArgs,
    SourcesArgs, StrategiesArgs,
};
pub(super) use advise::{AdviseArgs, AdviseSettingsArgs, LAST, SettingsArgs};
pub(super) use analyze::AnalyzeArgs;
pub(super) use assume::{ASSUME, assumed, assumption_of};
pub(super) use blocks::BlocksArgs;
pub(super) use chart::{ChartArgs, ChartFormat, ChartKindArg, ReportArgs};
pub(super) use check::CheckArgs;
pub(super) use compare::CompareArgs;
pub(super) use deferred::Deferred;
pub(super) use explain::{BreaksArgs, ContextArgs, ExplainArgs, LintArgs, VerifyArgs};
pub(super) use fork::ForkArgs;
pub(super) use format::{
    CheckFormat, FindingFormat, FormatArgs, Formats, Json, OutputFormat, RowFormat, StrategyFormat,
};
pub(super) use help::{HelpForm, documented, fitted};
pub(super) use hook::{HookArgs, LEAST};
pub(super) use init::{CiArg, InitArgs};
pub(super) use mcp::McpArgs;
pub(super) use part::{DomainsArgs, FleetCommand, GatherArgs, PartArgs};
pub(super) use prices::{PricesArgs, PricesCommand, PricesShared, PricesUpdateArgs};
pub(super) use redact::{PlaceArgs, RedactArgs};
pub(super) use run::RunArgs;
pub(super) use shared::{
    ColorArg, DomainArgs, FilterArgs, InputArgs, MemoryArgs, OutputArgs, PolicyArgs, PriceArgs,
    SimulationArgs, WrittenArgs, here, platform_name,
};
pub(super) use statusline::{SetupArgs, StatuslineArgs};
pub(super) use tokens::TokensCommandArgs;
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

/// Program with the options of the command that a command line names: building all takes longer than
/// everything else at the start.
///
/// It parses the same as [`Cli::command`]. Its help and its errors are not for people: the caller parses
/// again to show any.
pub(super) fn parsing_program() -> clap::Command {
    deferred::deferring(Cli::command)
}

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
