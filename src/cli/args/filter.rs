//! Options by which a report is narrowed down.
//!
//! What `analyze --by` takes.

use clap::{Args, ValueEnum};

use crate::explain::analysis::{Grouping, PeriodLength};

/// Which requests are reported. All are simulated, so that sessions keep one another warm.
#[derive(Debug, Args)]
#[command(next_help_heading = "What is reported")]
pub(in crate::cli) struct FilterArgs {
    /// Only this session: its id, the beginning of it, or its end after …; may be given several times
    #[arg(long, value_name = "ID")]
    pub(in crate::cli) session: Vec<String>,
    /// Only this project: its name as printed, its folder, or a part of the name
    #[arg(long, value_name = "NAME")]
    pub(in crate::cli) project: Vec<String>,
    /// Only requests to this model: its name or a part of it
    #[arg(long, value_name = "NAME")]
    pub(in crate::cli) model: Vec<String>,
    /// Only requests sent on this branch of the project's repository: its name or a part of it
    #[arg(long, value_name = "NAME")]
    pub(in crate::cli) branch: Vec<String>,
    /// Only this agent: main, a type of sub-agents, or an agent's id or the beginning of it
    #[arg(long, value_name = "AGENT")]
    pub(in crate::cli) agent: Vec<String>,
    /// Answered from this time on: 7d, 24h, 2w, today, yesterday, YYYY-MM-DD or RFC 3339
    #[arg(long, value_name = "TIME")]
    pub(in crate::cli) since: Option<String>,
    /// Answered until this time: through the end of a day that is named, before a moment
    #[arg(long, value_name = "TIME")]
    pub(in crate::cli) until: Option<String>,
    /// The time zone in which days begin and times are shown, such as Europe/Berlin [default: UTC]
    #[arg(long, value_name = "NAME")]
    pub(in crate::cli) timezone: Option<String>,
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
        }
    }
}
