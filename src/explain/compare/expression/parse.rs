//! Parser of expressions by operator precedence, after splitting them into tokens, with the problems of
//! wrong ones. Quotes of the text have their control characters escaped.

use std::iter::Peekable;
use std::vec::IntoIter;

use rust_decimal::Decimal;

use super::{Arithmetic, Comparator, Condition, Operand, Reference, StrategyMetric};
use crate::base::{nearest, suggestion};

/// Depth of the deepest nesting of operations, including chains and parentheses. The stack bears it
/// easily, and nobody writes more.
pub(super) const MOST_DEPTH: usize = 256;

/// Value of either type.
enum Value {
    Condition(Condition),
    Quantity(Operand),
}

/// Value, with its column and the depth of its operations.
struct ParsedPart {
    value: Value,
    column: usize,
    depth: usize,
}

/// Parses a whole text.
pub(super) fn condition(text: &str) -> Result<Condition, ExpressionError> {
    let end = text.chars().count() + 1;
    let mut parser = Parser { tokens: tokens(text)?.into_iter().peekable(), end, nesting: 0 };
    let part = parser.binary(0)?;
    match parser.tokens.next() {
        Some((column, token)) => Err(expected("an operator", column, token.description())),
        None => part.condition(),
    }
}

struct Parser {
    tokens: Peekable<IntoIter<(usize, Token)>>,
    /// Column after the end of the text.
    end: usize,
    nesting: usize,
}

/// Precedence of an operator between two values; a higher one binds tighter.
fn precedence(token: &Token) -> Option<u8> {
    Some(match token {
        Token::Or => 1,
        Token::And => 2,
        Token::Comparison(_) => 4,
        Token::Arithmetic(Arithmetic::Plus | Arithmetic::Minus) => 5,
        Token::Arithmetic(Arithmetic::Times | Arithmetic::DividedBy) => 6,
        Token::Number(_) | Token::Reference(_) | Token::Not | Token::Open | Token::Close => {
            return None;
        }
    })
}

/// Precedence of `not`, below comparisons.
const NOT: u8 = 3;
/// Precedence of a sign, above all others.
const SIGN: u8 = 7;

impl Parser {
    /// Parses a value with all operators that bind tighter than `above`.
    fn binary(&mut self, above: u8) -> Result<ParsedPart, ExpressionError> {
        let mut left = self.prefix()?;
        while let Some((column, operator)) = self.tokens.peek() {
            let Some(own) = precedence(operator).filter(|own| *own > above) else { break };
            let (column, operator) = (*column, operator.clone());
            self.tokens.next();
            // Operators of equal precedence are left to the loop, so they associate to the left.
            let right = self.binary(own)?;
            left = left.joined(&operator, column, right)?;
        }
        Ok(left)
    }

    /// Parses a value, or one after `not`, a sign or a parenthesis.
    fn prefix(&mut self) -> Result<ParsedPart, ExpressionError> {
        let Some((column, token)) = self.tokens.next() else {
            return Err(expected("a value", self.end, "the end"));
        };
        let part = |value| Ok(ParsedPart { value, column, depth: 1 });
        match token {
            Token::Number(number) => part(Value::Quantity(Operand::Number(number))),
            Token::Reference(reference) => part(Value::Quantity(Operand::Reference(reference))),
            Token::Not => {
                let inner = self.nested(column, NOT)?;
                let depth = deeper(inner.depth, column)?;
                let value = Value::Condition(Condition::Not(Box::new(inner.condition()?)));
                Ok(ParsedPart { value, column, depth })
            }
            Token::Arithmetic(Arithmetic::Minus) => {
                let inner = self.nested(column, SIGN)?;
                let depth = deeper(inner.depth, column)?;
                let value = Value::Quantity(Operand::Negative(Box::new(inner.quantity()?)));
                Ok(ParsedPart { value, column, depth })
            }
            Token::Open => {
                let inner = self.nested(column, 0)?;
                match self.tokens.next() {
                    Some((_, Token::Close)) => Ok(ParsedPart { column, ..inner }),
                    Some((at, other)) => Err(expected("`)`", at, other.description())),
                    None => Err(ExpressionError::at(column, ExpressionProblem::Unclosed(')'))),
                }
            }
            other => Err(expected("a value", column, other.description())),
        }
    }

