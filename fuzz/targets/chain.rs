//! The whole way to the figures: any bytes, as up to three files of whatever format, keep their order
//! and their tokens under every strategy.

use cachesim::simulate::strategy::ALL;

use super::reading::{options, rows, sources, study};

/// Where one file ends and the next begins.
const BETWEEN_FILES: &[u8] = b"\n\x1c\n";

pub(crate) fn check(bytes: &[u8]) {
    let files = parts(bytes);
    let Some(study) = study(sources(&files), options(None)) else { return };
    rows(&study, &ALL);
}

fn parts(bytes: &[u8]) -> Vec<&[u8]> {
    let mut parts = Vec::new();
    let mut rest = bytes;
    while parts.len() < 2
        && let Some(at) = rest.windows(BETWEEN_FILES.len()).position(|part| part == BETWEEN_FILES)
    {
        parts.push(&rest[..at]);
        rest = &rest[at + BETWEEN_FILES.len()..];
    }
    parts.push(rest);
    parts
}
