//! Language of conditions on strategies, for scripts: `candidate.cost > billed.cost * 1.05 or
//! candidate.hit_rate < 90%`.
//!
//! From the loosest to the tightest binding:
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
//! A **number** is decimal, with an optional `$` before it or `%` (hundredths) after it: `1.50`,
//! `$1.50`, `25%`.
//!
//! A **reference** is `STRATEGY.METRIC`, divided at the last full stop. A strategy without quotes
//! begins with a letter or a digit and continues with letters, digits and `. _ + -`. A `[` includes
//! everything up to its `]`: letters, digits and `. _ + - = ,`. So `a-b.cost` is one reference, and
//! a `+` or `-` between two values needs white space (or a parenthesis) before it: `a.cost -
//! b.cost`. Any other name has quotes: `"of my own".cost`. The words `and`, `or` and `not` are not
//! references, since these have a full stop.
//!
//! **Values** are exact decimals of up to 28 digits, to which longer products and quotients are
//! rounded. `and` and `or` evaluate their right side only if it matters, so that `a.cost > 0 and
//! b.cost / a.cost > 2` never divides by zero. An unknown value is an error once it is evaluated:
//! it makes a condition neither true nor false.

mod parse;
#[cfg(test)]
mod tests;

pub use parse::{ExpressionError, ExpressionProblem};

use std::fmt;
use std::str::FromStr;

use parse::ExpressionProblem as Problem;
use parse::is_plain;
use rust_decimal::Decimal;

use crate::base::words;

/// Condition on strategies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expression(Condition);

/// Figure that an expression refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// Name of the strategy.
    pub strategy: String,
    /// Metric of the strategy.
    pub metric: StrategyMetric,
    /// Column of the reference, in characters from 1.
    pub column: usize,
}

/// Expression that is true or false.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Condition {
    Or(Box<[Condition; 2]>),
    And(Box<[Condition; 2]>),
    Not(Box<Condition>),
    Compare(Comparator, Box<[Operand; 2]>),
}

/// Expression that is a number.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Operand {
    Number(Decimal),
    Reference(Reference),
    Negative(Box<Operand>),
    /// Operation with the column of its operator.
    Arithmetic(Arithmetic, usize, Box<[Operand; 2]>),
}

/// Comparison of two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparator {
    Below,
    AtMost,
    Above,
    AtLeast,
    Equal,
    Unequal,
}

/// Operation that combines two numbers into one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Arithmetic {
    Plus,
    Minus,
    Times,
    DividedBy,
}

/// Values of references, or `None` if unknown.
type Values<'a> = &'a dyn Fn(&str, StrategyMetric) -> Option<Decimal>;

impl Expression {
    /// Parses an expression.
    ///
    /// # Errors
    /// The first part of the text that cannot be used.
    pub fn parse(text: &str) -> Result<Self, ExpressionError> {
        parse::condition(text).map(Self)
    }

    /// References to figures, in the order of the text.
    pub fn references(&self) -> impl Iterator<Item = &Reference> {
        let mut references = Vec::new();
        self.0.add_references(&mut references);
        references.into_iter()
    }

    /// Evaluates the condition. `values` gives the figures of strategies, if they are known.
    ///
    /// # Errors
    /// An unknown value that is evaluated, a division by zero, or too large a result.
    pub fn evaluate(&self, values: Values<'_>) -> Result<bool, ExpressionError> {
        self.0.holds(values)
    }
}

impl FromStr for Expression {
    type Err = ExpressionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text)
    }
}

impl Condition {
    fn holds(&self, values: Values<'_>) -> Result<bool, ExpressionError> {
        match self {
            Self::Or(sides) => Ok(sides[0].holds(values)? || sides[1].holds(values)?),
            Self::And(sides) => Ok(sides[0].holds(values)? && sides[1].holds(values)?),
            Self::Not(condition) => Ok(!condition.holds(values)?),
            Self::Compare(comparison, sides) => {
                Ok(comparison.holds(sides[0].value(values)?, sides[1].value(values)?))
            }
        }
    }

    fn add_references<'a>(&'a self, references: &mut Vec<&'a Reference>) {
        match self {
            Self::Or(sides) | Self::And(sides) => {
                sides.iter().for_each(|side| side.add_references(references));
            }
            Self::Not(condition) => condition.add_references(references),
            Self::Compare(_, sides) => {
                sides.iter().for_each(|side| side.add_references(references));
            }
        }
    }
}

