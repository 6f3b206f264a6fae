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

use format::{Choice, Choices, DocumentFormats};
use help::EXIT_CODES;
use shared::{DEFAULT_STRATEGIES, FLEET, NOT_OF_A_RUN, NamingArgs, RecordedBreaksArgs, whole};

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
    CheckFormat, FindingFormat, FormatArgs, Formats, Json, OutputFormat, RowFormat, Rows,
    StrategyFormat,
};
pub(super) use help::{HelpForm, documented, fitted};
pub(super) use hook::{HookArgs, LEAST};
pub(super) use init::{CiArg, InitArgs};
pub(super) use mcp::McpArgs;
pub(super) use part::{DomainsArgs, FleetCommand, GatherArgs, PartArgs};
pub(super) use prices::{PricesArgs, PricesCommand, PricesShared, PricesUpdateArgs};
pub(super) use redact::{PlaceArgs, RedactArgs};
pub(super) use run::{DocumentArgs, RunArgs};
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
    Analyze(Deferred<AnalyzeArgs>),
    /// Changes, ranked by what each would have saved
    Advise(Deferred<AdviseArgs>),
    /// Each request that read less than it could have: cause and cost
    Breaks(Deferred<BreaksArgs>),
    /// The story of one request: its prompt, what was cached
    Explain(Deferred<ExplainArgs>),
    /// Content of the context, and the cost of carrying it
    Context(Deferred<ContextArgs>),
    /// Windows of five hours and weeks, and what used each up
    Blocks(Deferred<BlocksArgs>),
    /// Budgets, and changes since a baseline
    Check(Deferred<CheckArgs>),
    /// First budgets, a baseline and a workflow for a project
    Init(Deferred<InitArgs>),
    /// The same sessions without their text, for fixtures and reports
    Redact(Deferred<RedactArgs>),
    /// Agreement of the rules with the recorded usage
    Verify(Deferred<VerifyArgs>),
    /// Causes of unstable captured prompts, to the byte, with the price
    Lint(Deferred<LintArgs>),
    /// Strategies on the same requests, down to the cheapest possible
    Compare(Deferred<CompareArgs>),
    /// Charts as SVG or PNG: turns, cost, gaps, breaks, context, …
    Chart(Deferred<ChartArgs>),
    /// Everything as one page of HTML that needs no network
    Report(Deferred<ReportArgs>),
    /// Number of tokens in a text or a request, by part
    Tokens(Deferred<TokensCommandArgs>),
    /// Savings of sharing a prefix: the arithmetic of forked agents
    Fork(Deferred<ForkArgs>),
    /// A harness's prompt parts → wire requests with markers placed
    Place(Deferred<PlaceArgs>),
    /// An organisation's sessions: domains, their parts, one run of all
    Fleet {
        /// The command.
        #[command(subcommand)]
        command: FleetCommand,
    },
    /// One line about the open session: warm until when, the next cost
    Statusline(Deferred<StatuslineArgs>),
    /// Sessions as they run: warm until when, breaks as they happen
    Watch(Deferred<WatchArgs>),
    /// Warns in Claude Code of a cold message, and after a break
    Hook(Deferred<HookArgs>),
    /// The same answers for a coding agent, as an MCP server
    Mcp(Deferred<McpArgs>),
    /// Folders where sessions are looked for, and what they have
    Sources(Deferred<SourcesArgs>),
    /// The strategies: of a user, of a builder, and bounds
    Strategies(Deferred<StrategiesArgs>),
    /// The prices in use
    Prices(Deferred<PricesArgs>),
    /// The configuration in use, and the origin of each value
    Config(Deferred<ConfigArgs>),
    /// The JSON schemas of the machine formats
    Schema(Deferred<SchemaArgs>),
    /// The shell script that completes commands and options
    Completions(Deferred<CompletionsArgs>),
    /// The manual pages
    Man(Deferred<ManArgs>),
}
