//! Sessions of agents other than Claude Code: one file for each format.
//!
//! A format is recognised by the first object that shows one, as the first of a file may be lost, torn or of a
//! new type. It yields the requests of the file in the terms of this module. To add one: a file with a
//! `LineFormat`, or with a `DocumentFormat` for a single JSON value, and a line in `FORMATS`.

mod amp;
mod bill;
mod calls;
mod chat;
mod cline;
mod cline_messages;
mod cline_session;
mod codex;
mod codex_line;
mod copilot;
pub(crate) mod database;
mod document;
mod figure;
mod first;
mod gemini;
mod grok;
mod halves;
mod kimi;
mod langfuse;
mod langsmith;
mod limit;
mod opencode;
mod otel;
mod pi;
mod pieces;
mod qwen;
mod records;
mod request;
mod spans;
mod status;
#[cfg(test)]
mod testing;
mod time;
mod tree;

use enumset::EnumSetType;
use serde::Deserialize;

use crate::read::input::{Diagnostics, Kind, ObjectReader, OpenSource};
pub(crate) use amp::THREAD;
pub(crate) use cline::{ROO_FOLDERS, STEM as TASK_STEM};
pub(crate) use cline_messages::{
    PHRASES as TASK_PHRASES, TOOLS as TASK_TOOLS, marks as task_marks, model_name as task_model,
};
pub(crate) use copilot::COPILOT_COMPACTION;
use document::{DocumentFormat, documents};
use figure::Figure;
pub(crate) use first::FirstObject;
pub(crate) use gemini::COMPRESSIONS;
pub(crate) use halves::join_halves;
pub(crate) use kimi::{AGENT_FOLDERS, SESSION_FOLDER};
pub use limit::LimitReading;
use limit::{Percent, millis, open_until};
pub(crate) use opencode::TELLING_WRITES;
pub(crate) use otel::{COMPACTION, EVENT_PREFIX, EVENTS, names as attributes};
pub(crate) use pi::{OPENCLAW, OPENCLAW_FOLDERS};
use pieces::Size;
pub use pieces::{Piece, PieceId};
use records::records;
pub use request::{AgentFile, AgentRequest, Follows, Vendor};
use request::{Happened, parts, read_if_any, split};
pub(super) use request::{tell_nothing, tokens};
pub(super) use time::Time;

/// Every format, in the order of recognition.
pub(crate) static FORMATS: [AgentFormat; 22] = [
    lines::<database::Rows>(),
    lines::<codex::Codex>(),
    lines::<pi::Pi>(),
    lines::<qwen::Qwen>(),
    lines::<kimi::Kimi>(),
    lines::<copilot::Copilot>(),
    lines::<gemini::GeminiLines>(),
    lines::<grok::Grok>(),
    lines::<otel::SpanLines>(),
    lines::<status::StatusLines>(),
    records::<otel::Otlp>(),
    records::<otel::PhoenixSpans>(),
    records::<langsmith::LangSmith>(),
    records::<langfuse::Langfuse>(),
    documents::<gemini::GeminiDocument>(),
    documents::<opencode::OpenCode>(),
    documents::<opencode::OpenCodeMessage>(),
    documents::<amp::Amp>(),
    documents::<cline::Cline>(),
    documents::<cline_messages::ClineMessages>(),
    documents::<cline_session::ClineModels>(),
    documents::<cline_session::ClineSession>(),
];

