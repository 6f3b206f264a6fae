//! What stands where: the shapes of objects, and what their fields hold.
//!
//! A name is known only where the formats have it: in an object that a known field holds
//! ([`super::fields`]). Everything under a field that is not known is free content, names included.

use super::fields::fields_of;

/// What a field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    /// Anything: strings and names are replaced, and so are numbers.
    Free,
    /// Objects with known names, alone or in lists; strings are replaced.
    Shaped(Shape),
    /// The content of a message or a result: a text, or blocks.
    Content,
    /// A text of a user's or of the client's, whose beginning may tell what it is.
    Spoken,
    /// A system prompt: a text, or blocks.
    System,
    /// One of the words of [`super::vocabulary`].
    Word,
    /// An identity.
    Identifier,
    /// The name of a tool.
    Tool,
    /// The name of a model.
    Model,
    /// The version of a client or of an interface.
    Version,
    /// A moment, as text or number.
    Moment,
    /// A number that stays.
    Number,
    /// A path, of which each part is replaced for itself.
    Path,
    /// Where a request was sent.
    Url,
    /// `metadata.user_id`, which names the session.
    User,
    /// Names of beta features, in a list or joined by commas.
    Betas,
    /// The name of a hook: an event, and what it was for.
    Hook,
    /// What in the client sends a request, or the beginning of such names.
    QuerySource,
    /// The events of a streamed answer.
    Events,
    /// The bytes of an image or a document, or a document's text.
    Media,
}

/// Which names an object has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// None that is known.
    Free,
    /// A line of any format.
    Line,
    /// A message: of a transcript, or of a request.
    Message,
    /// A block of content.
    Block,
    /// A block of a system prompt, or a section of a bundle's.
    SystemPart,
    /// `source` of an image or a document.
    Source,
    /// `usage`, and an iteration in it.
    Usage,
    /// `diagnostics` of an answer.
    Diagnostics,
    /// An attachment.
    Attachment,
    /// `data` of a progress line.
    Progress,
    /// What was replaced, copied or compacted: fields that name entries.
    References,
    /// A request: a body, or what wraps it in a log.
    Request,
    /// A tool's definition.
    Tool,
    /// A JSON schema.
    Schema,
    /// The properties of a JSON schema, by names that are content.
    Properties,
    /// A setting of a request: thinking, tool choice, effort, context management.
    Setting,
    /// A response in a log, or an event of a stream.
    Response,
    /// The headers of a request.
    Headers,
    /// `flags` of a bundle.
    Flags,
    /// What a bundle tells of its surroundings.
    Context,
    /// `metadata`, and the object that `user_id` may hold.
    Metadata,
    /// The payload of a rollout's line.
    Payload,
}

impl Field {
    /// The names of the objects it holds.
    pub(super) fn shape(self) -> Shape {
        match self {
            Self::Shaped(shape) => shape,
            Self::Content => Shape::Block,
            Self::System => Shape::SystemPart,
            _ => Shape::Free,
        }
    }

    /// Whether numbers in it stay.
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

    /// What a field holds; `None` where the name is not known.
    pub(super) fn field(self, name: &str) -> Option<Field> {
        let is_named = |names: &[&str]| match self {
            Self::Headers => names.iter().any(|known| known.eq_ignore_ascii_case(name)),
            _ => names.contains(&name),
        };
        let known = fields_of(self).iter().find(|(_, names)| is_named(names));
        known.map(|(field, _)| *field)
    }

    /// What a field of an unknown name holds.
    pub(super) fn unknown_field(self) -> Field {
        if self == Self::Properties { Field::Shaped(Self::Schema) } else { Field::Free }
    }
}
