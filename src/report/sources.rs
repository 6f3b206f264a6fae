//! Places to look for sessions, with the files found there.

use std::io::{self, Write};

use serde::Serialize;

use super::novelties::{NoveltyObject, add_novelties, novelty_objects};
use super::{Columns, Document, counted, grouped, write_versioned};
use crate::base::Client;
use crate::explain::analysis::Novelties;

/// Place that a program may keep sessions in.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "PlaceObject"))]
pub struct SourceRow {
    /// Program that may keep sessions there, as `--source` names it.
    #[serde(rename = "source")]
    pub client: Client,
    /// Folder or database; `~` is the home folder.
    pub place: String,
    /// Environment variable that names the place, if one is set.
    pub variable: Option<&'static str>,
    /// Environment variables that can move the place; the first that is set does.
    pub variables: Vec<&'static str>,
    /// Number of files; unknown if nothing is there.
    pub files: Option<u64>,
}

/// Places to look for sessions, one row each, and the names in Claude Code's lines that are not known.
///
/// Without `shows_all` only places that exist, and one for each program without any.
pub fn sources_document(rows: &[SourceRow], novelties: &Novelties, shows_all: bool) -> Document {
    let found = |client| rows.iter().any(|row| row.client == client && row.files.is_some());
    let mut named = Vec::new();
    let shown = rows.iter().filter(|row| {
        let is_first = !named.contains(&row.client);
        // A program without files has one row, for all its places.
        let is_shown = shows_all || row.files.is_some() || (is_first && !found(row.client));
        if is_shown {
            named.push(row.client);
        }
        is_shown
    });
    let mut columns = Columns::<SourceRow>::new();
    columns.left("source", |row| row.client.name());
    columns.wrapped("place", |row| {
        let variable = row.variable.map(|name| format!(" (${name})")).unwrap_or_default();
        format!("{}{variable}", row.place)
    });
    columns.left("found", |row| match row.files {
        Some(files) => counted(files, "file", "files"),
        None if shows_all => "nothing".to_owned(),
        None => match rows.iter().filter(|other| other.client == row.client).count() {
            0 | 1 => "nothing".to_owned(),
            places => format!("nothing in {}", counted(places as u64, "place", "places")),
        },
    });
    columns.wrapped("moved by", |row| {
        let is_for_all = row.files.is_none() && !shows_all;
        // A row for all places also names the variables that move the others.
        let meant = rows.iter().filter(|other| other.client == row.client && is_for_all);
        let mut moved_by = row.variables.clone();
        for name in meant.flat_map(|other| &other.variables) {
            if !moved_by.contains(name) {
                moved_by.push(name);
            }
        }
        moved_by.join(", ")
    });
    let grid = columns.grid(shown);
    let files: u64 = rows.iter().filter_map(|row| row.files).sum();
    let places = counted(rows.len() as u64, "place", "places");
    let mut document = Document::default();
    document.heading("Where sessions are looked for");
    let rest = if shows_all { "" } else { " --all lists every place." };
    document.text(format!(
        "{} in {places}. Commands without a PATH read them all; --source takes names from the first column. \
         A place is moved by the variables of the last column, of several by the first that is set.{rest}",
        match files {
            1 => "1 file of sessions".to_owned(),
            files => format!("{} files of sessions", grouped(files)),
        }
    ));
    document.grid(grid);
    add_novelties(&mut document, novelties);
    document
}

pub(super) const SCHEMA: &str = "cachesim.sources/v1";

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct SourcesObject<'a> {
    /// Every place to look for sessions.
    places: &'a [SourceRow],
    /// Names in lines of Claude Code that the program does not know, and clients newer than those that it knows.
    unknown: Vec<NoveltyObject<'a>>,
}

/// Writes the places as JSON.
///
/// # Errors
/// Writing to `out` fails.
pub fn write_sources(
    rows: &[SourceRow],
    novelties: &Novelties,
    out: &mut dyn Write,
) -> io::Result<()> {
    let unknown = novelty_objects(novelties);
    write_versioned(SCHEMA, &SourcesObject { places: rows, unknown }, out)
}
