//! The formats that commands write in, and how one of them is asked for.

use std::ffi::OsStr;
use std::fmt::Debug;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Arg, Args, Command, Error};

/// A format of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum OutputFormat<O> {
    /// Its document, for a terminal.
    Text,
    /// The same document, for a comment or a page.
    Markdown,
    /// One of those that are not made of the document.
    Own(O),
}

impl<O> OutputFormat<O> {
    /// Whether it shows the document.
    pub(in crate::cli) fn is_document(&self) -> bool {
        matches!(self, Self::Text | Self::Markdown)
    }
}

/// A value of an option, and how it is asked for.
pub(in crate::cli) struct Choice<T> {
    pub(super) name: &'static str,
    help: &'static str,
    value: T,
}

impl<T> Choice<T> {
    pub(super) const fn new(name: &'static str, help: &'static str, value: T) -> Self {
        Self { name, help, value }
    }
}

/// A format, and how it is asked for.
type FormatChoice<O> = Choice<OutputFormat<O>>;

impl<O> FormatChoice<O> {
    const TABLE: Self = Self::new("table", "Tables for a terminal", OutputFormat::Text);
    const MARKDOWN: Self =
        Self::new("markdown", "Tables for a comment or a page", OutputFormat::Markdown);

    const fn own(name: &'static str, help: &'static str, own: O) -> Self {
        Self::new(name, help, OutputFormat::Own(own))
    }
}

/// The formats of a command.
pub(in crate::cli) trait Formats: 'static {
    /// Those that are not made of its document.
    type Own: Copy + Debug + Send + Sync + 'static;
    /// All, in the order of its help. The first is the default, and one is called `json`.
    const ALL: &'static [FormatChoice<Self::Own>];
}

/// The format of that name.
pub(in crate::cli) fn format_by_name<F: Formats>(name: &str) -> Option<OutputFormat<F::Own>> {
    F::ALL.iter().find(|choice| choice.name == name).map(|choice| choice.value)
}

/// The names of the formats.
pub(in crate::cli) fn format_names<F: Formats>() -> Vec<&'static str> {
    F::ALL.iter().map(|choice| choice.name).collect()
}

/// `--format`, and `--json` for short.
#[derive(Debug, Args)]
pub(in crate::cli) struct FormatArgs<F: Formats> {
    /// The output format
    #[arg(
        id = "format",
        long,
        value_name = "FORMAT",
        value_parser = Choices(F::ALL),
        default_value = F::ALL[0].name,
        default_value_if("json", "true", "json")
    )]
    pub(in crate::cli) chosen: OutputFormat<F::Own>,
    /// Short for --format json
    #[arg(id = "json", long = "json", conflicts_with = "format")]
    _is_json: bool,
}

/// Takes the names of values.
pub(super) struct Choices<T: 'static>(pub(super) &'static [Choice<T>]);

impl<T> Clone for Choices<T> {
    fn clone(&self) -> Self {
        Self(self.0)
    }
}

impl<T> Choices<T> {
    fn values(&self) -> impl Iterator<Item = PossibleValue> {
        self.0.iter().map(|choice| PossibleValue::new(choice.name).help(choice.help))
    }
}

impl<T: Copy + Send + Sync + 'static> TypedValueParser for Choices<T> {
    type Value = T;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<Self::Value, Error> {
        // What is no text is the name of no value either.
        let text = value.to_string_lossy().into_owned();
        let name = PossibleValuesParser::new(self.values()).parse(command, arg, text.into())?;
        let choice = self.0.iter().find(|choice| choice.name == name);
        choice.map(|choice| choice.value).ok_or_else(|| Error::new(ErrorKind::InvalidValue))
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.values()))
    }
}

/// The format of what has one for programs.
#[derive(Clone, Copy, Debug)]
pub(in crate::cli) struct Json;

/// The formats of what has rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum RowFormat {
    /// Sums, as one document.
    Json,
    /// A document for each row.
    Jsonl,
    /// A line for each row.
    Csv,
    /// Rows by their columns.
    Parquet,
}

/// The formats of strategies side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum StrategyFormat {
    /// All as one document.
    Json,
    /// A document for each strategy.
    Jsonl,
    /// A line for each strategy.
    Csv,
}

/// The formats of findings.
#[derive(Clone, Copy, Debug)]
pub(in crate::cli) enum FindingFormat {
    /// With all that the program knows.
    Json,
    /// As code hosts take them.
    Sarif,
}

