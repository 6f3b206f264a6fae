//! Options that several commands share: the input and its filters, the simulation, the measuring of prompts,
//! the output.

use std::env;
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::OnceLock;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{ArgAction, Args, ValueEnum};

use super::assume::{ASSUME, unknown_assumption};
use super::{Choice, Choices};
use crate::base::project::ProjectNames;
use crate::base::{Client, Lifetimes, Platform, ProjectNaming};
use crate::cli::listed::Listed;
use crate::read::capture::{AttributionKey, TokenCounting};
use crate::requests::conversation::ReadOptions;
use crate::requests::prompt::SharedPrefix;
use crate::simulate::cache::{BetaKey, Lookback, Reading, TtlChange};
use crate::simulate::strategy::Assumptions;

// A constant instead of a doc comment: there the variable would need backticks, which help would show.
const PATHS_HELP: &str = "Files, folders, or - for standard input [default: your sessions]";

const PATHS_LONG_HELP: &str = "\
Files, folders (walked for sessions and logs: *.jsonl and *.json, also .gz and .zst, databases *.db, *.har, tables \
*.csv and *.parquet), or - for standard input [default: what all agents keep at home; see sources]";

/// The sources of requests.
#[derive(Debug, Args)]
pub(in crate::cli) struct InputArgs {
    /// Files and folders.
    #[arg(value_name = "PATH", help = PATHS_HELP, long_help = PATHS_LONG_HELP)]
    pub(in crate::cli) paths: Vec<PathBuf>,
    /// Read the files and folders that this file lists, a path a line, or with NUL between paths; - is
    /// standard input. A tab and the file's version may follow a path, for `fleet part`
    #[arg(long, value_name = "FILE", conflicts_with = "paths", help_heading = FLEET, hide_short_help = true)]
    pub(in crate::cli) paths_from: Option<PathBuf>,
    /// Folder that relative paths start from. Files are named by their paths below it, and ordered by these
    #[arg(long, value_name = "DIR", help_heading = FLEET, hide_short_help = true)]
    pub(in crate::cli) root: Option<PathBuf>,
    /// Read no file outside this folder, whichever path or link leads there. Without a PATH, this folder is
    /// read. May be given several times
    #[arg(long, value_name = "DIR", help_heading = FLEET, hide_short_help = true)]
    pub(in crate::cli) inside: Vec<PathBuf>,
    /// The list, once it is read.
    #[arg(skip)]
    pub(in crate::cli) listed: OnceLock<Listed>,
    /// The filters.
    #[command(flatten)]
    pub(in crate::cli) filter: FilterArgs,
    /// Report requests of live branches alone, without rewound, edited or retried turns
    #[arg(long, hide_short_help = true)]
    pub(in crate::cli) live: bool,
    /// Names of projects.
    #[command(flatten)]
    pub(in crate::cli) naming: NamingArgs,
    /// Number of threads that read and simulate, four a core at most [default: one for each core]
    #[arg(long, value_name = "N", value_parser = whole::<u16>(1, u16::MAX.into()), hide_short_help = true)]
    pub(in crate::cli) jobs: Option<u16>,
    /// Exit with 4 if input is damaged
    #[arg(long, hide_short_help = true)]
    pub(in crate::cli) strict: bool,
    /// Memory that the run may have.
    #[command(flatten)]
    pub(in crate::cli) memory: MemoryArgs,
}

/// Heading of the options for sessions of many people.
pub(super) const FLEET: &str = "Fleet";

/// Options that do not apply to the rows of a run: they choose sessions, or change their simulation.
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

/// Division into histories.
#[derive(Debug, Args)]
pub(in crate::cli) struct DomainArgs {
    /// Read, simulate and report each domain by itself, one after another, as if there were no others:
    /// depth:N (the first N folders of a file's path are its domain), or a file of lines with a domain, a tab
    /// and a path. Figures are the sums of all; --format json of analyze, advise, blocks, breaks, context,
    /// verify and lint has a line for each [default: all of the input is one domain]
    #[arg(long, value_name = "DOMAINS", help_heading = FLEET, hide_short_help = true)]
    pub(in crate::cli) domains: Option<String>,
}

