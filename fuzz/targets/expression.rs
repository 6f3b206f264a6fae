//! Conditions of `compare --fail-if`: any text is a condition or an error with a place in it; what
//! is printed parses back to the same condition, and the laws of logic hold for its value.

use cachesim::explain::compare::{Expression, StrategyMetric};
use rust_decimal::Decimal;

pub(crate) fn check(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let expression = match Expression::parse(text) {
        Ok(expression) => expression,
        Err(error) => {
            assert!((1..=text.chars().count() + 1).contains(&error.column), "{error:?}");
            return;
        }
    };
    let columns = expression.references().map(|reference| reference.column);
    assert!(columns.is_sorted() && expression.references().all(|one| one.column > 0));
    let value = evaluated(&expression);
    let printed = expression.to_string();
    // What is printed has more parentheses, of which only so many are taken, and other columns.
    if let Ok(again) = Expression::parse(&printed) {
        assert_eq!(again.to_string(), printed);
        assert_eq!(evaluated(&again), value, "{printed}");
    }
    let combined = |text: String| Expression::parse(&text).ok().map(|one| evaluated(&one));
    if let Some(negated) = combined(format!("not ({printed})")) {
        assert_eq!(negated, value.map(|is_so| !is_so), "not ({printed})");
    }
    for operator in ["and", "or"] {
        if let Some(doubled) = combined(format!("({printed}) {operator} ({printed})")) {
            assert_eq!(doubled, value, "({printed}) {operator} itself");
        }
    }
}

/// Its value where every figure follows from its name, some of them unknown, zero or very large.
fn evaluated(expression: &Expression) -> Option<bool> {
    expression.evaluate(&figure).ok()
}

fn figure(strategy: &str, metric: StrategyMetric) -> Option<Decimal> {
    let sum = strategy.bytes().chain(metric.name().bytes()).map(u64::from).sum::<u64>();
    match sum % 5 {
        0 => None,
        1 => Some(Decimal::ZERO),
        2 => Some(Decimal::MAX),
        3 => Some(-Decimal::from(sum)),
        _ => Some(Decimal::new(i64::try_from(sum).unwrap_or(1), 7)),
    }
}
