//! A template as a request, read like a captured one.

use jsonc_parser::ast::Value as Node;

use super::super::root::Root;
use super::super::text::{SettingsText, range};
use super::form::Form;
use super::{PatchError, within};
use crate::read::input::{Discovered, Source};
use crate::read::log::in_messages_form;
use crate::requests::conversation::read;
use crate::simulate::cache::{Refusal, simulate};
use crate::simulate::strategy::{MarkerDesign, Placement};
use crate::study::{Study, StudyOptions};

/// Field of the model, which a template may leave open.
const MODEL: &str = "model";

/// Field of the messages.
const MESSAGES: &str = "messages";

/// Label of the source of the requests. No output shows it.
const LABEL: &str = "template.jsonl";

/// A body as a captured request, after the request before it.
pub(super) struct Requests(Study);

impl Requests {
    /// Reads a body, after the request that its last answer belongs to.
    pub(super) fn of(body: &Body) -> Result<Self, PatchError> {
        let all = body.before_last_answer().into_iter().chain([body.whole()]);
        let lines: Vec<String> =
            all.enumerate().map(|(minute, body)| record(minute, &body)).collect();
        let sources = vec![Source::in_memory(LABEL, lines.concat().as_bytes())];
        let options = StudyOptions::default();
        let found = Discovered { sources, ..Discovered::default() };
        let history = read(found, options.read.clone(), |_| {});
        if history.captured.requests.len() != lines.len() {
            let why = history.diagnostics.examples().first().map(|one| one.detail.clone());
            return Err(PatchError::NoRequest(
                why.unwrap_or_else(|| "it has no prompt".to_owned()),
            ));
        }
        Study::of(history, options)
            .map(Self)
            .map_err(|error| PatchError::NoRequest(error.to_string()))
    }

    /// Number of blocks of the prompt.
    pub(super) fn blocks(&self) -> u32 {
        let Self(Study { trace, .. }) = self;
        trace.prompts.last().map_or(0, |prompt| trace.node(prompt.node).blocks)
    }

    /// Reason for which the service refuses the markers.
    pub(super) fn refusal(&self) -> Option<Refusal> {
        let Self(study) = self;
        simulate(&study.trace, &study.assumptions().replay()).last()?.refusal
    }

    /// Markers of the template itself.
    pub(super) fn recorded(&self) -> Vec<Placement> {
        self.placed(&MarkerDesign::default())
    }

    /// Markers that a design places.
    pub(super) fn placed(&self, design: &MarkerDesign) -> Vec<Placement> {
        design.placements(&self.0.trace).pop().unwrap_or_default()
    }
}

/// A request as a line of a capture file.
fn record(minute: usize, body: &str) -> String {
    // Fixed times, so that no clock decides; a minute apart is within every lifetime.
    format!(
        "{{\"timestamp\":\"2026-01-01T00:{minute:02}:00Z\",\"session_id\":\"template\",\"request_id\":\"{minute}\",\
         \"request\":{body}}}\n"
    )
}

/// Body of a request in the form of the Messages API as plain JSON, its keys in their order, so that prefixes of its messages can be sent.
pub(super) struct Body {
    /// Source texts of all fields except the messages.
    fields: Vec<String>,
    /// Source texts of the messages, each with true for an answer of the model.
    messages: Vec<(String, bool)>,
}

impl Body {
    /// Reads the body from a text, whatever its API.
    ///
    /// # Errors
    /// A key that matters is there twice, or the messages are not a list of objects.
    pub(super) fn read(text: &SettingsText, form: Form) -> Result<Self, PatchError> {
        let Some(api) = form.api() else { return within(text, Self::of) };
        let plain = text.with_root(|root| Ok(root.plain(0..root.text.len())))?;
        let form = in_messages_form(api, &plain);
        let form = form.ok_or_else(|| PatchError::NoRequest("it has no message".to_owned()))?;
        within(&SettingsText::parse(form.as_bytes())?, Self::of)
    }

    /// Reads the body from the text of one of the Messages API.
    fn of(root: &Root<'_>) -> Result<Self, PatchError> {
        let mut body = Self { fields: Vec::new(), messages: Vec::new() };
        let _each_once = root.find(&[MESSAGES])?;
        let model = root.find(&[MODEL])?.map(|(_, property)| &property.value);
        let has_model = matches!(model, Some(Node::StringLit(_)));
        for property in root.object.iter().flat_map(|object| &object.properties) {
            match property.name.as_str() {
                MESSAGES => body.add_messages(root, &property.value)?,
                MODEL if !has_model => {}
                _ => body.fields.push(root.plain(range(property))),
            }
        }
        if !has_model {
            body.fields.push(format!("\"{MODEL}\":\"template\""));
        }
        Ok(body)
    }

    fn add_messages(&mut self, root: &Root<'_>, messages: &Node<'_>) -> Result<(), PatchError> {
        let messages = match messages {
            Node::Array(messages) => messages.elements.as_slice(),
            Node::NullKeyword(_) => &[],
            other => return Err(PatchError::at(root, other, "`messages` is no list")),
        };
        for message in messages {
            let object = message.as_object();
            if object.is_none() {
                return Err(PatchError::at(root, message, "a message is no object"));
            }
            let own = Root { object, ..*root };
            let role = own.find(&["role"])?.map(|(_, property)| &property.value);
            let is_answer =
                matches!(role, Some(Node::StringLit(role)) if role.value == "assistant");
            self.messages.push((root.plain(range(message)), is_answer));
        }
        Ok(())
    }

    /// Body with all messages.
    fn whole(&self) -> String {
        self.until(self.messages.len())
    }

    /// Body as sent for the last answer of the model in it, which may be several messages. A message of the model at the
    /// very end is not an answer.
    fn before_last_answer(&self) -> Option<String> {
        let (_, earlier) = self.messages.split_last()?;
        let last = earlier.iter().rposition(|(_, is_answer)| *is_answer)?;
        let before = earlier[..last].iter().rposition(|(_, is_answer)| !is_answer);
        // A message of the model at the very beginning is an example and answers no request.
        before.map(|before| self.until(before + 1))
    }

    /// Body with the first messages only.
    fn until(&self, messages: usize) -> String {
        let messages: Vec<&str> =
            self.messages[..messages].iter().map(|(text, _)| text.as_str()).collect();
        let fields = self.fields.join(",");
        format!("{{{fields},\"{MESSAGES}\":[{}]}}", messages.join(","))
    }
}