/// Memory that a run may have.
#[derive(Clone, Copy, Debug, Args)]
pub(in crate::cli) struct MemoryArgs {
    /// End with 3 before the run takes more memory than this: 512M, 2GiB (Linux) [default: no bound]
    #[arg(long, value_name = "SIZE", value_parser = memory_size, hide_short_help = true)]
    pub(in crate::cli) max_memory: Option<u64>,
}

/// Least memory in which the program starts and can report an error, in bytes.
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

/// Heading of the options that choose requests.
const REQUESTS: &str = "Which requests";

/// Reported requests. All are simulated, so that sessions keep one another warm.
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
    /// Returns true if all requests are reported.
    pub(in crate::cli) fn is_empty(&self) -> bool {
        // The time zone chooses no request.
        let Self { source, session, project, model, branch, agent, since, until, timezone: _ } =
            self;
        let names = [session, project, model, branch, agent];
        source.is_empty()
            && names.iter().all(|names| names.is_empty())
            && since.is_none()
            && until.is_none()
    }
}

/// Parser of the name of a program whose sessions are read.
fn source_names() -> impl TypedValueParser<Value = Client> {
    PossibleValuesParser::new(Client::ALL.map(Client::name)).try_map(|name| {
        Client::by_name(&name)
            .ok_or_else(|| format!("{name} is no program whose sessions are read"))
    })
}

/// Names of projects.
#[derive(Clone, Copy, Debug, Args)]
pub(in crate::cli) struct NamingArgs {
    /// Names of projects and of the folders of their files
    #[arg(long, value_name = "HOW", value_parser = Choices(PROJECT_NAMES), default_value = PROJECT_NAMES[0].0, hide_short_help = true)]
    project_names: ProjectNames,
}

impl NamingArgs {
    /// Naming of the projects, without the home of the user who runs the program.
    pub(in crate::cli) fn naming(self) -> ProjectNaming {
        ProjectNaming { names: self.project_names, ..here() }
    }
}

/// Default naming of projects, without the home of the user who runs the program.
pub(in crate::cli) fn here() -> ProjectNaming {
    let home = env::home_dir().map(|home| home.to_string_lossy().into_owned());
    ProjectNaming { home, ..ProjectNaming::default() }
}

/// Assumptions of a simulation, and its prices. Each assumption is an option of its own, set by `--assume
/// KEY=VALUE` (`cli/typed.rs` takes it apart).
#[derive(Debug, Args)]
pub(in crate::cli) struct SimulationArgs {
    /// An assumption about caches (see --help)
    #[arg(id = ASSUME, long, value_name = "KEY=VALUE", value_parser = unknown_assumption)]
    _assume: Vec<String>,
    /// Counting of sizes that no usage records: exact (in the model's vocabulary; estimated if it is
    /// unknown), estimated, or bytes:N (N bytes are a token; bytes:1 is exact)
    #[arg(long, value_name = "COUNTING", hide = true, default_value = "exact", value_parser = token_counting)]
    tokens: TokenCounting,
    /// Use of the client's attribution line in the cache key of captured prompts
    #[arg(long, hide = true, value_parser = Choices(ATTRIBUTIONS), default_value = ATTRIBUTIONS[0].0)]
    attribution: AttributionKey,
    /// Part of a chain's first read that others keep warm
    #[arg(long, hide = true, value_parser = Choices(SHARED_PREFIXES), default_value = SHARED_PREFIXES[0].0)]
    shared_prefix: SharedPrefix,
    /// Number of seconds that entries are found after their TTL
    #[arg(long, value_name = "SECONDS", hide = true, default_value_t = 0, value_parser = whole::<u32>(0, 3_600))]
    ttl_grace: u32,
    /// Unit of a marker's lookback of 20 for an entry, if the blocks are known
    #[arg(long, hide = true, value_parser = Choices(LOOKBACKS), default_value = LOOKBACKS[0].0)]
    lookback: Lookback,
    /// Whether a marker finds an entry that was written for another TTL
    #[arg(long, hide = true, value_parser = Choices(TTL_CHANGES), default_value = TTL_CHANGES[0].0)]
    ttl_change: TtlChange,
    /// Whether the beta features of captured requests are part of the cache key
    #[arg(long, hide = true, value_parser = Choices(BETAS), default_value = BETAS[0].0)]
    betas: BetaKey,
    /// Prices of requests.
    #[command(flatten)]
    pub(in crate::cli) prices: PriceArgs,
    /// Exit with 5 if a model has no price
    #[arg(long, hide_short_help = true)]
    pub(in crate::cli) strict_prices: bool,
}

