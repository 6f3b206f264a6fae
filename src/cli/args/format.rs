//! Formats that commands write in, and their options.

use std::ffi::OsStr;
use std::fmt::Debug;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Arg, Args, Command, Error};

/// Format of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum OutputFormat<O> {
    /// Document of the command, for a terminal.
    Text,
    /// Same document, for a comment or a page.
    Markdown,
    /// Format that is not made of the document.
    Own(O),
}

impl<O> OutputFormat<O> {
    /// Returns true if the format shows the document.
    pub(in crate::cli) fn is_document(&self) -> bool {
        matches!(self, Self::Text | Self::Markdown)
    }
}

/// Value of an option, after its name and help.
pub(in crate::cli) type Choice<T> = (&'static str, &'static str, T);

impl<O> OutputFormat<O> {
    const TABLE: Choice<Self> = ("table", "Tables for a terminal", Self::Text);
    const MARKDOWN: Choice<Self> = ("markdown", "Tables for a comment or a page", Self::Markdown);
}

/// Format that is not made of the document.
const fn own<O>(name: &'static str, help: &'static str, own: O) -> Choice<OutputFormat<O>> {
    (name, help, OutputFormat::Own(own))
}

/// Formats of a command.
pub(in crate::cli) trait Formats: 'static {
    /// Formats that are not made of the command's document.
    type Own: Copy + Debug + Send + Sync + 'static;
    /// All formats, in the order of the help. The first is the default, and one is called `json`.
    const ALL: &'static [Choice<OutputFormat<Self::Own>>];
}

/// Format of a name.
pub(in crate::cli) fn format_by_name<F: Formats>(name: &str) -> Option<OutputFormat<F::Own>> {
    F::ALL.iter().find(|(known, ..)| *known == name).map(|(_, _, value)| *value)
}

/// Names of the formats.
pub(in crate::cli) fn format_names<F: Formats>() -> Vec<&'static str> {
    F::ALL.iter().map(|(name, ..)| *name).collect()
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
        default_value = F::ALL[0].0,
        default_value_if("json", "true", "json")
    )]
    pub(in crate::cli) chosen: OutputFormat<F::Own>,
    /// Short for --format json
    #[arg(id = "json", long = "json", conflicts_with = "format")]
    _is_json: bool,
}

/// Parser of the names of values.
pub(super) struct Choices<T: 'static>(pub(super) &'static [Choice<T>]);

impl<T> Clone for Choices<T> {
    fn clone(&self) -> Self {
        Self(self.0)
    }
}

impl<T> Choices<T> {
    fn values(&self) -> impl Iterator<Item = PossibleValue> {
        self.0.iter().map(|(name, help, _)| PossibleValue::new(name).help(help))
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
        // A value that is not text is not the name of any format either.
        let text = value.to_string_lossy().into_owned();
        // Clap's own parser gives the error that lists the possible values.
        let name = PossibleValuesParser::new(self.values()).parse(command, arg, text.into())?;
        let choice = self.0.iter().find(|(known, ..)| *known == name);
        choice.map(|(_, _, value)| *value).ok_or_else(|| Error::new(ErrorKind::InvalidValue))
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.values()))
    }
}

/// Format for programs of commands that have only one.
#[derive(Clone, Copy, Debug)]
pub(in crate::cli) struct Json;

/// Formats of commands with rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum RowFormat {
    /// Sums, as one document.
    Json,
    /// Each row.
    Rows(Rows),
}

impl OutputFormat<RowFormat> {
    /// Format of each row, if there are rows.
    pub(in crate::cli) fn rows(self) -> Option<Rows> {
        match self {
            Self::Own(RowFormat::Rows(rows)) => Some(rows),
            _ => None,
        }
    }
}

/// Format of each row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Rows {
    /// A document for each row.
    Jsonl,
    /// A line for each row.
    Csv,
    /// Rows by their columns.
    Parquet,
}

/// Formats of strategies side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum StrategyFormat {
    /// All as one document.
    Json,
    /// A document for each strategy.
    Jsonl,
    /// A line for each strategy.
    Csv,
}

/// Formats of findings.
#[derive(Clone, Copy, Debug)]
pub(in crate::cli) enum FindingFormat {
    /// All facts that the program has, as JSON.
    Json,
    /// Form that code hosts read.
    Sarif,
}