/// The formats of `check`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum CheckFormat {
    /// A comment of a pull request.
    Comment,
    /// The summary of a job.
    Summary,
    /// The budgets and what changed.
    Json,
    /// The budgets as cases of a test.
    Junit,
    /// The findings of `lint`.
    Sarif,
    /// The run, for a later one.
    Report,
}

/// The formats of most commands.
#[derive(Debug)]
pub(in crate::cli) struct DocumentFormats;

impl Formats for DocumentFormats {
    type Own = Json;
    const ALL: &'static [FormatChoice<Json>] = &[
        FormatChoice::TABLE,
        FormatChoice::own("json", "For programs", Json),
        FormatChoice::MARKDOWN,
    ];
}

/// The formats of `analyze`.
#[derive(Debug)]
pub(in crate::cli) struct AnalyzeFormats;

impl Formats for AnalyzeFormats {
    type Own = RowFormat;
    const ALL: &'static [FormatChoice<RowFormat>] = &[
        FormatChoice::TABLE,
        FormatChoice::own("json", "Totals, as cachesim.report/v1", RowFormat::Json),
        FormatChoice::own(
            "jsonl",
            "A line for each request and strategy, as cachesim.ledger/v1",
            RowFormat::Jsonl,
        ),
        FormatChoice::own("csv", "The same lines as CSV", RowFormat::Csv),
        FormatChoice::own("parquet", "The same lines as Parquet (-o FILE)", RowFormat::Parquet),
        FormatChoice::MARKDOWN,
    ];
}

/// The formats of `breaks`.
#[derive(Debug)]
pub(in crate::cli) struct BreaksFormats;

impl Formats for BreaksFormats {
    type Own = RowFormat;
    const ALL: &'static [FormatChoice<RowFormat>] = &[
        FormatChoice::TABLE,
        FormatChoice::own("json", "Sums and patterns, as cachesim.breaks/v1", RowFormat::Json),
        FormatChoice::own("jsonl", "A line for each break, as cachesim.break/v1", RowFormat::Jsonl),
        FormatChoice::own("csv", "The same lines as CSV", RowFormat::Csv),
        FormatChoice::own("parquet", "The same lines as Parquet (-o FILE)", RowFormat::Parquet),
        FormatChoice::MARKDOWN,
    ];
}

/// The formats of `compare`.
#[derive(Debug)]
pub(in crate::cli) struct CompareFormats;

impl Formats for CompareFormats {
    type Own = StrategyFormat;
    const ALL: &'static [FormatChoice<StrategyFormat>] = &[
        FormatChoice::TABLE,
        FormatChoice::own("json", "For programs, as cachesim.compare/v1", StrategyFormat::Json),
        FormatChoice::own(
            "jsonl",
            "The same strategy by strategy, one a line",
            StrategyFormat::Jsonl,
        ),
        FormatChoice::own("csv", "A line of figures for each strategy", StrategyFormat::Csv),
        FormatChoice::MARKDOWN,
    ];
}

/// The formats of `lint`.
#[derive(Debug)]
pub(in crate::cli) struct LintFormats;

impl Formats for LintFormats {
    type Own = FindingFormat;
    const ALL: &'static [FormatChoice<FindingFormat>] = &[
        FormatChoice::new("text", "For people", OutputFormat::Text),
        FormatChoice::own("json", "For programs, as cachesim.lint/v1", FindingFormat::Json),
        FormatChoice::own("sarif", "SARIF 2.1.0, for code hosts", FindingFormat::Sarif),
        FormatChoice::new("markdown", "For a comment or a page", OutputFormat::Markdown),
    ];
}

/// The formats of `check`, whose Markdown is no longer than a comment may be.
#[derive(Debug)]
pub(in crate::cli) struct CheckFormats;

impl Formats for CheckFormats {
    type Own = CheckFormat;
    const ALL: &'static [FormatChoice<CheckFormat>] = &[
        FormatChoice::new("text", "For a terminal", OutputFormat::Text),
        FormatChoice::own(
            "markdown",
            "For a comment: under 65,536 characters, with a hidden marker in front",
            CheckFormat::Comment,
        ),
        FormatChoice::own(
            "summary",
            "For a job summary: Markdown under 1 MiB",
            CheckFormat::Summary,
        ),
        FormatChoice::own("json", "For programs, as cachesim.check/v1", CheckFormat::Json),
        FormatChoice::own("junit", "JUnit XML, a case for each budget", CheckFormat::Junit),
        FormatChoice::own("sarif", "SARIF 2.1.0 of the findings of lint", CheckFormat::Sarif),
        FormatChoice::own(
            "report",
            "Totals, turns and fingerprints, as cachesim.report/v1: a baseline",
            CheckFormat::Report,
        ),
    ];
}
