//! Sessions of other agents than Claude Code: one file for each format.
//!
//! A format is recognised by the first object of a file, and gives the requests of that file in the
//! terms of this module. To add one: a file with a `LineFormat`, or with an `AgentFormat` where it is not
//! of JSON lines, and a line in `FORMATS`.

mod codex;

use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::base::id::{Symbol, Symbols, has_symbols};
use crate::base::units::{Millis, Tokens};
use crate::read::input::{
    Count, Diagnostics, Extent, Kind, ObjectReader, OpenSource, PromptSplit, Text, Usage,
};

/// Every format, in the order in which they are tried.
pub(crate) static FORMATS: [&dyn AgentFormat; 1] = [&JsonLines::<codex::Codex>::NEW];

/// A format in which an agent keeps its sessions.
pub(crate) trait AgentFormat: Sync {
    /// Whether a file that begins with this object is one of its.
    fn recognises(&self, first: &FirstObject<'_>) -> bool;

    /// Reads a file to its end. No text of it is kept.
    fn read(&self, open: &mut OpenSource) -> AgentFile;
}

/// What is wrong with a line, and what became of it.
type Rejected = (Kind, &'static str);

/// A format of JSON lines, as what is known between two lines of a file.
trait LineFormat: Default {
    /// The fields of a line that are looked at.
    type Line<'a>: Deserialize<'a>;

    /// What the file is, for people: "a rollout".
    const FILE: &'static str;

    /// Whether a file that begins with this object is one of its.
    fn recognises(first: &FirstObject<'_>) -> bool;

    /// Takes in a line.
    ///
    /// # Errors
    /// Where the line has a request that cannot be used.
    fn line(
        &mut self,
        line: &Self::Line<'_>,
        number: u64,
        file: &mut AgentFile,
    ) -> Result<(), Rejected>;
}

/// A [`LineFormat`] as one of all formats.
struct JsonLines<F>(PhantomData<fn() -> F>);

impl<F> JsonLines<F> {
    const NEW: Self = Self(PhantomData);
}

impl<F: LineFormat> AgentFormat for JsonLines<F> {
    fn recognises(&self, first: &FirstObject<'_>) -> bool {
        F::recognises(first)
    }

    fn read(&self, open: &mut OpenSource) -> AgentFile {
        let mut diagnostics = Diagnostics::default();
        let mut reader = LineReader { format: F::default(), file: AgentFile::of(open) };
        let extent = open.read_in_order(&mut diagnostics, |number, line| reader.line(line, number));
        reader.file.diagnostics.absorb(diagnostics);
        AgentFile { extent, ..reader.file }
    }
}

/// Reads the lines of one file, in order.
struct LineReader<F> {
    format: F,
    file: AgentFile,
}

impl<F: LineFormat> ObjectReader for LineReader<F> {
    type Object<'a> = F::Line<'a>;
    const FILE: &'static str = F::FILE;

    fn object(&mut self, line: &F::Line<'_>, _: &str, number: u64) {
        if let Err((kind, detail)) = self.format.line(line, number, &mut self.file) {
            self.reject(kind, number, detail);
        }
    }

    fn reject(&mut self, kind: Kind, line: u64, detail: impl Into<String>) {
        self.file.diagnostics.add(kind, &self.file.label, line, detail);
    }
}

/// Whose service answered a request, and so under which cache rules it was sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Vendor {
    /// Anthropic's Messages API, or another one with its markers.
    #[default]
    Anthropic,
    /// `OpenAI`, whose caches need no markers.
    OpenAi,
}

impl Vendor {
    /// The name that people see.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Anthropic => "Anthropic",
            Self::OpenAi => "OpenAI",
        }
    }
}

/// The sessions of one file.
#[derive(Debug)]
pub struct AgentFile {
    /// The file's name.
    pub label: Arc<str>,
    /// The file's name without folders and endings.
    pub stem: String,
    /// Its requests, in file order.
    pub requests: Vec<AgentRequest>,
    /// The strings the requests name.
    pub symbols: Symbols,
    /// What was rejected or repaired.
    pub diagnostics: Diagnostics,
    /// How much was read.
    pub extent: Extent,
}

impl AgentFile {
    /// A file of which nothing was read yet.
    fn of(open: &OpenSource) -> Self {
        Self {
            label: Arc::clone(&open.label),
            stem: open.stem.clone(),
            requests: Vec::new(),
            symbols: Symbols::default(),
            diagnostics: Diagnostics::default(),
            extent: Extent::default(),
        }
    }

    fn symbol(&mut self, text: &Text<'_>) -> Option<Symbol> {
        let text = text.as_str().filter(|text| !text.is_empty())?;
        Some(self.symbols.intern(text))
    }
}

