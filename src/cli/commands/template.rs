//! Command `cachesim advise --apply CODE --template FILE`: the markers of a strategy in a request template,
//! as a patch.

use std::path::Path;

use crate::cli::{CliError, Output, shown_path, unknown_name};
use crate::read::input::{MOST_REPORT, read_whole};
use crate::report::{markers_document, patch, readable};
use crate::settings::{Patched, Template};
use crate::simulate::strategy::{ALL, MarkerDesign, Strategy};

/// Shows the patch.
pub(super) fn show(code: &str, file: &Path, output: Output) -> Result<(), CliError> {
    let (strategy, design) = markers(code)?;
    let shown = shown_path(file);
    let bytes = read_whole(file, MOST_REPORT).map_err(|error| {
        CliError::NoInput(format!("--template {shown}: cannot read it: {error}"))
    })?;
    let failed = |error| CliError::NoInput(format!("{shown}{error}; nothing can be shown"));
    let template = Template::parse(&bytes).map_err(failed)?;
    let Patched { text, changes, markers, has_own_marker } =
        template.with(&design).map_err(failed)?;
    let of_agents = if design.tells_agents_apart() {
        " This is for main conversations; sub-agents' requests get the other lifetime."
    } else {
        ""
    };
    let of_service =
        if has_own_marker { " OpenAI also caches up to the latest message by itself." } else { "" };
    let end = match (changes.as_slice(), markers) {
        ([], 0) => "It has no marker, and the strategy places none in it: there is no patch.",
        ([], _) => "Its markers are so already: there is no patch.",
        _ => {
            "Nothing is written. Piped into `patch FILE`, this is applied; all else in the file stays as it is."
        }
    };
    let title = format!("{}: {}.{of_agents}{of_service}", strategy.name, strategy.summary);
    let document = markers_document(&title, &shown, &changes, end);
    let name = file.to_string_lossy();
    output.text_before(&document, &patch(&name, template.as_str(), text.as_str()), readable)
}

/// Strategy of a name, if it only places markers or sets their lifetimes.
fn markers(code: &str) -> Result<(Strategy, MarkerDesign), CliError> {
    let strategy = Strategy::by_name(code);
    let design = strategy.as_ref().and_then(MarkerDesign::of);
    if let Some(found) = strategy.clone().zip(design) {
        return Ok(found);
    }
    let known: Vec<&str> = ALL
        .iter()
        .filter(|strategy| MarkerDesign::of(strategy).is_some())
        .map(|strategy| strategy.name.as_ref())
        .collect();
    let why = match strategy {
        Some(strategy) => format!(
            "{} is more than a place or a lifetime of markers, which a template could have; these are no more: {}",
            strategy.name,
            known.join(", ")
        ),
        None => unknown_name(code, &known),
    };
    Err(CliError::Usage(format!("--apply with --template: {why}")))
}