    fn nested(&mut self, column: usize, above: u8) -> Result<ParsedPart, ExpressionError> {
        // A printed expression has both a parenthesis and a sign or `not` for each operation.
        if self.nesting > 2 * MOST_DEPTH {
            return Err(ExpressionError::at(column, ExpressionProblem::TooDeep));
        }
        self.nesting += 1;
        let inner = self.binary(above)?;
        self.nesting -= 1;
        Ok(inner)
    }
}

impl ParsedPart {
    fn joined(self, operator: &Token, at: usize, right: Self) -> Result<Self, ExpressionError> {
        let column = self.column;
        let depth = deeper(self.depth.max(right.depth), at)?;
        let value = match operator {
            Token::Or => {
                Value::Condition(Condition::Or(Box::new([self.condition()?, right.condition()?])))
            }
            Token::And => {
                Value::Condition(Condition::And(Box::new([self.condition()?, right.condition()?])))
            }
            Token::Comparison(comparison) => {
                let sides = Box::new([self.quantity()?, right.quantity()?]);
                Value::Condition(Condition::Compare(*comparison, sides))
            }
            Token::Arithmetic(operator) => {
                let sides = Box::new([self.quantity()?, right.quantity()?]);
                Value::Quantity(Operand::Arithmetic(*operator, at, sides))
            }
            other => return Err(expected("an operator", at, other.description())),
        };
        Ok(Self { value, column, depth })
    }

    fn condition(self) -> Result<Condition, ExpressionError> {
        match self.value {
            Value::Condition(condition) => Ok(condition),
            Value::Quantity(_) => Err(expected("a condition", self.column, "a number")),
        }
    }

    fn quantity(self) -> Result<Operand, ExpressionError> {
        match self.value {
            Value::Quantity(quantity) => Ok(quantity),
            Value::Condition(_) => Err(expected("a number", self.column, "a condition")),
        }
    }
}

fn deeper(depth: usize, column: usize) -> Result<usize, ExpressionError> {
    if depth >= MOST_DEPTH {
        return Err(ExpressionError::at(column, ExpressionProblem::TooDeep));
    }
    Ok(depth + 1)
}

fn expected(expected: &'static str, column: usize, found: &'static str) -> ExpressionError {
    ExpressionError::at(column, ExpressionProblem::Expected { expected, found })
}

/// Token of an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    Number(Decimal),
    Reference(Reference),
    Comparison(Comparator),
    Arithmetic(Arithmetic),
    And,
    Or,
    Not,
    Open,
    Close,
}

impl Token {
    /// Description for messages.
    pub(super) fn description(&self) -> &'static str {
        match self {
            Self::Number(_) => "a number",
            Self::Reference(_) => "a reference",
            Self::Comparison(_) => "a comparison",
            Self::Arithmetic(_) => "an operator",
            Self::And => "`and`",
            Self::Or => "`or`",
            Self::Not => "`not`",
            Self::Open => "`(`",
            Self::Close => "`)`",
        }
    }
}

/// Tokens of a text, with their columns.
pub(super) fn tokens(text: &str) -> Result<Vec<(usize, Token)>, ExpressionError> {
    let mut scanner = Scanner { rest: text, column: 1 };
    let mut tokens = Vec::new();
    while let Some((column, token)) = scanner.next()? {
        tokens.push((column, token));
    }
    Ok(tokens)
}

struct Scanner<'a> {
    rest: &'a str,
    /// Column of the rest, in characters.
    column: usize,
}

impl<'a> Scanner<'a> {
    fn next(&mut self) -> Result<Option<(usize, Token)>, ExpressionError> {
        self.take_while(char::is_whitespace);
        let column = self.column;
        let Some(first) = self.rest.chars().next() else { return Ok(None) };
        let token = match first {
            '"' => self.quoted_reference()?,
            '$' => {
                self.take(1);
                let column = self.column;
                let word = self.word()?;
                self.number(column, word)?
            }
            first if first.is_ascii_alphanumeric() => self.number_reference_or_keyword()?,
            _ => self.operator(first)?,
        };
        Ok(Some((column, token)))
    }