/// No real prompt or answer comes near it; a larger number is damage and would only overflow sums.
const LARGEST_TOKEN_COUNT: u64 = 1_000_000_000_000;

/// The tokens of a count that may be missing.
///
/// # Errors
/// Where it is no number of tokens.
fn tokens(count: Count) -> Result<Option<Tokens>, Rejected> {
    match count {
        Count::Missing | Count::Null => Ok(None),
        Count::Value(value) if value <= LARGEST_TOKEN_COUNT => Ok(Some(Tokens(value))),
        Count::Value(_) | Count::Invalid => {
            Err((Kind::InvalidUsage, "a number of tokens that cannot be one"))
        }
    }
}

/// Splits a prompt whose size includes what was read and written. One price holds for all that is
/// written.
///
/// # Errors
/// Where the size or the reads are unknown, or more was cached than was sent.
fn split(input: Count, read: Count, written: Count) -> Result<PromptSplit, Rejected> {
    let input = tokens(input)?.ok_or((Kind::MissingUsage, "the report has no input tokens"))?;
    let read = tokens(read)?;
    let read = read.ok_or((Kind::UsageWithoutCacheCounters, "the request is left out"))?;
    let write_5m = tokens(written)?.unwrap_or_default();
    if read + write_5m > input {
        return Err((Kind::InvalidUsage, "more is cached than was sent"));
    }
    let input = input.saturating_sub(read + write_5m);
    Ok(PromptSplit { input, read, write_5m, write_1h: Tokens::ZERO })
}

/// A request of another agent, as its session recorded it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentRequest {
    /// The line where its answer or its usage stands.
    pub line: u64,
    /// The session; `None` where the file does not name it.
    pub session: Option<Symbol>,
    /// The project's folder.
    pub project: Option<Symbol>,
    /// The client's version.
    pub client_version: Option<Symbol>,
    /// The model that answered.
    pub model: Symbol,
    /// Whose service that is.
    pub vendor: Vendor,
    /// When it was sent: the time of the newest entry of the client's before the answer.
    pub start: Millis,
    /// When the usage was recorded.
    pub finished: Millis,
    /// What was billed.
    pub usage: Usage,
    /// The reasoning in the output, at most all of it.
    pub reasoning: Tokens,
    /// Whether it is the first one of a turn of the user's.
    pub begins_turn: bool,
    /// Whether the conversation was compacted since the request before.
    pub is_after_compaction: bool,
    /// Whether an answer began and was not finished since the request before: a request that left
    /// no usage, but may have left its prompt in the cache.
    pub is_after_interruption: bool,
}

impl AgentRequest {
    /// A request of which nothing else is known. It was sent at the first of the times, and its usage
    /// recorded at the second.
    fn new(
        line: u64,
        model: Symbol,
        vendor: Vendor,
        times: (Millis, Millis),
        usage: Usage,
    ) -> Self {
        Self {
            line,
            session: None,
            project: None,
            client_version: None,
            model,
            vendor,
            start: times.0,
            finished: times.1.max(times.0),
            usage,
            reasoning: Tokens::ZERO,
            begins_turn: false,
            is_after_compaction: false,
            is_after_interruption: false,
        }
    }
}

has_symbols!(AgentRequest { session, project, client_version, model } beside {
    line, vendor, start, finished, usage, reasoning, begins_turn, is_after_compaction,
    is_after_interruption
});

/// The first object of a file, by whose members formats are told apart.
#[derive(Debug)]
pub(crate) struct FirstObject<'a>(BTreeMap<String, &'a RawValue>);

/// What some editors put in front of a text.
const BYTE_ORDER_MARK: char = '\u{feff}';

impl<'a> FirstObject<'a> {
    /// The object that a line begins with, if it does.
    pub(crate) fn of_line(line: &'a [u8]) -> Option<Self> {
        let line = str::from_utf8(line).ok()?.trim_start_matches(BYTE_ORDER_MARK);
        // The first of several values run together.
        let mut values = serde_json::Deserializer::from_str(line).into_iter();
        Some(Self(values.next()?.ok()?))
    }

    /// Whether it has an object or a list of that name, or in an object of it: `message.parts`.
    pub(crate) fn has(&self, path: &str) -> bool {
        let (name, rest) = path.split_once('.').unwrap_or((path, ""));
        let Some(value) = self.0.get(name) else { return false };
        if rest.is_empty() {
            return value.get().starts_with(['{', '[']);
        }
        serde_json::from_str(value.get()).is_ok_and(|inner| Self(inner).has(rest))
    }

    /// Whether it has a text of that name that is one of these.
    pub(crate) fn is_one_of(&self, name: &str, texts: &[&str]) -> bool {
        self.text(name).is_some_and(|text| texts.contains(&text.as_str()))
    }

    /// A text of that name.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        serde_json::from_str(self.0.get(name)?.get()).ok()
    }
}
