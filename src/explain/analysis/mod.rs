//! Analyses of the ledger: accuracy of the rules and of counts, events at each request, and time and money by
//! period, pause and group.

mod answer;
mod counts;
mod gaps;
mod groups;
mod lifetime;
mod novelties;
mod turn;
mod verify;

pub use answer::{Answer, BestChange, BetterLifetime, Spending, Waterfall, spending_by_period};
pub(crate) use counts::counted_steps;
pub use counts::{Added, CountTally, CountedStep, Counts};
pub use gaps::{GapBin, Gaps};
pub use groups::{Group, Grouping, Groups, Period, PeriodLength, groups};
pub use lifetime::{ByLifetime, Lifetimes};
pub use novelties::Novelties;
pub use turn::{Event, Turn};
pub use verify::{
    Agreement, Coverage, Expiries, RuleCount, ServiceAgreement, Unsimulated, Verification, Worst,
    verify,
};
