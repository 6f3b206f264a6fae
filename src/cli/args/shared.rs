//! Options that several commands share: the input and what is reported of it, the simulation, the
//! measuring of prompts, the output.

use std::env;
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::OnceLock;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};

use super::assume::{ASSUME, unknown_assumption};
use super::whole;
use crate::base::client::Client;
use crate::base::project::{ProjectNames, ProjectNaming};
use crate::base::ttl::Lifetimes;
use crate::cli::input::Listed;
use crate::explain::analysis::{Grouping, PeriodLength};
use crate::read::capture::{AttributionKey, TokenCounting};
use crate::requests::conversation::ReadOptions;
use crate::requests::prompt::SharedPrefix;
use crate::simulate::cache::{BetaKey, Lookback, Reading, TtlChange};
use crate::simulate::strategy::Assumptions;

// A constant instead of a doc comment: there the variable would need backticks, which help would
// show.
const PATHS_HELP: &str = "Files, folders, or - for standard input [default: your sessions]";

const PATHS_LONG_HELP: &str = "\
Files, folders (walked for sessions and logs: *.jsonl and *.json, also .gz and .zst, databases *.db, *.har, tables \
*.csv and *.parquet), or - for standard input [default: what all agents keep at home; see sources]";

/// Where the requests come from.
#[derive(Debug, Args)]
pub(in crate::cli) struct InputArgs {
    /// The files and folders.
    #[arg(value_name = "PATH", help = PATHS_HELP, long_help = PATHS_LONG_HELP)]
    pub(in crate::cli) paths: Vec<PathBuf>,
    /// Read the files and folders that this file lists, a path a line, or with NUL between paths; - is standard input.
    /// After a path and a tab may stand the file's version, for `fleet part`
    #[arg(long, value_name = "FILE", conflicts_with = "paths", help_heading = FLEET, hide_short_help = true)]
    pub(in crate::cli) paths_from: Option<PathBuf>,
    /// The folder from which relative paths lead on. Files are called by their paths below it, and ordered by these
    #[arg(long, value_name = "DIR", help_heading = FLEET, hide_short_help = true)]
    pub(in crate::cli) root: Option<PathBuf>,
    /// Read no file outside of this folder, whichever path or link leads there. Without a PATH it is
    /// what is read. May be given several times
    #[arg(long, value_name = "DIR", help_heading = FLEET, hide_short_help = true)]
    pub(in crate::cli) inside: Vec<PathBuf>,
    /// The list, once it was read.
    #[arg(skip)]
    pub(in crate::cli) listed: OnceLock<Listed>,
    /// Which of them are reported.
    #[command(flatten)]
    pub(in crate::cli) filter: FilterArgs,
    /// Report requests of live branches alone, without what was rewound, edited or retried
    #[arg(long, hide_short_help = true)]
    pub(in crate::cli) live: bool,
    /// The names of projects.
    #[command(flatten)]
    pub(in crate::cli) naming: NamingArgs,
    /// How many threads read and simulate, four for each core at most [default: one for each core]
    #[arg(long, value_name = "N", value_parser = whole::<u16>(1, u16::MAX.into()), hide_short_help = true)]
    pub(in crate::cli) jobs: Option<u16>,
    /// Exit with 4 if input is damaged
    #[arg(long, hide_short_help = true)]
    pub(in crate::cli) strict: bool,
    /// How much memory the run may have.
    #[command(flatten)]
    pub(in crate::cli) memory: MemoryArgs,
}

/// The heading of options for sessions of many people.
pub(super) const FLEET: &str = "Fleet";

/// What does not apply to the rows of a run: what chooses sessions, and how these are simulated.
pub(super) const NOT_OF_A_RUN: [&str; 24] = [
    "paths",
    "paths_from",
    "root",
    "inside",
    "domains",
    "source",
    "session",
    "project",
    "model",
    "branch",
    "agent",
    "since",
    "until",
    "live",
    "project_names",
    "shared_prefix",
    "ttl_grace",
    "lookback",
    "ttl_change",
    "betas",
    "prices",
    "platform",
    "tokens",
    "attribution",
];

