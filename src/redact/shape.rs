//! The shapes of objects, and what their fields hold.
//!
//! A field name is known only where the formats have it, in an object under a known field
//! ([`super::fields`]). Everything under an unknown field is free content, names included.

use std::fmt;

use super::fields::{
    ANSWER, ATTRIBUTE, ATTRIBUTES, BLOCK, CONTENT, LOG_ROOTS, METADATA, RESPONSE, ROOTS,
    SYSTEM_PART, VALUE,
};
use super::scribe::ToolNames;

/// What stays of the fields of one kind of objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptObject {
    /// What such an object is.
    pub object: &'static str,
    /// The shortest path to one from the beginning of a line or a document; lists have no sign of their
    /// own. That of the outermost objects is empty.
    pub path: String,
    /// Its known fields. Their names stay; other names are replaced.
    pub fields: Vec<KeptFields>,
    /// What stays of names that are not known, where anything does.
    pub others_are: Option<&'static str>,
    /// What the fields hold that are not known, if not free content, of which nothing stays.
    pub others_hold: Option<&'static str>,
}

/// Fields of which the same stays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptFields {
    /// Their names.
    pub names: &'static [&'static str],
    /// What stays of their values; `None` where nothing does.
    pub stays: Option<&'static str>,
    /// Why it stays.
    pub why: Option<&'static str>,
    /// What the objects in them are, if anything of these stays.
    pub holds: Option<&'static str>,
    /// Whether the name of a tool stays.
    pub keeps_tool_names: bool,
}

/// All that a redaction lets stay, by the very tables that it uses.
#[must_use]
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

/// What the objects in a field are, if anything of these stays.
fn opened(field: Field) -> Option<&'static str> {
    let shape = field.inner_shape();
    (*shape != FREE).then_some(shape.name)
}

/// Every shape with the shortest path to it, those that are nearer first.
pub(super) fn reachable() -> Vec<(&'static Shape, String)> {
    let mut found: Vec<_> =
        ROOTS.into_iter().chain(LOG_ROOTS).map(|root| (root, String::new())).collect();
    let mut next = 0;
    while let Some((shape, own)) = found.get(next).cloned() {
        next += 1;
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

/// What a field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    /// Anything. Strings, names and numbers are replaced.
    Free,
    /// Objects with known names, alone or in lists. Strings are replaced.
    Shaped(&'static Shape),
    /// The content of a message or a result: text or blocks.
    Content,
    /// Text of a user or of the client, whose beginning may show its kind.
    Spoken,
    /// A system prompt: text or blocks.
    System,
    /// One of the words of [`super::vocabulary`].
    Word,
    /// An identifier.
    Identifier,
    /// An identifier that begins with its time, by which it is sorted.
    Timed,
    /// The name of a tool.
    Tool,
    /// The name of a model.
    Model,
    /// The version of a client or of an API.
    Version,
    /// A point in time, as text or number.
    Moment,
    /// A number that stays.
    Number,
    /// A path. Each part is replaced by itself.
    Path,
    /// The address of a request.
    Url,
    /// `metadata.user_id`, which names the session.
    User,
    /// Names of beta features, in a list or joined by commas.
    Betas,
    /// The name of a hook: an event, and the tool or reason that it ran for.
    Hook,
    /// The part of the client that sends a request, or the beginning of such a name.
    QuerySource,
    /// Through whom requests go, or which program wrote an entry.
    Route,
    /// Text of a client, in which it may tell that a history was shortened.
    Notice,
    /// Text that may be an object.
    Json(&'static Shape),
    /// The events of a streamed answer.
    Events,
    /// The answer of a service: an object, or the text of one, or of a stream; it may be encoded.
    Answer,
    /// The bytes of an image or a document, or a document's text.
    Media,
    /// A number, which may stand in a text, or one of the words of [`super::vocabulary`].
    Figure,
    /// The name of an event or of a span.
    Event,
    /// The name of a counter, of which parts tell what it counts.
    Counter,
    /// Attributes: an object, or a list of keys with values.
    Attributes,
    /// The name of an attribute, which tells what stands beside it.
    Key(&'static Shape),
    /// What the name of an attribute tells.
    Told,
}

/// Which field names an object has, and what stands under each. Shapes name each other, and each is one
/// place in memory, by which it is known.
pub(super) struct Shape {
    /// What such an object is called.
    pub(super) name: &'static str,
    /// Names with the same kind of value.
    pub(super) fields: &'static [(Field, &'static [&'static str])],
    /// What other names hold, of which nothing stays unless it is said here.
    pub(super) names_are: Field,
    /// What stands under any other name.
    pub(super) others: Field,
    /// A shape whose names are known here, too.
    pub(super) like: Option<&'static Shape>,
    /// Whether names are the same in capitals.
    pub(super) ignores_case: bool,
}

/// An object without known names.
pub(super) static FREE: Shape = Shape { name: "free content", ..Shape::PLAIN };

impl Field {
    /// The shape of the objects in a field.
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

    /// What of its value stays, and why; `None` where nothing does.
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

    /// The shape of the objects in a field, or in the text of one.
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

    /// Whether numbers in a field stay.
    pub(super) fn keeps_numbers(self) -> bool {
        matches!(self, Self::Number | Self::Moment | Self::Version | Self::Figure)
    }
}

impl Shape {
    /// What a shape has unless its table says more.
    pub(super) const PLAIN: Self = Self {
        name: "",
        fields: &[],
        names_are: Field::Free,
        others: Field::Free,
        like: None,
        ignores_case: false,
    };

    /// What a field holds, or `None` where its name is unknown.
    pub(super) fn field(&self, name: &str) -> Option<Field> {
        let is_named = |names: &[&str]| {
            let is_same = |known: &&str| self.ignores_case && known.eq_ignore_ascii_case(name);
            names.contains(&name) || names.iter().any(is_same)
        };
        let others = self.like.map_or(&[][..], |like| like.fields);
        let mut all = self.fields.iter().chain(others);
        all.find(|(_, names)| is_named(names)).map(|(field, _)| *field)
    }
}

impl PartialEq for Shape {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for Shape {}

impl fmt::Debug for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}
