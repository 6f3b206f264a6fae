//! Shapes of objects, and the kinds of values of their fields.
//!
//! A field name is known only where the formats have it, in an object under a known field
//! ([`super::fields`]). Everything under an unknown field is free content, names included.

use std::fmt;

use enumset::EnumSet;
use serde::Serialize;

use super::fields::{
    ANSWER, ATTRIBUTE, ATTRIBUTES, BLOCK, CONTENT, LOG_ROOTS, METADATA, RESPONSE, SYSTEM_PART,
    VALUE, root,
};
use super::scribe::ToolNames;
use crate::read::agent::Layout;

/// Kept parts of one kind of objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptObject {
    /// Name of the kind.
    pub object: &'static str,
    /// Shortest path to such an object from the beginning of a line or a document, without a sign for
    /// lists; empty for the outermost objects.
    pub path: String,
    /// Known fields. Their names stay; other names are replaced.
    pub fields: Vec<KeptFields>,
    /// Kept part of unknown names, if any.
    pub others_are: Option<&'static str>,
    /// Objects under unknown names; `None` for free content, which is all replaced.
    pub others_hold: Option<&'static str>,
}

/// Fields with the same kept part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct KeptFields {
    /// Names of the fields in the format.
    #[serde(skip)]
    pub names: &'static [&'static str],
    /// Kept part of the values, if any.
    pub stays: Option<&'static str>,
    /// Reason for keeping it.
    pub why: Option<&'static str>,
    /// Name of the objects in the fields, if anything of these stays.
    pub holds: Option<&'static str>,
    /// True if names of tools stay.
    pub keeps_tool_names: bool,
}

/// Everything that a redaction keeps, from the very tables that it works by.
pub fn kept(tool_names: ToolNames) -> Vec<KeptObject> {
    let object = |(shape, path): (&Shape, String)| KeptObject {
        object: shape.name,
        path,
        fields: shape
            .fields
            .iter()
            .map(|(field, names)| fields(*field, names, tool_names))
            .collect(),
        others_are: shape.names_are.kept(tool_names).map(|(stays, _)| stays),
        others_hold: opened(shape.others),
    };
    reachable().into_iter().map(object).collect()
}

fn fields(field: Field, names: &'static [&'static str], tool_names: ToolNames) -> KeptFields {
    let (stays, why) = field.kept(tool_names).unzip();
    let is_tool = matches!(field, Field::Tool | Field::Hook);
    let keeps_tool_names = is_tool && tool_names == ToolNames::Keep;
    KeptFields { names, stays, why, holds: opened(field), keeps_tool_names }
}

/// Name of the objects in a field, if anything of these stays.
fn opened(field: Field) -> Option<&'static str> {
    let shape = field.inner_shape();
    (*shape != FREE).then_some(shape.name)
}

/// Every shape with the shortest path to it, nearest first, by breadth-first search.
pub(super) fn reachable() -> Vec<(&'static Shape, String)> {
    let roots = EnumSet::<Layout>::all().iter().map(root).chain(LOG_ROOTS);
    let mut found: Vec<_> = roots.map(|root| (root, String::new())).collect();
    let mut next = 0;
    while let Some((shape, own)) = found.get(next).cloned() {
        next += 1;
        // One name represents all fields with the same kind of value.
        let named = shape.fields.iter().map(|(field, names)| (*field, names[0]));
        for (field, name) in named.chain([(shape.others, "*")]) {
            let inner = field.inner_shape();
            if *inner != FREE && found.iter().all(|(known, _)| *known != inner) {
                let dot = if own.is_empty() { "" } else { "." };
                found.push((inner, format!("{own}{dot}{name}")));
            }
        }
    }
    found
}

