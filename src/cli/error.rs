//! What ends a run, with its exit code.

use std::io;
use std::path::PathBuf;

use super::exit;
use crate::compare::ExpressionError;
use crate::pricing::PriceError;
use crate::strategy::StrategyFileError;

/// A reason to stop.
#[derive(Debug, thiserror::Error)]
pub(super) enum CliError {
    /// An option's value cannot be used.
    #[error("{0}")]
    Usage(String),
    /// Nothing to work on.
    #[error("{0}")]
    NoInput(String),
    /// A price file is unreadable.
    #[error("cannot read the price file {}: {source}", path.display())]
    PriceFile {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A price file has no prices.
    #[error(transparent)]
    Prices(#[from] PriceError),
    /// A strategy file is unreadable.
    #[error("cannot read the strategy file {}: {source}", path.display())]
    StrategyFile {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A strategy file has no usable strategies.
    #[error(transparent)]
    Strategies(#[from] StrategyFileError),
    /// An expression cannot be read, or asks for what is not there.
    #[error("--fail-if '{expression}': {source}")]
    Expression {
        /// The expression.
        expression: String,
        /// What is wrong and where.
        source: ExpressionError,
    },
    /// An expression holds.
    #[error("--fail-if '{0}' holds")]
    GateFailed(String),
    /// The output file cannot be made.
    #[error("cannot write to {}: {source}", path.display())]
    OutputFile {
        /// The file.
        path: PathBuf,
        /// What the system says.
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

impl CliError {
    /// The exit code; a closed pipe is no error.
    #[must_use]
    pub(super) fn exit_code(&self) -> u8 {
        match self {
            Self::Write(error) if error.kind() == io::ErrorKind::BrokenPipe => exit::DONE,
            Self::Usage(_)
            | Self::PriceFile { .. }
            | Self::Prices(_)
            | Self::StrategyFile { .. }
            | Self::Strategies(_)
            | Self::Expression { .. }
            | Self::OutputFile { .. }
            | Self::Write(_) => exit::USAGE,
            Self::GateFailed(_) => exit::GATE_FAILED,
            Self::NoInput(_) => exit::NO_INPUT,
            Self::DamagedInput => exit::DAMAGED_INPUT,
            Self::NoPrice(_) => exit::NO_PRICE,
        }
    }
}