/// Layout of the lines of a file, or of its document, by the fields that readers use
/// (`redact/fields/agents.rs`).
#[derive(Debug, EnumSetType)]
pub(crate) enum Layout {
    /// A rollout of Codex.
    Rollout,
    /// A session of Pi's form.
    Pi,
    /// A session of Qwen Code.
    Qwen,
    /// A wire file of Kimi's programs.
    Kimi,
    /// The events of Copilot CLI.
    Copilot,
    /// A chat of Gemini CLI, in lines or as a document.
    Gemini,
    /// An exported session of opencode.
    OpenCode,
    /// A stored message of opencode.
    OpenCodeMessage,
    /// A task of Cline's form.
    Cline,
    /// The messages of such a task.
    ClineMessages,
    /// The models of such a task.
    ClineModels,
    /// A session of Cline's command line.
    ClineSession,
    /// A thread of Amp.
    Amp,
    /// The updates of a Grok session.
    Grok,
    /// Limits that a status line received.
    StatusLines,
    /// Observations of Langfuse.
    Langfuse,
    /// Runs of `LangSmith`.
    LangSmith,
    /// An export of OpenTelemetry.
    Telemetry,
    /// The spans of Copilot or of Phoenix, one a line.
    Span,
    /// Rows of a database, one a line.
    Rows,
}

/// Format of an agent's sessions.
#[derive(Clone, Copy)]
pub(crate) struct AgentFormat {
    /// Returns true if a file with this first object has the format.
    pub(crate) recognises: fn(&FirstObject<'_>) -> bool,
    /// Description of the file, for people: "a rollout".
    pub(crate) file: &'static str,
    /// Layout by which redaction finds the fields to keep; `None` if redaction does not know them.
    pub(crate) layout: Option<Layout>,
    /// Returns true if a file is one JSON value, over any number of lines.
    ///
    /// The argument is true if the file begins like one.
    pub(crate) is_document: fn(bool) -> bool,
    /// Reads a file to its end. No text of it is kept.
    pub(crate) read: fn(&mut OpenSource) -> AgentFile,
}

/// Kind of a rejection, and its consequence for the line.
pub(super) type Rejected = (Kind, &'static str);

/// Format of JSON lines. Its value is the state between two lines of a file.
trait LineFormat: Default {
    /// Fields of a line that are read.
    type Line<'a>: Deserialize<'a>;

    /// Description of the file, for people: "a rollout".
    const FILE: &'static str;

    /// Layout by which redaction finds the fields to keep.
    const LAYOUT: Option<Layout> = None;

    /// Returns true if a file with this first object has the format.
    fn recognises(first: &FirstObject<'_>) -> bool;

    /// Reads a line.
    ///
    /// # Errors
    /// If the line has a request that cannot be used.
    fn line(&mut self, line: &Self::Line<'_>, file: &mut AgentFile) -> Result<(), Rejected>;

    /// Handles the end of the file.
    fn end(self, _: &mut AgentFile) {}
}

/// Entry of a [`LineFormat`] in the list of formats.
const fn lines<F: LineFormat>() -> AgentFormat {
    AgentFormat {
        recognises: F::recognises,
        file: F::FILE,
        layout: F::LAYOUT,
        is_document: |_| false,
        read: read_lines::<F>,
    }
}

fn read_lines<F: LineFormat>(open: &mut OpenSource) -> AgentFile {
    let mut diagnostics = Diagnostics::default();
    let mut reader = LineReader { format: F::default(), file: AgentFile::of(open) };
    let extent = open.read_in_order(&mut diagnostics, |number, line| reader.line(line, number));
    reader.format.end(&mut reader.file);
    reader.file.diagnostics.absorb(diagnostics);
    AgentFile { extent, ..reader.file }
}

/// Reader of the lines of one file, in order.
struct LineReader<F> {
    format: F,
    file: AgentFile,
}

impl<F: LineFormat> ObjectReader for LineReader<F> {
    type Object<'a> = F::Line<'a>;
    const FILE: &'static str = F::FILE;

    fn object(&mut self, line: &F::Line<'_>, _: &str, number: u64) {
        self.file.line = number;
        if let Err((kind, detail)) = self.format.line(line, &mut self.file) {
            self.reject(kind, number, detail);
        }
    }

    fn reject(&mut self, kind: Kind, line: u64, detail: impl Into<String>) {
        self.file.reject(kind, line, detail);
    }
}
