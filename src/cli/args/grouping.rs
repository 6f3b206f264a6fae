//! What `analyze --by` takes.

use clap::ValueEnum;

use crate::explain::analysis::{Grouping, PeriodLength};

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
}

impl GroupingArg {
    /// What it stands for.
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
        }
    }
}
