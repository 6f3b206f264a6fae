//! Reads a strategy file.

use std::borrow::Cow;

use rustc_hash::FxHashSet;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::{Contradiction, StrategyFileError, StrategyFileProblem as Problem};
use super::parameter::{self, PARAMETERS, Parameter};
use super::sweep::{Choice, Setting};
use super::value::Unreadable;
use crate::base::nearest::nearest;
use crate::base::toml_text::{entries, found, line_and_column, written};
use crate::simulate::strategy::built_in;
use crate::simulate::strategy::kind::{Strategy, StrategyKind};

/// The schema of a strategy file.
pub(super) const SCHEMA: &str = "cachesim.strategy/v1";

/// The most strategies a file may make.
pub(super) const MOST_STRATEGIES: u128 = 10_000;

/// The keys of a file.
const FILE_KEYS: [&str; 2] = ["schema", "strategy"];

/// The keys of a strategy that are no parameters.
const OWN_KEYS: [&str; 2] = ["name", "summary"];

/// What a file makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StrategyFile {
    /// In the order of the file; of a sweep, the last one running fastest.
    pub strategies: Vec<Strategy>,
    /// Combinations of sweeps that make no sense.
    pub left_out: Vec<LeftOut>,
}

/// A combination of a sweep that makes no sense.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The name it would have.
    pub name: String,
    /// Why.
    pub contradiction: Contradiction,
}

/// Reads a strategy file; `file` is its name in errors.
///
/// # Errors
/// The first thing in the file that cannot be used.
pub fn parse_strategies(text: &str, file: &str) -> Result<StrategyFile, StrategyFileError> {
    read(text).map_err(|Fault { offset, problem }| {
        let (line, column) = line_and_column(text, offset);
        StrategyFileError { file: file.to_owned(), line, column, problem }
    })
}

/// A problem and the byte where it is.
struct Fault {
    offset: usize,
    problem: Problem,
}

impl Fault {
    fn at(offset: usize, problem: Problem) -> Self {
        Self { offset, problem }
    }
}

/// A strategy as it was written.
struct Sketch {
    /// Where its name stands.
    offset: usize,
    name: String,
    summary: String,
    choice: Choice,
}

fn read(text: &str) -> Result<StrategyFile, Fault> {
    let document = DeTable::parse(text).map_err(|error| {
        let offset = error.span().map_or(0, |span| span.start);
        Fault::at(offset, Problem::Toml(error.message().to_owned()))
    })?;
    let document = document.get_ref();
    check_schema(document)?;
    for (key, _) in entries(document) {
        if !FILE_KEYS.contains(&key.get_ref().as_ref()) {
            return Err(unknown(key, key.get_ref(), FILE_KEYS));
        }
    }
    let sketches = sketches(document)?;
    let count = sketches.iter().map(|sketch| sketch.choice.count());
    let count = count.fold(0, u128::saturating_add);
    if count > MOST_STRATEGIES {
        return Err(Fault::at(0, Problem::TooManyStrategies(count)));
    }
    let mut made = StrategyFile { strategies: Vec::new(), left_out: Vec::new() };
    for sketch in &sketches {
        expand(sketch, &mut made)?;
    }
    Ok(made)
}

fn check_schema(document: &DeTable<'_>) -> Result<(), Fault> {
    let schema = document.get("schema").ok_or(Fault::at(0, Problem::NoSchema))?;
    match text_of("schema", schema)? {
        SCHEMA => Ok(()),
        other => Err(Fault::at(schema.span().start, Problem::OtherSchema(other.to_owned()))),
    }
}

fn sketches(document: &DeTable<'_>) -> Result<Vec<Sketch>, Fault> {
    let list = document.get("strategy").ok_or(Fault::at(0, Problem::NoStrategy))?;
    let expected = "a list of tables, [[strategy]]";
    let tables = list.get_ref().as_array().ok_or_else(|| mistyped("strategy", expected, list))?;
    let mut names = FxHashSet::default();
    let mut sketches = Vec::with_capacity(tables.len());
    for element in tables {
        let table = element.get_ref().as_table();
        let table = table.ok_or_else(|| mistyped("strategy", expected, element))?;
        let sketch = sketch(table, element.span().start)?;
        if !names.insert(sketch.name.clone()) {
            return Err(Fault::at(sketch.offset, Problem::DuplicateName(sketch.name)));
        }
        sketches.push(sketch);
    }
    if sketches.is_empty() {
        return Err(Fault::at(list.span().start, Problem::NoStrategy));
    }
    Ok(sketches)
}

fn sketch(table: &DeTable<'_>, offset: usize) -> Result<Sketch, Fault> {
    let name = table.get("name").ok_or(Fault::at(offset, Problem::NoName))?;
    let offset = name.span().start;
    let summary = table.get("summary").map_or(Ok(""), |summary| text_of("summary", summary))?;
    let name = text_of("name", name)?;
    if !is_name(name) {
        return Err(Fault::at(offset, Problem::Name(name.to_owned())));
    }
    if built_in::ALL.iter().any(|strategy| strategy.name == name) {
        return Err(Fault::at(offset, Problem::BuiltInName(name.to_owned())));
    }
    let choice = each("", table, false)?;
    Ok(Sketch { offset, name: name.to_owned(), summary: summary.to_owned(), choice })
}

