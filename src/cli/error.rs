//! The errors that end a run, and the exit codes, which scripts rely on.

use std::io;
use std::path::PathBuf;

use crate::base::toml_text::TomlError;
use crate::base::wording::counted;
use crate::explain::check::CheckError;
use crate::explain::compare::ExpressionError;
use crate::explain::config::ConfigError;
use crate::explain::story::LocateError;
use crate::read::input::{DomainError, MemoryBound};
use crate::report::{BaselineError, PngError};
use crate::requests::seams::Seam;
use crate::simulate::ledger::FilterError;
use crate::simulate::pricing::PriceError;
use crate::simulate::strategy::StrategyFileError;
use crate::study::StudyError;

/// A reason to stop.
#[derive(Debug, thiserror::Error)]
pub(super) enum CliError {
    /// An option's value cannot be used.
    #[error("{0}")]
    Usage(String),
    /// A feature that the build lacks.
    #[error(
        "{what} is not in this build; build cachesim with --features {feature}, or with full, as releases are"
    )]
    NotBuilt {
        /// The command, format or option.
        what: &'static str,
        /// The feature that brings it.
        feature: &'static str,
    },
    /// The input cannot be studied.
    #[error(transparent)]
    Study(#[from] StudyError),
    /// The input cannot be divided into domains.
    #[error("--domains: {0}")]
    Domains(#[from] DomainError),
    /// One of several domains cannot be worked.
    #[error("domain {domain}: {source}")]
    InDomain {
        /// The domain.
        domain: String,
        /// What is wrong with it.
        source: Box<CliError>,
    },
    /// The domains cut through a history.
    #[error(transparent)]
    Seam(#[from] Seam),
    /// No request, or several, match what was asked for.
    #[error(transparent)]
    Locate(#[from] LocateError),
    /// Nothing to work on.
    #[error("{0}")]
    NoInput(String),
    /// No place of an agent's has sessions.
    #[error("no sessions of a coding agent were found")]
    NoSessions {
        /// Where they were looked for, in a sentence.
        looked: String,
    },
    /// The memory that the run may have is not enough, in MiB.
    #[error(
        "the run needs more than the {0} MiB of memory that it may have; raise --max-memory, or give fewer or \
         smaller files"
    )]
    Memory(u64),
    /// A price file is unreadable.
    #[error("cannot read the price file {}: {source}", path.display())]
    PriceFile {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A price file has no prices.
    #[error(transparent)]
    Prices(#[from] PriceError),
    /// What a price file says of models cannot be used.
    #[error(transparent)]
    Models(#[from] TomlError),
    /// A strategy file is unreadable.
    #[error("cannot read the strategy file {}: {source}", path.display())]
    StrategyFile {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A strategy file has no usable strategies.
    #[error(transparent)]
    Strategies(#[from] StrategyFileError),
    /// A configuration cannot be used.
    #[error(transparent)]
    Configuration(#[from] ConfigError),
    /// A chart cannot be drawn as a PNG.
    #[error("cannot draw the chart as a PNG: {0}; try --format svg")]
    Png(#[from] PngError),
    /// An expression cannot be read, or asks for something that does not exist.
    #[error("--fail-if '{expression}': {source}")]
    Expression {
        /// The expression.
        expression: String,
        /// What is wrong and where.
        source: ExpressionError,
    },
    /// An expression of `--fail-if` is true.
    #[error("--fail-if '{0}' is true")]
    GateFailed(String),
    /// A baseline is unreadable.
    #[error(
        "cannot read the baseline {}: {source}; save one with `cachesim check PATH \
         --save-baseline {}`", path.display(), path.display()
    )]
    BaselineFile {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A file of accepted findings is unreadable.
    #[error("cannot read the accepted findings {}: {source}", path.display())]
    AcceptedFile {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A file has no accepted findings.
    #[error(
        "{}: it has no findings of lint: {problem}; save them with `cachesim lint PATH --format json -o FILE`",
        path.display()
    )]
    Accepted {
        /// The file.
        path: PathBuf,
        /// Why.
        problem: String,
    },
    /// A file is not a baseline.
    #[error("{}: cannot be a baseline: {source}", path.display())]
    Baseline {
        /// The file.
        path: PathBuf,
        /// Why, and what to do.
        source: BaselineError,
    },
    /// A question of `check` that has no answer.
    #[error("{place}{error}")]
    Unanswered {
        /// The place of the budget, followed by a colon. Empty where no file asks.
        place: String,
        /// Why.
        error: CheckError,
    },
    /// Budgets that are not kept.
    #[error("{}: {}", failed(.0.len()), .0.join(", "))]
    BudgetsFailed(Vec<String>),
    /// Findings of lint that --fail-on names, by rule.
    #[error("--fail-on: {}", found(.0))]
    FindingsFailed(Vec<(&'static str, usize)>),
    /// The output file cannot be created.
    #[error("cannot write to {}: {source}", path.display())]
    OutputFile {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Writing failed.
    #[error("cannot write: {0}")]
    Write(#[from] io::Error),
    /// Input was damaged, under `--strict`.
    #[error("the input is damaged, see above; without --strict what is readable is used")]
    DamagedInput,
    /// A model had no price, under `--strict-prices`.
    #[error("no price for {0}; give one with --prices FILE, or leave --strict-prices out")]
    NoPrice(String),
}

fn found(findings: &[(&str, usize)]) -> String {
    let each = findings.iter().map(|(rule, findings)| {
        let findings = counted(*findings as u64, "finding", "findings");
        format!("{findings} of {rule}")
    });
    each.collect::<Vec<_>>().join(", ")
}

fn failed(count: usize) -> String {
    format!("{} not kept", counted(count as u64, "budget is", "budgets are"))
}

impl CliError {
    /// The error of a run whose memory is used up.
    pub(super) fn memory() -> Self {
        Self::Memory(MemoryBound::of_process().map_or(0, |bound| bound.0 >> 20))
    }

    /// The error with the domain that it is about, where its words do not say which one.
    pub(super) fn in_domain(self, domain: &str) -> Self {
        match self {
            Self::Study(_) | Self::NoPrice(_) => {
                Self::InDomain { domain: domain.to_owned(), source: Box::new(self) }
            }
            other => other,
        }
    }

    /// The lines of the error: what is wrong, where, and what to do.
    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines = vec![self.to_string()];
        if let Self::NoSessions { looked } = self {
            lines.push(looked.clone());
            lines.push(
                "give files or folders with sessions, as in cachesim analyze PATH".to_owned(),
            );
        }
        lines
    }

    /// The exit code. A closed pipe is not an error.
    #[must_use]
    pub(super) fn exit_code(&self) -> u8 {
        match self {
            Self::InDomain { source, .. } => source.exit_code(),
            Self::Unanswered { error, .. } if error.is_about_input() => NO_INPUT,
            Self::Write(source) | Self::OutputFile { source, .. }
                if source.kind() == io::ErrorKind::BrokenPipe =>
            {
                DONE
            }
            Self::Usage(_)
            | Self::NotBuilt { .. }
            | Self::Domains(_)
            | Self::Seam(_)
            | Self::PriceFile { .. }
            | Self::Prices(_)
            | Self::Models(_)
            | Self::StrategyFile { .. }
            | Self::Strategies(_)
            | Self::Configuration(_)
            | Self::Expression { .. }
            | Self::BaselineFile { .. }
            | Self::Baseline { .. }
            | Self::AcceptedFile { .. }
            | Self::Accepted { .. }
            | Self::OutputFile { .. }
            | Self::Write(_)
            | Self::Unanswered { .. }
            | Self::Study(StudyError::Filter(FilterError::Ambiguous { .. }))
            | Self::Locate(LocateError::Ambiguous { .. }) => USAGE,
            Self::GateFailed(_) | Self::BudgetsFailed(_) | Self::FindingsFailed(_) => GATE_FAILED,
            Self::Png(_) => BUG,
            Self::NoInput(_)
            | Self::NoSessions { .. }
            | Self::Memory(_)
            | Self::Study(_)
            | Self::Locate(_) => NO_INPUT,
            Self::DamagedInput => DAMAGED_INPUT,
            Self::NoPrice(_) => NO_PRICE,
        }
    }
}

/// Success. Damaged input without `--strict` and a closed pipe count as success.
pub(super) const DONE: u8 = 0;
/// A gate failed: a budget, an expression of `compare --fail-if`, or `lint --fail-on`.
pub(super) const GATE_FAILED: u8 = 1;
/// The command line cannot be understood, or a file that it names cannot be written.
pub(super) const USAGE: u8 = 2;
/// There was no usable input, or it needs more memory than the run may have.
pub(super) const NO_INPUT: u8 = 3;
/// Input was damaged, under `--strict`.
pub(super) const DAMAGED_INPUT: u8 = 4;
/// A model had no price, under `--strict-prices`.
pub(super) const NO_PRICE: u8 = 5;
/// A bug in this program.
pub(super) const BUG: u8 = 70;
