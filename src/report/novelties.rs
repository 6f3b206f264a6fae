//! Names in lines that the program does not know.

use serde::Serialize;

use super::{Columns, Document, counted, grouped};
use crate::base::ByKey;
use crate::explain::analysis::Novelties;
use crate::read::transcript::{KNOWN_UNTIL, NovelPart};

/// Unknown name.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Novelty"))]
pub(super) struct NoveltyObject<'a> {
    /// Part of a line that has it.
    part: NovelPart,
    /// Name; of a client its version.
    name: &'a str,
    /// Lines that have it, or requests of a newer client, by client version.
    by_client_version: &'a ByKey<String, u64>,
}

pub(super) fn novelty_objects(novelties: &Novelties) -> Vec<NoveltyObject<'_>> {
    let all = novelties.0.iter();
    all.map(|((part, name), by_client_version)| NoveltyObject {
        part: *part,
        name,
        by_client_version,
    })
    .collect()
}

/// Adds a table of the unknown names, if there are any.
pub(super) fn add_novelties(document: &mut Document, novelties: &Novelties) {
    if novelties.0.is_empty() {
        return;
    }
    document.heading("Not known to this program");
    document.text(format!(
        "Lines of Claude Code are known up to client {KNOWN_UNTIL}. Figures of sessions with these names may be \
         wrong: an attachment with an unknown name counts as not sent, unless the client says that it was."
    ));
    let mut columns = Columns::<(&(NovelPart, String), &ByKey<String, u64>)>::new();
    columns.left("part", |((part, _), _)| part.name());
    columns.wrapped("name", |((_, name), _)| name.clone());
    columns.wrapped("lines by client", |((part, _), by_version)| {
        let of = |(version, count): (&String, &u64)| match part {
            NovelPart::Client => counted(*count, "request", "requests"),
            _ => format!("{version}: {}", grouped(*count)),
        };
        by_version.iter().map(of).collect::<Vec<_>>().join(", ")
    });
    document.grid(columns.grid(&novelties.0));
}
