//! The shapes of objects, and what their fields hold.
//!
//! A field name is known only where the formats have it, in an object under a known field
//! ([`super::fields`]). Everything under an unknown field is free content, names included.

use std::collections::{BTreeMap, VecDeque};

use super::fields::fields_of;
use super::scribe::ToolNames;

/// What stays of the fields of one kind of objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptObject {
    /// What such an object is.
    pub object: &'static str,
    /// The shortest path to one from the beginning of a line; lists have no sign of their own. That of a
    /// line is empty.
    pub path: String,
    /// Its known fields. Their names stay; other names are replaced.
    pub fields: Vec<KeptFields>,
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
    let paths = paths();
    let known = Shape::ALL.into_iter().filter_map(|shape| Some((shape, paths.get(shape.name())?)));
    let object = |(shape, path): (Shape, &String)| KeptObject {
        object: shape.name(),
        path: path.clone(),
        fields: fields_of(shape)
            .iter()
            .map(|(field, names)| fields(*field, names, tool_names))
            .collect(),
        others_hold: opened(shape.unknown_field()),
    };
    known.map(object).collect()
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
    (shape != Shape::Free).then(|| shape.name())
}

/// The shortest path to each kind of objects.
fn paths() -> BTreeMap<&'static str, String> {
    let mut paths = BTreeMap::from([(Shape::Line.name(), String::new())]);
    let mut open = VecDeque::from([Shape::Line]);
    while let Some(shape) = open.pop_front() {
        let own = paths.get(shape.name()).cloned().unwrap_or_default();
        let named = fields_of(shape).iter().map(|(field, names)| (*field, names[0]));
        let others = (shape == Shape::Properties).then(|| (shape.unknown_field(), "*"));
        for (field, name) in named.chain(others) {
            let inner = field.inner_shape();
            if inner != Shape::Free && !paths.contains_key(inner.name()) {
                let dot = if own.is_empty() { "" } else { "." };
                paths.insert(inner.name(), format!("{own}{dot}{name}"));
                open.push_back(inner);
            }
        }
    }
    paths
}

/// What a field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    /// Anything. Strings, names and numbers are replaced.
    Free,
    /// Objects with known names, alone or in lists. Strings are replaced.
    Shaped(Shape),
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
    /// The events of a streamed answer.
    Events,
    /// The bytes of an image or a document, or a document's text.
    Media,
}

/// Which field names an object has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// None that are known.
    Free,
    /// A line of any format.
    Line,
    /// A message of a transcript or of a request.
    Message,
    /// A block of content.
    Block,
    /// A block of a system prompt, or a section of a bundle's system prompt.
    SystemPart,
    /// The `source` of an image or a document.
    Source,
    /// `usage`, and its iterations.
    Usage,
    /// The `diagnostics` of an answer.
    Diagnostics,
    /// An attachment.
    Attachment,
    /// The `data` of a progress line.
    Progress,
    /// What was replaced, copied or compacted: fields that name entries.
    References,
    /// A request: its body, or the log entry around it.
    Request,
    /// A tool's definition.
    Tool,
    /// A JSON schema.
    Schema,
    /// The properties of a JSON schema, whose names are content.
    Properties,
    /// A setting of a request: thinking, tool choice, effort, context management.
    Setting,
    /// A response in a log, or an event of a stream.
    Response,
    /// The headers of a request.
    Headers,
    /// The `flags` of a bundle.
    Flags,
    /// What a bundle says of its environment.
    Context,
    /// `metadata`, and the object that `user_id` may hold.
    Metadata,
    /// The payload of a rollout line.
    Payload,
}

impl Field {
    /// The shape of the objects in a field.
    pub(super) fn shape(self) -> Shape {
        match self {
            Self::Shaped(shape) => shape,
            Self::Content => Shape::Block,
            Self::System => Shape::SystemPart,
            _ => Shape::Free,
        }
    }

