//! Options of the commands that explain: `explain`, `breaks`, `context`, `verify` and `lint`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use std::ops::Deref;

use super::format::{BreaksFormats, LintFormats};
use super::{Choice, Choices, FormatArgs, RecordedBreaksArgs, RunArgs, whole};
use crate::explain::breaks::DetectionRule;
use crate::explain::lint::{Rule, Severity};

const EXPLAIN_EXAMPLES: &str = "\
Examples:
  cachesim explain req_011CS session.jsonl
  cachesim explain session.jsonl:1207 session.jsonl
  cachesim explain 5e1f0000:12 --strategy billed,5m,1h,mixed --json

Turns are counted as `analyze --session` counts them. Of FILE:LINE the first request is meant \
whose answer begins at that line or after it. FILE is a path, which is read wherever it leads, or a name as outputs have it.";

const REQUEST_HELP: &str = "The request: its id or the beginning of it, FILE:LINE, or SESSION:TURN";

/// Strategies under which a request is shown by default.
const DEFAULT_EXPLAINED: &str = "billed,replay,5m,1h";

/// `explain`.
#[derive(Debug, Args)]
#[command(after_help = EXPLAIN_EXAMPLES)]
pub(in crate::cli) struct ExplainArgs {
    /// The request.
    #[arg(value_name = "REQUEST", help = "An id, FILE:LINE, or SESSION:TURN", long_help = REQUEST_HELP)]
    pub(in crate::cli) request: String,
    /// Options of a command over requests.
    #[command(flatten)]
    pub(in crate::cli) run: RunArgs<ExplainOptions>,
}

impl Deref for ExplainArgs {
    type Target = RunArgs<ExplainOptions>;

    fn deref(&self) -> &Self::Target {
        &self.run
    }
}

/// Options that only `explain` has.
#[derive(Debug, Args)]
pub(in crate::cli) struct ExplainOptions {
    /// Strategies: names, and files (*.toml)
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = DEFAULT_EXPLAINED)]
    pub(in crate::cli) strategy: Vec<String>,
    /// Recorded breaks.
    #[command(flatten)]
    pub(in crate::cli) breaks: RecordedBreaksArgs,
    /// Show words of captured prompts
    ///
    /// Show names and words of captured prompts where they differ
    #[arg(long)]
    pub(in crate::cli) show_text: bool,
}

const BREAKS_EXAMPLES: &str = "\
Examples:
  cachesim breaks
  cachesim breaks session.jsonl --top 50
  cachesim breaks ~/.claude/projects --since 2026-07-01 --format jsonl -o breaks.jsonl
  cachesim breaks capture.jsonl --show-text

A break is never reported across a hole in its chain; such requests are counted.";

/// `breaks`.
pub(in crate::cli) type BreaksArgs = RunArgs<BreaksOptions, FormatArgs<BreaksFormats>>;

/// Options that only `breaks` has.
#[derive(Debug, Args)]
#[command(after_help = BREAKS_EXAMPLES)]
pub(in crate::cli) struct BreaksOptions {
    /// Rule for breaks: complete or client
    #[arg(long, value_parser = Choices(RULES), default_value = RULES[0].0)]
    pub(in crate::cli) rule: DetectionRule,
    /// Keep the service's own verdicts out of the causes
    #[arg(long)]
    pub(in crate::cli) ignore_server_reason: bool,
    /// Show words of captured prompts
    ///
    /// Show names and words of captured prompts where they differ (tables and JSON Lines)
    #[arg(long)]
    pub(in crate::cli) show_text: bool,
    /// Number of breaks to list
    ///
    /// Number of breaks listed one by one, the most expensive first
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = whole::<usize>(1, u64::MAX))]
    pub(in crate::cli) top: usize,
}

/// `--rule`.
const RULES: &[Choice<DetectionRule>] = &[
    (
        "complete",
        "Reading less than the request before had read and written",
        DetectionRule::Complete,
    ),
    (
        "client",
        "The client's rule: over 5 % and 2,000 tokens less than the request before read",
        DetectionRule::Client,
    ),
];

const CONTEXT_EXAMPLES: &str = "\
Examples:
  cachesim context session.jsonl
  cachesim context ~/.claude/projects --since 2026-07-01 --top 25
  cachesim context logs/ --format json -o context.json

The sums are the recorded usage; how it is shared among the kinds is derived or estimated.";

/// `context`.
pub(in crate::cli) type ContextArgs = RunArgs<ContextOptions>;

/// Options that only `context` has.
#[derive(Debug, Args)]
#[command(after_help = CONTEXT_EXAMPLES)]
pub(in crate::cli) struct ContextOptions {
    /// Number of kinds, sessions and items to list
    ///
    /// Number of kinds, sessions and items in the tables, the most expensive first
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = whole::<u16>(1, u16::MAX.into()))]
    pub(in crate::cli) top: u16,
}

const VERIFY_EXAMPLES: &str = "\
Examples:
  cachesim verify
  cachesim verify ~/.claude/projects --format json -o verify.json";

/// `verify`.
pub(in crate::cli) type VerifyArgs = RunArgs<VerifyOptions>;