/// Into which histories the input is divided.
#[derive(Debug, Args)]
pub(in crate::cli) struct DomainArgs {
    /// Read, simulate and report each domain by itself, one after another, as if there were no others: depth:N (the
    /// first N folders of a file's path are its domain), or a file of lines with a domain, a tab and a path.
    /// Figures are the sums of all; --format json of analyze, advise, blocks, breaks, context, verify and lint has a line for
    /// each [default: all of the input is one domain]
    #[arg(long, value_name = "DOMAINS", help_heading = FLEET, hide_short_help = true)]
    pub(in crate::cli) domains: Option<String>,
}

/// How much memory a run may have.
#[derive(Clone, Copy, Debug, Args)]
pub(in crate::cli) struct MemoryArgs {
    /// End with 3 before the run takes more memory than this: 512M, 2GiB (Linux) [default: no bound]
    #[arg(long, value_name = "SIZE", value_parser = memory_size, hide_short_help = true)]
    pub(in crate::cli) max_memory: Option<u64>,
}

/// The least memory in which the program starts and can say what is wrong, in bytes.
const LEAST_MEMORY: u64 = 32 << 20;

/// Parses a size. `M`, `MB` and `MiB` mean the same, as they do for containers.
fn memory_size(text: &str) -> Result<u64, String> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let shift = match unit.trim_start().to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        "t" | "tb" | "tib" => 40,
        _ => return Err("expected a size such as 512M or 2GiB".to_owned()),
    };
    let number = number.parse().map_err(|_| "expected a size such as 512M or 2GiB".to_owned());
    let bytes = number.and_then(|number: u64| {
        number.checked_mul(1 << shift).ok_or_else(|| "no machine has so much".to_owned())
    })?;
    if bytes < LEAST_MEMORY {
        return Err("the program itself needs 32M".to_owned());
    }
    Ok(bytes)
}

/// The heading of options that choose requests.
const REQUESTS: &str = "Which requests";

/// Which requests are reported. All are simulated, so that sessions keep one another warm.
#[derive(Debug, Args)]
pub(in crate::cli) struct FilterArgs {
    /// Only these programs: claude, codex, pi, …
    ///
    /// Only sessions of these programs; `cachesim sources` lists them
    #[arg(long, help_heading = REQUESTS, value_name = "NAMES", value_delimiter = ',', value_parser = source_names())]
    pub(in crate::cli) source: Vec<Client>,
    /// Only the session of this id
    ///
    /// Only this session: its id, the beginning of it, or its end after …; may be given several times
    #[arg(long, help_heading = REQUESTS, value_name = "ID")]
    pub(in crate::cli) session: Vec<String>,
    /// Only this project: its name or folder
    ///
    /// Only this project: its name as printed, its folder, or a part of the name
    #[arg(long, help_heading = REQUESTS, value_name = "NAME")]
    pub(in crate::cli) project: Vec<String>,
    /// Only this model: its name or a part of it
    ///
    /// Only requests to this model: its name or a part of it
    #[arg(long, help_heading = REQUESTS, value_name = "NAME")]
    pub(in crate::cli) model: Vec<String>,
    /// Only this branch of the repository
    ///
    /// Only requests sent on this branch of the project's repository: its name or a part of it
    #[arg(long, help_heading = REQUESTS, value_name = "NAME")]
    pub(in crate::cli) branch: Vec<String>,
    /// Only this agent: main, a type or an id
    ///
    /// Only this agent: main, a type of sub-agents, or an agent's id or the beginning of it
    #[arg(long, help_heading = REQUESTS, value_name = "AGENT")]
    pub(in crate::cli) agent: Vec<String>,
    /// Answered from then on: 7d, today, 2026-07-01
    ///
    /// Answered from this time on: 7d, 24h, 2w, today, yesterday, YYYY-MM-DD or RFC 3339
    #[arg(long, help_heading = REQUESTS, value_name = "TIME")]
    pub(in crate::cli) since: Option<String>,
    /// Answered until then: 1d, 2026-07-31
    ///
    /// Answered until this time: through the end of a day that is named, before a moment
    #[arg(long, help_heading = REQUESTS, value_name = "TIME")]
    pub(in crate::cli) until: Option<String>,
    /// The time zone, such as Europe/Berlin
    ///
    /// The time zone in which days begin and times are shown, such as Europe/Berlin [default: UTC]
    #[arg(long, help_heading = REQUESTS, value_name = "NAME")]
    pub(in crate::cli) timezone: Option<String>,
}