/// One that options, outputs and expressions can have without quotes.
fn is_name(text: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._+-".contains(&byte);
    (1..=64).contains(&text.len())
        && text.bytes().all(is_allowed)
        && text.starts_with(|first: char| first.is_ascii_alphanumeric())
}

/// What a table can be; `path` is its key, empty for the strategy itself.
fn each(path: &str, table: &DeTable<'_>, is_swept: bool) -> Result<Choice, Fault> {
    let is_own = |key: &str| path.is_empty() && OWN_KEYS.contains(&key);
    let choices = entries(table).into_iter().filter(|(key, _)| !is_own(key.get_ref()));
    let choices = choices.map(|(key, value)| {
        let name = key.get_ref();
        let path = if path.is_empty() { name.to_string() } else { format!("{path}.{name}") };
        let (parameter, group) = (parameter::find(&path), parameter::group(&path));
        match (parameter, group, value.get_ref()) {
            (_, Some(group), DeValue::Table(table)) => each(group, table, is_swept),
            (Some(parameter), group, _) => any(parameter, group, value, is_swept),
            (None, Some(group), _) => Err(mistyped(group, "a table", value)),
            (None, None, _) => {
                let keys = PARAMETERS.iter().map(|parameter| parameter.key);
                let tables = PARAMETERS.iter().flat_map(|parameter| tables_of(parameter.key));
                Err(unknown(key, &path, keys.chain(tables).chain(OWN_KEYS)))
            }
        }
    });
    Ok(Choice::Each(choices.collect::<Result<_, _>>()?))
}

/// The tables that a key stands in.
fn tables_of(key: &'static str) -> impl Iterator<Item = &'static str> {
    key.match_indices('.').map(|(end, _)| &key[..end])
}

/// What a value can be: one of several where it is a list, or a list of lists.
fn any(
    parameter: &'static Parameter,
    group: Option<&'static str>,
    value: &Spanned<DeValue<'_>>,
    is_swept: bool,
) -> Result<Choice, Fault> {
    let is_list = |value: &Spanned<DeValue<'_>>| value.get_ref().is_array();
    let Some(values) = value.get_ref().as_array() else {
        return one(parameter, value, is_swept);
    };
    if parameter.is_list && !values.first().is_some_and(is_list) {
        return one(parameter, value, is_swept);
    }
    if values.is_empty() {
        return Err(Fault::at(value.span().start, Problem::EmptySweep(parameter.key)));
    }
    let choices = values.iter().map(|value| match (group, value.get_ref()) {
        (Some(group), DeValue::Table(table)) => each(group, table, true),
        _ => one(parameter, value, true),
    });
    Ok(Choice::Any(choices.collect::<Result<_, _>>()?))
}

fn one(
    parameter: &'static Parameter,
    value: &Spanned<DeValue<'_>>,
    is_swept: bool,
) -> Result<Choice, Fault> {
    let key = parameter.key;
    let offset = value.span().start;
    let change = (parameter.read)(value.get_ref()).map_err(|unreadable| match unreadable {
        Unreadable::Other => mistyped(key, parameter.expected, value),
        Unreadable::Refused(contradiction) => {
            Fault::at(offset, Problem::Contradiction { strategy: key.to_owned(), contradiction })
        }
    })?;
    let swept = is_swept.then(|| written(value.get_ref()));
    Ok(Choice::One(Setting { key, offset, swept, change }))
}

/// Makes the strategies of a sketch.
fn expand(sketch: &Sketch, made: &mut StrategyFile) -> Result<(), Fault> {
    let already = made.strategies.len();
    let mut names = FxHashSet::default();
    let mut first_fault = None;
    for combination in sketch.choice.combinations() {
        let name = combination.name(&sketch.name);
        if !names.insert(name.clone()) {
            return Err(Fault::at(sketch.offset, Problem::DuplicateCombination(name)));
        }
        match combination.design() {
            Ok(design) => made.strategies.push(Strategy {
                name: Cow::Owned(name),
                summary: Cow::Owned(sketch.summary.clone()),
                kind: StrategyKind::Counterfactual(design),
            }),
            Err(contradiction) => {
                let offset = combination.offset(contradiction.key()).unwrap_or(sketch.offset);
                let problem = Problem::Contradiction { strategy: name.clone(), contradiction };
                first_fault.get_or_insert(Fault::at(offset, problem));
                made.left_out.push(LeftOut { name, contradiction });
            }
        }
    }
    match first_fault {
        Some(fault) if made.strategies.len() == already => Err(fault),
        _ => Ok(()),
    }
}

fn text_of<'a>(key: &'static str, value: &'a Spanned<DeValue<'_>>) -> Result<&'a str, Fault> {
    value.get_ref().as_str().ok_or_else(|| mistyped(key, "a text", value))
}

fn mistyped(key: &'static str, expected: &'static str, value: &Spanned<DeValue<'_>>) -> Fault {
    let found = found(value.get_ref());
    Fault::at(value.span().start, Problem::Type { key, expected, found })
}

fn unknown(
    key: &Spanned<Cow<'_, str>>,
    path: &str,
    known: impl IntoIterator<Item = &'static str>,
) -> Fault {
    let problem = Problem::UnknownKey { key: path.to_owned(), nearest: nearest(path, known) };
    Fault::at(key.span().start, problem)
}
