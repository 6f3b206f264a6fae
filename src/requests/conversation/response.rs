//! Lines that belong to one response, put together.

use crate::base::id::Symbol;
use crate::base::units::{Millis, Tokens};
use crate::read::input::{Usage, UsageProblem};
use crate::read::transcript::{ResponseLine, ServerVerdict, StopReason};

/// How a response is known: by its message and request, or, where a gateway gives no request ids,
/// by its session, message and model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ResponseKey {
    /// `message.id` and `requestId`.
    Request(Symbol, Symbol),
    /// `sessionId`, `message.id` and `message.model`.
    Session(Option<Symbol>, Symbol, Symbol),
}

impl ResponseKey {
    pub(super) fn of(line: &ResponseLine, session: Option<Symbol>) -> Self {
        match line.request {
            Some(request) => Self::Request(line.message, request),
            None => Self::Session(session, line.message, line.model),
        }
    }

    /// The same key with the name its session got, where its lines give none.
    pub(super) fn in_session(self, session: Option<Symbol>) -> Self {
        match self {
            Self::Session(None, message, model) => Self::Session(session, message, model),
            known => known,
        }
    }

    /// The same key in another table of symbols.
    pub(super) fn map(self, to: impl Fn(Symbol) -> Symbol) -> Self {
        match self {
            Self::Request(message, request) => Self::Request(to(message), to(request)),
            Self::Session(session, message, model) => {
                Self::Session(session.map(&to), to(message), to(model))
            }
        }
    }
}

/// One response, from all of its lines.
#[derive(Clone, Debug)]
pub struct ResponseLines {
    /// `message.id`.
    pub message: Symbol,
    /// `requestId`.
    pub request: Option<Symbol>,
    /// `message.model`.
    pub model: Symbol,
    /// The line where it begins.
    pub first_line: u64,
    /// The time of its first line that has one.
    pub first_timestamp: Option<Millis>,
    /// The latest time of its lines.
    pub last_timestamp: Option<Millis>,
    /// Why it ended; `None` where no line says, so that the output is a snapshot.
    pub stop: Option<StopReason>,
    /// Whether it calls tools.
    pub calls_tools: bool,
    /// Whether it holds thinking.
    pub has_thinking: bool,
    /// Whether it holds more than thinking, white space and calls.
    pub has_text: bool,
    /// `effort`.
    pub effort: Option<Symbol>,
    /// The service's word on a cache miss.
    pub verdict: Option<ServerVerdict>,
    /// Its usage: the prompt from the last line that has any, the output the largest of all lines.
    pub usage: Result<Usage, UsageProblem>,
}

impl ResponseLines {
    pub(super) fn begin(line: ResponseLine, number: u64, timestamp: Option<Millis>) -> Self {
        Self {
            message: line.message,
            request: line.request,
            model: line.model,
            first_line: number,
            first_timestamp: timestamp,
            last_timestamp: timestamp,
            stop: line.stop,
            calls_tools: !line.tool_uses.is_empty(),
            has_thinking: line.has_thinking,
            has_text: line.has_text,
            effort: line.effort,
            verdict: line.verdict,
            usage: line.usage,
        }
    }

    pub(super) fn add(&mut self, line: ResponseLine, timestamp: Option<Millis>) {
        self.first_timestamp = self.first_timestamp.or(timestamp);
        self.last_timestamp = self.last_timestamp.max(timestamp);
        self.stop = line.stop.or(self.stop);
        self.has_thinking |= line.has_thinking;
        self.has_text |= line.has_text;
        self.effort = line.effort.or(self.effort);
        self.verdict = line.verdict.or(self.verdict);
        self.calls_tools |= !line.tool_uses.is_empty();
        let known = std::mem::replace(&mut self.usage, Err(UsageProblem::Missing));
        self.usage = merge_usage(known, line.usage);
    }

    /// Whether the recorded output may be less than the real one.
    #[must_use]
    pub fn output_is_lower_bound(&self) -> bool {
        self.stop.is_none()
    }

    /// Whether the answer ends the turn, as far as the lines tell.
    #[must_use]
    pub fn ends_turn(&self) -> bool {
        match self.stop {
            Some(stop) => stop == StopReason::Other,
            None => !self.calls_tools,
        }
    }
}

fn merge_usage(
    known: Result<Usage, UsageProblem>,
    later: Result<Usage, UsageProblem>,
) -> Result<Usage, UsageProblem> {
    match (known, later) {
        (Ok(known), Ok(later)) => {
            Ok(Usage { output: Tokens::max(known.output, later.output), ..later })
        }
        (Ok(usage), Err(_)) | (Err(_), Ok(usage)) => Ok(usage),
        (Err(known), Err(later)) => Err(known.max(later)),
    }
}
