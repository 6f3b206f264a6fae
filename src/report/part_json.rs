//! `cachesim.domain/v1`, the files of a domain, `cachesim.part/v1`, what its rows are, and `cachesim.run/v1`, which
//! parts are a run.

use std::collections::BTreeMap;
use std::io::{self, Write};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::json::{write_document, write_line};
use super::rows::breaks::BREAK_SCHEMA;
use super::rows::ledger::LEDGER_SCHEMA;
use super::schemas::Keyed;
use crate::read::input::{Domain, Kind as DiagnosticKind};
use crate::requests::conversation::History;

pub(super) const DOMAIN_SCHEMA: &str = "cachesim.domain/v1";
pub(super) const PART_SCHEMA: &str = "cachesim.part/v1";
pub(super) const RUN_SCHEMA: &str = "cachesim.run/v1";

/// The files of a domain.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct DomainListing {
    /// The format and its version.
    schema: String,
    /// The domain.
    pub domain: String,
    /// The bytes of all its files, as they are stored.
    pub bytes: u64,
    /// The paths of its files below the root, in the order in which they are read.
    pub files: Vec<String>,
}

impl DomainListing {
    /// The listing of a domain.
    #[must_use]
    pub fn of(domain: &Domain) -> Self {
        Self {
            schema: DOMAIN_SCHEMA.to_owned(),
            domain: domain.name.clone(),
            bytes: domain.sources.iter().map(|source| source.size).sum(),
            files: domain.sources.iter().map(|source| source.label.to_string()).collect(),
        }
    }

    /// Reads a line. `None` where it is something else.
    #[must_use]
    pub fn parse(line: &str) -> Option<Self> {
        let listing: Self = serde_json::from_str(line).ok()?;
        (listing.schema == DOMAIN_SCHEMA).then_some(listing)
    }
}

/// Writes a domain as a line.
///
/// # Errors
/// Writing to `out` fails.
pub fn write_domain(domain: &DomainListing, out: &mut dyn Write) -> io::Result<()> {
    write_line(domain, out)
}

/// A file of rows, as it was written.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct PartFile {
    /// Its path below the folder for parts.
    pub path: String,
    /// How many rows it has.
    pub rows: u64,
    /// Its size in bytes.
    pub bytes: u64,
    /// Its BLAKE2b-256 digest, in hexadecimal digits.
    pub digest: String,
}

/// What a part was made of.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct PartInputs {
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
    #[schemars(with = "Keyed<DiagnosticKind, u64>")]
    pub skipped: BTreeMap<String, u64>,
}

impl PartInputs {
    /// The input of a history.
    #[must_use]
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
}

impl PartInputs {
    /// Whether input was lost.
    #[must_use]
    pub fn has_damage(&self) -> bool {
        let damaging = DiagnosticKind::ALL.into_iter().filter(|kind| kind.is_damage());
        damaging.into_iter().any(|kind| self.skipped.contains_key(kind.name()))
    }
}

/// By what rows were made. Parts of a run have the same.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct PartSettings {
    /// The version of the program.
    pub tool_version: String,
    /// The table of list prices.
    pub prices: String,
    /// The strategies, in the order of the rows of a request.
    pub strategies: Vec<String>,
    /// A digest of the version, the prices, the strategies and the options.
    pub settings: String,
}

/// The rows of one domain.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Part {
    /// The format and its version.
    schema: String,
    /// The domain.
    pub domain: String,
    /// What the part is called by: a digest of its files and of the settings.
    pub key: String,
    /// By what it was made.
    #[serde(flatten)]
    pub settings: PartSettings,
    /// What it was made of.
    pub inputs: PartInputs,
    /// Models without a price, each with how many requests it has; their cost is in no sum.
    pub unpriced: BTreeMap<String, usize>,
    /// The rows of the ledger, as cachesim.ledger/v1 has them.
    pub ledger: PartFile,
    /// The breaks, as cachesim.break/v1 has them.
    pub breaks: PartFile,
}

impl Part {
    /// A part of this version.
    #[must_use]
    pub fn new(
        (domain, key): (&str, &str),
        settings: PartSettings,
        inputs: PartInputs,
        [ledger, breaks]: [PartFile; 2],
    ) -> Self {
        let schema = PART_SCHEMA.to_owned();
        let (domain, key) = (domain.to_owned(), key.to_owned());
        Self { schema, domain, key, settings, inputs, unpriced: BTreeMap::new(), ledger, breaks }
    }

    /// Reads the line of a part. `None` where it is something else.
    #[must_use]
    pub fn parse(line: &str) -> Option<Self> {
        let part: Self = serde_json::from_str(line).ok()?;
        let counts = [part.inputs.requests, part.ledger.rows, part.breaks.rows];
        let is_real = counts.iter().all(|count| *count <= MOST_COUNTED);
        (part.schema == PART_SCHEMA && is_real).then_some(part)
    }

    /// Writes it as a line.
    ///
    /// # Errors
    /// Writing to `out` fails.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        write_line(self, out)
    }

    /// Its files, each with the schema of its rows.
    #[must_use]
    pub fn files(&self) -> [(&PartFile, &'static str); 2] {
        [(&self.ledger, LEDGER_SCHEMA), (&self.breaks, BREAK_SCHEMA)]
    }
}

/// No part has more requests or rows, so that those of all can be added up.
const MOST_COUNTED: u64 = 1 << 40;

/// The parts that together are a run.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Manifest {
    /// The format and its version.
    schema: String,
    /// By what all parts were made.
    #[serde(flatten)]
    pub settings: PartSettings,
    /// Requests of all parts.
    pub requests: u64,
    /// Rows of all ledgers.
    pub rows: u64,
    /// Breaks of all parts.
    pub breaks: u64,
    /// The parts, by the names of their domains, byte by byte.
    pub parts: Vec<Part>,
}

impl Manifest {
    /// The run of parts, of which there is at least one.
    #[must_use]
    pub fn of(mut parts: Vec<Part>) -> Option<Self> {
        parts.sort_by(|one, other| one.domain.cmp(&other.domain));
        let settings = parts.first()?.settings.clone();
        Some(Self {
            schema: RUN_SCHEMA.to_owned(),
            settings,
            requests: parts.iter().map(|part| part.inputs.requests).sum(),
            rows: parts.iter().map(|part| part.ledger.rows).sum(),
            breaks: parts.iter().map(|part| part.breaks.rows).sum(),
            parts,
        })
    }

    /// Writes it as a document.
    ///
    /// # Errors
    /// Writing to `out` fails.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        write_document(self, out)
    }
}
