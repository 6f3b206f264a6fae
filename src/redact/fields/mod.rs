//! The known field names, by the shape of the object that has them, and what stands under each.
//! They are the fields that the readers look at, and the rest of the envelopes of transcripts and requests.

mod agents;
mod logs;
mod request;
mod rows;
mod telemetry;
mod transcript;

pub(super) use agents::{CONTENT, ROOTS, root};
pub(super) use logs::{ANSWER, LOG_ROOTS, log_root};
pub(super) use request::{METADATA, RESPONSE};
pub(super) use telemetry::{ATTRIBUTE, ATTRIBUTES, VALUE};
pub(super) use transcript::{BLOCK, LINE, SYSTEM_PART};
