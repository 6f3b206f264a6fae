//! JSON schemas of the machine formats, by name: the files of `schemas/`.
//!
//! Schemas of outputs are derived from the very types that are written, with words from the functions that write them.
//! The schema of the configuration comes from the tables of its parser, that of strategies from the types that are read.
//! A test compares them (`derived.rs`). Schemas of other inputs are written by hand.

#[cfg(test)]
mod config;
#[cfg(test)]
mod derived;
mod format;
#[cfg(test)]
mod input;
#[cfg(test)]
mod strategy;

#[cfg(test)]
pub(super) use derived::Keyed;
pub use format::MachineFormat;

// `redact-explain` exists only with the feature `redact`.
const FORMATS: usize = if cfg!(feature = "redact") { 31 } else { 30 };

/// Every machine format with a schema.
#[rustfmt::skip] // a format is a line
pub static MACHINE_FORMATS: [MachineFormat; FORMATS] = format::formats![
    "report", "analyze --format json", "totals by strategy, by model and by session";
    "groups", "analyze --by … --format json", "requests by day, project, model and the like, with what they cost and lost";
    "ledger", "analyze --format jsonl", "a line for each request and strategy";
    "advice", "advise --format json", "what to change, ranked by what it would have saved";
    "change", "advise --since-change --format json", "what became of a change of settings";
    "breaks", "breaks --format json", "the sums of the breaks and their patterns";
    "break", "breaks --format jsonl", "a line for each break";
    "domain", "fleet domains", "the files of a domain";
    "domain-result", "… --domains … --format json", "the result of a command for one domain, a line each";
    "part", "fleet part", "the rows of one domain: which files, of what";
    "run", "fleet gather", "the parts that together are a run";
    "check", "check --format json", "what became of each budget, and what differs from the baseline";
    "compare", "compare --format json", "strategies side by side";
    "compare-line", "compare --format jsonl", "a line for each strategy";
    "explain", "explain --format json", "the story of one request";
    "context", "context --format json", "what each kind of content held, and what carrying it cost";
    "blocks", "blocks --format json", "windows of five hours and weeks, and what used each up";
    "verify", "verify --format json", "how well the rules reproduce the record";
    "lint", "lint --format json", "what makes prefixes unstable";
    "tokens", "tokens --format json", "what a text or a prompt weighs, by part";
    "fork", "fork --format json", "what each way to fork is charged";
    "prices", "prices list|show --format json", "models and their prices";
    "prices-update", "prices update --format json", "what another table of prices changes";
    "event", "watch --jsonl", "a line for each event of a session that goes on";
    "sources", "sources --format json", "where sessions are looked for, and what is there";
    "config-show", "config show --format json", "every option with its value and where it comes from";
    #[cfg(feature = "redact")]
    "redact-explain", "redact --explain --format json", "what stays when text is taken out";
    "config", "read by every command", "the configuration, cachesim.toml";
    "strategy", "read by compare --strategy", "designs of an agent's requests (TOML)";
    "capture", "place; read by lint and others", "captured API requests, one a line";
    "bundle", "read by place and others", "prompt parts of a harness, one prompt a line";
];
