//! Expressions as scripts write them, and as nobody should.

use proptest::prelude::*;
use rust_decimal::Decimal;

use super::{Arithmetic, Comparator, Condition, Expression, Operand, Reference, StrategyMetric};

fn parsed(text: &str) -> Expression {
    Expression::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn refusal(text: &str) -> String {
    Expression::parse(text).expect_err(text).to_string()
}

fn printed(text: &str) -> String {
    parsed(text).to_string()
}

/// `a` costs 2, `b` 3 and `free` nothing. Half of what `a` sends is read.
fn value(strategy: &str, metric: StrategyMetric) -> Option<Decimal> {
    match (strategy, metric) {
        ("a", StrategyMetric::Cost) => Some(Decimal::from(2)),
        ("b", StrategyMetric::Cost) => Some(Decimal::from(3)),
        ("free", StrategyMetric::Cost) => Some(Decimal::ZERO),
        ("a", StrategyMetric::HitRate) => Some(Decimal::new(5, 1)),
        ("huge", StrategyMetric::Cost) => Some(Decimal::MAX),
        _ => None,
    }
}

fn holds(text: &str) -> bool {
    parsed(text).evaluate(&value).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn failure(text: &str) -> String {
    parsed(text).evaluate(&value).expect_err(text).to_string()
}

#[test]
fn operators_bind_as_the_table_says() {
    for (text, expected) in [
        (
            "a.cost < 1 or b.cost < 2 and c.cost < 3",
            "((a.cost < 1) or ((b.cost < 2) and (c.cost < 3)))",
        ),
        ("not a.cost < 1 and b.cost < 2", "((not (a.cost < 1)) and (b.cost < 2))"),
        ("not (a.cost < 1 and b.cost < 2)", "(not ((a.cost < 1) and (b.cost < 2)))"),
        ("not not a.cost < 1", "(not (not (a.cost < 1)))"),
        ("1 - 2 - 3 == 1 - (2 - 3)", "(((1 - 2) - 3) == (1 - (2 - 3)))"),
        ("1 + 2 * 3 / 4 != -5 * 6", "((1 + ((2 * 3) / 4)) != ((-5) * 6))"),
        ("a.cost<=1 or(b.cost>=2)", "((a.cost <= 1) or (b.cost >= 2))"),
        ("$1.50 > 25%", "(1.50 > 0.25)"),
        ("a.cost > 1.05%", "(a.cost > 0.0105)"),
    ] {
        assert_eq!(printed(text), expected, "{text}");
    }
}

#[test]
fn names_of_strategies_are_one_word() {
    for (text, strategy) in [
        ("5m.cost > 0", "5m"),
        ("a-b.cost > 0", "a-b"),
        ("v1.2+x_y.cost_usd > 0", "v1.2+x_y"),
        ("p[ttl=5m,keepalive.every=4m30s].cost > 0", "p[ttl=5m,keepalive.every=4m30s]"),
        ("\"name with [x=1]\".cost > 0", "name with [x=1]"),
        ("\"ü\".cost > 0", "ü"),
        ("or.cost > 0", "or"),
    ] {
        let expression = parsed(text);
        let references: Vec<&Reference> = expression.references().collect();
        let expected =
            Reference { strategy: strategy.to_owned(), metric: StrategyMetric::Cost, column: 1 };
        assert_eq!(references, [&expected], "{text}");
        assert_eq!(printed(&expression.to_string()), expression.to_string());
    }
}

#[test]
fn references_come_in_the_order_of_the_text_with_their_columns() {
    let expression = parsed("5m.hit_rate < 0.9 or \"é\".cost - x.requests > 1.50");
    let references: Vec<(&str, StrategyMetric, usize)> = expression
        .references()
        .map(|reference| (reference.strategy.as_str(), reference.metric, reference.column))
        .collect();
    let expected = [
        ("5m", StrategyMetric::HitRate, 1),
        ("é", StrategyMetric::Cost, 22),
        ("x", StrategyMetric::Requests, 33),
    ];
    assert_eq!(references, expected);
}

#[test]
fn conditions_hold_exactly() {
    assert!(holds("a.cost * 1.05 == 2.1"));
    assert!(holds("0.1 + 0.2 == 0.3"));
    assert!(holds("b.cost - a.cost == $1 and a.hit_rate == 50%"));
    assert!(holds("b.cost / a.cost == 150%"));
    assert!(holds("-a.cost < 0 and -(a.cost - b.cost) == 1"));
    assert!(!holds("a.cost > b.cost or not a.cost != 2.00 and b.cost < 3"));
    assert!(holds("a.cost <= 2 and a.cost >= 2 and not (a.cost < 2 or a.cost > 2)"));
}

#[test]
fn what_is_not_known_is_an_error_where_it_matters() {
    assert_eq!(failure("a.cost > 0 and dear.cost > 1"), "column 16: `dear.cost` is unknown");
    assert_eq!(failure("not (\"no price\".cost > 1)"), "column 6: `\"no price\".cost` is unknown");
    assert_eq!(failure("a.gap - a.gap == 0"), "column 1: `a.gap` is unknown");
    assert!(!holds("a.cost < 0 and dear.cost > 1"), "whatever it is, this does not hold");
    assert!(holds("a.cost > 0 or dear.cost > 1"));
}

#[test]
fn arithmetic_fails_with_its_place() {
    assert_eq!(failure("a.cost / free.cost > 1"), "column 8: division by zero");
    assert!(!holds("free.cost > 0 and a.cost / free.cost > 1"));
    assert_eq!(failure("huge.cost * 2 > 1"), "column 11: the result is too large");
    assert_eq!(failure("-huge.cost - huge.cost > 1"), "column 12: the result is too large");
    assert_eq!(failure("huge.cost / 0.1 > 1"), "column 11: the result is too large");
}

#[test]
fn mistakes_are_named_with_their_column() {
    for (text, expected) in [
        ("", "column 1: expected a value, found the end"),
        ("a.cost >", "column 9: expected a value, found the end"),
        ("a.cost", "column 1: expected a condition, found a number"),
        ("(a.cost) and 1 < 2", "column 1: expected a condition, found a number"),
        ("not 1", "column 5: expected a condition, found a number"),
        ("1 < 2 < 3", "column 1: expected a number, found a condition"),
        ("1 + (2 < 3) > 1", "column 5: expected a number, found a condition"),
        ("-(1 < 2)", "column 2: expected a number, found a condition"),
        ("1 < 2 3", "column 7: expected an operator, found a number"),
        ("1 < 2)", "column 6: expected an operator, found `)`"),
        ("(1 < 2", "column 1: there is no `)` to this"),
        ("(1 < 2 3)", "column 8: expected `)`, found a number"),
        ("1 < and", "column 5: expected a value, found `and`"),
        ("a.cost = 1", "column 8: `=` means nothing here"),
        ("é.cost > 1", "column 1: `é` means nothing here"),
        ("1 > 2 \u{1b}", "column 7: `\\u{1b}` means nothing here"),
        (
            "cost > 1",
            "column 1: `cost` is no number and no STRATEGY.METRIC; metrics are cost, read, written, input, output, hit_rate, requests, added_requests, gap, as in `1h.cost`",
        ),
        (
            "1 < 3-2",
            "column 5: `3-2` is no number and no STRATEGY.METRIC; put spaces around + and -; metrics are cost, read, written, input, output, hit_rate, requests, added_requests, gap, as in `1h.cost`",
        ),
        (
            "1.2.3 > 1",
            "column 5: `3` is no metric (did you mean `cost`, `cost_usd` or `per_request`?)",
        ),
        (
            "a.cots > 1",
            "column 3: `cots` is no metric (did you mean `cost`, `cost_usd` or `cache_read_input_tokens`?)",
        ),
        (
            "a.cost-1 > 1",
            "column 3: `cost-1` is no metric (did you mean `cost`, `cost_usd` or `output`?); put spaces around + and -",
        ),
        (
            "\"é\".hitrate > 1",
            "column 5: `hitrate` is no metric (did you mean `hit_rate`, `input` or `written`?)",
        ),
        ("\"a.cost > 1", "column 1: there is no `\"` to this"),
        ("\"a\" > 1", "column 4: expected `.` and a metric, found something else"),
        ("x[ttl=5m.cost > 1", "column 2: there is no `]` to this"),
        (
            "a.cost > $x",
            "column 11: `x` is no number and no STRATEGY.METRIC; metrics are cost, read, written, input, output, hit_rate, requests, added_requests, gap, as in `1h.cost`",
        ),
        (
            "a.cost > 0.12345678901234567890123456789",
            "column 10: `0.12345678901234567890123456789` has more than 28 digits",
        ),
    ] {
        assert_eq!(refusal(text), expected, "{text}");
    }
}

#[test]
fn no_depth_exhausts_the_stack() {
    let many = 100_000;
    let too_deep = "more than 256 operations in each other";
    for text in [
        "(".repeat(many),
        "-".repeat(many),
        "not ".repeat(many),
        format!("{}1 > 0", "1 + ".repeat(many)),
        format!("{}1 > 0", "1 > 0 or ".repeat(many)),
        format!("{}1{} > 0", "(".repeat(many), ")".repeat(many)),
    ] {
        assert!(refusal(&text).ends_with(too_deep), "{}", &text[..12]);
    }
    assert!(holds(&format!("{}1 > 0", "1 + ".repeat(250))));
    assert!(holds(&format!("{}1 > 0{}", "(".repeat(500), ")".repeat(500))));
}

fn quantity() -> impl Strategy<Value = Operand> {
    let number = (0_i64..10_000_000, 0_u32..9);
    let number = number.prop_map(|(digits, scale)| Operand::Number(Decimal::new(digits, scale)));
    let metric = prop::sample::select(&StrategyMetric::ALL);
    let name = prop_oneof!["[a-z0-9][a-z0-9._+-]{0,4}(\\[ttl=5m,x\\.y=1\\])?", "[^\"]{0,5}"];
    let reference = (name, metric).prop_map(|(strategy, metric)| {
        Operand::Reference(Reference { strategy, metric, column: 0 })
    });
    let operator = prop::sample::select(vec![
        Arithmetic::Plus,
        Arithmetic::Minus,
        Arithmetic::Times,
        Arithmetic::DividedBy,
    ]);
    prop_oneof![number, reference].prop_recursive(5, 20, 2, move |inner| {
        prop_oneof![
            inner.clone().prop_map(|inner| Operand::Negative(Box::new(inner))),
            (operator.clone(), inner.clone(), inner).prop_map(|(operator, left, right)| {
                Operand::Arithmetic(operator, 0, Box::new([left, right]))
            }),
        ]
    })
}

fn condition() -> impl Strategy<Value = Condition> {
    let comparison = prop::sample::select(vec![
        Comparator::Below,
        Comparator::AtMost,
        Comparator::Above,
        Comparator::AtLeast,
        Comparator::Equal,
        Comparator::Unequal,
    ]);
    let compare = (comparison, quantity(), quantity())
        .prop_map(|(own, left, right)| Condition::Compare(own, Box::new([left, right])));
    compare.prop_recursive(5, 20, 2, |inner| {
        let sides =
            (inner.clone(), inner.clone()).prop_map(|(left, right)| Box::new([left, right]));
        prop_oneof![
            inner.prop_map(|inner| Condition::Not(Box::new(inner))),
            sides.clone().prop_map(Condition::And),
            sides.prop_map(Condition::Or),
        ]
    })
}

/// The tree without columns, which printing changes.
fn condition_in_no_place(condition: &Condition) -> Condition {
    let both = |sides: &[Condition; 2]| Box::new(sides.each_ref().map(condition_in_no_place));
    match condition {
        Condition::Or(sides) => Condition::Or(both(sides)),
        Condition::And(sides) => Condition::And(both(sides)),
        Condition::Not(inner) => Condition::Not(Box::new(condition_in_no_place(inner))),
        Condition::Compare(own, sides) => {
            Condition::Compare(*own, Box::new(sides.each_ref().map(quantity_in_no_place)))
        }
    }
}

fn quantity_in_no_place(quantity: &Operand) -> Operand {
    match quantity {
        Operand::Number(number) => Operand::Number(*number),
        Operand::Reference(own) => Operand::Reference(Reference { column: 0, ..own.clone() }),
        Operand::Negative(inner) => Operand::Negative(Box::new(quantity_in_no_place(inner))),
        Operand::Arithmetic(own, _, sides) => {
            Operand::Arithmetic(*own, 0, Box::new(sides.each_ref().map(quantity_in_no_place)))
        }
    }
}

proptest! {
    #[test]
    fn what_is_printed_is_read_as_the_same(condition in condition()) {
        let text = Expression(condition.clone()).to_string();
        let read = Expression::parse(&text).map_err(|error| TestCaseError::fail(format!("{text}: {error}")))?;
        prop_assert_eq!(condition_in_no_place(&read.0), condition);
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,40}") {
        drop(Expression::parse(&text).map(|expression| expression.evaluate(&value)));
    }

    #[test]
    fn no_words_panic(words in prop::collection::vec("(a\\.cost|1|25%|\\$|\"|\\[|\\]|and|or|not|<|>=|[-+*/()]| |é|\u{1b})", 0..30)) {
        let text = words.concat();
        match Expression::parse(&text) {
            Ok(expression) => drop(expression.evaluate(&value)),
            Err(error) => prop_assert!(!error.to_string().chars().any(char::is_control)),
        }
    }
}

#[test]
fn every_metric_is_found_by_its_names() {
    for metric in StrategyMetric::ALL {
        assert_eq!(metric.names().map(StrategyMetric::by_any_name), [Some(metric); 2]);
    }
    assert_eq!(StrategyMetric::by_any_name("Cost"), None);
}
