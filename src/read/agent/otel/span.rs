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

/// Operations of Vercel's AI SDK that are one request to a model: those around them repeat the sums of all steps.
const SDK_CALLS: [&str; 2] = [".doGenerate", ".doStream"];

/// Status codes of an operation that failed.
const FAILED: [&str; 2] = ["STATUS_CODE_ERROR", "ERROR"];

impl Span<'_> {
    /// Key of the span; `None` without both of its ids.
    pub(super) fn id(&self) -> Option<EntryId> {
        let context = self.context.0.as_ref();
        id(self.trace(), context.map_or(&self.id, |context| &context.span_id))
    }

    pub(super) fn parent(&self) -> Option<EntryId> {
        id(self.trace(), &self.parent_span_id)
    }

    fn trace(&self) -> &Text<'_> {
        self.context.0.as_ref().map_or(&self.trace_id, |context| &context.trace_id)
    }

    pub(super) fn role(&self, file: &mut AgentFile) -> Role {
        if let Some(role) = self.name.as_str().and_then(claude_code::role) {
            return role;
        }
        match self.attributes.text(names::OPERATION).as_str() {
            Some(operation) if CALLS.contains(&operation) => Role::Call,
            Some("invoke_agent") => Role::Agent(file.symbol(&self.attributes.text(names::AGENT))),
            Some("execute_tool") => Role::Tool,
            _ => self.other_role(file),
        }
    }

    /// Role under conventions other than those for generative AI.
    fn other_role(&self, file: &mut AgentFile) -> Role {
        let operation = self.attributes.text(names::SDK_OPERATION);
        let operation = operation.as_str().unwrap_or_default();
        match self.attributes.text(names::KIND).as_str() {
            Some("LLM") => Role::Call,
            Some("AGENT") => Role::Agent(file.symbol(&self.attributes.text(names::AGENT))),
            Some("TOOL") => Role::Tool,
            _ if SDK_CALLS.iter().any(|end| operation.ends_with(end)) => Role::Call,
            _ if operation == "ai.toolCall" => Role::Tool,
            _ => Role::Other,
        }
    }

    pub(super) fn has_failed(&self) -> bool {
        let status = self.status.0.as_ref();
        let code = status.map(|Status { code }| code).or(self.status_code.as_ref());
        code.is_some_and(|code| {
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
            session: session.or_else(|| file.symbol(self.trace())),
            message,
            request,
            client_version: origin.version,
            route,
            nano_aiu: bill(attributes),
            ..AgentRequest::new((origin.client, file.line), model, times, Usage::default())
        };
        let of_scope = Counting::OfScope {
            scope: [name, version, route],
            // Copilot adds reads and writes to the input itself, so one odd call proves nothing.
            is_surely_inclusive: is_copilot,
        };
        let figures = Figures::of_conventions(attributes);
        let (figures, is_exclusive) = figures.with_metadata(&attributes.text(names::METADATA));
        Ok(Draft {
            span: self.id(),
            agent: file.symbol(&attributes.text(names::AGENT)),
            figures,
            counting: if is_exclusive { Counting::Exclusive } else { of_scope },
            has_failed: self.has_failed(),
            turn: Turn::Begins(attributes.text(names::COPILOT_INITIATOR).is("user")),
            ..Draft::of(request)
        })
    }
}

/// Vendor of the service, if the name of the model alone does not say.
fn vendor(of_model: Vendor, provider: &Text<'_>) -> Vendor {
    match (of_model, provider.as_str()) {
        (Vendor::Other, Some("anthropic" | "anthropic.messages")) => Vendor::Anthropic,
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
