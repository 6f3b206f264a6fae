//! What `redact` lets stay, for people and for programs.

use std::io::{self, Write};

#[cfg(test)]
use schemars::JsonSchema;
use serde::Serialize;

use super::document::{Align, Document, Grid};
use super::json::write_document;
use crate::redact::{KeptFields, KeptObject};

pub(super) const SCHEMA: &str = "cachesim.redact-explain/v1";

/// The fields of which anything stays, by the objects that have them.
#[must_use]
pub fn kept_document(kept: &[KeptObject]) -> Document {
    let mut document = Document::default();
    document.heading("What stays");
    document.text(
        "Names of the fields below stay where objects of their kind have them. Of values stays what \
         is said here, and the length; other names and all other letters and digits are replaced.",
    );
    for object in kept {
        let place = if object.path.is_empty() { "outermost" } else { object.path.as_str() };
        document.heading(format!("{} ({place})", object.object));
        let columns =
            [("field", Align::Wrapped), ("stays", Align::Wrapped), ("why", Align::Wrapped)];
        let mut grid = Grid::new(&columns);
        for fields in &object.fields {
            grid.add(vec![
                fields.names.join(", "),
                stays(fields),
                fields.why.unwrap_or("the name alone").to_owned(),
            ]);
        }
        if let Some(held) = object.others_hold {
            let name = object
                .others_are
                .map_or("any other".to_owned(), |stays| format!("of any other {stays}"));
            grid.add(vec![name, format!("its structure: {held}"), String::new()]);
        }
        document.grid(grid);
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
#[cfg_attr(test, derive(JsonSchema))]
pub(super) struct KeptDocument<'a> {
    /// The format and its version.
    schema: &'static str,
    /// The kinds of objects. The first is a line of a transcript, a capture or a rollout.
    objects: Vec<ObjectKept<'a>>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
struct ObjectKept<'a> {
    /// What such an object is.
    object: &'static str,
    /// The shortest path to one from the beginning of a line or a document; empty for the outermost ones.
    path: &'a str,
    /// Its known fields, whose names stay.
    fields: Vec<FieldKept>,
    /// What stays of names that are not known; null where nothing does.
    others_are: Option<&'static str>,
    /// What the objects under other names are; null where nothing of them stays.
    others_hold: Option<&'static str>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
struct FieldKept {
    /// Its name.
    name: &'static str,
    /// What stays of its value; null where nothing does.
    stays: Option<&'static str>,
    /// Why it stays.
    why: Option<&'static str>,
    /// What the objects in it are; null where nothing of them stays.
    holds: Option<&'static str>,
    /// Whether the name of a tool stays.
    keeps_tool_names: bool,
}

/// Writes what stays as JSON.
///
/// # Errors
/// Writing to `out` fails.
pub fn write_kept(kept: &[KeptObject], out: &mut dyn Write) -> io::Result<()> {
    let field = |fields: &KeptFields, name| FieldKept {
        name,
        stays: fields.stays,
        why: fields.why,
        holds: fields.holds,
        keeps_tool_names: fields.keeps_tool_names,
    };
    let object = |object: &KeptObject| {
        let named = |fields: &KeptFields| {
            fields.names.iter().map(|name| field(fields, *name)).collect::<Vec<_>>()
        };
        object.fields.iter().flat_map(named).collect::<Vec<_>>()
    };
    let objects = kept.iter().map(|kept| ObjectKept {
        object: kept.object,
        path: &kept.path,
        fields: object(kept),
        others_are: kept.others_are,
        others_hold: kept.others_hold,
    });
    write_document(&KeptDocument { schema: SCHEMA, objects: objects.collect() }, out)
}
