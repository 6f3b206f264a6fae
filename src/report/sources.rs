//! Where sessions are looked for, and what is there.

use super::document::{Align, Document, Grid};
use super::{counted, grouped};
use crate::base::client::Client;

/// A folder in which a program may keep sessions.
#[derive(Clone, Debug)]
pub struct SourceRow {
    /// The program.
    pub client: Client,
    /// The folder, as it is shown.
    pub folder: String,
    /// The variable that names it, where that is set.
    pub variable: Option<&'static str>,
    /// How many files there are; `None` where there is no folder.
    pub files: Option<u64>,
}

/// A row for each folder that is there, and for each program of which none is.
#[must_use]
pub fn sources_document(rows: &[SourceRow]) -> Document {
    let columns = [
        ("name", Align::Left),
        ("program", Align::Left),
        ("folder", Align::Wrapped),
        ("found", Align::Left),
    ];
    let mut grid = Grid::new(&columns);
    let found = |client| rows.iter().any(|row| row.client == client && row.files.is_some());
    let mut named = Vec::new();
    for row in rows {
        let is_first = !named.contains(&row.client);
        let is_shown = row.files.is_some() || (is_first && !found(row.client));
        if !is_shown {
            continue;
        }
        named.push(row.client);
        let variable = row.variable.map(|name| format!(" (${name})")).unwrap_or_default();
        let others = rows.iter().filter(|other| other.client == row.client).count() - 1;
        let files = match row.files {
            Some(files) => counted(files, "file", "files"),
            None if others > 0 => {
                let places = counted(others as u64, "other place", "other places");
                format!("nothing, nor in {places}")
            }
            None => "nothing".to_owned(),
        };
        grid.add(vec![
            row.client.name().to_owned(),
            row.client.label().to_owned(),
            format!("{}{variable}", row.folder),
            files,
        ]);
    }
    let files: u64 = rows.iter().filter_map(|row| row.files).sum();
    let places = counted(rows.len() as u64, "folder", "folders");
    let mut document = Document::default();
    document.heading("Where sessions are looked for");
    document.text(format!(
        "{} in {places}. Commands without a PATH read them all; --source takes names from the first column.",
        match files {
            1 => "1 file of sessions".to_owned(),
            files => format!("{} files of sessions", grouped(files)),
        }
    ));
    document.grid(grid);
    document
}
