//! Options that several commands share: the input, the simulation, the measuring of prompts, the
//! output.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::filter::FilterArgs;
use super::whole;
use crate::read::capture::{AttributionKey, TokenCounting};
use crate::requests::conversation::ReadOptions;
use crate::requests::prompt::SharedPrefix;
use crate::simulate::cache::{BetaKey, Lookback, Reading, TtlChange};
use crate::simulate::strategy::Assumptions;

// A constant instead of a doc comment: there the variable would need backticks, which help would
// show.
const PATHS_HELP: &str = "\
Files, folders (walked for *.jsonl, also .gz and .zst), or - for standard input [default: projects/ in \
$CLAUDE_CONFIG_DIR or ~/.claude]";

/// Where the requests come from.
#[derive(Debug, Args)]
pub(in crate::cli) struct InputArgs {
    /// The files and folders.
    #[arg(value_name = "PATH", help = PATHS_HELP)]
    pub(in crate::cli) paths: Vec<PathBuf>,
    /// Which of them are reported.
    #[command(flatten)]
    pub(in crate::cli) filter: FilterArgs,
    /// Report requests of live branches alone, without what was rewound, edited or retried
    #[arg(long)]
    pub(in crate::cli) live: bool,
    /// How many threads read and simulate [default: one for each core]
    #[arg(long, value_name = "N", value_parser = whole::<u16>(1, u16::MAX.into()))]
    pub(in crate::cli) jobs: Option<u16>,
    /// Exit with 4 where input is damaged
    #[arg(long)]
    pub(in crate::cli) strict: bool,
}

/// What a simulation assumes.
#[derive(Debug, Args)]
pub(in crate::cli) struct SimulationArgs {
    /// What other traffic keeps warm of a chain's first read
    #[arg(long, value_enum, default_value_t = SharedPrefixArg::Auto)]
    shared_prefix: SharedPrefixArg,
    /// How many seconds entries are still found beyond their TTL
    #[arg(long, value_name = "SECONDS", default_value_t = 0, value_parser = whole::<u32>(0, 3_600))]
    ttl_grace: u32,
    /// What a marker counts when it looks back 20 for an entry, where the blocks are known
    #[arg(long, value_enum, default_value_t = LookbackArg::Positions)]
    lookback: LookbackArg,
    /// Whether a marker finds an entry that was written for another TTL
    #[arg(long, value_enum, default_value_t = TtlChangeArg::Keeps)]
    ttl_change: TtlChangeArg,
    /// Whether the beta features of captured requests are part of the cache key
    #[arg(long, value_enum, default_value_t = BetasArg::Key)]
    betas: BetasArg,
    /// Price files to lay over the built-in table: cachesim's TOML or LiteLLM's JSON
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) prices: Vec<PathBuf>,
    /// Where the models were called: regional endpoints of Bedrock and Google Cloud cost more
    #[arg(long, value_enum, default_value_t = PlatformArg::Auto)]
    pub(in crate::cli) platform: PlatformArg,
    /// Exit with 5 where a model has no price
    #[arg(long)]
    pub(in crate::cli) strict_prices: bool,
}

impl SimulationArgs {
    /// The assumptions of every simulation of the run.
    pub(in crate::cli) fn assumptions(&self, keeps_breaks: bool, reading: Reading) -> Assumptions {
        Assumptions {
            keeps_breaks,
            shared_prefix: match self.shared_prefix {
                SharedPrefixArg::Auto => SharedPrefix::Auto,
                SharedPrefixArg::Cold => SharedPrefix::Cold,
                SharedPrefixArg::Warm => SharedPrefix::Warm,
            },
            ttl_grace: i64::from(self.ttl_grace) * 1_000,
            lookback: match self.lookback {
                LookbackArg::Positions => Lookback::Positions,
                LookbackArg::Blocks => Lookback::Blocks,
            },
            reading,
            ttl_change: match self.ttl_change {
                TtlChangeArg::Keeps => TtlChange::Keeps,
                TtlChangeArg::Loses => TtlChange::Loses,
            },
            betas: match self.betas {
                BetasArg::Key => BetaKey::Key,
                BetasArg::Beside => BetaKey::Beside,
            },
        }
    }
}

/// How captured prompts are read.
#[derive(Debug, Args)]
pub(in crate::cli) struct TokensArgs {
    /// How captured prompts are measured: auto (estimated, and corrected by recorded usage), or
    /// bytes:N (N bytes are a token; bytes:1 is exact)
    #[arg(long, value_name = "COUNTING", default_value = "auto", value_parser = token_counting)]
    tokens: TokenCounting,
    /// Whether the client's attribution line is part of the cache key of captured prompts
    #[arg(long, value_enum, default_value_t = AttributionArg::Auto)]
    attribution: AttributionArg,
}

impl TokensArgs {
    /// The options for reading captures.
    pub(in crate::cli) fn read_options(&self, keeps_bytes: bool) -> ReadOptions {
        ReadOptions {
            counting: self.tokens,
            keeps_bytes,
            attribution: match self.attribution {
                AttributionArg::Auto => AttributionKey::Auto,
                AttributionArg::Neutral => AttributionKey::Neutral,
                AttributionArg::Literal => AttributionKey::Literal,
            },
            ..ReadOptions::default()
        }
    }
}

fn token_counting(text: &str) -> Result<TokenCounting, String> {
    match text.strip_prefix("bytes:").map(str::parse) {
        None if text == "auto" => Ok(TokenCounting::Estimated),
        Some(Ok(bytes)) => Ok(TokenCounting::Bytes(bytes)),
        _ => Err("expected auto, or bytes:N with N from 1 on".to_owned()),
    }
}

/// Where the output goes.
#[derive(Debug, Args)]
pub(in crate::cli) struct OutputArgs {
    /// Write to this file; - is standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub(in crate::cli) output: PathBuf,
    /// When to use colours and bold text
    #[arg(long, value_enum, default_value_t = ColorArg::Auto)]
    pub(in crate::cli) color: ColorArg,
    /// Errors only on stderr
    #[arg(short, long, conflicts_with = "verbose")]
    pub(in crate::cli) quiet: bool,
    /// Name every rejected line on stderr, not only the first few
    #[arg(short, long)]
    pub(in crate::cli) verbose: bool,
}

/// `--shared-prefix`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum SharedPrefixArg {
    /// As calibrated from expiries, rewrites and first requests
    Auto,
    /// Nothing is readable after an expiry
    Cold,
    /// It is always readable
    Warm,
}

/// `--lookback`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum LookbackArg {
    /// A run of tool calls is one, and a run of tool results
    Positions,
    /// Every block is one
    Blocks,
}

/// `--ttl-change`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum TtlChangeArg {
    /// Yes, and it keeps the TTL that it was written with
    Keeps,
    /// No: another TTL is another key
    Loses,
}

/// `--attribution`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum AttributionArg {
    /// Where the record shows a gateway or another platform than Anthropic's own; not where it shows none
    Auto,
    /// Never
    Neutral,
    /// Always
    Literal,
}

/// `--betas`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum BetasArg {
    /// Yes, in front of everything
    Key,
    /// No
    Beside,
}

/// `--platform`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum PlatformArg {
    /// As the names of the models show
    Auto,
    /// The Claude API or a global endpoint
    Global,
    /// A regional endpoint
    Regional,
}

/// `--color`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum ColorArg {
    /// On a terminal, unless `NO_COLOR` is set
    Auto,
    /// Also in files and pipes
    Always,
    /// Nowhere
    Never,
}
