//! Reads expressions, by precedence.

use std::iter::Peekable;
use std::vec::IntoIter;

use super::error::{ExpressionError, ExpressionProblem as Problem};
use super::token::{Token, tokens};
use super::tree::{Arithmetic, Condition, Quantity};

/// The most operations in each other, chains and parentheses counted: what a stack can bear with
/// ease, and nobody writes.
pub(super) const MOST_DEPTH: usize = 256;

/// A value of either type.
enum Value {
    Condition(Condition),
    Quantity(Quantity),
}

/// A value, where it begins, and how many operations there are in each other.
struct Part {
    value: Value,
    column: usize,
    depth: usize,
}

/// Reads a whole text.
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
    /// The column after the text.
    end: usize,
    nesting: usize,
}

/// How tight an operator between two values binds.
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

/// `not` binds less than comparisons.
const NOT: u8 = 3;
/// A sign binds more than anything.
const SIGN: u8 = 7;

impl Parser {
    /// A value with all operators that bind tighter than `above`.
    fn binary(&mut self, above: u8) -> Result<Part, ExpressionError> {
        let mut left = self.prefix()?;
        while let Some((column, operator)) = self.tokens.peek() {
            let Some(own) = precedence(operator).filter(|own| *own > above) else { break };
            let (column, operator) = (*column, operator.clone());
            self.tokens.next();
            let right = self.binary(own)?;
            left = left.joined(&operator, column, right)?;
        }
        Ok(left)
    }

    /// A value, or one after `not`, a sign or a parenthesis.
    fn prefix(&mut self) -> Result<Part, ExpressionError> {
        let Some((column, token)) = self.tokens.next() else {
            return Err(expected("a value", self.end, "the end"));
        };
        let part = |value| Ok(Part { value, column, depth: 1 });
        match token {
            Token::Number(number) => part(Value::Quantity(Quantity::Number(number))),
            Token::Reference(reference) => part(Value::Quantity(Quantity::Reference(reference))),
            Token::Not => {
                let inner = self.nested(column, NOT)?;
                let depth = deeper(inner.depth, column)?;
                let value = Value::Condition(Condition::Not(Box::new(inner.condition()?)));
                Ok(Part { value, column, depth })
            }
            Token::Arithmetic(Arithmetic::Minus) => {
                let inner = self.nested(column, SIGN)?;
                let depth = deeper(inner.depth, column)?;
                let value = Value::Quantity(Quantity::Negative(Box::new(inner.quantity()?)));
                Ok(Part { value, column, depth })
            }
            Token::Open => {
                let inner = self.nested(column, 0)?;
                match self.tokens.next() {
                    Some((_, Token::Close)) => Ok(Part { column, ..inner }),
                    Some((at, other)) => Err(expected("`)`", at, other.description())),
                    None => Err(ExpressionError::at(column, Problem::Unclosed(')'))),
                }
            }
            other => Err(expected("a value", column, other.description())),
        }
    }

    fn nested(&mut self, column: usize, above: u8) -> Result<Part, ExpressionError> {
        // A printed expression has a parenthesis and a sign or `not` for each operation.
        if self.nesting > 2 * MOST_DEPTH {
            return Err(ExpressionError::at(column, Problem::TooDeep));
        }
        self.nesting += 1;
        let inner = self.binary(above)?;
        self.nesting -= 1;
        Ok(inner)
    }
}

impl Part {
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
                Value::Quantity(Quantity::Arithmetic(*operator, at, sides))
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

    fn quantity(self) -> Result<Quantity, ExpressionError> {
        match self.value {
            Value::Quantity(quantity) => Ok(quantity),
            Value::Condition(_) => Err(expected("a number", self.column, "a condition")),
        }
    }
}

fn deeper(depth: usize, column: usize) -> Result<usize, ExpressionError> {
    if depth >= MOST_DEPTH {
        return Err(ExpressionError::at(column, Problem::TooDeep));
    }
    Ok(depth + 1)
}

fn expected(expected: &'static str, column: usize, found: &'static str) -> ExpressionError {
    ExpressionError::at(column, Problem::Expected { expected, found })
}