impl SimulationArgs {
    /// Assumptions of every simulation of the run.
    pub(in crate::cli) fn assumptions(&self, keeps_breaks: bool, reading: Reading) -> Assumptions {
        Assumptions {
            keeps_breaks,
            shared_prefix: self.shared_prefix,
            ttl_grace: i64::from(self.ttl_grace) * 1_000,
            lookback: self.lookback,
            reading,
            ttl_change: self.ttl_change,
            betas: self.betas,
            lifetimes: Lifetimes::ANTHROPIC,
        }
    }

    /// Returns true if the pieces of transcripts are counted, for commands that show them.
    pub(in crate::cli) fn counts_contents(&self) -> bool {
        self.tokens == TokenCounting::Exact
    }

    /// Options for reading captures.
    pub(in crate::cli) fn read_options(&self, keeps_bytes: bool) -> ReadOptions {
        ReadOptions {
            counting: self.tokens,
            keeps_bytes,
            attribution: self.attribution,
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

/// Prices of requests.
#[derive(Debug, Args)]
pub(in crate::cli) struct PriceArgs {
    /// Price files to lay over the built-in table
    ///
    /// Price files to lay over the built-in table: cachesim's TOML, or the JSON of LiteLLM or genai-prices
    #[arg(id = "prices", long = "prices", value_name = "FILE")]
    pub(in crate::cli) files: Vec<PathBuf>,
    /// Endpoint of the models: regional endpoints of Bedrock and Google Cloud cost more, regions of the
    /// government the most
    #[arg(long, value_parser = Choices(PLATFORMS), default_value = PLATFORMS[0].0, hide_short_help = true)]
    pub(in crate::cli) platform: KnownPlatform,
}

/// Place of the output.
#[derive(Debug, Args)]
pub(in crate::cli) struct WrittenArgs {
    /// Write to this file; - is standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub(in crate::cli) output: PathBuf,
    /// Use of colours and bold text
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = ColorArg::Auto, hide_short_help = true)]
    pub(in crate::cli) color: ColorArg,
    /// Errors only on stderr
    #[arg(short, long, conflicts_with = "verbose")]
    pub(in crate::cli) quiet: bool,
    /// Name every rejected line on stderr, not only the first few
    #[arg(short, long, hide_short_help = true)]
    pub(in crate::cli) verbose: bool,
}

/// Place and length of a document.
#[derive(Debug, Args)]
pub(in crate::cli) struct OutputArgs {
    /// Place of the output.
    #[command(flatten)]
    written: WrittenArgs,
    /// Show everything, however long
    ///
    /// Show everything, also in a terminal, which otherwise shows what fits
    #[arg(long, hide_short_help = true)]
    pub(in crate::cli) all: bool,
    /// Show the notes in a terminal
    ///
    /// Show in a terminal the basis of the figures and what they leave out; files and pipes always have these
    /// notes
    #[arg(long, hide_short_help = true)]
    pub(in crate::cli) notes: bool,
}

impl Deref for OutputArgs {
    type Target = WrittenArgs;

