//! A call of a model before the end of its file, where it shows how its figures are counted.

use super::attributes::Attributes;
use super::figures::{Custom, Figures, InputFigure, Scope, Scopes};
use super::names;
use crate::base::id::{EntryId, Symbol};
use crate::read::agent::calls::{Call, Conversation, Place, Turn};
use crate::read::agent::spans::Spans;
use crate::read::agent::{AgentFile, AgentRequest, Rejected, Vendor};
use crate::read::input::Kind;

/// A call whose usage is not worked out yet.
pub(super) struct Draft {
    /// All but its usage.
    pub(super) request: AgentRequest,
    pub(super) span: Option<EntryId>,
    /// The agent that it names itself.
    pub(super) agent: Option<Symbol>,
    pub(super) figures: Figures,
    pub(super) counting: Counting,
    pub(super) has_failed: bool,
    pub(super) turn: Turn,
    /// Where it stands, if that is told; else the trace shows it.
    pub(super) place: Option<Place>,
    /// How much more it tells than its figures do.
    pub(super) extra_fullness: u8,
}

/// What the input figure counts.
#[derive(Clone, Copy, Debug)]
pub(super) enum Counting {
    /// What was neither read nor written.
    Exclusive,
    /// What the scope shows in all of the file; the whole prompt where it shows nothing.
    OfScope { scope: Scope, is_surely_inclusive: bool },
}

impl Draft {
    /// A call of which nothing is told beside its request.
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

    /// The call, when all of the file is there.
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

/// The ids of the answer's message and of the request. Some put the request's where the answer's belongs.
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
