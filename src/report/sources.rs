//! Where sessions are looked for, and what is there.

use std::io::{self, Write};

#[cfg(test)]
use schemars::JsonSchema;
use serde::Serialize;

use super::document::{Align, Document, Grid};
use super::json::write_document;
use super::{counted, grouped};
use crate::base::client::Client;

/// A place in which a program may keep sessions.
#[derive(Clone, Debug)]
pub struct SourceRow {
    /// The program.
    pub client: Client,
    /// The folder or the database, as it is shown.
    pub place: String,
    /// The variable that names it, where that is set.
    pub variable: Option<&'static str>,
    /// The variables that move it, the strongest first.
    pub variables: Vec<&'static str>,
    /// How many files there are; `None` where there is nothing.
    pub files: Option<u64>,
}

/// A row for each place that is there, and for each program of which none is; or for every place.
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
        let is_shown = shows_all || row.files.is_some() || (is_first && !found(row.client));
        if !is_shown {
            continue;
        }
        named.push(row.client);
        let variable = row.variable.map(|name| format!(" (${name})")).unwrap_or_default();
        let places = rows.iter().filter(|other| other.client == row.client).count();
        let is_for_all = row.files.is_none() && !shows_all;
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
    /// The format and its version.
    schema: &'static str,
    /// The version of the program.
    tool_version: &'static str,
    /// Every place in which sessions are looked for.
    places: Vec<PlaceObject<'a>>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
struct PlaceObject<'a> {
    /// The program that may keep sessions there, as `--source` names it.
    source: Client,
    /// The folder or the database; `~` is the home folder.
    place: &'a str,
    /// The environment variable that moves it; null where none is set.
    variable: Option<&'static str>,
    /// The environment variables that can move it, of which the first that is set does.
    variables: &'a [&'static str],
    /// How many files there are; null where there is nothing.
    files: Option<u64>,
}

impl<'a> From<&'a SourceRow> for PlaceObject<'a> {
    fn from(row: &'a SourceRow) -> Self {
        let SourceRow { client, place, variable, variables, files } = row;
        Self { source: *client, place, variable: *variable, variables, files: *files }
    }
}

/// Writes the places.
///
/// # Errors
/// Writing to `out` fails.
pub fn write_sources(rows: &[SourceRow], out: &mut dyn Write) -> io::Result<()> {
    let places = rows.iter().map(PlaceObject::from).collect();
    let tool_version = env!("CARGO_PKG_VERSION");
    write_document(&SourcesObject { schema: SCHEMA, tool_version, places }, out)
}
