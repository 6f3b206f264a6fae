//! Parser of strategy files, with the errors in them.
//!
//! Quotes of the file are shortened, and their control characters escaped.

use std::borrow::Cow;

use jiff::SignedDuration;
use rustc_hash::FxHashSet;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::draft::{Choice, Setting};
use super::parameter;
use super::parameter::{PARAMETERS, Parameter};
use super::value::Unreadable;
use crate::base::toml_text::{entries, found, line_and_column, quoted, written};
use crate::base::ttl::Ttl;
use crate::base::wording::{nearest, suggestion};
use crate::simulate::cache::Refusal;
use crate::simulate::strategy::design::MOST_MARKERS;
use crate::simulate::strategy::{Strategy, StrategyKind, built_in};

/// Schema of a strategy file.
pub(super) const SCHEMA: &str = "cachesim.strategy/v1";

/// Largest number of strategies in a file.
pub(super) const MOST_STRATEGIES: u128 = 10_000;

/// Keys of a file.
const FILE_KEYS: [&str; 2] = ["schema", "strategy"];

/// Keys of a strategy that are not parameters.
const OWN_KEYS: [&str; 2] = ["name", "summary"];

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
pub fn parse_strategies(text: &str, file: &str) -> Result<StrategyFile, StrategyFileError> {
    read(text).map_err(|Fault { offset, problem }| {
        let (line, column) = line_and_column(text, offset);
        StrategyFileError { file: file.to_owned(), line, column, problem }
    })
}

/// Problem, and its position in bytes.
struct Fault {
    offset: usize,
    problem: StrategyFileProblem,
}

impl Fault {
    fn at(offset: usize, problem: StrategyFileProblem) -> Self {
        Self { offset, problem }
    }
}

/// Strategy as written.
struct Sketch {
    /// Position of its name, in bytes.
    offset: usize,
    name: String,
    summary: String,
    choice: Choice,
}

fn read(text: &str) -> Result<StrategyFile, Fault> {
    let document = DeTable::parse(text).map_err(|error| {
        let offset = error.span().map_or(0, |span| span.start);
        Fault::at(offset, StrategyFileProblem::Toml(error.message().to_owned()))
    })?;
    let document = document.get_ref();
    check_schema(document)?;
    for (key, _) in entries(document) {
        if !FILE_KEYS.contains(&key.get_ref().as_ref()) {
            return Err(unknown(key, key.get_ref(), FILE_KEYS));
        }
    }
    let sketches = sketches(document)?;
    // Counted before they are made: a few long lists multiply to more than memory holds.
    let count = sketches.iter().map(|sketch| sketch.choice.count());
    let count = count.fold(0, u128::saturating_add);
    if count > MOST_STRATEGIES {
        return Err(Fault::at(0, StrategyFileProblem::TooManyStrategies(count)));
    }
    let mut made = StrategyFile { strategies: Vec::new(), left_out: Vec::new() };
    for sketch in &sketches {
        expand(sketch, &mut made)?;
    }
    Ok(made)
}

fn check_schema(document: &DeTable<'_>) -> Result<(), Fault> {
    let schema = document.get("schema").ok_or(Fault::at(0, StrategyFileProblem::NoSchema))?;
    match text_of("schema", schema)? {
        SCHEMA => Ok(()),
        other => {
            Err(Fault::at(schema.span().start, StrategyFileProblem::OtherSchema(other.to_owned())))
        }
    }
}

fn sketches(document: &DeTable<'_>) -> Result<Vec<Sketch>, Fault> {
    let list = document.get("strategy").ok_or(Fault::at(0, StrategyFileProblem::NoStrategy))?;
    let expected = "a list of tables, [[strategy]]";
    let tables = list.get_ref().as_array().ok_or_else(|| mistyped("strategy", expected, list))?;
    let mut names = FxHashSet::default();
    let mut sketches = Vec::with_capacity(tables.len());
    for element in tables {
        let table = element.get_ref().as_table();
        let table = table.ok_or_else(|| mistyped("strategy", expected, element))?;
        let sketch = sketch(table, element.span().start)?;
        if !names.insert(sketch.name.clone()) {
            return Err(Fault::at(sketch.offset, StrategyFileProblem::DuplicateName(sketch.name)));
        }
        sketches.push(sketch);
    }
    if sketches.is_empty() {
        return Err(Fault::at(list.span().start, StrategyFileProblem::NoStrategy));
    }
    Ok(sketches)
}