    fn operator(&mut self, first: char) -> Result<Token, ExpressionError> {
        // Longer signs come first, since the first match wins.
        const OPERATORS: [(&str, Token); 12] = [
            ("<=", Token::Comparison(Comparator::AtMost)),
            (">=", Token::Comparison(Comparator::AtLeast)),
            ("==", Token::Comparison(Comparator::Equal)),
            ("!=", Token::Comparison(Comparator::Unequal)),
            ("<", Token::Comparison(Comparator::Below)),
            (">", Token::Comparison(Comparator::Above)),
            ("+", Token::Arithmetic(Arithmetic::Plus)),
            ("-", Token::Arithmetic(Arithmetic::Minus)),
            ("*", Token::Arithmetic(Arithmetic::Times)),
            ("/", Token::Arithmetic(Arithmetic::DividedBy)),
            ("(", Token::Open),
            (")", Token::Close),
        ];
        let found = OPERATORS.into_iter().find(|(sign, _)| self.rest.starts_with(sign));
        let (sign, token) = found.ok_or_else(|| self.error(ExpressionProblem::Character(first)))?;
        self.take(sign.len());
        Ok(token)
    }

    fn number_reference_or_keyword(&mut self) -> Result<Token, ExpressionError> {
        let column = self.column;
        match self.word()? {
            "and" => Ok(Token::And),
            "or" => Ok(Token::Or),
            "not" => Ok(Token::Not),
            word if is_number(word) => self.number(column, word),
            word => match word.rsplit_once('.') {
                Some((strategy, metric)) if !strategy.is_empty() => {
                    // It is all ASCII, so bytes are columns.
                    let reference =
                        reference(strategy, metric, column, column + strategy.len() + 1)?;
                    Ok(Token::Reference(reference))
                }
                _ => Err(ExpressionError::at(column, ExpressionProblem::Word(word.to_owned()))),
            },
        }
    }

    /// Reads a number or a reference without quotes, which is all ASCII.
    fn word(&mut self) -> Result<&'a str, ExpressionError> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._+-".contains(c);
        let mut length = 0;
        loop {
            let rest = &self.rest[length..];
            length += rest.find(|c| !is_plain(c)).unwrap_or(rest.len());
            let rest = &self.rest[length..];
            if !rest.starts_with('[') {
                break;
            }
            let inside = rest[1..].find(|c| !is_plain(c) && c != '=' && c != ',');
            let end = inside.filter(|end| rest[1 + end..].starts_with(']'));
            let unclosed =
                ExpressionError::at(self.column + length, ExpressionProblem::Unclosed(']'));
            length += end.ok_or(unclosed)? + 2;
        }
        Ok(self.take(length))
    }

    fn number(&mut self, column: usize, word: &str) -> Result<Token, ExpressionError> {
        if !is_number(word) {
            return Err(ExpressionError::at(column, ExpressionProblem::Word(word.to_owned())));
        }
        let digits = || ExpressionError::at(column, ExpressionProblem::Digits(word.to_owned()));
        let mut number = Decimal::from_str_exact(word).map_err(|_| digits())?;
        if self.rest.starts_with('%') {
            self.take(1);
            // Moving the point is exact for any number of digits.
            number.set_scale(number.scale() + 2).map_err(|_| digits())?;
        }
        Ok(Token::Number(number))
    }

    fn quoted_reference(&mut self) -> Result<Token, ExpressionError> {
        let column = self.column;
        let unclosed = self.error(ExpressionProblem::Unclosed('"'));
        self.take(1);
        let strategy = self.take_while(|c| c != '"');
        if self.rest.is_empty() {
            return Err(unclosed);
        }
        self.take(1);
        if !self.rest.starts_with('.') {
            let expected = ExpressionProblem::Expected {
                expected: "`.` and a metric",
                found: "something else",
            };
            return Err(self.error(expected));
        }
        self.take(1);
        let metric_column = self.column;
        let metric = self.take_while(|c| c.is_ascii_alphanumeric() || c == '_');
        Ok(Token::Reference(reference(strategy, metric, column, metric_column)?))
    }

    fn take_while(&mut self, is_part: impl Fn(char) -> bool) -> &'a str {
        self.take(self.rest.find(|c| !is_part(c)).unwrap_or(self.rest.len()))
    }

    /// Consumes this number of bytes.
    fn take(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(length);
        self.rest = rest;
        self.column += taken.chars().count();
        taken
    }

    fn error(&self, problem: ExpressionProblem) -> ExpressionError {
        ExpressionError::at(self.column, problem)
    }
}