/// Kind of a field's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    /// Anything: strings, names and numbers are replaced.
    Free,
    /// Objects with known names, alone or in lists. Other strings are replaced.
    Shaped(&'static Shape),
    /// Content of a message or a result: text or blocks.
    Content,
    /// Text of a user or of the client, whose beginning may show its kind.
    Spoken,
    /// System prompt: text or blocks.
    System,
    /// One of the words of [`super::vocabulary`].
    Word,
    /// Identifier; equal ones stay equal.
    Identifier,
    /// Identifier that begins with its time and is sorted by it.
    Timed,
    /// Name of a tool.
    Tool,
    /// Name of a model.
    Model,
    /// Version of a client or of an API.
    Version,
    /// Point in time, as text or number.
    Moment,
    /// Number that stays.
    Number,
    /// Path. Each part is replaced on its own.
    Path,
    /// Address of a request.
    Url,
    /// `metadata.user_id`, which names the session.
    User,
    /// Names of beta features, in a list or joined by commas.
    Betas,
    /// Name of a hook: an event, and the tool or reason that it ran for.
    Hook,
    /// Part of the client that sends a request, or the beginning of such a name.
    QuerySource,
    /// Service that requests go through, or program that wrote an entry.
    Route,
    /// Text of a client that may report a shortened history.
    Notice,
    /// Text that may be an object.
    Json(&'static Shape),
    /// Events of a streamed answer.
    Events,
    /// Answer of a service: an object, or the text of one, or of a stream; it may be encoded.
    Answer,
    /// Bytes of an image or a document, or a document's text.
    Media,
    /// Number, possibly as text, or one of the words of [`super::vocabulary`].
    Figure,
    /// Name of an event or of a span.
    Event,
    /// Name of a counter; parts of it say what it counts.
    Counter,
    /// Attributes: an object, or a list of keys with values.
    Attributes,
    /// Name of an attribute, which decides the kind of the value next to it.
    Key(&'static Shape),
    /// Value whose kind follows from the name of its attribute.
    Told,
}

/// Field names of an object, and the kind of value under each.
///
/// Shapes refer to each other, and each is known by its one place in memory.
pub(super) struct Shape {
    /// Name of the kind of objects.
    pub(super) name: &'static str,
    /// Names, by the kind of their value.
    pub(super) fields: &'static [(Field, &'static [&'static str])],
    /// Kind of the unknown names themselves; nothing of them stays unless it is given here.
    pub(super) names_are: Field,
    /// Kind of the value under any unknown name.
    pub(super) others: Field,
    /// Shape whose names are known here, too.
    pub(super) like: Option<&'static Shape>,
    /// True if names are the same in capitals.
    pub(super) ignores_case: bool,
}

/// Object without known names.
pub(super) static FREE: Shape = Shape { name: "free content", ..Shape::PLAIN };

impl Field {
    /// Shape of the objects in a field.
    pub(super) fn shape(self) -> &'static Shape {
        match self {
            Self::Shaped(shape) | Self::Json(shape) => shape,
            Self::Answer => &ANSWER,
            Self::Content => &BLOCK,
            Self::System => &SYSTEM_PART,
            Self::Notice => &CONTENT,
            Self::Attributes => &ATTRIBUTES,
            _ => &FREE,
        }
    }

    /// Kept part of the value, and the reason; `None` if nothing stays.
    pub(super) fn kept(self, tool_names: ToolNames) -> Option<(&'static str, &'static str)> {
        const KINDS: &str = "which lines count and what they are depends on it";
        const FIGURES: &str = "the figures depend on it";
        let keeps_tools = tool_names == ToolNames::Keep;
        Some(match self {
            Self::Free => return None,
            Self::Shaped(_) | Self::Attributes => {
                ("its structure", "its fields are listed by themselves")
            }
            Self::Content => ("blocks; of text what is recognised at its beginning", KINDS),
            Self::Spoken => ("what is recognised at the beginning of a text", KINDS),
            Self::System => ("identities and markers of the client's prompt", FIGURES),
            Self::Word => ("words of a fixed list", KINDS),
            Self::Identifier => ("a prefix such as msg_; equal ids stay equal", KINDS),
            Self::Timed => ("a prefix and the time after it", "rows follow from it"),
            Self::Tool if keeps_tools => {
                ("the name of a tool", "figures and findings are listed by tool")
            }
            Self::Tool => ("that a tool is of an MCP server", "the order of tools is a figure"),
            Self::Model => ("words of the names of models", "prices and rules depend on it"),
            Self::Version => ("numbers and words of versions", FIGURES),
            Self::Moment => ("all of a time", "lifetimes depend on it"),
            Self::Number => ("all of a number", FIGURES),
            Self::Path => ("the separators of a path", "projects are told apart by it"),
            Self::Url => ("known parts of an address", "it tells which service was called"),
            Self::User => ("the words between identifiers", "the session stands after one"),
            Self::Betas => ("documented names of features", "they are part of the cache key"),
            Self::Hook if keeps_tools => ("the event and the name of a tool", KINDS),
            Self::Hook => ("the event", KINDS),
            Self::QuerySource => ("known names of parts of the client", FIGURES),
            Self::Route => ("known names of services and programs", "rules depend on it"),
            Self::Notice => ("the words that tell of a shorter history", KINDS),
            Self::Json(_) => ("of an object its structure", "its fields are listed by themselves"),
            Self::Answer => ("of an object or a stream its structure", FIGURES),
            Self::Events => ("names of events, and their fields", FIGURES),
            Self::Media => ("the beginning that shows a format, and sizes", FIGURES),
            Self::Figure => ("all of a number, in a text, too; words of a fixed list", FIGURES),
            Self::Event => ("the names of a client's events", KINDS),
            Self::Counter => ("the parts of a name that tell what is counted", FIGURES),
            Self::Key(_) => ("known names", "it tells what the value is"),
            Self::Told => ("what stays under its key", "the keys are listed by themselves"),
        })
    }

    /// Shape of the objects in a field, or in its text.
    fn inner_shape(self) -> &'static Shape {
        match self {
            Self::Events => &RESPONSE,
            Self::User => &METADATA,
            Self::Key(shape) => shape,
            Self::Attributes => &ATTRIBUTE,
            Self::Told => &VALUE,
            _ => self.shape(),
        }
    }

    /// Returns true if numbers in a field stay.
    pub(super) fn keeps_numbers(self) -> bool {
        matches!(self, Self::Number | Self::Moment | Self::Version | Self::Figure)
    }
}

impl Shape {
    /// Defaults for everything that a table does not give.
    pub(super) const PLAIN: Self = Self {
        name: "",
        fields: &[],
        names_are: Field::Free,
        others: Field::Free,
        like: None,
        ignores_case: false,
    };

    /// Kind of a field's value, or `None` for an unknown name.
    pub(super) fn field(&self, name: &str) -> Option<Field> {
        let is_named = |names: &[&str]| {
            let is_same = |known: &&str| self.ignores_case && known.eq_ignore_ascii_case(name);
            names.contains(&name) || names.iter().any(is_same)
        };
        // Own fields come first: a name in both tables has the meaning that it has here.
        let others = self.like.map_or(&[][..], |like| like.fields);
        let mut all = self.fields.iter().chain(others);
        all.find(|(_, names)| is_named(names)).map(|(field, _)| *field)
    }
}

impl PartialEq for Shape {
    fn eq(&self, other: &Self) -> bool {
        // Shapes refer to each other in circles, so comparing their fields might not end.
        std::ptr::eq(self, other)
    }
}

impl Eq for Shape {}

impl fmt::Debug for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}