impl Operand {
    fn value(&self, values: Values<'_>) -> Result<Decimal, ExpressionError> {
        match self {
            Self::Number(number) => Ok(*number),
            Self::Reference(reference) => {
                values(&reference.strategy, reference.metric).ok_or_else(|| {
                    let unknown = Problem::Unknown(reference.to_string());
                    ExpressionError::at(reference.column, unknown)
                })
            }
            Self::Negative(quantity) => Ok(-quantity.value(values)?),
            Self::Arithmetic(operator, column, sides) => operator
                .result(sides[0].value(values)?, sides[1].value(values)?)
                .map_err(|problem| ExpressionError::at(*column, problem)),
        }
    }

    fn add_references<'a>(&'a self, references: &mut Vec<&'a Reference>) {
        match self {
            Self::Number(_) => {}
            Self::Reference(reference) => references.push(reference),
            Self::Negative(quantity) => quantity.add_references(references),
            Self::Arithmetic(.., sides) => {
                sides.iter().for_each(|side| side.add_references(references));
            }
        }
    }
}

impl Comparator {
    fn holds(self, left: Decimal, right: Decimal) -> bool {
        match self {
            Self::Below => left < right,
            Self::AtMost => left <= right,
            Self::Above => left > right,
            Self::AtLeast => left >= right,
            Self::Equal => left == right,
            Self::Unequal => left != right,
        }
    }

    fn sign(self) -> &'static str {
        match self {
            Self::Below => "<",
            Self::AtMost => "<=",
            Self::Above => ">",
            Self::AtLeast => ">=",
            Self::Equal => "==",
            Self::Unequal => "!=",
        }
    }
}

impl Arithmetic {
    fn result(self, left: Decimal, right: Decimal) -> Result<Decimal, Problem> {
        let result = match self {
            Self::Plus => left.checked_add(right),
            Self::Minus => left.checked_sub(right),
            Self::Times => left.checked_mul(right),
            Self::DividedBy if right.is_zero() => return Err(Problem::DivisionByZero),
            Self::DividedBy => left.checked_div(right),
        };
        result.ok_or(Problem::Overflow)
    }

    fn sign(self) -> &'static str {
        match self {
            Self::Plus => "+",
            Self::Minus => "-",
            Self::Times => "*",
            Self::DividedBy => "/",
        }
    }
}

impl fmt::Display for Expression {
    /// Writes parentheses around each operation, so that it parses back to the same tree.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Or(sides) => write!(f, "({} or {})", sides[0], sides[1]),
            Self::And(sides) => write!(f, "({} and {})", sides[0], sides[1]),
            Self::Not(condition) => write!(f, "(not {condition})"),
            Self::Compare(comparison, sides) => {
                write!(f, "({} {} {})", sides[0], comparison.sign(), sides[1])
            }
        }
    }
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Reference(reference) => reference.fmt(f),
            Self::Negative(quantity) => write!(f, "(-{quantity})"),
            Self::Arithmetic(operator, _, sides) => {
                write!(f, "({} {} {})", sides[0], operator.sign(), sides[1])
            }
        }
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { strategy, metric, .. } = self;
        if is_plain(strategy) {
            write!(f, "{strategy}.{}", metric.name())
        } else {
            write!(f, "\"{strategy}\".{}", metric.name())
        }
    }
}

words! {
    /// Figure of a strategy.
    pub enum StrategyMetric {
        /// Cost in dollars.
        Cost = "cost", "cost_usd";
        /// Cost in dollars per recorded request.
        PerRequest = "per_request", "per_request_usd";
        /// Tokens sent in full.
        Input = "input", "input_tokens";
        /// Tokens read from cache.
        Read = "read", "cache_read_input_tokens";
        /// Tokens written to cache, for five minutes or an hour.
        Written = "written", "cache_creation_input_tokens";
        /// Tokens written for five minutes.
        WrittenFiveMinutes = "written_5m", "ephemeral_5m_input_tokens";
        /// Tokens written for an hour.
        WrittenOneHour = "written_1h", "ephemeral_1h_input_tokens";
        /// Tokens of answers.
        Output = "output", "output_tokens";
        /// Share of the prompts' tokens that was read from cache, from 0 to 1.
        HitRate = "hit_rate", "hit_rate";
        /// Recorded requests.
        Requests = "requests", "requests";
        /// Requests sent in addition to the recorded ones.
        AddedRequests = "added_requests", "added_requests";
        /// Cost beyond the bound, as a share of the bound.
        Gap = "gap", "gap";
    }
    /// Name in JSON outputs.
    pub fn json_name;
}

impl StrategyMetric {
    /// Metric of a name, as in JSON outputs or short.
    pub fn by_any_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|metric| metric.names().contains(&name))
    }

    /// Both names.
    fn names(self) -> [&'static str; 2] {
        [self.name(), self.json_name()]
    }
}