fn is_number(word: &str) -> bool {
    let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    word.split_once('.')
        .map_or_else(|| is_digits(word), |(whole, part)| is_digits(whole) && is_digits(part))
}

fn reference(
    strategy: &str,
    metric: &str,
    column: usize,
    metric_column: usize,
) -> Result<Reference, ExpressionError> {
    let known = StrategyMetric::by_any_name(metric).ok_or_else(|| {
        let nearest =
            nearest(metric, StrategyMetric::ALL.into_iter().flat_map(StrategyMetric::names));
        let problem = ExpressionProblem::Metric { metric: metric.to_owned(), nearest };
        ExpressionError::at(metric_column, problem)
    })?;
    Ok(Reference { strategy: strategy.to_owned(), metric: known, column })
}

/// Returns true if a strategy's name can be written without quotes.
pub(super) fn is_plain(strategy: &str) -> bool {
    let mut scanner = Scanner { rest: strategy, column: 1 };
    strategy.starts_with(|first: char| first.is_ascii_alphanumeric())
        && scanner.word().is_ok_and(|word| word == strategy)
}

/// Metrics that the help names.
const METRICS: &str = "cost, read, written, input, output, hit_rate, requests, added_requests, gap";

/// Problem of an expression, with its column.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("column {column}: {problem}")]
pub struct ExpressionError {
    /// Column in characters, counted from 1.
    pub column: usize,
    /// Kind of the problem.
    pub problem: ExpressionProblem,
}

impl ExpressionError {
    pub(super) fn at(column: usize, problem: ExpressionProblem) -> Self {
        Self { column, problem }
    }
}

/// Kind of a problem of an expression.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExpressionProblem {
    /// An unknown character.
    #[error("`{}` means nothing here", .0.escape_debug())]
    Character(char),
    /// A quotation mark or bracket without its other half.
    #[error("there is no `{0}` to this")]
    Unclosed(char),
    /// A word that is neither a number nor a reference.
    #[error(
        "`{}` is no number and no STRATEGY.METRIC{}; metrics are {METRICS}, as in `1h.cost`",
        shortened(.0), spacing(.0)
    )]
    Word(String),
    /// More digits than are exact.
    #[error("`{}` has more than 28 digits", shortened(.0))]
    Digits(String),
    /// An unknown metric.
    #[error("`{}` is no metric{}", shortened(metric), hint(metric, nearest))]
    Metric {
        /// The metric as written.
        metric: String,
        /// Known metrics with similar names.
        nearest: Vec<&'static str>,
    },
    /// Another part than the expected one.
    #[error("expected {expected}, found {found}")]
    Expected {
        /// Expected part.
        expected: &'static str,
        /// Part that was found.
        found: &'static str,
    },
    /// Too deep a nesting of parentheses or chains.
    #[error("more than {MOST_DEPTH} operations in each other")]
    TooDeep,
    /// A result with too many digits.
    #[error("the result is too large")]
    Overflow,
    /// A division by zero.
    #[error("division by zero")]
    DivisionByZero,
    /// An unknown value, so that the condition cannot be decided.
    #[error("`{}` is unknown", shortened(.0))]
    Unknown(String),
}

/// Text shortened for a message. Quotation marks stay as they are.
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
