//! The JSON schemas of the machine formats, by name.
//!
//! Schemas of outputs are derived from the very types that are written, words from the functions
//! that write them, and that of the configuration from the tables by which it is read. Schemas of
//! other inputs are written by hand in `schemas/`, where all of them are checked in. A test
//! compares.

mod config;
mod format;

pub use format::MachineFormat;

pub(super) use format::Keyed;

use super::advice::{self, AdviceDocument};
use super::blocks_json::{self, BlocksObject};
use super::breaks_json::{self, BreaksObject};
use super::check_json::{self, CheckObject};
use super::compare_json::{self, CompareObject, StrategyLine};
use super::config_view::{self, ConfigObject};
use super::context_json::{self, ContextObject};
use super::domains::{self, DomainResult};
use super::explain_json::{self, ExplainObject};
use super::fork::{self, ForkObject};
use super::groups::{self, GroupsObject};
#[cfg(feature = "redact")]
use super::kept::{self, KeptDocument};
use super::lint::{self, Lint};
use super::part_json::{DOMAIN_SCHEMA, DomainListing, Manifest, PART_SCHEMA, Part, RUN_SCHEMA};
use super::price_changes::{self, UpdateObject};
use super::prices::{self, PricesObject};
use super::report_json::{self, Report};
use super::rows::Placed;
use super::rows::breaks::{BREAK_SCHEMA, BreakRow};
use super::rows::ledger::{LEDGER_SCHEMA, LedgerRow};
use super::since::{self, ChangeSinceObject};
use super::sources::{self, SourcesObject};
use super::verify_json::{self, VerifyObject};
use super::watch::{self, EventObject};
use super::weights::{self, TokensObject};

const FORMATS: usize = if cfg!(feature = "redact") { 31 } else { 30 };

/// Every machine format. Others have no schema.
#[rustfmt::skip] // a format is a line
pub static MACHINE_FORMATS: [MachineFormat; FORMATS] = [
    MachineFormat::output::<Report<'_>>("report", report_json::SCHEMA, "analyze --format json", "totals by strategy, by model and by session"),
    MachineFormat::output::<GroupsObject<'_>>("groups", groups::SCHEMA, "analyze --by … --format json", "requests by day, project, model and the like, with what they cost and lost"),
    MachineFormat::output::<Placed<'_, LedgerRow<'_>>>("ledger", LEDGER_SCHEMA, "analyze --format jsonl", "a line for each request and strategy"),
    MachineFormat::output::<AdviceDocument<'_>>("advice", advice::SCHEMA, "advise --format json", "what to change, ranked by what it would have saved"),
    MachineFormat::output::<ChangeSinceObject<'_>>("change", since::SCHEMA, "advise --since-change --format json", "what became of a change of settings"),
    MachineFormat::output::<BreaksObject<'_>>("breaks", breaks_json::SCHEMA, "breaks --format json", "the sums of the breaks and their patterns"),
    MachineFormat::output::<Placed<'_, BreakRow<'_>>>("break", BREAK_SCHEMA, "breaks --format jsonl", "a line for each break"),
    MachineFormat::output::<DomainListing>("domain", DOMAIN_SCHEMA, "domains", "the files of a domain"),
    MachineFormat::output::<DomainResult<'_>>("domain-result", domains::SCHEMA, "… --domains … --format json", "the result of a command for one domain, a line each"),
    MachineFormat::output::<Part>("part", PART_SCHEMA, "part", "the rows of one domain: which files, of what"),
    MachineFormat::output::<Manifest>("run", RUN_SCHEMA, "gather (manifest.json)", "the parts that together are a run"),
    MachineFormat::output::<CheckObject<'_>>("check", check_json::SCHEMA, "check --format json", "what became of each budget, and what differs from the baseline"),
    MachineFormat::output::<CompareObject<'_>>("compare", compare_json::SCHEMA, "compare --format json", "strategies side by side"),
    MachineFormat::output::<StrategyLine<'_>>("compare-line", compare_json::SCHEMA, "compare --format jsonl", "a line for each strategy"),
    MachineFormat::output::<ExplainObject<'_>>("explain", explain_json::SCHEMA, "explain --format json", "the story of one request"),
    MachineFormat::output::<ContextObject<'_>>("context", context_json::SCHEMA, "context --format json", "what each kind of content held, and what carrying it cost"),
    MachineFormat::output::<BlocksObject<'_>>("blocks", blocks_json::SCHEMA, "blocks --format json", "windows of five hours and weeks, and what used each up"),
    MachineFormat::output::<VerifyObject<'_>>("verify", verify_json::SCHEMA, "verify --format json", "how well the rules reproduce the record"),
    MachineFormat::output::<Lint<'_>>("lint", lint::SCHEMA, "lint --format json", "what makes prefixes unstable"),
    MachineFormat::output::<TokensObject<'_>>("tokens", weights::SCHEMA, "tokens --format json", "what a text or a prompt weighs, by part"),
    MachineFormat::output::<ForkObject<'_>>("fork", fork::SCHEMA, "fork --format json", "what each way to fork is charged"),
    MachineFormat::output::<PricesObject<'_>>("prices", prices::SCHEMA, "prices list|show --format json", "models and their prices"),
    MachineFormat::output::<UpdateObject<'_>>("prices-update", price_changes::SCHEMA, "prices update --format json", "what another table of prices changes"),
    MachineFormat::output::<EventObject<'_>>("event", watch::SCHEMA, "watch --jsonl", "a line for each event of a session that goes on"),
    MachineFormat::output::<SourcesObject<'_>>("sources", sources::SCHEMA, "sources --format json", "where sessions are looked for, and what is there"),
    MachineFormat::output::<ConfigObject<'_>>("config-show", config_view::SCHEMA, "config show --format json", "every option with its value and where it comes from"),
    #[cfg(feature = "redact")]
    MachineFormat::output::<KeptDocument<'_>>("redact-explain", kept::SCHEMA, "redact --explain --format json", "what stays when text is taken out"),
    MachineFormat::made("config", "read by every command", "the configuration, cachesim.toml", config::config_schema),
    MachineFormat::input("strategy", "read by compare --strategy", "designs of an agent's requests (TOML)", include_str!("../../../schemas/strategy.schema.json")),
    MachineFormat::input("capture", "place; read by lint and others", "captured API requests, one a line", include_str!("../../../schemas/capture.schema.json")),
    MachineFormat::input("bundle", "read by place and others", "prompt parts of a harness, one prompt a line", include_str!("../../../schemas/bundle.schema.json")),
];
