//! What is wrong with an expression. What is quoted of it has its control characters escaped.

use super::parse::MOST_DEPTH;
use crate::base::nearest::suggestion;

/// What is wrong with an expression, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("column {column}: {problem}")]
pub struct ExpressionError {
    /// In characters, from 1 on.
    pub column: usize,
    /// What is wrong.
    pub problem: ExpressionProblem,
}

impl ExpressionError {
    pub(super) fn at(column: usize, problem: ExpressionProblem) -> Self {
        Self { column, problem }
    }
}

/// What is wrong with an expression.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExpressionProblem {
    /// A character that means nothing.
    #[error("`{}` means nothing here", .0.escape_debug())]
    Character(char),
    /// A quotation mark or bracket without its other half.
    #[error("there is no `{0}` to this")]
    Unclosed(char),
    /// A word that is neither number nor reference.
    #[error("`{}` is no number and no STRATEGY.METRIC{}", shortened(.0), spacing(.0))]
    Word(String),
    /// More digits than are exact.
    #[error("`{}` has more than 28 digits", shortened(.0))]
    Digits(String),
    /// A metric that there is not.
    #[error("`{}` is no metric{}", shortened(metric), hint(metric, nearest))]
    Metric {
        /// What stands there.
        metric: String,
        /// What may have been meant.
        nearest: Vec<&'static str>,
    },
    /// Something else should follow.
    #[error("expected {expected}, found {found}")]
    Expected {
        /// What should.
        expected: &'static str,
        /// What does.
        found: &'static str,
    },
    /// More parentheses, or longer chains, than are read.
    #[error("more than {MOST_DEPTH} operations in each other")]
    TooDeep,
    /// A result that has too many digits.
    #[error("the result is too large")]
    Overflow,
    /// A quotient that there is not.
    #[error("division by zero")]
    DivisionByZero,
    /// A value that is not known: nobody can say whether the condition holds.
    #[error("`{}` is unknown", shortened(.0))]
    Unknown(String),
}

/// Text as a message can carry it; quotation marks stay as they are.
fn shortened(text: &str) -> String {
    let mut short = String::new();
    for c in text.chars().take(80) {
        if c == '"' { short.push(c) } else { short.extend(c.escape_debug()) }
    }
    short
}

fn spacing(word: &str) -> &'static str {
    if word.contains(['+', '-']) { "; put spaces around + and -" } else { "" }
}

fn hint(metric: &str, nearest: &[&str]) -> String {
    format!("{}{}", suggestion(nearest), spacing(metric))
}
