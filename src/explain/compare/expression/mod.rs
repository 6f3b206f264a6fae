//! The language of conditions on strategies, for scripts:
//! `candidate.cost > billed.cost * 1.05 or candidate.hit_rate < 90%`.
//!
//! From what binds least to what binds most:
//!
//! | | |
//! | --- | --- |
//! | `A or B` | of conditions |
//! | `A and B` | of conditions |
//! | `not A` | of a condition; `not x.cost > 1` is `not (x.cost > 1)` |
//! | `< <= > >= == !=` | of two numbers, makes a condition; no chains |
//! | `+ -` | of numbers, from left to right |
//! | `* /` | of numbers, from left to right |
//! | `-A` | of a number |
//! | `(A)`, numbers, references | |
//!
//! A **number** is written in decimal, with a `$` in front of it or a `%` (hundredths) after it if
//! wanted: `1.50`, `$1.50`, `25%`.
//!
//! A **reference** is `STRATEGY.METRIC`, the full stop being the last one. A strategy without quotes
//! begins with a letter or a digit and goes on as far as letters, digits and `. _ + -` do; a `[`
//! takes in everything up to its `]`: letters, digits and `. _ + - = ,`. So `a-b.cost` is one
//! reference, and a `+` or `-` between two values needs white space (or a parenthesis) in front of
//! it: `a.cost - b.cost`. Any other name has quotes: `"of my own".cost`. The words `and`, `or` and
//! `not` are no references, since these have a full stop.
//!
//! **Values** are exact decimals of up to 28 digits; longer products and quotients are rounded
//! there. `and` and `or` look at their right side only where it matters, so that
//! `a.cost > 0 and b.cost / a.cost > 2` is no division by zero. A value that is not known is an
//! error where it is looked at: what nobody knows is neither true nor false.

mod parse;
#[cfg(test)]
mod tests;
mod tree;

pub use parse::{ExpressionError, ExpressionProblem};
pub use tree::{Expression, Metric, Reference};
