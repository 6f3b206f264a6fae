//! The shapes of objects, and what their fields hold.
//!
//! A field name is known only where the formats have it, in an object under a known field
//! ([`super::fields`]). Everything under an unknown field is free content, names included.

use super::fields::fields_of;

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