fn sketch(table: &DeTable<'_>, offset: usize) -> Result<Sketch, Fault> {
    let name = table.get("name").ok_or(Fault::at(offset, StrategyFileProblem::NoName))?;
    let offset = name.span().start;
    let summary = table.get("summary").map_or(Ok(""), |summary| text_of("summary", summary))?;
    let name = text_of("name", name)?;
    if !is_name(name) {
        return Err(Fault::at(offset, StrategyFileProblem::Name(name.to_owned())));
    }
    if built_in::ALL.iter().any(|strategy| strategy.name == name) {
        return Err(Fault::at(offset, StrategyFileProblem::BuiltInName(name.to_owned())));
    }
    let choice = each("", table, false)?;
    Ok(Sketch { offset, name: name.to_owned(), summary: summary.to_owned(), choice })
}

/// Returns true if options, outputs and expressions can use the name without quotes.
fn is_name(text: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._+-".contains(&byte);
    (1..=64).contains(&text.len())
        && text.bytes().all(is_allowed)
        && text.starts_with(|first: char| first.is_ascii_alphanumeric())
}

/// Choices in a table; `path` is its key, empty for the strategy itself.
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

/// Tables around a key.
fn tables_of(key: &'static str) -> impl Iterator<Item = &'static str> {
    key.match_indices('.').map(|(end, _)| &key[..end])
}

/// Choices in a value: one of several if it is a list, or a list of lists.
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
        return Err(Fault::at(value.span().start, StrategyFileProblem::EmptySweep(parameter.key)));
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
        Unreadable::Refused(contradiction) => Fault::at(
            offset,
            StrategyFileProblem::Contradiction { strategy: key.to_owned(), contradiction },
        ),
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
            return Err(Fault::at(sketch.offset, StrategyFileProblem::DuplicateCombination(name)));
        }
        match combination.design() {
            Ok(design) => made.strategies.push(Strategy {
                name: Cow::Owned(name),
                summary: Cow::Owned(sketch.summary.clone()),
                kind: StrategyKind::Counterfactual(design),
            }),
            Err(contradiction) => {
                let offset = combination.offset(contradiction.key()).unwrap_or(sketch.offset);
                let problem =
                    StrategyFileProblem::Contradiction { strategy: name.clone(), contradiction };
                first_fault.get_or_insert(Fault::at(offset, problem));
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

fn text_of<'a>(key: &'static str, value: &'a Spanned<DeValue<'_>>) -> Result<&'a str, Fault> {
    value.get_ref().as_str().ok_or_else(|| mistyped(key, "a text", value))
}

fn mistyped(key: &'static str, expected: &'static str, value: &Spanned<DeValue<'_>>) -> Fault {
    let found = found(value.get_ref());
    Fault::at(value.span().start, StrategyFileProblem::Type { key, expected, found })
}

fn unknown(
    key: &Spanned<Cow<'_, str>>,
    path: &str,
    known: impl IntoIterator<Item = &'static str>,
) -> Fault {
    let problem =
        StrategyFileProblem::UnknownKey { key: path.to_owned(), nearest: nearest(path, known) };
    Fault::at(key.span().start, problem)
}

/// Problem in a strategy file, with its position.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}:{column}: {problem}")]
pub struct StrategyFileError {
    /// Name of the file.
    pub file: String,
    /// Line, counted from 1.
    pub line: usize,
    /// Column in characters, counted from 1.
    pub column: usize,
    /// Problem at this position.
    pub problem: StrategyFileProblem,
}

/// Problem in a strategy file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StrategyFileProblem {
    /// The text is not TOML.
    #[error("{0}")]
    Toml(String),
    /// The file does not name its schema.
    #[error("`schema` is missing; begin with schema = \"{SCHEMA}\"")]
    NoSchema,
    /// The file has another schema or version.
    #[error("the schema is `{}`; this version reads `{SCHEMA}`", quoted(.0))]
    OtherSchema(String),
    /// The file is empty.
    #[error("there is no [[strategy]]")]
    NoStrategy,
    /// An unknown key.
    #[error("`{}` is no key{}", quoted(key), suggestion(nearest))]
    UnknownKey {
        /// Key with those of the tables around it.
        key: String,
        /// Known keys that are similar.
        nearest: Vec<&'static str>,
    },
    /// A value of another type, or out of range.
    #[error("`{key}` is {expected}, not {found}")]
    Type {
        /// Name of the key.
        key: &'static str,
        /// Kind of value that it takes.
        expected: &'static str,
        /// Kind of value in the file.
        found: String,
    },
    /// An empty sweep.
    #[error("`{0}` is a sweep without values")]
    EmptySweep(&'static str),
    /// A strategy without a name.
    #[error("the strategy has no `name`")]
    NoName,
    /// A name that options and outputs cannot use.
    #[error(
        "`{}` is no name: up to 64 letters, digits and . _ + -, the first a letter or digit",
        quoted(.0)
    )]
    Name(String),
    /// A name that another strategy of the file has.
    #[error("two strategies are called `{0}`")]
    DuplicateName(String),
    /// The name of a built-in strategy.
    #[error("`{0}` is the name of a built-in strategy")]
    BuiltInName(String),
    /// Two equal combinations of a sweep.
    #[error("the sweep makes `{0}` twice")]
    DuplicateCombination(String),
    /// More strategies than anyone would compare.
    #[error("the sweeps make {0} strategies; the most is {MOST_STRATEGIES}")]
    TooManyStrategies(u128),
    /// Keys that exclude each other, or that the service would refuse.
    #[error("`{strategy}`: {contradiction}")]
    Contradiction {
        /// Name of the strategy, with its swept values.
        strategy: String,
        /// Contradiction in its design.
        contradiction: Contradiction,
    },
}

