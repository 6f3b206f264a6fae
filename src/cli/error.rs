//! Errors that end a run, and the exit codes, which scripts rely on.

use std::io;
use std::path::{Path, PathBuf};

use crate::base::counted;
use crate::base::toml_text::TomlError;
use crate::explain::check::CheckError;
use crate::explain::compare::ExpressionError;
use crate::explain::config::ConfigError;
use crate::explain::story::LocateError;
use crate::read::input::{DomainError, MemoryBound};
use crate::report::{BaselineError, PngError};
use crate::requests::seams::Seam;
use crate::simulate::ledger::FilterError;
use crate::simulate::pricing::PriceError;
use crate::study::StudyError;

/// Reason to end the run.
#[derive(Debug, thiserror::Error)]
pub(super) enum CliError {
    /// Option whose value cannot be used.
    #[error("{0}")]
    Usage(String),
    /// Feature that the build lacks.
    #[error(
        "{what} is not in this build; build cachesim with --features {feature}, or with full, as releases are"
    )]
    NotBuilt {
        /// Command, format or option.
        what: &'static str,
        /// Feature of the build that has it.
        feature: &'static str,
    },
    /// Input that cannot be studied.
    #[error(transparent)]
    Study(#[from] StudyError),
    /// Input that cannot be divided into domains.
    #[error("--domains: {0}")]
    Domains(#[from] DomainError),
    /// Failure in one of several domains.
    #[error("domain {domain}: {source}")]
    InDomain {
        /// Name of the domain.
        domain: String,
        /// Error in the domain.
        source: Box<CliError>,
    },
    /// Domains that cut through a history.
    #[error(transparent)]
    Seam(#[from] Seam),
    /// Request that is not found, or not unique.
    #[error(transparent)]
    Locate(#[from] LocateError),
    /// Lack of input to work on.
    #[error("{0}")]
    NoInput(String),
    /// Lack of sessions in all places of agents.
    #[error("no sessions of a coding agent were found")]
    NoSessions {
        /// Places that were searched, in a sentence.
        looked: String,
    },
    /// Memory bound that is too small for the run, in MiB.
    #[error(
        "the run needs more than the {0} MiB of memory that it may have; raise --max-memory, or give fewer or \
         smaller files"
    )]
    Memory(u64),
    /// Unreadable file that an option names.
    #[error("cannot read the {what} {}: {source}", path.display())]
    Unreadable {
        /// Content of the file.
        what: &'static str,
        /// Path of the file.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// Price file without prices.
    #[error(transparent)]
    Prices(#[from] PriceError),
    /// Strategy file, or facts about models in a price file, that cannot be used.
    #[error(transparent)]
    Toml(#[from] TomlError),
    /// Configuration that cannot be used.
    #[error(transparent)]
    Configuration(#[from] ConfigError),
    /// Chart that cannot be drawn as a PNG.
    #[error("cannot draw the chart as a PNG: {0}; try --format svg")]
    Png(#[from] PngError),
    /// Expression that cannot be read, or asks for something that does not exist.
    #[error("--fail-if '{expression}': {source}")]
    Expression {
        /// Text of the expression.
        expression: String,
        /// Error in the expression, with its place.
        source: ExpressionError,
    },
    /// Expression of `--fail-if` that is true.
    #[error("--fail-if '{0}' is true")]
    GateFailed(String),
    /// Unreadable baseline.
    #[error(
        "cannot read the baseline {}: {source}; save one with `cachesim check PATH \
         --save-baseline {}`", path.display(), path.display()
    )]
    BaselineFile {
        /// Path of the file.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// File without accepted findings.
    #[error(
        "{}: it has no findings of lint: {problem}; save them with `cachesim lint PATH --format json -o FILE`",
        path.display()
    )]
    Accepted {
        /// Path of the file.
        path: PathBuf,
        /// Reason.
        problem: String,
    },
    /// File that is not a baseline.
    #[error("{}: cannot be a baseline: {source}", path.display())]
    Baseline {
        /// Path of the file.
        path: PathBuf,
        /// Reason, and what to do.
        source: BaselineError,
    },
    /// Question of `check` without an answer.
    #[error("{place}{error}")]
    Unanswered {
        /// Place of the budget, followed by a colon. Empty if no file asks.
        place: String,
        /// Reason.
        error: CheckError,
    },
    /// Budgets that are exceeded, by name.
    #[error("{}: {}", failed(.0.len()), .0.join(", "))]
    BudgetsFailed(Vec<String>),
    /// Findings of lint that --fail-on names, by rule.
    #[error("--fail-on: {}", found(.0))]
    FindingsFailed(Vec<(&'static str, usize)>),
    /// Output file that cannot be created.
    #[error("cannot write to {}: {source}", path.display())]
    OutputFile {
        /// Path of the file.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// Failed write to standard output.
    #[error("cannot write: {0}")]
    Write(#[from] io::Error),
    /// Damaged input, under `--strict`.
    #[error("the input is damaged, see above; without --strict what is readable is used")]
    DamagedInput,
    /// Models without a price, under `--strict-prices`.
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
    /// Error of a run whose memory is used up.
    pub(super) fn memory() -> Self {
        Self::Memory(MemoryBound::of_process().map_or(0, |bound| bound.0 >> 20))
    }

    /// Error of reading a file that an option names.
    pub(super) fn unreadable(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Unreadable { what, path, source }
    }

    /// Error of writing to a path.
    pub(super) fn unwritable(path: &Path) -> impl Fn(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::OutputFile { path: path.clone(), source }
    }

    /// Error with its domain, if its words do not name one.
    pub(super) fn in_domain(self, domain: &str) -> Self {
        match self {
            Self::Study(_) | Self::NoPrice(_) => {
                Self::InDomain { domain: domain.to_owned(), source: Box::new(self) }
            }
            other => other,
        }
    }

    /// Lines of the error: the problem, its place, and what to do.
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

    /// Exit code. A closed pipe is not an error.
    pub(super) fn exit_code(&self) -> u8 {
        match self {
            Self::InDomain { source, .. } => source.exit_code(),
            Self::Unanswered { error, .. } if error.is_about_input() => NO_INPUT,
            // A reader such as `head` may close the pipe early.
            Self::Write(source) | Self::OutputFile { source, .. }
                if source.kind() == io::ErrorKind::BrokenPipe =>
            {
                DONE
            }
            Self::Usage(_)
            | Self::NotBuilt { .. }
            | Self::Domains(_)
            | Self::Seam(_)
            | Self::Unreadable { .. }
            | Self::Prices(_)
            | Self::Toml(_)
            | Self::Configuration(_)
            | Self::Expression { .. }
            | Self::BaselineFile { .. }
            | Self::Baseline { .. }
            | Self::Accepted { .. }
            | Self::OutputFile { .. }
            | Self::Write(_)
            | Self::Unanswered { .. }
            | Self::Study(StudyError::Filter(FilterError::Ambiguous { .. }))
            | Self::Locate(LocateError::Ambiguous { .. }) => USAGE,
            Self::GateFailed(_) | Self::BudgetsFailed(_) | Self::FindingsFailed(_) => GATE_FAILED,
            // The picture is the program's own: if it cannot be drawn, that is a bug.
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
/// Failed gate: a budget, an expression of `compare --fail-if`, or `lint --fail-on`.
pub(super) const GATE_FAILED: u8 = 1;
/// Command line that cannot be understood, or a file that it names cannot be written.
pub(super) const USAGE: u8 = 2;
/// No usable input, or input that needs more memory than the run may have.
pub(super) const NO_INPUT: u8 = 3;
/// Damaged input, under `--strict`.
pub(super) const DAMAGED_INPUT: u8 = 4;
/// Model without a price, under `--strict-prices`.
pub(super) const NO_PRICE: u8 = 5;
/// Bug in this program.
pub(super) const BUG: u8 = 70;
