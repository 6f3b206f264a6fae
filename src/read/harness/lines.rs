//! The lines of a file of bundles, each placed.

use serde_json::value::RawValue;

use super::place::{Harness, Placed};
use crate::read::input::{Diagnostics, Extent, Kind, OpenSource};

/// Places every record of an open source, in order, and says of each whether it is sent to the provider's
/// own service; what cannot be placed is named.
pub(crate) fn place_lines(
    open: &mut OpenSource,
    harness: &mut Harness,
    diagnostics: &mut Diagnostics,
    mut each: impl FnMut(u64, Placed, bool),
) -> Extent {
    let label = std::sync::Arc::clone(&open.label);
    let mut rejected = Diagnostics::default();
    let extent = open.read_in_order(diagnostics, |number, line| {
        let mut reject = |kind, detail: String| rejected.add(kind, &label, number, detail);
        let Ok(text) = str::from_utf8(line) else {
            return reject(Kind::NotUtf8, "the line is skipped".to_owned());
        };
        let text = text.trim_start_matches('\u{feff}').trim();
        if text.is_empty() {
            return reject(Kind::EmptyLine, String::new());
        }
        for (position, record) in records(text).into_iter().enumerate() {
            match harness.place(record) {
                Ok(placed) => {
                    match &placed {
                        Placed::Request(_, repairs) if repairs.is_empty() => {}
                        Placed::Request(_, repairs) => {
                            reject(Kind::RepairedMessages, repairs.to_string());
                        }
                        Placed::Refused(_) => {
                            let detail = "give the section a `reason`, or leave `volatile` out";
                            reject(Kind::VolatileWithoutReason, detail.to_owned());
                        }
                    }
                    each(number, placed, harness.is_first_party());
                }
                Err(error) => reject(Kind::NotABundle, error.to_string()),
            }
            if position > 0 {
                reject(Kind::JoinedLine, "each value of the line is used".to_owned());
            }
        }
    });
    diagnostics.absorb(rejected);
    extent
}

/// The values of a line: nearly always one. Text that is not JSON is given as it is, to be named.
fn records(text: &str) -> Vec<&str> {
    let values: Result<Vec<&RawValue>, _> =
        serde_json::Deserializer::from_str(text).into_iter().collect();
    values.map_or_else(|_| vec![text], |values| values.into_iter().map(RawValue::get).collect())
}