impl FilterArgs {
    /// Whether all requests are reported.
    pub(in crate::cli) fn is_empty(&self) -> bool {
        let Self { source, session, project, model, branch, agent, since, until, timezone: _ } =
            self;
        let names = [session, project, model, branch, agent];
        source.is_empty()
            && names.iter().all(|names| names.is_empty())
            && since.is_none()
            && until.is_none()
    }
}

/// Parses the name of a program whose sessions are read.
fn source_names() -> impl TypedValueParser<Value = Client> {
    PossibleValuesParser::new(Client::ALL.map(Client::name)).try_map(|name| {
        Client::by_name(&name)
            .ok_or_else(|| format!("{name} is no program whose sessions are read"))
    })
}

/// How projects are named.
#[derive(Clone, Copy, Debug, Args)]
pub(in crate::cli) struct NamingArgs {
    /// How projects and the folders of their files are named
    #[arg(long, value_name = "HOW", value_enum, default_value_t = ProjectNamesArg::Relative, hide_short_help = true)]
    project_names: ProjectNamesArg,
}

impl NamingArgs {
    /// The names, without the home of whoever runs the program.
    pub(in crate::cli) fn naming(self) -> ProjectNaming {
        let names = match self.project_names {
            ProjectNamesArg::Relative => ProjectNames::Relative,
            ProjectNamesArg::Hash => ProjectNames::Hash,
        };
        ProjectNaming { names, ..here() }
    }
}

/// How projects are named where nothing is asked for: without the home of whoever runs the program.
pub(in crate::cli) fn here() -> ProjectNaming {
    let home = env::home_dir().map(|home| home.to_string_lossy().into_owned());
    ProjectNaming { home, ..ProjectNaming::default() }
}

/// What a simulation assumes, and at which prices. Each assumption is an option of its own, set by
/// `--assume KEY=VALUE` (`cli/typed.rs` takes it apart).
#[derive(Debug, Args)]
pub(in crate::cli) struct SimulationArgs {
    /// An assumption about caches (see --help)
    #[arg(id = ASSUME, long, value_name = "KEY=VALUE", value_parser = unknown_assumption)]
    _assume: Vec<String>,
    /// How sizes are counted that no usage tells: exact (in the model's vocabulary; estimated if that is not known),
    /// estimated, or bytes:N (N bytes are a token; bytes:1 is exact)
    #[arg(long, value_name = "COUNTING", hide = true, default_value = "exact", value_parser = token_counting)]
    tokens: TokenCounting,
    /// Whether the client's attribution line is part of the cache key of captured prompts
    #[arg(long, value_enum, hide = true, default_value_t = AttributionArg::Auto)]
    attribution: AttributionArg,
    /// What other traffic keeps warm of a chain's first read
    #[arg(long, value_enum, hide = true, default_value_t = SharedPrefixArg::Auto)]
    shared_prefix: SharedPrefixArg,
    /// How many seconds entries are still found beyond their TTL
    #[arg(long, value_name = "SECONDS", hide = true, default_value_t = 0, value_parser = whole::<u32>(0, 3_600))]
    ttl_grace: u32,
    /// What a marker counts when it looks back 20 for an entry, if the blocks are known
    #[arg(long, value_enum, hide = true, default_value_t = LookbackArg::Positions)]
    lookback: LookbackArg,
    /// Whether a marker finds an entry that was written for another TTL
    #[arg(long, value_enum, hide = true, default_value_t = TtlChangeArg::Keeps)]
    ttl_change: TtlChangeArg,
    /// Whether the beta features of captured requests are part of the cache key
    #[arg(long, value_enum, hide = true, default_value_t = BetasArg::Key)]
    betas: BetasArg,
    /// Price files to lay over the built-in table
    ///
    /// Price files to lay over the built-in table: cachesim's TOML, or the JSON of LiteLLM or genai-prices
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) prices: Vec<PathBuf>,
    /// Where the models were called: regional endpoints of Bedrock and Google Cloud cost more,
    /// regions of the government's most
    #[arg(long, value_enum, default_value_t = PlatformArg::Auto, hide_short_help = true)]
    pub(in crate::cli) platform: PlatformArg,
    /// Exit with 5 if a model has no price
    #[arg(long, hide_short_help = true)]
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
            lifetimes: Lifetimes::ANTHROPIC,
        }
    }

    /// Whether the pieces of transcripts are counted, where they are looked at.
    pub(in crate::cli) fn counts_contents(&self) -> bool {
        self.tokens == TokenCounting::Exact
    }

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
    match (text, text.strip_prefix("bytes:").map(str::parse)) {
        ("exact" | "auto", _) => Ok(TokenCounting::Exact),
        ("estimated", _) => Ok(TokenCounting::Estimated),
        (_, Some(Ok(bytes))) => Ok(TokenCounting::Bytes(bytes)),
        _ => Err("expected exact, estimated, or bytes:N with N from 1 on".to_owned()),
    }
}