    fn deref(&self) -> &WrittenArgs {
        &self.written
    }
}

/// `--project-names`.
const PROJECT_NAMES: &[Choice<ProjectNames>] = &[
    ("relative", "The shortest path below the home that no other shares", ProjectNames::Relative),
    (
        "hash",
        "A digest, the same in every run; anyone who guesses a name can compute it",
        ProjectNames::Hash,
    ),
];

/// `--shared-prefix`.
const SHARED_PREFIXES: &[Choice<SharedPrefix>] = &[
    ("auto", "As calibrated from expiries, rewrites and first requests", SharedPrefix::Auto),
    ("cold", "Nothing is readable after an expiry", SharedPrefix::Cold),
    ("warm", "It is always readable", SharedPrefix::Warm),
];

/// `--lookback`.
const LOOKBACKS: &[Choice<Lookback>] = &[
    ("positions", "A run of tool calls is one, and a run of tool results", Lookback::Positions),
    ("blocks", "Every block is one", Lookback::Blocks),
];

/// `--ttl-change`.
const TTL_CHANGES: &[Choice<TtlChange>] = &[
    ("keeps", "Yes, and it keeps the TTL that it was written with", TtlChange::Keeps),
    ("loses", "No: another TTL is another key", TtlChange::Loses),
];

/// `--attribution`.
const ATTRIBUTIONS: &[Choice<AttributionKey>] = &[
    (
        "auto",
        "If the record shows a gateway or another platform than Anthropic's own; not if it shows none",
        AttributionKey::Auto,
    ),
    ("neutral", "Never", AttributionKey::Neutral),
    ("literal", "Always", AttributionKey::Literal),
];

/// `--betas`.
const BETAS: &[Choice<BetaKey>] =
    &[("key", "Yes, before everything else", BetaKey::Key), ("beside", "No", BetaKey::Beside)];

/// `--reading`.
pub(super) const READINGS: &[Choice<Reading>] = &[
    ("conservative", "No longer than entries before it", Reading::Conservative),
    (
        "literal",
        "For its own TTL, as the documented rules say when taken by the letter",
        Reading::Literal,
    ),
];

/// `--breaks`.
const KEPT: &[Choice<bool>] = &[
    ("keep", "They happen under every policy, so that policies differ by themselves alone", true),
    ("drop", "They do not happen", false),
];

/// Platform of all requests. `None` for the one that the name of a model shows.
type KnownPlatform = Option<Platform>;

/// `--platform`.
const PLATFORMS: &[Choice<KnownPlatform>] = &[
    ("auto", "As the names of the models show", None),
    ("global", "The Claude API or a global endpoint", Some(Platform::Global)),
    ("regional", "A regional endpoint", Some(Platform::Regional)),
    ("government", "A region of the government", Some(Platform::Government)),
];

/// Word of a platform as a value of `--platform`.
pub(in crate::cli) fn platform_name(platform: KnownPlatform) -> Option<&'static str> {
    PLATFORMS.iter().find(|(.., known)| *known == platform).map(|(name, ..)| *name)
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

/// Strategies of the ledger by default.
pub(super) const DEFAULT_STRATEGIES: &str = "billed,replay,none,5m,1h";

/// Recorded breaks inside the TTL.
#[derive(Clone, Copy, Debug, Args)]
pub(in crate::cli) struct RecordedBreaksArgs {
    /// Keep or drop recorded breaks inside the TTL in counterfactuals
    #[arg(id = "breaks", long = "breaks", value_name = "BREAKS", hide = true, action = ArgAction::Set, value_parser = Choices(KEPT), default_value = KEPT[0].0)]
    pub(in crate::cli) are_kept: bool,
}

/// Assumptions about strategies that are compared.
#[derive(Clone, Copy, Debug, Args)]
pub(in crate::cli) struct PolicyArgs {
    /// Lifetime of an entry that was written after one of a shorter TTL
    #[arg(long, hide = true, value_parser = Choices(READINGS), default_value = READINGS[0].0)]
    pub(in crate::cli) reading: Reading,
    /// Recorded breaks.
    #[command(flatten)]
    pub(in crate::cli) breaks: RecordedBreaksArgs,
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
