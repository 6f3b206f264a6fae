//! A template as the request that it stands for, read as a captured one is.

use jsonc_parser::ast::Value as Node;

use super::super::root::Root;
use super::super::text::range;
use super::PatchError;
use crate::read::input::{Discovered, Source};
use crate::requests::conversation::read;
use crate::simulate::cache::{Refusal, simulate};
use crate::simulate::strategy::{MarkerDesign, Placement};
use crate::study::{Study, StudyOptions};

/// The field of the model, which a template may leave open.
const MODEL: &str = "model";

/// The field of the messages.
const MESSAGES: &str = "messages";

/// What the file of the requests is called, which nothing shows.
const LABEL: &str = "template.jsonl";

/// A body as a request, after the one before it.
pub(super) struct Requests(Study);

impl Requests {
    /// The body, after the request that the last answer in it was given to.
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

    /// How many blocks it has.
    pub(super) fn blocks(&self) -> u32 {
        let Self(Study { trace, .. }) = self;
        trace.prompts.last().map_or(0, |prompt| trace.node(prompt.node).blocks)
    }

    /// Why the service refuses its markers, if it does.
    pub(super) fn refusal(&self) -> Option<Refusal> {
        let Self(study) = self;
        simulate(&study.trace, &study.assumptions().replay()).last()?.refusal
    }

    /// The markers that it has.
    pub(super) fn recorded(&self) -> Vec<Placement> {
        self.placed(&MarkerDesign::default())
    }

    /// The markers that a design places in it.
    pub(super) fn placed(&self, design: &MarkerDesign) -> Vec<Placement> {
        design.placements(&self.0.trace).pop().unwrap_or_default()
    }
}

/// A request as a line of a capture.
fn record(minute: usize, body: &str) -> String {
    format!(
        "{{\"timestamp\":\"2026-01-01T00:{minute:02}:00Z\",\"session_id\":\"template\",\"request_id\":\"{minute}\",\
         \"request\":{body}}}\n"
    )
}

/// The body of a request as plain JSON, its keys in their order, of which a prefix is known.
pub(super) struct Body {
    /// All fields but the messages.
    fields: Vec<String>,
    /// The messages, and whether each is the model's.
    messages: Vec<(String, bool)>,
}

impl Body {
    /// Reads it from a text.
    ///
    /// # Errors
    /// A key that is looked at is there twice, or the messages are no list of objects.
    pub(super) fn of(root: &Root<'_>) -> Result<Self, PatchError> {
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

    /// It with what every request has.
    fn whole(&self) -> String {
        self.until(self.messages.len())
    }

    /// It as it was sent when the model gave the last answer in it. A message of the model's at the end is no answer.
    fn before_last_answer(&self) -> Option<String> {
        let (_, earlier) = self.messages.split_last()?;
        let answer = earlier.iter().rposition(|(_, is_answer)| *is_answer)?;
        // An example at the very beginning was given to no request.
        (answer > 0).then(|| self.until(answer))
    }

    /// It with so many of its messages.
    fn until(&self, messages: usize) -> String {
        let messages: Vec<&str> =
            self.messages[..messages].iter().map(|(text, _)| text.as_str()).collect();
        let fields = self.fields.join(",");
        format!("{{{fields},\"{MESSAGES}\":[{}]}}", messages.join(","))
    }
}