/// Where the output goes.
#[derive(Debug, Args)]
pub(in crate::cli) struct WrittenArgs {
    /// Write to this file; - is standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub(in crate::cli) output: PathBuf,
    /// When to use colours and bold text
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = ColorArg::Auto, hide_short_help = true)]
    pub(in crate::cli) color: ColorArg,
    /// Errors only on stderr
    #[arg(short, long, conflicts_with = "verbose")]
    pub(in crate::cli) quiet: bool,
    /// Name every rejected line on stderr, not only the first few
    #[arg(short, long, hide_short_help = true)]
    pub(in crate::cli) verbose: bool,
}

/// Where a document is written, and how much of it on a screen.
#[derive(Debug, Args)]
pub(in crate::cli) struct OutputArgs {
    /// Where it is written.
    #[command(flatten)]
    written: WrittenArgs,
    /// Show everything, however long
    ///
    /// Show everything, in a terminal too, where else no more is shown than fits
    #[arg(long)]
    pub(in crate::cli) all: bool,
    /// Show the notes in a terminal
    ///
    /// Show in a terminal what the figures rest on and what they leave out; files and pipes always have these notes
    #[arg(long, hide_short_help = true)]
    pub(in crate::cli) notes: bool,
}

impl Deref for OutputArgs {
    type Target = WrittenArgs;

    fn deref(&self) -> &WrittenArgs {
        &self.written
    }
}

/// `--by`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum GroupingArg {
    /// The day of the answer
    Day,
    /// The ISO week, from Monday on
    Week,
    /// The month
    Month,
    /// The folder of the project
    Project,
    /// The model that is billed
    Model,
    /// The main conversation and the types of sub-agents
    AgentType,
    /// The branch of the project's repository
    Branch,
    /// The session
    Session,
    /// The client's version
    Client,
    /// The program that sent the requests
    Source,
}

impl GroupingArg {
    /// The grouping that the option stands for.
    pub(in crate::cli) fn grouping(self) -> Grouping {
        match self {
            Self::Day => Grouping::Period(PeriodLength::Day),
            Self::Week => Grouping::Period(PeriodLength::Week),
            Self::Month => Grouping::Period(PeriodLength::Month),
            Self::Project => Grouping::Project,
            Self::Model => Grouping::Model,
            Self::AgentType => Grouping::AgentType,
            Self::Branch => Grouping::Branch,
            Self::Session => Grouping::Session,
            Self::Client => Grouping::Client,
            Self::Source => Grouping::Source,
        }
    }
}

/// `--project-names`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ProjectNamesArg {
    /// As much of the path below the home as tells them apart
    Relative,
    /// A digest, the same in every run; who guesses a name can compute its digest
    Hash,
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
    /// A region of the government's
    Government,
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
