//! Call of a model before the end of its file, which shows how its figures are counted.

use super::figures::{Custom, InputFigure, Scope};
use super::{Attributes, Figures, Scopes, names};
use crate::base::{EntryId, Symbol};
use crate::read::agent::calls::{Call, Conversation, Place, Turn};
use crate::read::agent::spans::Spans;
use crate::read::agent::{AgentFile, AgentRequest, Rejected, Vendor};
use crate::read::input::Kind;

/// Call before its usage is computed.
pub(super) struct Draft {
    /// Request without its usage.
    pub(super) request: AgentRequest,
    pub(super) span: Option<EntryId>,
    /// Agent that the call itself names.
    pub(super) agent: Option<Symbol>,
    pub(super) figures: Figures,
    pub(super) counting: Counting,
    pub(super) has_failed: bool,
    pub(super) turn: Turn,
    /// Place, if the call states it; else the trace shows it.
    pub(super) place: Option<Place>,
    /// Rank for details beyond the figures.
    pub(super) extra_fullness: u8,
}

/// Meaning of the input figure.
#[derive(Clone, Copy, Debug)]
pub(super) enum Counting {
    /// Tokens neither read nor written.
    Exclusive,
    /// As the scope shows in the whole file; the whole prompt if it shows nothing.
    OfScope { scope: Scope, is_surely_inclusive: bool },
}

impl Draft {
    /// Call without any facts besides its request.
    pub(super) fn of(request: AgentRequest) -> Self {
        Self {
            request,
            span: None,
            agent: None,
            figures: Figures::of_conventions(&Attributes::default()),
            counting: Counting::Exclusive,
            has_failed: false,
            turn: Turn::Begins(false),
            place: None,
            extra_fullness: 0,
        }
    }

    /// Call, once the whole file is read.
    pub(super) fn call(self, spans: &Spans, scopes: &Scopes) -> Call {
        let custom = self.counting.custom(scopes);
        let sub_agent = self.span.and_then(|span| spans.sub_agent(span, self.agent));
        let session = self.request.session;
        let place = self.place.unwrap_or_else(|| {
            let (agent, at_work) = sub_agent.unzip();
            Place::In(Conversation { session, agent, at_work })
        });
        let agent = match place {
            Place::In(conversation) => conversation.agent,
            _ => self.request.agent,
        };
        Call {
            line: self.request.line,
            span: self.span,
            identity: self.request.identity,
            fullness: self.figures.fullness() + self.extra_fullness,
            place,
            // Only the main conversation has turns of the user's.
            turn: if agent.is_none() { self.turn } else { Turn::Begins(false) },
            request: self.finished(agent, custom),
        }
    }

    fn finished(self, agent: Option<Symbol>, custom: Custom) -> Result<AgentRequest, Rejected> {
        if self.has_failed && self.figures.is_empty() {
            return Err((Kind::FailedRequest, "the call left no usage"));
        }
        let (mut usage, reasoning) = self.figures.usage(custom)?;
        usage.tier = self.request.usage.tier;
        let is_anthropic = self.request.vendor == Vendor::Anthropic;
        Ok(AgentRequest {
            agent,
            usage,
            reasoning,
            knows_writes: !is_anthropic || self.figures.tell_writes(custom),
            ..self.request
        })
    }
}

impl Counting {
    fn custom(self, scopes: &Scopes) -> Custom {
        match self {
            Self::Exclusive => Custom { input: InputFigure::Rest, ..Custom::default() },
            Self::OfScope { scope, is_surely_inclusive } => {
                let custom = scopes.custom(scope);
                let input = if is_surely_inclusive { InputFigure::Whole } else { custom.input };
                Custom { input, ..custom }
            }
        }
    }
}

/// Ids of the answer's message and of the request.
///
/// Some instrumentations put the request's id in place of the answer's.
pub(super) fn ids(
    attributes: &Attributes<'_>,
    file: &mut AgentFile,
) -> (Option<Symbol>, Option<Symbol>) {
    let response = attributes.text(names::RESPONSE);
    let request = file.symbol(&attributes.text(names::REQUEST));
    if response.as_str().is_some_and(|id| id.starts_with("req_")) {
        return (None, request.or_else(|| file.symbol(&response)));
    }
    (file.symbol(&response), request)
}