/// Reason for which a design is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Contradiction {
    /// Two keys that set the same value.
    #[error("`{0}` says again what another key has said")]
    SetTwice(&'static str),
    /// Some TTLs are set, and others are not.
    #[error("`ttl` does not say all of main and agents, or of system and messages")]
    TtlOpen,
    /// A five-minute marker before a one-hour marker.
    #[error(
        "the service refuses an hour on messages after five minutes on the system prompt ({})",
        Refusal::TtlOrder.name()
    )]
    TtlOrder,
    /// More than four markers.
    #[error(
        "the service refuses {count} markers, the most is {MOST_MARKERS} ({})",
        Refusal::TooManyBreakpoints.name()
    )]
    TooManyMarkers {
        /// Number of markers.
        count: u64,
    },
    /// A key about cached prefixes in a design without markers.
    #[error("`{0}` has nothing to act on, since `markers` is \"none\"")]
    NothingCached(&'static str),
    /// Two methods of managing the context.
    #[error("a conversation is kept small in one way; `context` names several")]
    SeveralManagements,
    /// A determinant of a threshold that is given itself.
    #[error("`{0}` has nothing to act on, since `threshold` is given")]
    ThresholdGiven(&'static str),
    /// A window without room for a conversation.
    #[error(
        "a window of {window} tokens has no room left beside `reserve` and `buffer`; give a larger \
         `window`, or smaller ones of these"
    )]
    NothingFits {
        /// Size of the window in tokens.
        window: u64,
    },
    /// A size for deferred tools in a design that defers none.
    #[error("`{0}` needs `prompt.deferred_tools`")]
    NothingDeferred(&'static str),
    /// A key about pings without the interval.
    #[error("`{0}` needs `keepalive.every`")]
    NoInterval(&'static str),
    /// Pings without a limit.
    #[error("`keepalive.every` needs `keepalive.limit`: how long a conversation may be idle")]
    NoLimit,
    /// Pings that end before the first one.
    #[error("`keepalive.limit` is below `keepalive.every`: there would be no ping")]
    LimitBelowInterval,
    /// Pings that come after the entry has expired.
    #[error(
        "each ping would be a full write: `keepalive.every` is {:#}, and entries live for {}",
        SignedDuration::from_millis(*every), ttl.name()
    )]
    IntervalBeyondTtl {
        /// Interval, in milliseconds.
        every: i64,
        /// TTL of the prefix that is pinged, or the longest one if it is as recorded.
        ttl: Ttl,
    },
    /// Too many pings.
    #[error("{0} pings while a conversation is idle; the most is {MOST_PINGS}")]
    TooManyPings(i64),
}

/// Largest number of pings of an idle conversation: about one a minute for a week.
pub(super) const MOST_PINGS: i64 = 10_080;

impl Contradiction {
    /// Key to which the error points, if it is given.
    pub(super) fn key(self) -> &'static str {
        match self {
            Self::SetTwice(key)
            | Self::NothingCached(key)
            | Self::ThresholdGiven(key)
            | Self::NothingDeferred(key)
            | Self::NoInterval(key) => key,
            Self::TtlOpen | Self::TtlOrder => "ttl",
            Self::SeveralManagements | Self::NothingFits { .. } => "context",
            Self::TooManyMarkers { .. } => "markers",
            Self::NoLimit | Self::IntervalBeyondTtl { .. } => "keepalive.every",
            Self::LimitBelowInterval | Self::TooManyPings(_) => "keepalive.limit",
        }
    }
}