/// Options that only `verify` has.
#[derive(Debug, Args)]
#[command(after_help = VERIFY_EXAMPLES)]
pub(in crate::cli) struct VerifyOptions {
    /// List the evidence on each rule
    ///
    /// List the rules that were measured, and how often the record is for and against each
    #[arg(long)]
    pub(in crate::cli) rules: bool,
    /// List the error of counted tokens, by model
    ///
    /// List the error of counted tokens in what each step of a conversation added, by model
    #[arg(long)]
    pub(in crate::cli) counts: bool,
}

const LINT_EXAMPLES: &str = "\
Examples:
  cachesim lint capture.jsonl
  cachesim lint bundle.jsonl --format sarif -o lint.sarif
  cachesim lint captures/ --fail-on warning --ignore looks-volatile
  cachesim lint captures/ --hide-text --format json -o accepted.json
  cachesim lint captures/ --fail-on note --accepted accepted.json
  cachesim lint --explain tool-order

Reads captures, bundles and claude-trace logs; a transcript does not hold the prompts.

Exit codes: 0 nothing that --fail-on names was found, 1 something was, 3 --fail-on names rules \
that compare requests and no request follows another.";

/// `lint`.
pub(in crate::cli) type LintArgs = RunArgs<LintOptions, FormatArgs<LintFormats>>;

/// Options that only `lint` has.
#[derive(Debug, Args)]
#[command(after_help = LINT_EXAMPLES)]
pub(in crate::cli) struct LintOptions {
    /// Exit with 1 on findings: a severity or rules
    ///
    /// Exit with 1 on findings of these rules or this severity: error, warning, note
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = fail_on_parser(), hide_possible_values = true)]
    pub(in crate::cli) fail_on: Vec<FailOn>,
    /// Report findings of these rules alone
    #[arg(long, value_name = "RULES", value_delimiter = ',', value_parser = rule_parser(), hide_possible_values = true)]
    pub(in crate::cli) select: Vec<Rule>,
    /// Report no findings of these rules
    #[arg(long, value_name = "RULES", value_delimiter = ',', value_parser = rule_parser(), hide_possible_values = true)]
    pub(in crate::cli) ignore: Vec<Rule>,
    /// Leave out the findings of a saved run
    ///
    /// Leave out the findings of a saved cachesim.lint/v1, which are accepted
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) accepted: Option<PathBuf>,
    /// Say why a rule matters and what to do
    ///
    /// Say why a rule matters and what to do, and read nothing
    #[arg(long, value_name = "RULE", exclusive = true, value_parser = rule_parser())]
    pub(in crate::cli) explain: Option<Rule>,
    /// Show positions, and no text of prompts
    #[arg(long)]
    pub(in crate::cli) hide_text: bool,
    /// Number of findings to list
    ///
    /// Number of findings in the text, the worst first [default: all]
    #[arg(long, value_name = "N", value_parser = whole::<usize>(1, u64::MAX))]
    pub(in crate::cli) top: Option<usize>,
}

impl LintOptions {
    /// Returns true if findings of a rule are reported.
    pub(in crate::cli) fn has(&self, rule: Rule) -> bool {
        (self.select.is_empty() || self.select.contains(&rule)) && !self.ignore.contains(&rule)
    }

    /// Rule that is to fail the run and is not reported.
    pub(in crate::cli) fn contradiction(&self) -> Option<Rule> {
        let mut named = self.fail_on.iter().filter_map(|one| match one {
            FailOn::Rule(rule) => Some(*rule),
            FailOn::Severity(_) => None,
        });
        named.find(|rule| !self.has(*rule))
    }

    /// Returns true if findings of a rule with this severity fail the run.
    pub(in crate::cli) fn fails_on(&self, rule: Rule, severity: Severity) -> bool {
        self.has(rule) && self.fail_on.iter().any(|one| one.names(rule, severity))
    }
}

/// Findings that fail a run.
#[derive(Clone, Copy, Debug)]
pub(in crate::cli) enum FailOn {
    /// Findings of this severity, or worse.
    Severity(Severity),
    /// Findings of a rule.
    Rule(Rule),
}

impl FailOn {
    fn names(self, rule: Rule, severity: Severity) -> bool {
        match self {
            // The worst severity is the first one.
            Self::Severity(least) => severity <= least,
            Self::Rule(named) => rule == named,
        }
    }
}

fn rule_names() -> impl Iterator<Item = PossibleValue> {
    Rule::ALL.into_iter().map(|rule| PossibleValue::new(rule.name()))
}

fn rule_parser() -> impl TypedValueParser<Value = Rule> {
    let parser = PossibleValuesParser::new(rule_names());
    parser.try_map(|name| Rule::by_name(&name).ok_or("no rule"))
}

fn fail_on_parser() -> impl TypedValueParser<Value = FailOn> {
    let severities = Severity::ALL.into_iter().map(|one| PossibleValue::new(one.name()));
    let parser = PossibleValuesParser::new(severities.chain(rule_names()));
    parser.try_map(|name| {
        let severity = Severity::by_name(&name);
        let rule = || Rule::by_name(&name).map(FailOn::Rule);
        severity.map(FailOn::Severity).or_else(rule).ok_or("neither a severity nor a rule")
    })
}
