//! `cachesim.explain/v1`: the story of one request, for programs.

use std::io::{self, Write};

use serde::Serialize;

use super::explain_view::reasons;
use super::rows::breaks::BreakRow;
use super::{TotalsObject, write_versioned};
use crate::base::{Basis, Millis, Tokens, Ttl};
use crate::explain::story::{CachedPrompt, NewContent, Story, Under};
use crate::requests::conversation::{History, RequestIndex, project_names};
use crate::simulate::ledger::Ledger;

pub(super) const SCHEMA: &str = "cachesim.explain/v1";

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct ExplainObject<'a> {
    /// Request.
    request: RequestObject<'a>,
    /// Number in its session, from 1 on.
    turn: usize,
    /// Number of requests of its session.
    turns: usize,
    /// Seconds from the start of the request before to its own.
    gap_s: Option<f64>,
    /// Tokens of the whole prompt.
    prompt_tokens: Tokens,
    /// Tokens that the client added since the request before; null if unknown.
    added_tokens: Option<Tokens>,
    /// New content since the request before, by kind.
    new_content: Vec<NewContentObject<'a>>,
    /// Cached prefix left by the request before; null for the first of a conversation.
    cached: Option<CachedObject<'a>>,
    /// Outcome under each strategy.
    strategies: Vec<ExplainedStrategyObject<'a>>,
    /// Cached tokens that it did not read; null if it read everything.
    lost: Option<BreakRow<'a>>,
}

/// Request with its place.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct RequestObject<'a> {
    /// Service's id of the request, if it is known.
    request_id: Option<&'a str>,
    /// Service's id of the answer, if it is known.
    message_id: Option<&'a str>,
    /// Session.
    session_id: &'a str,
    /// Sub-agent; null in a main conversation.
    agent_id: Option<&'a str>,
    /// Type of the sub-agent, if it is known.
    agent_type: Option<&'a str>,
    /// Model.
    model: &'a str,
    /// Time of sending.
    sent: Millis,
    /// File where its answer begins, relative to the given path.
    file: &'a str,
    /// Line of the file, from 1 on.
    line: u64,
}

impl<'a> RequestObject<'a> {
    fn new(history: &'a History, index: RequestIndex) -> Self {
        let request = history.request(index);
        let kind = request.agent.and_then(|agent| history.agent_types.get(&agent)).copied();
        Self {
            request_id: history.text(request.request),
            message_id: history.text(request.message),
            session_id: history.symbols.text(request.session),
            agent_id: history.text(request.agent),
            agent_type: history.text(kind),
            model: history.symbols.text(request.model),
            sent: request.start,
            file: &history.files[request.file].label,
            line: request.line,
        }
    }
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct NewContentObject<'a> {
    /// Kind of content.
    #[cfg_attr(test, schemars(with = "crate::explain::context::ContextKind"))]
    kind: &'static str,
    /// Tool, of results whose tool is known.
    tool: Option<&'a str>,
    /// Number of new pieces.
    pieces: u64,
    /// Size in bytes of JSON; zero for media, whose size is not known.
    bytes: u64,
    /// Lines of the pieces.
    lines: &'a [u64],
}

impl<'a> NewContentObject<'a> {
    fn new(history: &'a History, content: &'a NewContent) -> Self {
        Self {
            kind: content.kind.name(),
            tool: history.text(content.kind.tool()),
            pieces: content.pieces,
            bytes: content.bytes,
            lines: &content.lines,
        }
    }
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct CachedObject<'a> {
    /// Tokens read and written, less those the service deleted since.
    tokens: Tokens,
    /// Basis of the tokens: without a usage they follow from the rules.
    basis: Basis,
    /// Lifetime of its messages, if known.
    ttl: Option<Ttl>,
    /// End of that lifetime, if known.
    until: Option<Millis>,
    /// Request that left it.
    left_by: RequestObject<'a>,
}

impl<'a> CachedObject<'a> {
    fn new(history: &'a History, cached: CachedPrompt) -> Self {
        Self {
            tokens: cached.tokens,
            basis: cached.basis,
            ttl: cached.lifetime.map(|(ttl, _)| ttl),
            until: cached.lifetime.map(|(_, until)| until),
            left_by: RequestObject::new(history, cached.by),
        }
    }
}

/// Outcome under a strategy.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "StrategyObject"))]
struct ExplainedStrategyObject<'a> {
    /// Strategy.
    strategy: &'a str,
    /// Figures.
    totals: TotalsObject,
    /// True if the conversation's cache had expired.
    expired: bool,
    /// Tokens that it read less than the request before had left; null if unknown.
    unread_tokens: Option<Tokens>,
    /// Reasons as sentences, most important first.
    reasons: Vec<String>,
}

impl<'a> ExplainedStrategyObject<'a> {
    fn new(history: &'a History, index: RequestIndex, under: &'a Under<'_>) -> Self {
        Self {
            strategy: under.strategy,
            totals: under.totals.into(),
            expired: under.expiry.is_some(),
            unread_tokens: under.shortfall,
            reasons: reasons(history, history.request(index), under),
        }
    }
}

/// Writes the story of a request as JSON.
///
/// # Errors
/// Writing to `out` fails.
pub fn write_explanation(
    ledger: &Ledger<'_>,
    story: &Story<'_>,
    shows_text: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    let history = ledger.history;
    let index = story.located.index;
    let projects = project_names(history);
    #[allow(clippy::cast_precision_loss)] // milliseconds are exact far beyond any gap
    let seconds = |gap: i64| gap as f64 / 1e3;
    let document = ExplainObject {
        request: RequestObject::new(history, index),
        turn: story.located.turn,
        turns: story.located.session.requests.len(),
        gap_s: story.gap.map(seconds),
        prompt_tokens: ledger.prompt_total(index),
        added_tokens: story.added,
        new_content: story
            .new_content
            .iter()
            .map(|one| NewContentObject::new(history, one))
            .collect(),
        cached: story.cached.map(|cached| CachedObject::new(history, cached)),
        strategies: story
            .under
            .iter()
            .map(|one| ExplainedStrategyObject::new(history, index, one))
            .collect(),
        lost: story.lost.map(|found| BreakRow::new(history, found, shows_text, &projects)),
    };
    write_versioned(SCHEMA, &document, out)
}
