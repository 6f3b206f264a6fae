//! The words of an expression.

use rust_decimal::Decimal;

use super::error::{ExpressionError, ExpressionProblem as Problem};
use super::metric::Metric;
use super::tree::{Arithmetic, Comparison, Reference};
use crate::base::nearest::nearest;

/// A word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    Number(Decimal),
    Reference(Reference),
    Comparison(Comparison),
    Arithmetic(Arithmetic),
    And,
    Or,
    Not,
    Open,
    Close,
}

impl Token {
    /// What it is, for messages.
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

/// The words of a text, each with its column.
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
    /// Of the rest, in characters.
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
        const OPERATORS: [(&str, Token); 12] = [
            ("<=", Token::Comparison(Comparison::AtMost)),
            (">=", Token::Comparison(Comparison::AtLeast)),
            ("==", Token::Comparison(Comparison::Equal)),
            ("!=", Token::Comparison(Comparison::Unequal)),
            ("<", Token::Comparison(Comparison::Below)),
            (">", Token::Comparison(Comparison::Above)),
            ("+", Token::Arithmetic(Arithmetic::Plus)),
            ("-", Token::Arithmetic(Arithmetic::Minus)),
            ("*", Token::Arithmetic(Arithmetic::Times)),
            ("/", Token::Arithmetic(Arithmetic::DividedBy)),
            ("(", Token::Open),
            (")", Token::Close),
        ];
        let found = OPERATORS.into_iter().find(|(sign, _)| self.rest.starts_with(sign));
        let (sign, token) = found.ok_or_else(|| self.error(Problem::Character(first)))?;
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
                    // All of it is ASCII, so that bytes are columns.
                    let reference =
                        reference(strategy, metric, column, column + strategy.len() + 1)?;
                    Ok(Token::Reference(reference))
                }
                _ => Err(ExpressionError::at(column, Problem::Word(word.to_owned()))),
            },
        }
    }

    /// A word of a number or a reference without quotes; all of its characters are ASCII.
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
            let unclosed = ExpressionError::at(self.column + length, Problem::Unclosed(']'));
            length += end.ok_or(unclosed)? + 2;
        }
        Ok(self.take(length))
    }

    fn number(&mut self, column: usize, word: &str) -> Result<Token, ExpressionError> {
        if !is_number(word) {
            return Err(ExpressionError::at(column, Problem::Word(word.to_owned())));
        }
        let digits = || ExpressionError::at(column, Problem::Digits(word.to_owned()));
        let mut number = Decimal::from_str_exact(word).map_err(|_| digits())?;
        if self.rest.starts_with('%') {
            self.take(1);
            number.set_scale(number.scale() + 2).map_err(|_| digits())?;
        }
        Ok(Token::Number(number))
    }

    fn quoted_reference(&mut self) -> Result<Token, ExpressionError> {
        let column = self.column;
        let unclosed = self.error(Problem::Unclosed('"'));
        self.take(1);
        let strategy = self.take_while(|c| c != '"');
        if self.rest.is_empty() {
            return Err(unclosed);
        }
        self.take(1);
        if !self.rest.starts_with('.') {
            let expected =
                Problem::Expected { expected: "`.` and a metric", found: "something else" };
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

    /// Takes so many bytes.
    fn take(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(length);
        self.rest = rest;
        self.column += taken.chars().count();
        taken
    }

    fn error(&self, problem: Problem) -> ExpressionError {
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
    let known = Metric::by_name(metric).ok_or_else(|| {
        let nearest = nearest(metric, Metric::names());
        let problem = Problem::Metric { metric: metric.to_owned(), nearest };
        ExpressionError::at(metric_column, problem)
    })?;
    Ok(Reference { strategy: strategy.to_owned(), metric: known, column })
}

/// Whether a strategy's name can stand without quotes.
pub(super) fn is_plain(strategy: &str) -> bool {
    let mut scanner = Scanner { rest: strategy, column: 1 };
    strategy.starts_with(|first: char| first.is_ascii_alphanumeric())
        && scanner.word().is_ok_and(|word| word == strategy)
}
