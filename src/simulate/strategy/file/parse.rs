//! Parser of strategy files, with the errors in them.
//!
//! Quotes of the file are shortened, and their control characters escaped.

use std::borrow::Cow;

use rustc_hash::FxHashSet;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::check::{Contradiction, check};
use super::sweep::{Choice, Combination};
use crate::base::toml_table::{self, place};
use crate::base::toml_text::{Fault, TomlError, parsed, quoted, refuse_unknown_keys, text};
use crate::simulate::strategy::design::Design;
use crate::simulate::strategy::{Strategy, StrategyKind, built_in};

/// Schema of a strategy file.
pub(crate) const SCHEMA: &str = "cachesim.strategy/v1";

/// Largest number of strategies in a file.
const MOST_STRATEGIES: u128 = 10_000;

/// Contents of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StrategyFile {
    /// Strategies in the order of the file; in a sweep the last key varies fastest.
    pub strategies: Vec<Strategy>,
    /// Contradictory combinations of sweeps.
    pub left_out: Vec<LeftOut>,
}

/// Contradictory combination of a sweep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// Name that the strategy would have.
    pub name: String,
    /// Reason for leaving it out.
    pub contradiction: Contradiction,
}

/// Parses a strategy file; `file` is its name in errors.
///
/// # Errors
/// Returns the first problem in the file, with its position.
pub fn parse_strategies(text: &str, file: &str) -> Result<StrategyFile, TomlError> {
    read(text).map_err(|fault| fault.in_file(file, text))
}

/// Strategy as written.
struct Sketch<'a> {
    /// Position of its name, in bytes.
    offset: usize,
    name: String,
    summary: String,
    /// Table of its design, with sweeps.
    keys: Spanned<DeValue<'a>>,
}

fn read(text: &str) -> Result<StrategyFile, Fault> {
    let document = parsed(text)?;
    let document = document.get_ref();
    check_schema(document)?;
    refuse_unknown_keys(document, &["schema", "strategy"], "a strategy file")?;
    let sketches = sketches(document)?;
    // Counted before they are made: a few long lists multiply to more than memory holds.
    let mut counts = sketches.iter().map(|sketch| Choice::all(&sketch.keys).count());
    let count = counts.try_fold(0, |sum: u128, count| Ok(sum.saturating_add(count?)))?;
    if count > MOST_STRATEGIES {
        let message = format!("the sweeps make {count} strategies; the most is {MOST_STRATEGIES}");
        return Err(Fault::at(0, message));
    }
    let mut made = StrategyFile { strategies: Vec::new(), left_out: Vec::new() };
    for sketch in &sketches {
        expand(sketch, &mut made)?;
    }
    Ok(made)
}

fn check_schema(document: &DeTable<'_>) -> Result<(), Fault> {
    let missing = || format!("`schema` is missing; begin with schema = \"{SCHEMA}\"");
    match text(document, "schema")?.ok_or_else(|| Fault::at(0, missing()))? {
        (SCHEMA, _) => Ok(()),
        (other, at) => {
            let other = quoted(other);
            Err(Fault::at(at, format!("the schema is `{other}`; this version reads `{SCHEMA}`")))
        }
    }
}

fn sketches<'a>(document: &DeTable<'a>) -> Result<Vec<Sketch<'a>>, Fault> {
    const EXPECTED: &str = "a list of tables, [[strategy]]";
    let mistyped = |value| Fault::mistyped("strategy", EXPECTED, value);
    let none = |offset| Fault::at(offset, "there is no [[strategy]]");
    let list = document.get("strategy").ok_or_else(|| none(0))?;
    let tables = list.get_ref().as_array().ok_or_else(|| mistyped(list))?;
    let mut names = FxHashSet::default();
    let mut sketches = Vec::with_capacity(tables.len());
    for element in tables {
        let table = element.get_ref().as_table().ok_or_else(|| mistyped(element))?;
        let sketch = sketch(table, element.span())?;
        if !names.insert(sketch.name.clone()) {
            let message = format!("two strategies are called `{}`", sketch.name);
            return Err(Fault::at(sketch.offset, message));
        }
        sketches.push(sketch);
    }
    if sketches.is_empty() {
        return Err(none(list.span().start));
    }
    Ok(sketches)
}

fn sketch<'a>(table: &DeTable<'a>, span: std::ops::Range<usize>) -> Result<Sketch<'a>, Fault> {
    let missing = || Fault::at(span.start, "the strategy has no `name`");
    let (name, offset) = text(table, "name")?.ok_or_else(missing)?;
    let summary = text(table, "summary")?.map_or("", |(summary, _)| summary);
    check_name(name).map_err(|message| Fault::at(offset, message))?;
    let (name, summary) = (name.to_owned(), summary.to_owned());
    let mut keys = table.clone();
    keys.remove("name");
    keys.remove("summary");
    Ok(Sketch { offset, name, summary, keys: Spanned::new(span, DeValue::Table(keys)) })
}

/// Refuses a name that options, outputs and expressions could not use without quotes, and that of another strategy.
fn check_name(name: &str) -> Result<(), String> {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._+-".contains(&byte);
    let is_plain = (1..=64).contains(&name.len())
        && name.bytes().all(is_allowed)
        && name.starts_with(|first: char| first.is_ascii_alphanumeric());
    if !is_plain {
        return Err(format!(
            "`{}` is no name: up to 64 letters, digits and . _ + -, the first a letter or digit",
            quoted(name)
        ));
    }
    if built_in::ALL.iter().any(|strategy| strategy.name == name) {
        return Err(format!("`{name}` is the name of a built-in strategy"));
    }
    Ok(())
}

/// Makes the strategies of a sketch.
fn expand(sketch: &Sketch<'_>, made: &mut StrategyFile) -> Result<(), Fault> {
    let already = made.strategies.len();
    let mut names = FxHashSet::default();
    let mut first_fault = None;
    for combination in Choice::all(&sketch.keys).combinations() {
        let name = combination.name(&sketch.name);
        if !names.insert(name.clone()) {
            return Err(Fault::at(sketch.offset, format!("the sweep makes `{name}` twice")));
        }
        match design(&combination)? {
            Ok(design) => made.strategies.push(Strategy {
                name: Cow::Owned(name),
                summary: Cow::Owned(sketch.summary.clone()),
                kind: StrategyKind::Counterfactual(design),
            }),
            Err((contradiction, offset)) => {
                let message = format!("`{name}`: {contradiction}");
                let offset = offset.unwrap_or(sketch.offset);
                first_fault.get_or_insert(Fault::at(offset, message));
                made.left_out.push(LeftOut { name, contradiction });
            }
        }
    }
    // A sweep may have contradictory combinations, as long as any strategy remains.
    match first_fault {
        Some(fault) if made.strategies.len() == already => Err(fault),
        _ => Ok(()),
    }
}

/// Contradiction, and the position of its key.
type Refused = (Contradiction, Option<usize>);

/// Design of a combination, unless it is contradictory.
fn design(combination: &Combination<'_>) -> Result<Result<Design, Refused>, Fault> {
    let offset = combination.value.span().start;
    let DeValue::Table(keys) = combination.value.get_ref() else {
        return Err(Fault::mistyped("strategy", "a table", &combination.value));
    };
    let design: Design = toml_table::read(keys, offset, "a strategy")?;
    let refused = |contradiction: Contradiction| (contradiction, place(keys, contradiction.key()));
    Ok(check(&design, keys).map_err(refused).map(|()| design))
}
