//! Analyses of the ledger: accuracy of the rules and of counts, events at each request, and time and money by
//! period, pause and group.

mod answer;
mod client_count;
mod counts;
mod gaps;
mod groups;
mod lifetime;
mod turn;
mod verify;

pub use answer::{Answer, BestChange, BetterLifetime, Spending, Waterfall, spending_by_period};
pub use client_count::{ClientCount, CountDifference};
pub(crate) use counts::counted_steps;
pub use counts::{Added, CountTally, CountedStep, Counts};
pub use gaps::{GapBin, Gaps};
pub use groups::{Group, Grouping, Groups, Period, PeriodLength, groups};
pub use lifetime::{ByLifetime, Lifetimes};
pub use turn::{Event, Turn};
pub use verify::{
    Agreement, Coverage, Expiries, RuleCount, ServiceAgreement, Unsimulated, Verification, Worst,
    verify,
};
