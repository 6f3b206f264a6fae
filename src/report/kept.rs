//! Parts of files that `redact` keeps, for people and for programs.

use std::io::{self, Write};

use serde::Serialize;

use super::{Columns, Document, write_document};
use crate::redact::{KeptFields, KeptObject};

pub(super) const SCHEMA: &str = "cachesim.redact-explain/v1";

/// Fields that are kept in part or whole, by the objects that have them.
pub fn kept_document(kept: &[KeptObject]) -> Document {
    let mut document = Document::default();
    document.heading("What stays");
    document.text(
        "Names of the fields below stay where objects of their kind have them. Of values stays what \
         is said here, and the length; other names and all other letters and digits are replaced.",
    );
    let mut columns = Columns::<(String, String, &str)>::new();
    columns.wrapped("field", |(field, ..)| field.clone());
    columns.wrapped("stays", |(_, stays, _)| stays.clone());
    columns.wrapped("why", |(.., why)| (*why).to_owned());
    for object in kept {
        let place = if object.path.is_empty() { "outermost" } else { object.path.as_str() };
        document.heading(format!("{} ({place})", object.object));
        let fields = object.fields.iter().map(|fields| {
            (fields.names.join(", "), stays(fields), fields.why.unwrap_or("the name alone"))
        });
        let others = object.others_hold.map(|held| {
            let name = object
                .others_are
                .map_or("any other".to_owned(), |stays| format!("of any other {stays}"));
            (name, format!("its structure: {held}"), "")
        });
        document.grid(columns.grid(fields.chain(others)));
    }
    document
}

fn stays(fields: &KeptFields) -> String {
    match (fields.stays, fields.holds) {
        (None, _) => "nothing".to_owned(),
        (Some(stays), None) => stays.to_owned(),
        (Some(stays), Some(held)) => format!("{stays}: {held}"),
    }
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct KeptDocument<'a> {
    /// Format and its version.
    schema: &'static str,
    /// Kinds of objects. The first is a line of a transcript, a capture or a rollout.
    objects: Vec<ObjectKept<'a>>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ObjectKept<'a> {
    /// Kind of such an object.
    object: &'static str,
    /// Shortest path to one from the beginning of a line or a document; empty for the outermost ones.
    path: &'a str,
    /// Known fields, whose names stay.
    fields: Vec<FieldKept<'a>>,
    /// Part that stays of unknown names; null if nothing does.
    others_are: Option<&'static str>,
    /// Objects under other names; null if nothing of them stays.
    others_hold: Option<&'static str>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct FieldKept<'a> {
    /// Name.
    name: &'static str,
    #[serde(flatten)]
    kept: &'a KeptFields,
}

/// Writes the kept parts as JSON.
///
/// # Errors
/// Writing to `out` fails.
pub fn write_kept<'k>(kept: &'k [KeptObject], out: &mut dyn Write) -> io::Result<()> {
    // Programs get one object for each name, people one row for each rule.
    let named = |kept: &'k KeptFields| kept.names.iter().map(move |name| FieldKept { name, kept });
    let objects = kept.iter().map(|kept| ObjectKept {
        object: kept.object,
        path: &kept.path,
        fields: kept.fields.iter().flat_map(named).collect(),
        others_are: kept.others_are,
        others_hold: kept.others_hold,
    });
    write_document(&KeptDocument { schema: SCHEMA, objects: objects.collect() }, out)
}
