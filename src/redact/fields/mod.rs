//! The known field names, by the shape of the object that has them, and what stands under each.
//! They are the fields that the readers look at, and the rest of the formats' envelopes.

mod request;
mod transcript;

use request::{CONTEXT, FLAG, HEADER, METADATA, REQUEST, RESPONSE, SCHEMA, SETTING, TOOL};
use transcript::{
    ATTACHMENT, BLOCK, DIAGNOSTICS, LINE, MESSAGE, PAYLOAD, PROGRESS, REFERENCES, SOURCE,
    SYSTEM_PART, USAGE,
};

use super::shape::{Field, Shape};

/// Groups of field names with the same kind of value.
type Fields = [(Field, &'static [&'static str])];

/// The known fields of objects of a shape.
pub(super) fn fields_of(shape: Shape) -> &'static Fields {
    match shape {
        Shape::Free | Shape::Properties => &[],
        Shape::Line => &LINE,
        Shape::Message => &MESSAGE,
        Shape::Block => &BLOCK,
        Shape::SystemPart => &SYSTEM_PART,
        Shape::Source => &SOURCE,
        Shape::Usage => &USAGE,
        Shape::Diagnostics => &DIAGNOSTICS,
        Shape::Attachment => &ATTACHMENT,
        Shape::Progress => &PROGRESS,
        Shape::References => &REFERENCES,
        Shape::Request => &REQUEST,
        Shape::Tool => &TOOL,
        Shape::Schema => &SCHEMA,
        Shape::Setting => &SETTING,
        Shape::Response => &RESPONSE,
        Shape::Headers => &HEADER,
        Shape::Flags => &FLAG,
        Shape::Context => &CONTEXT,
        Shape::Metadata => &METADATA,
        Shape::Payload => &PAYLOAD,
    }
}
