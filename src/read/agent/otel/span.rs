//! Span of a trace: its role, and the call of a model that it reports.
//!
//! Only some operations are one request: an agent's span repeats the sums of all its calls.

use super::draft::ids;
use super::export::Status;
use super::{
    Attributes, Counting, Draft, Figures, Instrumentation, Origin, Span, claude_code, names,
};
use crate::base::{Client, EntryId};
use crate::read::agent::calls::Turn;
use crate::read::agent::spans::Role;
use crate::read::agent::{AgentFile, AgentRequest, Rejected, Vendor};
use crate::read::input::{Count, Kind, Shape, Text, Usage};

/// Operations that are one request to a model.
const CALLS: [&str; 4] = ["chat", "generate_content", "text_completion", "completion"];

/// Status codes of an operation that failed.
const FAILED: [&str; 2] = ["STATUS_CODE_ERROR", "ERROR"];

impl Span<'_> {
    /// Key of the span; `None` without both of its ids.
    pub(super) fn id(&self) -> Option<EntryId> {
        id(&self.trace_id, &self.id)
    }

    pub(super) fn parent(&self) -> Option<EntryId> {
        id(&self.trace_id, &self.parent_span_id)
    }

    pub(super) fn role(&self, file: &mut AgentFile) -> Role {
        if let Some(role) = self.name.as_str().and_then(claude_code::role) {
            return role;
        }
        match self.attributes.text(names::OPERATION).as_str() {
            Some(operation) if CALLS.contains(&operation) => Role::Call,
            Some("invoke_agent") => Role::Agent(file.symbol(&self.attributes.text(names::AGENT))),
            Some("execute_tool") => Role::Tool,
            _ => Role::Other,
        }
    }

    pub(super) fn has_failed(&self) -> bool {
        let status = self.status.0.as_ref();
        status.is_some_and(|Status { code }| {
            // The protocol's number for `STATUS_CODE_ERROR`.
            code.figure.0 == Count::Value(2)
                || code.text.as_deref().is_some_and(|code| FAILED.contains(&code))
        })
    }

    /// Call that the span reports.
    ///
    /// # Errors
    /// If it has no time.
    pub(super) fn call(
        &self,
        origin: Origin,
        scope: &Shape<Instrumentation<'_>>,
        file: &mut AgentFile,
    ) -> Result<Draft, Rejected> {
        if self.name.as_str().is_some_and(|name| claude_code::role(name).is_some()) {
            return claude_code::call_of_span(self, origin, file);
        }
        let attributes = &self.attributes;
        let start = self.start_time.0.or(self.end_time.0);
        let start = start.ok_or((Kind::MissingTimestamp, "the call is left out"))?;
        let times = (start, self.end_time.0.unwrap_or(start));
        let provider = attributes.text(names::PROVIDER);
        let model = file.model(&attributes.text(names::MODEL));
        let model = (model.0, vendor(model.1, &provider));
        let (message, request) = ids(attributes, file);
        let route = file.symbol(&provider);
        let session = file.symbol(&attributes.text(names::SESSION)).or(origin.session);
        let is_copilot = origin.client == Client::Copilot;
        let scope = scope.0.as_ref();
        let [name, version] = [scope.map(|scope| &scope.name), scope.map(|scope| &scope.version)]
            .map(|text| text.and_then(|text| file.symbol(text)));
        let request = AgentRequest {
            identity: self.id(),
            // Without a conversation the trace is the session.
            session: session.or_else(|| file.symbol(&self.trace_id)),
            message,
            request,
            client_version: origin.version,
            route,
            nano_aiu: bill(attributes),
            ..AgentRequest::new((origin.client, file.line), model, times, Usage::default())
        };
        Ok(Draft {
            span: self.id(),
            agent: file.symbol(&attributes.text(names::AGENT)),
            figures: Figures::of_conventions(attributes),
            counting: Counting::OfScope {
                scope: [name, version, route],
                // Copilot adds reads and writes to the input itself, so one odd call proves nothing.
                is_surely_inclusive: is_copilot,
            },
            has_failed: self.has_failed(),
            turn: Turn::Begins(attributes.text(names::COPILOT_INITIATOR).is("user")),
            ..Draft::of(request)
        })
    }
}

/// Vendor of the service, if the name of the model alone does not say.
fn vendor(of_model: Vendor, provider: &Text<'_>) -> Vendor {
    match (of_model, provider.as_str()) {
        (Vendor::Other, Some("anthropic")) => Vendor::Anthropic,
        (Vendor::Other, Some("openai" | "azure.ai.openai" | "az.ai.openai")) => Vendor::OpenAi,
        (Vendor::Other, Some("gcp.gemini" | "gcp.gen_ai" | "gemini")) => Vendor::Google,
        (vendor, _) => vendor,
    }
}

/// Charge by Copilot, in billionths of an AI unit.
fn bill(attributes: &Attributes<'_>) -> Option<u64> {
    match attributes.count(names::COPILOT_BILL) {
        Count::Value(billed) => Some(billed),
        _ => None,
    }
}

fn id(trace: &Text<'_>, span: &Text<'_>) -> Option<EntryId> {
    let [trace, span] = [trace, span].map(|id| id.as_str().filter(|id| !id.is_empty()));
    Some(EntryId::of(&format!("otel:{}:{}", trace?, span?)))
}