/// Formats of `check`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum CheckFormat {
    /// Comment of a pull request.
    Comment,
    /// Summary of a job.
    Summary,
    /// Budgets and changes.
    Json,
    /// Budgets as cases of a test.
    Junit,
    /// Findings of `lint`.
    Sarif,
    /// Run, for a later one to compare with.
    Report,
}

/// Formats of most commands.
#[derive(Debug)]
pub(in crate::cli) struct DocumentFormats;

impl Formats for DocumentFormats {
    type Own = Json;
    const ALL: &'static [Choice<OutputFormat<Json>>] =
        &[OutputFormat::TABLE, own("json", "For programs", Json), OutputFormat::MARKDOWN];
}

/// Formats of `analyze`.
#[derive(Debug)]
pub(in crate::cli) struct AnalyzeFormats;

impl Formats for AnalyzeFormats {
    type Own = RowFormat;
    const ALL: &'static [Choice<OutputFormat<RowFormat>>] = &[
        OutputFormat::TABLE,
        own("json", "Totals, as cachesim.report/v1", RowFormat::Json),
        own(
            "jsonl",
            "A line for each request and strategy, as cachesim.ledger/v1",
            RowFormat::Rows(Rows::Jsonl),
        ),
        own("csv", "The same lines as CSV", RowFormat::Rows(Rows::Csv)),
        own("parquet", "The same lines as Parquet (-o FILE)", RowFormat::Rows(Rows::Parquet)),
        OutputFormat::MARKDOWN,
    ];
}

/// Formats of `breaks`.
#[derive(Debug)]
pub(in crate::cli) struct BreaksFormats;

impl Formats for BreaksFormats {
    type Own = RowFormat;
    const ALL: &'static [Choice<OutputFormat<RowFormat>>] = &[
        OutputFormat::TABLE,
        own("json", "Sums and patterns, as cachesim.breaks/v1", RowFormat::Json),
        own("jsonl", "A line for each break, as cachesim.break/v1", RowFormat::Rows(Rows::Jsonl)),
        own("csv", "The same lines as CSV", RowFormat::Rows(Rows::Csv)),
        own("parquet", "The same lines as Parquet (-o FILE)", RowFormat::Rows(Rows::Parquet)),
        OutputFormat::MARKDOWN,
    ];
}

/// Formats of `compare`.
#[derive(Debug)]
pub(in crate::cli) struct CompareFormats;

impl Formats for CompareFormats {
    type Own = StrategyFormat;
    const ALL: &'static [Choice<OutputFormat<StrategyFormat>>] = &[
        OutputFormat::TABLE,
        own("json", "For programs, as cachesim.compare/v1", StrategyFormat::Json),
        own("jsonl", "The same strategy by strategy, one a line", StrategyFormat::Jsonl),
        own("csv", "A line of figures for each strategy", StrategyFormat::Csv),
        OutputFormat::MARKDOWN,
    ];
}

/// Formats of `lint`.
#[derive(Debug)]
pub(in crate::cli) struct LintFormats;

impl Formats for LintFormats {
    type Own = FindingFormat;
    const ALL: &'static [Choice<OutputFormat<FindingFormat>>] = &[
        ("text", "For people", OutputFormat::Text),
        own("json", "For programs, as cachesim.lint/v1", FindingFormat::Json),
        own("sarif", "SARIF 2.1.0, for code hosts", FindingFormat::Sarif),
        ("markdown", "For a comment or a page", OutputFormat::Markdown),
    ];
}

/// Formats of `check`, whose Markdown is no longer than a comment may be.
#[derive(Debug)]
pub(in crate::cli) struct CheckFormats;

impl Formats for CheckFormats {
    type Own = CheckFormat;
    const ALL: &'static [Choice<OutputFormat<CheckFormat>>] = &[
        ("text", "For a terminal", OutputFormat::Text),
        own(
            "markdown",
            "For a comment: under 65,536 characters, with a hidden marker in front",
            CheckFormat::Comment,
        ),
        own("summary", "For a job summary: Markdown under 1 MiB", CheckFormat::Summary),
        own("json", "For programs, as cachesim.check/v1", CheckFormat::Json),
        own("junit", "JUnit XML, a case for each budget", CheckFormat::Junit),
        own("sarif", "SARIF 2.1.0 of the findings of lint", CheckFormat::Sarif),
        own(
            "report",
            "Totals, turns and fingerprints, as cachesim.report/v1: a baseline",
            CheckFormat::Report,
        ),
    ];
}
