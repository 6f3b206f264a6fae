//! What the ledger shows: how well the rules and the counts reproduce the record, what happened at each request,
//! and where time and money went.

mod answer;
mod counts;
mod gaps;
mod groups;
mod lifetime;
mod turn;
mod verify;

pub use answer::{Answer, BestChange, BetterLifetime, Spending, Waterfall, spending_by_period};
pub(crate) use counts::counted_steps;
pub use counts::{Added, CountTally, CountedStep, Counts};
pub use gaps::{GapBin, Gaps};
pub use groups::{Group, Grouping, Groups, Lost, Period, PeriodLength, groups};
pub use lifetime::{ByLifetime, Lifetimes};
pub use turn::{Event, Turn};
pub use verify::{Agreement, Coverage, Expiries, RuleCount, Verification, Worst, verify};
