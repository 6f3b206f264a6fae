//! Strategies side by side: what each costs, by how much it differs from the first one, session by
//! session, and how far it is from the cheapest possible.

mod comparison;
mod expression;
mod paired;

pub use comparison::{Bound, Compared, Comparison};
pub use expression::{Expression, ExpressionError, ExpressionProblem, Metric, Reference};
pub use paired::{Decisive, Paired, TimesLess, Verdict};
