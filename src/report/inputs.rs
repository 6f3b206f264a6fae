//! Counts of a run's input, as every machine format reports them.

use serde::{Deserialize, Serialize};

#[cfg(test)]
use super::schemas::Keyed;
use crate::base::ByKey;
use crate::read::input::Kind as DiagnosticKind;
use crate::requests::conversation::History;

/// Input read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Inputs {
    /// Files read.
    pub files: u64,
    /// Bytes read, after decompression.
    pub bytes: u64,
    /// Lines read.
    pub lines: u64,
    /// Requests found, each counted once.
    pub requests: u64,
    /// Copies of requests in resumed and forked sessions, which are not counted again.
    pub duplicates: u64,
    /// Lines and values that were rejected or repaired, by kind; kinds without any are left out.
    #[cfg_attr(test, schemars(with = "Keyed<DiagnosticKind, u64>"))]
    pub skipped: ByKey<String, u64>,
}

impl Inputs {
    /// Input of a history.
    pub fn of(history: &History) -> Self {
        let counts = history.diagnostics.counts();
        Self {
            files: history.files.len() as u64,
            bytes: history.bytes,
            lines: history.lines,
            requests: history.count_requests(),
            duplicates: history.duplicates,
            skipped: counts.map(|(kind, count)| (kind.name().to_owned(), count)).collect(),
        }
    }

    /// Number of places with lost input.
    pub fn damaged_places(&self) -> u64 {
        // Repairs and blank lines lose nothing.
        let damaging = DiagnosticKind::ALL.into_iter().filter(|kind| kind.is_damage());
        damaging.filter_map(|kind| self.skipped.get(kind.name())).sum()
    }

    /// Adds the counts of another input.
    pub fn add(&mut self, other: &Self) {
        let Self { files, bytes, lines, requests, duplicates, skipped } = other;
        self.files += files;
        self.bytes += bytes;
        self.lines += lines;
        self.requests += requests;
        self.duplicates += duplicates;
        for (kind, count) in skipped {
            *self.skipped.entry(kind.clone()).or_default() += count;
        }
    }
}
