//! Places to look for sessions, with the files found there.

use std::io::{self, Write};

#[cfg(test)]
use schemars::JsonSchema;
use serde::Serialize;

use super::document::{Align, Document, Grid};
use super::json::write_document;
use super::{counted, grouped};
use crate::base::client::Client;

/// Place that a program may keep sessions in.
#[derive(Clone, Debug)]
pub struct SourceRow {
    /// Program that keeps the sessions.
    pub client: Client,
    /// Folder or database, as it is shown.
    pub place: String,
    /// Variable that names the place, if it is set.
    pub variable: Option<&'static str>,
    /// Variables that move the place, strongest first.
    pub variables: Vec<&'static str>,
    /// Number of files; `None` if nothing is there.
    pub files: Option<u64>,
}

/// Places to look for sessions, one row each.
///
/// Without `shows_all` only places that exist, and one for each program without any.
#[must_use]
pub fn sources_document(rows: &[SourceRow], shows_all: bool) -> Document {
    let columns = [
        ("source", Align::Left),
        ("place", Align::Wrapped),
        ("found", Align::Left),
        ("moved by", Align::Wrapped),
    ];
    let mut grid = Grid::new(&columns);
    let found = |client| rows.iter().any(|row| row.client == client && row.files.is_some());
    let mut named = Vec::new();
    for row in rows {
        let is_first = !named.contains(&row.client);
        // A program without files has one row, for all its places.
        let is_shown = shows_all || row.files.is_some() || (is_first && !found(row.client));
        if !is_shown {
            continue;
        }
        named.push(row.client);
        let variable = row.variable.map(|name| format!(" (${name})")).unwrap_or_default();
        let places = rows.iter().filter(|other| other.client == row.client).count();
        let is_for_all = row.files.is_none() && !shows_all;
        // A row for all places also names the variables that move the others.
        let meant = rows.iter().filter(|other| other.client == row.client && is_for_all);
        let mut moved_by = row.variables.clone();
        for name in meant.flat_map(|other| &other.variables) {
            if !moved_by.contains(name) {
                moved_by.push(name);
            }
        }
        let files = match row.files {
            Some(files) => counted(files, "file", "files"),
            None if places > 1 && !shows_all => {
                format!("nothing in {}", counted(places as u64, "place", "places"))
            }
            None => "nothing".to_owned(),
        };
        grid.add(vec![
            row.client.name().to_owned(),
            format!("{}{variable}", row.place),
            files,
            moved_by.join(", "),
        ]);
    }
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
    document
}

pub(super) const SCHEMA: &str = "cachesim.sources/v1";

#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(super) struct SourcesObject<'a> {
    /// Format and its version.
    schema: &'static str,
    /// Version of the program.
    tool_version: &'static str,
    /// Every place to look for sessions.
    places: Vec<PlaceObject<'a>>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
struct PlaceObject<'a> {
    /// Program that may keep sessions there, as `--source` names it.
    source: Client,
    /// Folder or database; `~` is the home folder.
    place: &'a str,
    /// Environment variable that moves it; null if none is set.
    variable: Option<&'static str>,
    /// Environment variables that can move it; the first that is set does.
    variables: &'a [&'static str],
    /// Number of files; null if nothing is there.
    files: Option<u64>,
}

impl<'a> From<&'a SourceRow> for PlaceObject<'a> {
    fn from(row: &'a SourceRow) -> Self {
        let SourceRow { client, place, variable, variables, files } = row;
        Self { source: *client, place, variable: *variable, variables, files: *files }
    }
}

/// Writes the places as JSON.
///
/// # Errors
/// Writing to `out` fails.
pub fn write_sources(rows: &[SourceRow], out: &mut dyn Write) -> io::Result<()> {
    let places = rows.iter().map(PlaceObject::from).collect();
    let tool_version = env!("CARGO_PKG_VERSION");
    write_document(&SourcesObject { schema: SCHEMA, tool_version, places }, out)
}