    /// What of its value stays, and why; `None` where nothing does.
    pub(super) fn kept(self, tool_names: ToolNames) -> Option<(&'static str, &'static str)> {
        const KINDS: &str = "which lines count and what they are depends on it";
        const FIGURES: &str = "the figures depend on it";
        let keeps_tools = tool_names == ToolNames::Keep;
        Some(match self {
            Self::Free => return None,
            Self::Shaped(_) => ("its structure", "its fields are listed by themselves"),
            Self::Content => ("blocks; of text what is recognised at its beginning", KINDS),
            Self::Spoken => ("what is recognised at the beginning of a text", KINDS),
            Self::System => ("identities and markers of the client's prompt", FIGURES),
            Self::Word => ("words of a fixed list", KINDS),
            Self::Identifier => ("a prefix such as msg_; equal ids stay equal", KINDS),
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
            Self::User => ("the words between identifiers", "the session stands behind one"),
            Self::Betas => ("documented names of features", "they are part of the cache key"),
            Self::Hook if keeps_tools => ("the event and the name of a tool", KINDS),
            Self::Hook => ("the event", KINDS),
            Self::QuerySource => ("known names of parts of the client", FIGURES),
            Self::Events => ("names of events, and their fields", FIGURES),
            Self::Media => ("the beginning that shows a format, and sizes", FIGURES),
        })
    }

    /// The shape of the objects in a field, or in the text of one.
    fn inner_shape(self) -> Shape {
        match self {
            Self::Events => Shape::Response,
            Self::User => Shape::Metadata,
            _ => self.shape(),
        }
    }

    /// Whether numbers in a field stay.
    pub(super) fn keeps_numbers(self) -> bool {
        matches!(self, Self::Number | Self::Moment | Self::Version)
    }
}

impl Shape {
    /// All shapes.
    pub(super) const ALL: [Self; 22] = [
        Self::Free,
        Self::Line,
        Self::Message,
        Self::Block,
        Self::SystemPart,
        Self::Source,
        Self::Usage,
        Self::Diagnostics,
        Self::Attachment,
        Self::Progress,
        Self::References,
        Self::Request,
        Self::Tool,
        Self::Schema,
        Self::Properties,
        Self::Setting,
        Self::Response,
        Self::Headers,
        Self::Flags,
        Self::Context,
        Self::Metadata,
        Self::Payload,
    ];

    /// What such an object is called.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Free => "free content",
            Self::Line => "line",
            Self::Message => "message",
            Self::Block => "block",
            Self::SystemPart => "part of a system prompt",
            Self::Source => "source of an image or a document",
            Self::Usage => "usage",
            Self::Diagnostics => "diagnostics",
            Self::Attachment => "attachment",
            Self::Progress => "progress",
            Self::References => "references to lines",
            Self::Request => "request",
            Self::Tool => "tool",
            Self::Schema => "JSON schema",
            Self::Properties => "properties of a JSON schema",
            Self::Setting => "setting",
            Self::Response => "response",
            Self::Headers => "headers",
            Self::Flags => "flags",
            Self::Context => "context",
            Self::Metadata => "metadata",
            Self::Payload => "payload",
        }
    }

    /// What a field holds, or `None` where its name is unknown.
    pub(super) fn field(self, name: &str) -> Option<Field> {
        let is_named = |names: &[&str]| match self {
            Self::Headers => names.iter().any(|known| known.eq_ignore_ascii_case(name)),
            _ => names.contains(&name),
        };
        // A system prompt may have any block, whatever the service makes of it.
        let others = if self == Self::SystemPart { fields_of(Self::Block) } else { &[] };
        let mut all = fields_of(self).iter().chain(others);
        all.find(|(_, names)| is_named(names)).map(|(field, _)| *field)
    }

    /// What a field with an unknown name holds.
    pub(super) fn unknown_field(self) -> Field {
        if self == Self::Properties { Field::Shaped(Self::Schema) } else { Field::Free }
    }
}
